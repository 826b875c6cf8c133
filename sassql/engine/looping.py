"""Loops, and what they carry round: φ in the header, and what comes back to them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from sassql.engine.bindings import Bindings, Occurrences
from sassql.engine.budget import Budget
from sassql.engine.plan import BorderAtom, CarryAtom, LoopAtom
from sassql.engine.values import Unit, Units
from sassql.engine.view import View


def loops(atom: LoopAtom, view: View, bindings: Bindings, budget: Budget) -> Iterator[Bindings]:
    """``bindings`` with each loop that a name may stand for, or themselves where it is known and right."""
    known = bindings.loops.get(atom.loop)
    for number in range(len(view.loops)) if known is None else (known,):
        budget.step(atom.line)
        if _is_right(atom, number, view, bindings):
            found = bindings.with_loop(atom.loop, number)
            if found is not None:
                yield found


def _is_right(atom: LoopAtom, number: int, view: View, bindings: Bindings) -> bool:
    """Nested as written, no other loop, around every instruction that is known to lie in it."""
    parent = bindings.loops.get(atom.parent)
    if parent is not None and (number == parent or not view.is_nested(number, parent)):
        return False
    if any(bindings.loops.get(other) == number for other in atom.others):
        return False
    found = (m.index for label in atom.labels for m in bindings.labels.get(label, ()))
    return all(view.lies_in(index, number) for index in found)


def carried(atom: CarryAtom, view: View, bindings: Bindings, budget: Budget) -> Iterator[Bindings]:
    """``bindings`` with a φ of a loop header and what comes back to it, as far as they are not known."""
    plain, primed = bindings.value(atom.plain), bindings.value(atom.primed)
    known = bindings.loops.get(atom.loop)
    for loop in _possible(plain, view) if known is None else (known,):
        placed = bindings.with_loop(atom.loop, loop)
        for latch in view.carries.latches(loop):
            budget.step(atom.line)
            for before, after in _pairs(plain, primed, view, loop, latch):
                found = placed and placed.with_occurrences(atom.plain, before)
                found = found and found.with_occurrences(atom.primed, after)
                if found is not None:
                    yield found


def _possible(plain: Occurrences, view: View) -> tuple[int, ...]:
    """Loops that may carry a value: the one with its φ, or any where the value is not known."""
    if not plain:
        return tuple(range(len(view.loops)))
    loop = view.carries.loop_of(plain[0][0])
    return () if loop is None else (loop,)


def _pairs(
    plain: Occurrences, primed: Occurrences, view: View, loop: int, latch: int
) -> Iterator[tuple[Occurrences, Occurrences]]:
    """What goes in and what comes back along one way, for the widths that are known."""
    carries = view.carries
    if plain:
        after = tuple(carries.back(units, loop, latch) for units in plain)
        known = tuple(units for units in after if units is not None)
        if len(known) == len(after):
            yield plain, known
    elif primed:
        choices = [list(_before(units, view, loop, latch)) for units in primed]
        for chosen in itertools.product(*choices):
            yield tuple(chosen), primed
    else:
        for phi, unit in carries.pairs(loop, latch):
            yield ((phi,),), ((unit,),)


def _before(units: Units, view: View, loop: int, latch: int) -> Iterator[Units]:
    """The φ side by side to which ``units`` come back."""
    choices: list[list[Unit]] = [view.carries.into(unit, loop, latch) for unit in units]
    yield from itertools.product(*choices)


def border(atom: BorderAtom, view: View, bindings: Bindings, budget: Budget) -> Iterator[Bindings]:
    """A carried name as it is called outside: what goes in, or what comes out."""
    loop = bindings.loops[atom.loop]
    seen: list[Occurrences] = []
    for occurrences in _outside(atom, view, bindings, loop):
        budget.step(atom.line)
        if occurrences in seen:
            continue
        seen.append(occurrences)
        found = bindings.with_occurrences(atom.outer, occurrences)
        if found is not None:
            yield found


def _outside(atom: BorderAtom, view: View, bindings: Bindings, loop: int) -> Iterator[Occurrences]:
    plain = bindings.value(atom.plain)
    if atom.leaving:
        yield bindings.value(atom.inner)
        if view.carries.leaves_early(bindings.value(atom.inner), loop):
            yield plain
        return
    for way in view.carries.entries(loop):
        entered = tuple(view.carries.back(units, loop, way) for units in plain)
        known = tuple(units for units in entered if units is not None)
        if len(known) == len(entered):
            yield known
