"""The executor computes what numpy computes: on numbers, and by evaluating what it computed on unknowns."""

from __future__ import annotations

import pytest
from references import REFERENCES
from running import LAUNCH, check

import sassql
from sassql.insight.launch import read_launch

SOME = [
    "ew_sigmoid",
    "ew_sin",
    "ew_gelu_erf",
    "ew_relu_f4",
    "ewh_axpb",
    "ewh_relu_bf16",
    "ewh_scale_mixed8",
    "aff_channel",
    "dc_intdiv",
    "dc_lcg",
    "dc_bitonic",
    "argmax_warp",
    "argmax_packed",
    "br_sum_warp",
    "br_count",
    "conv_dw3x3_smem",
    "dot_dp4a",
    "dot_half2",
    "embed_scatter_add",
    "gemm_tiled16",
    "gemm_wmma",
    "gemm_cpasync",
    "gr_lastblock",
    "gr_atomic_imax",
    "hist_shared",
    "ln_welford_warp",
    "rt_local",
    "scan_block",
    "sm_online_warp",
    "tr_padded",
    "wr_dsum_xor",
    "wr_isum_redux",
    "wr_hmax2_xor",
    "xent_warp",
    "topk4_thread",
]
LARGEST = 1e-5


def error_of(kernel, symbolic):
    launch = read_launch(LAUNCH, kernel.name)
    return max(
        check(kernel, launch, shape, crossing=n % 2 == 0, symbolic=symbolic, seed=n).error
        for n, shape in enumerate(launch.shapes)
    )


ARCHITECTURES = ("sm_90", "sm_120", "sm_75", "sm_100", "sm_80")


@pytest.mark.parametrize(("name", "arch"), [(n, ARCHITECTURES[i % 5]) for i, n in enumerate(SOME)])
def test_a_kernel_computes_its_reference(name, arch, lowering):
    kernel = lowering(name, arch)
    if kernel is None:
        pytest.skip(f"{name} needs a newer architecture")

    assert error_of(kernel, symbolic=False) <= LARGEST


@pytest.mark.parametrize(
    "name", ["ew_sin", "argmax_packed", "dot_half2", "gemm_wmma", "ln_welford_warp", "dot_dp4a"]
)
def test_what_it_computes_on_unknowns_has_the_same_values(name, lowering):
    assert error_of(lowering(name), symbolic=True) <= LARGEST


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_kernel_of_the_corpus(arch):
    kernels = list(sassql.Corpus.open(LAUNCH.parent, arch=arch).kernels())

    assert len(kernels) > 140
    for kernel in kernels:
        assert kernel.name in REFERENCES
        assert error_of(kernel, symbolic=False) <= LARGEST, kernel.name
        if kernel.name != "gr_cas_fmax":  # a compare-and-swap decides by its data
            assert error_of(kernel, symbolic=True) <= LARGEST, kernel.name
