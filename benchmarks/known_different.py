"""Where `nvdisasm --print-life-ranges` is known to mark something else than sassql says, rule by rule.

Each rule has a name, counts what it explains, and is stated with its reason in `docs/accuracy.md`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from life_ranges import Marks, Registers

from sassql.isa.registers import clobbered_by_calls
from sassql.model.instruction import Instruction
from sassql.model.kernel import Kernel
from sassql.model.operands import RegisterOperand

FIRST_HIDDEN_UNIFORM = 63
CALL_READS = frozenset({"R0", "R1"})
_TEXTURE = frozenset({"TEX", "TLD", "TLD4", "TXD", "TXQ"})
_TEXTURE_ROLES = frozenset({"e", "b", "handle"})

Difference = tuple[Registers, Registers]
"""What only sassql says, and what only nvdisasm marks; definitions and uses together."""


def rule(ins: Instruction, marks: Marks) -> str:
    """Name of the rule that explains the difference at an instruction, or an empty string."""
    mine = frozenset(map(str, ins.defs | ins.uses))
    theirs = marks.at[ins.address][0] | marks.at[ins.address][1]
    difference = mine - theirs, theirs - mine
    return next((name for name, explains in RULES.items() if explains(ins, difference)), "")


def _uniform_from_63(_: Instruction, difference: Difference) -> bool:
    """The table of uniform registers ends at UR62, where Blackwell has more."""
    only_mine, only_theirs = difference
    return not only_theirs and all(_beyond_the_table(name) for name in only_mine)


def _texture_pairs(ins: Instruction, difference: Difference) -> bool:
    """From sm_100 on only the first register of these operands is marked."""
    only_mine, only_theirs = difference
    if only_theirs or ins.opcode not in _TEXTURE or _sm(ins.kernel) < 100:
        return False
    operands = [o for o in ins.operands if isinstance(o, RegisterOperand) and o.role in _TEXTURE_ROLES]
    return only_mine <= {str(r) for operand in operands for r in operand.registers[1:]}


def _ur2_of_sm_87(ins: Instruction, difference: Difference) -> bool:
    """Code that ptxas 12 puts before a kernel on sm_87 tests and sets UR2: never marked there."""
    return difference == ({"UR2"}, set()) and _sm(ins.kernel) == 87 and ins.opcode in ("ISETP", "UMOV")


RULES: dict[str, Callable[[Instruction, Difference], bool]] = {
    "uniform-from-63": _uniform_from_63,
    "texture-pairs": _texture_pairs,
    "ur2-of-sm_87": _ur2_of_sm_87,
}


def marked_at_call(ins: Instruction, marks: Marks) -> tuple[Registers, Registers]:
    """Definitions and uses that nvdisasm marks at a call, whatever it calls.

    It writes the registers that the calling convention does not preserve (`abi.tsv`), as far as the
    kernel has them and the table shows them, and reads R0, R1, its guard and its own operand.
    """
    limit = ins.kernel.resources.registers or 255
    written = {str(r) for r in clobbered_by_calls() if r.file != "R" or r.index < limit}
    return written & marks.columns, CALL_READS | frozenset(map(str, ins.uses))


def _beyond_the_table(name: str) -> bool:
    return name.startswith("UR") and int(name[2:]) >= FIRST_HIDDEN_UNIFORM


def _sm(kernel: Kernel) -> int:
    return int(re.sub(r"\D", "", kernel.arch) or 0)
