"""Losses, optimizer, steps, checkpoints and the loop."""
