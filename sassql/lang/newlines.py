"""Which newlines and semicolons of a `.sq` file end a statement."""

from __future__ import annotations

from collections.abc import Iterator

from lark import Token

_OPENING = frozenset({"LPAR", "LSQB"})
_CLOSING = frozenset({"RPAR", "RSQB"})
_UNFINISHED = frozenset(
    {
        *("LBRACE", "COMMA", "EQUAL", "VBAR", "COLON", "PLUS", "MINUS", "TIMES", "DIVIDE", "COMPARE"),
        *("OR", "AND", "NOT", "IN", "VIA", "MATCHES", "ROLE"),
    }
)
"""Tokens behind which a statement goes on in the next line."""


_ALTERNATIVES = frozenset({"OPNAME", "CLASS", "MODIFIER"})
"""What follows a ``|`` between opcodes; behind any other ``|`` an absolute operand goes on."""


class Newlines:
    """Post-lexer for lark: passes on one ``_SEP`` where a statement ends, and no other newline.

    Outside of braces nothing ends at a newline: motifs, classes and tests begin with a word
    that can begin nothing else.
    """

    always_accept = ("_NEWLINE", "SEMI", "IDENT")
    """Terminals that every state of the lexer knows; with ``IDENT`` a keyword never matches half a word."""

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        parentheses = braces = 0
        absolute = False
        last = ""
        for token in stream:
            kind = token.type
            if kind in ("_NEWLINE", "SEMI"):
                if parentheses:
                    if kind == "SEMI":
                        yield token
                    continue
                if not braces or last in _UNFINISHED or last == "_SEP":
                    continue
                kind = "_SEP"
                token = Token.new_borrow_pos(kind, str(token), token)  # noqa: PLW2901
            parentheses = max(0, parentheses + (kind in _OPENING) - (kind in _CLOSING))
            if token.endswith("{") and kind != "LISTING":
                braces += 1
                kind = "LBRACE"
            elif token == "}":
                braces -= 1
            if last == "VBAR" and kind not in _ALTERNATIVES:
                absolute = True
            if kind == "VBAR" and absolute:
                absolute = False
                kind = "_CLOSED"  # the second bar of `|%x|` ends an operand, it does not go on
            last = kind
            yield token
