"""Lines of pairs go in, lines of labels come out, and those before a mistake too."""

import io

import pytest

from transformer_jax.commands import predict
from transformer_jax.data.arriving_lines import ArrivingLines
from transformer_jax.data.labels import labels_from
from transformer_jax.decoding.classifier import Prediction
from transformer_jax.errors import UserError


class _Equality:
    """Says whether both sentences of a pair are the same."""

    labels = labels_from("no,yes")

    def classify(self, texts):
        return [Prediction((int(first == second),), (0.75,)) for first, second in texts]


def _predict(tmp_path, text, with_probabilities=False):
    (tmp_path / "in").write_bytes(text)
    output = io.BytesIO()
    with (tmp_path / "in").open("rb") as file:
        lines = ArrivingLines(file.fileno())
        try:
            predict._predict(_Equality(), 2, lines, output, with_probabilities)
        finally:
            written = output.getvalue()
            (tmp_path / "out").write_bytes(written)
    return written


def test_each_line_has_its_label_and_an_empty_one_stays(tmp_path):
    assert _predict(tmp_path, b"a\ta\n\nb\ta\n") == b"yes\n\nno\n"
    assert _predict(tmp_path, b"a\ta\n", with_probabilities=True) == b"yes\t0.7500\n"


@pytest.mark.parametrize("line", [b"a", b"a\ta\ta", b"a\t"])
def test_lines_before_a_mistaken_one_are_classified(tmp_path, line):
    with pytest.raises(UserError, match="line 3 has .* from here on is classified"):
        _predict(tmp_path, b"a\ta\n\n" + line + b"\na\ta\n")
    assert (tmp_path / "out").read_bytes() == b"yes\n\n"
