"""From a trained model to sentences."""
