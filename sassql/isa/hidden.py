"""Registers that the text of an instruction does not print, from `data/hidden.tsv`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from sassql.isa.lines import table_lines
from sassql.model.register import Register, span

_ZERO_UNIFORM = 63


@dataclass(frozen=True, slots=True)
class _Row:
    opcodes: frozenset[str]
    bit: int
    width: int
    file: str
    needs: tuple[str, ...]
    unless: str


@cache
def _rows(sm: int) -> tuple[_Row, ...]:
    lines = table_lines("hidden.tsv")
    found = []
    for line in lines:
        first, last, opcodes, bit, width, file, needs, unless = line.split("\t")
        if int(first) <= sm <= int(last):
            found.append(
                _Row(
                    frozenset(opcodes.split("|")), int(bit), int(width), file, tuple(needs.split("|")), unless
                )
            )
    return tuple(found)


def may_hide(arch: str) -> bool:
    """True where any instruction of ``arch`` holds registers that its text leaves out."""
    return bool(_rows_of(arch))


@cache
def _rows_of(arch: str) -> tuple[_Row, ...]:
    return _rows(int(re.sub(r"\D", "", arch) or 0))


def hidden_registers(arch: str, text: str, word: tuple[int, int] | None) -> tuple[Register, ...]:
    """Registers that the word holds and the text leaves out; none where the word is not known.

    ``word`` is the low and the high half of the instruction word.
    """
    rows = _rows_of(arch)
    if not rows or word is None:
        return ()
    opcode = (text.partition(" ")[2] if text.startswith("@") else text).split(" ")[0].split(".")[0]
    for row in rows:
        if opcode in row.opcodes and any(n in text for n in row.needs) and row.unless not in text:
            index = (word[0] | word[1] << 64) >> row.bit & 63
            return () if index == _ZERO_UNIFORM else span(row.file, index, row.width)
    return ()
