"""What a study is: a measurement, and how people see what it found."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from transformer_jax.reports.render import Report, Row
from transformer_jax.studies.bench import Bench

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Size = Literal["full", "small"]


@dataclasses.dataclass(frozen=True)
class Study:
    """A claim that is measured.

    What is measured are rows; table and picture are functions of them alone.

    Attributes:
      shows: what is seen, in one line, for lists.
      about: what is measured and how, in a paragraph.
      sizes: a frozen dataclass each, with `seeds` where something is drawn at random.
        The full form is what docs/results holds; the small one takes seconds.
      measure: one of the sizes, and where to work → rows of numbers, texts and None.
      tabulate: rows → tables; its title is the page's.
      draw: rows → a picture; it is called in the project's look.
    """

    shows: str
    about: str
    sizes: Mapping[Size, Any]
    measure: Callable[[Any, Bench], Sequence[Row]]
    tabulate: Callable[[Sequence[Row]], Report]
    draw: Callable[[Sequence[Row]], "Figure"]
