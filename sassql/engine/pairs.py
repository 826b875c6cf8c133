"""Remembers what was said of pairs of addresses: a motif asks about the same ones again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sassql.facts.addresses import Address

MOST_PAIRS = 100_000
"""Pairs that one question remembers before it begins anew."""

Said = TypeVar("Said")


def remembered(ask: Callable[[Address, Address], Said]) -> Callable[[Address, Address], Said]:
    """The same question, asked once for each pair of objects.

    The objects are kept with the answer, so that their numbers stay theirs.
    """
    known: dict[tuple[int, int], tuple[Address, Address, Said]] = {}

    def answer(one: Address, other: Address) -> Said:
        key = id(one), id(other)
        found = known.get(key)
        if found is None:
            if len(known) >= MOST_PAIRS:
                known.clear()
            found = known[key] = one, other, ask(one, other)
        return found[2]

    return answer
