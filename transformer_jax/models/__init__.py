"""What the networks compute; knows nothing of data or training."""
