"""Run a kernel on one shape and keep what it did: outputs, footprints, coverage, assumptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sassql.insight import accesses, controls, lanes, tensor  # noqa: F401  (they register their primitives)
from sassql.insight.dag import Dag, Ids
from sassql.insight.evaluation import rounded
from sassql.insight.launch import TYPES, Shape, Side
from sassql.insight.launching import Buffer, Stage, stage
from sassql.insight.machine import DEFAULT_BUDGET, Assumption, Machine, start
from sassql.insight.sampling import Draws
from sassql.model.kernel import Kernel

Mask = npt.NDArray[np.bool_]


@dataclass(slots=True)
class Output:
    """What a buffer holds after the run: bits and nodes by 32-bit word, and which words were touched."""

    buffer: Buffer
    bits: npt.NDArray[np.uint32]
    nodes: Ids
    stored: Mask
    loaded: Mask
    unordered: Mask


@dataclass(slots=True)
class Run:
    """A finished run."""

    kernel: Kernel
    stage: Stage
    dag: Dag
    outputs: dict[str, Output]
    reached: Mask
    assumptions: list[Assumption]
    steps: int
    skipped: set[tuple[int, int]]
    ways: npt.NDArray[np.bool_]
    guards: Ids
    """Conditions of slow paths, as predicates that hold where a slow path would be taken."""

    def numbers(self, name: str, draws: Draws) -> npt.NDArray[Any]:
        """The bits of a buffer's elements for the first sample."""
        output = self.outputs[name]
        bits = output.bits.copy()
        some = np.flatnonzero(output.nodes)
        if len(some):
            bits[some] = rounded(self.dag, output.nodes[some], draws)[:, 0].astype(np.uint32)
        kind = np.dtype(f"u{TYPES[output.buffer.argument.type]}")
        return bits.view(kind)[: output.buffer.count]


def staged(kernel: Kernel, side: Side, shape: Shape, crossing: bool, draws: Draws | None) -> Stage:
    """The launch of a kernel on a shape, on numbers where ``draws`` are given."""
    return stage(kernel, side, shape, crossing, draws)


def run(
    kernel: Kernel,
    side: Side,
    shape: Shape,
    *,
    crossing: bool = True,
    draws: Draws | None = None,
    dag: Dag | None = None,
    budget: int = DEFAULT_BUDGET,
) -> Run:
    """Run a kernel; with ``draws`` on the numbers of their first sample, else on unknown data.

    Raises:
        Refused: the kernel does something that is not covered.
        Fault: the kernel leaves its memory or races.
        UsageError: the launch does not fit the kernel.
    """
    prepared = stage(kernel, side, shape, crossing, draws)
    start(kernel, prepared.geometry)
    machine = Machine(kernel, prepared, dag or Dag(), budget)
    machine.run()
    memory = machine.global_memory
    outputs = {}
    first = 0
    for name, buffer in prepared.buffers.items():
        part = slice(first, first + buffer.words)
        first += buffer.words
        tracker = memory.tracker
        outputs[name] = Output(
            buffer,
            memory.bits[part].copy(),
            memory.nodes[part].copy(),
            tracker.stored[part].copy(),
            tracker.loaded[part].copy(),
            tracker.unordered[part].copy(),
        )
    assumptions, counters = list(machine.assumptions.values()), machine.counters
    return Run(
        kernel,
        prepared,
        machine.dag,
        outputs,
        counters.reached,
        assumptions,
        counters.steps,
        machine.skipped,
        counters.ways,
        np.unique(np.concatenate([np.zeros(0, np.int32), *machine.guards])),
    )
