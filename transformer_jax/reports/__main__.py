"""Short for transformer_jax.commands.report, which says how to call it."""

from transformer_jax.commands.report import main

if __name__ == "__main__":
    main()
