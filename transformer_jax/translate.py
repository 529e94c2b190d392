"""Short for transformer_jax.commands.translate, which says how to call it."""

from transformer_jax.commands.start import start

if __name__ == "__main__":
    start("translate")
