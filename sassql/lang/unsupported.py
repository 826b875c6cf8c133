"""SQ001: constructs of the language that this version of the engine does not evaluate.

They parse, and they are refused here with one line each: a motif that says what it wants must
never run as if it did not. A later version deletes entries of this module, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

from sassql.lang.ast import Line, OperandPattern, OtherOperand, PatternFile
from sassql.lang.findings import Told, check
from sassql.lang.walk import claims, statements


def refusal(construct: str) -> str:
    """The sentence of this check."""
    return f"`{construct}` is in the language but not in this version of the engine"


@check("SQ001", "not-in-this-version")
def not_in_this_version(file: PatternFile) -> Iterator[Told]:
    """Write the motif without it, or wait for the version that has it: docs/language.md lists what works."""
    for motif in file.motifs:
        for statement in statements(motif.body):
            if isinstance(statement, Line):
                yield from _operands(statement.operands)
            for claim in claims(statement):
                yield from _operands(claim.operands)


def _operands(operands: tuple[OperandPattern, ...]) -> Iterator[Told]:
    for operand in operands:
        match operand.core:
            case OtherOperand(text=text):
                yield refusal(text), operand.at, "write `_` in its place"
