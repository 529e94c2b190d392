"""Which field did somebody mean?"""

import difflib
from collections.abc import Iterable

# Names less alike than this are no hint.
_LEAST_LIKENESS = 0.6


def nearest_field(path: str, known: Iterable[str]) -> str | None:
    """Return the field that a path without a field is most like; None if none is.

    The same name in another section comes first, in that whose name is most like the
    given one, then names like it in the section that was given, then those in others.

    Args:
      path: dotted, such as "model.num_layer", or a name alone.
      known: the paths of all fields.
    """
    section, _, name = path.rpartition(".")

    def likeness(field: str) -> tuple[float, float]:
        other_section, _, other_name = field.rpartition(".")
        score = difflib.SequenceMatcher(None, name, other_name).ratio()
        of_sections = difflib.SequenceMatcher(None, section, other_section).ratio()
        # A neighbour wins over a name elsewhere that is a little more like it.
        return (score + 0.1 * (of_sections == 1 and score < 1), of_sections)

    best = max(known, key=likeness, default=None)
    return best if best and likeness(best)[0] >= _LEAST_LIKENESS else None
