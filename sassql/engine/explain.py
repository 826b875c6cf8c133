"""Why a motif has no row in a kernel: the derivation that comes furthest, and what stops it.

explained = explain(pattern, kernel, "shuffle_ladder")
explained.reason        "0x01f0 FADD R3, R2, R0: `%t` is what SHFL makes at 0x01c0, but `R2` is …"
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sassql.engine.bindings import Bindings
from sassql.engine.budget import Budget, OutOfStepsError
from sassql.engine.indexed import INDEXED
from sassql.engine.matching import is_meant_for, match_motif
from sassql.engine.pattern import Pattern
from sassql.engine.plan import (
    Again,
    Atom,
    Conjunction,
    EveryAtom,
    LineAtom,
    MotifPlan,
    RepeatAtom,
    UseAtom,
)
from sassql.engine.reasons import Reasons
from sassql.engine.suspects import Suspect, suspects
from sassql.engine.watch import Patient, PatientView, Progress, WatchedSolver
from sassql.model.instruction import Instruction
from sassql.model.kernel import Kernel
from sassql.model.rows import Row

EXPLAIN_STEPS = 200_000
"""Steps of the search for an explanation."""
_MOST_NESTED = 3


@dataclass(frozen=True, slots=True)
class MatchedLine:
    """A line of the pattern (by number in its file) and the instructions that it lies on."""

    line: int
    label: str
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What became of one motif in one kernel.

    ``rows`` are the motif's; where there are none (or none through the instruction that was asked
    about), ``matched`` has the deepest partial match, ``line`` the first statement that fails, and
    ``reason`` why; ``satisfied`` of ``statements`` hold in it. ``suspects`` are the statements without
    which there would be a match: each alone is to blame. ``inside`` explains a motif that a failing
    `use` names. ``gave_up`` is true where the search ran out of steps.
    """

    motif: str
    file: str
    kernel: Kernel
    rows: tuple[Row, ...] = ()
    matched: tuple[MatchedLine, ...] = ()
    line: int = 0
    reason: str = ""
    satisfied: int = 0
    statements: int = 0
    suspects: tuple[Suspect, ...] = ()
    gave_up: bool = False
    inside: Explanation | None = None

    def as_record(self) -> dict[str, Any]:
        """The explanation as plain values."""
        return {
            "file": self.kernel.source.file,
            "entry": self.kernel.source.entry,
            "kernel": self.kernel.name,
            "arch": self.kernel.arch,
            "pattern": self.file,
            "motif": self.motif,
            "rows": len(self.rows),
            "satisfied": self.satisfied,
            "statements": self.statements,
            "matched": [
                {"line": m.line, "label": m.label, "at": [f"{i.address:#x}" for i in m.instructions]}
                for m in self.matched
            ],
            "line": self.line or None,
            "reason": self.reason or None,
            "suspects": [
                {"line": s.line, "at": [f"{i.address:#x}" for i in s.instructions]} for s in self.suspects
            ],
            "gave_up": self.gave_up,
            "inside": None if self.inside is None else self.inside.as_record(),
        }


def explain(
    pattern: Pattern, kernel: Kernel, motif: str, *, at: int | None = None, steps: int = EXPLAIN_STEPS
) -> Explanation:
    """What a motif finds in a kernel, or what stops it.

    Args:
        pattern: the file of the motif.
        kernel: where it is looked for.
        motif: its name.
        at: only matches and partial matches with the instruction at this address, bytes in the section.
        steps: how long an explanation is looked for.

    Raises:
        KeyError: the file has no such motif, or the kernel no instruction at ``at``.
    """
    plan = next((p for p in pattern.plans if p.motif.name == motif), None)
    if plan is None:
        raise KeyError(f"{pattern.file.file} has no motif {motif!r}")
    through = None if at is None else kernel.at(at).index
    rows = [] if not is_meant_for(plan, kernel.arch) else match_motif(plan, kernel, Budget(pattern.budget))
    if through is not None:
        rows = [row for row in rows if through in _indices(row)]
    if rows:
        return Explanation(motif, plan.file, kernel, tuple(rows))
    return _Explainer(kernel, steps, through).motif(plan, 0)


def _indices(row: Row) -> set[int]:
    """The numbers of a row's instructions."""
    return {ins.index for found in row.instructions.values() for ins in found}


