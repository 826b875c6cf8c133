"""The formatter of `.sq` files: one way to write a pattern; comments, listings and line breaks are kept.

>>> print(formatted("motif m{a:FADD %x ,%y;emit op=a.op}"), end="")
motif m { a: FADD %x, %y ; emit op = a.op }
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from sassql.errors import PatternError
from sassql.lang.ast import PatternFile, Position, Test
from sassql.lang.format.layout import layout
from sassql.lang.parse import parse

__all__ = ["formatted", "meaning", "without_places"]


def formatted(text: str, file: str = "<text>") -> str:
    """The text in the one way to write it.

    Raises:
        PatternError: the text does not parse, or, which would be a mistake of the formatter, the
            result does not say the same.
    """
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    before = meaning(parse(text, file))
    result = layout(text)
    if meaning(parse(result, file)) != before:
        raise PatternError(
            f"{file} cannot be formatted", hint="this is a mistake of the formatter: report it"
        )
    return result


def meaning(file: PatternFile) -> object:
    """A syntax tree without places: equal for two texts that say the same."""
    return tuple(without_places(getattr(file, name)) for name in ("classes", "motifs", "classifies", "tests"))


def without_places(node: object) -> object:
    """A part of a syntax tree as tuples, positions left out: equal where two parts say the same."""
    if isinstance(node, tuple):
        return tuple(map(without_places, node))
    if isinstance(node, Position):
        return None
    if is_dataclass(node) and not isinstance(node, type):
        kept = (f.name for f in fields(node) if not (isinstance(node, Test) and f.name == "listing_line"))
        return (type(node).__name__, *(without_places(getattr(node, name)) for name in kept))
    return node
