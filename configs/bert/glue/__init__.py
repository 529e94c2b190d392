"""Fine-tuning BERT base on the tasks of GLUE (Wang et al. 2018)."""
