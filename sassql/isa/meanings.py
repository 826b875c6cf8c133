"""What single instructions compute, from `data/meanings.tsv`: operation, operands in semantic order, types.

By form, so once for all equal instructions:

    templates(form)  ->  one `Template` per destination that the table has a row for
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from sassql.isa.classes import Condition
from sassql.isa.lines import table_lines
from sassql.model.form import Form
from sassql.model.operands import ImmediateOperand, KeywordOperand, RegisterOperand

EXACT, ORDERED, APPROXIMATE, UNKNOWN = "exact", "ordered", "approximate", "unknown"
"""How faithful a result is: correctly rounded as its flags say; the same but for NaN and the sign of zero;
an approximation; nobody says."""

FLAGS = frozenset(
    (
        "FTZ",
        "SAT",
        "RM",
        "RP",
        "RZ",
        "RN",
        "NAN",
        "RELU",
        "XORSIGN",
        "SATFINITE",
        "NTZ",
        "AND",
        "OR",
        "XOR",
        "S8",
        "U8",
        "U4",
        "S4",
    )
)
"""Modifiers that change a result without changing the operation."""

_FLOATS = {"F16": "f16", "BF16": "bf16", "F32": "f32", "F64": "f64", "TF32": "tf32"}
_INTEGERS = {"U8": "u8", "S8": "s8", "U16": "u16", "S16": "s16", "U32": "u32", "S32": "s32"}
_INTEGERS |= {"U64": "u64", "S64": "s64"}
_MEMORY = {**_INTEGERS, **_FLOATS, "64": "b64", "96": "b96", "128": "b128", "256": "b256"}
_COMPARISONS = frozenset(
    ("EQ", "NE", "LT", "LE", "GT", "GE", "EQU", "NEU", "LTU", "LEU", "GTU", "GEU", "NUM", "NAN", "T", "F")
)
_DETAILS: dict[str, frozenset[str]] = {
    "compare": _COMPARISONS,
    "shuffle": frozenset(("BFLY", "UP", "DOWN", "IDX")),
    "reduce": frozenset(("SUM", "MAX", "MIN", "AND", "OR", "XOR")),
    "vote": frozenset(("ALL", "ANY", "EQ")),
    "round": frozenset(("TRUNC", "FLOOR", "CEIL")),
    "high": frozenset(("HI",)),
    "atomic": frozenset(("ADD", "MIN", "MAX", "AND", "OR", "XOR", "EXCH", "CAS", "INC", "DEC", "POPC")),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: ``operands`` are (role, may be missing); the first ``commuting`` commute."""

    operation: str
    present: frozenset[str]
    absent: frozenset[str]
    conditions: tuple[Condition, ...]
    result: str
    operands: tuple[tuple[str, bool], ...]
    commuting: int
    type: str
    source: str
    detail: str
    fidelity: str


@dataclass(frozen=True, slots=True)
class Template:
    """A row applied to a form: ``result`` and ``operands`` are operand indices.

    ``type`` and ``source`` are element types of the result and of the operands, empty where
    nobody says; ``detail`` is a comparison, a shuffle mode, a memory space …
    """

    operation: str
    result: int
    operands: tuple[int, ...]
    commuting: int
    type: str
    source: str
    detail: str
    flags: frozenset[str]
    fidelity: str


TypeRule = Callable[[Form], str]
_known: dict[tuple[str, tuple[int | float, ...]], tuple[Template, ...]] = {}


def _first(form: Form, names: dict[str, str], default: str) -> str:
    return next((names[m] for m in form.modifiers if m in names), default)


def _integer(form: Form) -> str:
    if "64" in form.modifiers:
        return "s64"
    return _first(form, _INTEGERS, "s32")


def _wide(form: Form) -> str:
    return "u64" if "U32" in form.modifiers else "s64"


def _half(form: Form) -> str:
    return "bf16x2" if "BF16_V2" in form.modifiers else "f16x2"


def _video(form: Form) -> str:
    packed = {"S16x2": "s16x2", "U16x2": "u16x2", "S8x4": "s8x4", "U8x4": "u8x4"}
    return _first(form, {**_INTEGERS, **packed}, "s32")


def _memory(form: Form) -> str:
    return _first(form, _MEMORY, "b32")


def _pair(form: Form, place: int, default: str) -> str:
    """Formats that F2F and F2FP print: the result's first, then the source's."""
    names = [_FLOATS[m] for m in form.modifiers if m in _FLOATS]
    return names[place] if place < len(names) else default


def _packed(form: Form) -> str:
    return _pair(form, 0, "f16") + "x2"


def _shift(form: Form) -> str:
    return _first(form, _INTEGERS, "u32")


def _word(form: Form) -> str:
    return "b64" if "64" in form.modifiers else "b32"


def _special(form: Form) -> str:
    return "b32" if "32" in form.modifiers or form.operands[0].width == 1 else "b64"


def _signs(form: Form) -> str:
    return ".".join(m for m in form.modifiers if m in ("S8", "U8", "S16", "U16", "LO", "HI"))


def _mma_to(form: Form) -> str:
    return _first(form, _FLOATS, "s32" if {"S8", "U8", "S4", "U4"} & set(form.modifiers) else "")


def _mma_from(form: Form) -> str:
    names = [m for m in form.modifiers if m in _FLOATS or m in _INTEGERS or m[:1] == "E"]
    return ".".join(n.lower() for n in names[1:])


