"""One command a file: flags in, one call out."""