class _Explainer:
    def __init__(self, kernel: Kernel, steps: int, through: int | None) -> None:
        self.kernel = kernel
        self.steps = steps
        self.through = through

    def motif(self, plan: MotifPlan, depth: int) -> Explanation:
        """The deepest partial match of a motif without rows."""
        empty = Explanation(plan.motif.name, plan.file, self.kernel)
        if not is_meant_for(plan, self.kernel.arch):
            wanted = plan.motif.header("arch")
            reason = f"the motif is for {wanted}, the kernel is {self.kernel.arch}"
            return replace(empty, line=plan.motif.at.line, reason=reason)
        view = PatientView(self.kernel, plan.everything)
        budget = Budget(self.steps)
        solver = WatchedSolver(view, Patient(self.steps), budget, self.through)
        gave_up = False
        try:
            for _ in solver.solve(plan.scope, Bindings()):
                pass
        except OutOfStepsError:
            gave_up = True
        budget.limit += self.steps  # what is said about the failure takes a few more
        best = self._furthest(plan, solver)
        if best is None:
            told = "" if self.through is None else f" through {self.kernel.instructions[self.through]!r}"
            return replace(empty, line=plan.motif.at.line, reason=f"nothing fits{told}", gave_up=gave_up)
        found = self._told(best, solver, empty, depth)
        blamed = suspects(plan.scope, view, INDEXED) if self.through is None else ()
        return replace(found, gave_up=gave_up, suspects=blamed)

    def _furthest(self, plan: MotifPlan, solver: WatchedSolver) -> Progress | None:
        found = [p for variant in plan.scope.variants if (p := solver.progress(variant)) and p.reached >= 0]
        return max(found, key=lambda p: p.share, default=None)

    def _told(self, best: Progress, solver: WatchedSolver, empty: Explanation, depth: int) -> Explanation:
        reasons = Reasons(solver)
        failing = best.failing or self._late(best, reasons)
        bindings = best.deepest
        lines = _lines(best.conjunction, bindings, self.kernel)
        counted = [not isinstance(atom, Again) for atom in best.atoms]
        all_ = sum(counted)
        held = min(sum(counted[: best.reached]), all_ - 1)  # what is judged again counts once
        told = replace(empty, satisfied=held, statements=all_, matched=lines)
        if failing is None:
            return replace(told, reason="every statement holds: rows were left out as part of longer runs")
        inner = self._inside(failing, solver)
        if inner is not None:
            more = _lines(inner.conjunction, inner.deepest, self.kernel)
            stop = inner.failing
            if stop is not None:
                reason = _safely(reasons, stop, inner.deepest)
                return replace(told, matched=(*lines, *more), line=stop.line, reason=reason)
            told = replace(told, matched=(*lines, *more))
        nested = None
        if isinstance(failing, UseAtom) and depth < _MOST_NESTED:
            found = _Explainer(self.kernel, self.steps, None).motif(failing.motif, depth + 1)
            nested = found if found.reason and not self._has_rows(failing, solver) else None
        reason = _safely(reasons, failing, bindings)
        return replace(told, line=failing.line, reason=reason, inside=nested)

    def _late(self, best: Progress, reasons: Reasons) -> Atom | None:
        """The first condition on lists that the deepest derivation does not fulfil."""
        for condition in best.conjunction.late:
            if reasons.solver.where(condition, best.deepest) is None:
                return condition
        return best.conjunction.chains[0] if best.conjunction.chains else None

    def _inside(self, failing: Atom, solver: WatchedSolver) -> Progress | None:
        """The conjunction inside of a failing repetition that came furthest; None where a step fits."""
        if not isinstance(failing, RepeatAtom):
            return None
        found = [p for v in failing.body.variants if (p := solver.progress(v)) and p.reached >= 0]
        best = max(found, key=lambda p: p.share, default=None)
        return best if best is not None and best.failing is not None else None

    def _has_rows(self, atom: UseAtom, solver: WatchedSolver) -> bool:
        from sassql.engine.matching import used_rows  # noqa: PLC0415  (a motif in a motif)

        return any(True for _ in used_rows(atom.motif, solver))


def _safely(reasons: Reasons, atom: Atom, bindings: Bindings) -> str:
    """The reason, or that it took too long to find one."""
    try:
        return reasons.why(atom, bindings)
    except OutOfStepsError:
        return "the search ran out of steps before there was a reason"


def _lines(conjunction: Conjunction, bindings: Bindings, kernel: Kernel) -> tuple[MatchedLine, ...]:
    """The lines of a derivation with their instructions, in the order of the text."""
    found: list[MatchedLine] = []
    for atom in conjunction.atoms:
        for line, label in _labels(atom):
            places = tuple(kernel.instructions[m.index] for m in bindings.labels.get(label, ()))
            if places:
                found.append(MatchedLine(line, label if not label.startswith("line ") else "", places))
    return tuple(sorted(dict.fromkeys(found), key=lambda m: m.line))


def _labels(atom: Atom) -> list[tuple[int, str]]:
    """(line, label) of the lines that an atom lays."""
    match atom:
        case LineAtom(label=label):
            return [(atom.line, label)]
        case EveryAtom(subject=subject):
            return [(subject.line, subject.label)]
        case RepeatAtom(body=body):
            return [pair for variant in body.variants for inner in variant.atoms for pair in _labels(inner)]
    return []
