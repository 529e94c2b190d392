import functools
import importlib
import pathlib
import re

import pytest

from transformer_jax.config import default
from transformer_jax.errors import UserError
from transformer_jax.models.parameters import count_params, param_shapes
from transformer_jax.runs import components

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "configs").rglob("*.py")
    if path.name != "__init__.py"
)

# Worked out by hand. One layer of width d with inner width f has, without biases in
# attention: 4 d^2 for each attention, 2 d f + f + d for the feed-forward, 2 d for each
# norm; two and three sub-layers in the encoder and the decoder; V d for the table; with
# pre-norm two norms more. The WMT configs pad V = 37 000 to 37 120 rows; 32 000 is a
# multiple of 128 already.
NUM_PARAMS = {
    "configs.grammar_tiny": 1_107_968,
    # BERT tiny with 128 positions and V = 2000: 4 385 920 + 47 290 + 258 of the
    # published one, less (30 522 - 2000) * 129 and 384 * 128.
    "configs.bert.pretrain_tiny": 704_978,
    # 2000 pieces more, each of 128 numbers and a bias.
    "configs.bert.pretrain_multi30k": 704_978 + 2_000 * 129,
    # The same encoder, 4 385 920 published, and one layer for two classes.
    "configs.bert.finetune": 686_210,
    # 109 482 240 published, and one layer for three classes, or for two.
    "configs.bert.glue.mnli": 109_484_547,
    **dict.fromkeys(
        (f"configs.bert.glue.{name}" for name in "qqp qnli sst2 cola mrpc rte".split()),
        109_483_778,
    ),
    # 109 482 240 published, less 522 * 768; the heads 592 128 + 30 000 and 1538.
    "configs.bert.pretrain_base": 109_705_010,
    # 4000 * 256 + 2 * 256 * 256 for words and positions; a weight-normalised map from m
    # to n has m n + 2 n: 66 048 each for the four at the ends and two in each of four
    # attentions, 394 240 for each of eight convolutions from 3 * 256 to 512.
    "configs.multi30k_convolutional": 1_155_072 + 12 * 66_048 + 8 * 394_240,
    "configs.multi30k_tiny": 1_831_424,
    "configs.multi30k_tiny_long": 1_831_424,
    "configs.multi30k_restricted": 1_831_424,
    # 6000 pieces more, and no norms at the ends.
    "configs.multi30k_published": 1_831_424 + 6000 * 128 - 2 * 256,
    # 2 (33 216 + 49 728) + 2000 * 64
    "configs.multi30k_table3": 293_888,
    # Two sides of 4 (512 + 1) 256 + 4 (512 + 1) 256; 257 * 256; 4000 * 256.
    "configs.multi30k_recurrent": 3_191_040,
    # Three layers of 3 (512 + 1) 256, 3 * 512 * 256 from the context; keys, queries and
    # v: 512 * 256 + 256 * 256 + 256; 257 * 256 to start; 1025 * 512 out; the table.
    "configs.multi30k_recurrent_attention": 3_386_624,
    "configs.own_text": 52_293_632,
    # 3 (197 760 + 263 552) + 4000 * 128 + 512
    "configs.own_text_tiny": 1_896_448,
    "configs.wmt14_ende_base": 63_107_072,
    "configs.wmt14_ende_big": 214_294_528,
    "configs.wmt14_ende_tensor2tensor": 63_109_120,
    "configs.wmt14_enfr_base": 60_485_632,
    "configs.wmt14_enfr_big": 209_051_648,
    "configs.table3.base": 63_107_072,
    "configs.table3.a_heads_1": 63_107_072,
    "configs.table3.a_heads_4": 63_107_072,
    "configs.table3.a_heads_16": 63_107_072,
    "configs.table3.a_heads_32": 63_107_072,
    # 18 attentions, each with 2 * 512 * (512 - 8 d_k) weights fewer.
    "configs.table3.b_d_k_16": 56_029_184,
    "configs.table3.b_d_k_32": 58_388_480,
    # 3 150 336 + 4 199 936 for an encoder and a decoder layer.
    "configs.table3.c_layers_2": 33_705_984,
    "configs.table3.c_layers_4": 48_406_528,
    "configs.table3.c_layers_8": 77_807_616,
    "configs.table3.c_d_model_256": 26_847_232,
    "configs.table3.c_d_model_1024": 163_938_304,
    "configs.table3.c_d_ff_1024": 50_511_872,
    "configs.table3.c_d_ff_4096": 88_297_472,
    "configs.table3.d_dropout_0_0": 63_107_072,
    "configs.table3.d_dropout_0_2": 63_107_072,
    "configs.table3.d_smoothing_0_0": 63_107_072,
    "configs.table3.d_smoothing_0_2": 63_107_072,
    # Two tables of 1024 positions more.
    "configs.table3.e_learned_positions": 64_155_648,
    "configs.table3.big": 214_294_528,
}


