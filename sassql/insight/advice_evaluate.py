"""How often something happens in one launch: the threads are counted one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sassql.errors import UsageError
from sassql.facts.polynomials import Atom, AtomKind, Polynomial, mentioned, special
from sassql.insight.advice_conditions import Condition
from sassql.insight.advice_extents import Extent
from sassql.insight.advice_steps import Steps
from sassql.insight.launch import FLOATS, Shape, Side, read_launch, whole
from sassql.model.kernel import Kernel

Words = npt.NDArray[np.int64]
_MASK = np.int64(0xFFFFFFFF)
_AT_ONCE = 1 << 20
"""Threads that are counted together."""
MOST_THREADS = 1 << 27
"""The threads of a launch with more, in which blocks differ, are not counted one by one."""
_EXTENTS = ("x", "y", "z")
_WARP = 32


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers of one launch: extents by name, integer parameters by offset in bytes."""

    names: Mapping[str, int]
    parameters: Mapping[int, int]
    shape: Shape

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return prod(self.names[f"ntid.{axis}"] for axis in _EXTENTS)

    @property
    def blocks(self) -> int:
        return prod(self.names[f"nctaid.{axis}"] for axis in _EXTENTS)


def figures_of(kernel: Kernel, launch: str | Path | Mapping[str, Any]) -> list[Figures]:
    """The numbers of a kernel's launch description, one entry for each shape.

    Raises:
        UsageError: the description cannot be read, or does not fit the kernel.
    """
    found = read_launch(launch, kernel.name, kernel.name)
    return [_figures(kernel, found.a, shape) for shape in found.shapes]


