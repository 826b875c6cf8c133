"""Result rows: what a motif found in a kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

from sassql.model.instruction import Instruction
from sassql.model.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Row:
    """One match of a motif.

    ``columns`` are the emitted values; ``instructions`` has, by label, the matched
    instructions (several for a label inside a repetition). ``status`` is ``match``,
    ``maybe`` (the answer rests on something unknown) or ``gave_up`` (a budget ran out).
    """

    motif: str
    kernel: Kernel
    columns: dict[str, Any]
    instructions: dict[str, tuple[Instruction, ...]]
    status: str = "match"
    reason: str = ""
    order: tuple[int, ...] = field(default=(), repr=False)

    def as_record(self) -> dict[str, Any]:
        """The row as plain values, with the field names of ``--format jsonl``."""
        addresses = {label: [f"{i.address:#x}" for i in found] for label, found in self.instructions.items()}
        functions = sorted({i.function for found in self.instructions.values() for i in found})
        record: dict[str, Any] = {
            "file": self.kernel.source.file,
            "entry": self.kernel.source.entry,
            "kernel": self.kernel.name,
            "function": functions[0] if len(functions) == 1 else self.kernel.name,
            "arch": self.kernel.arch,
            "motif": self.motif,
            "status": self.status,
            "columns": self.columns,
            "at": addresses,
        }
        if self.reason:
            record["reason"] = self.reason
        return record

    def _repr_html_(self) -> str:
        """The row in a notebook: columns, and the matched statements by label."""
        return _table([self], statements=True)


class Rows(list[Row]):
    """Rows of one kernel, a list that notebooks show as a table."""

    def _repr_html_(self) -> str:
        return _table(self) if self else "<p>no rows</p>"


def _table(rows: list[Row], *, statements: bool = False) -> str:
    """An HTML table of rows; text of binaries is escaped."""
    columns = list(dict.fromkeys(name for row in rows for name in row.columns))
    heads = "".join(f"<th>{escape(h)}</th>" for h in ("kernel", "motif", "status", *columns, "at"))
    lines = []
    for row in rows:
        values = [row.columns.get(name) for name in columns]
        cells = [row.kernel.demangled, row.motif, row.status, *("?" if v is None else str(v) for v in values)]
        at = "<br>".join(
            f"{escape(label)}: {', '.join(_place(ins, statements) for ins in found)}"
            for label, found in row.instructions.items()
        )
        lines.append("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in cells) + f"<td>{at}</td></tr>")
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _place(ins: Instruction, statements: bool) -> str:
    return f"<code>{ins.address:#x}{' ' + escape(ins.text) if statements else ''}</code>"
