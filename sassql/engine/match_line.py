"""Lays a line of a motif on an instruction form: which operand of the pattern means which operand.

Everything here depends on the form alone, so it is computed once for all equal instructions of
a program. Whether names agree is decided later, with values.

**Positions.** Pattern operands align in order with the instruction's. Operands with a silent
role (predicates beside the result, lookup tables) may be left out anywhere, others only at the
end; among several alignments those count that cover the most operands that are not silent.
Operands named by role take no part in that.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar
from weakref import WeakValueDictionary

from sassql.engine.opsets import NOWHERE, Alternative, operation_of, resolve
from sassql.isa import classes
from sassql.isa.constant_reads import place_of
from sassql.isa.signatures import SILENT_ROLES
from sassql.lang.ast import (
    Anything,
    Brackets,
    ClassDefinition,
    ConstantBank,
    IntegerOperand,
    Line,
    Name,
    NumberOperand,
    OperandPattern,
    RegisterName,
    Sigil,
    ValueOperand,
    Word,
)
from sassql.model.form import Form
from sassql.model.operands import (
    AddressTerm,
    ConstantOperand,
    ImmediateOperand,
    KeywordOperand,
    MemoryOperand,
    Operand,
    RegisterOperand,
)

_PART = re.compile(r"N?[HB]\d(_N?[HB]\d)*")
"""Suffixes that select a part of a register: ``H0_H0``, ``B2``. Others (``64``, ``F32x2``) leave it whole."""


@dataclass(frozen=True, slots=True)
class Fit:
    """One way to lay a line on a form: ``places`` has the operand's index for each pattern operand."""

    operation: str
    choices: tuple[str, ...]
    places: tuple[int, ...]


_MATCHERS: WeakValueDictionary[Hashable, LineMatcher] = WeakValueDictionary()
_TAKERS: dict[tuple[str, tuple[str, ...]], frozenset[LineMatcher]] = {}
"""By opcode and modifiers; made anew when there is another matcher."""


def matcher_of(line: Line, own: Mapping[str, ClassDefinition]) -> LineMatcher:
    """The matcher of a line: one for all lines that differ in names, labels and places only."""
    plain = Line(
        "",
        line.guard and replace(line.guard, predicate=_nameless(line.guard.predicate), at=NOWHERE),
        (),
        tuple(replace(operand, core=_nameless(operand.core), at=NOWHERE) for operand in line.operands),
        NOWHERE,
    )
    alternatives = resolve(line.opset, own)
    numbers = tuple(repr(o.core.value) for o in line.operands if isinstance(o.core, NumberOperand))
    key = (plain, alternatives, numbers)  # 1 and 1.0 are equal, but not the same operand
    found = _MATCHERS.get(key)
    if found is None:
        found = _MATCHERS[key] = LineMatcher(plain, alternatives)
        _TAKERS.clear()
    return found


def takers(opcode: str, modifiers: tuple[str, ...]) -> frozenset[LineMatcher]:
    """Every matcher that an instruction's opcode and modifiers fit."""
    found = _TAKERS.get((opcode, modifiers))
    if found is None:
        found = frozenset(m for m in _MATCHERS.values() if m.heads(opcode, modifiers))
        _TAKERS[opcode, modifiers] = found
    return found


_Named = TypeVar("_Named")


def _nameless(core: _Named) -> _Named:
    """A part of a line without what it calls things."""
    match core:
        case Name(sigil=sigil):
            return Name(sigil, "", False, NOWHERE)  # type: ignore[return-value]
        case ValueOperand() | IntegerOperand():
            return replace(core, name=_nameless(core.name))
        case Brackets():
            return replace(core, terms=tuple(_nameless(term) for term in core.terms))
    return core


