"""Which tokens of a pattern stand side by side, and which have a blank between them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from sassql.lang.format.pieces import Piece
from sassql.lang.messages import ITEM_WORDS


class Role(Enum):
    """What a sign is where it stands: the grammar uses some signs for several things."""

    PLAIN = "plain"
    BLOCK = "block"
    """``{`` and ``}`` around statements."""
    CONDITIONS = "conditions"
    """``{ op == <add> }`` of a test."""
    LIST = "list"
    """``in {2, 4}``."""
    SET = "set"
    """``{4,3}``, scoreboards."""
    CHOICE = "choice"
    """``.{BFLY|DOWN}``."""
    OR = "or"
    """``FADD|FMUL``."""
    WIDE_OR = "wide or"
    """``class <a> = <b> | <c>``."""
    OPEN = "open"
    CLOSE = "close"
    """The two bars of ``|%x|``."""
    UNARY = "unary"
    TERM = "term"
    """``+`` and ``-`` between brackets."""
    COUNT = "count"
    """``+`` of ``chain 2+``."""
    LABEL = "label"
    """``:`` behind a label."""
    CALL = "call"
    """``(`` behind what is called."""
    SEPARATOR = "separator"
    """``,`` of a set."""


ALTERNATIVES = frozenset({"OPNAME", "CLASS"})
_NO_BLANK_BEFORE = frozenset({"COMMA", "RPAR", "RSQB", "SUFFIX", "ABSENT", "SEMI"})
_NO_BLANK_BEHIND = frozenset({"LPAR", "LSQB", "AT", "NOT", "ROLE"})
_CALLABLE = frozenset(
    {"IDENT", "OPNAME", "LOOP", "CLASS", "SUFFIX", "RPAR", "VALUE", "INTEGER", "PLACE", "NUMBER", "STRING"}
)
_ENDS_OPERAND = _CALLABLE | {"RBRACE"}
_TIGHT_BOTH = frozenset({Role.OR, Role.TERM})
_TIGHT_BEFORE = frozenset({Role.CLOSE, Role.COUNT, Role.LABEL, Role.CALL})
_TIGHT_BEHIND = frozenset({Role.OPEN, Role.UNARY, Role.SEPARATOR})
_TIGHT_INSIDE = frozenset({Role.LIST, Role.SET, Role.CHOICE})


def roles(found: Sequence[Piece]) -> list[Role]:
    """The role of each piece."""
    return _Reader(found).run()


def blank(before: Piece, role_before: Role, piece: Piece, role: Role) -> bool:
    """True where a blank stands between two pieces of one line."""
    if piece.type in _NO_BLANK_BEFORE or before.type in _NO_BLANK_BEHIND:
        return False
    if piece.text in (".{", "..") or before.text == "..":
        return False
    if role in _TIGHT_BEFORE or role_before in _TIGHT_BEHIND:
        return False
    if role in _TIGHT_BOTH or role_before in _TIGHT_BOTH:
        return False
    if role in _TIGHT_INSIDE and piece.text == "}":
        return False
    if role_before in _TIGHT_INSIDE and before.text != "}":
        return False
    opens_bracket = piece.type == "LSQB"
    return not (opens_bracket and before.type in ("SPACE", "WORD", "RSQB"))


class _Reader:
    """One pass over the pieces with what is open: braces, brackets, an absolute operand."""

    def __init__(self, found: Sequence[Piece]) -> None:
        self.found = found
        self.braces: list[Role] = []
        self.brackets = 0
        self.absolute = False
        self.item = ""
        self.first = 0
        """Where the statement began."""

    def run(self) -> list[Role]:
        return [self._role(place) for place in range(len(self.found))]

    def _role(self, place: int) -> Role:
        piece = self.found[place]
        before = self.found[place - 1] if place else None
        if not self.braces and piece.text in ITEM_WORDS and piece.type != "IDENT":
            self.item, self.first = piece.text, place
        if piece.separated or (before is not None and before.text in ("{", "}") and self._in_block()):
            self.first = place
        match piece.type:
            case "LBRACE" | "RBRACE":
                return self._brace(place)
            case "VBAR":
                return self._bar(place)
            case "LSQB":
                self.brackets += 1
            case "RSQB":
                self.brackets -= 1
            case "LPAR":
                return Role.CALL if before is not None and before.type in _CALLABLE else Role.PLAIN
            case "COLON":
                return Role.LABEL if self._is_label(place) else Role.PLAIN
            case "COMMA":
                return Role.SEPARATOR if self.braces[-1:] == [Role.SET] else Role.PLAIN
            case "PLUS" | "MINUS" | "SIGN":
                return self._sign(piece, before)
        if piece.text == ".{":
            self.braces.append(Role.CHOICE)
            return Role.CHOICE
        return Role.PLAIN

    def _in_block(self) -> bool:
        return not self.braces or self.braces[-1] is Role.BLOCK

    def _is_label(self, place: int) -> bool:
        """``name:`` in front of an opcode, also behind `every` and `no`."""
        if place == self.first + 1:
            return True
        return place == self.first + 2 and self.found[self.first].text in ("every", "no")

    def _brace(self, place: int) -> Role:
        if self.found[place].type == "RBRACE":
            return self.braces.pop() if self.braces else Role.BLOCK
        before = self.found[place - 1] if place else None
        role = Role.BLOCK
        if before is not None and before.text == "in":
            role = Role.LIST
        elif before is not None and before.type == "COMMA":
            role = Role.SET
        elif self.item == "test" and not self.braces:
            role = Role.CONDITIONS
        self.braces.append(role)
        return role

    def _bar(self, place: int) -> Role:
        if self.braces and self.braces[-1] is Role.CHOICE:
            return Role.OR
        if self.absolute:
            self.absolute = False
            return Role.CLOSE
        if self.found[place + 1].type in ALTERNATIVES:
            return Role.WIDE_OR if self.item == "class" and not self.braces else Role.OR
        self.absolute = True
        return Role.OPEN

    def _sign(self, piece: Piece, before: Piece | None) -> Role:
        if self.brackets:
            return Role.TERM
        if piece.type == "SIGN" or before is None:
            return Role.UNARY
        if piece.type == "PLUS" and self.found[self.first].text == "chain":
            return Role.COUNT
        return Role.PLAIN if before.type in _ENDS_OPERAND else Role.UNARY
