"""A `.sq` text as tokens, with the comments and line breaks between them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sassql.lang.parse import grammar

_GAP = re.compile(r"(?P<line>//[^\n]*)|(?P<block>/\*[\s\S]*?\*/)|(?P<newline>\n)|(?P<end>;)")
_SEPARATOR = "_SEP"


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment; ``newlines`` are those in front of it, ``line`` is true for ``//``."""

    text: str
    newlines: int
    line: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """One token with what stands in front of it.

    ``type`` is the name of its terminal in `grammars/sq.lark`, or ``$END``. ``newlines`` counts
    the line breaks between the last comment (or the token before) and this token. ``separated`` is true
    where a statement ended in front of it.
    """

    type: str
    text: str
    comments: tuple[Comment, ...] = ()
    newlines: int = 0
    separated: bool = False

    @property
    def breaks(self) -> bool:
        """True where the author put it into another line than the token before it."""
        return self.newlines > 0 or any(c.newlines or c.line for c in self.comments)


def pieces(text: str) -> list[Piece]:
    """The tokens of a text that parses, and ``$END`` behind them, which holds the last comments."""
    found: list[Piece] = []
    place, separated = 0, False
    for token in grammar().parse_interactive(text).exhaust_lexer():
        if token.type == _SEPARATOR:
            separated = True
            continue
        start = token.start_pos or 0
        found.append(_piece(token.type, str(token), text[place:start], separated))
        place, separated = start + len(token), False
    found.append(_piece("$END", "", text[place:], separated))
    return found


def _piece(kind: str, text: str, gap: str, separated: bool) -> Piece:
    comments: list[Comment] = []
    newlines = 0
    for match in _GAP.finditer(gap):
        if match["newline"]:
            newlines += 1
        elif not match["end"]:
            told = match[0].rstrip() if match["line"] else match[0]
            comments.append(Comment(told, newlines, bool(match["line"])))
            newlines = 0
    return Piece(kind, text, tuple(comments), newlines, separated)