def _fields(tree, prefix=""):
    for name, value in tree.items():
        yield prefix + name
        if hasattr(value, "items"):
            yield from _fields(value, f"{prefix}{name}.")


def _schedule(config):
    size = config.data.vocab_size
    return components.build_schedule(config, components.build_model(config, size, size))


@pytest.mark.parametrize("name", NAMES)
def test_every_config_builds_with_the_number_of_parameters_worked_out(name):
    config = importlib.import_module(name).get_config()
    size = config.data.vocab_size
    model = components.build_model(config, size, size)
    params = param_shapes(model, components.build_task(config).inputs)
    assert count_params(params) == NUM_PARAMS[name]
    components.build_optimizer(config)
    components.build_schedule(config, model)
    components.loop_settings(config, "sacrebleu")


@pytest.mark.parametrize("name", NAMES)
def test_every_config_has_the_fields_of_the_default_and_no_others(name):
    config = importlib.import_module(name).get_config()
    assert config.is_locked
    expected = default.get_config(config.model.name, config.task.name)
    assert set(_fields(config)) == set(_fields(expected))


def _documents():
    """Return every text that tells people which config to use."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "Makefile"]
    folders = ("configs", "transformer_jax", "benchmarks")
    code = [path for folder in folders for path in ROOT.glob(f"{folder}/**/*.py")]
    return sorted([*pages, *ROOT.glob("*.py"), *code])


_SHIMS = ("train.py", "evaluate.py")


def _named_configs(document):
    """Return the paths below `configs/` that a text names; some hold a "*"."""
    text = document.read_text(encoding="utf-8")
    names = re.findall(r"\bconfigs/([\w/*]+\.py)", text)
    if document.parent.name == "configs":  # These call their neighbours by name.
        names += re.findall(r"(?<![\w/])\w+\.py", text)
    # Some pages write a config themselves.
    own = re.findall(r'title="configs/([\w/]+\.py)"', text)
    return {name.replace("NAME", "*") for name in names} - {*own, *_SHIMS}


@pytest.mark.parametrize(
    "document", _documents(), ids=lambda path: str(path.relative_to(ROOT))
)
def test_every_config_that_a_document_names_exists(document):
    """And builds, as each file there does by the test above."""
    for name in _named_configs(document):
        found = {
            ".".join(path.relative_to(ROOT).with_suffix("").parts)
            for path in (ROOT / "configs").glob(name)
        }
        assert found & set(NAMES), f"{document.name} names configs/{name}"


def test_documents_name_the_configs_that_they_are_known_to_name():
    """So that the test above cannot pass by finding nothing."""
    named = _named_configs(ROOT / "README.md")
    assert {"wmt14_ende_base.py", "table3/*.py"} <= named
    assert "own_text_tiny.py" in _named_configs(ROOT / "configs/own_text.py")
    assert _named_configs(ROOT / "Makefile") == {"grammar_tiny.py"}


# It is the run of a benchmark.
_WITHOUT_A_COMMAND = ("configs.multi30k_table3",)


@pytest.mark.parametrize("name", NAMES)
def test_the_command_at_the_top_of_a_config_names_that_config(name):
    path = name.replace(".", "/") + ".py"
    commands = re.findall(
        r"train --config[= ](\S+)", importlib.import_module(name).__doc__
    )
    assert set(commands) == (set() if name in _WITHOUT_A_COMMAND else {path})


def _changes(name):
    """Return the fields in which a config differs from its model's default."""
    config = importlib.import_module(name).get_config()
    plain = default.get_config(config.model.name)
    pairs = ((field, _value(config, field)) for field in _fields(config))
    return {
        field: value
        for field, value in pairs
        if not hasattr(value, "items") and value != _value(plain, field)
    }


def _value(config, field):
    return functools.reduce(lambda tree, name: tree[name], field.split("."), config)


# What is not of the recipe: where the text is, and what makes a step quick.
WMT14 = {"data.source": "tfds", "model.dtype": "bfloat16", "model.vocab_multiple": 128}
GERMAN = WMT14 | {"data.tfds.name": "wmt14_translate/de-en"}
FRENCH = WMT14 | {
    "data.tfds.name": "wmt14_translate/fr-en",
    "data.target_language": "fr",
    "data.vocab_size": 32_000,
}
BIG = {
    "model.d_model": 1024,
    "model.d_ff": 4096,
    "model.num_heads": 16,
    "training.num_steps": 300_000,
    "checkpoints.keep_params": 20,
}


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("wmt14_ende_base", GERMAN),
        ("wmt14_ende_big", GERMAN | BIG | {"model.dropout_rate": 0.3}),
        ("wmt14_enfr_base", FRENCH),
        # Dropout is the base model's 0.1 (Section 6.1).
        ("wmt14_enfr_big", FRENCH | BIG),
    ],
)
def test_wmt14_configs_change_what_the_paper_changes_and_nothing_else(name, changes):
    assert _changes(f"configs.{name}") == changes
    plain = default.get_config()
    assert plain.data.vocab_size == 37_000
    assert plain.data.tokens_per_batch == 25_000
    assert plain.model.dropout_rate == 0.1
    assert plain.training.num_steps == 100_000
    assert plain.checkpoints.keep_params == 5


