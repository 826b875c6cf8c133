"""Places and names."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Line and column of a construct's first character; both count from 1."""

    line: int
    column: int


class Sigil(Enum):
    """What a name stands for."""

    VALUE = "%"
    INTEGER = "#"
    ADDRESS = "&"


@dataclass(frozen=True, slots=True)
class Name:
    """``%x``, ``%x'``, ``#n``, ``&A``."""

    sigil: Sigil
    name: str
    primed: bool
    at: Position
    key: str = field(init=False, compare=False, repr=False)
    """The text of the name, prime included: equal for every occurrence."""

    def __post_init__(self) -> None:
        text = f"{self.sigil.value}{self.name}{chr(39) if self.primed else ''}"
        object.__setattr__(self, "key", text)

    def __str__(self) -> str:
        return self.key

    @property
    def plain(self) -> str:
        """The text without the prime."""
        return f"{self.sigil.value}{self.name}"
