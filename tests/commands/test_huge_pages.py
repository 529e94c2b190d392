import os
import subprocess
import sys

import pytest

from transformer_jax.commands.huge_pages import VARIABLE, with_huge_pages

OURS = "glibc.malloc.hugetlb=1"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, OURS),
        ({"GLIBC_TUNABLES": ""}, OURS),
        ({"GLIBC_TUNABLES": "glibc.malloc.check=1"}, f"glibc.malloc.check=1:{OURS}"),
        ({"GLIBC_TUNABLES": "glibc.malloc.hugetlb=0"}, None),
        ({VARIABLE: "off"}, None),
    ],
)
def test_what_the_user_set_stays(environment, expected):
    environment = {"HOME": "/home", **environment}
    changed = with_huge_pages(environment, "glibc", lambda: False)
    if expected is None:
        assert changed is None
    else:
        assert changed == {**environment, "GLIBC_TUNABLES": expected}
        assert with_huge_pages(changed, "glibc", lambda: False) is None  # Once only.


def test_it_is_for_glibc_and_for_cpus():
    assert with_huge_pages({}, "", lambda: False) is None
    assert with_huge_pages({}, "glibc", lambda: True) is None
    on_cpu = {"JAX_PLATFORMS": "cpu"}
    assert with_huge_pages(on_cpu, "glibc", lambda: True) is not None


@pytest.mark.skipif(sys.platform != "linux", reason="glibc is Linux's C library")
def test_a_program_starts_anew_with_its_arguments_and_input():
    program = (
        "import os, sys;"
        "from transformer_jax.commands.huge_pages import restart_with_huge_pages;"
        "restart_with_huge_pages();"
        "print(os.environ['GLIBC_TUNABLES'], sys.argv[1:], sys.stdin.read())"
    )
    environment = {k: v for k, v in os.environ.items() if k != "GLIBC_TUNABLES"}
    result = subprocess.run(
        [sys.executable, "-c", program, "--a b", "c"],
        env=environment | {"JAX_PLATFORMS": "cpu"},
        input="some text",
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == f"{OURS} ['--a b', 'c'] some text\n"
