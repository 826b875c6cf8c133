"""How many bytes one thread moves with a memory access."""

from __future__ import annotations

from sassql.isa import classes
from sassql.model.form import Form
from sassql.model.operands import RegisterOperand

_MEMORY = ("load", "store", "atomic", "async_copy")
_NARROW = {"U8": 1, "S8": 1, "8": 1, "U16": 2, "S16": 2, "16": 2}
_HELD = ("d", "value", "e")
"""Roles of what is moved; 256 bits are in two operands."""
_WIDE = {"64": 8, "96": 12, "128": 16, "256": 32}


def bytes_of(form: Form) -> int | None:
    """Bytes that one thread loads or stores; None for other instructions and where it is not known."""
    operands = form.operands
    kinds = [kind for kind in _MEMORY if classes.belongs(kind, form.opcode, form.modifiers, operands)]
    if not kinds:
        return None
    if kinds[0] in ("load", "store"):
        # the 16 of LDSM.16 is the element of a matrix, not what a thread gets
        whole = classes.belongs("matrix_load", form.opcode, form.modifiers, operands)
        narrow = None if whole else next((_NARROW[m] for m in form.modifiers if m in _NARROW), None)
        roles = _HELD if "256" in form.modifiers else _HELD[:2]
        widths = [o.width for o in operands if isinstance(o, RegisterOperand) and o.role in roles]
        if classes.belongs("formatted", form.opcode, form.modifiers, operands) or not widths:
            return None  # the surface says how wide its elements are
        return narrow or (None if None in widths else 4 * sum(w or 0 for w in widths))
    if kinds[0] == "atomic" or classes.belongs("thread_copy", form.opcode, form.modifiers, operands):
        return next((_WIDE[m] for m in form.modifiers if m in _WIDE), 4)
    return None
