"""The values of a symbolic run: a growing graph of operations over leaves, kept as arrays.

A node is a number. Node 0 stands for "not symbolic". Nodes are made many at a time, one for
each lane that runs an instruction; such a run of equal operations is an `Event`, and a node's
arguments are always older than itself. Whatever looks at the graph (normal forms, evaluation,
dependencies) walks over the events and works on whole arrays.

A 32-bit register holds a node for its 32 bits. Halves and 64-bit values are taken apart by
nodes of their own: `pack(low half, high half)`, `low64(d)`, `high64(d)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]
Bits = npt.NDArray[Any]
MOST_ARGUMENTS = 5
_START = 1 << 14

CONST, LEAF, PACK, LOW_HALF, HIGH_HALF, LOW64, HIGH64, PAIR64 = (
    "const",
    "leaf",
    "pack",
    "low_half",
    "high_half",
    "low64",
    "high64",
    "pair64",
)


@dataclass(frozen=True, slots=True)
class Operation:
    """What a node computes: a primitive, the modifiers that change it, and which of its results."""

    name: str
    parameters: tuple[str, ...] = ()
    result: int = 0

    def __str__(self) -> str:
        return ".".join((self.name, *self.parameters)) + (f"#{self.result}" if self.result else "")


@dataclass(frozen=True, slots=True)
class Event:
    """Nodes ``first`` to ``stop`` (one past the last) of one operation with ``count`` arguments."""

    operation: int
    first: int
    stop: int
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Nodes of one operation at one depth, none of which depends on another."""

    operation: int
    nodes: npt.NDArray[np.int64]
    count: int


