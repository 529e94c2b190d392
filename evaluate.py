"""Short for transformer_jax/commands/evaluate.py, which says how to call it."""

from transformer_jax.commands.huge_pages import restart_with_huge_pages

if __name__ == "__main__":
    restart_with_huge_pages()
    from transformer_jax.commands.evaluate import main

    main()
