"""How new and how common an opcode is, from `data/opcodes_seen.tsv`: for remarks about patterns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from sassql.isa.lines import table_lines


@dataclass(frozen=True, slots=True)
class Seen:
    """``first`` is the oldest generation (75 for sm_70 to sm_75), ``share`` the part of all instructions."""

    first: int
    share: float


@cache
def _table() -> dict[str, Seen]:
    rows = [line.split("\t") for line in table_lines("opcodes_seen.tsv")]
    return {opcode: Seen(int(first), int(share) / 1000) for opcode, first, share in rows}


def seen(opcode: str) -> Seen | None:
    """What the sample says about an opcode; None for one that it never had.

    >>> seen("HGMMA").first
    90
    """
    return _table().get(opcode)
