"""Fact "addresses": where each memory access goes, as a base and a polynomial.

    global: param2 + 4*ctaid.x*ntid.x + 4*tid.x + 0x10

Low-word method: only the low 32 bits of an address are followed. Products, shifts and sums
are exact on them, and every instruction that handles a carry or a high word can be left
out. Two addresses with equal low words are taken for equal, although they could lie a
multiple of 4 GiB apart; two with different low words are different for certain.

The base of a global address is the pointer parameter that is added once; an index comes
with the size of an element. A parameter of one byte elements' index may look the same: the
sizes of the parameters decide, and where two could be it, there is no base.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from sassql.facts.blocks import Blocks
from sassql.facts.counters import Counters
from sassql.facts.forms import ByShape, Forms
from sassql.facts.formulas import Formulas
from sassql.facts.loops import Loops
from sassql.facts.polynomials import (
    BANK_SHIFT,
    ZERO,
    Atom,
    AtomKind,
    Polynomial,
    counter,
    mentioned,
    signed,
    special,
)
from sassql.isa.access import bytes_of
from sassql.isa.launch import Launch
from sassql.isa.spaces import Space, Touch, touches_of
from sassql.model.form import Form
from sassql.model.kernel import Kernel, provides
from sassql.model.operands import ConstantOperand, MemoryOperand

_POINTER = 8
"""Bytes of a pointer."""
_POINTER_OF_TABLE = "constant64"
"""The function that reads 8 bytes of a constant bank at a place that is no number."""
_FRAME = special("frame")
_WITHOUT_ADDRESS = frozenset({Space.NONE})


class AddressKind(Enum):
    """How much is known of an address; each is worse than the one before."""

    PURE = "pure"
    """A polynomial of thread numbers, sizes, parameters and loop counters."""
    STRUCTURAL = "structural"
    """Quotients, remainders, selects and other functions of those are in it."""
    DATA = "data"
    """It depends on a loaded value."""
    OPAQUE = "opaque"
    """Something in it is unknown; ``reason`` of the address says what."""


@dataclass(frozen=True, slots=True)
class Base:
    """What an address counts from.

    ``kind`` is parameter, shared, frame, constant (a word of a constant bank, or the bank
    itself for an access to one), table (a pointer from a table in a constant bank), loaded (a
    pointer from memory) or none.
    ``offset`` is the parameter's in bytes, or the word's with the bank from bit 24 on, and
    ``name`` says it to people.
    """

    kind: str
    offset: int = 0
    name: str = ""

    def __str__(self) -> str:
        return self.name


NO_BASE = Base("none")


@dataclass(frozen=True, slots=True)
class Address:
    """One operand's address: base, plus ``polynomial``, plus ``offset`` bytes.

    ``width`` is in bytes, per thread, None where the instruction's text does not say. ``access`` is load,
    store, atomic, both or touch. ``instruction`` and ``operand`` are numbers; ``block`` is
    the instruction's.
    """

    space: Space
    base: Base
    polynomial: Polynomial
    offset: int
    width: int | None
    kind: AddressKind
    reason: str
    access: str
    instruction: int
    operand: int
    block: int
    _loops: Loops | None = field(default=None, repr=False, compare=False)

    def coefficient(self, atom: Atom | str) -> Polynomial | None:
        """What an atom (or ``"tid.x"``) is multiplied with, in bytes; None for one in a function."""
        return self.polynomial.coefficient(special(atom) if isinstance(atom, str) else atom)

    def stride(self, loop: int) -> Polynomial | None:
        """Bytes that each iteration of loop ``loop`` adds; None where it is no sum.

        A value that the loop loads or computes anew in each iteration makes it None, too;
        counters of inner loops do not.
        """
        if self._loops is None:
            return None
        inside, kappa = set(self._loops[loop].blocks), counter(loop, self._loops[loop].header)
        for atom in mentioned(self.polynomial):
            own = atom.kind is AtomKind.COUNTER and atom.scope is None
            if atom.home in inside and not own:
                return None
        return self.polynomial.coefficient(kappa)

    def __str__(self) -> str:
        parts = [str(self.base)] if self.base.kind != "none" else []
        if self.polynomial.terms or not (parts or self.offset):
            parts.append(str(self.polynomial))
        text = " + ".join(parts).replace("+ -", "- ")
        if self.offset:
            number = f"{abs(self.offset):#x}"
            sign = "-" if self.offset < 0 else "+"
            text = f"{text} {sign} {number}" if text else ("-" if self.offset < 0 else "") + number
        return f"{self.space.value}: {text}"


@dataclass(slots=True, eq=False)
class Addresses:
    """The addresses of a kernel's memory accesses, by instruction and operand."""

    by_instruction: dict[int, tuple[Address, ...]]

    def of(self, index: int, operand: int | None = None) -> Address | None:
        """The address of an operand; without one, the only or the first of the instruction."""
        found = self.by_instruction.get(index, ())
        if operand is None:
            return found[0] if found else None
        return next((address for address in found if address.operand == operand), None)

    def __iter__(self) -> Iterator[Address]:
        return (address for index in sorted(self.by_instruction) for address in self.by_instruction[index])

    def __len__(self) -> int:
        return sum(map(len, self.by_instruction.values()))


