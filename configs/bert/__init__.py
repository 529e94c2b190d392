"""Pre-training of BERT."""
