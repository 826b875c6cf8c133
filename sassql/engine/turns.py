"""The order in which the atoms of a conjunction are evaluated, decided no further than a search comes."""

from __future__ import annotations

from collections.abc import Sequence

from sassql.engine.earliest import Earliest
from sassql.engine.plan import Atom, LineAtom, SliceAtom
from sassql.engine.survivors import Survivors


class Turns:
    """The atoms in their order. ``found`` are those that are decided, ``total`` how many there will be.

    ``earliest`` is set where only the first derivation counts.
    """

    __slots__ = ("_sliced", "earliest", "found", "survivors", "total")

    def __init__(self, found: Sequence[Atom], total: int = 0) -> None:
        self.found = list(found)
        self.total = total or len(self.found)
        self.earliest: Earliest | None = None
        self.survivors: dict[int, Survivors] = {}
        self._sliced: dict[int, tuple[SliceAtom, ...]] = {}

    def go_on(self) -> None:
        """Decide at least one more; only called while some are missing."""
        raise NotImplementedError

    def sliced(self, place: int) -> tuple[SliceAtom, ...]:
        """What asks that the line at this turn lies in the slice of a value that the line does not name."""
        known = self._sliced.get(place)
        if known is None:
            line = self.found[place]
            assert isinstance(line, LineAtom)
            later = [*self.found[place + 1 :], *self.open]
            slices = (atom for atom in later if isinstance(atom, SliceAtom) and atom.value not in line.keys)
            known = self._sliced[place] = tuple(atom for atom in slices if _asks_for(atom, line.label))
        return known

    @property
    def open(self) -> Sequence[Atom]:
        """What has no turn yet."""
        return ()

    def complete(self) -> Sequence[Atom]:
        """All atoms in their order."""
        while len(self.found) < self.total:
            self.go_on()
        return self.found


def _asks_for(atom: SliceAtom, label: str) -> bool:
    return any(c.quantifier == "some" and c.pattern is None and c.label == label for c in atom.claims)