def _figures(kernel: Kernel, side: Side, shape: Shape) -> Figures:
    values: dict[str, Any] = dict(shape)
    for argument in side.arguments:
        if not argument.is_buffer and argument.value and argument.type not in FLOATS:
            values.setdefault(argument.name, whole(argument.value, values))
    names: dict[str, int] = {}
    for axis, block, grid in zip(_EXTENTS, side.block, side.grid, strict=True):
        names[f"ntid.{axis}"] = whole(block, values)
        names[f"nctaid.{axis}"] = whole(grid, values)
    declared = kernel.resources.parameters
    if len(declared) != len(side.arguments):
        text = f"{kernel.name} has {len(declared)} parameters, and the launch gives {len(side.arguments)}"
        raise UsageError(f"{text} arguments")
    parameters: dict[int, int] = {}
    for parameter, argument in zip(declared, side.arguments, strict=True):
        if not argument.is_buffer and argument.type not in FLOATS:
            value = whole(argument.value or argument.name, values)
            for word in range(-(-parameter.size // 4)):
                parameters[parameter.offset + 4 * word] = value >> 32 * word & 0xFFFFFFFF
    return Figures(names, parameters, shape)


class _UnknownError(Exception):
    """Something in a formula has no number."""


def count(extent: Extent, figures: Figures) -> int | None:
    """How often it happens in a launch, over all threads; None where that is not known."""
    sums = [side for c in extent.conditions for side in (c.left, c.right)]
    sums += [side for level in extent.levels for steps in level for side in (steps.distance, steps.unit)]
    by_block = any(atom.name.startswith("ctaid") for atom in mentioned(*sums))
    total = 0
    try:
        if by_block and figures.threads * figures.blocks > MOST_THREADS:
            return _closed(extent, figures)
        for atoms, threads in _threads(figures, by_block):
            total += int(_happens(extent, _Evaluation(atoms, figures), threads).sum())
    except _UnknownError:
        return None
    return total if by_block else total * figures.blocks


def _closed(extent: Extent, figures: Figures) -> int:
    """The same for a grid of any size, where threads are numbered along each axis and limited by a number."""
    numbers = _Evaluation({}, figures)
    sizes = {axis: figures.names[f"nctaid.{axis}"] * figures.names[f"ntid.{axis}"] for axis in _EXTENTS}
    left = dict(sizes)
    for condition in extent.conditions:
        room = condition.room()
        axis, rest = ("", None) if room is None else _along(room, figures)
        if rest is None:
            raise _UnknownError
        left[axis] = min(left[axis], max(int(numbers.word(rest)[0]), 0))
    total = 1
    for level in extent.levels:
        steps = level[0]
        axis, rest = _along(steps.distance, figures) if len(level) == 1 else ("", None)
        if rest is not None and int(numbers.word(steps.unit)[0]) == sizes[axis] == left[axis]:
            left[axis] = max(int(numbers.word(rest)[0]), 0)  # all threads share the range
        else:
            total *= sum(int(numbers.steps(s)[0]) for s in level)
    return total * prod(left.values())


def _along(room: Polynomial, figures: Figures) -> tuple[str, Polynomial | None]:
    """The axis and ``n`` of ``n - (ctaid*ntid + tid)``; None for any other sum."""
    for axis in _EXTENTS:
        tid, ctaid = special(f"tid.{axis}"), special(f"ctaid.{axis}")
        step = room.coefficient(ctaid)
        if room.coefficient(tid) != Polynomial.number(-1) or step is None:
            continue
        product = step.product(Polynomial.of(ctaid))
        size = _Evaluation({}, figures).word(step)
        if product is not None and int(size[0]) == -figures.names[f"ntid.{axis}"]:
            return axis, room + Polynomial.of(tid) - product
    return "", None


def _threads(figures: Figures, by_block: bool) -> Iterator[tuple[dict[str, Words], int]]:
    """Thread and block numbers, some threads at a time; of one block where all are alike."""
    everything = figures.threads * (figures.blocks if by_block else 1)
    for first in range(0, everything, _AT_ONCE):
        number = np.arange(first, min(first + _AT_ONCE, everything), dtype=np.int64)
        inside, block = number % figures.threads, number // figures.threads
        found = {"laneid": inside % _WARP}
        for axis in _EXTENTS:
            extent = figures.names[f"ntid.{axis}"]
            found[f"tid.{axis}"], inside = inside % extent, inside // extent
            extent = figures.names[f"nctaid.{axis}"]
            found[f"ctaid.{axis}"], block = block % extent, block // extent
        yield found, len(number)


def _happens(extent: Extent, numbers: _Evaluation, threads: int) -> Words:
    found = np.ones(threads, np.int64)
    for condition in extent.conditions:
        found *= numbers.holds(condition)
    for level in extent.levels:
        total = np.zeros(threads, np.int64)
        for steps in level:
            total += numbers.steps(steps)
        found *= total
    return found


class _Evaluation:
    """Polynomials as numbers, one for each thread: 32-bit words, as the machine computes them."""

    def __init__(self, atoms: Mapping[str, Words], figures: Figures) -> None:
        self.atoms, self.figures = atoms, figures

    def holds(self, condition: Condition) -> Words:
        left, right = (self.word(side, condition.is_signed) for side in (condition.left, condition.right))
        found = {
            "<": left < right,
            "<=": left <= right,
            ">": left > right,
            ">=": left >= right,
            "==": left == right,
            "!=": left != right,
        }[condition.operator]
        ones: Words = found.astype(np.int64)
        return ones

    def steps(self, steps: Steps) -> Words:
        distance, unit = self.word(steps.distance), self.word(steps.unit)
        if (unit <= 0).any():
            raise _UnknownError
        found: Words = np.maximum(-(-distance // unit), 0)
        return found

    def word(self, polynomial: Polynomial, is_signed: bool = True) -> Words:
        """The value, as a signed or an unsigned number."""
        total: Words = np.zeros(1, np.int64)
        for monomial, coefficient in polynomial.terms:
            product = np.array([coefficient], np.int64)
            for atom in monomial:
                product = _product(product, self._atom(atom))
            total = total + product & _MASK
        if not is_signed:
            return total
        found: Words = np.where(total >> 31, total - (1 << 32), total)
        return found

    def _atom(self, atom: Atom) -> Words:
        if atom.kind is AtomKind.SPECIAL and atom.scope is None:
            if atom.name in self.atoms:
                return self.atoms[atom.name]
            if atom.name in self.figures.names:
                return np.array([self.figures.names[atom.name]], np.int64)
        if atom.kind is AtomKind.PARAMETER and atom.number in self.figures.parameters:
            return np.array([self.figures.parameters[atom.number]], np.int64)
        if atom.kind is AtomKind.FUNCTION and atom.scope is None:
            return self._function(atom)
        raise _UnknownError

    def _function(self, atom: Atom) -> Words:
        name = atom.name
        is_signed = name in ("min", "max", "sar")
        args = [self.word(arg, is_signed) for arg in atom.args]
        second = args[1] if len(args) > 1 else np.array([atom.number], np.int64)
        match name:
            case "div":
                found = args[0] // second
            case "mod":
                found = args[0] % second
            case "min" | "umin":
                found = np.minimum(args[0], second)
            case "max" | "umax":
                found = np.maximum(args[0], second)
            case "and":
                found = args[0] & second
            case "or":
                found = args[0] | second
            case "xor":
                found = args[0] ^ second
            case "sar":
                found = args[0] >> second
            case "product":
                found = _product(args[0] & _MASK, second & _MASK)
            case _:
                raise _UnknownError
        return found & _MASK


def _product(a: Words, b: Words) -> Words:
    """Modulo 2^32, of words: in halves, so that 64 bits are enough."""
    low = a * (b & 0xFFFF)
    high = a * (b >> 16) & 0xFFFF
    found: Words = low + (high << 16) & _MASK
    return found
