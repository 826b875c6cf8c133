"""Fact "accesses": the registers that each instruction reads and writes, as numbers, with their operands.

Computed once per form and shared by all its instructions. A register's number is its
bit in the masks; :func:`register_of` gives the register back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sassql.isa.registers import clobbered_by_calls
from sassql.model.form import Form, RegisterSlot, Shape
from sassql.model.kernel import Kernel, provides
from sassql.model.register import Register, register

Key = tuple[int, int]
"""(operand, unit): the operand's index, and which of its 32-bit registers, 0 for the lowest.

The units of an address operand count the registers of its descriptor first, then those of
its terms in order. Operand -1 stands for what no operand names: unit 0 is the guard,
units from 1 on are hidden registers.
"""

HIDDEN = -1
_FILES = {"R": (0, 256), "UR": (256, 256), "P": (512, 8), "UP": (520, 8)}
"""First number and count by register file. Barrier registers have none."""
REGISTERS: list[Register] = [register(file, i) for file, (_, count) in _FILES.items() for i in range(count)]


def number_of(found: Register) -> int:
    """The number of a register of file R, UR, P or UP."""
    return _FILES[found.file][0] + found.index


def register_of(number: int) -> Register:
    """The register with this number."""
    return REGISTERS[number]


def mask_of(numbers: tuple[int, ...]) -> int:
    """A bit for each number."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


EVERYTHING = (1 << len(REGISTERS)) - 1
"""A bit for each register of all files."""
PREDICATES = sum(((1 << _FILES[file][1]) - 1) << _FILES[file][0] for file in ("P", "UP"))
"""A bit for each predicate of both files."""


def mask_from(file: str, index: int | None) -> int:
    """A bit for each register that an operand of unknown width may span: ``index`` and those above it.

    A predicate spans itself. Nothing for RZ, PT and barrier registers.
    """
    if file not in _FILES or index is None:
        return 0
    start, count = _FILES[file]
    width = 1 if file in ("P", "UP") else count - index
    return ((1 << width) - 1) << start + index


CLOBBERED_BY_CALLS = mask_of(tuple(number_of(r) for r in clobbered_by_calls()))


@dataclass(slots=True, eq=False)
class Access:
    """What one form reads and writes. ``guarded``: the writes may not happen."""

    uses: tuple[int, ...]
    use_keys: tuple[Key, ...]
    defs: tuple[int, ...]
    def_keys: tuple[Key, ...]
    guarded: bool
    use_mask: int
    def_mask: int


NOTHING = Access((), (), (), (), False, 0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Accesses:
    """``of`` has the accesses of each instruction; ``@!PT`` ones have none.

    ``incomplete`` are the numbers of instructions whose opcode or operands the tables do
    not know: they may read and write more than is said here.
    """

    of: list[Access]
    incomplete: tuple[int, ...]


@dataclass(slots=True, eq=False)
class _Piece:
    """Some registers of a shape: number ``position`` of the statement, counted from ``base``."""

    base: int
    position: int
    width: int
    operand: int
    unit: int
    slot: RegisterSlot


@dataclass(slots=True, eq=False)
class _Layout:
    """What all forms of a shape share."""

    uses: list[_Piece]
    defs: list[_Piece]
    use_keys: tuple[Key, ...]
    def_keys: tuple[Key, ...]
    guarded: bool
    masked: bool


_layouts: dict[str, _Layout] = {}


def access_of(form: Form) -> Access:
    """The accesses of one form."""
    shape = form.shape
    if shape.guard is not None and shape.guard.never:
        return NOTHING
    layout = _layouts.get(shape.text)
    if layout is None:
        layout = _layouts[shape.text] = _layout_of(shape)
    numbers = form.numbers
    uses, use_keys = _spread(layout.uses, numbers), layout.use_keys
    defs, def_keys = _spread(layout.defs, numbers), layout.def_keys
    if layout.masked:
        defs, def_keys = _masked(layout.defs, numbers)
    if form.hidden:
        uses += [number_of(r) for r in form.hidden]
        use_keys += tuple((HIDDEN, i + 1) for i in range(len(form.hidden)))
    group = shape.group
    if group is not None:
        more = [number_of(r) for r in form.group]
        keys = tuple((group.operand, r.index) for r in form.group)
        if group.defines:
            defs, def_keys = defs + more, def_keys + keys
        else:
            uses, use_keys = uses + more, use_keys + keys
    return make_access(tuple(uses), use_keys, tuple(defs), def_keys, layout.guarded)


def make_access(
    uses: tuple[int, ...],
    use_keys: tuple[Key, ...],
    defs: tuple[int, ...],
    def_keys: tuple[Key, ...],
    guarded: bool,
) -> Access:
    """An access with its masks."""
    return Access(uses, use_keys, defs, def_keys, guarded, mask_of(uses), mask_of(defs))


def _spread(pieces: list[_Piece], numbers: tuple[str, ...]) -> list[int]:
    found: list[int] = []
    for piece in pieces:
        start = piece.base + int(numbers[piece.position])
        if piece.width == 1:
            found.append(start)
        else:
            found.extend(range(start, start + piece.width))
    return found


def _masked(pieces: list[_Piece], numbers: tuple[str, ...]) -> tuple[list[int], tuple[Key, ...]]:
    """The same where a number of the statement says how many registers are written."""
    found: list[int] = []
    keys: list[Key] = []
    for piece in pieces:
        start, count = piece.base + int(numbers[piece.position]), piece.slot.written(numbers)
        found += range(start, start + count)
        keys += [(piece.operand, piece.unit + i) for i in range(count)]
    return found, tuple(keys)


def _layout_of(shape: Shape) -> _Layout:
    next_unit: dict[int, int] = {}
    uses: list[_Piece] = []
    defs: list[_Piece] = []
    for slot in shape.slots:
        base = _FILES[slot.file][0]
        operand, width = slot.operand, slot.width or 1
        unit = next_unit.get(operand, 0)
        next_unit[operand] = unit + width
        piece = _Piece(base, slot.position, width, operand, unit, slot)
        if slot.uses:
            uses.append(piece)
        if slot.defines:
            defs.append(piece)
    return _Layout(
        uses=uses,
        defs=defs,
        use_keys=_keys(uses),
        def_keys=_keys(defs),
        guarded=shape.guard is not None and shape.guard_position >= 0,
        masked=any(piece.slot.count is not None for piece in defs),
    )


def _keys(pieces: list[_Piece]) -> tuple[Key, ...]:
    return tuple((piece.operand, piece.unit + i) for piece in pieces for i in range(piece.width))


@provides("accesses")
def accesses(kernel: Kernel) -> Accesses:
    """The accesses of every instruction of a kernel."""
    if not len(kernel.form_ids):
        return Accesses([], ())
    unique, inverse = np.unique(kernel.form_ids, return_inverse=True)
    forms = [kernel.forms[row] for row in unique.tolist()]
    found = [access_of(form) for form in forms]
    unknown = np.array([not form.shape.known for form in forms], bool)[inverse]
    return Accesses([found[i] for i in inverse.tolist()], tuple(np.flatnonzero(unknown).tolist()))
