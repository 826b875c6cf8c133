"""What nvdisasm marked, one instruction for each mnemonic and operand shape: `tests/isa/observed.tsv`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from sassql.model.instruction import Instruction
from sassql.reading.shapes import SHAPES

HEADER = "arch\ttext\thidden\tdefs\tuses"

_GUARD = re.compile(r"^@\S+ ")
_SIGN = re.compile(r"[-~|!]")
_SYMBOL = re.compile(r"(@(?:lo|hi))\(.*\)")


def shape_key(shape: str) -> str:
    """A shape without guard, signs and names of symbols, none of which changes the registers.

    >>> shape_key("@!P# FADD R#, -R#, |R#|")
    'FADD R#, R#, R#'
    """
    mnemonic, _, operands = _SYMBOL.sub(r"\1(f)", _GUARD.sub("", shape)).partition(" ")
    return f"{mnemonic} {_SIGN.sub('', operands)}".strip()


def compact(names: Iterable[object]) -> str:
    """Registers in order, three and more in a row as a range: ``R2 R4-R7 UP0``."""
    found = sorted((re.sub(r"\d", "", str(n)), int(re.sub(r"\D", "", str(n)))) for n in names)
    words = []
    for _, group in groupby(enumerate(found), lambda pair: (pair[1][0], pair[1][1] - pair[0])):
        run = [f"{file}{index}" for _, (file, index) in group]
        words += run if len(run) < 3 else [f"{run[0]}-{run[-1]}"]
    return " ".join(words)


class Observations:
    """Rows by key; one that is there is kept, so that the file changes as little as it can."""

    def __init__(self) -> None:
        self.rows: dict[str, str] = {}

    def read(self, path: Path) -> None:
        """Add the rows of a file."""
        for line in path.read_text("utf-8").splitlines()[1:]:
            self.rows.setdefault(shape_key(SHAPES.form(line.split("\t")[1]).shape.text), line)

    def add(self, ins: Instruction, defs: Iterable[str], uses: Iterable[str]) -> None:
        """Keep the instruction if it is the first of its shape."""
        key = shape_key(ins.form.shape.text)
        if key not in self.rows:
            text = _SYMBOL.sub(r"\1(f)", ins.form.text)
            fields = (ins.kernel.arch, text, compact(ins.form.hidden), compact(defs), compact(uses))
            self.rows[key] = "\t".join(fields)

    def write(self, path: Path) -> None:
        """All rows, sorted, with those that the file has already."""
        if path.exists():
            before = Observations()
            before.read(path)
            self.rows |= before.rows
        path.write_text("\n".join([HEADER, *sorted(self.rows.values())]) + "\n", "utf-8")
