"""Expressions of `where`, `emit`, `for` and tests."""

from __future__ import annotations

from dataclasses import dataclass

from sassql.lang.ast.names import Name, Position


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, a string, or an upper-case word such as an opcode or a modifier."""

    value: int | float | str
    at: Position


@dataclass(frozen=True, slots=True)
class ClassLiteral:
    """``<add>`` in an expression: the semantic operation of that name."""

    name: str
    at: Position


@dataclass(frozen=True, slots=True)
class Symbol:
    """A label, a loop, an alias of ``use``, or ``kernel``."""

    name: str
    at: Position


@dataclass(frozen=True, slots=True)
class Attribute:
    """``f.op``."""

    base: Expression
    name: str
    at: Position


@dataclass(frozen=True, slots=True)
class Call:
    """``count(f)``; the function is a symbol, or an attribute as in ``&A.stride(K)``."""

    function: Expression
    arguments: tuple[Expression, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Unary:
    """``not x`` and ``-x``."""

    operator: str
    operand: Expression
    at: Position


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic, comparison, ``and``, ``or``."""

    operator: str
    left: Expression
    right: Expression
    at: Position


@dataclass(frozen=True, slots=True)
class Membership:
    """``#n in {1, 2}``."""

    item: Expression
    choices: tuple[Expression, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Matches:
    """``kernel.name matches /gemm/``: the expression is found somewhere in the text."""

    item: Expression
    pattern: str
    at: Position


Expression = Literal | ClassLiteral | Name | Symbol | Attribute | Call | Unary | Binary | Membership | Matches
