"""Rows and conditions as text for people."""

from __future__ import annotations

from sassql.lang.ast import (
    Attribute,
    Binary,
    Call,
    ClassLiteral,
    Expression,
    Literal,
    Matches,
    Membership,
    Name,
    Symbol,
    Unary,
)
from sassql.model.rows import Row


def condition_text(expression: Expression) -> str:
    """An expression as the pattern writes it."""
    match expression:
        case Literal(value=value) | Symbol(name=value):
            return str(value)
        case ClassLiteral(name=name):
            return f"<{name}>"
        case Name():
            return str(expression)
        case Attribute(base=base, name=name):
            return f"{condition_text(base)}.{name}"
        case Call(function=function, arguments=arguments):
            return f"{condition_text(function)}({', '.join(map(condition_text, arguments))})"
        case Unary(operator=operator, operand=operand):
            return f"{operator}{' ' if operator == 'not' else ''}{condition_text(operand)}"
        case Binary(operator=operator, left=left, right=right):
            return f"{condition_text(left)} {operator} {condition_text(right)}"
        case Membership(item=item, choices=choices):
            return f"{condition_text(item)} in {{{', '.join(map(condition_text, choices))}}}"
        case Matches(item=item, pattern=pattern):
            return f"{condition_text(item)} matches /{pattern}/"


def row_text(row: Row) -> str:
    """Columns and places of a row in one line."""
    columns = " ".join(f"{name}={'?' if value is None else value}" for name, value in row.columns.items())
    places = " ".join(
        f"{label}@{','.join(f'{i.address:#x}' for i in found)}" for label, found in row.instructions.items()
    )
    status = "" if row.status == "match" else f"[{row.status}: {row.reason}] "
    return f"{status}{columns}  {places}".strip()
