"""Launch descriptions: how a kernel is run, from a TOML file or a dict, checked and evaluated for each shape.

    [launch]                                      # or [a] and [b], where the two kernels differ
    block = [128, 1, 1]
    grid = ["ceil(n / 128)"]
    shared = "4 * n"                              # dynamic shared memory, bytes
    args = ["x:in:f32[n]", "y:out:f32[n]", "s:f32", "n:i32"]
    partial = true                                # blocks that no shape runs are a note; without it a refusal
    [[shape]]
    n = 1000

A file for many kernels has `[kernel.NAME]` with these entries and `shapes`, and `[[pair]]` with `a`, `b` and,
where the two kernels' own do not fit together, `shapes`, `launch_a`, `launch_b`.

Arguments stand in the kernel's order. A buffer is `name:in|out|inout|scratch:type[size]`, a number is
`name:type`. Floats are unknown; `=0.5..2` says where samples lie (a number without a range is used as it
is). Integers of a buffer are unknown as well, but with `=0..n` they are random numbers of that range, which
addresses may depend on, and with `=permutation` those of a permutation. An integer argument is the value of
its `=`, or of the shape's entry of its name.
"""

from __future__ import annotations

import ast
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sassql.errors import UsageError

TYPES = {
    "f16": 2,
    "bf16": 2,
    "f32": 4,
    "f64": 8,
    "i8": 1,
    "u8": 1,
    "i16": 2,
    "u16": 2,
    "i32": 4,
    "u32": 4,
    "i64": 8,
    "u64": 8,
    "f16x2": 4,
    "bf16x2": 4,
}
"""Bytes of an element."""
FLOATS = frozenset({"f16", "bf16", "f32", "f64", "f16x2", "bf16x2"})
DIRECTIONS = frozenset({"in", "out", "inout", "scratch"})
_BUFFER = re.compile(r"(\w+):(in|out|inout|scratch):(\w+)\[(.*?)\](?:=(.+))?")
_NUMBER = re.compile(r"(\w+):(\w+)(?:=(.+))?")
_SIDES = ("launch", "a", "b")
_ENTRIES = frozenset({"block", "grid", "shared", "args", "partial"})
Shape = dict[str, int]


@dataclass(frozen=True, slots=True)
class Argument:
    """One kernel argument; ``size`` is the expression of a buffer's elements, empty for a number."""

    name: str
    direction: str
    type: str
    size: str
    value: str

    @property
    def is_buffer(self) -> bool:
        return bool(self.direction)


@dataclass(frozen=True, slots=True)
class Side:
    """How one of the kernels is launched."""

    block: tuple[str, ...]
    grid: tuple[str, ...]
    shared: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """Both sides and the shapes."""

    a: Side
    b: Side
    shapes: tuple[Shape, ...]
    partial: bool = False
    """Blocks that no shape reaches are a note, and no reason to refuse an answer."""


def read_launch(source: str | Path | Mapping[str, Any], a: str = "", b: str = "") -> Launch:
    """The launch of kernels ``a`` and ``b`` from a file or a dict.

    Raises:
        UsageError: there is no such file, or it is not as the module's page says.
    """
    if isinstance(source, Mapping):
        return parse_launch(source, "launch", a, b)
    return parse_launch(read_table(Path(source)), str(source), a, b)