@provides("addresses")
def addresses(kernel: Kernel) -> Addresses:
    """The address of every operand through which a kernel touches memory.

    Fetches of a fixed place of a constant bank are values, not accesses, and are left out,
    as is what ``@!PT`` guards.
    """
    maker = _Maker(kernel)
    forms: Forms = kernel.fact("forms")
    found: dict[int, tuple[Address, ...]] = {}
    for index in forms.places(_touches):
        form = forms.of[index]
        guard = form.guard
        if guard is None or not guard.never:
            found[index] = tuple(maker.make(index, touch) for touch in _touches(form))
    return Addresses(found)


def _touches_of(form: Form) -> list[Touch]:
    """What a form touches; an address operand that no table explains is in unknown space."""
    listed = {touch.operand: touch for touch in touches_of(form)}
    found = []
    for place, operand in enumerate(form.operands):
        touch = listed.get(place)
        if touch is None and isinstance(operand, MemoryOperand):
            touch = Touch(place, Space.UNKNOWN, "touch", None)
        indexed = not isinstance(operand, ConstantOperand) or (
            operand.base is not None and operand.base.register is not None
        )
        if touch is not None and indexed and touch.space not in _WITHOUT_ADDRESS:
            found.append(touch)
    return found


_touches = ByShape(_touches_of, numbers=False)


