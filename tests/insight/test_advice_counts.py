"""Formulas of advice against the executor, which counts every access of a launch."""

from __future__ import annotations

from dataclasses import replace

import pytest
import running as corpus

import sassql
from sassql.insight import running
from sassql.insight.advice_amounts import amount_of
from sassql.insight.advice_evaluate import figures_of
from sassql.insight.advice_walks import Walks
from sassql.insight.launch import read_launch
from sassql.insight.machine import Machine
from sassql.insight.sampling import Draws

LAUNCH = corpus.LOWERING / "launch.toml"
FILES = (
    "round_trip.cu",
    "softmax.cu",
    "normalization.cu",
    "gemm.cu",
    "attention.cu",
    "convolution.cu",
    "decoys.cu",
)


@pytest.fixture
def counted(monkeypatch):
    """By instruction, how many threads ran it."""
    counts: dict[int, int] = {}
    compiled = Machine.op

    def op(machine, index):
        found = machine._ops[index]
        if found is None:
            found = compiled(machine, index)

            def run(m, chosen, before=found.run):
                counts[index] = counts.get(index, 0) + len(m.threads(chosen))
                return before(m, chosen)

            found = machine._ops[index] = replace(found, run=run)
        return found

    monkeypatch.setattr(Machine, "op", op)
    return counts


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("file", FILES)
def test_bytes_are_those_of_the_executor(counted, file, arch):
    exact = 0
    for kernel in sassql.load(corpus.LOWERING / file, arch=arch).kernels:
        launch = read_launch(LAUNCH, kernel.name, kernel.name)
        walks = list(Walks(kernel))
        for figures in figures_of(kernel, LAUNCH):
            counted.clear()
            draws = Draws.of(launch, figures.shape, 1)
            running.run(kernel, launch.a, figures.shape, draws=draws)
            for walk in walks:
                amount = amount_of([walk])
                number = amount.number(figures)
                real = sum(counted.get(m.instruction, 0) * m.width for m in walk.members)
                place = (kernel.name, dict(figures.shape), hex(int(kernel.addresses[walk.at[0]])))
                if number is None:
                    assert amount.unknown, place
                elif amount.is_limit:
                    assert number >= real, place
                else:
                    assert number == real, place
                    exact += 1
    assert exact >= 10
