"""Short for transformer_jax.commands.prepare, which says how to call it."""

from transformer_jax.commands.prepare import main

if __name__ == "__main__":
    main()
