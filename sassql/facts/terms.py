"""Operands as values: which copy class or number an instruction reads, with sign and selector.

Used by "meanings". Numbers are bit patterns of the operand's element type, signs applied.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sassql.facts.constants import Constants
from sassql.facts.copies import Copies
from sassql.facts.forms import Forms
from sassql.facts.values import SSA
from sassql.isa.classes import as_single
from sassql.isa.constant_reads import Place, constant_read, place_of
from sassql.model.form import Form
from sassql.model.kernel import Kernel
from sassql.model.operands import ConstantOperand, ImmediateOperand, MemoryOperand, Operand, RegisterOperand

_PREDICATES = ("P", "UP")
_SIGN_BITS = {"f64": (1 << 63), "f32": (1 << 31), "f16x2": 0x80008000, "bf16x2": 0x80008000, "f16": 0x8000}
_SIGN_BITS |= {"f32x2": (1 << 63) | (1 << 31), "bf16": 0x8000}


@dataclass(slots=True, unsafe_hash=True)  # frozen ones take three times as long to make
class Term:
    """One operand of an operation.

    Exactly one of these says what it is: ``number`` (a bit pattern), ``constant`` (bank and
    byte offset of a constant bank; ``values`` may name who fetched it), ``values`` (roots of
    "copies", the lowest 32 bits first; of an address all its registers), or ``text`` where
    it is none of them. ``inverted`` is ``~`` or, on a predicate, ``!``.
    """

    values: tuple[int, ...] = ()
    number: int | None = None
    constant: Place | None = None
    negated: bool = False
    absolute: bool = False
    inverted: bool = False
    selector: tuple[str, ...] = ()
    text: str = field(default="", compare=False)

    @property
    def signed(self) -> bool:
        """True where a sign, ``~``, ``!`` or a selector changes the value."""
        return self.negated or self.absolute or self.inverted or bool(self.selector)

    @property
    def known(self) -> bool:
        """True where it is said which value it is."""
        return bool(self.values) or self.number is not None or self.constant is not None

    def same(self, other: Term) -> bool:
        """True where both are certainly equal; False is no proof of a difference."""
        signs = (self.negated, self.absolute, self.inverted, self.selector)
        if signs != (other.negated, other.absolute, other.inverted, other.selector):
            return False
        if self.number is not None or other.number is not None:
            return self.number == other.number
        if self.constant is not None and self.constant == other.constant:
            return True
        return bool(self.values) and self.values == other.values

    def with_sign(self, sign: str, value: bool) -> Term:
        """The term with ``negated``, ``absolute`` or ``inverted`` set to ``value``."""
        match sign:
            case "negated":
                return replace(self, negated=value)
            case "absolute":
                return replace(self, absolute=value)
            case _:
                return replace(self, inverted=value)


class Terms:
    """Makes the terms of one kernel."""

    def __init__(self, kernel: Kernel, ssa: SSA, copies: Copies, constants: Constants) -> None:
        self.constants = constants
        self._ssa = ssa
        self._forms: Forms = kernel.fact("forms")
        self._roots = [copies.root(value) for value in range(len(ssa))]
        self._known = constants.known
        self._places: dict[int, Place | None] = {}
        self._single: dict[int, Term] = {}
        self._several: dict[tuple[int, ...], Term] = {}

    def of_value(self, value: int) -> Term:
        """One value of "ssa" as a term; one object for all of its copies."""
        root = self._roots[value]
        found = self._single.get(root)
        if found is None:
            number = self._known.get(root)
            place = self._fetched(root) if number is None else None
            found = Term((root,), constant=place) if number is None else Term(number=number)
            self._single[root] = found
        return found

    def of_values(self, values: Sequence[int]) -> Term:
        """Values of "ssa" side by side as one term."""
        if len(values) == 1:
            return self.of_value(values[0])
        roots = tuple([self._roots[value] for value in values])
        found = self._several.get(roots)
        if found is None:
            numbers = [self._known.get(root) for root in roots]
            if None in numbers:
                found = Term(roots, constant=self._constant(roots))
            else:
                found = Term(number=sum((number or 0) << 32 * i for i, number in enumerate(numbers)))
            self._several[roots] = found
        return found

    def guard(self, index: int) -> Term | None:
        """The guard of an instruction; None where it has none."""
        value, guard = self._ssa.guard(index), self._form(index).guard
        if value is None or guard is None:
            return None
        found = self.of_values((value,))
        if found.number is not None:
            return Term(number=found.number ^ guard.inverted)
        return replace(found, inverted=guard.inverted)

    def of_operand(self, index: int, place: int, element: str) -> Term:
        """Operand ``place`` of instruction ``index``, read as ``element``s."""
        operands = self._form(index).operands
        match operands[place]:
            case RegisterOperand() as operand:
                return self._register(index, place, operand, element)
            case ImmediateOperand() as operand:
                beside = operands[place + 1 : place + 2]
                second = next((o for o in beside if o.role == operand.role + "2"), None)
                number = _literal(operand, second, element)
                return Term(number=number, text=operand.text)
            case ConstantOperand() as operand:
                constant = place_of(operand)
                values = self._address(index, place) if constant is None else ()
                return _with_signs(Term(values, constant=constant, text=operand.text), operand)
            case MemoryOperand() as operand:
                return Term(self._address(index, place), text=operand.text)
            case operand:
                return Term(text=operand.text)

    def _form(self, index: int) -> Form:
        return self._forms.of[index]

    def _address(self, index: int, place: int) -> tuple[int, ...]:
        return tuple([self._roots[value] for value in self._ssa.address_uses(index, place)])

    def _register(self, index: int, place: int, operand: RegisterOperand, element: str) -> Term:
        predicate = operand.file in _PREDICATES
        if operand.is_zero:
            found = Term(number=1 if predicate else 0)
        else:
            keys = self._ssa.accesses[index].use_keys
            if (place, 0) not in keys:
                return Term(text=operand.text)
            first, width = keys.index((place, 0)), operand.width or 1
            read = self._ssa.read[index]
            if width == 1:
                found = self.of_value(read[first])
            elif keys[first + width - 1 : first + width] == ((place, width - 1),):  # its units stand in order
                found = self.of_values(read[first : first + width])
            else:
                return Term(text=operand.text)
        if found.number is None:
            return _with_signs(found, operand)
        if any(not s.startswith("F32") for s in operand.suffixes):
            return _with_signs(replace(found, text=operand.text), operand)
        return Term(number=_signed(found.number, operand, element, predicate), text=operand.text)

    def _constant(self, roots: tuple[int, ...]) -> Place | None:
        """The place in a constant bank that all roots beside each other were fetched from."""
        places = [self._fetched(root) for root in roots]
        first = places[0]
        if first is None or any(p != (first[0], first[1] + 4 * i) for i, p in enumerate(places)):
            return None
        return first

    def _fetched(self, root: int) -> Place | None:
        index = self._ssa.instruction[root]
        if index < 0 or self._ssa.inputs[root]:
            return None
        number = self._forms.number[index]
        if number not in self._places:
            self._places[number] = constant_read(self._forms.distinct[number])
        found = self._places[number]
        return None if found is None else (found[0], found[1] + 4 * self._ssa.unit[root])


def _with_signs(term: Term, operand: Operand) -> Term:
    if not (operand.negated or operand.absolute or operand.inverted or operand.suffixes):
        return term
    return Term(
        term.values,
        term.number,
        term.constant,
        operand.negated,
        operand.absolute,
        operand.inverted,
        tuple(s for s in operand.suffixes if not s.startswith(("F32", "64"))),
        term.text,
    )


def _signed(number: int, operand: RegisterOperand, element: str, predicate: bool) -> int:
    """A known number with the operand's signs applied."""
    if predicate:
        return number ^ operand.inverted
    bits = _SIGN_BITS.get(element)
    word = (1 << 32 * (operand.width or 1)) - 1
    if bits is not None:
        number = number & ~bits if operand.absolute else number
        return number ^ bits if operand.negated else number
    if operand.inverted:
        number = ~number
    if operand.absolute and number >> (word.bit_length() - 1) & 1:
        number = -number
    return (-number if operand.negated else number) & word


def _literal(operand: ImmediateOperand, second: Operand | None, element: str) -> int | None:
    """The bit pattern that a number in the text has as an ``element``; None where it is not known."""
    value = operand.value
    if isinstance(value, int) and not (element in _SIGN_BITS and "0x" not in operand.text):
        word = 64 if element in ("i64", "s64", "u64", "b64") else 32
        return value & ((1 << word) - 1)
    value = float(value)
    if math.isnan(value):
        return None  # the text does not say which NaN
    if operand.text.lstrip().startswith("-") and value == 0:
        value = -0.0
    if element in ("f16x2", "bf16x2"):
        if not isinstance(second, ImmediateOperand) or math.isnan(float(second.value)):
            return None
        pack = _half if element == "f16x2" else _brain
        return pack(value) << 16 | pack(float(second.value))
    if element == "f64":
        return int.from_bytes(struct.pack("<d", value), "little")
    if element == "f32":
        return int.from_bytes(struct.pack("<f", as_single(value)), "little")
    return None


def _half(value: float) -> int:
    return int.from_bytes(struct.pack("<e", value), "little")


def _brain(value: float) -> int:
    return int.from_bytes(struct.pack("<f", value), "little") >> 16
