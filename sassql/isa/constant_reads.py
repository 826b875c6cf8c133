"""Instructions that only fetch a word from a constant bank, from `data/constant_reads.tsv`."""

from __future__ import annotations

from functools import cache

from sassql.isa.classes import Row, rows_by_opcode
from sassql.model.form import Form
from sassql.model.operands import ConstantOperand

Place = tuple[int, int]
"""Bank and offset in bytes."""


def place_of(operand: ConstantOperand) -> Place | None:
    """The place that a constant operand names, or None where a register decides."""
    if operand.bank is None or (operand.base is not None and operand.base.register is not None):
        return None
    return operand.bank, operand.offset


def constant_read(form: Form) -> Place | None:
    """The place that an instruction fetches, or None where it does something else."""
    for row in _table().get(form.opcode, ()):
        if row.fits(form.modifiers, form.operands):
            role = row.roles[0][0]
            found = next((o for o in form.operands if o.role == role), None)
            if isinstance(found, ConstantOperand) and not (found.negated or found.absolute or found.inverted):
                return place_of(found)
    return None


@cache
def _table() -> dict[str, tuple[Row, ...]]:
    return rows_by_opcode("constant_reads.tsv")
