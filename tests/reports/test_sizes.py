"""Formulas of sizes against the models themselves."""

import pytest

from tests.models.test_interface import SIZES
from transformer_jax.models import TRANSLATION_MODELS
from transformer_jax.models.parameters import count_params, param_shapes
from transformer_jax.reports import sizes
from transformer_jax.reports.size_formulas import SIZE_FORMULAS

CASES = [
    (name, changes) for name in TRANSLATION_MODELS for changes in [{}, *SIZES[name]]
]


@pytest.mark.parametrize(("name", "changes"), CASES, ids=str)
def test_every_parameter_is_in_one_term_and_each_formula_is_right(name, changes):
    config = TRANSLATION_MODELS[name].config(41, 41, **changes)
    shapes = param_shapes(TRANSLATION_MODELS[name].module(config))
    terms = SIZE_FORMULAS[name](config)
    assert sum(term.count for term in terms) == count_params(shapes)
    for term in terms:
        counted = sizes.count_term(term, shapes)
        assert term.count == counted > 0, term.part


def test_a_formula_is_printed_as_it_is_computed():
    (term,) = (
        term
        for term in SIZE_FORMULAS["recurrent"](
            TRANSLATION_MODELS["recurrent"].config(7, 7)
        )
        if term.part == "first layer of both sides"
    )
    assert term.formula == "2·4·(d_in + d_h + 1)·d_h"
    assert term.written_out == "2·4·(1000 + 1000 + 1)·1000"
    assert term.count == 16_008_000


def test_the_report_has_every_system_and_its_sum():
    report = sizes.make_report()
    assert [part.title for part in report.parts] == list(TRANSLATION_MODELS)
    for part in report.parts:
        *terms, total = part.rows
        for column in ("computed_params", "counted_params"):
            assert total[column] == sum(term[column] for term in terms)
    base = report.parts[0].rows[-1]
    assert base["counted_params"] == 63_045_632
