"""Primitives of the tensor cores: matrix multiplies over the fragments of a warp, and matrix moves.

Which lane and register holds which element is documented in the PTX ISA ("Matrix Fragments for mma"). A
product of unknown data is a chain of steps in the order of k; a node at its end keeps apart what one
instruction sums up and what two do, since nobody says how the hardware rounds in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sassql.insight.accesses import memory_operand, operand_of, pure, register_row, words_of
from sassql.insight.compiling import Run, joined, special
from sassql.insight.operands import address, half_nodes
from sassql.insight.primitives import Parameters
from sassql.insight.state import Bits, Chosen, Refused, Value
from sassql.insight.tracking import Words
from sassql.isa.execution import Execution
from sassql.model.form import Form

if TYPE_CHECKING:
    from sassql.insight.machine import Machine

U32 = np.uint32
_LANES = np.arange(32)
_GROUP, _PLACE = _LANES >> 2, _LANES & 3
Piece = tuple[int, int, Words, Words]
"""Register, part of it, and by lane the row and column that it holds."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a fragment keeps its elements: ``parts`` of a register, and the pieces."""

    rows: int
    columns: int
    parts: int
    pieces: tuple[Piece, ...]

    @property
    def registers(self) -> int:
        return 1 + max(register for register, _, _, _ in self.pieces)


def _left(rows: int, columns: int, parts: int) -> Layout:
    """The first factor: eight rows and four registers' parts of columns at a time, rows first."""
    pieces: list[Piece] = []
    register = 0
    for column in range(0, columns, 4 * parts):
        for row in range(0, rows, 8):
            pieces.extend((register, p, _GROUP + row, _PLACE * parts + p + column) for p in range(parts))
            register += 1
    return Layout(rows, columns, parts, tuple(pieces))


def _right(rows: int, parts: int) -> Layout:
    """The second factor: columns by group, rows by place."""
    pieces: list[Piece] = []
    for register, row in enumerate(range(0, rows, 4 * parts)):
        pieces.extend((register, p, _PLACE * parts + p + row, _GROUP) for p in range(parts))
    return Layout(rows, 8, parts, tuple(pieces))


def _sum(rows: int, parts: int) -> Layout:
    """The accumulator: two neighbours in a row; of 32 bits each its own register, of 16 bits one for both."""
    pieces: list[Piece] = []
    for block, row in enumerate(range(0, rows, 8)):
        for p in range(2):
            register, part = (block, p) if parts == 2 else (2 * block + p, 0)
            pieces.append((register, part, _GROUP + row, 2 * _PLACE + p))
    return Layout(rows, 8, parts, tuple(pieces))


class Fragment:
    """The elements of a matrix for every warp: bits and nodes of shape (warps, rows, columns)."""

    def __init__(self, machine: Machine, layout: Layout, row: int | None, chosen: Chosen, warps: int) -> None:
        shape = (warps, layout.rows, layout.columns)
        width = 32 // layout.parts
        self.bits = np.zeros(shape, {8: np.uint8, 16: np.uint16, 32: np.uint32}[width])
        self.nodes = np.zeros(shape, np.int32)
        for register, part, rows, columns in layout.pieces if row is not None else ():
            assert row is not None
            bits, nodes = machine.state.read(row + register, chosen)
            part_nodes = half_nodes(machine.dag, nodes, part) if layout.parts == 2 else nodes
            if layout.parts == 4 and nodes is not None:
                raise Refused("bytes of unknown data in a matrix are taken as words")
            self.bits[:, rows, columns] = (
                (bits >> U32(width * part)).astype(self.bits.dtype).reshape(warps, 32)
            )
            if part_nodes is not None:
                self.nodes[:, rows, columns] = part_nodes.reshape(warps, 32)

    def column(self, k: int) -> Value:
        """Column k, once for each column of the sum."""
        return self._flat(self.bits[:, :, k, None], self.nodes[:, :, k, None])

    def row(self, k: int) -> Value:
        """Row k, once for each row of the sum."""
        return self._flat(self.bits[:, None, k, :], self.nodes[:, None, k, :])

    def whole(self) -> Value:
        """All elements."""
        return self._flat(self.bits, self.nodes)

    rows_of_sum = 16

    def _flat(self, bits: Bits, nodes: Bits) -> Value:
        shape = (bits.shape[0], self.rows_of_sum, 8)
        flat = np.ascontiguousarray(np.broadcast_to(nodes, shape)).reshape(-1)
        return np.ascontiguousarray(np.broadcast_to(bits, shape)).reshape(-1), flat if flat.any() else None


def _warps(machine: Machine, chosen: Chosen) -> int:
    threads = machine.threads(chosen)
    lanes = machine.geometry.lane_of[threads]
    if len(threads) % 32 or (lanes.reshape(-1, 32) != _LANES).any():
        raise Refused("a matrix instruction of a part of a warp is not covered")
    return len(threads) // 32


