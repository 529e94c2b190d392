"""Sentence pairs from somewhere, and nothing else."""
