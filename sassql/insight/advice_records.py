"""What `sassql advise` says: findings, each with its evidence, its premises and what it would save."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sassql.insight.launch import Shape

CERTAIN, MAYBE = "certain", "maybe"
ROOM = "room for a fusion"
"""The finding that tells a price only."""
RULES: Mapping[int, str] = {
    1: "a value that is stored and loaded back",
    2: "where a shared reduction result lives",
    3: "data that are loaded again",
    4: "passes that one running state could merge",
    5: "what a fusion would cost",
    6: "the same finding in several kernels",
}


@dataclass(frozen=True, slots=True)
class Effect:
    """What following an advice changes, at most.

    ``unit`` says of what (bytes of global memory, barriers a block …), ``formula`` how many in a launch.
    ``parts`` are what it is made of, by name. ``at_most`` is true where not every thread may do it each
    time, ``unknown`` says why a part of the formula is open. ``values`` are numbers, one for each shape of
    a launch description.
    """

    unit: str
    formula: str
    at_most: bool = False
    unknown: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
    values: tuple[tuple[Shape, int | None], ...] = ()

    def as_record(self) -> dict[str, Any]:
        """The effect as plain values."""
        record: dict[str, Any] = {"unit": self.unit, "formula": self.formula, "at_most": self.at_most}
        if self.parts:
            record["parts"] = dict(self.parts)
        if self.unknown:
            record["unknown"] = self.unknown
        if self.values:
            record["values"] = [{"shape": dict(shape), "value": value} for shape, value in self.values]
        return record


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding about one kernel.

    ``at`` are addresses in bytes, the evidence. ``conditions`` are the premises: the advice is void where
    one of them does not hold. ``action`` says what could be done. ``status`` is ``certain`` where the
    machine code shows the finding, ``maybe`` with ``why`` where something is open. ``motifs`` are
    what it is made of, ``details`` its numbers by name.
    """

    rule: int
    kind: str
    at: tuple[int, ...]
    conditions: tuple[str, ...]
    action: str
    effects: tuple[Effect, ...] = ()
    status: str = CERTAIN
    why: str = ""
    motifs: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def as_record(self) -> dict[str, Any]:
        """The finding as plain values, with the field names of ``--format jsonl``."""
        return {
            "rule": self.rule,
            "kind": self.kind,
            "status": self.status,
            "why": self.why,
            "at": [f"{address:#x}" for address in self.at],
            "conditions": list(self.conditions),
            "action": self.action,
            "effects": [effect.as_record() for effect in self.effects],
            "motifs": list(self.motifs),
            "details": dict(self.details),
        }


@dataclass(frozen=True, slots=True)
class Advice:
    """The findings about one kernel, by rule; ``notes`` say what was left out."""

    file: str
    entry: str
    kernel: str
    demangled: str
    arch: str
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    def of_rule(self, rule: int) -> tuple[Finding, ...]:
        """The findings of one rule."""
        return tuple(finding for finding in self.findings if finding.rule == rule)

    def as_record(self) -> dict[str, Any]:
        """The advice as plain values."""
        return {
            "file": self.file,
            "entry": self.entry,
            "kernel": self.kernel,
            "arch": self.arch,
            "findings": [finding.as_record() for finding in self.findings],
            "notes": list(self.notes),
        }
