"""The motifs of a kernel, as `sassql classify` prints them or as the rows of a folder of patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sassql.engine.pattern import Pattern
from sassql.errors import UsageError
from sassql.insight.classify import question
from sassql.lang.parse import parse_file
from sassql.model.kernel import Kernel
from sassql.model.rows import Row
from sassql.report.document import Motif

Records = Callable[[Kernel], Mapping[str, Any]]
"""Makes the record of one kernel: class, status, motifs."""


def records_of(patterns: Sequence[Path]) -> Records:
    """Records made of the rows of pattern files; no class is given."""
    loaded = [Pattern.load(path) for path in patterns]

    def record(kernel: Kernel) -> Mapping[str, Any]:
        rows = [row for pattern in loaded if pattern.covers(kernel.arch) for row in pattern.match(kernel)]
        return {"motifs": [_record(row) for row in rows]}

    return record


def library_records() -> Records:
    """The records of `sassql classify`: classes, and the motifs of the vocabulary."""
    return question()


def titles(patterns: Iterable[Path]) -> dict[str, str]:
    """What each motif of some files is, in a line, by its name; the files are not checked for that."""
    found: dict[str, str] = {}
    for path in patterns:
        for motif in parse_file(path).motifs:
            found[motif.name] = motif.header("title") or motif.header("about")
    return found


def pattern_files(folder: Path) -> tuple[Path, ...]:
    """The pattern files of a folder, or the file itself.

    Raises:
        UsageError: there is none.
    """
    found = (folder,) if folder.is_file() else tuple(sorted(folder.rglob("*.sq")))
    if not found:
        raise UsageError(f"no .sq file in {folder}")
    return found


def motifs_of(record: Mapping[str, Any]) -> tuple[Motif, ...]:
    """The motifs of a record, in the order of their addresses."""
    made = []
    for found in record.get("motifs", ()):
        columns = {k: v for k, v in found.items() if k not in ("motif", "at", "status", "count")}
        at = tuple(int(a, 16) if isinstance(a, str) else int(a) for a in found.get("at", ()))
        status, count = str(found.get("status", "match")), int(found.get("count", 1))
        made.append(Motif(str(found["motif"]), columns, at, status, count))
    return tuple(sorted(made, key=lambda motif: (motif.at[:1] or (0,), motif.motif)))


def _record(row: Row) -> dict[str, Any]:
    at = sorted({ins.address for found in row.instructions.values() for ins in found})
    plain = {name: _plain(value) for name, value in row.columns.items()}
    if row.status == "gave_up":
        plain["reason"] = row.reason
    return {**plain, "motif": row.motif, "status": row.status, "at": [f"{a:#x}" for a in at]}


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
