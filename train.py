"""Short for transformer_jax/commands/train.py, which says how to call it."""

from transformer_jax.commands.train import main

if __name__ == "__main__":
    main()
