"""Plans of the motifs of a file, and of those in other files that they use.

A `use` names a motif of the same file, else of `NAME.sq` beside it or in a folder below or above
that belongs to the same library, else of the motifs that ship with sassql.
"""

from __future__ import annotations

from sassql.engine.compile import Compiler
from sassql.engine.plan import MotifPlan
from sassql.lang.ast import Motif, PatternFile
from sassql.lang.library import find_motif


class Library:
    """Makes each plan once; the use graph has no cycles, since the checks refuse them."""

    def __init__(self) -> None:
        self._plans: dict[tuple[str, str, int], MotifPlan] = {}

    def plan(self, motif: Motif, file: PatternFile) -> MotifPlan:
        """The plan of a motif of ``file``."""
        key = (file.file, motif.name, id(file))
        if key not in self._plans:
            self._plans[key] = Compiler(file, lambda name: self.used(name, file)).motif(motif)
        return self._plans[key]

    def used(self, name: str, file: PatternFile) -> MotifPlan:
        """The plan of a motif that ``file`` uses.

        Raises:
            KeyError: no file has it; the checks have refused that before.
        """
        found = find_motif(name, file)
        if found is None:
            raise KeyError(name)
        return self.plan(*found)


def plans_of(file: PatternFile) -> tuple[MotifPlan, ...]:
    """The plans of all motifs of a file."""
    library = Library()
    return tuple(library.plan(motif, file) for motif in file.motifs)
