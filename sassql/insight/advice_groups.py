"""Rule 6: the same finding in several kernels, grouped by what it is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sassql.insight.advice_records import ROOM, Advice

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Group:
    """A finding that several kernels share, by rule, kind and motifs.

    ``members`` are (name of the kernel, architecture, record of the finding).
    """

    rule: int
    kind: str
    motifs: tuple[str, ...]
    members: tuple[tuple[str, str, Record], ...]

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels by name, each once."""
        return tuple(sorted({name for name, _, _ in self.members}))

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


def group_advice(advices: Iterable[Advice | Record]) -> list[Group]:
    """The findings that more than one kernel has, those of most kernels first.

    What works for one of the kernels is worth trying in the others, whatever layers they are.
    An advice may be given as its record.
    """
    found: dict[tuple[int, str, tuple[str, ...]], list[tuple[str, str, Record]]] = {}
    for advice in advices:
        record = advice.as_record() if isinstance(advice, Advice) else advice
        for finding in record["findings"]:
            if finding["kind"] == ROOM:
                continue  # a price, nothing to do
            key = (finding["rule"], finding["kind"], tuple(finding["motifs"]))
            found.setdefault(key, []).append((record["kernel"], record["arch"], finding))
    groups = [Group(*key, tuple(members)) for key, members in found.items()]
    shared = [group for group in groups if len(group.kernels) > 1]
    return sorted(shared, key=lambda group: (-len(group.kernels), group.rule, group.kind))
