"""Every field of a config: default, range, meaning, and may it change within a run?"""

from transformer_jax.config.tree import fields_of
from transformer_jax.fields import Field
from transformer_jax.reports.render import Column, Report, Row, one_table

_COLUMNS = (
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
    "Another model or task has other fields in model or task.",
)


def make_report() -> Report:
    """List the fields of a Transformer that translates."""
    fields = fields_of("transformer", "translation")
    rows = [_row(path, field) for path, field in fields.items()]
    return one_table("Fields", _COLUMNS, rows, _NOTES)


def _row(path: str, field: Field) -> Row:
    return {
        "field": f"`{path}`",
        "default": "unset" if field.default is None else f"`{field.default!r}`",
        "range": field.describe_range(),
        "meaning": field.meaning,
        "may_change_on_resume": field.is_free,
    }
