"""Fact "origins": where everything an instruction reads comes from, for people who read a listing.

    FADD R5, R2, R4     R2 <- 0x0310    R4 <- phi(0x01c0, 0x0250)
    LDG.E R4, [R2.64]   R2:R3 <- 0x0150 = param0 + 4*tid.x

An origin names the instructions that may have defined what is read, through φ and ψ, and says
what the value is where it is a number or a short sum of thread numbers, parameters and loop counters.
A ψ whose predicate is decided where it is read counts as the one of the two that is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sassql.facts.blocks import Blocks
from sassql.facts.constants import Constants
from sassql.facts.control import Control
from sassql.facts.counters import Counters
from sassql.facts.dataflow import Sources
from sassql.facts.polynomials import AtomKind, Polynomial, constant_word, mentioned
from sassql.facts.values import SSA, ValueKind
from sassql.isa.compares import NEGATED, compare_of
from sassql.isa.constant_reads import place_of
from sassql.model.kernel import Kernel, provides
from sassql.model.operands import ConstantOperand
from sassql.model.register import Register

__all__ = ["Origin", "Origins"]

MOST_LETTERS = 40
"""A longer sum is left out: the instructions that make it are easier to read."""
_MOST_TERMS = 8
_DEEPEST = 4
_ENDS = (ValueKind.DEF, ValueKind.CALL, ValueKind.ENTRY)
_PREDICATES = ("P", "UP")


@dataclass(frozen=True, slots=True)
class Origin:
    """What one operand, or a run of its registers with one definition, reads.

    ``registers`` are the registers read, ``text`` says them (``R4:R5``), or the constant bank's
    word. ``kind`` is ``def``, ``phi``, ``psi``, ``entry``, ``call`` (what a call may have left there) or
    ``constant``. ``addresses`` are those of the instructions that may have written it, bytes in the
    section; ``entry`` is true where it may also be what the function found when it began.
    ``value`` is the number or the sum that the lowest register holds, or the comparison that a predicate
    is; empty where nothing short is known.
    """

    operand: int
    registers: tuple[Register, ...]
    text: str
    kind: str
    addresses: tuple[int, ...] = ()
    entry: bool = False
    value: str = ""

    def as_record(self) -> dict[str, object]:
        """The origin as plain values."""
        return {
            "operand": self.operand,
            "reads": self.text,
            "kind": self.kind,
            "from": [f"{a:#x}" for a in self.addresses],
            "entry": self.entry,
            "value": self.value or None,
        }


@dataclass(slots=True, eq=False)
class Origins:
    """Origins of a kernel's reads and conditions of its blocks, made when asked for."""

    kernel: Kernel
    ssa: SSA
    constants: Constants
    counters: Counters
    control: Control
    blocks: Blocks
    _sources: Sources
    _addresses: list[int]
    _texts: dict[tuple[int, int], str] = field(default_factory=dict)

    def of(self, index: int) -> tuple[Origin, ...]:
        """The origins of everything that instruction ``index`` reads: the guard first, then by operand."""
        found: dict[Origin, None] = {}
        holds = self._holds(index)
        uses = sorted(
            (operand, unit, self._under(value, holds)) for operand, unit, value in self.ssa.uses_of(index)
        )
        run: list[tuple[int, int]] = []
        for operand, _, value in uses:
            if run and not self._goes_on(run, operand, value):
                found[self._origin(index, run)] = None
                run = []
            run.append((operand, value))
        if run:
            found[self._origin(index, run)] = None
        form = self.kernel.forms[self.kernel.rows[index]]
        for place, read in enumerate(form.operands):
            if isinstance(read, ConstantOperand) and (at := place_of(read)) is not None:
                found[Origin(place, (), read.text, "constant", value=self._place(*at))] = None
        return tuple(found)

    def where(self, block: int) -> tuple[str, ...]:
        """What is decided by the branches above a block, in words: ``tid.x < param2``, ``!P3 (0x510)``."""
        known = self.control.known(block)
        return tuple(self._condition(root, holds, block) for root, holds in known.items())

    def _holds(self, index: int) -> Mapping[int, bool]:
        """What is decided where an instruction takes effect: by branches, and by its own guard."""
        known = self.control.known(int(self.blocks.of[index]))
        guard, value = self.kernel.forms[self.kernel.rows[index]].guard, self.ssa.guard(index)
        if guard is None or value is None:
            return known
        return {**known, self.constants.copies.root(value): not guard.inverted}

    def _under(self, value: int, holds: Mapping[int, bool]) -> int:
        """The value that a ψ is where the predicates are decided like this: often its new or its old one."""
        while self.ssa.kind[value] is ValueKind.PSI:
            index = self.ssa.instruction[value]
            guard, predicate = self.kernel.forms[self.kernel.rows[index]].guard, self.ssa.guard(index)
            if guard is None or predicate is None:
                break
            known = holds.get(self.constants.copies.root(predicate))
            if known is None:
                break
            value = self.ssa.inputs[value][0 if known != guard.inverted else 1]
        return value

    def _goes_on(self, run: list[tuple[int, int]], operand: int, value: int) -> bool:
        """True where a register continues the run: the next one of the operand, from the same definitions."""
        last_operand, last = run[-1]
        ssa = self.ssa
        one, two = ssa.register[last], ssa.register[value]
        return (
            operand == last_operand
            and (one.file, one.index + 1) == (two.file, two.index)
            and ssa.kind[last] is ssa.kind[value]
            and self._definers(last) == self._definers(value)
        )

    def _definers(self, value: int) -> tuple[tuple[int, ...], bool]:
        """Who may have defined a value, of a ψ the newest first; and whether it may be older."""
        ssa = self.ssa
        parts = ssa.inputs[value] if ssa.kind[value] is ValueKind.PSI else (value,)
        ends = dict.fromkeys(end for part in parts for end in self._sources.of(part))
        entry = any(ssa.kind[end] is ValueKind.ENTRY for end in ends)
        made = (ssa.instruction[end] for end in ends if ssa.kind[end] is not ValueKind.ENTRY)
        return tuple(dict.fromkeys(self._addresses[i] for i in made)), entry

    def _origin(self, index: int, run: list[tuple[int, int]]) -> Origin:
        operand, value = run[0]
        registers = tuple(self.ssa.register[v] for _, v in run)
        addresses, entry = self._definers(value)
        kind = self.ssa.kind[value].value
        text = f"{registers[0]}:{registers[-1]}" if len(registers) > 1 else str(registers[0])
        return Origin(operand, registers, text, kind, addresses, entry, self._value(value, index))

    def _value(self, value: int, index: int) -> str:
        block = int(self.blocks.of[index])
        if self.ssa.register[value].file not in _PREDICATES:
            key = self.constants.copies.root(value), block
            if key not in self._texts:
                self._texts[key] = _short(self.counters.of(value, block))
            return self._texts[key]
        number = self.constants[value]
        if number is not None:
            return ("false", "true")[number & 1]
        return self._comparison(self.constants.copies.root(value), True, block)

    def _condition(self, root: int, holds: bool, block: int) -> str:
        """A predicate that is known to hold, or not, as a comparison where it is one of integers."""
        index = self.ssa.instruction[root]
        name = f"{'' if holds else '!'}{self.ssa.register[root]}"
        plain = name if index < 0 else f"{name} ({self._addresses[index]:#06x})"
        return self._comparison(root, holds, block) or plain

    def _comparison(self, root: int, holds: bool, block: int) -> str:
        """``tid.x < param2``; empty for anything but a comparison of short sums."""
        ssa, index = self.ssa, self.ssa.instruction[root]
        if index < 0 or ssa.kind[root] is not ValueKind.DEF:
            return ""
        compare = compare_of(self.kernel.forms[self.kernel.rows[index]], ssa.operand[root])
        if compare is None or not compare.alone or compare.wide:
            return ""
        sides = [self._side(index, place, block) for place in (compare.left, compare.right)]
        operator = compare.operator if holds else NEGATED[compare.operator]
        return f"{sides[0]} {operator} {sides[1]}" if all(sides) else ""

    def _side(self, index: int, operand: int, block: int) -> str:
        found = self.counters.formulas.operand(index, operand)
        return "" if found is None else _short(self.counters.seen_from(block, self.counters.resolve(found)))

    def _place(self, bank: int, offset: int) -> str:
        """A parameter's name for a word of its constant bank; empty for any other word."""
        formulas = self.counters.formulas
        word = constant_word(bank, offset)
        found = next((a for a in formulas.constant(bank, offset).atoms), word)
        return found.name if found != word else ""


def _short(found: Polynomial) -> str:
    """A sum that says something: no unknown in it, no loaded value, and not too long."""
    if len(found.terms) > _MOST_TERMS or any(atom.depth > _DEEPEST for atom in found.atoms):
        return ""  # it would be too long: not worth writing out
    if any(atom.opaque or atom.data or atom.kind is AtomKind.MERGE for atom in mentioned(found)):
        return ""
    text = str(found)
    return text if len(text) <= MOST_LETTERS and "#" not in text else ""  # `#` numbers a value or a bank


@provides("origins")
def origins(kernel: Kernel) -> Origins:
    """Makes the origins of a kernel's reads."""
    ssa: SSA = kernel.fact("ssa")
    counters: Counters = kernel.fact("counters")
    return Origins(
        kernel,
        ssa,
        kernel.fact("constants"),
        counters,
        kernel.fact("control"),
        kernel.fact("blocks"),
        Sources(ssa, _ENDS),
        kernel.addresses.tolist(),
    )
