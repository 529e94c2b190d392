"""The study of heads: equal cost, and rows made by hand."""

from transformer_jax.models.parameters import count_params, param_shapes
from transformer_jax.runs import components
from transformer_jax.studies import heads


def test_every_number_of_heads_costs_the_same():
    sizes = heads.STUDY.sizes["full"]
    costs = set()
    for num_heads in sizes.heads:
        config = heads._make_config(sizes, "Multi30k", num_heads, 0, "DIR")
        model = components.build_model(config, sizes.vocab_size, sizes.vocab_size)
        costs.add((count_params(param_shapes(model)), model.forward_flops(20, 20)))
    assert len(costs) == 1


def test_seeds_are_averaged_corpus_by_corpus():
    rows = [
        {
            "corpus": corpus,
            "num_heads": 4,
            "depth": 16,
            "seed": seed,
            "perplexity": 2.0 + seed,
            "sacrebleu": 30.0 - seed,
            "seconds": 9.0,
        }
        for corpus in ("grammar corpus", "Multi30k")
        for seed in (0, 1)
    ]
    parts = heads.STUDY.tabulate(rows).parts
    assert [part.title for part in parts] == ["grammar corpus", "Multi30k"]
    (row,) = parts[1].rows
    assert (row["perplexity"], row["perplexity_spread"]) == (2.5, 1.0)
    assert (row["sacrebleu"], row["sacrebleu_spread"]) == (29.5, 1.0)
