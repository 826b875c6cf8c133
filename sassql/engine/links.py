"""Which instructions can be links of a chain at all: those on a long enough walk from value to value.

What a link has to fulfil besides (slices, flows, what must not be there) costs far more than to
see that a sum of two terms is no chain of three.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sassql.engine.lines import Candidate
from sassql.engine.plan import Conjunction, LineAtom, RepeatAtom, Slot, SlotKind
from sassql.engine.values import Units
from sassql.engine.view import View
from sassql.lang.ast import Chain

_FARTHEST = 4
"""Links that are followed: chains of more differ too little to be worth it."""


@dataclass(frozen=True, slots=True, eq=False)
class _Link:
    line: LineAtom
    candidate: Candidate
    read: Units
    made: Units


def possible_links(atom: RepeatAtom, view: View) -> Mapping[int, Mapping[Candidate, object]] | None:
    """By line (its `id`), the candidates that can be links of a chain that is long enough.

    None where that cannot be told: a link that does not make the next value in one line.
    """
    block = atom.block
    if not isinstance(block, Chain) or block.least < 2 or not atom.carried:
        return None
    ends = [_ends(variant, atom.carried[0]) for variant in atom.body.variants]
    if any(end is None for end in ends):
        return None
    links = [link for end in ends if end is not None for link in _links(*end, view)]
    least = min(block.least, _FARTHEST)
    before, after = _depths(links, least, False), _depths(links, least, True)
    found: dict[int, dict[Candidate, object]] = {id(end[0]): {} for end in ends if end is not None}
    for link in links:
        if before[link] + after[link] > least:
            found[id(link.line)][link.candidate] = None
    return found


def _ends(variant: Conjunction, carried: str) -> tuple[LineAtom, Slot, Slot] | None:
    """The line of a link that reads a carried name and makes the next, with both places."""
    plain, primed = (variant.names.get(key, key) for key in (carried, f"{carried}'"))
    for line in variant.atoms:
        if isinstance(line, LineAtom):
            places = {slot.key: slot for slot in line.slots if slot.kind is SlotKind.VALUE}
            if plain in places and primed in places:
                return line, places[plain], places[primed]
    return None


def _links(line: LineAtom, read: Slot, made: Slot, view: View) -> Iterator[_Link]:
    for candidate in view.candidates(line):
        before, after = view.units(read, candidate), view.units(made, candidate)
        if before is not None and after is not None:
            yield _Link(line, candidate, before, after)


def _depths(links: Iterable[_Link], most: int, backwards: bool) -> dict[_Link, int]:
    """How many links a walk to each one can have (``backwards``: from each one), itself included."""
    depth = dict.fromkeys(links, 1)
    there: Iterable[_Link] = depth
    for count in range(2, most + 1):
        units = {unit for link in there for unit in (link.read if backwards else link.made)}
        there = [k for k in there if not units.isdisjoint(k.made if backwards else k.read)]
        if not there:
            break
        depth.update(dict.fromkeys(there, count))
    return depth
