"""Where lines may lie in a kernel, names aside: found once for all motifs that have such a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sassql.engine.match_line import Fit, LineMatcher, takers
from sassql.engine.operations import Part
from sassql.model.form import Form

if TYPE_CHECKING:
    from sassql.engine.session import Session


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """An instruction on which a line may lie, and how; of a longer form the parts instead of operands."""

    index: int
    fit: Fit
    parts: tuple[Part, ...] = ()


class Lines:
    """The places of lines among the instructions that a session sees."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._rows: dict[LineMatcher, Sequence[tuple[int, Form]]] = {}
        heads = dict.fromkeys((f.opcode, f.modifiers) for fs in session.by_opcode.values() for _, f in fs)
        self._possible: set[LineMatcher] = set().union(*(takers(*head) for head in heads))
        self._asked: set[LineMatcher] = set()
        self._candidates: dict[LineMatcher, tuple[Candidate, ...]] = {}

    def possible(self, needed: frozenset[LineMatcher]) -> bool:
        """False where some line can lie on no instruction: exact, and cheap, since no analysis runs."""
        if needed <= self._possible:
            return True
        for matcher in needed - self._possible - self._asked:  # a matcher that came after the kernel was seen
            self._asked.add(matcher)
            if self._is_possible(matcher):
                self._possible.add(matcher)
        return needed <= self._possible

    def _is_possible(self, matcher: LineMatcher) -> bool:
        if any(matcher.heads(form.opcode, form.modifiers) for _, form in self._forms_of(matcher)):
            return True
        return any(self._session.longer.possible(name) for name in matcher.operations)

    def _forms_of(self, matcher: LineMatcher) -> Sequence[tuple[int, Form]]:
        """The forms with an opcode that a line speaks of."""
        known = self._rows.get(matcher)
        if known is None:
            found, spoken = self._session.by_opcode, matcher.opcodes
            if len(spoken) == 1:
                (only,) = spoken
                known = found.get(only, ())
            else:
                known = [pair for opcode in found.keys() & spoken for pair in found[opcode]]
            self._rows[matcher] = known
        return known

    def candidates(self, matcher: LineMatcher) -> tuple[Candidate, ...]:
        """Everywhere that a line may lie, in address order."""
        known = self._candidates.get(matcher)
        if known is None:
            found = sorted(self._found(matcher), key=lambda c: c.index)
            known = self._candidates[matcher] = tuple(found)
        return known

    def _found(self, matcher: LineMatcher) -> Iterator[Candidate]:
        longer, places = self._session.longer, self._session.places
        wanted = [name for name in matcher.operations if longer.possible(name)]
        parts = {(index, name) for name in wanted for index in longer.parts(name)}
        for row, form in self._forms_of(matcher):
            for fit in matcher.fits(form):
                operation = fit.operation.strip("<>")
                for index in places.get(row, ()):
                    if (index, operation) not in parts:
                        yield Candidate(index, fit)
        for name in wanted:
            for found in longer.fits(name, matcher):
                if self._session.nodes[found[0]]:
                    yield Candidate(*found)
