"""What the modifiers of an access promise about other accesses, from `data/promises.tsv`."""

from __future__ import annotations

from functools import cache

from sassql.isa.lines import table_lines
from sassql.model.form import Form

READ_ONLY, WATCHED = "read_only", "watched"


@cache
def _table() -> dict[str, str]:
    return dict(line.split("\t") for line in table_lines("promises.tsv"))


def promises_of(form: Form) -> frozenset[str]:
    """The promises of a form.

    >>> from sassql.reading.shapes import SHAPES
    >>> promises_of(SHAPES.form("LDG.E.CONSTANT R9, desc[UR4][R8.64]"))
    frozenset({'read_only'})
    """
    return frozenset(_table()[m] for m in form.modifiers if m in _table())
