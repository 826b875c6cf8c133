"""`flow`, `before` and its kin, `path`, `slice`: relations between what other atoms bind."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sassql.engine.bindings import Bindings, Occurrences
from sassql.engine.plan import ClaimPlan, FirstAtom, FlowAtom, OrderAtom, PathAtom, SliceAtom
from sassql.engine.reach import headers_of
from sassql.engine.values import Unit
from sassql.engine.ways import Position

if TYPE_CHECKING:
    from sassql.engine.lines import Candidate
    from sassql.engine.solve import Solver
    from sassql.facts.slices import Slice

WAY_UNKNOWN = "a flow may go through a call"


def _headers(atom: FlowAtom, solver: Solver, bindings: Bindings) -> frozenset[int]:
    numbers = (bindings.loops[name] for name in atom.loops if name in bindings.loops)
    return headers_of(solver.view.loops, numbers) if atom.loops else frozenset()


def _units(occurrences: Occurrences) -> tuple[Unit, ...]:
    """The registers of the widest occurrence."""
    return occurrences[-1]


def _reaches(
    atom: FlowAtom, solver: Solver, bindings: Bindings, source: Occurrences, target: Occurrences
) -> bool | None:
    """Whether some register of one flows into some register of the other; None where nobody knows."""
    headers = _headers(atom, solver, bindings)
    wanted = set(_units(source))
    complete = True
    for unit in _units(target):
        found = solver.view.reach.back_from(unit, atom.through, headers, not solver.strategy.exhaustive)
        solver.charge(atom.line, (atom.through, unit, headers), 2 * len(found.cost))
        if not wanted.isdisjoint(found.cost):
            return True
        complete = complete and found.complete
    return False if complete else None


def flow(atom: FlowAtom, solver: Solver, bindings: Bindings) -> Iterator[Bindings]:
    """``bindings`` where a flow holds; an end that is not bound becomes each value that it may be."""
    source, target = bindings.value(atom.source), bindings.value(atom.target)
    if source and target:
        holds = _reaches(atom, solver, bindings, source, target)
        if holds is None:
            yield bindings.with_doubt(WAY_UNKNOWN)
        elif holds:
            yield bindings
        return
    reach = solver.view.reach
    sources: Iterable[Unit] = [] if source else reach.all_units()
    targets: Iterable[Unit] = [] if target else reach.all_units()
    if target and not source:
        headers = _headers(atom, solver, bindings)
        found = [reach.back_from(u, atom.through, headers, True).cost for u in _units(target)]
        sources = dict.fromkeys(itertools.chain.from_iterable(found))
    for one in [source] if source else [((unit,),) for unit in sources]:
        for other in [target] if target else [((unit,),) for unit in targets]:
            if _reaches(atom, solver, bindings, one, other):
                extended = bindings.with_occurrences(atom.source, one)
                extended = extended and extended.with_occurrences(atom.target, other)
                if extended is not None:
                    yield extended


def first_reached(atom: FirstAtom, solver: Solver, bindings: Bindings) -> Iterator[Bindings]:
    """``bindings`` with the first value, in dominance order, that all flows reach.

    It is of the register file of the plain name; a value that a line reads as that name goes
    before one that none reads: it is the one that the next step takes.
    """
    plain = bindings.value(atom.plain)
    file = solver.view.reach.file_of(_units(plain)[0]) if plain else ""
    sources = [bindings.value(flow.source) for flow in atom.flows]
    if not all(sources):
        return
    taken = {unit for source in sources for unit in _units(source)}
    for unit in _in_turn(atom, file, solver):
        target = ((unit,),)
        if unit not in taken and all(
            _reaches(flow, solver, bindings, source, target) is True
            for flow, source in zip(atom.flows, sources, strict=True)
        ):
            extended = bindings.with_value(atom.target, (unit,))
            if extended is not None:
                yield extended
            return


def _in_turn(atom: FirstAtom, file: str, solver: Solver) -> list[int]:
    """The values of a register file: those that are read as the plain name first, then by dominance."""
    key = (id(atom), file)
    known = solver.in_turn.get(key)
    if known is None:
        view = solver.view
        read = {u for line in atom.readers for u in view.read_as(line, atom.plain)}
        units = [u for u in view.reach.all_units() if isinstance(u, int)]
        units = [u for u in units if not file or view.reach.file_of(u) == file]
        known = solver.in_turn[key] = sorted(units, key=lambda u: (u not in read, view.rank(u), u))
    return known


def positions(name: str, solver: Solver, bindings: Bindings) -> list[Position]:
    """Where a label's instructions stand, or where the output of a used motif is made."""
    view = solver.view
    if name in bindings.labels:
        return [view.ways.of(m.index) for m in bindings.labels[name]]
    used = bindings.uses.get(name)
    for held in used.outputs if used is not None else ():
        if isinstance(held, tuple) and isinstance(held[-1][0], int):
            return [view.made_at(held[-1][0])]
    return [view.ways.of(index) for index in used.at[-1:]] if used is not None else []


