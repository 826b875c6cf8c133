"""What an expression may speak of besides numbers and texts, and when two of them are equal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sassql.engine.bindings import Occurrences
from sassql.engine.pairs import remembered
from sassql.facts.addresses import Address, Base
from sassql.facts.alias import Answer, overlaps, same
from sassql.facts.polynomials import Polynomial, signed

MIXED: Final = "mixed"
"""What a column says where the steps of a run differ."""
_TRUTH: dict[Answer, bool | None] = {Answer.YES: True, Answer.NO: False, Answer.UNKNOWN: None}


@dataclass(frozen=True, slots=True)
class Many:
    """A value for each step."""

    items: tuple[object, ...]

    def common(self) -> object:
        """The one value of all steps, `MIXED` where they differ, unknown where there are none."""
        if not self.items:
            return None
        first = self.items[0]
        return first if all(item == first for item in self.items) else MIXED


@dataclass(frozen=True, slots=True)
class MotifRows(Many):
    """The certain rows of a motif; ``open`` where there may be more."""

    open: bool

    @property
    def truth(self) -> bool | None:
        """Whether the motif is there."""
        return True if self.items else (None if self.open else False)


@dataclass(frozen=True, slots=True)
class ValueRef:
    """A value, in the widths in which it was met."""

    occurrences: Occurrences

    def __str__(self) -> str:
        return str(self.occurrences)


@dataclass(frozen=True, slots=True)
class LoopRef:
    """A loop by its number."""

    number: int

    def __str__(self) -> str:
        return f"loop {self.number}"


@dataclass(frozen=True, slots=True)
class KernelRef:
    """The kernel."""


@dataclass(frozen=True, slots=True)
class Dependent:
    """A coefficient that is no number: what it multiplies stands inside of a function, as in ``tid.x % 32``.

    It is not zero; which number it is, nobody says.
    """

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of a kernel: how many, and how many of them go where nobody knows."""

    count: int
    unresolved: int


@remembered
def _same(one: Address, other: Address) -> bool | None:
    return _TRUTH[same(one, other).answer]


@remembered
def _meet(one: Address, other: Address) -> bool | None:
    return _TRUTH[overlaps(one, other).answer]


def single(value: object) -> object:
    """One value for a list: what its steps have in common, or `MIXED`."""
    return value.common() if isinstance(value, Many) else value


def flat(arguments: Iterable[object]) -> list[object]:
    """All arguments, lists taken apart."""
    return [item for a in arguments for item in (a.items if isinstance(a, Many) else (a,))]


def equal(left: object, right: object) -> bool | None:
    """Whether two things are the same; None where that is not known."""
    if left is None or right is None:
        return None
    if isinstance(left, int | str) and isinstance(right, int | str):
        return left == right
    match left, right:
        case Address(), Address():
            return _same(left, right)
        case Base(), Base():
            return None if "none" in (left.kind, right.kind) else left == right
        case Polynomial(), int() | float():
            number = left.value
            return False if number is None else signed(number) == right
        case Dependent(), int() | float():
            return False if right == 0 else None
        case int() | float(), Polynomial() | Dependent():
            return equal(right, left)
        case ValueRef(occurrences=one), ValueRef(occurrences=other):
            return one[-1] == other[-1] or one == other
    return left == right


def all_same(arguments: Iterable[object]) -> bool | None:
    """Whether all are the same thing: no where two certainly differ."""
    items = flat(arguments)
    known = [item for item in items if item is not None]
    answers = [equal(known[0], item) for item in known[1:]]
    if False in answers:
        return False
    return None if len(known) < len(items) or None in answers else True


def meet(arguments: Iterable[object]) -> bool | None:
    """Whether the bytes of two addresses meet, over all threads and iterations."""
    items = flat(arguments)
    if len(items) != 2 or not isinstance(items[0], Address) or not isinstance(items[1], Address):
        return None
    return _meet(items[0], items[1])


def plain(value: object) -> object:
    """A thing as a column shows it: a constant polynomial is a number."""
    if isinstance(value, Polynomial) and value.value is not None:
        return signed(value.value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
