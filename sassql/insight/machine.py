"""The bounded executor: all threads of a launch, one instruction after the other, over arrays of threads.

Threads at the lowest address run first, and those at the same address run together. Reconvergence
follows BSSY and BSYNC, so that lanes meet again where the hardware lets them meet. All blocks of the
grid advance together; barriers hold the threads of their block.

Integers, predicates and addresses are numbers. Unknown data are nodes of a `Dag`. A branch on unknown
data runs both ways, see `forks.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sassql.facts.blocks import Blocks
from sassql.insight.compiling import Op, compiled
from sassql.insight.dag import Dag, Ids
from sassql.insight.launching import Geometry, Stage
from sassql.insight.memory import Memory
from sassql.insight.state import Bits, Chosen, Fault, Refused, State, Value, as_nodes
from sassql.insight.tracking import Clock, Words
from sassql.model.kernel import Kernel

RUNNING, EXITED, AT_BARRIER, AT_SYNC, AT_DIVERGENCE = 0, 1, 2, 3, 5
DEFAULT_BUDGET = 400_000
MOST_NODES = 40_000_000
_FAIRNESS = 5_000
"""Steps after which a thread that waits at a higher address gets a turn: somebody may spin below."""


@dataclass(slots=True)
class Assumption:
    """What a run took for granted: at which address, and what."""

    address: int
    text: str


@dataclass(slots=True)
class Counters:
    """How much a run did."""

    steps: int = 0
    reached: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    ways: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros((2, 0), np.bool_))
    """By instruction that decides where threads go: whether its condition failed, and held, somewhere."""


class Machine:
    """One kernel on one launch."""

    def __init__(self, kernel: Kernel, stage: Stage, dag: Dag, budget: int = DEFAULT_BUDGET) -> None:
        self.kernel, self.stage, self.dag, self.budget = kernel, stage, dag, budget
        geometry = self.geometry = stage.geometry
        threads = geometry.threads
        self.state = State(threads, dag)
        self.clock = Clock(geometry.block_of, geometry.warp_of, geometry.blocks)
        self.global_memory = stage.global_memory(dag, self.clock)
        self.shared = stage.shared_memory(dag, self.clock)
        self.local = stage.local_memory(dag, self.clock)
        self.pc = np.zeros(threads, np.int64)
        self.status = np.full(threads, RUNNING, np.int8)
        self.waits = np.zeros(threads, np.uint32)
        self.path = np.zeros(threads, np.int32)
        self.barrier_value = np.zeros(threads, np.uint32)
        self.barrier_nodes = np.zeros(threads, np.int32)
        self.waits_on = np.full(threads, -1, np.int64)
        self.barrier_mode = ""
        self.block_value = np.zeros(threads, np.uint32)
        self.block_nodes = np.zeros(threads, np.int32)
        self.block_predicate = np.zeros(threads, np.bool_)
        self.undefined = 0
        self.skipped: set[tuple[int, int]] = set()
        self.guards: list[Ids] = []
        self.assumptions: dict[tuple[int, str], Assumption] = {}
        count = len(kernel.form_ids)
        self.counters = Counters(0, np.zeros(count, np.bool_), np.zeros((2, count), np.bool_))
        self.depth = 0
        self.here = 0
        self._ops: list[Op | None] = [None] * len(kernel.form_ids)
        self._active = np.zeros(threads, np.bool_)
        self.everything = np.arange(threads, dtype=np.int64)
        self.blocks: Blocks = kernel.fact("blocks")

    # --- what readers ask

    def constant(self, bank: int, offset: int, size: int) -> Value:
        """``size`` bytes (1, 2, 4, 8) of a constant bank as one value."""
        return self.stage.constants(self.kernel, self.dag).read(bank, offset, size)

    def constants(self, bank: int, offsets: Bits) -> Value:
        """Words of a constant bank at offsets in bytes."""
        return self.stage.constants(self.kernel, self.dag).gather(bank, offsets)

    def threads(self, chosen: Chosen) -> Words:
        """Numbers of the chosen threads."""
        return self.everything if chosen is None else chosen

    def is_active(self, threads: Words, chosen: Chosen) -> npt.NDArray[np.bool_]:
        """Which of some threads run the instruction that the chosen ones run."""
        if chosen is None:
            return np.ones(len(threads), np.bool_)
        self._active[chosen] = True
        found = self._active[threads]
        self._active[chosen] = False
        return found

    def place(self) -> str:
        """The instruction that runs now, for messages."""
        return f"{self.op(self.here).text} at {int(self.kernel.addresses[self.here]):#x}"

    def assume(self, text: str) -> None:
        """Note what the run takes for granted at this instruction."""
        address = int(self.kernel.addresses[self.here])
        self.assumptions.setdefault((address, text), Assumption(address, text))

    def op(self, index: int) -> Op:
        """The compiled instruction ``index``."""
        found = self._ops[index]
        if found is None:
            found = self._ops[index] = _compiled(self.kernel, index)
        return found

    # --- running

    def run(self) -> None:
        """Run the kernel to its end.

        Raises:
            Refused: an instruction or a branch that is not covered, or the budget is used up.
            Fault: the kernel leaves its memory or races.
        """
        with np.errstate(all="ignore"):
            try:
                self.advance(self.everything, -1)
            except Refused as reason:
                raise Refused(f"{self.place()}: {reason}") from None
        if self.global_memory.tracker.warp_order or self.shared.tracker.warp_order:
            text = "lanes of a warp exchange values through memory with no barrier: they run in program order"
            self.assume(text)

    def advance(self, group: Words, stop: int) -> None:
        """Run the threads of ``group`` until each has exited or stands at instruction ``stop``."""
        while True:
            running = group[(self.status[group] == RUNNING) & (self.pc[group] != stop)]
            if not len(running):
                if not self._release(group, stop):
                    return
                continue
            places = self.pc[running]
            low = int(places.min())
            if self.counters.steps % _FAIRNESS == _FAIRNESS - 1:
                low = int(places.max())
            here = places == low
            chosen = running[here]
            others = places[~here]
            limit = int(others[others > low].min()) if len(others) and others.max() > low else len(self._ops)
            if low < stop < limit:
                limit = stop
            self._straight(low, limit, None if len(chosen) == len(self.everything) else chosen)

    def _straight(self, index: int, limit: int, chosen: Chosen) -> None:
        """Run the chosen threads from ``index`` up to ``limit``, or to an instruction that branches."""
        counters, clock = self.counters, self.clock
        threads = self.threads(chosen)
        while index < limit:
            op = self._ops[index] or self.op(index)
            counters.steps += 1
            clock.time += 1
            if counters.steps > self.budget or self.dag.size > MOST_NODES:
                raise Refused(
                    f"more than {self.budget} steps" if counters.steps > self.budget else "too many nodes"
                )
            counters.reached[index] = True
            self.here = index
            if op.control:
                self.pc[threads] = index + 1
                self._guarded(op, chosen)
                return
            if op.guard is None:
                op.run(self, chosen)
            else:
                self._guarded(op, chosen)
            index += 1
        if index >= len(self._ops):
            raise Fault("the kernel runs past its last instruction")
        self.pc[threads] = index

    def _guarded(self, op: Op, chosen: Chosen) -> None:
        if op.guard is None:
            op.run(self, chosen)
            return
        bits, nodes = self.state.guard(op.guard, chosen)
        threads = self.threads(chosen)
        mask = np.broadcast_to(bits, threads.shape)
        if op.control:
            self.note_way(mask, nodes)
        if nodes is None:
            if mask.all():
                op.run(self, chosen)
            elif mask.any():
                op.run(self, threads[mask])
            return
        known = nodes == 0
        sure = threads[known & mask]
        if len(sure):
            op.run(self, sure)
        from sassql.insight import forks  # noqa: PLC0415  (the two call each other)

        forks.guarded(self, op, threads[~known], nodes[~known])

    def note_way(self, holds: npt.NDArray[np.bool_], nodes: Bits | None = None) -> None:
        """Remember which ways the instruction that runs now has sent threads; unknown data send them both."""
        unknown = nodes is not None
        self.counters.ways[0, self.here] |= unknown or not holds.all()
        self.counters.ways[1, self.here] |= unknown or bool(holds.any())

    def _release(self, group: Words, stop: int) -> bool:
        """Let go on who waits for nobody any more; whether anybody does."""
        status = self.status[group]
        if not (status > EXITED).any():
            return False
        if self._meet(group) or self._pass_barriers(group):
            return True
        if stop >= 0:  # inside a fork the others cannot come: convergence is no matter of the result
            held = group[(status == AT_SYNC) | (status == AT_DIVERGENCE)]
            if len(held):
                self.status[held] = RUNNING
                return True
            raise Refused("a barrier where unknown data decide who comes is not covered")
        diverged = group[status == AT_DIVERGENCE]
        if len(diverged):
            self.pc[diverged] = self.kernel_targets(int(self.pc[diverged[0]]) - 1)
            self.status[diverged] = RUNNING
            return True
        raise Fault("the threads wait for each other and none can go on")

    def kernel_targets(self, index: int) -> int:
        """The instruction that instruction ``index`` names as its target."""
        target = int(self.kernel.targets[index])
        if target < 0:
            raise Refused("a target outside of the kernel is not covered")
        return int(np.searchsorted(self.kernel.addresses, target))

    def _meet(self, group: Words) -> bool:
        """Lanes that wait for lanes of their warp: at a reconvergence point, or with a mask."""
        waiting = group[(self.status[group] > AT_BARRIER)]
        if not len(waiting):
            return False
        geometry = self.geometry
        warp = geometry.warp_of[waiting]
        keys = warp * len(self._ops) + self.pc[waiting]
        unique, inverse = np.unique(keys, return_inverse=True)
        present = np.zeros(len(unique), np.uint32)
        np.bitwise_or.at(present, inverse, np.uint32(1) << geometry.lane_of[waiting].astype(np.uint32))
        missing = self.waits[waiting] & self.alive()[warp] & ~present[inverse]
        free = waiting[missing == 0]
        self.status[free] = RUNNING
        return len(free) > 0

    def alive(self) -> npt.NDArray[np.uint32]:
        """By warp, a mask of the lanes that have not exited."""
        geometry = self.geometry
        found = np.zeros(geometry.warps, np.uint32)
        here = np.flatnonzero(self.status != EXITED)
        np.bitwise_or.at(
            found, geometry.warp_of[here], np.uint32(1) << geometry.lane_of[here].astype(np.uint32)
        )
        return found

    def _pass_barriers(self, group: Words) -> bool:
        from sassql.insight import controls  # noqa: PLC0415  (the two call each other)

        return controls.pass_barriers(self, group)

    def memories(self) -> tuple[Memory, ...]:
        """The spaces that threads can share."""
        return self.global_memory, self.shared

    def conditional(self, threads: Words, old: Value, new: Value, width: int = 32) -> Value:
        """What a store leaves where unknown data decide whether it happens: the path's condition picks."""
        path = self.path[threads]
        if not path.any():
            return new
        count = len(threads)
        number = self.dag.number("sel" if width == 32 else "sel64")
        some = path != 0
        first, second = as_nodes(self.dag, new, width, count), as_nodes(self.dag, old, width, count)
        nodes = np.zeros(count, np.int32) if new[1] is None else new[1].copy()
        differ = some & (first != second)
        if differ.any():
            arguments = (first[differ], second[differ], path[differ])
            nodes[differ] = self.dag.add(number, arguments, int(differ.sum()))
        return np.broadcast_to(new[0], (count,)), nodes if nodes.any() else None


_compiled_forms: dict[int, tuple[object, Op]] = {}


def _compiled(kernel: Kernel, index: int) -> Op:
    form = kernel.forms[kernel.rows[index]]
    known = _compiled_forms.get(id(form))
    if known is not None and known[0] is form:
        return known[1]
    op = compiled(form)
    _compiled_forms[id(form)] = (form, op)
    return op


def start(kernel: Kernel, geometry: Geometry) -> None:
    """Refuse a launch that the kernel's own limits forbid."""
    most = kernel.resources.max_threads
    per_block = geometry.threads // max(geometry.blocks, 1)
    if most is not None and per_block > most:
        raise Refused(f"{per_block} threads a block, and the kernel allows {most}")
