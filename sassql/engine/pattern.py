"""`Pattern`: a checked `.sq` file that can be asked about kernels."""

from __future__ import annotations

from pathlib import Path

from sassql.engine.budget import DEFAULT_STEPS, Budget
from sassql.engine.library import plans_of
from sassql.engine.matching import is_meant_for, match_motif
from sassql.engine.plan import MotifPlan
from sassql.engine.view import View
from sassql.lang import check
from sassql.lang.ast import Line, Motif, PatternFile
from sassql.lang.findings import Finding
from sassql.model.kernel import Kernel
from sassql.model.rows import Rows


class Pattern:
    """The motifs of a `.sq` file.

    >>> pattern = Pattern.parse("motif m { r: REDUX %r, %x }")
    >>> pattern.motifs[0].name
    'm'
    """

    def __init__(self, file: PatternFile, *, budget: int = DEFAULT_STEPS) -> None:
        self.file = file
        self.budget = budget
        self.outside = 0
        """How often `match` was asked about a kernel of an architecture that a motif does not cover."""
        self._plans = plans_of(file)

    @classmethod
    def load(cls, path: str | Path, *, budget: int = DEFAULT_STEPS) -> Pattern:
        """Read and check a file.

        Raises:
            PatternError: it cannot be read, does not parse or does not check.
        """
        return cls(check.load(path), budget=budget)

    @classmethod
    def parse(cls, text: str, file: str = "<text>", *, budget: int = DEFAULT_STEPS) -> Pattern:
        """Check a text; ``file`` is its name in messages.

        Raises:
            PatternError: it does not parse or does not check.
        """
        return cls(check.loads(text, file), budget=budget)

    @property
    def motifs(self) -> tuple[Motif, ...]:
        """The motifs, in the order of the file."""
        return self.file.motifs

    @property
    def plans(self) -> tuple[MotifPlan, ...]:
        """The motifs in the form that the engine runs."""
        return self._plans

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Remarks of the checks; a file with errors makes no Pattern."""
        return check.findings(self.file)

    def covers(self, arch: str) -> bool:
        """True where some motif is meant for ``arch``."""
        return any(is_meant_for(plan, arch) for plan in self._plans)

    def match(self, kernel: Kernel) -> Rows:
        """The rows of every motif in ``kernel``, motif by motif, in the order of addresses.

        A motif that is not meant for the kernel's architecture has no rows and is counted in
        :attr:`outside`. Where the budget runs out, the last row of the motif says so
        (``status == "gave_up"``).
        """
        found = Rows()
        for plan in self._plans:
            if is_meant_for(plan, kernel.arch):
                found += match_motif(plan, kernel, Budget(self.budget))
            else:
                self.outside += 1
        return found

    def impossible_lines(self, motif: str, kernel: Kernel) -> list[Line]:
        """Lines of ``motif`` that no instruction of ``kernel`` fits, names aside."""
        plan = next(plan for plan in self._plans if plan.motif.name == motif)
        view = View(kernel, plan.everything)
        return [
            atom.written
            for atom in dict.fromkeys(a for v in plan.needed for a in v)
            if not view.candidates(atom)
        ]

    def __repr__(self) -> str:
        return f"<Pattern {self.file.file}: {', '.join(motif.name for motif in self.motifs)}>"
