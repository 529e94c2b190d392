"""From sentence pairs to batches."""
