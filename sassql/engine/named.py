"""Instructions and values of a kernel in words: for explanations."""

from __future__ import annotations

from collections.abc import Iterator

from sassql.engine.bindings import Bindings, Occurrences
from sassql.engine.values import Unit, Units
from sassql.engine.view import View
from sassql.facts.copies import Copies
from sassql.facts.values import SSA, ValueKind

MOST_SEEN = 3
"""Instructions that one explanation names."""


class Named:
    """Words for what is in a view."""

    def __init__(self, view: View) -> None:
        self.view = view

    def instruction(self, index: int) -> str:
        """``0x01c0 SHFL.BFLY PT, R3, R0, 0x10, 0x1f``."""
        ins = self.view.kernel.instructions[index]
        return f"{ins.address:#06x} {ins.text}"

    def labels(self, found: Bindings, before: Bindings) -> str:
        """The instructions that ``found`` adds to ``before``."""
        new = {m.index for name, m_ in found.labels.items() if name not in before.labels for m in m_}
        return (
            "; ".join(self.instruction(index) for index in sorted(new)[:MOST_SEEN]) or "without instructions"
        )

    def place(self, label: str, bindings: Bindings) -> str:
        found = bindings.labels.get(label, ())
        places = ", ".join(f"{self.view.kernel.instructions[m.index].address:#06x}" for m in found)
        return f"`{written(label)}` ({places})" if places else f"`{written(label)}`"

    def value(self, occurrences: Occurrences) -> str:
        """Where a value is made: ``what SHFL makes at 0x01c0``."""
        return self._units(occurrences[-1]) if occurrences else ""

    def _units(self, units: Units) -> str:
        return self.unit(units[0]) if units else "nothing"

    def unit(self, unit: Unit) -> str:
        """One 32-bit value in words."""
        if not isinstance(unit, int):
            return " ".join(map(str, unit))
        ssa: SSA = self.view.kernel.fact("ssa")
        register, index = ssa.register[unit], ssa.instruction[unit]
        address = self.view.kernel.addresses
        match ssa.kind[unit]:
            case ValueKind.ENTRY:
                return f"{register} at the function's entry"
            case ValueKind.PHI:
                start = int(self.view.ways.blocks.start[ssa.block[unit]])
                return f"{register} as block {int(address[start]):#x} finds it"
            case ValueKind.PSI:
                opcode = self.view.form(index).opcode
                return f"{register} behind the guarded {opcode} at {int(address[index]):#06x}"
            case ValueKind.CALL:
                return f"what the call at {int(address[index]):#06x} leaves in {register}"
        return f"what {self.view.form(index).opcode} makes at {int(address[index]):#06x}"

    def readers(self, unit: Unit) -> Iterator[int]:
        """Instructions that read a value or a copy of it."""
        if not isinstance(unit, int):
            return
        ssa: SSA = self.view.kernel.fact("ssa")
        copies: Copies = self.view.kernel.fact("copies")
        for value in range(len(ssa)):
            if copies.root(value) == unit:
                yield from (index for index, _, _ in ssa.users(value))


def written(key: str) -> str:
    """A key of the engine as the pattern writes it: without the scope that the engine adds."""
    return key.split("@", maxsplit=1)[0].split(" ", maxsplit=1)[0]
