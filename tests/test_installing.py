"""What installing needs: extras that exist, lower bounds, the Dockerfile."""

import configparser
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SETUP = configparser.ConfigParser()
SETUP.read(ROOT / "setup.cfg")
EXTRAS = set(SETUP["options.extras_require"])


def _texts() -> dict[str, str]:
    """Return code and documents, with strings that go over several lines as one."""
    paths = [
        *ROOT.glob("*.md"),
        *ROOT.glob("Dockerfile"),
        *ROOT.glob("docs/**/*.md"),
        *(ROOT / "transformer_jax").rglob("*.py"),
        *(ROOT / "benchmarks").rglob("*.py"),
    ]
    return {
        str(path.relative_to(ROOT)): re.sub(r'"\s*f?"', "", path.read_text("utf-8"))
        for path in paths
    }


def test_every_extra_that_is_named_can_be_installed():
    named = {
        (document, extra)
        for document, text in _texts().items()
        for extras in re.findall(r"(?:transformer-jax|'\.)\[([\w,]+)\]", text)
        for extra in extras.split(",")
    }
    assert {extra for _, extra in named} >= {"comet", "cuda", "tpu", "wandb"}
    assert not [(document, extra) for document, extra in named if extra not in EXTRAS]


def test_extras_that_messages_put_in_are_extras():
    from transformer_jax.evaluation.languages import _EXTRAS
    from transformer_jax.training.trackers import TRACKERS

    assert set(_EXTRAS.values()) <= EXTRAS
    assert set(TRACKERS) - {"tensorboard"} <= EXTRAS


def test_every_requirement_has_a_lower_bound_that_can_be_tried():
    """As .ci/bounds reads them. Orbax says which TensorStore it needs."""
    lines = SETUP["options"]["install_requires"].splitlines()
    lines = [line for line in lines if line and not line.startswith("#")]
    unbound = [line for line in lines if not re.match(r"[\w.-]+>=[\d.]+", line)]
    assert unbound == ["tensorstore"]
    capped = [line for line in lines if "<" in line]
    assert [line.partition(">")[0] for line in capped] == ["tensorflow-datasets"]


def test_the_image_pins_its_base_and_runs_the_commands_as_nobody_special():
    if not (ROOT / "Dockerfile").exists():
        pytest.skip("needs a checkout")
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    steps = re.findall(r"^([A-Z]+) (.+)$", text, re.MULTILINE)
    (base,) = [value for name, value in steps if name == "FROM"]
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+", base)
    (user,) = [value for name, value in steps if name == "USER"]
    assert user != "root"
    assert ("ENTRYPOINT", '["transformer-jax"]') in steps
    kept = (ROOT / ".dockerignore").read_text().splitlines()
    for name, value in steps:
        for source in value.split()[:-1] if name == "COPY" else ():
            assert (ROOT / source).exists()
            assert f"!{source}" in kept
