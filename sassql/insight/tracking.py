"""Who touched which word of memory when: footprints, races, and pending asynchronous copies.

Two threads race when they touch a word between the same two barriers of their block, one of them
writes, and they are of different warps. Lanes of one warp run in the order of the program here, as
the compiler of sm_70 and later keeps them at a `__syncwarp`; the run notes where a kernel relies on it.
Blocks are ordered by a fence after the write and an atomic operation of the reader's block later on.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sassql.insight.state import Fault

Words = npt.NDArray[np.int64]
Place = Callable[[], str]
"""Names the instruction that touches memory: a text that only a message needs."""
_NEVER = -1


class Clock:
    """What orders threads: barriers passed by block, fences and atomics by block, copies by thread."""

    def __init__(self, block_of: Words, warp_of: Words, blocks: int) -> None:
        self.block_of, self.warp_of = block_of, warp_of
        self.blocks = blocks
        self.time = 0
        self.barriers = np.zeros(blocks, np.int64)
        self.fence = np.full(blocks, _NEVER, np.int64)
        self.acquired = np.full(blocks, _NEVER, np.int64)
        self.committed = np.zeros(len(block_of), np.int64)
        self.arrived = np.zeros(len(block_of), np.int64)

    def epoch(self, threads: Words) -> Words:
        """A number that threads share which no barrier has parted."""
        block = self.block_of[threads]
        return self.barriers[block] * self.blocks + block


class Tracker:
    """The accesses of one memory, by word."""

    def __init__(self, words: int, name: str, clock: Clock) -> None:
        self.name, self.clock = name, clock
        self.loaded = np.zeros(words, np.bool_)
        self.stored = np.zeros(words, np.bool_)
        self.atomic = np.zeros(words, np.bool_)
        self.unordered = np.zeros(words, np.bool_)
        self.warp_order = False
        self._writer = np.full(words, _NEVER, np.int64)
        self._write_epoch = np.full(words, _NEVER, np.int64)
        self._write_time = np.full(words, _NEVER, np.int64)
        self._read_epoch = np.full(words, _NEVER, np.int64)
        self._read_low = np.zeros(words, np.int64)
        self._read_high = np.zeros(words, np.int64)
        self._read_blocks = np.full((2, words), _NEVER, np.int64)
        self._copy = np.zeros(words, np.int64)

    def load(self, words: Words, threads: Words, place: Place) -> None:
        """Note loads; a race is a Fault."""
        self.loaded[words] = True
        if self.stored[words].any():
            self._after_write(words, threads, place, "reads")
        clock = self.clock
        epoch, warp, block = clock.epoch(threads), clock.warp_of[threads], clock.block_of[threads]
        stale = self._read_epoch[words] != epoch
        if stale.any():
            old = words[stale]
            self._read_low[old] = self._read_high[old] = warp[stale]
            self._read_epoch[old] = epoch[stale]
        np.minimum.at(self._read_low, words, warp)
        np.maximum.at(self._read_high, words, warp)
        first = words[self._read_blocks[0, words] == _NEVER]
        self._read_blocks[:, first] = block[self._read_blocks[0, words] == _NEVER]
        np.minimum.at(self._read_blocks[0], words, block)
        np.maximum.at(self._read_blocks[1], words, block)

    def store(self, words: Words, threads: Words, place: Place, changed: npt.NDArray[np.bool_]) -> None:
        """Note stores; ``changed`` is false where the word holds the value already: order does not matter."""
        clock = self.clock
        if self.stored[words].any():
            self._after_write(words[changed], threads[changed], place, "writes")
        epoch, warp, block = clock.epoch(threads), clock.warp_of[threads], clock.block_of[threads]
        same = (self._read_epoch[words] == epoch) & changed
        if (same & ((self._read_low[words] != warp) | (self._read_high[words] != warp))).any():
            raise Fault(f"{place()} writes {self.name} that another warp reads with no barrier between")
        low, high = self._read_blocks[:, words]
        across = changed & (low != _NEVER) & ((low != block) | (high != block))
        if across.any():
            raise Fault(f"{place()} writes {self.name} that another block reads")
        self.stored[words] = True
        self._writer[words], self._write_epoch[words], self._write_time[words] = threads, epoch, clock.time

    def atomics(self, words: Words, threads: Words, place: Place) -> None:
        """Note atomic operations, which never race with each other."""
        fresh = ~self.atomic[words]
        if fresh.any() and (self.stored[words] & fresh).any():
            self._after_write(words[fresh], threads[fresh], place, "updates")
        self.atomic[words] = True
        self.loaded[words] = self.stored[words] = True
        self._writer[words], self._write_epoch[words] = threads, self.clock.epoch(threads)
        self._write_time[words] = self.clock.time

    def copy(self, words: Words, threads: Words) -> None:
        """Words that an asynchronous copy fills: they arrive with their thread's group."""
        self._copy[words] = self.clock.committed[threads] + 1

    def _after_write(self, words: Words, threads: Words, place: Place, does: str) -> None:
        """Whether the last writes of these words come before what the threads do now."""
        clock, writer = self.clock, self._writer[words]
        known = writer != _NEVER
        words, threads, writer = words[known], threads[known], writer[known]
        waited = self._copy[words]
        if (waited > clock.arrived[writer]).any():
            raise Fault(f"{place()} {does} {self.name} before an asynchronous copy has arrived")
        other = writer != threads
        blocks, mine = clock.block_of[writer], clock.block_of[threads]
        near = other & (blocks == mine) & (self._write_epoch[words] == clock.epoch(threads))
        lanes = clock.warp_of[writer] == clock.warp_of[threads]
        if (near & ~lanes).any():
            raise Fault(f"{place()} {does} {self.name} that another warp writes with no barrier between")
        self.warp_order |= bool((near & lanes).any())
        far = blocks != mine
        if far.any():
            fence = clock.fence[blocks[far]]
            ordered = (self._write_time[words][far] < fence) & (fence < clock.acquired[mine[far]])
            if not ordered.all():
                raise Fault(f"{place()} {does} {self.name} that another block writes, in no order")
