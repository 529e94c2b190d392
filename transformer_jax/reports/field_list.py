"""Every field of a config: default, range, meaning, and may it change within a run?"""

from transformer_jax.config.tree import fields_of
from transformer_jax.fields import Field, declared
from transformer_jax.models import MODELS
from transformer_jax.reports.render import Column, Part, Report, Row
from transformer_jax.tasks import TASKS

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
    "A config of another model or task is made by `default.get_config(model=NAME, "
    "task=NAME)`.",
)


def make_report() -> Report:
    """List the fields of a Transformer that translates, then what others have.

    These are the other models' own fields, then the other tasks'.
    """
    fields = fields_of(_DEFAULT, "translation")
    rows = [_row(_DEFAULT, path, field) for path, field in fields.items()]
    parts = [Part("", _COLUMNS, rows)]
    for name, kind in MODELS.items():
        if name != _DEFAULT:
            parts.append(_part("model", name, kind.config, of_model=name))
    for name, task in TASKS.items():
        if declared(task.settings):
            parts.append(_part("task", name, task.settings, of_model=""))
    return Report("Fields", parts, [row for part in parts for row in part.rows], _NOTES)


def _part(section: str, name: str, settings: type, of_model: str) -> Part:
    """List the fields that a dataclass declares of a section."""
    rows = [
        _row(of_model, f"{section}.{field}", value)
        for field, value in declared(settings).items()
    ]
    return Part(f"With {section}.name={name}", _COLUMNS, rows)


def _row(model: str, path: str, field: Field) -> Row:
    return {
        "model": model,
        "field": f"`{path}`",
        "default": "unset" if field.default is None else f"`{field.default!r}`",
        "range": field.describe_range(),
        "meaning": field.meaning,
        "may_change_on_resume": field.is_free,
    }