def test_the_tensor2tensor_recipe_is_transformer_base_v3():
    assert _changes("configs.wmt14_ende_tensor2tensor") == GERMAN | {
        "model.norm_position": "pre",
        "model.attention_dropout_rate": 0.1,
        "model.feed_forward_dropout_rate": 0.1,
        "model.sinusoid_layout": "tensor2tensor",
        "optimizer.factor": 2.0,
        "optimizer.warmup_steps": 8_000,
        "optimizer.beta2": 0.997,
        "training.label_smoothing_formula": "others",
    }


def test_the_long_run_on_multi30k_is_the_short_one_with_more_steps_and_dropout():
    assert _changes("configs.multi30k_tiny_long") == _changes(
        "configs.multi30k_tiny"
    ) | {
        "model.dropout_rate": 0.25,
        "optimizer.num_steps": 10_000,
        "training.num_steps": 10_000,
        "evaluation.eval_every_steps": 500,
    }


def test_the_restricted_run_on_multi30k_is_the_whole_one_with_a_window():
    name = "configs.multi30k_restricted"
    assert _changes(name) == _changes("configs.multi30k_tiny")
    model = importlib.import_module(name).get_config().model
    assert (model.name, model.window) == ("restricted_transformer", 9)


def _schedule(config):
    size = config.data.vocab_size
    return components.build_schedule(config, components.build_model(config, size, size))


@pytest.mark.parametrize("name", NAMES)
def test_every_config_builds_on_the_default_alone(name):
    source = (ROOT / f"{name.replace('.', '/')}.py").read_text(encoding="utf-8")
    imported = re.findall(r"^(?:from|import) .*", source, re.MULTILINE)
    assert imported == [
        "import ml_collections",
        "from transformer_jax.config import default",
    ]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        # 2 * 512^-0.5 = 0.0883883, times 8000^-1.5 = 1.39754e-6 a step until 8000, then
        # over the root: 89.4427, and 178.885 at 32 000.
        (1, 1.23526e-7),
        (4_000, 4.94106e-4),
        (8_000, 9.88212e-4),
        (32_000, 4.94106e-4),
    ],
)
def test_the_tensor2tensor_recipe_has_the_learning_rates_of_its_source(step, expected):
    name = "configs.wmt14_ende_tensor2tensor"
    config = importlib.import_module(name).get_config()
    rate = _schedule(config)(step - 1)
    assert float(rate) == pytest.approx(expected, rel=1e-5)


def test_the_default_is_the_paper():
    config = default.get_config()
    assert config.model.norm_position == "post"
    assert config.model.activation == "relu"
    assert config.model.tied_embeddings == "all"
    assert (config.optimizer.beta1, config.optimizer.beta2) == (0.9, 0.98)
    assert config.optimizer.epsilon == 1e-9
    assert config.optimizer.warmup_steps == 4000
    assert config.training.label_smoothing == 0.1
    assert config.decoding.beam_size == 4
    assert config.decoding.alpha == 0.6
    assert config.decoding.max_extra_length == 50
    assert float(_schedule(config)(3999)) == pytest.approx(6.9877e-4, rel=1e-4)


@pytest.mark.parametrize("name", ["own_text", "own_text_tiny"])
def test_a_config_for_own_text_finds_it_by_its_languages(name):
    get_config = importlib.import_module(f"configs.{name}").get_config
    data = get_config("pt_BR-en").data
    assert (data.source_language, data.target_language) == ("pt_BR", "en")
    assert (data.train_source, data.validation_source) == ("train.pt_BR", "valid.pt_BR")
    assert (data.test_source, data.test_target) == ("test.pt_BR", "test.en")
    assert get_config().data.train_target == "train.de"


def test_sizes_of_bert_go_by_name():
    assert default.bert_sizes("base") == {
        "num_layers": 12,
        "d_model": 768,
        "d_ff": 3072,
        "num_heads": 12,
    }
    with pytest.raises(UserError, match="size='huge': expected one of tiny, mini"):
        default.bert_sizes("huge")
