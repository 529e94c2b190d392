"""A study of seconds, that trains one model."""

import dataclasses

from tests.tiny_run import grammar_config
from transformer_jax.reports.render import Column, decimals, one_table
from transformer_jax.studies.study import Study


@dataclasses.dataclass(frozen=True)
class Sizes:
    num_steps: int
    seeds: tuple[int, ...] = (5,)


def _measure(sizes, bench):
    rows = []
    for seed in sizes.seeds:
        config = grammar_config()
        config.seed = seed
        config.training.num_steps = sizes.num_steps
        run = bench.train(f"seed_{seed}", config)
        with bench.part(f"count {seed}"):
            rows.append({"seed": seed, "steps": run.steps[0], "half": seed / 2})
    return rows


def _tabulate(rows):
    columns = [Column("seed", "seed"), Column("half", "half of it", decimals(1))]
    return one_table("Halves", columns, rows, ["A note."])


def _draw(rows):
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().plot([row["half"] for row in rows])
    return figure


TOY = Study(
    shows="half of each seed",
    about="Seeds are halved.",
    sizes={"full": Sizes(2), "small": Sizes(1)},
    measure=_measure,
    tabulate=_tabulate,
    draw=_draw,
)
