"""Rule 4: passes over the same data that one pass with a running state could replace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sassql.facts.memory_flow import UNKNOWN
from sassql.facts.operations import Meanings
from sassql.facts.slices import LOAD, Slices
from sassql.insight.advice_amounts import amount_of
from sassql.insight.advice_case import Case
from sassql.insight.advice_records import CERTAIN, MAYBE, Finding
from sassql.insight.advice_walks import Walk, is_plain
from sassql.isa.meanings import templates
from sassql.isa.spaces import Space

_MOST_LOADS = 400
"""Loads that a question of dependence goes back through."""
_EXP = "exp2"
_ADDENDS: Mapping[str, tuple[int, ...]] = {"add": (0, 1), "sub": (0, 1), "fma": (2,), "phi": (0, 1, 2, 3)}
"""By operation, the operands that shift its result."""
_MAXIMA = frozenset({"max", "min"})
_FOLDS = ("f", "g")
"""Labels of the folding instructions in the motif `accumulation`."""
_PRODUCTS = "sum_of_products"


@dataclass(frozen=True, slots=True)
class _State:
    """A running state: its name, its monoid, and how equal the result would be."""

    name: str
    monoid: str
    level: str
    condition: str


_SOFTMAX = _State(
    "maximum and sum of exponentials",
    "(m1, s1) + (m2, s2) = (m, s1*exp(m1 - m) + s2*exp(m2 - m)) with m = max(m1, m2)",
    "E4",
    "the result may differ in rounding (equal over the reals, level E4)",
)
_ATTENTION = _State(
    "maximum, sum of exponentials and weighted sum",
    "(m1, s1, a1) + (m2, s2, a2) = (m, s1*c1 + s2*c2, a1*c1 + a2*c2) with m = max(m1, m2), ci = exp(mi - m)",
    "E4",
    "the result may differ in rounding (equal over the reals, level E4)",
)
_WELFORD = _State(
    "count, mean and sum of squared deviations (Welford)",
    "(n1, u1, q1) + (n2, u2, q2) = (n, u1 + d*n2/n, q1 + q2 + d*d*n1*n2/n) with n = n1 + n2, d = u2 - u1",
    "E4",
    "the result may differ in rounding (equal over the reals, level E4); sums of squares without Welford's"
    " rule lose digits where the mean is large",
)
_PRODUCT = _State(
    "both results side by side",
    "(a1, b1) + (a2, b2) = (a1 + a2, b1 + b2): the product of the two monoids",
    "E0",
    "each of the two keeps its own order of additions (level E0)",
)


@dataclass(frozen=True, slots=True)
class _Pass:
    """A loop of the source over some data, and what it folds."""

    places: Walk
    loops: frozenset[int]
    op: str
    folds: tuple[int, ...]


def passes(case: Case) -> Iterator[Finding]:
    """The findings of rule 4: pairs of passes; the second needs the first through a monoid, or not at all."""
    found = _passes(case)
    for first in found:
        for second in found:
            if first.loops & second.loops or first.folds[0] > second.folds[0]:
                continue
            if not first.places.same_places(second.places) or not case.precedes(first.places, second.places):
                continue
            state = _state(case, first, second)
            if state is not None:
                yield _finding(case, first, second, state)


def _passes(case: Case) -> list[_Pass]:
    """The passes of a kernel: what loops fold, with the data that they go through, loaded or just stored."""
    of = case.walks.families.control.blocks.of
    loops = case.walks.loops
    ops: dict[int, list[tuple[str, int]]] = {}
    for row in case.motifs.rows("accumulation"):
        for index in case.motifs.instructions(row, *_FOLDS):
            ops.setdefault(loops.of[int(of[index])], []).append((str(row.columns["op"]), index))
    found: dict[tuple[object, ...], _Pass] = {}
    for walk in case.walks:
        if (
            not walk.loops
            or not is_plain(walk)
            or not walk.moves
            or walk.space not in (Space.GLOBAL, Space.SHARED)
        ):
            continue
        inside = [pair for loop in walk.loops for pair in ops.get(loop, ())]
        kinds = {op for op, _ in inside}
        if len(kinds) == 1:
            folds = tuple(sorted({index for _, index in inside}))
            key = (walk.space, walk.base, walk.start, walk.step, walk.loops)
            found.setdefault(key, _Pass(walk, frozenset(walk.loops), kinds.pop(), folds))
    return sorted(found.values(), key=lambda p: p.folds)


def _state(case: Case, first: _Pass, second: _Pass) -> _State | None:
    """The state that would do both passes in one; None where the second needs more of the first."""
    ssa = case.walks.families.control.ssa
    back, whole = _back(case, [value for index in second.folds[:2] for value in ssa.read[index]])
    if not back & set(first.folds):
        return _PRODUCT if whole and second.op != first.op else None
    inside = [index for index in back if _in(case, index, second.loops)]
    if not _is_shifted(case, first, second, inside):
        return None
    if first.op in _MAXIMA and any(_is_exp(case, index) for index in inside):
        return _ATTENTION if _weights(case, second) else _SOFTMAX
    if first.op == "sum" and second.op == _PRODUCTS and _squares(case, second):
        return _WELFORD
    return None


def _is_shifted(case: Case, first: _Pass, second: _Pass, inside: list[int]) -> bool:
    """True where the second pass uses the first's result by subtracting (or adding) it, and not otherwise.

    Only then do ``exp(x - m)`` and ``(x - m)**2`` follow when the result changes.
    """
    meanings: Meanings = case.kernel.fact("meanings")
    ssa = case.walks.families.control.ssa
    loops = case.walks.loops
    needed: dict[int, bool] = {}
    for index in inside:
        for meaning in meanings.at(index):
            for place, term in enumerate(meaning.operands):
                for value in term.values:
                    if value not in needed:
                        outside = loops.of[ssa.block[value]] not in second.loops
                        needed[value] = outside and bool(_back(case, [value])[0] & set(first.folds))
                    if needed[value] and place not in _ADDENDS.get(meaning.operation, ()):
                        return False
    return any(needed.values())


def _in(case: Case, index: int, loops: frozenset[int]) -> bool:
    families = case.walks.families
    return families.loops.of[int(families.control.blocks.of[index])] in loops


def _is_exp(case: Case, index: int) -> bool:
    return any(t.operation == _EXP for t in templates(case.walks.families.control.forms.of[index]))


def _back(case: Case, values: Iterable[int]) -> tuple[set[int], bool]:
    """What some values depend on, through memory too; and whether that is all of it."""
    slices: Slices = case.kernel.fact("slices")
    found = [slices.backward(value, control=False) for value in values]
    seen: set[int] = set()
    loads: set[int] = set()
    whole = True
    while found:
        one = found.pop()
        seen |= one.instructions
        whole = whole and one.certain and len(loads) < _MOST_LOADS
        for end in one.ends if len(loads) < _MOST_LOADS else ():
            if end.kind == LOAD and end.index not in loads:
                loads.add(end.index)
                edges = [e for e in case.flow.into(end.index) if e.certainty != UNKNOWN]
                found += [slices.of_instruction(e.store, control=False) for e in edges]
    return seen, whole


def _squares(case: Case, found: _Pass) -> bool:
    """True where what is multiplied is one value with itself."""
    control = case.walks.families.control
    ssa, copies = control.ssa, control.copies
    for index in found.folds:
        roots = [copies.root(value) for operand, _, value in ssa.uses_of(index) if operand >= 0]
        if len(roots) == len(set(roots)):
            return False
    return True


def _weights(case: Case, second: _Pass) -> bool:
    """True where what the second pass stores are the weights of a later sum of products."""
    stores = [s for s in case.walks if s.kind == "store" and set(s.loops) & second.loops]
    products = [row for row in case.motifs.rows("accumulation") if row.columns["op"] == _PRODUCTS]
    later = {i for row in products for i in case.motifs.instructions(row, *_FOLDS) if i > second.folds[-1]}
    of, loops = case.walks.families.control.blocks.of, case.walks.loops
    summed = {loops.of[int(of[i])] for i in later}
    return any(
        set(load.loops) & summed and load.base == store.base and case.edges(store, load)
        for store in stores
        for load in case.walks
        if load.kind == "load"
    )


def _finding(case: Case, first: _Pass, second: _Pass, state: _State) -> Finding:
    walk = second.places
    is_global = walk.space is Space.GLOBAL
    unit = "bytes that loads ask for" if is_global else "bytes of shared memory"
    as_often = walk.extent.levels == first.places.extent.levels and not walk.extent.unknown
    conditions = [state.condition]
    if is_global and walk.kind == "load":
        conditions += [f"{walk.base} and {other} do not overlap" for other in _others(case, first, second)]
    return Finding(
        4,
        "passes that a running state merges",
        case.addresses([*first.folds, *second.folds, *first.places.at, *walk.at]),
        tuple(conditions),
        f"Do both passes in one loop, with the running state: {state.name}."
        + (" Rescale the state when a new maximum arrives." if state in (_SOFTMAX, _ATTENTION) else ""),
        (case.effect(unit, amount_of([walk])),),
        CERTAIN if as_often else MAYBE,
        "" if as_often else "the passes may not be equally long",
        ("online", "thread_reduce"),
        {
            "first": first.op,
            "second": "sum of exponentials" if state in (_SOFTMAX, _ATTENTION) else second.op,
            "state": state.name,
            "monoid": state.monoid,
            "level": state.level,
            "buffer": str(walk.base),
        },
    )


def _others(case: Case, first: _Pass, second: _Pass) -> list[str]:
    read_only = case.promised(second.places, "read_only")
    return [] if read_only else case.between(first.places, second.places)
