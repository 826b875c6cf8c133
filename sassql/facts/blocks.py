"""Fact "blocks": basic blocks, split at branch targets and behind branches.

Half of the labels that nvdisasm prints are named by no branch, and nearly every shuffle
stands right behind one: a label alone never splits. Calls do not end a block. The point
where a divergent region reconverges (the operand of BSSY) does not split either, since
BSYNC stands directly before it and falls through.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sassql.facts.forms import ByShape, Forms
from sassql.isa.flow import Flow, FlowKind, flow_of
from sassql.model.kernel import Kernel, provides

NO_FUNCTION = -1
_LEAVING = frozenset({FlowKind.EXIT, FlowKind.RETURN})
_PLAIN = frozenset({FlowKind.NONE, FlowKind.HINT})
_flow = ByShape(flow_of, numbers=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A call that comes back: instruction ``index``, and the block that it enters.

    ``entry`` is None for a call out of the section and for one whose target is computed.
    ``symbol`` names the callee where it is known by name.
    """

    index: int
    entry: int | None
    symbol: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The basic blocks of a kernel in address order; every instruction belongs to one.

    ``start`` and ``end`` are instruction numbers, ``end`` one past the last. ``of`` has the
    block of each instruction. ``function`` has, by block, the number of the local function
    in ``kernel.functions``, or -1 for the entry. ``entries`` are the blocks where the entry
    and the local functions begin; calls to a place without a symbol add theirs.
    ``unresolved`` are instruction numbers of branches whose targets are not all known.
    ``leaving`` are the blocks where a thread may exit or return, perhaps under a guard.

    A block is ``reachable`` unless it is proven that nothing leads to it: padding, and the
    far side of an ``@!PT BRA``. A function with an unresolved branch has no such proof.
    ``predecessors`` of a reachable block are reachable: dead code that runs into a loop
    must not look like a second way into it.
    """

    start: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    of: npt.NDArray[np.int32]
    successors: tuple[tuple[int, ...], ...]
    predecessors: tuple[tuple[int, ...], ...]
    function: tuple[int, ...]
    entries: tuple[int, ...]
    reachable: tuple[bool, ...]
    unresolved: tuple[int, ...]
    leaving: tuple[int, ...]
    calls: tuple[Call, ...]

    def __len__(self) -> int:
        return len(self.start)

    def function_of(self, index: int) -> int:
        """The function that instruction ``index`` lies in, numbered as in ``function``."""
        return self.function[int(self.of[index])]

    @property
    def roots(self) -> tuple[int, ...]:
        """Blocks where control comes from outside, or from nowhere known: entries first.

        Every block is reached from one of them; unreachable regions have one of their own.
        """
        seen = reached(self.entries, self.successors)
        found = list(self.entries)
        for block in range(len(self)):
            if not seen[block]:
                found.append(block)
                mark(block, self.successors, seen)
        return tuple(found)


def mark(block: int, successors: Sequence[Sequence[int]], seen: list[bool]) -> None:
    """Set ``seen`` for everything that ``block`` leads to, itself included."""
    pending = [block]
    seen[block] = True
    while pending:
        for following in successors[pending.pop()]:
            if not seen[following]:
                seen[following] = True
                pending.append(following)


def reached(starts: Iterable[int], successors: Sequence[Sequence[int]]) -> list[bool]:
    """By block, whether a path leads to it from one of ``starts``."""
    seen = [False] * len(successors)
    for block in starts:
        if not seen[block]:
            mark(block, successors, seen)
    return seen


class _Splitter:
    """Finds the blocks of one kernel; each method fills in what the next one needs."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.count = len(kernel.form_ids)
        self.place = {address: i for i, address in enumerate(kernel.addresses.tolist())}
        self.flows = self._flows()
        self.locals = {f.start: n for n, f in enumerate(kernel.functions) if not f.entry}
        self.targets: dict[int, tuple[int, ...]] = {}
        """Instruction numbers that a branch or call may go to, by its own number."""
        self.unresolved: list[int] = []

    def _flows(self) -> dict[int, Flow]:
        """The flow of each instruction that is more than one step on, by its number."""
        forms: Forms = self.kernel.fact("forms")
        flows = {n: flow for n, form in enumerate(forms.distinct) if (flow := _flow(form)).kind not in _PLAIN}
        return {index: flows[number] for index, number in enumerate(forms.number) if number in flows}

    def resolve(self) -> None:
        """Where each branch and call may go; what cannot be said goes to ``unresolved``."""
        for index, flow in self.flows.items():
            match flow.kind:
                case FlowKind.BRANCH | FlowKind.CALL | FlowKind.UNKNOWN:
                    found = None if flow.computed else self.place.get(int(self.kernel.targets[index]))
                    self.targets[index] = () if found is None else (found,)
                    if flow.kind is FlowKind.UNKNOWN or (found is None and flow.kind is FlowKind.BRANCH):
                        self.unresolved.append(index)
                case FlowKind.INDIRECT:
                    self.targets[index] = self._indirect(index)
                case _:
                    pass

    def _indirect(self, index: int) -> tuple[int, ...]:
        named = self.kernel.indirect_targets.get(int(self.kernel.addresses[index]), ())
        found = [self.place[address] for address in named if address in self.place]
        if not named or len(found) < len(named):
            self.unresolved.append(index)
        return tuple(dict.fromkeys(found))

    def split(self) -> npt.NDArray[np.int32]:
        """First instructions of the blocks, in order."""
        leader = np.zeros(self.count, bool)
        leader[:1] = True
        for found in self.targets.values():
            leader[list(found)] = True
        leader[[self.place[start] for start in self.locals if start in self.place]] = True
        behind = [i + 1 for i, flow in self.flows.items() if flow.ends_block and i + 1 < self.count]
        leader[behind] = True
        return np.flatnonzero(leader).astype(np.int32)


