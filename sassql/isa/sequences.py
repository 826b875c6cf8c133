"""Forms of several instructions as patterns over operations, from `data/sequences.tsv`.

    max | ordered | a b | select(compare.GT/GE(a, b), a, b)

reads: a value that selects a or b by whether a is greater is max(a, b). How patterns are
written stands at the top of the table; matching is the job of `sassql.facts.sequences`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from lark import Lark, Token, Transformer
from lark.visitors import v_args

from sassql.isa.lines import table_lines

_GRAMMAR = r"""
?start: either
?either: item ("|" item)*               -> either
?item: core
    | "-" core                          -> negated
    | "@" core                          -> absolute
    | "~" core                          -> inverted
?core: NAME ":" core                    -> named
    | OPERATION "(" [either ("," either)*] ")" -> node
    | NAME                              -> variable
    | "_"                               -> anything
    | NUMBER                            -> number
    | "{" either "," either "}"         -> pair
    | "(" either ")"
OPERATION.2: /[a-z][a-z0-9_]*(\.[A-Za-z0-9_\/]+)*(?=\()/
NAME: /[a-z][a-z0-9]*/
NUMBER: /#-?[0-9][0-9a-fx.e+-]*d?/
%ignore " "
"""


@dataclass(frozen=True, slots=True)
class Anything:
    """``_``."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A name: the same operand wherever it stands."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """A bit pattern; ``wide`` for one of 64 bits."""

    bits: int
    wide: bool


@dataclass(frozen=True, slots=True)
class Named:
    """``y:pattern``: what the pattern matches is called y."""

    name: str
    inner: Pattern


@dataclass(frozen=True, slots=True)
class Signed:
    """``-x``, ``@x`` (absolute value), ``~x``; ``sign`` is the field of a term."""

    sign: str
    inner: Pattern


@dataclass(frozen=True, slots=True)
class Pair:
    """``{low, high}``: the two registers of a wide value."""

    low: Pattern
    high: Pattern


@dataclass(frozen=True, slots=True)
class Either:
    """Alternatives; the first that matches wins."""

    choices: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """An operation; each of ``details`` is a set of words of which it must have one."""

    operation: str
    details: tuple[frozenset[str], ...]
    operands: tuple[Pattern, ...]


Pattern = Anything | Variable | Number | Named | Signed | Pair | Either | Node


@dataclass(frozen=True, slots=True)
class Sequence:
    """A row: what the root of ``pattern`` is, if the ``equations`` hold for the names that it binds.

    ``type`` may name a node, for that node's operand type; ``operands`` are names.
    """

    operation: str
    type: str
    operands: tuple[str, ...]
    fidelity: str
    pattern: Pattern
    equations: tuple[tuple[str, Pattern], ...]
    needs: frozenset[str]


SHUFFLE = "shuffle"
"""The word for routines that stand for a shuffle: what they leave comes from other lanes."""

Definitions = dict[str, tuple[tuple[str, ...], Pattern]]


@v_args(inline=True)
class _Builder(Transformer[Token, Pattern]):
    def __init__(self, definitions: Definitions) -> None:
        super().__init__()
        self._definitions = definitions

    def either(self, *choices: Pattern) -> Pattern:
        return choices[0] if len(choices) == 1 else Either(choices)

    def named(self, name: str, inner: Pattern) -> Pattern:
        return Named(str(name), inner)

    def variable(self, name: str) -> Pattern:
        return Variable(str(name))

    def anything(self) -> Pattern:
        return Anything()

    def negated(self, inner: Pattern) -> Pattern:
        return Signed("negated", inner)

    def absolute(self, inner: Pattern) -> Pattern:
        return Signed("absolute", inner)

    def inverted(self, inner: Pattern) -> Pattern:
        return Signed("inverted", inner)

    def pair(self, low: Pattern, high: Pattern) -> Pattern:
        return Pair(low, high)

    def number(self, text: str) -> Pattern:
        digits = str(text)[1:]
        if digits.startswith("0x"):
            return Number(int(digits, 16), wide=False)
        if digits.endswith("d"):
            return Number(struct.unpack("<Q", struct.pack("<d", float(digits[:-1])))[0], wide=True)
        if "." in digits:
            return Number(struct.unpack("<I", struct.pack("<f", float(digits)))[0], wide=False)
        return Number(int(digits) & 0xFFFFFFFF, wide=False)

    def node(self, head: str, *operands: Pattern | None) -> Pattern:
        given = tuple(o for o in operands if o is not None)
        name, *details = str(head).split(".")
        if name in self._definitions:
            names, body = self._definitions[name]
            return _filled(body, dict(zip(names, given, strict=True)))
        return Node(name, tuple(frozenset(d.split("/")) for d in details), given)


def _filled(pattern: Pattern, given: dict[str, Pattern]) -> Pattern:
    """A definition's body with its parameters replaced."""
    match pattern:
        case Variable(name):
            return given.get(name, pattern)
        case Named(name, inner):
            return Named(name, _filled(inner, given))
        case Signed(sign, inner):
            return Signed(sign, _filled(inner, given))
        case Pair(low, high):
            return Pair(_filled(low, given), _filled(high, given))
        case Either(choices):
            return Either(tuple(_filled(c, given) for c in choices))
        case Node(operation, details, operands):
            return Node(operation, details, tuple(_filled(o, given) for o in operands))
        case _:
            return pattern


@cache
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr")


def parse(text: str, definitions: Definitions | None = None) -> Pattern:
    """A pattern from its text."""
    return _Builder(definitions or {}).transform(_parser().parse(text))


def roots(pattern: Pattern) -> tuple[str, ...]:
    """The operations that a value must have to match."""
    match pattern:
        case Node(operation):
            return (operation,)
        case Named(_, inner):
            return roots(inner)
        case Either(choices):
            return tuple(dict.fromkeys(name for c in choices for name in roots(c)))
        case _:
            return ()


def needed(pattern: Pattern) -> frozenset[str]:
    """Operations without which a kernel cannot match: a cheap first test."""
    match pattern:
        case Node(operation, _, operands):
            return frozenset((operation,)).union(*(needed(o) for o in operands))
        case Named(_, inner) | Signed(_, inner):
            return needed(inner)
        case Pair(low, high):
            return needed(low) | needed(high)
        case Either(choices):
            return frozenset.intersection(*(needed(c) for c in choices))
        case _:
            return frozenset()


def _lines() -> list[list[str]]:
    return [line.split("\t") for line in table_lines("sequences.tsv")]


@cache
def table() -> tuple[Sequence, ...]:
    """All rows, in the order of the file; definitions are filled in."""
    definitions: Definitions = {}
    found = []
    for operation, kind, operands, fidelity, text in _lines():
        if operation == "let":
            definitions[kind] = (tuple(operands.split()), parse(text, definitions))
        elif operation != "routine":
            root, *rest = text.split(";")
            pairs = [part.split("=", 1) for part in rest]
            equations = tuple((name.strip(), parse(right, definitions)) for name, right in pairs)
            pattern = parse(root, definitions)
            needs = needed(pattern).union(*(needed(right) for _, right in equations))
            names = tuple(operands.split())
            found.append(Sequence(operation, kind, names, fidelity, pattern, equations, needs))
    return tuple(found)


@cache
def by_root() -> dict[str, tuple[Sequence, ...]]:
    """Rows by the operation of their root."""
    found: dict[str, list[Sequence]] = {}
    for row in table():
        for name in roots(row.pattern):
            found.setdefault(name, []).append(row)
    return {name: tuple(rows) for name, rows in found.items()}


@cache
def _routines() -> tuple[tuple[re.Pattern[str], str], ...]:
    rows = (row for row in _lines() if row[0] == "routine")
    return tuple((re.compile(row[-1]), row[1]) for row in rows)


def routine(name: str) -> str:
    """Our word for one of the compiler's own routines, by its symbol; empty for any other.

    >>> routine("$__internal_5_$__cuda_sm3x_div_rn_noftz_f32_slowpath")
    'div_f32'
    """
    return next((kind for pattern, kind in _routines() if pattern.search(name)), "")


def names_in(pattern: Pattern) -> Iterable[str]:
    """Every name that a pattern binds."""
    match pattern:
        case Variable(name):
            return [name]
        case Named(name, inner):
            return [name, *names_in(inner)]
        case Signed(_, inner):
            return names_in(inner)
        case Pair(low, high):
            return [*names_in(low), *names_in(high)]
        case Either(parts) | Node(_, _, parts):
            return [name for part in parts for name in names_in(part)]
        case _:
            return []
