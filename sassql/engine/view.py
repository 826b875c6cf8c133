"""One kernel as a motif sees it: its nodes, the places where each line may lie, its values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

import sassql.facts  # noqa: F401  (registers the analyses)
from sassql.engine.bindings import Bindings, Matched
from sassql.engine.divergence import Divergence, divergence
from sassql.engine.match_line import Fit, LineMatcher
from sassql.engine.plan import LinePlan, Slot, SlotKind
from sassql.engine.values import Units, Values
from sassql.facts.blocks import Blocks
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
        return Values(self.kernel, self.diverged)

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
        if not self._everything and self.diverged:
            blocks: Blocks = self.kernel.fact("blocks")
            seen[np.isin(blocks.of, list(self.diverged.blocks))] = False
        return seen

    @cached_property
    def diverged(self) -> Divergence:
        """Copies for diverged warps; none of them where the motif wants to see everything."""
        return Divergence(frozenset()) if self._everything else divergence(self.kernel)

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
        laid = bindings
        for slot in line.slots:
            extended = self._compare(slot, candidate, laid)
            if extended is None:
                return None
            laid = extended
        return laid.with_label(line.label, (Matched(index, fit.operation, fit.choices),))

    def _compare(self, slot: Slot, candidate: Candidate, bindings: Bindings) -> Bindings | None:
        """``bindings`` with what stands in one slot, or None where it is something else."""
        index = candidate.index
        match slot.kind:
            case SlotKind.VALUE | SlotKind.GUARD:
                units = self.units(slot, candidate)
                return None if units is None else bindings.with_value(slot.key, units)
            case SlotKind.INTEGER:
                number = self.values.integer(index, candidate.fit.places[slot.position])
                return None if number is None else bindings.with_integer(slot.key, number)
            case SlotKind.NUMBER:
                place = candidate.fit.places[slot.position]
                return bindings if self.values.is_number(index, place, slot.number) else None

    def units(self, slot: Slot, candidate: Candidate) -> Units | None:
        """The value that stands in a slot of a line; None for none."""
        if slot.kind is SlotKind.GUARD:
            return self.values.guard(candidate.index)
        return self.values.units(candidate.index, candidate.fit.places[slot.position])
