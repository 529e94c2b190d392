"""Weights to and from other programs."""
