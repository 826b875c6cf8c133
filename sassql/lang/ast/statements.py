"""Statements of a motif."""

from __future__ import annotations

from dataclasses import dataclass

from sassql.lang.ast.expressions import Expression
from sassql.lang.ast.names import Name, Position
from sassql.lang.ast.operands import GuardPattern, OperandPattern, Opset


@dataclass(frozen=True, slots=True)
class Header:
    """``title "…"``, ``arch sm_90+``, ``tags a, b`` …"""

    word: str
    values: tuple[str, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Line:
    """An instruction with holes."""

    label: str
    guard: GuardPattern | None
    opset: Opset
    operands: tuple[OperandPattern, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class For:
    """``for (#d = init; condition; #d op= step) { body }``; ``updated`` is the counter of the third part."""

    counter: Name
    init: Expression
    condition: Expression
    updated: Name
    operator: str
    step: Expression
    body: tuple[Statement, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Loop:
    """``loop K { … }``."""

    name: str
    body: tuple[Statement, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Chain:
    """``chain 1+ { … }``; ``most`` is None where there is no upper bound."""

    least: int
    most: int | None
    body: tuple[Statement, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Either:
    """``either { … } or { … }``."""

    branches: tuple[tuple[Statement, ...], ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Opt:
    """``opt { … }``."""

    body: tuple[Statement, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class No:
    """``no LINE`` or ``no { … }``."""

    body: tuple[Statement, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Every:
    """``every LINE { … }``."""

    line: Line
    body: tuple[Statement, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Claim:
    """``no STG [&A]``, ``some <load>``, ``every bar``."""

    quantifier: str
    label: str
    opset: Opset
    operands: tuple[OperandPattern, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Flow:
    """``flow %a -> %b via OPS max N``; ``through`` is empty for copies only, ``any`` sets ``anything``."""

    source: Name
    target: Name
    through: Opset
    anything: bool
    limit: int | None
    at: Position


@dataclass(frozen=True, slots=True)
class Slice:
    """``slice %v : some LDG, no <atomic>``."""

    value: Name
    addresses: bool
    claims: tuple[Claim, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Path:
    """``path a -> b : every bar``."""

    source: str
    target: str
    claims: tuple[Claim, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Order:
    """``a before b``, ``a dom b`` …; ``anywhere`` lets ``before any`` cross back edges."""

    left: str
    relation: str
    right: str
    anywhere: bool
    at: Position


@dataclass(frozen=True, slots=True)
class Equal:
    """``%r = %x'``."""

    left: Name
    right: Name
    at: Position


@dataclass(frozen=True, slots=True)
class Use:
    """``use motif(%x -> %r) as u``."""

    motif: str
    inputs: tuple[Expression, ...]
    outputs: tuple[Name, ...]
    alias: str
    at: Position


@dataclass(frozen=True, slots=True)
class Where:
    """``where CONDITION``."""

    condition: Expression
    at: Position


@dataclass(frozen=True, slots=True)
class Column:
    """``op = f.op``."""

    name: str
    value: Expression
    at: Position


@dataclass(frozen=True, slots=True)
class Emit:
    """``emit a = …, b = … per K``."""

    columns: tuple[Column, ...]
    per: str
    at: Position


@dataclass(frozen=True, slots=True)
class Key:
    """``key a, b``."""

    names: tuple[str, ...]
    at: Position


Statement = (
    Header
    | Line
    | For
    | Loop
    | Chain
    | Either
    | Opt
    | No
    | Every
    | Flow
    | Slice
    | Path
    | Order
    | Equal
    | Use
    | Where
    | Emit
    | Key
)
