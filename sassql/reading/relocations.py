"""Relocated operands: the symbol in place of the zero that a word holds until it is linked."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import numpy.typing as npt

from sassql.isa.lines import table_lines
from sassql.model.form import TARGET_HOLE
from sassql.reading.elf import CodeSection, Relocation
from sassql.reading.table import WordTable
from sassql.reading.words import WORD_BYTES

_LAST_NUMBER = re.compile(r"-?0x[0-9a-f]+(?=[^,\[\]]*$)|(?<=, )-?\d[\d.e+-]*(?=\s*$)")
_CONSTANT = re.compile(r"\bc\[[^\]]*\] ?\[[^\]]*\]")
_BRACKET = re.compile(r"(?<![\w\]])\[([^\]]*)\]")


@cache
def _kinds() -> dict[int, str]:
    lines = table_lines("relocations.tsv")
    return {int(number): kind for number, kind in (line.split("\t") for line in lines)}


def apply(
    section: CodeSection,
    words: WordTable,
    rows: npt.NDArray[np.int32],
    targets: npt.NDArray[np.int64],
    symbols: dict[int, str],
) -> npt.NDArray[np.int32]:
    """Rows of a section with every relocated operand named.

    Call targets inside the section go to ``targets``, others to ``symbols``, both by instruction
    number. A type that the table does not have leaves the text as it is and names the symbol.
    """
    rows = rows.copy()
    starts = {function.name: function.start for function in section.functions}
    for relocation in section.relocations:
        index = relocation.offset // WORD_BYTES
        if not 0 <= index < len(rows):
            continue
        row = int(rows[index])
        form = words[row]
        kind = _kinds().get(relocation.type, "")
        if kind == "place":
            if relocation.symbol in starts:
                targets[index] = starts[relocation.symbol] + relocation.addend
            else:
                symbols[index] = relocation.symbol
            text = _with_place(form.text)
        else:
            text = _rewritten(form.text, kind, relocation)
            if not kind:
                symbols[index] = relocation.symbol
        if text != form.text:
            rows[index] = words.row_of_text(text, form.hidden)
    return rows


def _with_place(text: str) -> str:
    if TARGET_HOLE in text:
        return text
    return _LAST_NUMBER.sub(TARGET_HOLE, text) if _LAST_NUMBER.search(text) else f"{text} {TARGET_HOLE}"


def _rewritten(text: str, kind: str, relocation: Relocation) -> str:
    symbol, addend = relocation.symbol, relocation.addend
    name = f"({symbol} + {addend:#x})" if addend else symbol
    match kind:
        case "lo" | "hi":
            return _LAST_NUMBER.sub(lambda _: f"32@{kind}({name})", text, count=1)
        case "number":
            return _LAST_NUMBER.sub(lambda _: f"`({name})", text, count=1)
        case "constant":
            return _CONSTANT.sub(lambda _: f"c[`({name})]", text, count=1)
        case "address":
            return _BRACKET.sub(lambda m: f"[{m[1]}+`({name})]", text, count=1)
    return text
