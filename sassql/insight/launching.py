"""One kernel on one shape: threads, buffers at made-up addresses, constant banks, special registers."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sassql.errors import UsageError
from sassql.insight.dag import Dag, Ids
from sassql.insight.launch import FLOATS, TYPES, Argument, Shape, Side, evaluate, whole
from sassql.insight.memory import Area, Memory
from sassql.insight.sampling import Draws
from sassql.insight.state import Bits, Refused, Value
from sassql.insight.tracking import Clock, Words
from sassql.isa.launch import launch as launch_facts
from sassql.model.kernel import Kernel

LANES = 32
_BANK_BYTES = 0x2000
_FRAME = 0x1000
_ALIGNED = 16
MOST_THREADS = 1 << 16


class Geometry:
    """The threads of a grid, block after block; the last warp of a block may have fewer lanes."""

    def __init__(self, block: tuple[int, int, int], grid: tuple[int, int, int]) -> None:
        self.block, self.grid = block, grid
        self.block_threads = block[0] * block[1] * block[2]
        self.blocks = grid[0] * grid[1] * grid[2]
        self.threads = self.block_threads * self.blocks
        if not 0 < self.block_threads <= 1024 or self.blocks < 1:
            raise UsageError(f"a grid of {grid} blocks of {block} threads cannot be launched")
        if self.threads > MOST_THREADS:
            raise UsageError(f"{self.threads} threads are more than the {MOST_THREADS} of the executor")
        number = np.arange(self.threads, dtype=np.int64)
        self.block_of, inside = number // self.block_threads, number % self.block_threads
        warps = -(-self.block_threads // LANES)
        self.warp_of = self.block_of * warps + inside // LANES
        self.lane_of = inside % LANES
        self.warps = warps * self.blocks
        self.thread_at = np.full((self.warps, LANES), -1, np.int64)
        self.thread_at[self.warp_of, self.lane_of] = number
        self.inside = inside

    def lanes_of(self, warp: int) -> list[int]:
        """The threads of a warp."""
        return [t for t in self.thread_at[warp].tolist() if t >= 0]

    def special(self, name: str) -> npt.NDArray[np.uint32] | None:
        """A special register of every thread by the name of `launch.tsv`; None for one that is not known."""
        what, _, axis = name.partition(".")
        place = "xyz".find(axis) if axis else -1
        steps = {"tid": (self.inside, self.block), "ctaid": (self.block_of, self.grid)}
        if what in steps and place >= 0:
            number, extent = steps[what]
            below = int(np.prod(extent[:place], initial=1))
            return (number // below % extent[place]).astype(np.uint32)
        lane = self.lane_of.astype(np.uint64)
        one = np.uint64(1)
        masks = {
            "laneid": lane,
            "lanemask_eq": one << lane,
            "lanemask_lt": (one << lane) - one,
            "lanemask_le": (one << (lane + one)) - one,
            "lanemask_gt": ((one << np.uint64(32)) - one) ^ ((one << (lane + one)) - one),
            "lanemask_ge": ((one << np.uint64(32)) - one) ^ ((one << lane) - one),
            "cluster_ctaid": lane * np.uint64(0),
            "cluster_size": lane * np.uint64(0) + one,
        }
        return masks[name].astype(np.uint32) if name in masks else None


@dataclass(slots=True)
class Buffer:
    """A buffer of a launch: ``count`` elements at ``address``; ``known`` are its numbers, if any."""

    argument: Argument
    count: int
    address: int
    known: npt.NDArray[Any] | None = None

    @property
    def name(self) -> str:
        return self.argument.name

    @property
    def words(self) -> int:
        return -(-self.count * TYPES[self.argument.type] // 4)


@dataclass(slots=True)
class Stage:
    """What a kernel is told about its launch."""

    kernel: Kernel
    side: Side
    shape: Shape
    geometry: Geometry
    buffers: dict[str, Buffer]
    dynamic_shared: int
    draws: Draws | None = None
    _constants: Constants | None = field(default=None)

    def constants(self, kernel: Kernel, dag: Dag) -> Constants:
        """The constant banks."""
        if self._constants is None or self._constants.dag is not dag:
            self._constants = Constants(self, dag)
        return self._constants

    def global_memory(self, dag: Dag, clock: Clock) -> Memory:
        """Global memory: the buffers with their contents."""
        areas, first = [], 0
        for buffer in self.buffers.values():
            areas.append(Area(buffer.name, buffer.address, first, first + buffer.words))
            first += buffer.words
        memory = Memory("global memory", areas, dag, clock)
        for area, buffer in zip(areas, self.buffers.values(), strict=True):
            words = np.arange(area.first, area.stop)
            memory.poke(words, contents(buffer, dag))
        return memory

    def shared_memory(self, dag: Dag, clock: Clock) -> Memory:
        """Shared memory: one window, and the words of each block behind those of the one before."""
        facts = launch_facts(self.kernel.arch)
        base = facts.shared_base or 0
        size = max((self.kernel.resources.shared or 0) - base, 0) + self.dynamic_shared
        words = -(-size // 4)
        memory = Memory(
            "shared memory",
            [Area("shared memory", base, 0, words)] if words else [],
            dag,
            clock,
            self.geometry.blocks,
        )
        memory.nodes[:] = _undefined(dag, "shared memory", len(memory.nodes))
        return memory

    def local_memory(self, dag: Dag, clock: Clock) -> Memory:
        """Local memory: one window for each thread."""
        words = -(-(self.kernel.resources.local or 0) // 4)
        area = [Area("local memory", _FRAME - 4 * words, 0, words)] if words else []
        memory = Memory("local memory", area, dag, clock, self.geometry.threads)
        memory.nodes[:] = _undefined(dag, "local memory", len(memory.nodes))
        return memory


_undefined_count = [0]


def _undefined(dag: Dag, name: str, count: int) -> Ids:
    """Nodes that equal nothing, of this run or another."""
    if not count:
        return np.zeros(0, np.int32)
    _undefined_count[0] += 1
    return dag.leaves(f"undefined {name} {_undefined_count[0]}", "b32", count)


def contents(buffer: Buffer, dag: Dag) -> Value:
    """The words of a buffer before the launch; what an output held is unknown."""
    kind, count = buffer.argument.type, buffer.count
    size = TYPES[kind]
    if buffer.known is not None:
        raw = buffer.known.tobytes()
        return np.frombuffer(raw + b"\0" * (-len(raw) % 4), np.uint32).copy(), None
    nodes = dag.leaves(leaf_name(buffer.argument), kind, count)
    zero = np.zeros(buffer.words, np.uint32)
    if size == 4 and "x2" not in kind:
        return zero, nodes
    if size == 8:
        words = np.empty(2 * count, np.int32)
        words[0::2], words[1::2] = dag.word(nodes, 0), dag.word(nodes, 1)
        return zero, words
    if size == 2:
        even = nodes if count % 2 == 0 else np.append(nodes, np.int32(dag.constant(0, 16)))
        return zero, dag.pack(even[0::2], even[1::2])
    raise UsageError(
        f"{buffer.name}: elements of type {kind} must be known numbers", hint="such as 'x:in:u8[n]=0..256'"
    )


def stage(kernel: Kernel, side: Side, shape: Shape, crossing: bool, draws: Draws | None = None) -> Stage:
    """A kernel on a shape; with ``draws`` all data are the numbers of its first sample.

    Every buffer lies across a multiple of 2^32, so that no carry of an address can be lost unseen: with
    ``crossing`` its middle does, else the end of its first quarter.

    Raises:
        UsageError: sizes that make no sense, or arguments that are not the kernel's.
    """
    names: dict[str, Any] = dict(shape)
    for argument in side.arguments:
        if not argument.is_buffer and argument.value and argument.type not in FLOATS:
            names.setdefault(argument.name, whole(argument.value, names))
    block, grid = (tuple(whole(item, names) for item in extent) for extent in (side.block, side.grid))
    geometry = Geometry(block, grid)  # type: ignore[arg-type]
    buffers: dict[str, Buffer] = {}
    for number, argument in enumerate(side.arguments):
        if not argument.is_buffer:
            continue
        count = whole(argument.size, names)
        if count < 1:
            raise UsageError(f"{argument.name} has {count} elements")
        size = count * TYPES[argument.type]
        middle = size // (2 if crossing else 4) // _ALIGNED * _ALIGNED
        address = (number + 8 << 33) - middle
        known = _numbers(argument, count, names)
        if known is None and draws is not None:
            known = draws.numbers(leaf_name(argument), argument.type, count)
        buffers[argument.name] = Buffer(argument, count, address, known)
    return Stage(kernel, side, dict(names), geometry, buffers, whole(side.shared, names), draws)


def leaf_name(argument: Argument) -> str:
    """The name of a buffer's unknown contents: what an output held before is not what another one held."""
    return argument.name if argument.direction in ("in", "inout") else f"{argument.name} before"


