"""Short for transformer_jax/commands/evaluate.py, which says how to call it."""

from transformer_jax.commands.evaluate import main

if __name__ == "__main__":
    main()
