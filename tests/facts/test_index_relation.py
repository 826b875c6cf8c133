"""Index relations of kernels whose source says what reads what."""

from __future__ import annotations

from pathlib import Path

import pytest

import sassql
from sassql.facts.index_relation import Relation, lacks, relation

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


TIMES = """
extern "C" __global__ void times(const float *a, const float *v, float *y, long n) {
    long row = blockIdx.x * 4l + threadIdx.x / 32;
    float s = 0;
    for (long k = threadIdx.x % 32; k < n; k += 32) s += a[row * n + k] * v[k];
    y[row] = s;
}
"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_what_threads_and_blocks_share(tmp_path, arch):
    """Also: a size of 8 bytes that is multiplied is no pointer, so each array has its base."""
    (tmp_path / "k.cu").write_text(TIMES)
    (kernel,) = sassql.load(tmp_path / "k.cu", arch=arch).kernels
    found = {str(a.base): a for a in kernel.fact("addresses") if a.space.value == "global"}
    a, v, y = (found[f"param{n}"] for n in range(3))

    assert lacks(v, a) is True, "rows share the vector"
    assert lacks(a, v) is False
    assert lacks(y, a) is True, "lanes share what is stored"
    assert lacks(y, v) is True and lacks(v, y) is True
    assert lacks(a, a) is False


def test_nobody_knows_what_shares_an_opaque_place(tmp_path):
    (tmp_path / "k.cu").write_text(SOURCE)
    kernel = next(k for k in sassql.load(tmp_path / "k.cu", arch="sm_90").kernels if k.name == "opaque")
    read, written = (a for a in kernel.fact("addresses") if a.space.value == "global")

    assert lacks(read, written) is None
