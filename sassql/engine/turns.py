"""The order in which the atoms of a conjunction are evaluated, decided no further than a search comes."""

from __future__ import annotations

from collections.abc import Sequence

from sassql.engine.earliest import Earliest
from sassql.engine.plan import Atom
from sassql.engine.survivors import Survivors


class Turns:
    """The atoms in their order. ``found`` are those that are decided, ``total`` how many there will be.

    ``earliest`` is set where only the first derivation counts.
    """

    __slots__ = ("earliest", "found", "survivors", "total")

    def __init__(self, found: Sequence[Atom], total: int = 0) -> None:
        self.found = list(found)
        self.total = total or len(self.found)
        self.earliest: Earliest | None = None
        self.survivors: dict[int, Survivors] = {}

    def go_on(self) -> None:
        """Decide at least one more; only called while some are missing."""
        raise NotImplementedError

    def complete(self) -> Sequence[Atom]:
        """All atoms in their order."""
        while len(self.found) < self.total:
            self.go_on()
        return self.found
