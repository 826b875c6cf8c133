"""Registers: one object per 32-bit unit of a register file, shared by everybody."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

FILES = ("R", "UR", "P", "UP", "B")
"""General, uniform, predicate, uniform predicate, and convergence barrier registers."""


@dataclass(frozen=True, slots=True, order=True)
class Register:
    """One 32-bit register (or one predicate, or one convergence barrier).

    ``RZ``, ``URZ``, ``PT`` and ``UPT`` hold a constant and are not registers: they
    never appear among definitions and uses.

    >>> str(register("UR", 5))
    'UR5'
    """

    file: str
    index: int

    def __str__(self) -> str:
        return f"{self.file}{self.index}"


@cache
def register(file: str, index: int) -> Register:
    """The shared object for register ``index`` of ``file``."""
    return Register(file, index)


def span(file: str, index: int, width: int) -> tuple[Register, ...]:
    """The ``width`` consecutive registers from ``index`` on, a wide value's parts."""
    return tuple(register(file, index + i) for i in range(width))
