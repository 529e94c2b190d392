import pytest

from transformer_jax.costs.accelerators import (
    ACCELERATORS,
    find_accelerator,
    recognise,
    sustained_flops,
)


@pytest.mark.parametrize(
    ("device_kind", "name"),
    [
        ("TPU v4", "TPU v4"),
        ("TPU v5 lite", "TPU v5e"),
        ("TPU v5", "TPU v5p"),
        ("TPU v6 lite", "TPU v6e"),
        ("NVIDIA A100-SXM4-40GB", "A100"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H200", "H200"),
        ("Tesla P100-PCIE-16GB", "P100"),
        ("NVIDIA A100-PCIE-40GB", "A100"),
        ("NVIDIA A100 80GB PCIe", "A100"),
        ("Tesla V100-SXM2-16GB", "V100"),
    ],
)
def test_what_jax_calls_a_device_is_found_in_the_table(device_kind, name):
    assert recognise(device_kind) is ACCELERATORS[name]


@pytest.mark.parametrize(
    "device_kind",
    [
        "cpu",
        "TPU v4 lite",
        "NVIDIA RTX A1000 Laptop GPU",
        "Quadro K4000",
        "Quadro P1000",
        "NVIDIA GH200 480GB",
        "NVIDIA H100 NVL",
        "NVIDIA A1000",
    ],
)
def test_a_device_that_is_not_in_the_table_is_not_guessed(device_kind):
    assert recognise(device_kind) is None


def test_the_papers_cost_is_time_times_devices_times_its_sustained_rate():
    # 12 hours of 8 P100 at 9.5 TFLOP/s (Sections 5.2 and 6.1).
    p100 = find_accelerator("P100")
    assert sustained_flops(12 * 3600, 8, p100) == pytest.approx(3.2832e18)
