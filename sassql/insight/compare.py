"""Compare two kernels: do they compute the same thing, and in which sense?

Both are run on the same shapes with unknown data; what they leave in every output element is compared,
from the strictest level to the loosest. See docs/compare.md for what a level promises and what it does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sassql.errors import UsageError
from sassql.insight.coverage import Coverage
from sassql.insight.dag import Dag, Ids
from sassql.insight.dependencies import same_dependencies
from sassql.insight.launch import TYPES, Launch, Shape, read_launch
from sassql.insight.levels import FLOAT_WIDTHS, LEVELS, NOT_SHOWN, Grading, Pairs
from sassql.insight.machine import DEFAULT_BUDGET
from sassql.insight.running import Output, Run, run
from sassql.insight.sampling import Draws
from sassql.insight.state import Fault, Refused
from sassql.model.kernel import Kernel

REFUSED = "refused"
SAMPLES, MOST_SAMPLES, ENOUGH = 4, 32, 64
"""Samples of every unknown: four, and up to 32 while the outputs have fewer than 64 values in all samples,
because the largest error of a few sums says little (docs/hardware.md)."""
SHAPES_OF_DEPENDENCIES = 2
"""On how many shapes, the smallest first, the inputs of every element are compared: that is slow."""
DEFAULT_TOLERANCE = 1e-5


@dataclass(slots=True)
class Comparison:
    """What `compare` found.

    ``level`` is E0 … E4, ``not_shown`` or ``refused``; ``outputs`` has it by output. ``equivalences`` answers
    the four questions of the research: bitwise, numerical, mathematical, semantic. ``error_a`` and
    ``error_b`` are the predicted errors of each kernel against real arithmetic, relative to the largest
    value of an output, None where no output is a float. ``reason`` says why the level is no better;
    ``assumptions`` what the answer takes for granted.
    """

    kernel_a: str
    kernel_b: str
    arch_a: str
    arch_b: str
    level: str = REFUSED
    outputs: dict[str, str] = field(default_factory=dict)
    equivalences: dict[str, bool] = field(default_factory=dict)
    error_a: float | None = None
    error_b: float | None = None
    difference: float | None = None
    reason: str = ""
    shapes: list[Shape] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_record(self) -> dict[str, Any]:
        """As a row of JSON lines."""
        return {
            "kernel_a": self.kernel_a,
            "kernel_b": self.kernel_b,
            "arch_a": self.arch_a,
            "arch_b": self.arch_b,
            "level": self.level,
            "outputs": self.outputs,
            "equivalences": self.equivalences,
            "error_a": self.error_a,
            "error_b": self.error_b,
            "difference": self.difference,
            "reason": self.reason,
            "shapes": self.shapes,
            "assumptions": self.assumptions,
            "notes": self.notes,
        }


def compare(
    a: Kernel,
    b: Kernel,
    launch: str | Path | Mapping[str, Any] | Launch,
    *,
    shapes: list[Shape] | None = None,
    tolerance: float = DEFAULT_TOLERANCE,
    budget: int = DEFAULT_BUDGET,
    coverage: bool = True,
    strict: bool = False,
    quick: bool = False,
) -> Comparison:
    """Compare two kernels on the shapes of a launch description.

    Args:
        a: a kernel, as `sassql.load` gives it; the two may be of different architectures.
        b: the other one.
        launch: how they are run: path of a TOML file, or the same as a dict (`sassql/insight/launch.py`).
        shapes: other shapes than the description's.
        tolerance: largest difference of the outputs, relative to their largest value, that counts as
            numerically equivalent.
        budget: most instructions that a run may issue.
        coverage: refuse an answer where a live block of a kernel ran on no shape.
        strict: take scratch buffers for outputs as well.
        quick: only tell E0 from everything else, which is then called ``not_shown``; no errors are predicted.

    Returns:
        The result; a kernel that is not covered gives the level ``refused`` and the reason.

    Raises:
        UsageError: the launch description is wrong or does not fit the kernels.
    """
    described = launch if isinstance(launch, Launch) else read_launch(launch, a.name, b.name)
    every = tuple(shapes) if shapes else described.shapes
    result = Comparison(a.name, b.name, a.arch, b.arch, shapes=[dict(s) for s in every])
    judge = _Judge(result, described, tolerance, strict, quick)
    covered = Coverage()
    order = sorted(range(len(every)), key=lambda n: (sum(every[n].values()), n))
    for number, place in enumerate(order):
        shape = every[place]
        runs = _both(result, described, (a, b), shape, number % 2 == 0, budget)
        if runs is None:
            return result
        covered.add(runs)
        judge.shape(shape, runs[0].dag, runs)
        if quick and judge.differs():
            break
    text = covered.missing(a, b)
    if text and coverage and not described.partial and not (quick and judge.differs()):
        return ended(result, REFUSED, text)
    if text:
        result.notes.append(text.partition(";")[0])
    result.notes += covered.one_sided(a, b)
    judge.finish()
    return result


def _both(
    result: Comparison,
    launch: Launch,
    kernels: tuple[Kernel, Kernel],
    shape: Shape,
    crossing: bool,
    budget: int,
) -> list[Run] | None:
    """Both runs on a shape; None where one of them ends the comparison."""
    dag = Dag()
    runs: list[Run] = []
    for kernel, side, name in zip(kernels, (launch.a, launch.b), "AB", strict=True):
        try:
            runs.append(run(kernel, side, shape, crossing=crossing, dag=dag, budget=budget))
        except Refused as reason:
            ended(result, REFUSED, f"{name} ({kernel.name}): {reason}")
            return None
        except Fault as reason:
            ended(result, LEVELS[NOT_SHOWN], f"{name} ({kernel.name}), {shape_text(shape)}: {reason}")
            return None
    return runs


def samples_for(elements: int) -> int:
    """How many samples outputs with so many elements get.

    >>> [samples_for(count) for count in (1, 4, 1000)]
    [32, 16, 4]
    """
    return max(SAMPLES, min(MOST_SAMPLES, -(-ENOUGH // elements)))


def ended(result: Comparison, level: str, reason: str) -> Comparison:
    """The result of a comparison that stops before its end."""
    result.level, result.reason, result.outputs = level, reason, {}
    names = ("bitwise", "numerical", "mathematical", "semantic")
    result.equivalences = dict.fromkeys(names, False)
    return result


def shape_text(shape: Shape) -> str:
    """A shape in a message."""
    return ", ".join(f"{k}={v}" for k, v in shape.items()) or "the one shape"


class _Judge:
    """Collects what the shapes say."""

    def __init__(
        self, result: Comparison, launch: Launch, tolerance: float, strict: bool, quick: bool
    ) -> None:
        self.result, self.launch, self.tolerance = result, launch, tolerance
        self.strict, self.quick = strict, quick
        self.worst: dict[str, int] = {}
        self.guards = 0
        self.judged = 0
        self.reasons: list[str] = []
        self.same_stores = True
        self.same_sets = True
        self.measured: list[float] | None = None

    def differs(self) -> bool:
        """Whether something so far is not E0."""
        return self.guards > 0 or any(self.worst.values())

    def shape(self, shape: Shape, dag: Dag, runs: list[Run]) -> None:
        """Judge one shape."""
        a, b = runs
        for name, one in zip("AB", runs, strict=True):
            for assumption in one.assumptions:
                text = f"{name} at {assumption.address:#x}: {assumption.text}"
                if text not in self.result.assumptions:
                    self.result.assumptions.append(text)
        pairs: list[Pairs] = []
        for name in sorted(set(a.outputs) | set(b.outputs)):
            pair = self._pair(name, dag, a.outputs.get(name), b.outputs.get(name), shape)
            if pair is not None and len(pair.a):
                pairs.append(pair)
        if not pairs:
            return
        draws = Draws.of(self.launch, shape, samples_for(sum(len(pair.a) for pair in pairs)))
        grading = Grading(dag, pairs, draws, (a.guards, b.guards), self.quick, self._floor(pairs))
        least = grading.guard_grade()
        if least > self.guards:
            self.guards = least
            self.reasons.append(f"the guards of slow paths are {LEVELS[least]}, ({shape_text(shape)})")
        for pair, part in zip(pairs, grading.grades, strict=True):
            grade = int(part.max())
            self.worst[pair.name] = max(self.worst.get(pair.name, 0), grade)
            if grade:
                wrong = np.flatnonzero(part == grade)
                first = int(wrong[0])
                self.reasons.append(
                    f"{pair.name}: {len(wrong)} of {len(part)} elements {LEVELS[grade]}, "
                    f"first {first} ({shape_text(shape)})"
                )
        if self.quick:
            return
        found = grading.errors()
        if found is not None:
            old = self.measured or [0.0, 0.0, 0.0]
            self.measured = [max(x, y) for x, y in zip(old, (found.a, found.b, found.between), strict=True)]
        self.judged += 1
        if self.same_sets and self.judged <= SHAPES_OF_DEPENDENCIES:
            self.same_sets = same_dependencies(dag, grading.a, grading.b)

    def _floor(self, pairs: list[Pairs]) -> int:
        """The level below which an answer about these outputs cannot come any more."""
        return min(self.worst.get(pair.name, 0) for pair in pairs)

    def _pair(self, name: str, dag: Dag, a: Output | None, b: Output | None, shape: Shape) -> Pairs | None:
        """The elements of an output that both have; notes where only one does."""
        for side, one, other in (("A", a, b), ("B", b, a)):
            if one is not None and other is None and one.stored.any() and self._counts(one):
                self._note(f"only {side} has the output {name}")
                self.same_stores = False
        if a is None or b is None:
            return None
        touched = a.stored.any() or b.stored.any()
        if not touched or not (self._counts(a) or self._counts(b)):
            self._loads(name, a, b)
            return None
        if a.buffer.argument.type != b.buffer.argument.type:
            raise UsageError(f"{name} is {a.buffer.argument.type} in A and {b.buffer.argument.type} in B")
        length = min(len(a.stored), len(b.stored))
        apart = a.stored[:length] != b.stored[:length]
        beyond = a.stored[length:].any() or b.stored[length:].any()
        if apart.any() or beyond:
            self.same_stores = False
            self.worst[name] = NOT_SHOWN
            self.reasons.append(f"{name}: the kernels write different elements ({shape_text(shape)})")
            return None
        kind = a.buffer.argument.type
        stored = a.stored
        count = min(a.buffer.count, b.buffer.count)
        first, where = elements(dag, a, kind, stored[:length], count)
        second, _ = elements(dag, b, kind, stored[:length], count)
        unordered = (a.unordered[:length] | b.unordered[:length])[where]
        return Pairs(name, kind, first, second, unordered)

    def _counts(self, output: Output) -> bool:
        return self.strict or output.buffer.argument.direction != "scratch"

    def _loads(self, name: str, a: Output, b: Output) -> None:
        length = min(len(a.loaded), len(b.loaded))
        if (a.loaded[:length] != b.loaded[:length]).any():
            self._note(f"the kernels load different elements of {name}")

    def _note(self, text: str) -> None:
        if text not in self.result.notes:
            self.result.notes.append(text)

    def finish(self) -> None:
        """Fill in the result."""
        result = self.result
        result.outputs = {name: LEVELS[grade] for name, grade in sorted(self.worst.items())}
        if not self.worst:
            ended(result, REFUSED, "the kernels have no output in common")
            return
        worst = max(self.guards, *self.worst.values())
        result.level = LEVELS[worst]
        if worst:
            wanted = [r for r in self.reasons if f" {result.level}," in r or "different elements" in r]
            result.reason = "; ".join((wanted or self.reasons)[:3])
        numerical = worst == 0
        if self.measured is not None:
            result.error_a, result.error_b, result.difference = self.measured
            whole = worst < NOT_SHOWN or self._floats_only()
            numerical = worst == 0 or (whole and self.measured[2] <= self.tolerance)
        mathematical = worst < NOT_SHOWN
        result.equivalences = {
            "bitwise": worst == 0,
            "numerical": bool(numerical),
            "mathematical": mathematical,
            "semantic": self.same_stores and self.same_sets and bool(mathematical or numerical),
        }

    def _floats_only(self) -> bool:
        kinds = {a.name: a.type for a in self.launch.a.arguments}
        stored = "different elements" not in " ".join(self.reasons)
        return stored and all(kinds.get(name) in FLOAT_WIDTHS for name in self.worst)


def elements(
    dag: Dag, output: Output, kind: str, stored: npt.NDArray[np.bool_], count: int
) -> tuple[Ids, npt.NDArray[np.int64]]:
    """The stored elements of an output as nodes, and the word that each lies in."""
    words = np.flatnonzero(stored)
    nodes = output.nodes[words].copy()
    known = nodes == 0
    if known.any():
        nodes[known] = dag.constants(output.bits[words[known]], 32)
    size = TYPES[kind]
    if size == 8:
        low, high = words[words % 2 == 0], words[words % 2 == 1]
        whole = low[np.isin(low + 1, high)]
        first = nodes[np.searchsorted(words, whole)]
        second = nodes[np.searchsorted(words, whole + 1)]
        return dag.wide(first, second), whole
    if size == 2:
        parts = [dag.half(nodes, which) for which in (0, 1)]
        both = np.stack(parts, axis=1).reshape(-1)
        where = np.repeat(words, 2)
        inside = np.stack([2 * words, 2 * words + 1], axis=1).reshape(-1) < count
        return both[inside], where[inside]
    return nodes, words
