"""Bindings: what the names and labels of a motif stand for in one derivation.

A name may occur with several widths (``SHFL`` moves one half of what ``DADD`` adds). Its
occurrences must lie inside each other, the narrower one a part of the wider one; the order in
which they are met does not matter.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from sassql.engine.pairs import remembered
from sassql.engine.values import Units
from sassql.facts.addresses import Address
from sassql.facts.alias import Answer, must_equal

Occurrences = tuple[Units, ...]
"""Different widths of one value, narrowest first."""


@dataclass(frozen=True, slots=True)
class Matched:
    """An instruction that a line lies on. ``operation`` and ``choices`` serve ``x.op`` and ``x.mod``."""

    index: int
    operation: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Used:
    """A row of another motif: its columns, its output values, and what its certainty rests on."""

    motif: str
    columns: Mapping[str, object]
    inputs: tuple[object, ...]
    outputs: tuple[object, ...]
    doubts: tuple[str, ...]
    order: tuple[int, ...]
    at: tuple[int, ...] = ()
    """Numbers of its instructions."""


Bound = Occurrences | int | Address
"""What a name stands for: a value, an integer or an address."""


@dataclass(slots=True, eq=False)
class Bindings:
    """One derivation, complete or not. Labels of a repetition have one instruction a step.

    It is never changed; that it is not frozen halves the time of every search.
    ``names`` has values, integers and addresses by key (``%x``, ``#n``, ``&A``). ``lists`` has,
    by name, what a name inside a repetition was on each step. ``loops`` are loop numbers,
    ``uses`` rows of other motifs by alias. ``solved`` are the integers that only the header
    of a ``for`` determines. ``doubts`` say why the derivation is not certain; ``branches``
    which branches of `either` it went through.
    """

    names: Mapping[str, Bound] = field(default_factory=dict)
    labels: Mapping[str, tuple[Matched, ...]] = field(default_factory=dict)
    lists: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    loops: Mapping[str, int] = field(default_factory=dict)
    uses: Mapping[str, Used] = field(default_factory=dict)
    solved: frozenset[str] = frozenset()
    doubts: tuple[str, ...] = ()
    branches: tuple[int, ...] = ()
    lenient: bool = False
    """Inside of `no`: an address that may be the same is a doubt, not a difference."""

    def has(self, key: str) -> bool:
        """True where a name, label, loop or alias is bound."""
        return (
            key in self.names
            or key in self.labels
            or key in self.loops
            or key in self.uses
            or key in self.lists
        )

    def value(self, key: str) -> Occurrences:
        """The occurrences of a value; none where it is not bound."""
        found = self.names.get(key, ())
        return found if isinstance(found, tuple) else ()

    def _named(self, names: Mapping[str, Bound]) -> Bindings:
        return self._with(names, self.labels)

    def _with(self, names: Mapping[str, Bound], labels: Mapping[str, tuple[Matched, ...]]) -> Bindings:
        """A copy with other names and labels; `dataclasses.replace` takes ten times as long."""
        return Bindings(
            names,
            labels,
            self.lists,
            self.loops,
            self.uses,
            self.solved,
            self.doubts,
            self.branches,
            self.lenient,
        )

    def but(
        self,
        *,
        labels: Mapping[str, tuple[Matched, ...]] | None = None,
        lists: Mapping[str, tuple[object, ...]] | None = None,
        loops: Mapping[str, int] | None = None,
        uses: Mapping[str, Used] | None = None,
        doubts: tuple[str, ...] | None = None,
        branches: tuple[int, ...] | None = None,
        lenient: bool | None = None,
    ) -> Bindings:
        """A copy with other parts, as `dataclasses.replace` makes it in ten times the time."""
        return Bindings(
            self.names,
            self.labels if labels is None else labels,
            self.lists if lists is None else lists,
            self.loops if loops is None else loops,
            self.uses if uses is None else uses,
            self.solved,
            self.doubts if doubts is None else doubts,
            self.branches if branches is None else branches,
            self.lenient if lenient is None else lenient,
        )

    def on_branch(self, number: int) -> Bindings:
        """The bindings in a branch of an `either`, or in the only way through a scope."""
        return self.but(branches=(*self.branches, number))

    def with_value(self, key: str, units: Units) -> Bindings | None:
        """The bindings with one more occurrence of a value, or None where it is another value."""
        known = self.names.get(key)
        if known is None:
            return self._named({**self.names, key: (units,)})
        return self if known == (units,) else self.with_occurrences(key, (units,))

    def with_occurrences(self, key: str, found: Occurrences) -> Bindings | None:
        """As `with_value`, for several occurrences at once."""
        merged = unify(self.value(key), found)
        return None if merged is None else self._named({**self.names, key: merged})

    def with_integer(self, key: str, number: int) -> Bindings | None:
        """The bindings with an integer, or None where the name is another one."""
        known = self.names.get(key)
        if known is not None:
            return self if known == number else None
        return self._named({**self.names, key: number})

    def with_address(self, key: str, address: Address) -> Bindings | None:
        """The bindings with an address, or None where the name is not certainly the same bytes."""
        known = self.names.get(key)
        if isinstance(known, Address):
            answer = _certainly_equal(known, address)
            if answer is Answer.UNKNOWN and self.lenient:
                return self.with_doubt("two addresses may be the same")
            return self if answer is Answer.YES else None
        return self._named({**self.names, key: address})

    def with_bound(self, key: str, found: Bound) -> Bindings | None:
        """The bindings with whatever a name stands for elsewhere."""
        match found:
            case tuple():
                return self.with_occurrences(key, found)
            case int():
                return self.with_integer(key, found)
            case _:
                return self.with_address(key, found)

    def with_label(self, label: str, matched: tuple[Matched, ...]) -> Bindings:
        """The bindings with the instructions of a label."""
        return self._with(self.names, {**self.labels, label: matched})

    def with_loop(self, key: str, number: int) -> Bindings | None:
        """The bindings with a loop, or None where the name is another one."""
        known = self.loops.get(key)
        if known is not None:
            return self if known == number else None
        return self.but(loops={**self.loops, key: number})

    def with_doubt(self, reason: str) -> Bindings:
        """The bindings, no longer certain."""
        return self if reason in self.doubts else self.but(doubts=(*self.doubts, reason))

    def identity(self) -> Hashable:
        """Equal for derivations that differ in nothing but integers solved from a header, and in doubts."""
        names = frozenset((k, _place(v)) for k, v in self.names.items() if k not in self.solved)
        uses = frozenset((alias, used.order, str(used.outputs)) for alias, used in self.uses.items())
        lists = frozenset((k, tuple(_place(item) for item in found)) for k, found in self.lists.items())
        labels, loops = frozenset(self.labels.items()), frozenset(self.loops.items())
        return names, uses, self.branches, labels, loops, lists

    def text(self) -> str:
        """The names as text: an order among derivations of one place."""
        return str(sorted((key, str(found)) for key, found in self.names.items()))

    def uses_instruction(self, index: int) -> bool:
        """True where some label is instruction ``index`` already: labels are never the same one."""
        return any(m.index == index for matched in self.labels.values() for m in matched)


@remembered
def _certainly_equal(one: Address, other: Address) -> Answer:
    return must_equal(one, other).answer


def _place(found: object) -> object:
    """A name's value, for comparison: an address is its place, not the instruction that has it."""
    if isinstance(found, Address):
        return found.space, found.base, found.polynomial, found.offset, found.width
    return found


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


def bound_keys(bindings: Bindings) -> frozenset[str]:
    """Everything that is bound."""
    return frozenset((*bindings.names, *bindings.labels, *bindings.loops, *bindings.uses, *bindings.lists))