def order(atom: OrderAtom, solver: Solver, bindings: Bindings) -> Bindings | None:
    """``bindings`` where the order holds for every instruction of both sides."""
    solver.budget.step(atom.line)
    left, right = (positions(name, solver, bindings) for name in (atom.left, atom.right))
    if not left or not right:
        return None
    ways = solver.view.ways
    for a, b in itertools.product(left, right):
        match atom.relation:
            case "before":
                holds = ways.before(a, b, atom.anywhere)
            case "dom":
                holds = ways.dominates(a, b)
            case "pdom":
                holds = ways.postdominates(a, b)
            case _:
                holds = a.block == b.block
        if not holds:
            return None
    return bindings


def path(atom: PathAtom, solver: Solver, bindings: Bindings) -> Bindings | None:
    """``bindings`` where every claim holds about the ways from one instruction to another."""
    result: Bindings | None = bindings
    left, right = (positions(name, solver, bindings) for name in (atom.source, atom.target))
    if not left or not right:
        return None
    for a, b in itertools.product(left, right):
        for claim in atom.claims:
            solver.budget.step(atom.line, 2)
            holds = on_path(claim, a, b, solver, bindings)
            if holds is False or result is None:
                return None
            if holds is None:
                result = result.with_doubt("an instruction on the way is guarded")
    return result


def on_path(claim: ClaimPlan, a: Position, b: Position, solver: Solver, bindings: Bindings) -> bool | None:
    """Whether a claim holds of the ways between two places; None where nobody knows."""
    wanted = claimed_by(claim, solver, bindings)
    ways = solver.view.ways
    reached, some, every = ways.between(a, b, wanted)
    if not reached:
        return False
    match claim.quantifier:
        case "no":
            return not some
        case "some":
            return some
    if not every:
        return False
    sure = {i for i in wanted if solver.view.runs_with(i, int(a.index), int(b.index))}
    return True if ways.between(a, b, sure)[2] else None


def claimed_by(claim: ClaimPlan, solver: Solver, bindings: Bindings) -> frozenset[int]:
    """The instructions that a claim speaks of."""
    if claim.pattern is None:
        return frozenset(m.index for m in bindings.labels.get(claim.label, ()))
    known = solver.claimed.get(id(claim))
    if known is None:
        free = replace(bindings, labels={}, lenient=False)
        laid = solver.lay(claim.pattern, free)
        known = frozenset(found.labels[claim.pattern.label][0].index for found in laid)
        if not any(slot.key for slot in claim.pattern.slots):
            solver.claimed[id(claim)] = known
    return known


def _inside(atom: SliceAtom, solver: Solver, occurrences: Occurrences) -> tuple[frozenset[int], bool]:
    """All that a value depends on, and whether that is all."""
    slices: list[Slice] = []
    for unit in _units(occurrences):
        if isinstance(unit, int):
            found = solver.view.slices.backward(unit, address=atom.addresses)
            solver.charge(atom.line, (atom.addresses, unit), 3 * len(found.instructions))
            slices.append(found)
    if len(slices) == 1:
        return slices[0].instructions, slices[0].certain
    inside = frozenset().union(*(found.instructions for found in slices))
    return inside, all(found.certain for found in slices)


def within(
    atoms: Sequence[SliceAtom], candidates: Sequence[Candidate], solver: Solver, bindings: Bindings
) -> Sequence[Candidate]:
    """The places of a line that the slices of bound values, which shall have it, do have."""
    for atom in atoms:
        occurrences = bindings.value(atom.value)
        if occurrences and candidates:
            inside, certain = _inside(atom, solver, occurrences)
            if certain:
                candidates = [c for c in candidates if c.index in inside]
    return candidates


def sliced(atom: SliceAtom, solver: Solver, bindings: Bindings) -> Bindings | None:
    """``bindings`` where every claim holds about what a value depends on."""
    occurrences = bindings.value(atom.value)
    if not occurrences:
        return None
    inside, certain = _inside(atom, solver, occurrences)
    result: Bindings = bindings
    for claim in atom.claims:
        holds = in_slice(claim, inside, certain, solver, bindings)
        if holds is False:
            return None
        if holds is None:
            result = result.with_doubt("not all that a value depends on is known")
    return result


def in_slice(
    claim: ClaimPlan, inside: frozenset[int], certain: bool, solver: Solver, bindings: Bindings
) -> bool | None:
    """Whether a claim holds of the instructions of a slice; None where nobody knows."""
    wanted = claimed_by(claim, solver, bindings)
    met = not wanted.isdisjoint(inside)
    match claim.quantifier:
        case "some":
            return True if met else (False if certain else None)
        case "no":
            return False if met else (True if certain else None)
    if any(index not in wanted for index in inside if solver.view.is_operation(index)):
        return False
    return True if certain else None
