"""Rows and conditions as text for people."""

from __future__ import annotations

from sassql.lang.wording import condition_text
from sassql.model.rows import Row

__all__ = ["condition_text", "row_text"]


def row_text(row: Row) -> str:
    """Columns and places of a row in one line."""
    columns = " ".join(f"{name}={'?' if value is None else value}" for name, value in row.columns.items())
    places = " ".join(
        f"{label}@{','.join(f'{i.address:#x}' for i in found)}" for label, found in row.instructions.items()
    )
    status = "" if row.status == "match" else f"[{row.status}: {row.reason}] "
    return f"{status}{columns}  {places}".strip()
