"""Findings stand where the machine code has what they say, and nowhere else."""

from __future__ import annotations

import pytest

from sassql.corpus.corpus import load


def by_kind(record):
    return {finding.kind: finding for finding in record.findings}


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_loads_side_by_side_are_named_with_their_addresses(reported, arch):
    record = reported.record("side_by_side", arch)
    kernel = reported.kernel(record)
    found = by_kind(record)

    loads = [i.address for i in kernel.instructions if i.opcode == "LDG"]
    assert len(loads) == 4
    assert found["narrow load"].at == tuple(sorted(loads))
    assert "narrow store" not in found  # one store in four words
    assert "16 bytes apart in 5 global accesses" in found["strided"].text


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_spills_are_found_where_registers_do_not_suffice(reported, compiled, arch):
    record = reported.record("crowded", arch)
    kernel = reported.kernel(record)
    places = tuple(i.address for i in kernel.instructions if i.opcode in ("STL", "LDL"))
    roomy = next(k for k in compiled(arch, "report.cu").module.kernels if k.name == "crowded")

    assert places
    assert by_kind(record)["spill"].at == places
    assert not [i for i in roomy.instructions if i.opcode in ("STL", "LDL")]


def test_coalesced_accesses_are_no_finding(reported):
    for name in ("row_softmax", "crowded"):
        assert "strided" not in by_kind(reported.record(name))
        assert "narrow load" not in by_kind(reported.record(name))


def test_a_stencil_is_no_finding():
    """Its loads lie side by side too, but every other thread's pair is not aligned."""
    from sassql.reading.compile import compile_cuda
    from sassql.report.findings import narrow

    source = """extern "C" __global__ void stencil(float *y, const float *x)
    { int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = x[i] + x[i + 1] + x[i + 2] + x[i + 3]; }"""
    (kernel,) = load(compile_cuda(source, name="t.cu", arch="sm_90").cubin).kernels

    assert sum(i.opcode == "LDG" for i in kernel.instructions) == 4
    assert list(narrow(kernel)) == []


def test_findings_in_loops_weigh_more(compiled):
    """The same number of accesses weighs ten times as much inside of a loop."""
    from sassql.report.findings import findings
    from sassql.report.weights import Weights

    source = """extern "C" __global__ void once(float *y, const float *x)
    { float s = x[4 * threadIdx.x] + x[4 * threadIdx.x + 1]; y[threadIdx.x] = s; }
    extern "C" __global__ void often(float *y, const float *x, int n)
    { float s = 0; _Pragma("unroll 1") for (int i = 0; i < n; i++)
        s += x[4 * threadIdx.x + 512 * i] + x[4 * threadIdx.x + 512 * i + 1]; y[threadIdx.x] = s; }"""
    from sassql.reading.compile import compile_cuda

    made = {}
    for kernel in load(compile_cuda(source, name="t.cu", arch="sm_90").cubin).kernels:
        found = findings(kernel, Weights(kernel))
        made[kernel.name] = next(f for f in found if f.kind == "narrow load")
    assert (len(made["once"].at), made["once"].weight) == (2, 2)
    assert (len(made["often"].at), made["often"].weight) == (2, 20)
