"""Operations that only meanings show: of several instructions, or in no class of the table.

`FSETP` with `FSEL` is a maximum, the division sequence a quotient, two 32-bit halves one
64-bit sum. Such a form is one value, labelled by its last instruction; a line with the
class lies on it like on a single instruction.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sassql.engine.match_line import Fit, LineMatcher
from sassql.engine.opsets import allows
from sassql.engine.values import Unit, Units, Values
from sassql.facts.meanings import Meaning, Meanings
from sassql.facts.terms import Term
from sassql.isa import classes, operations
from sassql.isa.classes import as_single
from sassql.lang.ast import (
    Anything,
    ConstantBank,
    IntegerOperand,
    NumberOperand,
    OperandPattern,
    ValueOperand,
)
from sassql.model.kernel import Kernel

if TYPE_CHECKING:
    from sassql.engine.session import Session

_SIGN = 1 << 31


@dataclass(frozen=True, slots=True)
class Part:
    """The result or an operand of an operation: what a pattern operand is compared with."""

    units: Units | None
    number: int | None = None
    negated: bool = False
    absolute: bool = False
    inverted: bool = False

    @property
    def integer(self) -> int | None:
        """The number as a signed 32-bit integer."""
        if self.number is None:
            return None
        return self.number - ((self.number & _SIGN) << 1) if self.number >> 32 == 0 else self.number


class LongerForms:
    """The operations of one kernel that its single instructions do not show."""

    def __init__(self, kernel: Kernel, session: Session) -> None:
        self._kernel = kernel
        self._session = session

    @property
    def _values(self) -> Values:
        return self._session.values

    @cached_property
    def _present(self) -> frozenset[str]:
        return operations.present(self._kernel.forms[row] for row in self._session.rows)

    @cached_property
    def _meanings(self) -> Meanings:
        found: Meanings = self._kernel.fact("meanings")
        return found

    def possible(self, name: str) -> bool:
        """True where the kernel may have such a form: cheap, since no analysis runs."""
        return operations.possible(name, self._present)

    @cached_property
    def _longer(self) -> dict[str, list[Meaning]]:
        """Forms by operation; one that is a single instruction is left to the tables of classes."""
        found: dict[str, list[Meaning]] = {}
        for meaning in dict.fromkeys(self._meanings.longer.values()):
            known = len(meaning.covers) == 1 and meaning.operation in classes.names()
            if meaning.index >= 0 and not known:
                found.setdefault(meaning.operation, []).append(meaning)
        return found

    def _single(self, name: str) -> Iterator[Meaning]:
        """What single instructions compute, for operations that are no class."""
        if not operations.only_by_meaning(name):
            return
        opcodes = operations.opcodes(name)
        rows = {row for row in self._session.rows if self._kernel.forms[row].opcode in opcodes}
        for index, row in enumerate(self._kernel.form_ids.tolist()):
            if row in rows:
                yield from (m for m in self._meanings.at(index) if m.operation == name)

    def parts(self, name: str) -> frozenset[int]:
        """Instructions that are parts of a longer ``name``: alone they are none."""
        found = (m.covers for m in self._longer.get(name, ()) if len(m.covers) > 1)
        return frozenset(itertools.chain.from_iterable(found))

    def fits(self, name: str, matcher: LineMatcher) -> Iterator[tuple[int, Fit, tuple[Part, ...]]]:
        """Every way to lay a line on forms of an operation: (instruction, fit, part per pattern operand)."""
        heads = [a for a in matcher.alternatives if a.is_class and a.name == name]
        for meaning in (*self._longer.get(name, ()), *self._single(name)):
            form = self._kernel.forms[int(self._kernel.form_ids[meaning.index])]
            if not matcher.guard_fits(form):
                continue
            modifiers = (*form.modifiers, *sorted(meaning.flags))
            for head in heads:
                if not all(allows(wanted, modifiers) for wanted in head.modifiers):
                    continue
                fit = Fit(f"<{name}>", head.choices(modifiers), ())
                laid = (_laid(matcher.line.operands, parts) for parts in self._orders(meaning))
                for found in dict.fromkeys(chosen for chosen in laid if chosen is not None):
                    yield meaning.index, fit, found

    def _orders(self, meaning: Meaning) -> Iterator[tuple[Part, ...]]:
        """Result and operands, in every order that means the same."""
        result = Part(tuple(self._values.unit_of(v) for v in self._seen(meaning)))
        operands = [self._part(term) for term in meaning.operands]
        moving, rest = operands[: meaning.commuting], operands[meaning.commuting :]
        for order in itertools.permutations(moving):
            yield (result, *order, *rest)

    def _seen(self, meaning: Meaning) -> tuple[int, ...]:
        """The values of a result; of a guarded instruction those after it."""
        ssa = self._meanings.ssa
        found = []
        for written in meaning.results:
            value = written
            guarded = (
                ssa.first[meaning.index]
                <= value
                < ssa.first[meaning.index] + len(ssa.accesses[meaning.index].defs)
            )
            if guarded and ssa.accesses[meaning.index].guarded and len(meaning.covers) == 1:
                value += len(ssa.accesses[meaning.index].defs)
            found.append(value)
        return tuple(found)

    def _part(self, term: Term) -> Part:
        units: Units | None = None
        if term.number is not None:
            units = (("number", term.number),)
        elif term.values:
            units = tuple(self._values.unit_of(value) for value in term.values)
        elif term.constant is not None:
            unit: Unit = ("bank", *term.constant)
            units = (unit,)
        known = None if term.selector else units
        return Part(known, term.number, term.negated, term.absolute, term.inverted)


def _laid(wanted: Sequence[OperandPattern], parts: Sequence[Part]) -> tuple[Part, ...] | None:
    """The part for each pattern operand, by place or by role; None where one does not fit."""
    found = []
    place = 0
    for operand in wanted:
        if operand.role:
            at = classes.SEMANTIC_ROLES.index(operand.role) if operand.role in classes.SEMANTIC_ROLES else -1
        else:
            at, place = place, place + 1
        if not 0 <= at < len(parts) or not _admits(operand, parts[at]):
            return None
        found.append(parts[at])
    return tuple(found)


def _admits(wanted: OperandPattern, part: Part) -> bool:
    if isinstance(wanted.core, Anything):
        return True
    signs = (wanted.negated, wanted.absolute, wanted.inverted)
    if signs != (part.negated, part.absolute, part.inverted):
        return False
    match wanted.core:
        case ValueOperand(suffixes=suffixes):
            return part.units is not None and not suffixes
        case IntegerOperand():
            return part.integer is not None
        case NumberOperand(value=float() as value):
            bits = struct.unpack("<I", struct.pack("<f", as_single(value)))[0] if abs(value) < 3e38 else None
            return part.number is not None and part.number == bits
        case NumberOperand(value=value):
            return part.integer == value
        case ConstantBank(bank=bank, offset=offset):
            return part.units == (("bank", bank, offset),)
    return False
