"""Scores of finished translations; sums over text that become means."""