def _function_of(kernel: Kernel, starts: Sequence[int]) -> tuple[int, ...]:
    """By block, the number of the innermost local function that covers it; -1 for the entry."""
    numbered = sorted(enumerate(kernel.functions), key=lambda pair: -pair[1].start)
    spans = [(f.start, f.start + f.size, n) for n, f in numbered if not f.entry]
    addresses = kernel.addresses[list(starts)].tolist()
    return tuple(
        next((n for low, high, n in spans if low <= address < high), NO_FUNCTION) for address in addresses
    )


def _edges(
    splitter: _Splitter, starts: npt.NDArray[np.int32], of: npt.NDArray[np.int32], jumps: frozenset[int]
) -> list[tuple[int, ...]]:
    """Successors of each block: the fall-through first, then targets in the order given."""
    count = len(starts)
    ends = np.append(starts[1:], splitter.count)
    found: list[tuple[int, ...]] = []
    for block, last in enumerate((ends - 1).tolist()):
        flow = splitter.flows.get(last)
        following = [block + 1] if block + 1 < count else []
        if flow is None or (flow.kind is FlowKind.CALL and last not in jumps):
            found.append(tuple(following))
            continue
        if not (flow.conditional or last in jumps):
            following = []
        following += [int(of[target]) for target in splitter.targets.get(last, ())]
        found.append(tuple(dict.fromkeys(following)))
    return found