def _numbers(argument: Argument, count: int, names: Mapping[str, Any]) -> npt.NDArray[Any] | None:
    """Integers that a description gives a range for; the same for every kernel and run."""
    if argument.type in FLOATS or not argument.value:
        return None
    seed = zlib.crc32(f"{argument.name}:{count}:{argument.value}".encode())
    rng = np.random.default_rng(seed)
    kind = np.dtype(argument.type.replace("i", "int").replace("u", "uint").replace("uintnt", "uint"))
    if argument.value == "permutation":
        return rng.permutation(count).astype(kind)
    low, dots, high = argument.value.partition("..")
    first = whole(low, names)
    return rng.integers(first, whole(high, names) if dots else first + 1, count).astype(kind)


class Constants:
    """The constant banks of a launch: what the driver and the compiler put there."""

    def __init__(self, stage: Stage, dag: Dag) -> None:
        self.stage, self.dag = stage, dag
        self.bits = np.zeros(_BANK_BYTES // 4, np.uint32)
        self.nodes = dag.leaves("constant bank of the driver", "b32", len(self.bits))
        kernel, geometry = stage.kernel, stage.geometry
        facts = launch_facts(kernel.arch)
        if facts.parameter_base is None:
            raise Refused(f"the constant bank of {kernel.arch} is not known")
        for offset, name in facts.constants.items():
            what, _, axis = name.partition(".")
            extent = {"ntid": geometry.block, "nctaid": geometry.grid}.get(what)
            if extent is not None:
                self._put(offset, extent["xyz".index(axis)])
            elif what == "frame":
                self._put(offset, _FRAME)
        self._parameters(facts.parameter_base)
        self._cache: dict[tuple[int, int, int], Value] = {}

    def _put(self, offset: int, value: int, size: int = 4) -> None:
        for word in range(-(-size // 4)):
            self.bits[offset // 4 + word] = value >> 32 * word & 0xFFFFFFFF
            self.nodes[offset // 4 + word] = 0

    def _parameters(self, base: int) -> None:
        kernel, side = self.stage.kernel, self.stage.side
        declared = kernel.resources.parameters
        if len(declared) != len(side.arguments):
            given = len(side.arguments)
            text = f"{kernel.name} has {len(declared)} parameters, and the launch gives {given} arguments"
            raise UsageError(text)
        for parameter, argument in zip(declared, side.arguments, strict=True):
            size = 8 if argument.is_buffer else TYPES[argument.type]
            if size != parameter.size:
                what = f"has {size} bytes, its parameter {parameter.size}"
                text = f"argument {argument.name} of {kernel.name} {what}"
                raise UsageError(text)
            offset = base + parameter.offset
            if argument.is_buffer:
                self._put(offset, self.stage.buffers[argument.name].address, 8)
            else:
                self._number(argument, offset, size)

    def _number(self, argument: Argument, offset: int, size: int) -> None:
        if argument.type in FLOATS:
            self._float(argument, offset)
            return
        text = argument.value or argument.name
        value = whole(text, self.stage.shape)
        if size < 4:
            word = int(self.bits[offset // 4]) & ~((1 << 8 * size) - 1 << 8 * (offset % 4))
            value = word | (value & (1 << 8 * size) - 1) << 8 * (offset % 4)
            offset = offset // 4 * 4
        self._put(offset, value & (1 << 8 * max(size, 4)) - 1, max(size, 4))

    def _float(self, argument: Argument, offset: int) -> None:
        kind, dag = argument.type, self.dag
        if argument.value and ".." not in argument.value:
            value = evaluate(argument.value, self.stage.shape)
            self._put(offset, *float_bits(kind, value))
            return
        draws = self.stage.draws
        if draws is not None:
            raw = draws.numbers(
                argument.name, kind.removesuffix("x2"), 2 if kind.endswith("x2") else 1
            ).tobytes()
            shift = 8 * (offset % 4)
            word = int(self.bits[offset // 4]) & (1 << shift) - 1
            self._put(offset // 4 * 4, word | int.from_bytes(raw, "little") << shift, max(len(raw), 4))
            return
        nodes = dag.leaves(argument.name, kind.removesuffix("x2"), 2 if kind.endswith("x2") else 1)
        word = offset // 4
        if kind == "f32":
            self.nodes[word] = nodes[0]
        elif kind == "f64":
            self.nodes[word], self.nodes[word + 1] = dag.word(nodes, 0)[0], dag.word(nodes, 1)[0]
        elif kind.endswith("x2"):
            self.nodes[word] = dag.pack(nodes[:1], nodes[1:])[0]
        elif offset % 4 == 0:
            self.nodes[word] = dag.pack(nodes, np.array([dag.constant(0, 16)], np.int32))[0]
        else:
            low = self.nodes[word : word + 1]
            self.nodes[word] = dag.pack(dag.half(low, 0), nodes)[0]

    def read(self, bank: int, offset: int, size: int) -> Value:
        """``size`` bytes of a bank as one value."""
        key = (bank, offset, size)
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._read(bank, offset, size)
        return found

    def _read(self, bank: int, offset: int, size: int) -> Value:
        if size == 8:
            (low, first), (high, second) = self.read(bank, offset, 4), self.read(bank, offset + 4, 4)
            bits = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
            if first is None and second is None:
                return bits, None
            one = self.dag.constants(low, 32) if first is None else first
            two = self.dag.constants(high, 32) if second is None else second
            return bits, self.dag.wide(one, two)
        if size < 4:
            bits, nodes = self.read(bank, offset // 4 * 4, 4)
            if nodes is not None and size == 2:
                half = self.dag.half(nodes, offset % 4 // 2)
                return bits, self.dag.pack(half, np.array([self.dag.constant(0, 16)], np.int32))
            if nodes is not None:
                raise Refused("a byte of an unknown parameter is not covered")
            return bits >> np.uint32(8 * (offset % 4)) & np.uint32((1 << 8 * size) - 1), None
        return self.gather(bank, np.array([offset], np.uint32))

    def gather(self, bank: int, offsets: Bits) -> Value:
        """Words at offsets in bytes."""
        places: Words = offsets.astype(np.int64)
        if bank == 0:
            if (places % 4).any() or (places >= _BANK_BYTES).any():
                raise Refused("such an offset in constant bank 0 is not covered")
            nodes = self.nodes[places // 4]
            return self.bits[places // 4], nodes if nodes.any() else None
        content = self.stage.kernel.constants.get(bank)
        if content is None or (places + 4 > len(content)).any() or (places % 4).any():
            raise Refused(f"constant bank {bank} is not known there")
        return np.frombuffer(content[: len(content) // 4 * 4], np.uint32)[places // 4], None


def float_bits(kind: str, value: float) -> tuple[int, int]:
    """The bits of a float of a type, and the bytes that they take as an argument."""
    if kind == "f64":
        return int(np.array([value], np.float64).view(np.uint64)[0]), 8
    if kind == "f32":
        return int(np.array([value], np.float32).view(np.uint32)[0]), 4
    half = int(np.array([value], np.float16).view(np.uint16)[0])
    if kind.startswith("bf16"):
        half = int(np.array([value], np.float32).view(np.uint32)[0]) >> 16
    return (half | half << 16, 4) if kind.endswith("x2") else (half, 4)
