"""Colours of a statement on a terminal, by the SASS lexer."""

from __future__ import annotations

from functools import lru_cache

from pygments.token import Comment, Keyword, Name, Number, Operator
from rich.text import Text

from sassql.highlight.lexers import SassLexer

_STYLES = {
    Name.Function: "bold",
    Name.Decorator: "dim",
    Name.Variable: "cyan",
    Name.Builtin: "magenta",
    Name.Label: "yellow",
    Keyword: "magenta",
    Keyword.Type: "green",
    Number: "yellow",
    Operator: "default",
    Comment: "dim",
}
_LEXER = SassLexer(stripnl=False, ensurenl=False)


@lru_cache(maxsize=4096)
def _styled(text: str) -> tuple[tuple[str, str], ...]:
    found = []
    for kind, value in _LEXER.get_tokens(text):
        style = next((_STYLES[k] for k in reversed(kind.split()) if k in _STYLES), "")
        found.append((value, style))
    return tuple(found)


def colored(text: str, style: str) -> Text:
    """A statement in colours; ``style`` is what all of it has besides, of a branch or padding."""
    line = Text(style=style)
    for value, own in _styled(text):
        line.append(value, style="" if style else own)
    return line
