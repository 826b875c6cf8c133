"""Spill slots: 32-bit words at fixed places of a function's stack frame.

``STL [R1+0x10], R5`` and ``LDL R7, [R1+0x10]`` name the same word where R1 has one value. A
slot is exact as long as nobody else can have its address: where the frame's base is used
for anything but such accesses (an array on the stack), every store through another
address, every generic store and every call may write every slot. A callee is trusted to leave its
caller's frame alone otherwise, as the calling convention wants it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from sassql.facts.accesses import HIDDEN, NOTHING, Access, make_access
from sassql.facts.blocks import Blocks
from sassql.facts.clobbers import STACK_POINTER
from sassql.facts.forms import ByShape, Forms
from sassql.facts.values import SSA
from sassql.isa.local import LocalAccess, LocalKind, local_access
from sassql.model.form import Form
from sassql.model.kernel import Kernel
from sassql.model.operands import MemoryOperand, Operand
from sassql.model.register import Register, register

_kind = ByShape(local_access, numbers=False)
WORD = 4
FILE = "L"


@dataclass(frozen=True, slots=True)
class _Local:
    """One instruction that touches local memory.

    ``base`` is the value of its only address register, -1 if it has several or none;
    ``value`` is the index of the operand that is loaded or stored.
    """

    index: int
    access: LocalAccess
    base: int
    offset: int
    words: int
    value: int
    guarded: bool


@dataclass(frozen=True, slots=True)
class SpillSlots:
    """Accesses to slots by instruction, as register accesses: ``registers`` are the slots, by number."""

    registers: tuple[Register, ...] = ()
    of: dict[int, Access] = field(default_factory=dict)
    clobbers: dict[int, int] = field(default_factory=dict)


def spill_slots(kernel: Kernel, ssa: SSA) -> SpillSlots:
    """The slots of every function of a kernel whose accesses share one base value."""
    found = list(_local_accesses(kernel, ssa))
    if all(local.access.kind is LocalKind.ALIAS for local in found):
        return SpillSlots()
    blocks: Blocks = kernel.fact("blocks")
    by_function: dict[int, list[_Local]] = {}
    for local in found:
        by_function.setdefault(blocks.function_of(local.index), []).append(local)
    exact: dict[int, _Local] = {}
    for here in by_function.values():
        base = _base(ssa, here)
        exact.update({local.index: local for local in here if local.base == base >= 0})
    offsets = sorted({offset for local in exact.values() for offset in _words(local)})
    number = {offset: i for i, offset in enumerate(offsets)}
    return SpillSlots(
        registers=tuple(register(FILE, offset) for offset in offsets),
        of={index: _slot_access(local, number) for index, local in exact.items()},
        clobbers=dict.fromkeys(_clobbering(kernel, ssa, found, set(exact)), (1 << len(offsets)) - 1),
    )


def _clobbering(kernel: Kernel, ssa: SSA, found: list[_Local], exact: set[int]) -> list[int]:
    """Instructions that may write any slot: other stores and calls, where the frame's address is known."""
    blocks: Blocks = kernel.fact("blocks")
    escaped = _escaped(kernel, ssa, exact)
    others = [o.index for o in found if o.index not in exact and o.access.kind is not LocalKind.LOAD]
    others += [call.index for call in blocks.calls]
    return [index for index in others if blocks.function_of(index) in escaped]


def _local_accesses(kernel: Kernel, ssa: SSA) -> Iterator[_Local]:
    forms: Forms = kernel.fact("forms")
    for index in forms.places(_kind):
        form, kind = forms.of[index], _kind(forms.of[index])
        access = ssa.accesses[index]
        if kind is None or not (access.uses or access.defs):  # @!PT
            continue
        yield _local(index, form, kind, ssa)


def _local(index: int, form: Form, access: LocalAccess, ssa: SSA) -> _Local:
    place, address = next((i, o) for i, o in enumerate(form.operands) if isinstance(o, MemoryOperand))
    base, offset = -1, 0
    plain = len(address.terms) == 1 and address.descriptor is None and address.terms[0].scale == 1
    uses = ssa.address_uses(index, place)
    if plain and len(uses) == 1:
        base, offset = uses[0], address.offset
    value, operand = next((i, o) for i, o in enumerate(form.operands) if o is not address)
    return _Local(index, access, base, offset, _width(operand), value, form.guard is not None)


def _width(operand: Operand) -> int:
    return operand.width or 1


def _base(ssa: SSA, found: list[_Local]) -> int:
    """The value that most accesses of a function count from, if it is held by the stack pointer; else -1."""
    counts = Counter(local.base for local in found if local.base >= 0)
    for value, _ in counts.most_common():
        if ssa.register[value] == register("R", STACK_POINTER):
            return value
    return -1


def _words(local: _Local) -> range:
    """Offsets of the words that an access touches, in part or in full."""
    start = local.offset // WORD * WORD
    return range(start, local.offset + (WORD * local.words if local.access.whole else 1), WORD)


def _slot_access(local: _Local, number: dict[int, int]) -> Access:
    """The access as reads or writes of slots; a word that is written in part has no operand."""
    words = tuple(number[offset] for offset in _words(local))
    exact = local.access.whole and local.offset % WORD == 0
    keys = tuple((local.value if exact else HIDDEN, unit) for unit in range(len(words)))
    if local.access.kind is LocalKind.STORE:
        return make_access((), (), words, keys, local.guarded)
    return make_access(words, keys, (), (), False) if exact else NOTHING


def _escaped(kernel: Kernel, ssa: SSA, exact: set[int]) -> set[int]:
    """Functions in which the stack pointer is used for more than slots and its own adjustment."""
    blocks: Blocks = kernel.fact("blocks")
    pointer = register("R", STACK_POINTER)
    found = set()
    for index, access in enumerate(ssa.accesses):
        if STACK_POINTER in access.uses and index not in exact:
            adjusts = access.defs == (STACK_POINTER,) and not ssa.merges(ssa.first[index])
            if not adjusts:
                found.add(blocks.function_of(index))
    for merged, held in enumerate(ssa.register):
        if held == pointer and ssa.inputs[merged]:
            found.add(blocks.function[ssa.block[merged]])
    return found
