"""Memory of a run: words with their bits and nodes, bounds, and one tracker for each space.

Global memory is the buffers of the launch at made-up addresses; a load or store outside of them is a
Fault. Shared memory is one window for each block, local memory one for each thread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sassql.insight.dag import Dag, Ids
from sassql.insight.state import Bits, Fault, Refused, Value, as_nodes
from sassql.insight.tracking import Clock, Place, Tracker, Words

U32, U64 = np.uint32, np.uint64
SIZES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


@dataclass(slots=True)
class Area:
    """A run of words with one address range: ``base`` in bytes, words ``first`` to ``stop``."""

    name: str
    base: int
    first: int
    stop: int

    @property
    def size(self) -> int:
        """Bytes."""
        return 4 * (self.stop - self.first)


class Memory:
    """One memory space."""

    def __init__(self, name: str, areas: list[Area], dag: Dag, clock: Clock, copies: int = 1) -> None:
        self.name, self.dag = name, dag
        self.areas = sorted(areas, key=lambda area: area.base)
        self.words = max((area.stop for area in areas), default=0)
        self.bits = np.zeros(self.words * copies, U32)
        self.nodes = np.zeros(self.words * copies, np.int32)
        self.tracker = Tracker(self.words * copies, name, clock)
        self._bases = np.array([area.base for area in self.areas], U64)
        self._ends = np.array([area.base + area.size for area in self.areas], U64)
        self._firsts = np.array([area.first for area in self.areas], np.int64)

    def locate(self, addresses: Bits, size: int, place: Place) -> Words:
        """The words of addresses in bytes; ``size`` bytes from there must lie in one area."""
        if not len(self.areas):
            raise Fault(f"{place()} touches {self.name}, and the kernel has none")
        addresses = addresses.astype(U64)
        number = np.searchsorted(self._bases, addresses, side="right") - 1
        inside = (number >= 0) & (addresses + U64(size) <= self._ends[number])
        if not inside.all():
            wrong = int(addresses[~inside][0])
            raise Fault(f"{place()} touches {self._near(wrong)}")
        if (addresses % U64(size)).any():
            raise Fault(f"{place()} touches {self.name} at an address that is no multiple of {size}")
        offset = addresses - self._bases[number]
        return self._firsts[number] + (offset >> U64(2)).astype(np.int64)

    def _near(self, address: int) -> str:
        """Where an address outside of every area lies, in words."""
        if len(self.areas) == 1 or self.areas[0].base == 0:
            area = self.areas[0]
            return f"{self.name} at byte {address - area.base} of {area.size}"
        area = min(self.areas, key=lambda a: min(abs(address - a.base), abs(address - a.base - a.size)))
        return f"byte {address - area.base} of {area.name}, which has {area.size}"

    def peek(self, words: Words) -> Value:
        """What words hold."""
        nodes = self.nodes[words]
        return self.bits[words], nodes if nodes.any() else None

    def poke(self, words: Words, value: Value) -> None:
        """Set words."""
        self.bits[words] = value[0]
        self.nodes[words] = 0 if value[1] is None else value[1]

    def load(self, words: Words, threads: Words, place: Place) -> Value:
        """Load words for threads."""
        self.tracker.load(words, threads, place)
        return self.peek(words)

    def store(self, words: Words, threads: Words, value: Value, place: Place) -> None:
        """Store words of threads; two of them must not store different values to one word."""
        bits = np.broadcast_to(value[0], words.shape)
        nodes = np.zeros(len(words), np.int32) if value[1] is None else value[1]
        changed = (self.bits[words] != bits) | (self.nodes[words] != nodes)
        self.tracker.store(words, threads, place, changed)
        self.poke(words, (bits, nodes))
        if ((self.nodes[words] != nodes) | ((self.bits[words] != bits) & (nodes == 0))).any():
            raise Fault(f"{place()}: threads write different values to one word of {self.name}")


def narrow_load(dag: Dag, value: Value, addresses: Bits, kind: str) -> Value:
    """A byte or half of loaded words, extended to 32 bits."""
    bits, nodes = value
    size = SIZES[kind]
    shift = ((addresses & addresses.dtype.type(3)) * addresses.dtype.type(8)).astype(U32)
    width = U32(32 - 8 * size)
    moved = (bits >> shift) << width
    found = (
        moved >> width if kind.startswith("U") else (moved.view(np.int32) >> width.astype(np.int32)).view(U32)
    )
    if nodes is None:
        return found, None
    result = np.zeros(len(nodes), np.int32)
    if size == 1:
        found = np.array(np.broadcast_to(found, result.shape))
        for place in np.flatnonzero(nodes).tolist():
            result[place], known = _byte(dag, int(nodes[place]), int(shift[place]) // 8, kind)
            if not result[place]:
                found[place] = known
    if size == 2:
        if kind == "S16":
            raise Refused("a signed half of unknown data is not covered")
        zero = dag.constant(0, 16)
        for which in (0, 1):
            here = (nodes != 0) & (shift == 16 * which)
            if here.any():
                half = dag.half(nodes[here], which)
                result[here] = dag.pack(half, np.full(len(half), zero, np.int32))
    return found, result if result.any() else None


def _byte(dag: Dag, node: int, place: int, kind: str) -> tuple[int, int]:
    """One byte of a word: its node and 0, or 0 and its bits where earlier stores of bytes say them."""
    while True:
        bits = dag.constant_bits(node)
        if bits is not None:
            byte = bits >> 8 * place & 255
            return 0, byte | 0xFFFFFF00 if kind == "S8" and byte & 128 else byte
        selector = dag.constant_bits(int(dag.arguments[1, node])) if dag.name(node) == "prmt" else None
        if selector is None or selector >> 4 * place & 8:
            break
        digit = selector >> 4 * place & 7
        node, place = int(dag.arguments[0 if digit < 4 else 2, node]), digit & 3
    selector = 0x4440 + place if kind == "U8" else 0x1110 * (8 + place) + place
    return int(dag.add(dag.number("prmt"), (node, dag.constant(selector, 32), dag.constant(0, 32)), 1)[0]), 0


def narrow_store(dag: Dag, old: Value, value: Value, addresses: Bits, size: int) -> Value:
    """Words with one byte or half replaced."""
    shift = ((addresses & addresses.dtype.type(3)) * addresses.dtype.type(8)).astype(U32)
    mask = U32((1 << 8 * size) - 1) << shift
    bits = np.broadcast_to(value[0], shift.shape)
    found = (old[0] & ~mask) | (bits << shift & mask)
    if old[1] is None and value[1] is None:
        return found, None
    count = len(shift)
    olds, news = as_nodes(dag, old, 32, count), as_nodes(dag, value, 32, count)
    result: Ids = np.zeros(count, np.int32)
    if size == 1:
        for place, lane in enumerate((shift // 8).tolist()):
            selector = int("3210"[: 3 - lane] + "4" + "3210"[4 - lane :], 16)
            arguments = (int(olds[place]), dag.constant(selector, 32), int(news[place]))
            result[place] = dag.add(dag.number("prmt"), arguments, 1)[0]
        return found, result
    low, high = dag.half(olds, 0), dag.half(olds, 1)
    half = dag.half(news, 0)
    upper = shift == 16
    return found, dag.pack(np.where(upper, low, half), np.where(upper, half, high))


def known(value: npt.NDArray[np.uint32], nodes: Ids | None, what: str) -> npt.NDArray[np.uint32]:
    """The bits of a value that must be known, such as an address."""
    if nodes is not None:
        raise Refused(f"{what} depends on unknown data")
    return value
