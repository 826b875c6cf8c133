"""The registry of primitives: what an operation computes on bits, used to run it and to evaluate nodes.

A primitive takes its parameters (modifiers) and arrays, and gives one array per result. Types of
`execution.tsv`: `f i r` are arrays of uint32, `u` an addend as uint64 (below 2^33, so that carries
show), `d q` of uint64, `h b` of uint16 (the primitive is called once for each half), `p` of bool,
`n` an int.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Parameters = tuple[str, ...]
Primitive = Callable[..., tuple[Array, ...]]

PRIMITIVES: dict[str, Primitive] = {}
"""Pure primitives by name."""

WIDTHS = {"f": 32, "i": 32, "r": 32, "u": 32, "d": 64, "q": 64, "h": 16, "b": 16, "p": 1, "n": 32}
"""Bits of a value of a type."""


def primitive(name: str) -> Callable[[Primitive], Primitive]:
    """Register the decorated function under ``name``."""

    def register(function: Primitive) -> Primitive:
        PRIMITIVES[name] = function
        return function

    return register


def combine(parameters: Parameters, first: Array, ci: Array) -> tuple[Array, Array]:
    """A comparison and its opposite, each joined with the predicate ``ci`` as the modifiers say."""
    if "OR" in parameters:
        return first | ci, ~first | ci
    if "XOR" in parameters:
        return first ^ ci, ~first ^ ci
    return first & ci, ~first & ci


def low32(value: Array) -> Array:
    """The low words of 64-bit numbers."""
    return value.astype(np.uint32)
