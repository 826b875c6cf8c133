"""One kernel as a motif sees it: its nodes, the places where each line may lie, its values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

import sassql.facts  # noqa: F401  (registers the analyses)
from sassql.engine.bindings import Bindings, Matched
from sassql.engine.match_line import Fit, LineMatcher
from sassql.engine.plan import LinePlan
from sassql.engine.values import Values
from sassql.lang.ast import IntegerOperand, Name, NumberOperand, ValueOperand
from sassql.model.kernel import Kernel

NEVER_NODES = frozenset({"NOP"})
"""Opcodes that do nothing: hazard fillers and padding."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An instruction on which a line may lie, and how."""

    index: int
    fit: Fit


class View:
    """A kernel for one motif. ``everything`` keeps slow paths and unreachable code among the nodes."""

    def __init__(self, kernel: Kernel, everything: bool) -> None:
        self.kernel = kernel
        self._everything = everything
        self._candidates: dict[int, tuple[Candidate, ...]] = {}

    @cached_property
    def _rows(self) -> list[int]:
        found: list[int] = np.unique(self.kernel.form_ids).tolist()
        return found

    @cached_property
    def values(self) -> Values:
        """Operand values; the first use computes SSA."""
        return Values(self.kernel)

    @cached_property
    def nodes(self) -> npt.NDArray[np.bool_]:
        """By instruction number, whether motifs see it."""
        seen = np.ones(len(self.kernel.form_ids), bool)
        idle = [row for row in self._rows if self.kernel.forms[row].opcode in NEVER_NODES]
        seen[np.isin(self.kernel.form_ids, idle)] = False
        tags = self.kernel.fact("tags")
        for index, names in tags.items():
            if not self._everything or "filler" in names:
                seen[index] = False
        return seen

    def lacks(self, matchers: Iterable[LineMatcher]) -> bool:
        """True where some line can lie on no instruction: exact, and cheap, since no analysis runs."""
        forms = [self.kernel.forms[row] for row in self._rows]
        return any(not any(matcher.heads(form) for form in forms) for matcher in matchers)

    def candidates(self, line: LinePlan) -> tuple[Candidate, ...]:
        """Everywhere that ``line`` may lie, in address order, names aside."""
        known = self._candidates.get(id(line))
        if known is None:
            fits = {row: line.matcher.fits(self.kernel.forms[row]) for row in self._rows}
            rows = [row for row, found in fits.items() if found]
            ids = self.kernel.form_ids
            places = np.flatnonzero(np.isin(ids, rows) & self.nodes) if rows else np.array([], np.int64)
            known = tuple(Candidate(i, fit) for i in places.tolist() for fit in fits[int(ids[i])])
            self._candidates[id(line)] = known
        return known

    def lay(self, line: LinePlan, candidate: Candidate, bindings: Bindings) -> Bindings | None:
        """``bindings`` with ``line`` on ``candidate``, or None where names, numbers or labels disagree."""
        index, fit = candidate.index, candidate.fit
        if bindings.uses(index):
            return None
        found: Bindings | None = bindings
        guard = line.line.guard
        if guard is not None and isinstance(guard.predicate, Name):
            units = self.values.guard(index)
            found = None if units is None else bindings.with_value(line.key(guard.predicate), units)
        for wanted, place in zip(line.line.operands, fit.places, strict=True):
            if found is None:
                return None
            match wanted.core:
                case ValueOperand(name=name):
                    units = self.values.units(index, place)
                    found = None if units is None else found.with_value(line.key(name), units)
                case IntegerOperand(name=name):
                    number = self.values.integer(index, place)
                    found = None if number is None else found.with_integer(line.key(name), number)
                case NumberOperand(value=value) if not self.values.is_number(index, place, value):
                    return None
        matched = (Matched(index, fit.operation, fit.choices),)
        return None if found is None else found.with_label(line.label, matched)
