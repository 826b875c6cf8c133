"""Rule 6: the same finding in several kernels, grouped by what it is made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sassql.insight.advice_records import Advice, Finding


@dataclass(frozen=True, slots=True)
class Group:
    """A finding that several kernels share. ``members`` are (kernel, architecture, finding)."""

    rule: int
    kind: str
    motifs: tuple[str, ...]
    members: tuple[tuple[str, str, Finding], ...]

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels by name, each once."""
        return tuple(sorted({name for name, _, _ in self.members}))

    @property
    def actions(self) -> tuple[str, ...]:
        """What can be done, each once."""
        return tuple(dict.fromkeys(finding.action for _, _, finding in self.members))

    def as_record(self) -> dict[str, Any]:
        """The group as plain values: a finding of rule 6."""
        return {
            "rule": 6,
            "of_rule": self.rule,
            "kind": self.kind,
            "motifs": list(self.motifs),
            "kernels": list(self.kernels),
            "findings": len(self.members),
        }


def group_advice(advices: Iterable[Advice]) -> list[Group]:
    """The findings that more than one kernel has, those of most kernels first.

    What works for one of the kernels is worth trying in the others, whatever layers they are.
    """
    found: dict[tuple[int, str, tuple[str, ...]], list[tuple[str, str, Finding]]] = {}
    for advice in advices:
        for finding in advice.findings:
            key = (finding.rule, finding.kind, finding.motifs)
            found.setdefault(key, []).append((advice.kernel, advice.arch, finding))
    groups = [Group(*key, tuple(members)) for key, members in found.items()]
    shared = [group for group in groups if len(group.kernels) > 1]
    return sorted(shared, key=lambda g: (-len(g.kernels), g.rule, g.kind))
