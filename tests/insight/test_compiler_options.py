"""The same source compiled with other options: code without optimization, and arithmetic that flushes denormals."""

from __future__ import annotations

import functools

import pytest
from running import LAUNCH, LOWERING

import sassql
from sassql.reading.compile import compile_cuda


@functools.cache
def compiled(file, option):
    source = (LOWERING / file).read_text("utf-8")
    made = compile_cuda(source, name=file, arch="sm_90", options=(option,))
    return {kernel.name: kernel for kernel in sassql.load(made.cubin).kernels}


@pytest.mark.parametrize("name", ["ew_scale", "ew_bias", "ew_relu_f4"])
def test_code_without_optimization_has_the_same_bits(name, lowering):
    """It loads parameters by `LDC.64 R2, c[0x0][R2+0x210]`: the index is overwritten by the first word."""
    found = sassql.compare(lowering(name), compiled("elementwise.cu", "--ptxas-options=-O0")[name], LAUNCH)

    assert found.level == "E0", found.reason


@pytest.mark.parametrize(
    ("file", "name"), [("elementwise.cu", "ew_scale"), ("warp_reduction.cu", "wr_sum_xor")]
)
def test_flushed_denormals_are_an_approximation(file, name, lowering):
    """On an H200 the bits of ew_scale differ for denormal inputs: E1 would be wrong."""
    found = sassql.compare(lowering(name), compiled(file, "--use_fast_math")[name], LAUNCH)

    assert found.level == "E3", found.reason


def test_sums_that_both_flush_differ_in_order_only():
    kernels = compiled("warp_reduction.cu", "--use_fast_math")
    found = sassql.compare(kernels["wr_sum_xor"], kernels["wr_sum_xor_up"], LAUNCH)

    assert found.level == "E1", found.reason
