"""What instructions do to a thread, from `data/execution.tsv`: a primitive and its typed operands."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from sassql.isa.lines import table_lines
from sassql.model.form import Form
from sassql.model.operands import Operand, RegisterOperand


@dataclass(frozen=True, slots=True)
class Slot:
    """An operand of a primitive: its role, its type, and what it is where the instruction lacks it."""

    role: str
    type: str
    default: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table; ``pure`` is false for a primitive that reads the instruction itself."""

    primitive: str
    present: frozenset[str]
    absent: frozenset[str]
    results: tuple[Slot, ...]
    operands: tuple[Slot, ...]
    keeps: frozenset[str]
    drops: frozenset[str]
    pure: bool


@dataclass(frozen=True, slots=True)
class Execution:
    """How a form is run: ``results`` and ``operands`` have operand indices, None for no operand.

    ``parameters`` are the modifiers that change the result, in the order that they are printed.
    """

    primitive: str
    parameters: tuple[str, ...]
    results: tuple[tuple[int | None, str], ...]
    operands: tuple[tuple[int | None, str, str], ...]
    pure: bool


@cache
def table() -> dict[str, tuple[Row, ...]]:
    """Rows by opcode, in the order of the file."""
    lines = table_lines("execution.tsv")
    found: dict[str, list[Row]] = {}
    for line in lines:
        primitive, opcodes, modifiers, results, operands, keeps, drops = line.split("\t")
        asked = _words(modifiers)
        row = Row(
            primitive,
            frozenset(m for m in asked if not m.startswith("!")),
            frozenset(m[1:] for m in asked if m.startswith("!")),
            _slots(results),
            _slots(operands),
            _words(keeps),
            _words(drops),
            results != "-",
        )
        for opcode in opcodes.split("|"):
            found.setdefault(opcode, []).append(row)
    return {opcode: tuple(rows) for opcode, rows in found.items()}


def _words(text: str) -> frozenset[str]:
    return frozenset() if text == "-" else frozenset(text.split(","))


def _slots(text: str) -> tuple[Slot, ...]:
    found = []
    for item in () if text == "-" else text.split():
        role, _, kind = item.partition(":")
        kind, _, default = kind.partition("?")
        found.append(Slot(role, kind, default))
    return tuple(found)


def execution_of(form: Form) -> Execution | str:
    """How a form is run, or the reason why no row says so.

    >>> from sassql.reading.shapes import SHAPES
    >>> execution_of(SHAPES.form("FADD.FTZ R1, R2, -R3")).parameters
    ('FTZ',)
    """
    modifiers = form.modifiers
    rows = table().get(form.opcode, ())
    if not rows:
        return f"{form.opcode} is not covered"
    reason = f"{'.'.join((form.opcode, *modifiers))} is not covered"
    for row in rows:
        if not row.present <= set(modifiers) or row.absent & set(modifiers):
            continue
        unknown = [m for m in modifiers if m not in row.keeps | row.drops | row.present]
        if unknown:
            reason = f"{form.opcode} with .{unknown[0]} is not covered"
            continue
        return _bind(form, row)
    return reason


def _bind(form: Form, row: Row) -> Execution | str:
    parameters = tuple(m for m in form.modifiers if m in row.keeps)
    if not row.pure:
        return Execution(row.primitive, parameters, (), (), pure=False)
    places: dict[str, list[int]] = {}
    for place, operand in enumerate(form.operands):
        places.setdefault(operand.role, []).append(place)
    results, taken = [], set()
    seen: dict[str, int] = {}
    for slot in row.results:
        number = seen.get(slot.role, 0)
        seen[slot.role] = number + 1
        here = places.get(slot.role, [])
        at = here[number] if number < len(here) else None
        if at is not None:
            taken.add(at)
        results.append((at if at is not None and _written(form.operands[at]) else None, slot.type))
    for place, operand in enumerate(form.operands):
        if place not in taken and _written(operand):
            return f"{form.opcode} with the result {operand.text} is not covered"
    operands: list[tuple[int | None, str, str]] = []
    for slot in row.operands:
        if slot.role in places:
            operands.append((places[slot.role][0], slot.type, ""))
        elif slot.default:
            operands.append((None, slot.type, slot.default))
        else:
            return f"{form.opcode} without its operand {slot.role} is not covered"
    return Execution(row.primitive, parameters, tuple(results), tuple(operands), pure=True)


def _written(operand: Operand) -> bool:
    return operand.access.defines and not (isinstance(operand, RegisterOperand) and operand.is_zero)
