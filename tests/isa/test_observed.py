"""Definitions and uses are those that nvdisasm marks: on every observed shape, and on whole cubins."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from sassql.model.kernel import Source
from sassql.model.register import Register, span
from sassql.reading.compile import compile_cuda
from sassql.reading.cubin import read_module
from sassql.reading.shapes import SHAPES

ROOT = Path(__file__).parents[2]
OBSERVED = Path(__file__).with_name("observed.tsv")
"""One instruction of each mnemonic and operand shape; `benchmarks/oracle_coverage.py --record` adds to it."""

ARCHITECTURES = (75, 80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121)
CUDA = ("tests/kernels/operands.cu", "corpora/lowering/attention.cu", "corpora/lowering/gemm_tensor_core.cu")
FORMS = 200
"""PTX forms of `benchmarks/ptx_forms.txt` that the slow test draws for each architecture."""


def registers(text: str) -> frozenset[Register]:
    """``R2 R4-R7 UP0``."""
    found: set[Register] = set()
    for word in text.split():
        file, first, last = re.fullmatch(r"([A-Z]+)(\d+)(?:-[A-Z]+(\d+))?", word).groups()
        found.update(span(file, int(first), int(last or first) - int(first) + 1))
    return frozenset(found)


def rows() -> list[list[str]]:
    return [line.split("\t") for line in OBSERVED.read_text("utf-8").splitlines()[1:]]


def difference(row: list[str]) -> str:
    """What is wrong with a row, for people; empty where nothing is."""
    arch, text, *marked = row
    hidden, defs, uses = map(registers, marked)
    form = SHAPES.form(text, tuple(sorted(hidden)))
    if form.shape.group is not None:  # nvdisasm never marks what PR stands for: rule "predicates-by-mask"
        defs |= set(form.group) if form.shape.group.defines else set()
        uses |= set() if form.shape.group.defines else set(form.group)
    if (form.shape.known, form.defs, form.uses) == (True, defs, uses):
        return ""
    said = f"defs {sorted(map(str, form.defs))} uses {sorted(map(str, form.uses))}"
    known = "" if form.shape.known else ", and the tables do not know it"
    return f"{arch} {text}: {said}; nvdisasm marks defs {marked[1]!r} uses {marked[2]!r}{known}"


@pytest.mark.parametrize("arch", sorted({row[0] for row in rows()}))
def test_every_observed_shape_has_the_registers_that_nvdisasm_marks(arch):
    wrong = [found for row in rows() if row[0] == arch and (found := difference(row))]

    assert not wrong, "\n".join(wrong)


def test_the_observations_are_many():
    assert len(rows()) > 5_000
    assert len({text.split(" ")[text.startswith("@")].split(".")[0] for _, text, *_ in rows()}) > 180


# ---- whole cubins -----------------------------------------------------------------------------------------


def cubins(scripts, number: int) -> list[bytes]:
    """CUDA C++ and PTX forms for an architecture, and for its ``a`` variant where there is one."""
    arch = f"sm_{number}"
    made = [
        compile_cuda((ROOT / name).read_text("utf-8"), name=str(ROOT / name), arch=arch).cubin
        for name in CUDA
    ]
    ptx = scripts("ptx_forms")
    drawn = random.Random(number).sample(ptx.forms(ptx.FORMS.read_text("utf-8")), FORMS)
    for variant in (arch, f"{arch}a") if number >= 90 else (arch,):
        made += [cubin for group, _ in ptx.modules(variant, drawn) for cubin in group]
    return made


@pytest.mark.slow
@pytest.mark.parametrize("number", ARCHITECTURES)
def test_whole_cubins_have_the_registers_that_nvdisasm_marks(scripts, number):
    oracle, registers = scripts("life_ranges").oracle, scripts("oracle_registers")
    score = registers.Score(registers.Observations())
    for data in cubins(scripts, number):
        found = oracle(data)
        module, problems = read_module(data, Source(f"sm_{number}.cubin"))
        assert problems == []
        for kernel in module.kernels:
            score.judge(kernel, found[kernel.name])

    assert score.wrong == {}, score.examples
    assert score.unknown == {}, score.examples
    assert score.equal + score.known.total() == score.total > 5_000
    assert score.calls == score.calls_equal
    assert set(score.unmarked) <= {"NOP"}, "padding only"