def _scatter(machine: Machine, layout: Layout, row: int, chosen: Chosen, warps: int, value: Value) -> None:
    """Write a matrix back to its fragment."""
    bits = np.broadcast_to(value[0], (warps * layout.rows * 8,)).reshape(warps, layout.rows, 8)
    nodes = None if value[1] is None else value[1].reshape(warps, layout.rows, 8)
    held: dict[int, list[Value]] = {}
    for register, _, rows, columns in layout.pieces:
        part = bits[:, rows, columns].reshape(-1)
        unknown = None if nodes is None else np.ascontiguousarray(nodes[:, rows, columns]).reshape(-1)
        held.setdefault(register, []).append((part, unknown))
    for register, parts in held.items():
        whole = joined(machine, parts[0], parts[1]) if layout.parts == 2 else parts[0]
        machine.state.write(row + register, chosen, whole)


Step = Callable[["Machine", Value, Value, Value, int], Value]


def _multiply(name: str, kinds: tuple[str, str, str], parameters: Parameters) -> Step:
    return lambda machine, a, b, c, count: pure(machine, name, parameters, (a, b, c), kinds, count)


def _shape(execution: Execution) -> str:
    return next(p for p in execution.parameters if p.isdigit())


def _matrix(form: Form, layouts: tuple[Layout, Layout, Layout], step: Step, halves: str = "") -> Run:
    rows = [register_row(form, role) for role in "dabc"]
    if any(o.role not in "dabc" for o in form.operands[4:]):
        raise Refused(f"{form.text} is not covered")
    first, _, third = layouts

    def run(machine: Machine, chosen: Chosen) -> None:
        warps = _warps(machine, chosen)
        a, b, c = (Fragment(machine, x, row, chosen, warps) for x, row in zip(layouts, rows[1:], strict=True))
        for fragment in (a, b, c):
            fragment.rows_of_sum = third.rows
        total, count = c.whole(), warps * third.rows * 8
        if halves:
            total = pure(machine, "widen", (), (total,), (halves,), count)
        for k in range(first.columns):
            total = step(machine, a.column(k), b.row(k), total, count)
        total = pure(machine, "mma_end", (str(first.columns),), (total,), ("f",), count)
        if halves:
            total = pure(machine, "narrow", (), (total,), ("f",), count)
        if rows[0] is not None:
            _scatter(machine, third, rows[0], chosen, warps, total)

    return run


@special("mma_f32")
def mma_f32(form: Form, execution: Execution) -> Run:
    """HMMA of halves with a 32-bit sum."""
    k = int(_shape(execution)[3:])
    layouts = _left(16, k, 2), _right(k, 2), _sum(16, 1)
    return _matrix(form, layouts, _multiply("mma_step", ("h", "h", "f"), ()))


@special("mma_bf16")
def mma_bf16(form: Form, execution: Execution) -> Run:
    """HMMA of bfloat16 numbers with a 32-bit sum."""
    k = int(_shape(execution)[3:])
    layouts = _left(16, k, 2), _right(k, 2), _sum(16, 1)
    return _matrix(form, layouts, _multiply("mma_step", ("b", "b", "f"), ("BF16",)))


@special("mma_f16")
def mma_f16(form: Form, execution: Execution) -> Run:
    """HMMA of halves with a sum of halves."""
    k = int(_shape(execution)[3:])
    layouts = _left(16, k, 2), _right(k, 2), _sum(16, 2)
    return _matrix(form, layouts, _multiply("mma_step", ("h", "h", "f"), ()), halves="h")


@special("mma_tf32")
def mma_tf32(form: Form, execution: Execution) -> Run:
    """HMMA of 32-bit floats with 10 bits of mantissa."""
    k = int(_shape(execution)[3:])
    layouts = _left(16, k, 1), _right(k, 1), _sum(16, 1)
    return _matrix(form, layouts, _multiply("mma_step_tf32", ("f", "f", "f"), ()))


@special("mma_int")
def mma_int(form: Form, execution: Execution) -> Run:
    """IMMA of bytes: four products of a word at a time, which are exact in any order."""
    if "SAT" in execution.parameters:
        raise Refused("a saturating matrix multiply is not covered")
    shape = _shape(execution)
    rows = 16 if shape.startswith("16") else 8
    words = int(shape[2 if rows == 8 else 3 :]) // 4
    kinds = tuple(p for p in execution.parameters if p in ("S8", "U8"))
    layouts = _left(rows, words, 1), _right(words, 1), _sum(rows, 1)
    return _matrix(form, layouts, _multiply("idp", ("r", "r", "i"), kinds))


# --- matrices of 8 x 8 halves


def _square(parts: list[Value], warps: int) -> tuple[Bits, Bits]:
    """Two halves of each lane as matrices of shape (warps, 8, 8)."""
    bits, nodes = np.zeros((warps, 8, 8), np.uint16), np.zeros((warps, 8, 8), np.int32)
    for part, (value, unknown) in enumerate(parts):
        bits[:, _GROUP, 2 * _PLACE + part] = np.broadcast_to(value, (warps * 32,)).reshape(warps, 32)
        if unknown is not None:
            nodes[:, _GROUP, 2 * _PLACE + part] = unknown.reshape(warps, 32)
    return bits, nodes


