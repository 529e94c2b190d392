"""Every field of a config: default, range, meaning, and may it change within a run?"""

from transformer_jax.config.tree import fields_of
from transformer_jax.fields import Field, declared
from transformer_jax.models import MODELS
from transformer_jax.reports.render import Column, Part, Report, Row

_DEFAULT = "transformer"
_COLUMNS = (
    Column("model", ""),
    Column("field", "field"),
    Column("default", "default"),
    Column("range", "range"),
    Column("meaning", "meaning"),
    Column("may_change_on_resume", "may change on resume"),
)
_NOTES = (
    "Set a field in a config file, or on the command line: "
    "--config.model.num_encoder_layers=2.",
    "A field that may change when a run is resumed leaves what an update does alone.",
    "A config of another model is made by `default.get_config(model=NAME)`.",
)


def make_report() -> Report:
    """List the fields of a Transformer that translates, then the other models' own."""
    fields = fields_of(_DEFAULT, "translation")
    rows = [_row(_DEFAULT, path, field) for path, field in fields.items()]
    parts = [Part("", _COLUMNS, rows)]
    for name, kind in MODELS.items():
        if name != _DEFAULT:
            of_model = declared(kind.config).items()
            rows = [_row(name, f"model.{field}", value) for field, value in of_model]
            parts.append(Part(f"With model.name={name}", _COLUMNS, rows))
    return Report("Fields", parts, [row for part in parts for row in part.rows], _NOTES)


def _row(model: str, path: str, field: Field) -> Row:
    return {
        "model": model,
        "field": f"`{path}`",
        "default": "unset" if field.default is None else f"`{field.default!r}`",
        "range": field.describe_range(),
        "meaning": field.meaning,
        "may_change_on_resume": field.is_free,
    }
