"""Which test set was scored? A score means little without its name and version.

newstest2014 goes round in two versions, whose scores are not comparable: the full one
of 3003 lines, and for English and German a filtered one of 2737.
"""

import dataclasses
import pathlib
import re
from collections.abc import Collection

_FULL_SIZES = {"newstest2013": 3000, "newstest2014": 3003}
_FILTERED_SIZE = 2737
_FILTERED_LANGUAGES = frozenset({"de", "en"})
# What the splits of this data set of TensorFlow Datasets hold.
_WMT14 = "wmt14_translate"
_WMT14_SPLITS = {"validation": "newstest2013", "test": "newstest2014"}
_NEWSTEST = re.compile(r"newstest20\d\d", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class ScoredText:
    """The name of a text that was scored.

    Attributes:
      name: of a test set, a file or a split.
      num_lines: how long it is.
      version: "full", "filtered" or "incomplete"; empty where it has no versions.
      notes: what a reader of the scores should know.
    """

    name: str
    num_lines: int
    version: str = ""
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} ({self.version or f'{self.num_lines} lines'})"


def describe_length(num_lines: int, text: ScoredText | None) -> str:
    """Return a number of lines, and of which text they are where that is known."""
    if text is None:
        return str(num_lines)
    version = f" ({text.version})" if text.version else ""
    return f"{num_lines}, {text.name}{version}"


def name_test_set(
    text: str, num_lines: int, languages: Collection[str], *, data_set: str = ""
) -> ScoredText:
    """Name the text of an evaluation, and tell newstest2014's two versions apart.

    Args:
      text: path of one side, in which a newstest is recognised by its name; or the name
        of a split of `data_set`.
      num_lines: of the text.
      languages: two-letter codes of the languages translated between, as far as known.
      data_set: name or folder in TensorFlow Datasets, as "wmt14_translate/de-en", or
        another name for what a split is of.
    """
    newstest = _find_newstest(text, data_set)
    if newstest is None:
        name = f"{data_set} {text}" if data_set else pathlib.PurePath(text).name
        return ScoredText(name, num_lines)
    if num_lines == _FULL_SIZES[newstest]:
        return ScoredText(newstest, num_lines, "full")
    sizes = f"{_FULL_SIZES[newstest]} lines"
    if newstest == "newstest2014" and _FILTERED_LANGUAGES.issuperset(languages):
        if num_lines == _FILTERED_SIZE:
            return ScoredText(newstest, num_lines, "filtered")
        sizes += f", or {_FILTERED_SIZE} in its filtered version"
    note = (
        f"{newstest} has {sizes}; this text has {num_lines}. Its scores compare with "
        "no published ones."
    )
    return ScoredText(newstest, num_lines, "incomplete", (note,))


def _find_newstest(text: str, data_set: str) -> str | None:
    """Return which newstest of known length a text is, if it is one."""
    if data_set:
        is_wmt14 = _WMT14 in pathlib.PurePath(data_set).parts
        return _WMT14_SPLITS.get(text) if is_wmt14 else None
    names = [name.lower() for name in _NEWSTEST.findall(text)]
    return names[-1] if names and names[-1] in _FULL_SIZES else None
