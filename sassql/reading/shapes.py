"""Statements to shapes and forms: lark once per shape, a table for everything else."""

from __future__ import annotations

import hashlib
import re
from functools import cache

from sassql.model.form import Form, Shape
from sassql.model.register import Register
from sassql.resources import folder

HOLE = "#"
"""Stands for a number in a shape; no tool writes one."""

# A digit first, what stands before it afterwards: the search then skips from digit to digit, five times
# faster than a pattern that begins with the look-behind.
_NUMBER = re.compile(
    r"(\d(?:"
    r"(?<=(?<![.\w])[RPB]\d)\d*(?!\w)"  # R4, P0, B1; not the selector .B1
    r"|(?<=(?<![.\w])U[RP]\d)\d*(?!\w)"  # UR5, UP1
    r"|(?<![\w.@$]\d)(?:(?<=0)x[0-9a-f]+|\d*(?:\.\d+)?(?:e[+-]?\d+)?)(?!\w)"  # 0x10, 3, 1.5e-09
    r"))"
)


@cache
def grammar_digest() -> str:
    """Changes when any grammar does; part of the name of everything that is kept of a grammar."""
    grammars = sorted(folder("grammars").glob("*.lark"))
    return hashlib.sha256(b"".join(p.read_bytes() for p in grammars)).hexdigest()[:8]


class ShapeTable:
    """Shapes by text, shared by every architecture of a process."""

    def __init__(self) -> None:
        self._shapes: dict[str, Shape] = {}

    def __len__(self) -> int:
        return len(self._shapes)

    def form(self, text: str, hidden: tuple[Register, ...] = ()) -> Form:
        """The form of a statement without address, annotation and ``;``, its label operand a target hole."""
        if HOLE in text:  # it would be taken for a number
            return Form(text, Shape(text, problem=f"unexpected {HOLE!r}", column=text.index(HOLE) + 1), ())
        plain, reuse = strip_reuse(text)
        pieces = _NUMBER.split(plain)
        return Form(text, self.shape(HOLE.join(pieces[::2])), tuple(pieces[1::2]), reuse, hidden)

    def shape(self, text: str) -> Shape:
        """The shape of a statement whose numbers are holes already."""
        shape = self._shapes.get(text)
        if shape is None:
            from sassql.reading.grammar import parse_shape  # noqa: PLC0415  (lark costs 0.1 s, counting needs none)

            shape = self._shapes[text] = parse_shape(text)
        return shape


SHAPES = ShapeTable()


def number_holes(texts: list[str]) -> list[str]:
    """The shapes' texts of many statements, in one pass over all.

    >>> number_holes(["@P0 IMAD R2, R4.reuse, 0x10, R3", "EXIT"])
    ['@P# IMAD R#, R#, #, R#', 'EXIT']
    """
    return _NUMBER.sub(HOLE, "\n".join(texts).replace(".reuse", "")).split("\n") if texts else []


def strip_reuse(text: str) -> tuple[str, tuple[int, ...]]:
    """The statement without ``.reuse``, and the indices of the operands that had it."""
    if ".reuse" not in text:
        return text, ()
    mnemonic, operands = _split_head(text)
    slots = tuple(i for i, operand in enumerate(operands.split(",")) if ".reuse" in operand)
    return mnemonic + operands.replace(".reuse", ""), slots


def _split_head(text: str) -> tuple[str, str]:
    start = text.index(" ") + 1 if text.startswith("@") else 0
    end = text.find(" ", start)
    return (text, "") if end < 0 else (text[:end], text[end:])
