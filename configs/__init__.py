"""One file for each experiment; `transformer_jax/config/default.py` has every field."""
