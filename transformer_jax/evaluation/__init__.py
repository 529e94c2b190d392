"""Scores of finished translations and of models."""
