"""What the instructions of a kernel do, counted in a dozen groups that people think in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from sassql.isa import classes
from sassql.isa.constant_reads import constant_read
from sassql.isa.copying import copy_of
from sassql.isa.flow import FlowKind, flow_of
from sassql.isa.spaces import Space, touches_of
from sassql.model.form import Form
from sassql.model.kernel import Kernel
from sassql.report.document import COPY, OTHER

_FIRST = (("tensor core", "mma"), ("asynchronous copy", "async_copy"))
"""Groups that also touch memory: they come before the groups of memory."""
_CLASSES = (
    ("barrier", "barrier"),
    ("fence", "fence"),
    ("lane exchange", "lanes"),
    ("conversion", "convert"),
    ("floating point", "fp"),
    ("comparison and select", "compare"),
    ("comparison and select", "select"),
    ("integer and address", "int"),
    ("integer and address", "alu"),
    ("filler", "idle"),
)
"""Groups with the classes of `isa/data/classes.tsv` that make them; the first that fits counts."""
_SPACES = {space: space.value for space in (Space.GLOBAL, Space.SHARED, Space.LOCAL, Space.GENERIC)}


def group_of(form: Form) -> str:
    """The group of an instruction; `OTHER` for what no table places."""
    if (name := _class_of(form, _FIRST)) is not None:
        return name
    if copy_of(form) is not None or constant_read(form) is not None:
        return COPY
    for touch in touches_of(form):
        if touch.space in _SPACES and touch.access in ("load", "store", "atomic"):
            return f"{_SPACES[touch.space]} {touch.access}"
    if flow_of(form).kind not in (FlowKind.NONE, FlowKind.UNKNOWN):
        return "control flow"
    return _class_of(form, _CLASSES) or OTHER


def _class_of(form: Form, table: Sequence[tuple[str, str]]) -> str | None:
    opcode, modifiers, operands = form.opcode, form.modifiers, form.operands
    return next((name for name, cls in table if classes.belongs(cls, opcode, modifiers, operands)), None)


class Mixer:
    """Counts kernels; equal instructions of one word table are looked at once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[str, str, bool]] = {}
        self._tables: dict[int, Any] = {}

    def count(self, kernel: Kernel) -> tuple[Counter[str], Counter[str], set[str]]:
        """Instructions by group and by opcode, and the opcodes that the tables lack."""
        table = id(kernel.forms)
        self._tables[table] = kernel.forms  # kept, so that no other table gets its number
        groups: Counter[str] = Counter()
        opcodes: Counter[str] = Counter()
        unknown: set[str] = set()
        rows, counts = np.unique(kernel.form_ids, return_counts=True)
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
            key = (table, row)
            if key not in self._known:
                form = kernel.forms[row]
                self._known[key] = (group_of(form), form.opcode, form.shape.known)
            group, opcode, known = self._known[key]
            groups[group] += count
            opcodes[opcode] += count
            if not known:
                unknown.add(opcode)
        return groups, opcodes, unknown
