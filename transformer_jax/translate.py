"""Short for transformer_jax.commands.translate, which says how to call it."""

from transformer_jax.commands.translate import main

if __name__ == "__main__":
    main()
