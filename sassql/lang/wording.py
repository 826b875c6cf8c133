"""Expressions as text, the way a pattern writes them."""

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
