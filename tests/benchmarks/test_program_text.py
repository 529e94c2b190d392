import pytest

from benchmarks.program_text import product_types, read_kernels

PROGRAM = """\
HloModule jit_step

%fused (p: f32[2,3]) -> bf16[2,3] {
  %p = f32[2,3]{1,0} parameter(0)
  ROOT %c = bf16[2,3]{1,0} convert(%p)
}

%body (t: (s32[], f32[2,3])) -> (s32[], f32[2,3]) {
  %t = (s32[], f32[2,3]{1,0}) parameter(0)
  %x = f32[2,3]{1,0} get-tuple-element(%t), index=1
  %copy.1 = f32[2,3]{0,1} copy(%x)
  ROOT %r = (s32[], f32[2,3]{1,0}) tuple(%i, %copy.1)
}

ENTRY %main (a: f32[2,3], b: pred[5]) -> bf16[2,3] {
  %a = f32[2,3]{1,0:T(8,128)} parameter(0)
  %b = pred[5]{0} parameter(1)
  %transpose_fusion = (bf16[2,3]{1,0:T(8,128)}, /*index=1*/pred[5]{0}) fusion(%a, %b), \
kind=kLoop, calls=%fused
  %w = (s32[], f32[2,3]{1,0}) while(%t0), condition=%cond, body=%body, \
backend_config={"known_trip_count":{"n":"4"}}
  %s = (f32[2,3]{1,0}, u32[]) copy-start(%a)
  ROOT %out = bf16[2,3]{1,0} get-tuple-element(%transpose_fusion), index=0
}
"""


def test_kernels_are_counted_with_their_bytes_and_a_loops_once_a_round():
    kernels = read_kernels(PROGRAM)
    assert kernels.by_kind == {"fusion": 1, "copy": 4}
    assert (kernels.number, kernels.num_transposing) == (5, 5)
    # Fusion: 24 + 5 read, 12 + 5 written; copy: 24 + 24.
    assert kernels.num_bytes == 46 + 4 * 48


def test_products_are_counted_by_their_types():
    line = (
        "%1 = stablehlo.dot_general %0, %2, contracting_dims = [1] x [0] : "
        "(tensor<2x3xbf16>, tensor<3x5xbf16>) -> tensor<2x5xf32>\n"
    )
    assert product_types(2 * line) == [("bf16", "bf16", "f32")] * 2
    with pytest.raises(ValueError, match="2 products, of which 1 could be read"):
        product_types(line + line.replace("tensor", "array"))
