"""Where an instruction can send a thread, from `data/flow.tsv`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache

from sassql.isa import signatures
from sassql.isa.lines import table_lines
from sassql.model.form import Form
from sassql.model.operands import LabelOperand, Operand, RegisterOperand

ALWAYS = "always"
"""Word of the table for a condition that no operand shows."""


class FlowKind(Enum):
    """What happens to the thread; the words of `flow.tsv`."""

    NONE = "none"
    """Goes on to the next instruction."""
    BRANCH = "branch"
    INDIRECT = "indirect"
    CALL = "call"
    RETURN = "return"
    EXIT = "exit"
    HINT = "hint"
    """Names a place where no thread goes through this instruction."""
    UNKNOWN = "unknown"
    """An opcode that no table has with a place in code as operand; a statement that does not parse."""


@dataclass(frozen=True, slots=True)
class Flow:
    """The control flow of one form.

    ``conditional``: it may also go on to the next instruction. ``computed``: the label, if
    any, is not the target but what a register counts from.
    """

    kind: FlowKind
    conditional: bool = False
    computed: bool = False

    @property
    def ends_block(self) -> bool:
        """True where the next instruction starts a new basic block; calls and hints go on."""
        return self.kind not in _PASSING


_PASSING = frozenset({FlowKind.NONE, FlowKind.CALL, FlowKind.HINT})
NOTHING = Flow(FlowKind.NONE)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table."""

    requires: frozenset[str]
    kind: FlowKind
    when: frozenset[str]
    computed: str


@cache
def table() -> dict[str, tuple[Row, ...]]:
    """Rows by opcode, most specific first."""
    lines = table_lines("flow.tsv")
    rows: dict[str, list[Row]] = {}
    for line in lines:
        opcodes, requires, kind, when, computed = line.split("\t")
        row = Row(_words(requires), FlowKind(kind), _words(when), computed)
        for opcode in opcodes.split("|"):
            rows.setdefault(opcode, []).append(row)
    return {op: tuple(sorted(found, key=lambda r: -len(r.requires))) for op, found in rows.items()}


def _words(text: str) -> frozenset[str]:
    return frozenset(filter(None, text.split(",")))


def row_of(opcode: str, modifiers: Sequence[str]) -> Row | None:
    """The row of an opcode with these modifiers, or None: it goes on to the next instruction."""
    return next((row for row in table().get(opcode, ()) if row.requires <= set(modifiers)), None)


def flow_of(form: Form) -> Flow:
    """The control flow of a form; ``@!PT`` and a condition that never holds make it nothing at all.

    >>> from sassql.reading.shapes import SHAPES
    >>> flow_of(SHAPES.form("BRA.U !UP1, `(@)"))
    Flow(kind=<FlowKind.BRANCH: 'branch'>, conditional=True, computed=False)
    """
    row = row_of(form.opcode, form.modifiers)
    if row is None:
        return _without_row(form)
    guard = form.guard
    registers = [o for o in form.operands if isinstance(o, RegisterOperand)]
    conditions = [o for o in registers if o.role in row.when]
    if (guard is not None and guard.never) or any(o.is_zero and o.inverted for o in conditions):
        return NOTHING
    guarded = guard is not None and guard.index is not None
    open_ended = ALWAYS in row.when or any(not o.is_zero for o in conditions)
    computed = bool(row.computed) and any(o.role == row.computed for o in registers)
    return Flow(row.kind, guarded or open_ended, computed)


def _without_row(form: Form) -> Flow:
    """An opcode without a row: harmless if the signatures know it, else a label makes it unknown."""
    if form.shape.problem:
        return Flow(FlowKind.UNKNOWN, True)
    if signatures.is_opcode(form.opcode) or not any(map(_is_place, form.operands)):
        return NOTHING
    return Flow(FlowKind.UNKNOWN, True)


def _is_place(operand: Operand) -> bool:
    return isinstance(operand, LabelOperand)