class LineMatcher:
    """A line of a motif, ready to be laid on forms; remembers what it found for each form.

    What its names are called plays no part.
    """

    def __init__(self, line: Line, alternatives: tuple[Alternative, ...]) -> None:
        self.line = line
        self.alternatives = alternatives
        self.opcodes = frozenset().union(*(a.opcodes for a in self.alternatives))
        self.operations = tuple(dict.fromkeys(a.name for a in self.alternatives if a.is_operation))
        """Operations among the alternatives: they may take forms that single instructions do not show."""
        self._heads: dict[tuple[str, tuple[str, ...]], tuple[Alternative, ...]] = {}
        self._fits: dict[Hashable, tuple[Fit, ...]] = {}
        named = line.guard is not None and isinstance(line.guard.predicate, RegisterName)
        self._by_shape = not named and not any(_names_a_place(operand) for operand in line.operands)
        """True where which registers a form has makes no difference."""

    def heads(self, opcode: str, modifiers: tuple[str, ...]) -> tuple[Alternative, ...]:
        """Alternatives that opcode and modifiers fit: a cheap test that needs no operands."""
        key = (opcode, modifiers)
        found = self._heads.get(key)
        if found is None:
            found = self._heads[key] = tuple(a for a in self.alternatives if a.takes(*key))
        return found

    def fits(self, form: Form) -> tuple[Fit, ...]:
        """Every way to lay the line on ``form``, none where it does not fit."""
        key = form.likeness if self._by_shape else form.text
        known = self._fits.get(key)
        if known is None:
            never = form.guard is not None and form.guard.never
            heads = () if never or not self.guard_fits(form) else self.heads(form.opcode, form.modifiers)
            found = dict.fromkeys(fit for head in heads for fit in self._lay(head, form))
            known = self._fits[key] = tuple(found)
        return known

    def guard_fits(self, form: Form) -> bool:
        """Presence, sign and register of the guard; a named predicate is compared later."""
        wanted, guard = self.line.guard, form.guard
        if wanted is None:
            return True
        always = guard is None or (guard.index is None and not guard.inverted)
        if isinstance(wanted.predicate, RegisterName):
            if wanted.predicate.index is None:
                return always
            if guard is None:
                return False
            same = (guard.file, guard.index) == (wanted.predicate.file, wanted.predicate.index)
            return same and guard.inverted == wanted.inverted
        return guard is not None and not always and guard.inverted == wanted.inverted

    def _lay(self, head: Alternative, form: Form) -> Iterator[Fit]:
        operands = form.operands
        orders: tuple[classes.Order, ...]
        operation = ""
        if head.is_class:
            reading = classes.read(head.name, form.opcode, form.modifiers, operands)
            if reading is not None:
                operation, orders = f"<{reading.operation}>", reading.orders
            elif classes.belongs(head.name, form.opcode, form.modifiers, operands):
                orders = classes.orders(form.opcode, form.modifiers, operands)
            else:
                return
            semantic = reading is not None
        else:
            orders = classes.orders(form.opcode, form.modifiers, operands)
            semantic = False
        operation = operation or operation_of(form)
        choices = head.choices(form.modifiers)
        for order in orders:
            roles = _roles(order, operands, semantic)
            for places in align(self.line.operands, [operands[i] for i in order], roles):
                yield Fit(operation, choices, tuple(order[place] for place in places))


def _names_a_place(operand: OperandPattern) -> bool:
    """True for a pattern operand that asks for a certain register or a certain place in memory."""
    match operand.core:
        case RegisterName() | ConstantBank():
            return True
        case Brackets(anything=anything, terms=terms):
            return not anything and not any(isinstance(t, Name) and t.sigil is Sigil.ADDRESS for t in terms)
    return False


def _roles(order: Sequence[int], operands: Sequence[Operand], semantic: bool) -> list[str]:
    """Role of each operand in ``order``; an operation has its own: result, then sources from ``a`` on."""
    if semantic:
        return list(classes.SEMANTIC_ROLES[: len(order)])
    # a source keeps the role of its place when sources change places
    return [operand.role for operand in operands]


def align(
    wanted: Sequence[OperandPattern], operands: Sequence[Operand], roles: Sequence[str]
) -> list[tuple[int, ...]]:
    """Every alignment of pattern operands that the rule of positions allows, as indices into ``operands``."""
    by_role = [operand for operand in wanted if operand.role]
    by_place = [operand for operand in wanted if not operand.role]
    found: list[tuple[int, ...]] = []
    for named in _by_role(by_role, operands, roles):
        free = [i for i in range(len(operands)) if i not in named]
        for placed in _by_place(by_place, operands, roles, free):
            first, second = iter(named), iter(placed)
            found.append(tuple(next(first) if operand.role else next(second) for operand in wanted))
    return found


def _by_role(
    wanted: Sequence[OperandPattern], operands: Sequence[Operand], roles: Sequence[str]
) -> Iterator[tuple[int, ...]]:
    if not wanted:
        yield ()
        return
    head, rest = wanted[0], wanted[1:]
    for place, operand in enumerate(operands):
        if roles[place] == head.role and admits(head, operand):
            for others in _by_role(rest, operands, roles):
                if place not in others:
                    yield (place, *others)


