"""Result rows: what a motif found in a kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
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
