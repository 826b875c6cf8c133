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
FIRST_BLACKWELL = 100
PROLOGUE_OF_SM_87 = 0x14
"""Instructions before a kernel: the last one is UMOV UR2, 0x1."""
CALL_READS = frozenset({"R0", "R1"})
_TEXTURE = frozenset({"TEX", "TLD", "TLD4", "TXD", "TXQ"})
_TEXTURE_ROLES = frozenset({"e", "b", "handle"})

Unmarked = tuple[Registers, Registers]
"""Definitions and uses that sassql says and nvdisasm does not mark."""


def rule(ins: Instruction, marks: Marks) -> str:
    """Name of the rule that explains the difference at an instruction, or an empty string.

    No rule explains a register that nvdisasm marks and sassql does not say.
    """
    mine = frozenset(map(str, ins.defs)), frozenset(map(str, ins.uses))
    defs, uses = marks.at[ins.address]
    if mine == (defs, uses) or defs - mine[0] or uses - mine[1]:
        return ""
    unmarked = mine[0] - defs, mine[1] - uses
    return next((name for name, explains in RULES.items() if explains(ins, unmarked)), "")


def reason(name: str) -> str:
    """Why nvdisasm marks something else, in one sentence."""
    return (RULES[name].__doc__ or "").partition("\n")[0]


def _predicates_by_mask(ins: Instruction, unmarked: Unmarked) -> bool:
    """The text has PR or UPR and a mask, and nvdisasm marks no predicate for it; all the rest is compared."""
    group = frozenset(map(str, ins.form.group))
    defines = ins.form.shape.group is not None and ins.form.shape.group.defines
    expected: Unmarked = (group, frozenset()) if defines else (frozenset(), group)
    already = _guard_of(ins)  # marked as a use all the same
    return bool(group) and unmarked[0] == expected[0] and unmarked[1] == expected[1] - already


def _uniform_from_63(ins: Instruction, unmarked: Unmarked) -> bool:
    """The table of nvdisasm has uniform registers up to UR62 only, and Blackwell has more."""
    rest = (unmarked[0] | unmarked[1]) - frozenset(map(str, ins.form.group))
    return _sm(ins.kernel) >= FIRST_BLACKWELL and bool(rest) and all(map(_beyond_the_table, rest))


def _texture_pairs(ins: Instruction, unmarked: Unmarked) -> bool:
    """From sm_100 on nvdisasm marks only the first register of some texture operands, on sm_75 to sm_90 all."""
    if ins.opcode not in _TEXTURE or _sm(ins.kernel) < FIRST_BLACKWELL:
        return False
    operands = [o for o in ins.operands if isinstance(o, RegisterOperand) and o.role in _TEXTURE_ROLES]
    return all(
        names <= {str(r) for o in operands if getattr(o.access, kind) for r in o.registers[1:]}
        for names, kind in zip(unmarked, ("defines", "uses"), strict=True)
    )


def _ur2_of_sm_87(ins: Instruction, unmarked: Unmarked) -> bool:
    """The code that clears the barrier registers before a kernel of sm_87 tests and sets UR2, never marked."""
    only = unmarked[0] | unmarked[1] == {"UR2"}
    inside = ins.index < PROLOGUE_OF_SM_87
    return only and inside and _sm(ins.kernel) == 87 and ins.opcode in ("ISETP", "UMOV")


def _guard_of(ins: Instruction) -> Registers:
    found = ins.guard.register if ins.guard is not None else None
    return frozenset() if found is None else frozenset({str(found)})


RULES: dict[str, Callable[[Instruction, Unmarked], bool]] = {
    "predicates-by-mask": _predicates_by_mask,
    "uniform-from-63": _uniform_from_63,
    "texture-pairs": _texture_pairs,
    "ur2-of-sm_87": _ur2_of_sm_87,
}

FULLY_JUDGED = frozenset({"predicates-by-mask"})
"""Rules that say exactly which registers are not marked, so that the rest of the instruction is compared."""


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
