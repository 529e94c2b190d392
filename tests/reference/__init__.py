"""Slow, literal numpy versions of what the paper says."""