class Dag:
    """Nodes of one or more runs; equal constants and leaves are one node."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._numbers: dict[Operation, int] = {}
        self.codes = np.zeros(_START, np.int16)
        self.arguments = np.zeros((MOST_ARGUMENTS, _START), np.int32)
        self.size = 1
        self.events: list[Event] = []
        self._constants: dict[tuple[int, int], int] = {}
        self._schedule: tuple[int, list[Group]] = (0, [])
        self._leaves: dict[tuple[str, str], Ids] = {}
        self.origins: dict[int, int] = {}
        """64-bit extremes that were made of words, and the comparison that their words were selected by."""
        self.const, self.leaf = self.number(CONST), self.number(LEAF)
        self.pack_number = self.number(PACK)
        self.halves = (self.number(LOW_HALF), self.number(HIGH_HALF))
        self.words = (self.number(LOW64), self.number(HIGH64))
        self.pair = self.number(PAIR64)

    def number(self, name: str, parameters: tuple[str, ...] = (), result: int = 0) -> int:
        """The number of an operation."""
        operation = Operation(name, parameters, result)
        found = self._numbers.get(operation)
        if found is None:
            found = self._numbers[operation] = len(self.operations)
            self.operations.append(operation)
        return found

    def add(self, operation: int, arguments: tuple[Ids | int, ...], count: int) -> Ids:
        """``count`` new nodes; an argument is an array of nodes, or one node for all of them."""
        first, stop = self.size, self.size + count
        if stop > len(self.codes):
            self._grow(stop)
        self.codes[first:stop] = operation
        for place, argument in enumerate(arguments):
            self.arguments[place, first:stop] = argument
        self.size = stop
        self.events.append(Event(operation, first, stop, len(arguments)))
        return np.arange(first, stop, dtype=np.int32)

    def _grow(self, needed: int) -> None:
        room = max(needed, 2 * len(self.codes))
        self.codes = np.concatenate([self.codes, np.zeros(room - len(self.codes), np.int16)])
        more = np.zeros((MOST_ARGUMENTS, room - self.arguments.shape[1]), np.int32)
        self.arguments = np.concatenate([self.arguments, more], axis=1)

    def constant(self, value: int, width: int) -> int:
        """The node of a constant: the bits of a number of 1, 16, 32 or 64 bits."""
        key = (value, width)
        found = self._constants.get(key)
        if found is None:
            number = self.number(CONST, (str(width),))
            halves = np.array([value & 0xFFFFFFFF, value >> 32], np.uint64).astype(np.uint32).view(np.int32)
            found = self._constants[key] = int(self.add(number, (int(halves[0]), int(halves[1])), 1)[0])
        return found

    def constants(self, bits: Bits, width: int) -> Ids:
        """Nodes of an array of numbers."""
        if len(bits) == 1:
            return np.array([self.constant(int(bits[0]), width)], np.int32)
        unique, inverse = np.unique(bits, return_inverse=True)
        nodes = np.array([self.constant(int(value), width) for value in unique.tolist()], np.int32)
        return nodes[inverse]

    def leaves(self, name: str, kind: str, count: int) -> Ids:
        """Nodes of ``count`` unknown elements of ``name``; ``kind`` is their type, such as ``f32``."""
        found = self._leaves.get((name, kind), np.zeros(0, np.int32))
        missing = count - len(found)
        if missing > 0:
            number = self.number(LEAF, (name, kind))
            nodes = self.add(number, (0,), missing)
            self.arguments[0, nodes] = np.arange(len(found), count, dtype=np.int32)
            self._leaves[name, kind] = found = np.concatenate([found, nodes])
        return found[:count].copy()

    def is_operation(self, nodes: Ids, name: str) -> npt.NDArray[np.bool_]:
        """Where the nodes are of an operation, whatever its parameters."""
        numbers = [n for n, operation in enumerate(self.operations) if operation.name == name]
        return np.isin(self.codes[nodes], numbers)

    def schedule(self) -> list[Group]:
        """All nodes in groups, arguments before what needs them: by depth, so that there are few groups."""
        if self._schedule[0] == self.size:
            return self._schedule[1]
        depth = np.zeros(self.size, np.int64)
        counts = np.zeros(self.size, np.int64)
        plain = {n for n, operation in enumerate(self.operations) if operation.name in (CONST, LEAF)}
        for event in self.events:
            here = slice(event.first, event.stop)
            if event.operation in plain:
                continue
            counts[here] = event.count
            most = depth[self.arguments[0, here]]
            for place in range(1, event.count):
                most = np.maximum(most, depth[self.arguments[place, here]])
            depth[here] = most + 1
        codes = self.codes[: self.size].astype(np.int64)
        keys = (depth * len(self.operations) + codes) * (MOST_ARGUMENTS + 1) + counts
        order = np.argsort(keys[1:], kind="stable") + 1
        ranked = keys[order]
        bounds = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
        groups = [
            Group(int(codes[nodes[0]]), nodes, int(counts[nodes[0]]))
            for nodes in np.split(order, bounds[1:])
            if len(nodes)
        ]
        self._schedule = (self.size, groups)
        return groups

    def name(self, node: int) -> str:
        """The name of a node's operation."""
        return self.operations[int(self.codes[node])].name

    # --- taking values apart

    def constant_bits(self, node: int) -> int | None:
        """The bits of a constant, None for another node."""
        if self.operations[int(self.codes[node])].name != CONST:
            return None
        low, high = self.arguments[:2, node].view(np.uint32).tolist()
        return int(low | high << 32)

    def half(self, nodes: Ids, which: int) -> Ids:
        """The low (0) or high (1) half of 32-bit values."""
        packed = self.codes[nodes] == self.pack_number
        if packed.all():
            value: Ids = self.arguments[which, nodes]
            return value
        constant = self.is_operation(nodes, CONST)
        found = np.where(packed, self.arguments[which, nodes], 0).astype(np.int32)
        if constant.any():
            bits = self.arguments[0, nodes[constant]].view(np.uint32) >> (16 * which) & 0xFFFF
            found[constant] = self.constants(bits, 16)
        rest = ~packed & ~constant
        if rest.any():
            found[rest] = self.add(self.halves[which], (nodes[rest],), int(rest.sum()))
        return found

    def pack(self, low: Ids, high: Ids) -> Ids:
        """32-bit values of two halves; the halves of one value give it back."""
        return self._join(low, high, self.halves, self.pack_number)

    def word(self, nodes: Ids, which: int) -> Ids:
        """The low (0) or high (1) word of 64-bit values."""
        paired = self.codes[nodes] == self.pair
        if paired.all():
            value: Ids = self.arguments[which, nodes]
            return value
        constant = self.is_operation(nodes, CONST)
        found = np.where(paired, self.arguments[which, nodes], 0).astype(np.int32)
        if constant.any():
            found[constant] = self.constants(self.arguments[which, nodes[constant]].view(np.uint32), 32)
        rest = ~paired & ~constant
        if rest.any():
            found[rest] = self.add(self.words[which], (nodes[rest],), int(rest.sum()))
        return found

    def wide(self, low: Ids, high: Ids) -> Ids:
        """64-bit values of two words; the words of one value give it back."""
        return self._join(low, high, self.words, self.pair)

    def _join(self, low: Ids, high: Ids, parts: tuple[int, int], operation: int) -> Ids:
        whole = (self.codes[low] == parts[0]) & (self.codes[high] == parts[1])
        whole &= self.arguments[0, low] == self.arguments[0, high]
        value: Ids = self.arguments[0, low]
        if whole.all():
            return value
        width = 16 if operation == self.pack_number else 32
        number = self.number(CONST, (str(width),))
        known = (self.codes[low] == number) & (self.codes[high] == number)
        rest = ~whole & ~known
        if rest.all():
            return self.add(operation, (low, high), len(low))
        found = value.copy()
        if known.any():
            first, second = (
                self.arguments[0, v[known]].view(np.uint32).astype(np.uint64) for v in (low, high)
            )
            found[known] = self.constants(first | second << np.uint64(width), 2 * width)
        if rest.any():
            found[rest] = self.add(operation, (low[rest], high[rest]), int(rest.sum()))
        return found
