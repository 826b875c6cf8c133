"""`for` and `chain`: steps linked to runs.

A run of a `for` is a path of the step graph from a step without predecessor to one without
successor. It counts if it begins where the header says, every counter fulfils the condition, and
the next one does not. A `chain` is any path; which of them count is decided when everything
around them is known: the longest for each last link, and none that is a part of another one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sassql.engine.bindings import Bindings, Bound, Matched
from sassql.engine.chains import all_paths, best_paths
from sassql.engine.links import possible_links
from sassql.engine.plan import RepeatAtom
from sassql.engine.steps import Step, StepGraph, following_counter, header_holds
from sassql.lang.ast import Chain, For, Literal
from sassql.lang.fold import fold
from sassql.lang.walk import parts

if TYPE_CHECKING:
    from sassql.engine.solve import Solver

Path = tuple[Step, ...]
_PLACING = 16
"""Steps for each link whose names and labels are put into the bindings around."""


class Repeats:
    """The runs of one block in one kernel."""

    def __init__(self, atom: RepeatAtom, solver: Solver) -> None:
        self.atom = atom
        self.solver = solver
        self._graphs: dict[str, StepGraph] = {}
        self._runs: dict[str, tuple[Path, ...]] = {}
        self._restricted = False
        self._is_possible = True

    def extend(self, bindings: Bindings) -> Iterator[Bindings]:
        """``bindings`` with each run that agrees with them."""
        key, graph = self._graph(bindings)
        if isinstance(self.atom.block, For):
            if key not in self._runs:
                self._runs[key] = tuple(self._maximal_runs(graph))
            for run in self._runs[key]:
                self.solver.budget.step(self.atom.line, _PLACING * len(run))
                placed = self.placed(run, bindings)
                if placed is not None:
                    yield from self._counted(run, placed)
        else:
            paths = all_paths if self.solver.strategy.exhaustive else best_paths
            for path in paths(graph, self, bindings):
                self.solver.budget.step(self.atom.line, _PLACING * len(path))
                placed = self.placed(path, bindings)
                if placed is not None:
                    yield placed if graph.order() is None else _with_beyond(placed, graph, path, key)

    def _graph(self, bindings: Bindings) -> tuple[str, StepGraph]:
        """The step graph, which depends on names that a step must know beforehand and on nothing else."""
        atom = self.atom
        seed = {name: bindings.names.get(atom.outer.get(name, name)) for name in sorted(atom.shared)}
        loops = {name: bindings.loops[name] for name in atom.loops if name in bindings.loops}
        wanted = loops if not atom.shared.isdisjoint(loops) else {}
        key = f"{[(k, str(v)) for k, v in seed.items()]} {sorted(wanted.items())}"
        if key not in self._graphs:
            known = {name: value for name, value in seed.items() if value is not None}
            graph = StepGraph(atom, tuple(self._steps(known, wanted)))
            graph.link(self.solver.budget, self.solver.strategy.exhaustive)
            self._graphs[key] = graph
        return key, self._graphs[key]

    def _steps(self, known: Mapping[str, Bound], loops: Mapping[str, int]) -> Iterator[Step]:
        block = self.atom.block
        if not self._may_hold():
            return
        counter = block.counter.key if isinstance(block, For) else ""
        made: dict[Hashable, Step] = {}
        for variant in self.atom.body.variants:
            if not self.solver.watched and self.solver.view.excludes(variant):
                continue
            names = {variant.names.get(name, name): value for name, value in known.items()}
            for found in self.solver.conjunction(variant, Bindings(names=names, loops=loops)):
                number = found.names.get(variant.names.get(counter, counter))
                if counter and not isinstance(number, int):
                    continue
                step = Step(found, variant, number if isinstance(number, int) and counter else None)
                made.setdefault(found.identity(), step)
        if counter:
            yield from made.values()
            return
        alike: dict[Hashable, list[Step]] = {}
        for step in made.values():
            alike.setdefault(self._outcome(step), []).append(step)
        best = (min(steps, key=_preference) if len(steps) > 1 else steps[0] for steps in alike.values())
        yield from sorted(best, key=lambda step: step.places)

    def _may_hold(self) -> bool:
        """False where no chain can be long enough; lines are restricted to what can be a link."""
        solver = self.solver
        if not self._restricted and not solver.strategy.exhaustive and not solver.watched:
            self._restricted = True
            found = possible_links(self.atom, solver.view)
            if found is not None:
                solver.view.restricted.update(found)
                self._is_possible = any(found.values())
        return self._is_possible

    def _outcome(self, step: Step) -> Hashable:
        """What tells two links of a chain apart: instructions and carried and fixed names.

        Sources of a commutative operation in two orders are one link.
        """
        names = (*self.atom.carried, *(f"{n}'" for n in self.atom.carried), *sorted(self.atom.fixed))
        return step.places, tuple(str(step.bound(name)) for name in names)

    def _maximal_runs(self, graph: StepGraph) -> Iterator[Path]:
        """Every path that goes on as far as it can in both directions."""
        reached = {n for places in graph.successors for n in places}
        for start in range(len(graph.steps)):
            if start not in reached:
                yield from self._walk(start, graph)

    def _walk(self, start: int, graph: StepGraph) -> Iterator[Path]:
        """Every path from a step to one without a successor, without recursion."""
        pending: list[tuple[int, ...]] = [(start,)]
        while pending:
            path = pending.pop()
            self.solver.budget.step(self.atom.line, 1 + len(path) // 4)
            onward = [n for n in graph.successors[path[-1]] if n not in path]
            if not onward:
                yield tuple(graph.steps[n] for n in path)
            pending += [(*path, number) for number in reversed(onward)]

    def placed(self, run: Sequence[Step], bindings: Bindings) -> Bindings | None:
        """Names, labels and lists of a run in the bindings of the scope around."""
        found: Bindings | None = bindings
        outer = self.atom.outer
        for name in self.atom.carried:
            for key, step in ((name, run[0]), (f"{name}'", run[-1])):
                held = step.bound(key)
                found = found and (None if held is None else found.with_bound(outer[key], held))
        for name in sorted(self.atom.fixed):
            for step in run:
                held = step.bound(name)
                found = found and (found if held is None else found.with_bound(outer[name], held))
        if found is None:
            return None
        labels: dict[str, tuple[Matched, ...]] = {}
        for label in self.atom.labels:
            labels[label] = tuple(m for step in run for m in step.bindings.labels.get(label, ()))
        used = [m.index for matched in labels.values() for m in matched]
        if len(set(used)) < len(used) or any(bindings.uses_instruction(index) for index in used):
            return None
        lists = {**self._lists(run), path_key(self.atom): tuple(step.places for step in run)}
        lists[made_key(self.atom)] = tuple(self._made(step) for step in run)
        doubts = tuple(dict.fromkeys((*found.doubts, *(d for step in run for d in step.bindings.doubts))))
        return found.but(labels={**found.labels, **labels}, lists={**found.lists, **lists}, doubts=doubts)

    def _made(self, step: Step) -> tuple[str, ...]:
        """The carried values that a step makes; without any, its instructions."""
        values = tuple(str(step.bound(f"{name}'")) for name in self.atom.carried)
        return values or tuple(map(str, step.places))

    def _lists(self, run: Sequence[Step]) -> dict[str, tuple[object, ...]]:
        """What each name of the block was on each step."""
        lists: dict[str, tuple[object, ...]] = {}
        written = {name: key for step in run for name, key in step.variant.names.items()}
        for key in {**{k: k for step in run for k in step.bindings.names}, **written}:
            lists[key] = tuple(step.bound(key) for step in run)
        return lists

    def _counted(self, run: Sequence[Step], bindings: Bindings) -> Iterator[Bindings]:
        """The bindings for which the header says exactly this run."""
        known = {self._written(key): n for key, n in bindings.names.items() if isinstance(n, int)}
        unknown = [key for key in self.atom.unknowns if not isinstance(bindings.names.get(key), int)]
        if not unknown:
            if self._is_complete(run, known):
                yield bindings
            return
        key = unknown[0]
        for number in self._trials(run):
            self.solver.budget.step(self.atom.line)
            if self._is_complete(run, {**known, self._written(key): number}):
                names = {**bindings.names, key: number}
                yield replace(bindings, names=names, solved=bindings.solved | {key})

    def _written(self, key: str) -> str:
        """How an integer of the scope around is written in the header."""
        return next((name for name, called in self.atom.outer.items() if called == key), key)

    def _is_complete(self, run: Sequence[Step], known: Mapping[str, int]) -> bool:
        """The run begins as the header says, the condition holds on every rung and not behind the last."""
        block = self.atom.block
        assert isinstance(block, For)
        counters = [step.counter for step in run if step.counter is not None]
        if fold(block.init, known) != counters[0]:
            return False
        if not all(header_holds(self.atom, counter, known) for counter in counters):
            return False
        following = following_counter(self.atom, counters[-1])
        return not isinstance(following, int) or header_holds(self.atom, following, known) is False

    def _trials(self, run: Sequence[Step]) -> list[int]:
        """Values to try for an integer that only the header mentions, smallest first.

        The numbers that a `where … in {…}` lists; and numbers near the counters of the run, times
        and plus the numbers in the header, which cover headers of the usual forms.
        """
        if self.atom.trials:
            return list(self.atom.trials)
        block = self.atom.block
        assert isinstance(block, For)
        counters = [step.counter for step in run if step.counter is not None]
        last = following_counter(self.atom, counters[-1])
        near = {counters[0], counters[-1], *([last] if isinstance(last, int) else [])}
        literals = (part for e in (block.init, block.condition) for part in parts(e))
        whole = {n.value for n in literals if isinstance(n, Literal) and isinstance(n.value, int)} | {1}
        found = {value for a in near for n in whole for value in (a * n, a + n, a - n, a, *_quotients(a, n))}
        return sorted(found | {value + 1 for value in found} | {value - 1 for value in found})


def _preference(step: Step) -> tuple[bool, str]:
    return bool(step.bindings.doubts), step.bindings.text()


def _quotients(value: int, by: int) -> tuple[int, ...]:
    return (value // by,) if by else ()


def _with_beyond(placed: Bindings, graph: StepGraph, path: Path, key: str) -> Bindings:
    """The bindings with what could follow the last link: by the graph's key, its number and a mask."""
    entry = (key, *graph.beyond(path[-1]))
    return placed.but(lists={**placed.lists, f"beyond {graph.atom.line}": entry})


