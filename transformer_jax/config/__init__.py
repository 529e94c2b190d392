"""Every field of a config: what it means, what it may be, how it is checked."""