TYPES: dict[str, TypeRule] = {
    "int": _integer,
    "wide": _wide,
    "half": _half,
    "video": _video,
    "memory": _memory,
    "mufu": lambda form: _first(form, _FLOATS, "f32"),
    "float": lambda form: _first(form, _FLOATS, "f32"),
    "int_to": lambda form: _first(form, _INTEGERS, "s32"),
    "int_from": lambda form: _first(form, _INTEGERS, "s32"),
    "float_to": lambda form: _first(form, _FLOATS, "f32"),
    "float_from": lambda form: _first(form, _FLOATS, "f32"),
    "f2f_to": lambda form: _pair(form, 0, ""),
    "f2f_from": lambda form: _pair(form, 1, ""),
    "pack_to": _packed,
    "pack_from": lambda form: _pair(form, 1, "f32"),
    "shift": _shift,
    "word": _word,
    "special": _special,
    "mma_to": _mma_to,
    "mma_from": _mma_from,
}
"""Rules of the columns ``type`` and ``from``; any other word there is the type itself."""


def _detail(rule: str, form: Form) -> str:
    if rule.startswith("="):
        return rule[1:]
    rule, _, space = rule.partition(":")
    if space:
        return f"{space}.{_detail(rule, form)}"
    if rule == "special":
        return next((o.name for o in form.operands if isinstance(o, KeywordOperand)), "")
    if rule == "signs":
        return _signs(form)
    if rule == "shape":
        return next((m for m in form.modifiers if m[:1].isdigit()), "")
    return next((m for m in form.modifiers if m in _DETAILS.get(rule, ())), "")


def _conditions(text: str) -> tuple[Condition, ...]:
    found = []
    for item in () if text == "-" else text.split():
        different = "!=" in item
        role, _, value = item.partition("!=" if different else "=")
        found.append(Condition(role, value, not different))
    return tuple(found)


@cache
def table() -> dict[str, tuple[Row, ...]]:
    """Rows by opcode, in the order of the file."""
    lines = table_lines("meanings.tsv")
    found: dict[str, list[Row]] = {}
    for line in lines:
        name, opcodes, modifiers, when, result, operands, kind, source, detail, fidelity = line.split("\t")
        listed = () if modifiers == "-" else modifiers.split(",")
        roles = () if operands == "-" else operands.replace("(", "").replace(")", "").split()
        row = Row(
            operation=name,
            present=frozenset(m for m in listed if not m.startswith("!")),
            absent=frozenset(m[1:] for m in listed if m.startswith("!")),
            conditions=_conditions(when),
            result=result,
            operands=tuple((role.rstrip("?"), role.endswith("?")) for role in roles),
            commuting=len(operands.partition(")")[0].split()) if "(" in operands else 0,
            type=kind,
            source=source,
            detail=detail,
            fidelity=UNKNOWN if fidelity == "-" else fidelity,
        )
        for opcode in opcodes.split("|"):
            found.setdefault(opcode, []).append(row)
    return {opcode: tuple(rows) for opcode, rows in found.items()}


def templates(form: Form) -> tuple[Template, ...]:
    """What the results of a form mean: the first row that fits, per result.

    >>> from sassql.reading.shapes import SHAPES
    >>> [(t.operation, t.operands, t.type) for t in templates(SHAPES.form("HFMA2 R1, R2, 1, 1, R3"))]
    [('add', (1, 4), 'f16x2')]
    """
    rows = table().get(form.opcode, ())
    if not rows:
        return ()
    numbers = tuple(o.value for o in form.operands if isinstance(o, ImmediateOperand))
    key = form.shape.text, numbers  # registers do not matter, RZ stands in the shape
    found = _known.get(key)
    if found is None:
        found = _known[key] = _templates(form, rows)
    return found


def _templates(form: Form, rows: tuple[Row, ...]) -> tuple[Template, ...]:
    places: dict[str, int] = {}
    for place, operand in enumerate(form.operands):
        places.setdefault(operand.role, place)
    modifiers = frozenset(form.modifiers)
    found: dict[str, Template] = {}
    for row in rows:
        if row.result in found or not _is_written(form, places.get(row.result)):
            continue
        operands = _operands(row, places)
        fits = row.present <= modifiers and not row.absent & modifiers
        if operands is not None and fits and all(c.holds(form.operands) for c in row.conditions):
            found[row.result] = Template(
                row.operation,
                places[row.result],
                operands,
                row.commuting,
                _type(row.type, form),
                _type(row.source, form),
                _detail(row.detail, form),
                (modifiers & FLAGS) - row.present,
                row.fidelity,
            )
    return tuple(found.values())


def _is_written(form: Form, place: int | None) -> bool:
    if place is None:
        return False
    operand = form.operands[place]
    if isinstance(operand, RegisterOperand) and operand.is_zero:
        return False
    return operand.access.defines


def _operands(row: Row, places: dict[str, int]) -> tuple[int, ...] | None:
    found = []
    for role, optional in row.operands:
        if role in places:
            found.append(places[role])
        elif not optional:
            return None
    return tuple(found)


def _type(rule: str, form: Form) -> str:
    if rule == "-":
        return ""
    made = TYPES.get(rule)
    return rule if made is None else made(form)


def roles_of(row: Row) -> Sequence[str]:
    """The roles that a row names, for the test that checks them against the signatures."""
    return [
        row.result,
        *(role for role, _ in row.operands),
        *(c.role for c in row.conditions if c.value != "none"),
    ]
