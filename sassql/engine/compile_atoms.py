"""Statements to atoms: lines, relations and conditions, with names called as their scope says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sassql.engine.match_line import matcher_of
from sassql.engine.opsets import resolve
from sassql.engine.plan import (
    ClaimPlan,
    FlowAtom,
    LineAtom,
    MotifPlan,
    OrderAtom,
    PathAtom,
    SliceAtom,
    Slot,
    SlotKind,
    UseAtom,
    WhereAtom,
    through_of,
)
from sassql.lang.ast import (
    Binary,
    Brackets,
    Call,
    Chain,
    Claim,
    ClassDefinition,
    Either,
    Equal,
    Every,
    Expression,
    Flow,
    For,
    GuardPattern,
    IntegerOperand,
    Line,
    Literal,
    Membership,
    Name,
    No,
    NumberOperand,
    Opt,
    Order,
    Path,
    Position,
    Sigil,
    Slice,
    Statement,
    Symbol,
    Use,
    ValueOperand,
    Where,
)
from sassql.lang.walk import expression_names, expressions, line_names, operand_names, parts

Called = Callable[[str], str]
"""How a name of the text is called inside the engine."""
Classes = Mapping[str, ClassDefinition]

_COMPARING = 15
"""Steps of a function, which may compare two addresses; of anything else in a condition one."""
MOST_PASSED = 64
"""Instructions that a flow passes where the motif gives no number."""


def label_of(line: Line) -> str:
    """The label, or a made-up one that no user can write."""
    return line.label or f"line {line.at.line}:{line.at.column}"


def line_atom(line: Line, own: Classes, called: Called, region: str = "") -> LineAtom:
    """A line with what is compared where it lies."""
    slots = tuple(_slots(line, called))
    label = label_of(line)
    keys = frozenset({label, *(slot.key for slot in slots if slot.key)})
    return LineAtom(line.at.line, keys, label, line, matcher_of(line, own), slots, region)


def _slots(line: Line, called: Called) -> Iterator[Slot]:
    match line.guard:
        case GuardPattern(predicate=Name(key=key)):
            yield Slot(SlotKind.GUARD, -1, called(key))
    for position, operand in enumerate(line.operands):
        match operand.core:
            case ValueOperand(name=Name(key=key)):
                yield Slot(SlotKind.VALUE, position, called(key))
            case IntegerOperand(name=Name(key=key)):
                yield Slot(SlotKind.INTEGER, position, called(key))
            case NumberOperand(value=value):
                yield Slot(SlotKind.NUMBER, position, number=value)
            case Brackets(terms=terms):
                for place, term in enumerate(terms):
                    match term:
                        case Name(sigil=Sigil.ADDRESS, key=key):
                            yield Slot(SlotKind.ADDRESS, position, called(key))
                        case Name(key=key):
                            yield Slot(SlotKind.TERM, position, called(key), term=place)


def flow_atom(flow: Flow, own: Classes, called: Called, loops: tuple[str, ...]) -> FlowAtom:
    """A flow between two names."""
    limit = MOST_PASSED if flow.limit is None else flow.limit
    through = through_of(resolve(flow.through, own), flow.anything, limit)
    source, target = called(flow.source.key), called(flow.target.key)
    return FlowAtom(flow.at.line, frozenset({source, target, *loops}), source, target, through, loops)


def slice_atom(found: Slice, own: Classes, called: Called) -> SliceAtom:
    """Claims about what a value depends on."""
    claims = tuple(_claim(claim, own, called) for claim in found.claims)
    value = called(found.value.key)
    return SliceAtom(found.at.line, frozenset({value}) | _claim_keys(claims), value, found.addresses, claims)


def path_atom(found: Path, own: Classes, called: Called) -> PathAtom:
    """Claims about the ways from one instruction to another."""
    claims = tuple(_claim(claim, own, called) for claim in found.claims)
    keys = frozenset({found.source, found.target}) | _claim_keys(claims)
    return PathAtom(found.at.line, keys, found.source, found.target, claims)


def _claim(claim: Claim, own: Classes, called: Called) -> ClaimPlan:
    if claim.label:
        return ClaimPlan(claim.quantifier, claim.label, None, False)
    line = Line("", None, claim.opset, claim.operands, claim.at)
    has_address = any(isinstance(operand.core, Brackets) for operand in claim.operands)
    return ClaimPlan(claim.quantifier, "", line_atom(line, own, called), has_address)


def _claim_keys(claims: tuple[ClaimPlan, ...]) -> frozenset[str]:
    """What must be bound before claims can be judged: labels, and names in their operands."""
    keys = {claim.label for claim in claims if claim.label}
    return frozenset(keys).union(
        *(c.pattern.keys - {c.pattern.label} for c in claims if c.pattern is not None)
    )


def order_atom(order: Order) -> OrderAtom:
    """`before`, `dom`, `pdom`, `sameblock`."""
    keys = frozenset({order.left, order.right})
    return OrderAtom(order.at.line, keys, order.left, order.relation, order.right, order.anywhere)


def where_atoms(where: Where, called: Called) -> Iterator[WhereAtom]:
    """A condition; what `and` joins is judged part by part, each as soon as its names are bound."""
    return (condition_atom(part, where.at, called) for part in _joined(where.condition))


def _joined(condition: Expression) -> Iterator[Expression]:
    match condition:
        case Binary(operator="and", left=left, right=right):
            yield from _joined(left)
            yield from _joined(right)
        case _:
            yield condition


def condition_atom(condition: Expression, at: Position, called: Called) -> WhereAtom:
    """A condition of any origin."""
    names = {name.key: called(name.key) for name in expression_names(condition)}
    symbols = {part for part in _symbols(condition) if part != "kernel"}
    weight = sum(_COMPARING if isinstance(part, Call) else 1 for part in parts(condition))
    return WhereAtom(at.line, frozenset({*names.values(), *symbols}), condition, names, weight)


def _symbols(condition: Expression) -> Iterator[str]:
    functions = {id(part.function) for part in parts(condition) if isinstance(part, Call)}
    for part in parts(condition):
        if isinstance(part, Symbol) and id(part) not in functions:
            yield part.name


def equal_atom(equal: Equal, called: Called) -> WhereAtom:
    """An equality of two names that are both known outside: a condition."""
    same = Call(Symbol("same", equal.at), (equal.left, equal.right), equal.at)
    return condition_atom(same, equal.at, called)


def use_atom(use: Use, motif: MotifPlan, called: Called) -> UseAtom:
    """Another motif with its interface bound."""
    inputs = tuple(called(e.key) if isinstance(e, Name) else e for e in use.inputs)
    outputs = tuple(called(name.key) for name in use.outputs)
    alias = use.alias or f"use {use.at.line}:{use.at.column}"
    names = {n.key: called(n.key) for e in use.inputs for n in expression_names(e)}
    keys = frozenset({alias, *outputs, *(key for key in inputs if isinstance(key, str)), *names.values()})
    return UseAtom(use.at.line, keys, alias, motif, inputs, outputs, names)


def expression_keys(statement: Statement) -> Iterator[str]:
    """Names in the expressions of a statement."""
    for expression in expressions(statement):
        for name in expression_names(expression):
            yield name.key


def statement_keys(statement: Statement) -> Iterator[str]:
    """Names that a statement mentions; of a repetition only those that leave it are told by others."""
    match statement:
        case Line():
            yield from (name.key for name in line_names(statement))
        case Flow(source=left, target=right) | Equal(left=left, right=right):
            yield from (left.key, right.key)
        case Slice(value=value, claims=claims):
            yield value.key
            yield from _claimed(claims)
        case Path(claims=claims):
            yield from _claimed(claims)
        case Use(outputs=outputs):
            yield from (name.key for name in outputs)
        case For(body=body) | Chain(body=body):
            for inner in body:
                yield from (key for key in statement_keys(inner) if key.endswith("'"))
                yield from (key[:-1] for key in statement_keys(inner) if key.endswith("'"))
        case Opt(body=body) | No(body=body):
            for inner in body:
                yield from statement_keys(inner)
        case Every(line=line, body=body):
            for inner in (line, *body):
                yield from statement_keys(inner)
        case Either(branches=branches):
            for inner in (s for branch in branches for s in branch):
                yield from statement_keys(inner)
    if isinstance(statement, Where | For | Use):
        yield from expression_keys(statement)


def _claimed(claims: tuple[Claim, ...]) -> Iterator[str]:
    return (name.key for claim in claims for name in operand_names(claim.operands))


def listed(key: str, condition: Expression) -> list[int]:
    """Numbers of ``#n in {…}``, if the condition says that and cannot hold otherwise."""
    match condition:
        case Membership(item=Name(key=name), choices=choices) if name == key:
            return [c.value for c in choices if isinstance(c, Literal) and isinstance(c.value, int)]
        case Binary(operator="and", left=left, right=right):
            return [*listed(key, left), *listed(key, right)]
    return []
