"""The motifs that the rules ask for, each searched once in a kernel."""

from __future__ import annotations

from functools import cache

from sassql.engine.budget import Budget
from sassql.engine.library import Library
from sassql.engine.matching import is_meant_for, match_motif
from sassql.engine.plan import MotifPlan
from sassql.insight.classify import BUDGET, RULES
from sassql.lang.check import load
from sassql.lang.library import find_motif
from sassql.model.kernel import Kernel
from sassql.model.rows import Row
from sassql.resources import folder

_library = Library()


@cache
def _plan(name: str) -> MotifPlan:
    found = find_motif(name, load(folder("patterns") / RULES))
    if found is None:
        raise KeyError(name)
    return _library.plan(*found)


class Motifs:
    """The rows of motifs in one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._rows: dict[str, list[Row]] = {}
        self.gave_up: list[str] = []
        """Motifs whose search was given up: findings that rest on them may be missing."""

    def rows(self, name: str) -> list[Row]:
        """The certain rows of a motif."""
        if name not in self._rows:
            plan = _plan(name)
            meant = is_meant_for(plan, self.kernel.arch)
            found = match_motif(plan, self.kernel, Budget(BUDGET)) if meant else []
            if any(row.status == "gave_up" for row in found):
                self.gave_up.append(name)
            self._rows[name] = [row for row in found if row.status == "match"]
        return self._rows[name]

    def instructions(self, row: Row, *labels: str) -> list[int]:
        """The numbers of a row's instructions, ascending; with ``labels`` of those alone."""
        chosen = labels or tuple(row.instructions)
        return sorted({i.index for label in chosen for i in row.instructions.get(label, ())})