def path_key(atom: RepeatAtom) -> str:
    """Where bindings keep the instructions of a run, step by step; no name of a user has a space."""
    return f"path {atom.line}"


def made_key(atom: RepeatAtom) -> str:
    """Where bindings keep the carried values that the steps of a run make."""
    return f"made {atom.line}"


def maximal(atom: RepeatAtom, found: Sequence[Bindings]) -> list[Bindings]:
    """The derivations whose chain is the longest one to its last value, and no part of another one.

    Of several longest ones, the one at the lowest addresses. Links that make one value in several
    ways (another instruction under a label that carries nothing) are one link.
    """
    key, made = path_key(atom), made_key(atom)
    kept: dict[object, tuple[tuple[tuple[int, ...], ...], Bindings]] = {}
    for bindings in found:
        path = _path(bindings, key)
        if path:
            group = (tuple(sorted(bindings.loops.items())), bindings.lists[made][-1])
            best = kept.get(group)
            if best is None or (-len(path), path) < (-len(best[0]), best[0]):
                kept[group] = path, bindings
    parts_of_others: set[object] = set()
    for bindings in found:
        path, loops = _path(bindings, key), tuple(sorted(bindings.loops.items()))
        for place in range(len(path) - 1):
            group = (loops, bindings.lists[made][place])
            inner = kept.get(group)
            if inner is not None and len(inner[0]) <= place + 1:
                parts_of_others.add(group)
    chain = atom.block
    assert isinstance(chain, Chain)
    result = []
    lasts = _lasts(atom, found)
    for bindings in found:
        if _goes_on(atom, bindings, lasts):
            continue
        path = _path(bindings, key)
        group = (tuple(sorted(bindings.loops.items())), bindings.lists[made][-1] if path else ())
        if not path or (kept[group][0] == path and group not in parts_of_others and _fits(chain, path)):
            result.append(bindings)
    return result


def _lasts(atom: RepeatAtom, found: Sequence[Bindings]) -> dict[Hashable, int]:
    """By loops and step graph, the last links of all derivations as a mask."""
    lasts: dict[Hashable, int] = {}
    for bindings in found:
        entry = bindings.lists.get(f"beyond {atom.line}")
        if entry is not None:
            group = (tuple(sorted(bindings.loops.items())), entry[0])
            number = entry[1]
            assert isinstance(number, int)
            lasts[group] = lasts.get(group, 0) | 1 << number
    return lasts


def _goes_on(atom: RepeatAtom, bindings: Bindings, lasts: dict[Hashable, int]) -> bool:
    """True where the chain could go on to the last link of another derivation."""
    entry = bindings.lists.get(f"beyond {atom.line}")
    if entry is None:
        return False
    mask = entry[2]
    assert isinstance(mask, int)
    return bool(mask & lasts[tuple(sorted(bindings.loops.items())), entry[0]])


def _fits(chain: Chain, path: Sequence[object]) -> bool:
    return chain.most is None or len(path) <= chain.most


def _path(bindings: Bindings, key: str) -> tuple[tuple[int, ...], ...]:
    return bindings.lists.get(key, ())  # type: ignore[return-value]
