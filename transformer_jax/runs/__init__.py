"""A run: what it keeps on disk, and how it is made, resumed, opened and evaluated."""
