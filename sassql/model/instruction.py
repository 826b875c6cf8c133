"""One instruction of a kernel: a light view on the kernel's arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sassql.model.form import TARGET_HOLE, Form, Guard
from sassql.model.operands import LabelOperand, Operand
from sassql.model.register import Register

if TYPE_CHECKING:
    from sassql.model.kernel import Kernel, SourceLine

NO_BARRIER = 7


@dataclass(frozen=True, slots=True)
class Control:
    """Scheduling bits 105-125 of an instruction word, as ptxas set them.

    ``stall`` cycles to wait before the next instruction of the warp; ``may_yield`` lets the
    scheduler switch warps (the bit is 0 then); ``write_barrier`` and ``read_barrier`` are
    scoreboards 0-5 that the instruction sets when its result is written or its sources are
    read; ``wait_mask`` has a bit for each scoreboard waited for.
    """

    stall: int
    may_yield: bool
    write_barrier: int | None
    read_barrier: int | None
    wait_mask: int
    reuse: int

    @classmethod
    def decode(cls, bits: int) -> Control:
        """Decode bits 105-125 of the word, shifted down to bit 0."""
        write, read = bits >> 5 & 7, bits >> 8 & 7
        return cls(
            stall=bits & 15,
            may_yield=not bits >> 4 & 1,
            write_barrier=None if write == NO_BARRIER else write,
            read_barrier=None if read == NO_BARRIER else read,
            wait_mask=bits >> 11 & 63,
            reuse=bits >> 17 & 15,
        )


class Instruction:
    """Instruction ``index`` of a kernel; equal instructions share their decoded :class:`Form`.

    >>> ins.address, ins.text                       # doctest: +SKIP
    (384, '@!P0 FADD R5, R2, -R3')
    """

    __slots__ = ("index", "kernel")

    def __init__(self, kernel: Kernel, index: int) -> None:
        self.kernel = kernel
        self.index = index

    @property
    def form(self) -> Form:
        return self.kernel.forms[self.kernel.rows[self.index]]

    @property
    def address(self) -> int:
        """Offset in the kernel's code section, bytes."""
        return int(self.kernel.addresses[self.index])

    @property
    def text(self) -> str:
        """Nvdisasm's statement; a label is written as the offset it names, `` `(0x680) ``."""
        text = self.form.text
        return text.replace(TARGET_HOLE, self._label()) if TARGET_HOLE in text else text

    @property
    def opcode(self) -> str:
        return self.form.shape.opcode

    @property
    def modifiers(self) -> tuple[str, ...]:
        return self.form.shape.modifiers

    @property
    def guard(self) -> Guard | None:
        return self.form.guard

    @property
    def operands(self) -> tuple[Operand, ...]:
        form = self.form
        place = form.shape.target_operand
        if place < 0:
            return form.operands
        label = form.operands[place]
        here = LabelOperand(
            text=self._label(),
            role=label.role,
            access=label.access,
            target=self.target,
            symbol=self.kernel.symbols.get(self.index, ""),
        )
        return (*form.operands[:place], here, *form.operands[place + 1 :])

    @property
    def defs(self) -> frozenset[Register]:
        return self.form.defs

    @property
    def uses(self) -> frozenset[Register]:
        return self.form.uses

    @property
    def known(self) -> bool:
        """False where the tables lack this opcode or operand form: registers are incomplete."""
        return self.form.shape.known

    @property
    def target(self) -> int | None:
        """Offset that a branch, call or reconvergence operand names, if it lies in this section."""
        target = int(self.kernel.targets[self.index])
        return None if target < 0 else target

    @property
    def control(self) -> Control | None:
        """Scheduling bits, or None where the source (a listing without encodings) has none."""
        if self.kernel.control is None:
            return None
        return Control.decode(int(self.kernel.control[self.index]))

    @property
    def source_line(self) -> SourceLine | None:
        """Where in the source it came from; None where the binary has no line table (``-lineinfo``)."""
        lines = self.kernel.lines
        return None if lines is None else lines.at(self.kernel.name, self.address)

    @property
    def function(self) -> str:
        """The entry or local function that the instruction lies in."""
        return self.kernel.function_at(self.address)

    def _label(self) -> str:
        target = self.target
        return f"`({self.kernel.symbols.get(self.index, '')})" if target is None else f"`({target:#x})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instruction) and (self.kernel, self.index) == (other.kernel, other.index)

    def __hash__(self) -> int:
        return hash((id(self.kernel), self.index))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Instruction {self.address:#06x} {self.text}>"
