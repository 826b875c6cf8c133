"""What a reader who only counts opcodes would report: the number that motifs have to beat.

Each motif is reported where certain opcodes are in the kernel, whatever flows between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from sassql.resources import folder
from sassql.testing.truth import read_rows

Record = Mapping[str, Any]


@cache
def _needs() -> tuple[tuple[str, tuple[tuple[str, int], ...], tuple[str, ...]], ...]:
    """Motif, opcodes with the least count, opcodes that must not be there."""
    found = []
    for row in read_rows(folder("patterns") / "baseline.tsv"):
        needs = tuple(
            (name, int(count or 1))
            for name, _, count in (word.partition(":") for word in row["needs"].split())
        )
        found.append((row["motif"], needs, tuple((row["not"] or "").split())))
    return tuple(found)


def baseline(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """Records with the motifs that opcodes alone suggest; each has its ``opcodes``, a count by name."""
    for record in records:
        opcodes: Mapping[str, int] = record.get("opcodes", {})
        motifs = [
            {"motif": motif, "status": "match", "at": []}
            for motif, needs, absent in _needs()
            if all(_count(opcodes, name) >= least for name, least in needs)
            and not any(_count(opcodes, name) for name in absent)
        ]
        yield {**record, "motifs": motifs}


def _count(opcodes: Mapping[str, int], names: str) -> int:
    """How often any of ``A|B`` is there."""
    return sum(opcodes.get(name, 0) for name in names.split("|"))
