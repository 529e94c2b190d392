"""Configs of older runs: fields by their names of today, and those that came later."""

from collections.abc import Mapping
from typing import Any

import ml_collections

from transformer_jax.config.names import nearest_field
from transformer_jax.config.tree import fields_of, leaves, make_tree
from transformer_jax.errors import UserError
from transformer_jax.models import MODELS
from transformer_jax.tasks import TASKS

# Rises when a field changes its name or its meaning. A new field needs no new version:
# its declaration says what runs did before it (`transformer_jax.fields`).
CONFIG_VERSION = 2

# Version 1 → 2: a field has the name of the parameter that it ends in.
RENAMED = {
    "data.num_workers": "data.num_threads",
    "optimizer.learning_rate_factor": "optimizer.factor",
    "optimizer.decay_steps": "optimizer.num_steps",
    "optimizer.final_share": "optimizer.final_fraction",
    "optimizer.max_gradient_norm": "optimizer.clip_norm",
    "training.max_skipped_updates": "training.max_skips",
    "evaluation.every_steps": "evaluation.eval_every_steps",
    "checkpoints.every_steps": "checkpoints.save_every_steps",
    "checkpoints.every_minutes": "checkpoints.save_every_minutes",
    "checkpoints.keep_weights": "checkpoints.keep_params",
}


def read_fields(fields: Mapping[str, Any]) -> ml_collections.ConfigDict:
    """Return a run's config as this program has it today.

    A field that the run is older than has the value that keeps what the run did.

    Args:
      fields: nested, as they were written, with their `version`.

    Raises:
      UserError: if a newer program wrote them, or they hold what no config has.
    """
    version = fields["version"]
    if version not in range(1, CONFIG_VERSION + 1):
        raise UserError(
            f"it has version {version}; this program reads versions 1 to "
            f"{CONFIG_VERSION}. Use the program that wrote it."
        )
    written = dict(leaves(fields))
    del written["version"]
    if version < 2:
        for old, new in RENAMED.items():
            if old in written and new in written:
                raise UserError(
                    f"it has both {old} and {new}, which is its new name. Take out one."
                )
        written = {RENAMED.get(path, path): value for path, value in written.items()}
    model = str(written.get("model.name"))
    task = str(written.get("task.name", "translation"))  # Once the only one.
    for kind, name, names in (("model", model, MODELS), ("task", task, TASKS)):
        if name not in names:
            raise UserError(
                f"its {kind} {name!r} is none of {', '.join(names)}. Use the program "
                "that wrote it."
            )
    known = fields_of(model, task)
    for path in written:
        if path not in known:
            nearest = nearest_field(path, known)
            raise UserError(
                f"it has the field {path}, which this program does not know"
                f"{f' (it has {nearest})' if nearest else ''}. Use the program that "
                "wrote it."
            )
    for path, value in written.items():
        field = known[path]
        if value is None and field.default == "":
            written[path] = ""  # Once None would do for no text.
            continue
        field.check_type(value, path)
        # Its range may have been another for the program that wrote it; a choice that
        # there is not today means another program.
        if field.choices is not None:
            field.check(value, path)
    config = make_tree(known)
    config.update_from_flattened_dict(
        {path: written.get(path, field.before) for path, field in known.items()}
    )
    config.version = CONFIG_VERSION
    config.lock()
    return config
