"""What a kernel does: its class by the rules of `patterns/classes.sq`, and its motifs of the vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from sassql.engine.classes import Classification, Rules
from sassql.lang.check import load
from sassql.model.kernel import Kernel
from sassql.model.rows import Row
from sassql.resources import folder

RULES = "classes.sq"
VOCABULARY = "vocabulary.tsv"
BUDGET = 600_000
"""Steps for a motif in a kernel: a library of thousands of kernels is not held up by one."""
MOST_PLACES = 64
"""Addresses that a motif of a record lists; ``count`` says how often it was found."""


@cache
def vocabulary() -> tuple[str, ...]:
    """The motifs that are reported, from `patterns/vocabulary.tsv`."""
    lines = (folder("patterns") / VOCABULARY).read_text("utf-8").splitlines()
    return tuple(line.split("\t")[0] for line in lines if line and not line.startswith(("#", "motif\t")))


@cache
def rules(path: Path | None = None) -> Rules:
    """The rules of a file, of the library that ships without one.

    Raises:
        PatternError: it cannot be read, does not parse or does not check.
    """
    return Rules([load(path or folder("patterns") / RULES)], motifs=vocabulary(), budget=BUDGET)


def classify(kernel: Kernel, *, path: Path | None = None) -> dict[str, Any]:
    """The record of a kernel: ``class``, ``status``, ``motifs`` with ``at``, their addresses.

    Motifs with equal columns are one entry with a ``count``.
    """
    return record(kernel, rules(path).classify(kernel))


def record(kernel: Kernel, found: Classification) -> dict[str, Any]:
    """A classification as plain values, with the field names of ``--format jsonl``."""
    motifs = [m for name in vocabulary() for m in _motifs(found.rows.get(name, []))]
    gave_up = any(row.status == "gave_up" for rows in found.rows.values() for row in rows)
    return {
        "file": kernel.source.file,
        "entry": kernel.source.entry,
        "kernel": kernel.name,
        "arch": kernel.arch,
        "class": found.name,
        "status": "gave_up" if gave_up and found.name == "unknown" else found.status,
        "instructions": len(kernel.form_ids),
        "opcodes": dict(kernel.forms.count_opcodes(kernel.form_ids).most_common()),
        "motifs": motifs,
    }


def _motifs(rows: list[Row]) -> list[dict[str, Any]]:
    """Rows of one motif, those with equal columns and status together."""
    together: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row.status == "gave_up":
            continue
        at = [i.address for found in row.instructions.values() for i in found]
        entry = together.setdefault(
            f"{row.status} {sorted(row.columns.items(), key=str)}",
            {"motif": row.motif, **row.columns, "status": row.status, "count": 0, "at": set()},
        )
        entry["count"] += 1
        entry["at"].update(at)
    for entry in together.values():
        entry["at"] = [f"{address:#x}" for address in sorted(entry["at"])[:MOST_PLACES]]
    return list(together.values())


def question() -> Callable[[Kernel], dict[str, Any]]:
    """`classify` for `sassql.corpus.batch`: loads the library once in each process."""
    rules()
    return classify
