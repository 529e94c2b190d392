"""Pictures of attention, positions and training."""