class _Maker:
    """Makes the addresses of one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.formulas: Formulas = kernel.fact("formulas")
        self.counters: Counters = kernel.fact("counters")
        self.blocks: Blocks = kernel.fact("blocks")
        self.loops: Loops = kernel.fact("loops")
        self.launch: Launch = self.formulas.launch
        self.sizes = {p.offset: p.size for p in kernel.resources.parameters}

    def make(self, index: int, touch: Touch) -> Address:
        block = int(self.blocks.of[index])
        operand = self.formulas.form(index).operands[touch.operand]
        raw = self.formulas.terms(index, touch.operand)
        if raw is None or not isinstance(operand, MemoryOperand | ConstantOperand):
            reason = f"symbol {getattr(operand, 'symbol', '')}" if raw is None else "no address"
            return self._address(touch, index, block, NO_BASE, ZERO, 0, AddressKind.OPAQUE, reason)
        whole = self.counters.seen_from(block, self.counters.resolve(raw), self._guard(index))
        whole += Polynomial.number(operand.offset)
        base, rest = self._base(whole, touch.space, operand)
        kind, reason = classify(rest)
        if touch.space is Space.UNKNOWN:
            kind, reason = AddressKind.OPAQUE, "an address operand that no table has"
        return self._address(
            touch, index, block, base, rest.without_constant, signed(rest.constant), kind, reason
        )

    def _address(
        self,
        touch: Touch,
        index: int,
        block: int,
        base: Base,
        polynomial: Polynomial,
        offset: int,
        kind: AddressKind,
        reason: str,
    ) -> Address:
        return Address(
            space=touch.space,
            base=base,
            polynomial=polynomial,
            offset=offset,
            width=touch.width,
            kind=kind,
            reason=reason,
            access=touch.access,
            instruction=index,
            operand=touch.operand,
            block=block,
            _loops=self.loops,
        )

    def _guard(self, index: int) -> list[tuple[int, bool]]:
        """What is known to hold where the instruction does something: its guard."""
        guard, value = self.formulas.form(index).guard, self.formulas.ssa.guard(index)
        if guard is None or value is None:
            return []
        return [(self.formulas.constants.copies.root(value), not guard.inverted)]

    def _base(
        self, whole: Polynomial, space: Space, operand: MemoryOperand | ConstantOperand
    ) -> tuple[Base, Polynomial]:
        """The base, and what is left without it."""
        if isinstance(operand, ConstantOperand):
            bank = operand.bank
            return (NO_BASE if bank is None else Base("constant", bank, f"c[{bank:#x}]")), whole
        if space is Space.SHARED:
            return self._shared(whole)
        if whole.coefficient(_FRAME) == Polynomial.number(1) and space in (Space.LOCAL, Space.GENERIC):
            return Base("frame", 0, "frame"), whole - Polynomial.of(_FRAME)
        if space in (Space.GLOBAL, Space.GENERIC, Space.MAP):
            return self._pointer(whole)
        return NO_BASE, whole

    def _shared(self, whole: Polynomial) -> tuple[Base, Polynomial]:
        """The block's own window: from 0 on, or behind the driver's part where there are clusters."""
        start, known = self.launch.shared_base, self.launch
        if start is None:
            return NO_BASE, whole
        if not known.cluster:
            return Base("shared", 0, "shared"), whole - Polynomial.number(start)
        window = special(known.cluster)
        if whole.coefficient(window) != Polynomial.number(1 << known.cluster_shift):
            return NO_BASE, whole
        rest = whole - Polynomial.of(window).times(1 << known.cluster_shift) - Polynomial.number(start)
        return Base("shared", 0, "shared"), rest

    def _pointer(self, whole: Polynomial) -> tuple[Base, Polynomial]:
        once = Polynomial.number(1)
        plain = [atom for atom in whole.atoms if self._may_point(atom) and whole.coefficient(atom) == once]
        hidden = [atom for atom in self._inside(whole) if self._is_pointer(atom) and atom not in plain]
        if not plain and not any(hidden):
            return self._loaded(whole)
        if len(plain) != 1 or any(hidden):
            return NO_BASE, whole
        atom = plain[0]
        if atom.kind is AtomKind.FUNCTION:
            return Base("table", 0, str(atom)), whole - Polynomial.of(atom)
        kind = "parameter" if atom.kind is AtomKind.PARAMETER else "constant"
        return Base(kind, atom.number, atom.name), whole - Polynomial.of(atom)

    def _inside(self, whole: Polynomial) -> set[Atom]:
        """What stands in functions that are added once: a choice of pointers is one of them.

        A number of 8 bytes that something is multiplied with is a size or a stride, and no pointer.
        """
        once = Polynomial.number(1)
        outer = (atom for atom in whole.atoms if atom.args and whole.coefficient(atom) == once)
        return {atom for function in outer for arg in function.args for atom in mentioned(arg)}

    def _loaded(self, whole: Polynomial) -> tuple[Base, Polynomial]:
        """A pointer that was loaded: the only loaded value that is added once, and 8 bytes wide."""
        once = Polynomial.number(1)
        found = [a for a in whole.atoms if a.kind is AtomKind.LOAD and whole.coefficient(a) == once]
        if len(found) != 1 or self.formulas.ssa.unit[found[0].number] != 0:
            return NO_BASE, whole
        form = self.formulas.form(self.formulas.ssa.instruction[found[0].number])
        if bytes_of(form) != _POINTER:
            return NO_BASE, whole
        return Base("loaded", found[0].number, str(found[0])), whole - Polynomial.of(found[0])

    def _may_point(self, atom: Atom) -> bool:
        """True for the low word of what can be a pointer: 8 bytes, or a part of a structure."""
        if atom.kind is AtomKind.CONSTANT:
            return atom.number % _POINTER == 0 and atom.number >> BANK_SHIFT not in self.launch.literal_banks
        if atom.kind is AtomKind.FUNCTION:
            return atom.name == _POINTER_OF_TABLE
        if atom.kind is not AtomKind.PARAMETER or atom.number % _POINTER:
            return False
        return not self.sizes or self.sizes.get(atom.number, _POINTER) >= _POINTER

    def _is_pointer(self, atom: Atom) -> bool:
        """True where an atom inside of a function may be what the address counts from."""
        return atom.kind is AtomKind.PARAMETER and self.sizes.get(atom.number) == _POINTER


def classify(polynomial: Polynomial) -> tuple[AddressKind, str]:
    """How much is known of a polynomial, and for the worst kind the reason."""
    kind, reason = AddressKind.PURE, ""
    for atom in polynomial.atoms:
        if atom.opaque and not atom.data:
            return AddressKind.OPAQUE, atom.reason or atom.kind.value
        if atom.data:
            kind = AddressKind.DATA
        elif atom.kind is AtomKind.FUNCTION and kind is AddressKind.PURE:
            kind = AddressKind.STRUCTURAL
    return kind, reason