def read_table(path: Path) -> dict[str, Any]:
    """What a launch file holds, not checked yet.

    Raises:
        UsageError: there is no such file, or it is no TOML.
    """
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read the launch file {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from None


def parse_launch(table: Mapping[str, Any], where: str, a: str = "", b: str = "") -> Launch:
    """A launch from what a TOML file holds; ``where`` is its name in messages."""
    unknown = sorted(set(table) - {*_SIDES, "shape", "kernel", "pair"})
    if unknown:
        raise UsageError(
            f"{where}: [{unknown[0]}] is neither [launch], [a], [b], [[shape]], [kernel.NAME] nor [[pair]]"
        )
    if "kernel" in table:
        return _of_kernels(table, where, a, b or a)
    sides = {name: _side(table[name], f"{where}: [{name}]") for name in _SIDES if name in table}
    both = sides.get("launch")
    first, second = sides.get("a", both), sides.get("b", both)
    if first is None or second is None:
        raise UsageError(f"{where}: it needs a [launch], or an [a] and a [b]")
    partial = any(bool(table[name].get("partial")) for name in _SIDES if name in table)
    return Launch(first, second, _shapes(table.get("shape", [{}]), where), partial)


def _of_kernels(table: Mapping[str, Any], where: str, a: str, b: str) -> Launch:
    """The launch of two kernels of a file that describes many."""
    kernels: Mapping[str, Any] = table["kernel"]
    for name in (a, b):
        if name not in kernels:
            raise UsageError(f"{where} has no [kernel.{name}]")
    pair: Mapping[str, Any] = next(
        (p for p in table.get("pair", ()) if (p.get("a"), p.get("b")) == (a, b)), {}
    )
    sides = []
    partial = bool(pair.get("partial")) or any(bool(kernels[name].get("partial")) for name in (a, b))
    for name, key in ((a, "launch_a"), (b, "launch_b")):
        entries = {**kernels[name], **pair.get(key, {})}
        shapes = entries.pop("shapes", [])
        sides.append((_side(entries, f"{where}: [kernel.{name}]"), shapes))
    shapes = _shapes(pair.get("shapes", sides[0][1]) or [{}], where)
    return Launch(sides[0][0], sides[1][0], shapes, partial)


def _shapes(shapes: object, where: str) -> tuple[Shape, ...]:
    found = []
    for shape in shapes if isinstance(shapes, list) else [shapes]:
        if not isinstance(shape, Mapping):
            raise UsageError(f"{where}: a shape is a table of whole numbers")
        wrong = [k for k, v in shape.items() if not isinstance(v, int) or isinstance(v, bool)]
        if wrong:
            raise UsageError(f"{where}: {wrong[0]} of a shape is not a whole number")
        found.append(dict(shape))
    return tuple(found)


def _side(table: Mapping[str, Any], where: str) -> Side:
    unknown = sorted(set(table) - _ENTRIES)
    if unknown:
        raise UsageError(f"{where} has an entry {unknown[0]!r}; known are {', '.join(sorted(_ENTRIES))}")
    missing = sorted({"block", "grid", "args"} - set(table))
    if missing:
        raise UsageError(f"{where} has no {missing[0]}")
    arguments = tuple(parse_argument(text, where) for text in table["args"])
    return Side(_extent(table["block"]), _extent(table["grid"]), str(table.get("shared", "0")), arguments)


def _extent(entry: object) -> tuple[str, ...]:
    items = entry if isinstance(entry, list) else [entry]
    return tuple(str(item) for item in [*items, 1, 1][:3])


def parse_argument(text: str, where: str = "launch") -> Argument:
    """One entry of `args`.

    >>> parse_argument("x:in:f32[2*n]=0..4").size
    '2*n'
    """
    if match := _BUFFER.fullmatch(text.replace(" ", "")):
        name, direction, kind, size, value = match.groups()
    elif match := _NUMBER.fullmatch(text.replace(" ", "")):
        (name, kind, value), direction, size = match.groups(), "", ""
    else:
        raise UsageError(
            f"{where}: {text!r} is no argument", hint="such as 'x:in:f32[n]', 'n:i32', 's:f32=0.5'"
        )
    if kind not in TYPES:
        raise UsageError(
            f"{where}: {text!r} has the unknown type {kind!r}", hint=f"known are {', '.join(TYPES)}"
        )
    return Argument(name, direction, kind, size, value or "")


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Pow: lambda a, b: a**b,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"ceil": math.ceil, "floor": math.floor, "min": min, "max": max}


def evaluate(text: str, names: Mapping[str, Any]) -> float:
    """An arithmetic expression over names; `ceil`, `floor`, `min` and `max` are known.

    >>> evaluate("ceil(n / 512)", {"n": 1000})
    2
    """
    try:
        value: float = _value(ast.parse(text, mode="eval").body, names)
    except (SyntaxError, ZeroDivisionError, TypeError, OverflowError) as error:
        raise UsageError(f"cannot evaluate {text!r}: {error}") from None
    return value


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:  # noqa: ANN401  (int or float)
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name):
            if name not in names:
                raise UsageError(
                    f"the shape has no {name!r}", hint=f"it has {', '.join(sorted(names)) or 'nothing'}"
                )
            return names[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, names), _value(right, names))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(arg, names) for arg in args))
    raise UsageError(f"{ast.unparse(node)!r} is no arithmetic expression")


def whole(text: str, names: Mapping[str, Any]) -> int:
    """An expression that must be a whole number."""
    value = evaluate(text, names)
    if value != int(value):
        raise UsageError(f"{text!r} is {value}, not a whole number")
    return int(value)
