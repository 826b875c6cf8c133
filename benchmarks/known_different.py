"""Where sassql and nvdisasm's life ranges are known to differ, rule by rule; reasons in `docs/accuracy.md`."""

from __future__ import annotations

from life_ranges import Marks, Registers

from sassql.model.instruction import Instruction


def rule(ins: Instruction, marks: Marks, layout: str) -> str:
    """Name of the rule that explains the difference at an instruction, or an empty string."""
    defs, uses = marks.at[ins.address]
    mine = frozenset(map(str, ins.defs)), frozenset(map(str, ins.uses))
    if all(_beyond(name) for name in (mine[0] ^ defs) | (mine[1] ^ uses)):
        return "uniform-from-63"
    return ""


def _beyond(name: str) -> bool:
    return name.startswith("UR") and int(name[2:]) >= 63


def called(ins: Instruction, written: int, columns: Registers) -> tuple[Registers, Registers]:
    """Registers that nvdisasm marks at a call."""
    return frozenset(map(str, ins.defs)), frozenset(map(str, ins.uses))
