"""SQ001: constructs of the language that this version of the engine does not evaluate.

They parse, and they are refused here with one line each: a motif that says `no STG` must never
run as if it did not. A later version deletes entries of this module, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

from sassql.lang.ast import (
    Attribute,
    Brackets,
    Call,
    Chain,
    Either,
    Emit,
    Every,
    Expression,
    Flow,
    For,
    Line,
    Loop,
    Name,
    No,
    OperandPattern,
    Opt,
    Order,
    OtherOperand,
    Path,
    PatternFile,
    Position,
    Sigil,
    Slice,
    Statement,
    Symbol,
    Use,
)
from sassql.lang.findings import Told, check
from sassql.lang.walk import expressions, parts, statements

LATER_ATTRIBUTES = frozenset(
    {
        *("value", "loop", "depth", "mbar", "def", "base", "offset", "space", "stride", "tid_x"),
        *("loads", "calls", "has", "unresolved"),
    }
)
LATER_FUNCTIONS = frozenset({"bound", "overlaps"})


def refusal(construct: str) -> str:
    """The sentence of this check."""
    return f"`{construct}` is in the language but not in this version of the engine"


@check("SQ001", "not-in-this-version")
def not_in_this_version(file: PatternFile) -> Iterator[Told]:
    """Write the motif without it, or wait for the version that has it: docs/language.md lists what works."""
    for definition in file.classifies:
        yield refusal("classify"), definition.at
    for motif in file.motifs:
        for name in (*motif.inputs, *motif.outputs):
            if name.sigil is Sigil.ADDRESS:
                yield refusal(f"{name}"), name.at
        for statement in statements(motif.body):
            yield from _statement(statement)
            for expression in expressions(statement):
                yield from _expression(expression)


def _statement(statement: Statement) -> Iterator[Told]:
    match statement:
        case Loop(at=at):
            yield refusal("loop"), at
        case Chain(at=at):
            yield refusal("chain"), at
        case Either(at=at):
            yield refusal("either"), at
        case Opt(at=at):
            yield refusal("opt"), at
        case No(at=at):
            yield refusal("no"), at
        case Every(at=at):
            yield refusal("every"), at
        case Flow(at=at):
            yield refusal("flow"), at
        case Slice(at=at):
            yield refusal("slice"), at
        case Path(at=at):
            yield refusal("path"), at
        case Order(relation=relation, at=at):
            yield refusal(relation), at
        case Use(at=at):
            yield refusal("use"), at
        case Emit(per=per, at=at) if per:
            yield refusal("per"), at
        case For(body=body):
            yield from ((refusal("for inside for"), s.at) for s in body if isinstance(s, For))
        case Line(operands=operands):
            for operand in operands:
                yield from _operand(operand)


def _operand(operand: OperandPattern) -> Iterator[Told]:
    match operand.core:
        case Brackets(terms=terms) if any(isinstance(t, Name) and t.sigil is Sigil.ADDRESS for t in terms):
            name = next(t for t in terms if isinstance(t, Name) and t.sigil is Sigil.ADDRESS)
            yield refusal(f"[{name}]"), operand.at, "write `[_]` where the address does not matter"
        case Brackets(anything=False):
            yield refusal("[…]"), operand.at, "write `[_]` where the address does not matter"
        case OtherOperand(text=text):
            yield refusal(text), operand.at, "write `_` in its place"


def _expression(expression: Expression) -> Iterator[Told]:
    for part in parts(expression):
        match part:
            case Attribute(name=name, at=at) if name in LATER_ATTRIBUTES:
                yield refusal(f".{name}"), at
            case Call(function=Symbol(name=name), at=at) if name in LATER_FUNCTIONS:
                yield refusal(f"{name}()"), at
            case Call(function=Symbol(name="count"), arguments=(), at=at):
                yield refusal("count()"), at, "`count(LABEL)` counts the rungs of a `for`"
            case Name(sigil=Sigil.ADDRESS) as name:
                yield refusal(f"{name}"), _at(name)


def _at(name: Name) -> Position:
    return name.at
