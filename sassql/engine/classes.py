"""`classify` rules: which classes a kernel has, by the motifs that are found in it.

    classify softmax priority 40 when online_softmax or (row_maximum and kernel.has(MUFU.EX2))

In `when` a name is a motif: true where it has a row, unknown where its rows are only perhaps
there or the search gave up. ``motif.column`` is the list of a column, ``count(motif)`` the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sassql.engine.attributes import attribute_of, method_of
from sassql.engine.budget import DEFAULT_STEPS, Budget
from sassql.engine.expressions import evaluate, truth
from sassql.engine.library import Library
from sassql.engine.matching import is_meant_for, match_motif
from sassql.engine.plan import MotifPlan
from sassql.engine.things import KernelRef, Many, MotifRows, single
from sassql.engine.view import View
from sassql.lang.ast import Classify, Expression, Name, PatternFile, Symbol
from sassql.lang.library import find_motif
from sassql.lang.walk import parts
from sassql.model.kernel import Kernel
from sassql.model.rows import Row

OTHER, UNKNOWN = "other", "unknown"
"""Classes of a kernel for which no rule holds; for which that is not known."""


@dataclass(frozen=True, slots=True)
class ClassAnswer:
    """Whether one rule holds: yes, no, or None where that is not known. ``motifs`` are those it names."""

    name: str
    priority: int
    holds: bool | None
    motifs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Classification:
    """The class of a kernel.

    ``name`` is that of the rule with the highest priority that holds, ``other`` where none
    does, ``unknown`` where that is open.
    ``status`` is ``match``, ``maybe`` (a rule of higher priority may hold) or ``unknown``;
    ``answers`` are those of all rules, highest priority first; ``rows`` what was found, by motif.
    """

    name: str
    status: str
    answers: tuple[ClassAnswer, ...]
    rows: dict[str, list[Row]]


class Rules:
    """The rules of pattern files; their motifs are found as `use` finds them.

    ``motifs`` are looked for in every kernel too, whether a rule names them or not.
    """

    def __init__(
        self, files: Sequence[PatternFile], *, motifs: Sequence[str] = (), budget: int = DEFAULT_STEPS
    ) -> None:
        self._budget = budget
        self._rules: list[tuple[Classify, tuple[str, ...]]] = []
        self._plans: dict[str, MotifPlan] = {}
        library = Library()
        for name in motifs:
            home = find_motif(name, files[0])
            if home is not None:
                self._plans[name] = library.plan(*home)
        for file in files:
            for rule in file.classifies:
                names = tuple(dict.fromkeys(_motifs(rule.condition)))
                for name in names:
                    found = find_motif(name, file)
                    if found is not None:
                        self._plans[name] = library.plan(*found)
                self._rules.append((rule, names))
        self._rules.sort(key=lambda pair: -pair[0].priority)

    @property
    def motifs(self) -> tuple[str, ...]:
        """Every motif that a rule names, in order."""
        return tuple(sorted(self._plans))

    def rows(self, kernel: Kernel) -> dict[str, list[Row]]:
        """The rows of every motif that a rule names."""
        return {name: self.rows_of(name, kernel) or [] for name in sorted(self._plans)}

    def rows_of(self, name: str, kernel: Kernel) -> list[Row] | None:
        """The rows of one motif; None where no rule names it."""
        plan = self._plans.get(name)
        if plan is None:
            return None
        return match_motif(plan, kernel, Budget(self._budget)) if is_meant_for(plan, kernel.arch) else []

    def class_of(self, kernel: Kernel) -> tuple[str, str]:
        """Name and status as `classify` gives them; what can no longer change the name is not looked for."""
        scope, answers = _RuleScope(View(kernel, False), _Asked(self, kernel)), list[ClassAnswer]()
        for rule, names in self._rules:
            holds = truth(rule.condition, scope)
            answers.append(ClassAnswer(rule.name, rule.priority, holds, names))
            if holds:
                break
        return _chosen(answers)

    def classify(self, kernel: Kernel) -> Classification:
        """The class of a kernel, with what every rule says."""
        rows = self.rows(kernel)
        scope = _RuleScope(View(kernel, False), rows)
        answers = tuple(
            ClassAnswer(rule.name, rule.priority, truth(rule.condition, scope), names)
            for rule, names in self._rules
        )
        name, status = _chosen(answers)
        return Classification(name, status, answers, rows)


def _motifs(condition: Expression) -> Iterable[str]:
    return (part.name for part in parts(condition) if isinstance(part, Symbol) and part.name != "kernel")


def _chosen(answers: Sequence[ClassAnswer]) -> tuple[str, str]:
    """The first rule that holds; one above it that may hold makes that a maybe."""
    open_above = False
    for answer in answers:
        if answer.holds:
            return answer.name, "maybe" if open_above else "match"
        open_above = open_above or answer.holds is None
    return (UNKNOWN, UNKNOWN) if open_above else (OTHER, "match")


class _Asked:
    """The rows of motifs, looked for when a condition asks: without `a`, `a and b` does not ask for `b`."""

    def __init__(self, known: Rules, kernel: Kernel) -> None:
        self._known, self._kernel = known, kernel
        self._found: dict[str, list[Row] | None] = {}

    def get(self, name: str) -> list[Row] | None:
        if name not in self._found:
            self._found[name] = self._known.rows_of(name, self._kernel)
        return self._found[name]


@dataclass(frozen=True, slots=True)
class _RuleScope:
    """Names of a rule: motifs, and the kernel."""

    view: View
    rows: dict[str, list[Row]] | _Asked

    def symbol(self, name: str) -> object:
        if name == "kernel":
            return KernelRef()
        found = self.rows.get(name)
        if found is None:
            return None
        certain = tuple(row for row in found if row.status == "match")
        return MotifRows(certain, len(certain) < len(found))

    def name(self, name: Name) -> object:
        return None

    def attribute(self, base: object, name: str) -> object:
        if isinstance(base, MotifRows):
            return Many(tuple(row.columns.get(name) for row in base.items if isinstance(row, Row)))
        return attribute_of(base, name, self.view)

    def method(self, base: object, name: str, arguments: Sequence[Expression]) -> object:
        given = [single(evaluate(a, self)) for a in arguments]
        return method_of(base, name, given, arguments, self.view)
