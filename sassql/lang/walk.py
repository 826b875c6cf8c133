"""Ways through a syntax tree: statements with their blocks, names, expressions."""

from __future__ import annotations

from collections.abc import Iterator

from sassql.lang.ast import (
    Attribute,
    Binary,
    Brackets,
    Call,
    Chain,
    Claim,
    ClassUse,
    Either,
    Emit,
    Every,
    Expression,
    Flow,
    For,
    GuardPattern,
    IntegerOperand,
    Line,
    Loop,
    Matches,
    Membership,
    Motif,
    Name,
    No,
    Opcode,
    OperandPattern,
    Opset,
    Opt,
    Path,
    PatternFile,
    Slice,
    Statement,
    Unary,
    Use,
    ValueOperand,
    Where,
)


def blocks(statement: Statement) -> tuple[tuple[Statement, ...], ...]:
    """The bodies directly inside a statement."""
    match statement:
        case For() | Loop() | Chain() | Opt() | No():
            return (statement.body,)
        case Either(branches=branches):
            return branches
        case Every(line=line, body=body):
            return ((line, *body),)
    return ()


def statements(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Every statement of a body, those of inner blocks right behind the block."""
    for statement in body:
        yield statement
        for inner in blocks(statement):
            yield from statements(inner)


def lines(body: tuple[Statement, ...]) -> Iterator[Line]:
    """Every line of a body and its inner blocks."""
    return (s for s in statements(body) if isinstance(s, Line))


def operand_names(operands: tuple[OperandPattern, ...]) -> Iterator[Name]:
    """Names in operands, from left to right."""
    for operand in operands:
        match operand.core:
            case ValueOperand(name=name) | IntegerOperand(name=name):
                yield name
            case Brackets(terms=terms):
                yield from (term for term in terms if isinstance(term, Name))


def line_names(line: Line) -> Iterator[Name]:
    """Names that a line binds: its guard's and its operands'."""
    match line.guard:
        case GuardPattern(predicate=Name() as name):
            yield name
    yield from operand_names(line.operands)


def expressions(statement: Statement) -> tuple[Expression, ...]:
    """The expressions directly in a statement."""
    match statement:
        case Where(condition=condition):
            return (condition,)
        case Emit(columns=columns):
            return tuple(column.value for column in columns)
        case For(init=init, condition=condition, step=step):
            return (init, condition, step)
        case Use(inputs=inputs):
            return inputs
    return ()


def parts(expression: Expression) -> Iterator[Expression]:
    """An expression and everything inside it."""
    yield expression
    match expression:
        case Attribute(base=base):
            yield from parts(base)
        case Call(function=function, arguments=arguments):
            for part in (function, *arguments):
                yield from parts(part)
        case Unary(operand=operand):
            yield from parts(operand)
        case Binary(left=left, right=right):
            yield from parts(left)
            yield from parts(right)
        case Membership(item=item, choices=choices):
            for part in (item, *choices):
                yield from parts(part)
        case Matches(item=item):
            yield from parts(item)


def expression_names(expression: Expression) -> Iterator[Name]:
    """The names ``%x``, ``#n``, ``&A`` in an expression."""
    return (part for part in parts(expression) if isinstance(part, Name))


def claims(statement: Statement) -> tuple[Claim, ...]:
    """The claims of a relation."""
    return statement.claims if isinstance(statement, Slice | Path) else ()


def opsets(file: PatternFile) -> Iterator[Opset]:
    """Every opset of a file: in class definitions, lines, flows and claims."""
    for definition in file.classes:
        yield definition.opset
    for motif in file.motifs:
        for statement in statements(motif.body):
            match statement:
                case Line(opset=opset) | Flow(through=opset):
                    yield opset
            for claim in claims(statement):
                yield claim.opset


def opcodes(file: PatternFile) -> Iterator[Opcode | ClassUse]:
    """Every opcode and class that a file writes."""
    return (opcode for opset in opsets(file) for opcode in opset)


def labels(motif: Motif) -> dict[str, Line]:
    """The labelled lines of a motif."""
    return {line.label: line for line in lines(motif.body) if line.label}