def _lanes_of(machine: Machine, bits: Bits, nodes: Bits) -> Value:
    """The words that the lanes hold of matrices."""
    parts: list[Value] = []
    for part in range(2):
        here = np.ascontiguousarray(nodes[:, _GROUP, 2 * _PLACE + part]).reshape(-1)
        parts.append(
            (
                np.ascontiguousarray(bits[:, _GROUP, 2 * _PLACE + part]).reshape(-1),
                here if here.any() else None,
            )
        )
    return joined(machine, parts[0], parts[1])


@special("transpose_matrix")
def transpose_matrix(form: Form, execution: Execution) -> Run:
    """MOVM: a matrix of 8 x 8 halves with rows and columns exchanged."""
    target, source = register_row(form, "d"), register_row(form, "a")

    def run(machine: Machine, chosen: Chosen) -> None:
        warps = _warps(machine, chosen)
        if source is None or target is None:
            raise Refused(f"{form.text} is not covered")
        word, unknown = machine.state.read(source, chosen)
        parts: list[Value] = [
            ((word >> U32(16 * p)).astype(np.uint16), half_nodes(machine.dag, unknown, p)) for p in range(2)
        ]
        bits, nodes = _square(parts, warps)
        machine.state.write(
            target, chosen, _lanes_of(machine, bits.transpose(0, 2, 1), nodes.transpose(0, 2, 1))
        )

    return run


def _matrices(execution: Execution) -> int:
    return next((int(p) for p in execution.parameters if p.isdigit()), 1)


def _rows(machine: Machine, where: Bits, count: int, chosen: Chosen) -> Iterator[tuple[int, Words, Words]]:
    """For each matrix its number, the first words of its rows (warps, 8), and the threads that name them."""
    warps = _warps(machine, chosen)
    threads = machine.threads(chosen).reshape(warps, 32)
    addresses = np.broadcast_to(where, (warps * 32,)).reshape(warps, 32)
    for number in range(count):
        named = threads[:, 8 * number : 8 * number + 8].reshape(-1)
        _, words = words_of(
            machine, "shared", addresses[:, 8 * number : 8 * number + 8].reshape(-1), 16, named
        )
        yield number, words.reshape(warps, 8), named


@special("load_matrix")
def load_matrix(form: Form, execution: Execution) -> Run:
    """LDSM: up to four matrices of 8 x 8 halves from shared memory; lanes name the rows."""
    where, row = address(form, memory_operand(form)), register_row(form, "d")
    count, turned = _matrices(execution), "MT88" in execution.parameters

    def run(machine: Machine, chosen: Chosen) -> None:
        warps = _warps(machine, chosen)
        for number, words, threads in _rows(machine, where(machine, chosen)[0], count, chosen):
            bits, nodes = np.zeros((warps, 8, 8), np.uint16), np.zeros((warps, 8, 8), np.int32)
            for word in range(4):
                value, unknown = machine.shared.load((words + word).reshape(-1), threads, machine.place)
                for part in range(2):
                    bits[:, :, 2 * word + part] = (
                        (value >> U32(16 * part)).astype(np.uint16).reshape(warps, 8)
                    )
                    half = half_nodes(machine.dag, unknown, part)
                    if half is not None:
                        nodes[:, :, 2 * word + part] = half.reshape(warps, 8)
            if turned:
                bits, nodes = bits.transpose(0, 2, 1), nodes.transpose(0, 2, 1)
            if row is not None:
                machine.state.write(row + number, chosen, _lanes_of(machine, bits, nodes))

    return run


@special("store_matrix")
def store_matrix(form: Form, execution: Execution) -> Run:
    """STSM: up to four matrices of 8 x 8 halves to shared memory; lanes name the rows."""
    where, row = address(form, memory_operand(form)), register_row(form, "value")
    count, turned = _matrices(execution), "MT88" in execution.parameters
    if row is None or operand_of(form, "value") is None:
        raise Refused(f"{form.text} is not covered")

    def run(machine: Machine, chosen: Chosen) -> None:
        warps = _warps(machine, chosen)
        for number, words, threads in _rows(machine, where(machine, chosen)[0], count, chosen):
            word, unknown = machine.state.read(row + number, chosen)
            parts: list[Value] = [
                ((word >> U32(16 * p)).astype(np.uint16), half_nodes(machine.dag, unknown, p))
                for p in range(2)
            ]
            bits, nodes = _square(parts, warps)
            if turned:
                bits, nodes = bits.transpose(0, 2, 1), nodes.transpose(0, 2, 1)
            for place in range(4):
                pair: list[Value] = []
                for part in range(2):
                    here = np.ascontiguousarray(nodes[:, :, 2 * place + part]).reshape(-1)
                    value = np.ascontiguousarray(bits[:, :, 2 * place + part]).reshape(-1)
                    pair.append((value, here if here.any() else None))
                whole = joined(machine, pair[0], pair[1])
                machine.shared.store((words + place).reshape(-1), threads, whole, machine.place)

    return run
