"""`Pattern`: a checked `.sq` file that can be asked about kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sassql.engine import indexed
from sassql.engine.bindings import Bindings
from sassql.engine.budget import DEFAULT_STEPS, Budget, OutOfStepsError
from sassql.engine.plan import LinePlan, MotifPlan, plan_motif
from sassql.engine.rows import gave_up, rows
from sassql.engine.runs import Runs
from sassql.engine.view import View
from sassql.lang import check
from sassql.lang.arch import covers
from sassql.lang.ast import Line, Motif, PatternFile
from sassql.lang.findings import Finding
from sassql.model.kernel import Kernel
from sassql.model.rows import Row

Satisfy = Callable[[Sequence[LinePlan], View, Bindings, Budget], Iterator[Bindings]]


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
        self._plans = tuple(plan_motif(motif, file) for motif in file.motifs)

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
    def findings(self) -> tuple[Finding, ...]:
        """Remarks of the checks; a file with errors makes no Pattern."""
        return check.findings(self.file)

    def covers(self, arch: str) -> bool:
        """True where some motif is meant for ``arch``."""
        return any(_covers(plan, arch) for plan in self._plans)

    def match(self, kernel: Kernel) -> list[Row]:
        """The rows of every motif in ``kernel``, motif by motif, in the order of addresses.

        A motif that is not meant for the kernel's architecture has no rows and is counted in
        :attr:`outside`. Where the budget runs out, the last row of the motif says so
        (``status == "gave_up"``).
        """
        found: list[Row] = []
        for plan in self._plans:
            if _covers(plan, kernel.arch):
                found += match_motif(plan, kernel, Budget(self.budget))
            else:
                self.outside += 1
        return found

    def impossible_lines(self, motif: str, kernel: Kernel) -> list[Line]:
        """Lines of ``motif`` that no instruction of ``kernel`` fits, names aside."""
        plan = next(plan for plan in self._plans if plan.motif.name == motif)
        view = View(kernel, plan.everything)
        return [line.line for line in plan.all_lines() if not view.candidates(line)]

    def __repr__(self) -> str:
        return f"<Pattern {self.file.file}: {', '.join(motif.name for motif in self.motifs)}>"


def _covers(plan: MotifPlan, arch: str) -> bool:
    wanted = plan.motif.header("arch")
    return not wanted or covers(wanted, arch)


def match_motif(
    plan: MotifPlan, kernel: Kernel, budget: Budget, satisfy: Satisfy = indexed.satisfy
) -> list[Row]:
    """Rows of one motif; ``satisfy`` finds the ways to lay lines on instructions."""
    view = View(kernel, plan.everything)
    if not len(kernel.form_ids) or view.lacks(line.matcher for line in plan.all_lines()):
        return []
    derivations: list[Bindings] = []
    given_up: list[Row] = []
    try:
        for bindings in derive(plan, view, budget, satisfy):
            derivations.append(bindings)  # noqa: PERF402  (those found before the budget runs out stay)
    except OutOfStepsError as error:
        given_up = [gave_up(plan, kernel, error)]
    return [*rows(plan, kernel, derivations, doubt(kernel)), *given_up]


def derive(plan: MotifPlan, view: View, budget: Budget, satisfy: Satisfy) -> Iterator[Bindings]:
    """Every derivation of a motif: its lines and its runs over one set of bindings.

    Lines that know an integer of a header come before the runs, all others behind them.
    """
    found = [Runs(run, view, satisfy, budget) for run in plan.runs]
    headers = {key for run in plan.runs for key in run.unknowns()}
    early = [line for line in plan.lines if not headers.isdisjoint(slot.key for slot in line.slots)]
    late = [line for line in plan.lines if line not in early]

    def with_runs(waiting: Sequence[Runs], bindings: Bindings) -> Iterator[Bindings]:
        if not waiting:
            yield from satisfy(late, view, bindings, budget)
            return
        for extended in waiting[0].extend(bindings, plan.conditions, plan.aliases):
            yield from with_runs(waiting[1:], extended)

    if all(run.runs for run in found):
        for bindings in satisfy(early, view, Bindings(), budget):
            yield from with_runs(found, bindings)


def doubt(kernel: Kernel) -> str:
    """Why nothing about this kernel is certain, or an empty string.

    Its control flow is not all known, or it has instructions that the tables lack.
    """
    unresolved = kernel.fact("blocks").unresolved
    if unresolved:
        address = int(kernel.addresses[unresolved[0]])
        return f"the targets of the branch at {address:#x} are not known"
    unknown = kernel.fact("accesses").incomplete
    if unknown:
        first = kernel.instructions[unknown[0]]
        return f"{first.opcode or 'the instruction'} at {first.address:#x} is not in the tables"
    return ""
