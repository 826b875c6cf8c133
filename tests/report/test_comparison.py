"""What changed between two sides: motifs, mix, resources, statements."""

from __future__ import annotations

import json
import re

import pytest

from sassql.report import comparison_pages as pages
from sassql.report.build import Job
from sassql.report.comparison import Statement, align, normalised
from tests.report.conftest import HOSTILE

A = """extern "C" __global__ void total(float *y, const float *x)
{ float s = x[threadIdx.x]; for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o); y[threadIdx.x] = s; }
extern "C" __global__ void gone(float *y) { y[threadIdx.x] = 1.0f; }
extern "C" __global__ void same(float *y) { y[threadIdx.x] *= 3.0f; }"""
B = """extern "C" __global__ void total(float *y, const float *x)
{ float s = x[threadIdx.x]; for (int o = 16; o; o >>= 1) s = fmaxf(s, __shfl_xor_sync(~0u, s, o)); y[threadIdx.x] = s; }
extern "C" __global__ void same(float *y) { y[threadIdx.x] *= 3.0f; }"""


@pytest.fixture(scope="module")
def sides(tmp_path_factory, ladders):
    from sassql.reading.compile import compile_cuda

    folder = tmp_path_factory.mktemp("sides")
    made = []
    for name, source in (("a", A), ("b", B)):
        path = folder / f"{name}.cubin"
        path.write_bytes(compile_cuda(source, name=f"{name}.cu", arch="sm_90").cubin)
        made.append(pages.Side(name, Job((path,), ladders, jobs=1)))
    return made


@pytest.fixture(scope="module")
def found(sides):
    return pages.compare(*sides)


def test_motifs_gained_and_lost(found):
    pair = next(p for p in found.pairs if p.name == "total")

    assert len(pair.gained) == len(pair.lost) == 1
    assert "op=<max>" in pair.gained[0]
    assert "op=<add>" in pair.lost[0]
    assert pair.differs


def test_equal_kernels_do_not_differ_and_come_last(found):
    assert [p.name for p in found.pairs][-1] == "same"
    assert not found.pairs[-1].differs
    assert [p.name for p in found.pairs if p.b is None] == ["gone"]


def test_listings_are_aligned(found):
    number = next(n for n, p in enumerate(found.pairs) if p.name == "total")
    lines = found.listings[number]
    differing = [line for line in lines if line.kind == "differs"]

    assert [normalised(line.a.text)[:9] for line in differing] == ["FADD R, R"] * 5
    assert [line.b.text.split()[0] for line in differing] == ["FMNMX"] * 5
    assert all(line.a and line.b for line in lines)


def test_alignment_by_normalised_statements():
    a = [Statement(0, "MOV R1, R2"), Statement(16, "FADD R1, R2, R3.reuse"), Statement(32, "EXIT")]
    b = [Statement(0, "FADD R9, R8, R7"), Statement(16, "NOP"), Statement(32, "EXIT")]

    assert [(line.kind, line.a and line.a.address, line.b and line.b.address) for line in align(a, b)] == [
        ("a", 0, None),
        ("registers", 16, 0),
        ("b", None, 16),
        ("same", 32, 32),
    ]


def test_the_same_file_on_both_sides_differs_in_nothing(sides):
    found = pages.compare(sides[0], sides[0])

    assert [pair.differs for pair in found.pairs] == [False] * 3
    assert all(line.kind == "same" for lines in found.listings.values() for line in lines)


def test_two_architectures(reported, cubins, ladders):
    one, two = (pages.Side(path.stem, Job((path,), ladders, jobs=1)) for path in cubins)
    found = pages.compare(one, two)
    pair = next(p for p in found.pairs if p.name == "row_softmax")

    assert len(found.pairs) == 4
    assert (pair.a.arch, pair.b.arch) == ("sm_80", "sm_90")
    assert pair.kept and not pair.gained and not pair.lost
    text = pages.to_html(found)
    assert HOSTILE not in text
    assert "&lt;script&gt;" in text
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert "\\<script\\>" in pages.to_markdown(found)


def test_json(found):
    made = json.loads(pages.to_json(found))
    total = next(p for p in made["pairs"] if p["kernel"] == "total")

    assert made["schema"] == "sassql.comparison/1"
    assert total["numbers"]["instructions"]["a"] == total["numbers"]["instructions"]["b"]
    assert next(p for p in made["pairs"] if p["kernel"] == "gone")["b"] is None
