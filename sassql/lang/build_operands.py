"""Opcodes, operands and expressions of a pattern: the lower half of the tree builder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from lark import Token, Transformer, v_args
from lark.tree import Meta

from sassql.errors import PatternError, Place
from sassql.lang import ast
from sassql.lang.ast import Position, Sigil

_SPECIAL = {"INF": float("inf"), "QNAN": float("nan"), "SNAN": float("nan")}
_ZERO = {"RZ": "R", "URZ": "UR", "PT": "P", "UPT": "UP"}

Children = list[Any]
Kind = TypeVar("Kind")


def number(text: str) -> int | float:
    """The value of a number as listings write it."""
    if text.startswith("0x"):
        return int(text, 16)
    return float(text) if "." in text or "e" in text else int(text)


def unquote(text: str) -> str:
    """A string literal without quotes and escapes."""
    return text[1:-1].replace('\\"', '"').replace("\\\\", "\\")


def position(place: Meta | Token) -> Position:
    """Where a rule or token begins."""
    return Position(place.line or 1, place.column or 1)


def some(children: Children, kind: type[Kind]) -> tuple[Kind, ...]:
    """The children of one class."""
    return tuple(child for child in children if isinstance(child, kind))


def texts(children: Children) -> tuple[str, ...]:
    """The children that are there, as text."""
    return tuple(str(child) for child in children if child is not None)


@dataclass(frozen=True, slots=True)
class _Absolute:
    signs: str
    core: ast.Core


def _name(token: Token) -> ast.Name:
    primed = token.endswith("'")
    return ast.Name(Sigil(token[0]), token[1:].removesuffix("'"), primed, position(token))


@v_args(meta=True)
class OperandBuilder(Transformer[Token, Any]):
    """Rules below statements; ``file`` and ``text`` serve error messages."""

    def __init__(self, file: str, text: str) -> None:
        super().__init__()
        self._file = file
        self._text = text

    # --- opcodes and operands

    def opset(self, meta: Meta, children: Children) -> ast.Opset:
        found: ast.Opset = ()
        for child in children:
            found += child if isinstance(child, tuple) else (child,)
        return found

    def opcode(self, meta: Meta, children: Children) -> ast.Opcode:
        return ast.Opcode(str(children[0]), tuple(children[1:]), position(meta))

    def group(self, meta: Meta, children: Children) -> ast.ClassUse:
        return ast.ClassUse(children[0][1:-1], tuple(children[1:]), position(meta))

    def modifier(self, meta: Meta, children: Children) -> ast.Modifier:
        first = children[0]
        if first.type == "ABSENT":
            return ast.Modifier((first[2:],), True, position(meta))
        texts = tuple(child.removeprefix(".") for child in children)
        return ast.Modifier(texts, False, position(meta))

    def operand(self, meta: Meta, children: Children) -> ast.OperandPattern:
        signs = "".join(t for t in children if isinstance(t, Token) and t.type == "SIGN")
        role = next((t.rstrip("= \t") for t in children if isinstance(t, Token) and t.type == "ROLE"), "")
        core = children[-1]
        absolute = isinstance(core, _Absolute)
        if isinstance(core, _Absolute):
            signs, core = signs + core.signs, core.core
        if isinstance(core, ast.Name):
            core = ast.IntegerOperand(core)
        if isinstance(core, ast.NumberOperand) and "-" in signs:
            core, signs = ast.NumberOperand(-core.value), signs.replace("-", "", 1)
        inverted = "~" in signs or "!" in signs
        return ast.OperandPattern(role, "-" in signs, absolute, inverted, core, position(meta))

    def absolute(self, meta: Meta, children: Children) -> _Absolute:
        signs = "".join(t for t in children if isinstance(t, Token) and t.type == "SIGN")
        core = next(child for child in children if not isinstance(child, Token))
        return _Absolute(signs, core)

    def part(self, meta: Meta, children: Children) -> ast.ValueOperand:
        token, *suffixes = children
        return ast.ValueOperand(_name(token), tuple(s[1:] for s in suffixes))

    def register(self, meta: Meta, children: Children) -> ast.RegisterName:
        token = children[0]
        if token in _ZERO:
            return ast.RegisterName(_ZERO[token], None)
        self._no_hole(token)
        file = token.rstrip("0123456789")
        return ast.RegisterName(file, int(token[len(file) :]))

    def number(self, meta: Meta, children: Children) -> ast.NumberOperand:
        self._no_hole(children[0])
        return ast.NumberOperand(number(children[0]))

    def special(self, meta: Meta, children: Children) -> ast.NumberOperand:
        return ast.NumberOperand(_SPECIAL[children[0]])

    def word(self, meta: Meta, children: Children) -> ast.Word:
        return ast.Word("".join(texts(children)))

    def wildcard(self, meta: Meta, children: Children) -> ast.Anything:
        return ast.Anything()

    def label(self, meta: Meta, children: Children) -> ast.OtherOperand:
        return ast.OtherOperand(str(children[0]))

    reloc = label

    def set(self, meta: Meta, children: Children) -> ast.OperandPattern:
        core = ast.OtherOperand("{" + ",".join(children) + "}")
        return ast.OperandPattern("", False, False, False, core, position(meta))

    def offset(self, meta: Meta, children: Children) -> int:
        self._no_hole(children[-1])
        value = int(number(children[-1]))
        return -value if len(children) > 1 and children[0] == "-" else value

    def bracket(self, meta: Meta, children: Children) -> ast.Brackets:
        terms = [c.name if isinstance(c, ast.ValueOperand) else c for c in children]
        named = tuple(c for c in terms if isinstance(c, ast.Name | ast.RegisterName))
        offset = sum(c for c in terms if isinstance(c, int))
        return ast.Brackets("", named, offset, any(isinstance(c, ast.Anything) for c in terms))

    def address(self, meta: Meta, children: Children) -> ast.Brackets:
        brackets: ast.Brackets = children[0]
        return brackets

    def indexed(self, meta: Meta, children: Children) -> ast.Core:
        space, brackets = str(children[0]), some(children, ast.Brackets)
        if space == "c" and len(brackets) == 2 and not any(b.terms or b.anything for b in brackets):
            return ast.ConstantBank(brackets[0].offset, brackets[1].offset)
        if space in ("c", "cx"):
            return ast.OtherOperand(f"{space}[…][…]")
        last = brackets[-1]
        return ast.Brackets(space, last.terms, last.offset, last.anything)

    # --- expressions

    def arguments(self, meta: Meta, children: Children) -> tuple[ast.Expression, ...]:
        return tuple(children)

    def value(self, meta: Meta, children: Children) -> ast.Name:
        return _name(children[0])

    integer = value
    place = value

    def symbol(self, meta: Meta, children: Children) -> ast.Symbol:
        return ast.Symbol(str(children[0]), position(meta))

    def literal_word(self, meta: Meta, children: Children) -> ast.Literal:
        return ast.Literal(str(children[0]), position(meta))

    def literal_number(self, meta: Meta, children: Children) -> ast.Literal:
        self._no_hole(children[0])
        return ast.Literal(number(children[0]), position(meta))

    def literal_string(self, meta: Meta, children: Children) -> ast.Literal:
        return ast.Literal(unquote(children[0]), position(meta))

    def literal_class(self, meta: Meta, children: Children) -> ast.ClassLiteral:
        return ast.ClassLiteral(children[0][1:-1], position(meta))

    def attribute(self, meta: Meta, children: Children) -> ast.Attribute:
        return ast.Attribute(children[0], children[1][1:], position(children[1]))

    def call(self, meta: Meta, children: Children) -> ast.Call:
        return ast.Call(children[0], children[1] or (), position(meta))

    def minus(self, meta: Meta, children: Children) -> ast.Unary:
        return ast.Unary("-", children[-1], position(meta))

    def negation(self, meta: Meta, children: Children) -> ast.Unary:
        return ast.Unary("not", children[-1], position(meta))

    def arithmetic(self, meta: Meta, children: Children) -> ast.Binary:
        left, operator, right = children
        return ast.Binary(str(operator), left, right, position(meta))

    compare = arithmetic

    def either_of(self, meta: Meta, children: Children) -> ast.Binary:
        return ast.Binary("or", children[0], children[1], position(meta))

    def both(self, meta: Meta, children: Children) -> ast.Binary:
        return ast.Binary("and", children[0], children[1], position(meta))

    def member(self, meta: Meta, children: Children) -> ast.Membership:
        return ast.Membership(children[0], tuple(children[1:]), position(meta))

    def matches(self, meta: Meta, children: Children) -> ast.Matches:
        return ast.Matches(children[0], children[1][1:-1], position(meta))

    def _no_hole(self, token: Token) -> None:
        """`#` is a hole in the reader's shapes, never a number of a pattern."""
        if "#" in token:
            place = Place(self._file, token.line, token.column)
            line = self._text.splitlines()[(token.line or 1) - 1]
            message = f"`{token}` is not a number"
            raise PatternError(message, place=place, hint="name it, as in `#n`", source_line=line)