@provides("blocks")
def blocks(kernel: Kernel) -> Blocks:
    """Split a kernel into basic blocks and connect them."""
    splitter = _Splitter(kernel)
    splitter.resolve()
    starts = splitter.split()
    jumps = _jumping_calls(splitter, starts)
    if jumps:  # a call that is a jump ends its block
        behind = [i + 1 for i in jumps if i + 1 < splitter.count]
        starts = np.union1d(starts, behind).astype(np.int32)
    of = _block_of(starts, splitter.count)
    successors = _edges(splitter, starts, of, jumps)
    function = _function_of(kernel, starts.tolist())
    calls = _calls(splitter, of, jumps)
    entries = _entries(splitter, of, calls)
    reachable = _reachable(splitter, of, function, entries, successors)
    return Blocks(
        start=starts,
        end=np.append(starts[1:], splitter.count).astype(np.int32),
        of=of,
        successors=tuple(successors),
        predecessors=_predecessors(successors, reachable),
        function=function,
        entries=entries,
        reachable=reachable,
        unresolved=tuple(sorted(splitter.unresolved)),
        leaving=tuple(int(of[i]) for i, flow in splitter.flows.items() if flow.kind in _LEAVING),
        calls=calls,
    )


def _block_of(starts: npt.NDArray[np.int32], count: int) -> npt.NDArray[np.int32]:
    sizes = np.diff(np.append(starts, count))
    return np.repeat(np.arange(len(starts), dtype=np.int32), sizes)


def _predecessors(
    successors: Sequence[Sequence[int]], reachable: Sequence[bool]
) -> tuple[tuple[int, ...], ...]:
    found: list[list[int]] = [[] for _ in successors]
    for block, following in enumerate(successors):
        for target in following:
            if reachable[block] or not reachable[target]:
                found[target].append(block)
    return tuple(map(tuple, found))


def _jumping_calls(splitter: _Splitter, starts: npt.NDArray[np.int32]) -> frozenset[int]:
    """Calls that are plain jumps: sm_80 leaves loops by ``@P0 CALL.REL.NOINC`` to the next block but one.

    A call to a place where no function begins is a jump, unless a return can be reached from
    there. Inside a local function the return is that function's own.
    """
    starting = {splitter.place[s] for s in splitter.locals if s in splitter.place} | {0}
    doubtful = {
        index: targets[0]
        for index, targets in splitter.targets.items()
        if targets and splitter.flows[index].kind is FlowKind.CALL and targets[0] not in starting
    }
    if not doubtful:
        return frozenset()
    of = _block_of(starts, splitter.count)
    successors = _edges(splitter, starts, of, frozenset())
    for index, target in doubtful.items():  # what a jump leads to, if it is one
        successors[of[index]] += (int(of[target]),)
    function = _function_of(splitter.kernel, starts.tolist())
    returns = [int(of[i]) for i, flow in splitter.flows.items() if flow.kind is FlowKind.RETURN]
    returning = reached(returns, _predecessors(successors, [True] * len(starts)))
    return frozenset(
        index
        for index, target in doubtful.items()
        if not returning[of[target]] or NO_FUNCTION != function[of[index]] == function[of[target]]
    )


def _calls(splitter: _Splitter, of: npt.NDArray[np.int32], jumps: frozenset[int]) -> tuple[Call, ...]:
    found = []
    for index, flow in splitter.flows.items():
        if flow.kind is FlowKind.CALL and index not in jumps:
            targets = splitter.targets[index]
            entry = int(of[targets[0]]) if targets else None
            found.append(Call(index, entry, splitter.kernel.symbols.get(index, "")))
    return tuple(found)


def _entries(splitter: _Splitter, of: npt.NDArray[np.int32], calls: Sequence[Call]) -> tuple[int, ...]:
    places = [splitter.place[start] for start in splitter.locals if start in splitter.place]
    if not splitter.count:
        return ()
    called = [call.entry for call in calls if call.entry is not None]
    return tuple(dict.fromkeys([0, *(int(of[i]) for i in sorted(places)), *sorted(called)]))


def _reachable(
    splitter: _Splitter,
    of: npt.NDArray[np.int32],
    function: Sequence[int],
    entries: Sequence[int],
    successors: Sequence[Sequence[int]],
) -> tuple[bool, ...]:
    proven = reached(entries, successors)
    open_ended = {function[int(of[index])] for index in splitter.unresolved}
    return tuple(seen or function[block] in open_ended for block, seen in enumerate(proven))
