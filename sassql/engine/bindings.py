"""Bindings: what the names and labels of a motif stand for in one derivation.

A name may occur with several widths (``SHFL`` moves one half of what ``DADD`` adds). Its
occurrences must lie inside each other, the narrower one a part of the wider one; the order in
which they are met does not matter.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sassql.engine.values import Units

Occurrences = tuple[Units, ...]
"""Different widths of one value, narrowest first."""


@dataclass(frozen=True, slots=True)
class Matched:
    """An instruction that a line lies on. ``operation`` and ``choices`` serve ``x.op`` and ``x.mod``."""

    index: int
    operation: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bindings:
    """One derivation, complete or not. Labels of a ``for`` have one instruction a rung.

    ``lists`` has, by name, what a name inside a ``for`` was on each rung; ``solved`` the
    integers that only the header of a ``for`` determines.
    """

    values: Mapping[str, Occurrences] = field(default_factory=dict)
    integers: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, tuple[Matched, ...]] = field(default_factory=dict)
    lists: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    solved: frozenset[str] = frozenset()

    def with_value(self, key: str, units: Units) -> Bindings | None:
        """The bindings with one more occurrence of a value, or None where it is another value."""
        merged = unify(self.values.get(key, ()), (units,))
        return None if merged is None else replace(self, values={**self.values, key: merged})

    def with_occurrences(self, key: str, found: Occurrences) -> Bindings | None:
        """As `with_value`, for several occurrences at once."""
        merged = unify(self.values.get(key, ()), found)
        return None if merged is None else replace(self, values={**self.values, key: merged})

    def with_integer(self, key: str, number: int) -> Bindings | None:
        """The bindings with an integer, or None where the name is another one."""
        known = self.integers.get(key)
        if known is not None:
            return self if known == number else None
        return replace(self, integers={**self.integers, key: number})

    def with_label(self, label: str, matched: tuple[Matched, ...]) -> Bindings:
        """The bindings with the instructions of a label."""
        return replace(self, labels={**self.labels, label: matched})

    def identity(self) -> str:
        """Equal for derivations that differ in nothing but integers solved from a header."""
        integers = {key: n for key, n in self.integers.items() if key not in self.solved}
        parts = (self.labels, self.values, integers, self.lists)
        return str(
            [sorted(part.items()) if part is integers else sorted(part.items(), key=str) for part in parts]
        )

    def uses(self, index: int) -> bool:
        """True where some label is instruction ``index`` already: labels are never the same one."""
        return any(m.index == index for matched in self.labels.values() for m in matched)


def contains(wide: Units, narrow: Units) -> bool:
    """True where ``narrow`` is ``wide`` or a run of its units."""
    length = len(narrow)
    return any(wide[start : start + length] == narrow for start in range(len(wide) - length + 1))


def unify(left: Occurrences, right: Occurrences) -> Occurrences | None:
    """Occurrences of both, or None where they are not one value."""
    merged = tuple(sorted({*left, *right}, key=lambda units: (len(units), str(units))))
    for narrow, wide in itertools.pairwise(merged):
        if not contains(wide, narrow):
            return None
    return merged
