"""Index relations of kernels whose source says what reads what."""

from __future__ import annotations

from pathlib import Path

import pytest

import sassql
from sassql.facts.index_relation import Relation, relation

CORPUS = Path(__file__).parents[2] / "corpora" / "lowering"
EXPECTED = {
    "affine.cu": {"aff_saxpy": {"own"}, "aff_channel": {"own", "broadcast"}},
    "elementwise.cu": {
        "ew_relu_f4": {"own"},
        "ew_scale_gs": {"own"},
        "ew_bias": {"own", "broadcast"},
        "ew_residual_relu": {"own"},
    },
    "elementwise_half.cu": {"ewh_scale_mixed8": {"own"}},
    "layout.cu": {
        "tr_naive": {"swapped"},
        "tr_shared": {"swapped"},
        "tr_padded": {"swapped"},
        "nchw2nhwc": {"swapped"},
        "reverse1d": {"reversed"},
        "copy_shared": {"own"},
    },
    "stencil.cu": {"stencil3": {"own", "shifted"}},
    "gather_scatter.cu": {"embed_gather": {"broadcast", "gathered"}},
    "normalization.cu": {"bn_infer": {"own", "broadcast"}},
    "rotary_embedding.cu": {"rope_fast": {"own", "displaced"}},
    "softmax.cu": {"sm_k2_exp": {"own", "broadcast"}},
}


def relations(kernel):
    accesses = [a for a in kernel.fact("addresses") if a.space.value == "global"]
    return {
        relation(read, written).value
        for written in accesses
        if written.access == "store"
        for read in accesses
        if read.access == "load"
    }


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("file", EXPECTED)
def test_what_reads_what(file, arch):
    kernels = {k.name: k for k in sassql.load(CORPUS / file, arch=arch).kernels}

    assert {name: relations(kernels[name]) for name in EXPECTED[file]} == EXPECTED[file]


SOURCE = """
extern "C" __global__ void strided(const float *x, float *y, int n, int s, int t) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    y[i * s + j * t] = x[i * n + j * s];
}
extern "C" __global__ void half_in(const short *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i];
}
extern "C" __global__ void neighbour(const float *x, float *y, int d) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i + d];
}
extern "C" __global__ void rows(const float *x, float *y, int n) {
    float s = 0;
    for (int k = threadIdx.x; k < n; k += 32) s += x[blockIdx.x * n + k];
    y[blockIdx.x] = s;
}
extern "C" __global__ void opaque(const float *x, float *y, int (*f)(int)) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[f(i)];
}
"""


def test_relations_that_the_corpus_lacks(tmp_path):
    (tmp_path / "k.cu").write_text(SOURCE)
    found = {k.name: relations(k) for k in sassql.load(tmp_path / "k.cu", arch="sm_90").kernels}

    assert found["strided"] == {"strided"}
    assert found["half_in"] == {"own"}  # elements of 2 and of 4 bytes
    assert found["neighbour"] == {"displaced"}
    assert found["rows"] <= {"other", "broadcast"}
    assert found["opaque"] == {"unknown"}


def test_one_access_lies_to_itself_as_its_own():
    (kernel,) = sassql.load(CORPUS / "stencil.cu", arch="sm_90").kernels
    for address in kernel.fact("addresses"):
        if address.space.value == "global":
            assert relation(address, address) is Relation.OWN
