"""What a multiprocessor offers to resident blocks, from `data/multiprocessors.tsv`."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class Multiprocessor:
    """Limits of one multiprocessor (SM); the columns of the table. Memory is in bytes."""

    registers: int
    warps: int
    blocks: int
    shared: int
    block_shared: int
    kept: int
    shared_unit: int
    register_unit: int
    partitions: int


@cache
def _table() -> dict[str, Multiprocessor]:
    text = resources.files("sassql.isa").joinpath("data/multiprocessors.tsv").read_text("utf-8")
    rows = csv.DictReader((line for line in text.splitlines() if not line.startswith("#")), delimiter="\t")
    return {row.pop("arch"): Multiprocessor(**{k: int(v) for k, v in row.items()}) for row in rows}


def multiprocessor(arch: str) -> Multiprocessor | None:
    """The limits of an architecture; None for one that the table does not have.

    >>> multiprocessor("sm_90a").warps
    64
    """
    return _table().get(re.sub(r"[a-z]$", "", arch))
