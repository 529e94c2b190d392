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
        assert changed == environment
    else:
        assert changed == {**environment, "GLIBC_TUNABLES": expected}
        assert with_huge_pages(changed, "glibc", lambda: False) == changed  # Once only.


def test_it_is_for_glibc_and_for_cpus():
    assert with_huge_pages({}, "", lambda: False) == {}
    assert with_huge_pages({}, "glibc", lambda: True) == {}
    on_cpu = {"JAX_PLATFORMS": "cpu"}
    assert with_huge_pages(on_cpu, "glibc", lambda: True) != on_cpu
