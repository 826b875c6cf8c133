"""What the threads of a run hold: registers, predicates, convergence barriers, as arrays over all threads.

Uniform registers are kept once for each thread as well; the threads of a warp write the same number
there. A register that was never written is a node of its own, so that nothing can rest on it unseen.

Threads are chosen by `Chosen`: an array of thread numbers, or None for all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sassql.insight.dag import Dag, Ids
from sassql.model.form import Guard
from sassql.model.operands import RegisterOperand
from sassql.model.register import Register

Chosen = npt.NDArray[np.int64] | None
Bits = npt.NDArray[Any]
Value = tuple[Bits, Ids | None]
"""Bits, one or one for each chosen thread, and nodes (0 where the bits are known) or None."""

UNIFORM = 256
REGISTERS, PREDICATES, BARRIERS = 512, 16, 32
FALSE, TRUE = np.zeros(1, np.bool_), np.ones(1, np.bool_)
ZERO = np.zeros(1, np.uint32)


class Refused(Exception):  # noqa: N818  (an outcome, and no mistake)
    """The executor does not cover what the kernel does; the text is the reason."""


class Fault(Exception):  # noqa: N818
    """What the kernel does has no defined result: it leaves its memory, it races."""


def general(file: str, index: int) -> int:
    """The row of a general or uniform register."""
    return index + UNIFORM if file == "UR" else index


def predicate(file: str, index: int) -> int:
    """The row of a predicate or uniform predicate."""
    return index + 8 if file == "UP" else index


class State:
    """Registers of ``threads`` threads; ``symbolic`` says whether a row has nodes at all."""

    def __init__(self, threads: int, dag: Dag) -> None:
        self.threads = threads
        self.dag = dag
        self.bits = np.zeros((REGISTERS, threads), np.uint32)
        self.nodes = np.zeros((REGISTERS, threads), np.int32)
        self.symbolic = [False] * REGISTERS
        self.written = [False] * REGISTERS
        self.holds = np.zeros((PREDICATES, threads), np.bool_)
        self.predicate_nodes = np.zeros((PREDICATES, threads), np.int32)
        self.predicate_symbolic = [False] * PREDICATES
        self.barriers = np.zeros((BARRIERS, threads), np.uint32)

    def read(self, row: int, chosen: Chosen) -> Value:
        """A register of the chosen threads."""
        if not self.written[row]:
            self._undefined(row)
        bits = self.bits[row] if chosen is None else self.bits[row][chosen]
        if not self.symbolic[row]:
            return bits, None
        nodes = self.nodes[row] if chosen is None else self.nodes[row][chosen]
        return bits, nodes if nodes.any() else None

    def _undefined(self, row: int) -> None:
        """What nobody wrote is a node that equals nothing."""
        leaf = int(self.dag.leaves(f"undefined register {row} of run {id(self)}", "b32", 1)[0])
        self.nodes[row], self.symbolic[row], self.written[row] = leaf, True, True

    def write(self, row: int, chosen: Chosen, value: Value) -> None:
        """Write a register of the chosen threads."""
        bits, nodes = value
        if not self.written[row]:
            if chosen is not None:
                self._undefined(row)
            self.written[row] = True
        if chosen is None:
            self.bits[row] = bits
            self.symbolic[row] = nodes is not None
            if nodes is not None:
                self.nodes[row] = nodes
            return
        self.bits[row, chosen] = bits
        if nodes is not None:
            if not self.symbolic[row]:
                self.nodes[row] = 0
                self.symbolic[row] = True
            self.nodes[row, chosen] = nodes
        elif self.symbolic[row]:
            self.nodes[row, chosen] = 0

    def read_predicate(self, row: int, chosen: Chosen) -> Value:
        """A predicate of the chosen threads."""
        bits = self.holds[row] if chosen is None else self.holds[row][chosen]
        if not self.predicate_symbolic[row]:
            return bits, None
        nodes = self.predicate_nodes[row] if chosen is None else self.predicate_nodes[row][chosen]
        return bits, nodes if nodes.any() else None

    def write_predicate(self, row: int, chosen: Chosen, value: Value) -> None:
        """Write a predicate of the chosen threads."""
        bits, nodes = value
        if chosen is None:
            self.holds[row] = bits
            self.predicate_symbolic[row] = nodes is not None
            if nodes is not None:
                self.predicate_nodes[row] = nodes
            return
        self.holds[row, chosen] = bits
        if nodes is not None:
            if not self.predicate_symbolic[row]:
                self.predicate_nodes[row] = 0
                self.predicate_symbolic[row] = True
            self.predicate_nodes[row, chosen] = nodes
        elif self.predicate_symbolic[row]:
            self.predicate_nodes[row, chosen] = 0

    def inverted(self, value: Value) -> Value:
        """A predicate's opposite."""
        bits, nodes = value
        if nodes is None:
            return ~bits, None
        some = nodes != 0
        found = np.zeros(len(nodes), np.int32)
        found[some] = self.dag.add(self.dag.number("inot", ("1",)), (nodes[some],), int(some.sum()))
        return ~bits, found

    def predicate_operand(self, operand: RegisterOperand, chosen: Chosen) -> Value:
        """A predicate operand with its `!`."""
        if operand.index is None:
            return (FALSE if operand.inverted else TRUE), None
        value = self.read_predicate(predicate(operand.file, operand.index), chosen)
        return self.inverted(value) if operand.inverted else value

    def guard(self, guard: Guard, chosen: Chosen) -> Value:
        """Where an instruction runs."""
        if guard.index is None:
            return (FALSE if guard.inverted else TRUE), None
        value = self.read_predicate(predicate(guard.file, guard.index), chosen)
        return self.inverted(value) if guard.inverted else value

    def wide(self, row: int, chosen: Chosen) -> Value:
        """Two registers as one 64-bit value."""
        (low, low_nodes), (high, high_nodes) = self.read(row, chosen), self.read(row + 1, chosen)
        bits = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
        if low_nodes is None and high_nodes is None:
            return bits, None
        count = len(bits)
        first, second = (
            as_nodes(self.dag, (low, low_nodes), 32, count),
            as_nodes(self.dag, (high, high_nodes), 32, count),
        )
        some = np.zeros(count, np.bool_)
        for nodes in (low_nodes, high_nodes):
            if nodes is not None:
                some |= nodes != 0
        found = np.zeros(count, np.int32)
        found[some] = self.dag.wide(first[some], second[some])
        return bits, found

    def write_wide(self, row: int, chosen: Chosen, value: Value) -> None:
        """Write a 64-bit value to two registers."""
        bits, nodes = value
        low, high = bits.astype(np.uint32), (bits >> np.uint64(32)).astype(np.uint32)
        parts: list[Ids | None] = [None, None]
        if nodes is not None:
            some = nodes != 0
            for which in (0, 1):
                part = np.zeros(len(nodes), np.int32)
                part[some] = self.dag.word(nodes[some], which)
                parts[which] = part
        self.write(row, chosen, (low, parts[0]))
        self.write(row + 1, chosen, (high, parts[1]))

    def snapshot(self, registers: frozenset[Register], chosen: Chosen) -> dict[Register, Value]:
        """Copies of some registers and predicates of the chosen threads."""
        found: dict[Register, Value] = {}
        for register in registers:
            if register.file in ("R", "UR"):
                bits, nodes = self.read(general(register.file, register.index), chosen)
            elif register.file in ("P", "UP"):
                bits, nodes = self.read_predicate(predicate(register.file, register.index), chosen)
            else:
                continue
            found[register] = bits.copy(), None if nodes is None else nodes.copy()
        return found


def as_nodes(dag: Dag, value: Value, width: int, count: int) -> Ids:
    """A value as nodes: constants for the lanes whose bits are known."""
    bits, nodes = value
    if nodes is None:
        found = dag.constants(bits, width)
    else:
        known = nodes == 0
        found = nodes
        if known.any():
            found = nodes.copy()
            every = np.broadcast_to(bits, nodes.shape)
            found[known] = dag.constants(every[known], width)
    return np.broadcast_to(found, (count,)) if len(found) != count else found
