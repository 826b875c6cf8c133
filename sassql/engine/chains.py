"""Paths through the steps of a `chain`: all of them, or the longest one for each last link."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sassql.engine.bindings import Bindings, unify
from sassql.engine.plan import RepeatAtom
from sassql.engine.steps import Step, StepGraph
from sassql.lang.ast import Chain

if TYPE_CHECKING:
    from sassql.engine.repeat import Path, Repeats


def all_paths(graph: StepGraph, repeats: Repeats, bindings: Bindings) -> Iterator[Path]:
    """Every path without a repeated step that is long enough."""
    for start in range(len(graph.steps)):
        yield from _from(start, graph, repeats)


def _from(start: int, graph: StepGraph, repeats: Repeats) -> Iterator[Path]:
    """Every path from a step that is long enough; chains have thousands of links, so without recursion."""
    least, line = _least(graph.atom), graph.atom.line
    path = [start]
    pending = [iter(graph.successors[start])]
    if least <= 1:
        yield (graph.steps[start],)
    while pending:
        number = next((n for n in pending[-1] if n not in path), None)
        if number is None:
            pending.pop()
            path.pop()
            continue
        path.append(number)
        pending.append(iter(graph.successors[number]))
        repeats.solver.budget.step(line, 1 + len(path) // 4)
        if len(path) >= least:
            yield tuple(graph.steps[n] for n in path)


def best_paths(graph: StepGraph, repeats: Repeats, bindings: Bindings) -> Iterator[Path]:
    """For each last link the longest path, and of several the one at the lowest addresses.

    Only paths that agree with ``bindings``, and none that could go on to another last link.
    That needs to know which ends count. Where something that is judged later speaks of the last
    value, each last link is tried (`StepGraph.beyond` tells `maximal` what could follow); where it speaks of
    the first value, every path.
    """
    atom = graph.atom
    order = graph.order()
    open_ends = [key for key in atom.tied if _is_open(atom, key, bindings)]
    if order is None or not all(key.endswith("'") for key in open_ends):
        yield from all_paths(graph, repeats, bindings)
        return
    if not graph.may_begin(bindings, "") or not graph.may_begin(bindings, "'"):
        return
    free = {n for n, step in enumerate(graph.steps) if _agrees(atom, step, bindings)}
    starts = {n for n in free if _edge(atom, graph.steps[n], bindings, "")}
    ends = {n for n in free if _edge(atom, graph.steps[n], bindings, "'")}
    goes_on = set() if open_ends else _going_on(graph, order, free, ends)
    best = _longest(graph, order, free, starts, repeats)
    for number in sorted((best.keys() & ends) - goes_on):
        path = best[number]
        if len(path) < _least(atom):
            continue
        steps = tuple(graph.steps[n] for n in path)
        if _distinct(steps):
            yield steps
        else:
            yield from _distinct_paths(graph, repeats, starts, number)


def _is_open(atom: RepeatAtom, key: str, bindings: Bindings) -> bool:
    return not bindings.value(atom.outer[key])


def _going_on(graph: StepGraph, order: list[int], free: set[int], ends: set[int]) -> set[int]:
    """Steps from which the chain can go on to a step of ``ends``."""
    found: set[int] = set()
    for number in reversed(order):
        following = (n for n in graph.successors[number] if n in free)
        if number in free and any(n in ends or n in found for n in following):
            found.add(number)
    return found


def _longest(
    graph: StepGraph, order: list[int], free: set[int], starts: set[int], repeats: Repeats
) -> dict[int, tuple[int, ...]]:
    """By last step, the best path that begins in ``starts`` and stays in ``free``."""
    best: dict[int, tuple[int, ...]] = {n: (n,) for n in starts}
    for number in order:
        path = best.get(number)
        if path is None:
            continue
        for following in graph.successors[number]:
            repeats.solver.budget.step(graph.atom.line)
            if following in free:
                longer = (*path, following)
                if _is_better(graph, longer, best.get(following)):
                    best[following] = longer
    return best


def _is_better(graph: StepGraph, path: tuple[int, ...], known: tuple[int, ...] | None) -> bool:
    """Longer, or at lower addresses: those are looked at only where it matters."""
    if known is None or len(path) != len(known):
        return known is None or len(path) > len(known)
    return [graph.steps[n].places for n in path] < [graph.steps[n].places for n in known]


def _distinct_paths(graph: StepGraph, repeats: Repeats, starts: set[int], last: int) -> Iterator[Path]:
    """Every path to ``last``, for steps that share instructions."""
    for path in (p for start in sorted(starts) for p in _from(start, graph, repeats)):
        if path[-1] is graph.steps[last] and _distinct(path):
            yield path


def _distinct(path: Path) -> bool:
    used = [index for step in path for index in step.places]
    return len(set(used)) == len(used)


def _least(atom: RepeatAtom) -> int:
    assert isinstance(atom.block, Chain)
    return atom.block.least


def _agrees(atom: RepeatAtom, step: Step, bindings: Bindings) -> bool:
    """True where no instruction is taken, and names that are the same on every step are those bound."""
    if any(bindings.uses_instruction(index) for index in step.places):
        return False
    for name in atom.fixed:
        held = step.bound(name)
        if held is not None and bindings.with_bound(atom.outer[name], held) is None:
            return False
    return True


def _edge(atom: RepeatAtom, step: Step, bindings: Bindings, prime: str) -> bool:
    """True where the values at one end of a chain are those bound outside, if any are."""
    for name in atom.carried:
        known, held = bindings.value(atom.outer[f"{name}{prime}"]), step.value(f"{name}{prime}")
        if known and (not held or unify(known, held) is None):
            return False
    return True
