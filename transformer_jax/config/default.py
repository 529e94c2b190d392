"""The config that every experiment starts from: the paper's base model.

An experiment imports this file and says only what differs:

    config = default.get_config()
    config.model.num_encoder_layers = 2

Any field can be given on the command line too: `--config.model.num_encoder_layers=2`.
What each means and may be stands where it is declared: in sections.py, in the
dataclass of a model or of a source of text; docs/fields.md lists them all.
"""

from typing import Any

import ml_collections

from transformer_jax.config.sections import ModelSection, TaskSection
from transformer_jax.config.tree import fields_of, make_tree
from transformer_jax.config.versions import CONFIG_VERSION
from transformer_jax.errors import UserError
from transformer_jax.fields import declared
from transformer_jax.language_codes import normalise_language
from transformer_jax.models.bert_config import BERT_SIZES, BertConfig


def get_config(
    model: str = "transformer", task: str = "translation"
) -> ml_collections.ConfigDict:
    """The base model of Section 3, trained as in Section 5; new fields are refused.

    Args:
      model: a name in `transformer_jax.models.MODELS`; another model has other fields.
      task: a name in `transformer_jax.tasks.TASKS`, likewise.

    Raises:
      UserError: if there is no such model or task.
    """
    declared(ModelSection)["name"].check(model, "model")
    declared(TaskSection)["name"].check(task, "task")
    config = make_tree(fields_of(model, task))
    # The layout of this tree, by which runs are read.
    config.version = CONFIG_VERSION
    config.model.name = model
    config.task.name = task
    config.lock()
    return config


def with_model(
    config: ml_collections.ConfigDict, model: str
) -> ml_collections.ConfigDict:
    """Return the same config for another model.

    Fields that both models have keep their values, but for unset ones that the new
    model wants set; the others have the new model's defaults.

    Raises:
      UserError: if there is no such model.
    """
    if model == config.model.name:
        return config
    section = get_config(model, config.task.name).model
    kept = {
        name: value
        for name, value in config.model.items()
        if name in section and (value is not None or section[name] is None)
    }
    section.update(kept | {"name": model})
    changed = config.copy_and_resolve_references()
    with changed.unlocked():
        changed.model = section
    return changed


def get_bert_config(
    task: str,
    size: str,
    *,
    num_steps: int,
    warmup_steps: int,
    peak_learning_rate: float,
) -> ml_collections.ConfigDict:
    """Return a config of BERT as its paper trains it (Devlin et al. 2018, A.2 and A.3).

    AdamW, a learning rate that rises and falls along lines, no label smoothing, and ten
    validations.

    Args:
      task: a name in `TASKS`.
      size: as `bert_sizes` knows it.
      num_steps: of the training.
      warmup_steps: in which the learning rate rises.
      peak_learning_rate: where it stops to.

    Raises:
      UserError: if there is no such task or size.
    """
    config = get_config("bert", task)
    config.model.update(bert_sizes(size))
    config.optimizer.update(
        schedule="linear",
        warmup_steps=warmup_steps,
        num_steps=num_steps,
        peak_learning_rate=peak_learning_rate,
        beta2=0.999,
        epsilon=1e-6,
        clip_norm=1.0,
        weight_decay=0.01,
    )
    config.training.update(num_steps=num_steps, label_smoothing=0.0)
    config.evaluation.eval_every_steps = num_steps // 10
    return config


def bert_sizes(size: str) -> dict[str, int]:
    """Return `config.model`'s sizes of BERT by their name, as "tiny" or "base".

    Raises:
      UserError: if there is none of that name.
    """
    if size not in BERT_SIZES:
        raise UserError(f"size={size!r}: expected one of {', '.join(BERT_SIZES)}.")
    return dict(BERT_SIZES[size])


def transformer_like_bert(size: str) -> dict[str, Any]:
    """Return `config.model`'s fields of a Transformer whose encoder is a BERT's.

    Its decoder is alike, and so can start from a BERT in part (`training.init_from`);
    `max_positions` has to be BERT's, too.

    Raises:
      UserError: if there is no such size.
    """
    sizes, like = bert_sizes(size), BertConfig(vocab_size=1)
    num_layers = sizes.pop("num_layers")
    return {
        "num_encoder_layers": num_layers,
        "num_decoder_layers": num_layers,
        **sizes,
        "activation": like.activation,
        "norm_epsilon": like.norm_epsilon,
        "init_stddev": like.init_stddev,
        "positions": "learned",
        "max_positions": like.max_positions,
        "norm_embeddings": True,
        "use_attention_bias": True,
    }


def files_by_language(languages: str) -> dict[str, str]:
    """Return `config.data`'s languages, and files that are called by them.

    Args:
      languages: codes of the source's and the target's with a hyphen between, as fr-en
        for train.fr, train.en, valid.fr and so on.

    Raises:
      UserError: if it is not so.
    """
    source, _, target = languages.partition("-")
    if "-" in target or not source or not target or source == target:
        raise UserError(
            f"languages={languages!r}: expected the codes of two languages with a "
            "hyphen between, the source's first, as fr-en or pt_BR-en."
        )
    for language in (source, target):
        normalise_language(language)  # Refuses what is none.
    files = {
        f"{split}_{side}": f"{name}.{language}"
        for split, name in {
            "train": "train",
            "validation": "valid",
            "test": "test",
        }.items()
        for side, language in (("source", source), ("target", target))
    }
    return {"source_language": source, "target_language": target, **files}