def _by_place(
    wanted: Sequence[OperandPattern], operands: Sequence[Operand], roles: Sequence[str], free: Sequence[int]
) -> list[tuple[int, ...]]:
    """Alignments of operands without a role, those that cover the most significant operands."""
    found = list(_alignments(wanted, operands, roles, free))
    covered = [sum(roles[place] not in SILENT_ROLES for place in places) for places in found]
    return [places for places, count in zip(found, covered, strict=True) if count == max(covered)]


def _alignments(
    wanted: Sequence[OperandPattern], operands: Sequence[Operand], roles: Sequence[str], free: Sequence[int]
) -> Iterator[tuple[int, ...]]:
    if not wanted:
        yield ()
        return
    for position, place in enumerate(free):
        if admits(wanted[0], operands[place]):
            for others in _alignments(wanted[1:], operands, roles, free[position + 1 :]):
                yield (place, *others)
        if roles[place] not in SILENT_ROLES:
            return


def admits(wanted: OperandPattern, operand: Operand) -> bool:
    """True where the kind, the signs and what is written literally agree; values are compared later."""
    if isinstance(wanted.core, Anything):
        return True
    if not _signs_agree(wanted, operand):
        return False
    match wanted.core, operand:
        case ValueOperand(suffixes=suffixes), RegisterOperand() | ConstantOperand() | ImmediateOperand():
            return _is_value(operand) and _same_part(suffixes, operand.suffixes)
        case IntegerOperand(), ImmediateOperand(value=value):
            return isinstance(value, int)
        case IntegerOperand(), RegisterOperand(file=file):
            return file in ("R", "UR") and not operand.access.defines
        case NumberOperand(value=number), ImmediateOperand(value=value):
            return classes.same_number(value, number)
        case NumberOperand(value=number), RegisterOperand(file=file, index=index):
            readable = file in ("R", "UR") and not operand.access.defines
            return readable and (index is not None or number == 0)
        case RegisterName(file=file, index=index), RegisterOperand():
            return (file, index) == (operand.file, operand.index)
        case Word(text=text), KeywordOperand(name=name):
            return text == name
        case ConstantBank(bank=bank, offset=offset), ConstantOperand():
            return (bank, offset) == place_of(operand)
        case Brackets(), MemoryOperand():
            return _same_brackets(wanted.core, operand)
    return False


def _same_brackets(wanted: Brackets, operand: MemoryOperand) -> bool:
    """Prefix, number of registers and offset; a lone ``&A`` and ``_`` leave those open."""
    if wanted.space and wanted.space != operand.prefix:
        return False
    if wanted.anything or any(isinstance(t, Name) and t.sigil is Sigil.ADDRESS for t in wanted.terms):
        return True
    if len(wanted.terms) != len(operand.terms) or wanted.offset != operand.offset:
        return False
    pairs = zip(wanted.terms, operand.terms, strict=True)
    return all(isinstance(want, Name) or _same_register(want, found) for want, found in pairs)


def _same_register(wanted: RegisterName, found: AddressTerm) -> bool:
    index = None if found.register is None else found.register.index
    return (wanted.file, wanted.index) == (found.file, index)


def _signs_agree(wanted: OperandPattern, operand: Operand) -> bool:
    """Signs are strict; the sign of a number is part of its value."""
    if isinstance(operand, ImmediateOperand):
        return not wanted.absolute and not wanted.inverted and not (wanted.negated and not _negative(operand))
    if isinstance(wanted.core, NumberOperand):
        return not operand.absolute and not operand.inverted
    return (wanted.negated, wanted.absolute, wanted.inverted) == (
        operand.negated,
        operand.absolute,
        operand.inverted,
    )


def _negative(operand: ImmediateOperand) -> bool:
    return operand.value < 0


def _is_value(operand: Operand) -> bool:
    """False for results that go nowhere (RZ, PT), constant predicates, and computed constant addresses."""
    match operand:
        case RegisterOperand(file=file) if operand.is_zero:
            return not operand.access.defines and file in ("R", "UR")
        case ConstantOperand():
            return place_of(operand) is not None
    return True


def _same_part(wanted: Sequence[str], found: Sequence[str]) -> bool:
    return [s for s in wanted if _PART.fullmatch(s)] == [s for s in found if _PART.fullmatch(s)] and all(
        suffix in found for suffix in wanted
    )
