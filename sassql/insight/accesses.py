"""Primitives that load, store and update memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sassql.insight.compiling import Run, special
from sassql.insight.memory import SIZES, Memory, narrow_load, narrow_store
from sassql.insight.operands import Reader, address, reader
from sassql.insight.primitives import PRIMITIVES
from sassql.insight.state import Bits, Chosen, Fault, Refused, Value, general
from sassql.insight.tracking import Words
from sassql.isa.execution import Execution
from sassql.model.form import Form
from sassql.model.operands import ConstantOperand, MemoryOperand, Operand, RegisterOperand

if TYPE_CHECKING:
    from sassql.insight.machine import Machine

U32 = np.uint32


def operand_of(form: Form, role: str) -> Operand | None:
    """The first operand of a role."""
    return next((o for o in form.operands if o.role == role), None)


def memory_operand(form: Form, role: str = "addr") -> MemoryOperand:
    """The operand with an address."""
    operand = operand_of(form, role)
    if not isinstance(operand, MemoryOperand):
        raise Refused(f"{form.opcode} without an address is not covered")
    return operand


def register_row(form: Form, role: str) -> int | None:
    """The row of a register operand; None for RZ and for one that is not there."""
    operand = operand_of(form, role)
    if operand is None or (isinstance(operand, RegisterOperand) and operand.index is None):
        return None
    if not isinstance(operand, RegisterOperand) or operand.index is None:
        raise Refused(f"{form.opcode} with the operand {operand.text} is not covered")
    return general(operand.file, operand.index)


def words_of(
    machine: Machine, space: str, addresses: Bits, size: int, threads: Words
) -> tuple[Memory, Words]:
    """The memory and the first words that addresses mean for threads."""
    addresses = np.broadcast_to(addresses, threads.shape)
    if space == "shared":
        memory = machine.shared
        return memory, memory.locate(addresses, size, machine.place) + machine.clock.block_of[
            threads
        ] * memory.words
    if space == "local":
        memory = machine.local
        return memory, memory.locate(addresses, size, machine.place) + threads * memory.words
    memory = machine.global_memory
    if space == "generic":  # which window it means is not looked at
        try:
            return memory, memory.locate(addresses, size, machine.place)
        except Fault:
            raise Refused("a generic address outside of the buffers is not covered") from None
    return memory, memory.locate(addresses, size, machine.place)


def _kind(execution: Execution) -> tuple[str, int]:
    kind = next((p for p in execution.parameters if p in SIZES), "32")
    return kind, SIZES.get(kind, 4)


def _load(space: str) -> None:
    @special(f"load_{space}")
    def make(form: Form, execution: Execution) -> Run:
        where, row = address(form, memory_operand(form)), register_row(form, "d")
        kind, size = _kind(execution)
        odd = [o for o in form.operands if o.role not in ("d", "addr", "p")]
        if odd:
            raise Refused(f"{form.opcode} with the operand {odd[0].text} is not covered")

        def run(machine: Machine, chosen: Chosen) -> None:
            threads = machine.threads(chosen)
            addresses = np.broadcast_to(where(machine, chosen)[0], threads.shape)
            memory, first = words_of(machine, space, addresses, size, threads)
            place = machine.place
            for word in range(max(size // 4, 1)):
                value = memory.load(first + word, threads, place)
                if size < 4:
                    value = narrow_load(machine.dag, value, addresses, kind)
                if row is not None:
                    machine.state.write(row + word, chosen, value)

        return run


def _store(space: str) -> None:
    @special(f"store_{space}")
    def make(form: Form, execution: Execution) -> Run:
        where, row = address(form, memory_operand(form)), register_row(form, "value")
        _, size = _kind(execution)
        if len(form.operands) != 2:
            raise Refused(f"{form.opcode} with the operand {form.operands[-1].text} is not covered")

        def run(machine: Machine, chosen: Chosen) -> None:
            threads = machine.threads(chosen)
            addresses = np.broadcast_to(where(machine, chosen)[0], threads.shape)
            memory, first = words_of(machine, space, addresses, size, threads)
            for word in range(max(size // 4, 1)):
                value: Value = (
                    (np.zeros(1, U32), None) if row is None else machine.state.read(row + word, chosen)
                )
                words = first + word
                if size < 4:
                    _store_narrow(machine, memory, words, threads, value, addresses, size)
                else:
                    value = machine.conditional(threads, memory.peek(words), value)
                    memory.store(words, threads, value, machine.place)

        return run


def _store_narrow(
    machine: Machine, memory: Memory, words: Words, threads: Words, value: Value, addresses: Bits, size: int
) -> None:
    """Bytes and halves go one lane of a word after the other: several of a word must all stay."""
    bits = np.broadcast_to(value[0], threads.shape)
    left = np.ones(len(threads), np.bool_)
    while left.any():
        places = np.flatnonzero(left)
        _, first = np.unique(words[places], return_index=True)
        now = places[first]
        old = memory.peek(words[now])
        nodes = None if value[1] is None else np.broadcast_to(value[1], threads.shape)[now]
        new = narrow_store(machine.dag, old, (bits[now], nodes), addresses[now], size)
        memory.store(words[now], threads[now], machine.conditional(threads[now], old, new), machine.place)
        left[now] = False


for _space in ("global", "shared", "local", "generic"):
    _load(_space)
    _store(_space)


@special("load_constant")
def load_constant(form: Form, execution: Execution) -> Run:
    """LDC and its kin: one to four words of a constant bank."""
    operand, row = operand_of(form, "a"), register_row(form, "d")
    kind, size = _kind(execution)
    if (
        not isinstance(operand, ConstantOperand)
        or operand.bank is None
        or operand.bank_register
        or operand.symbol
    ):
        raise Refused(f"{form.opcode} with such an operand is not covered")
    base, bank, offset = operand.base, operand.bank, operand.offset
    index: Reader | None = None
    if base is not None and base.register is not None:
        if size < 4:
            raise Refused(f"{form.opcode} of a part of a word is not covered")
        place = general(base.file, base.register.index)
        index = lambda machine, chosen: machine.state.read(place, chosen)  # noqa: E731
    signed = kind.startswith("S")

    def run(machine: Machine, chosen: Chosen) -> None:
        if row is None:
            return
        here: Bits | None = None
        if index is not None:
            found, unknown = index(machine, chosen)
            if unknown is not None:
                raise Refused("the address in a constant bank depends on unknown data")
            here = found + U32(offset & 0xFFFFFFFF)  # kept: the first word may go to the index's register
        for word in range(max(size // 4, 1)):
            if here is None:
                bits, nodes = machine.constant(bank, offset + 4 * word, min(size, 4))
                if signed:
                    bits = np.where(bits >> U32(8 * size - 1), bits | ~U32((1 << 8 * size) - 1), bits)
            else:
                bits, nodes = machine.constants(bank, here + U32(4 * word))
            machine.state.write(row + word, chosen, (bits, nodes))

    return run


@special("copy_async")
def copy_async(form: Form, execution: Execution) -> Run:
    """LDGSTS: words from global to shared memory; they arrive with their group."""
    target, source = address(form, memory_operand(form, "dst")), address(form, memory_operand(form))
    _, size = _kind(execution)
    if any(not isinstance(o, RegisterOperand) or o.index is not None for o in form.operands[2:]):
        raise Refused("an asynchronous copy with a condition is not covered")

    def run(machine: Machine, chosen: Chosen) -> None:
        threads = machine.threads(chosen)
        if machine.path[threads].any():
            raise Refused("an asynchronous copy that unknown data decide is not covered")
        memory, words = words_of(machine, "shared", target(machine, chosen)[0], size, threads)
        origin, places = words_of(machine, "global", source(machine, chosen)[0], size, threads)
        for word in range(size // 4):
            value = origin.load(places + word, threads, machine.place)
            memory.store(words + word, threads, value, machine.place)
            memory.tracker.copy(words + word, threads)

    return run


@special("copy_group")
def copy_group(form: Form, execution: Execution) -> Run:
    """LDGDEPBAR: the copies so far are one group."""

    def run(machine: Machine, chosen: Chosen) -> None:
        machine.clock.committed[machine.threads(chosen)] += 1

    return run


@special("copy_wait")
def copy_wait(form: Form, execution: Execution) -> Run:
    """DEPBAR: all groups but the newest few have arrived; scoreboard 0 counts them."""
    count = next((int(o.text, 0) for o in form.operands if o.role == "count"), 0)
    counts = form.operands and form.operands[0].text == "SB0"

    def run(machine: Machine, chosen: Chosen) -> None:
        if counts:
            clock, threads = machine.clock, machine.threads(chosen)
            clock.arrived[threads] = np.maximum(clock.arrived[threads], clock.committed[threads] - count)

    return run


# --- atomic operations


def _atomic(space: str) -> None:
    @special(f"atomic_{space}")
    def make(form: Form, execution: Execution) -> Run:
        parameters = execution.parameters
        if "64" in parameters or "F64" in parameters:
            raise Refused("a 64-bit atomic operation is not covered")
        where, row = address(form, memory_operand(form)), register_row(form, "d")
        places = {o.role: n for n, o in enumerate(form.operands)}
        value = reader(form, places["value"], "r") if "value" in places else None
        second = reader(form, places["b"], "r") if "b" in places else None
        predicate = operand_of(form, "p")
        if isinstance(predicate, RegisterOperand) and predicate.index is not None:
            raise Refused(f"{form.opcode} with a predicate result is not covered")

        def run(machine: Machine, chosen: Chosen) -> None:
            threads = machine.threads(chosen)
            if machine.path[threads].any():
                raise Refused("an atomic operation that unknown data decide is not covered")
            memory, words = words_of(machine, space, where(machine, chosen)[0], 4, threads)
            one: Value = (np.ones(1, U32), None)
            values = [one if r is None else r(machine, chosen) for r in (value, second)]
            old = _update(machine, memory, words, threads, parameters, values)
            machine.clock.acquired[machine.clock.block_of[threads]] = machine.clock.time
            if row is not None:
                machine.state.write(row, chosen, old)

        return run


_atomic("global")
_atomic("shared")


def _update(
    machine: Machine,
    memory: Memory,
    words: Words,
    threads: Words,
    parameters: tuple[str, ...],
    values: list[Value],
) -> Value:
    """One lane after the other where several update a word; what each found there."""
    count = len(threads)
    bits = [np.broadcast_to(v[0], (count,)) for v in values]
    nodes = [None if v[1] is None else np.broadcast_to(v[1], (count,)) for v in values]
    old_bits, old_nodes = np.zeros(count, U32), np.zeros(count, np.int32)
    left = np.ones(count, np.bool_)
    shared = len(np.unique(words)) < count or bool(memory.tracker.atomic[words].any())
    if "F32" in parameters and shared:
        machine.assume("atomic additions of floats take place in one of many orders")
    while left.any():
        places = np.flatnonzero(left)
        _, first = np.unique(words[places], return_index=True)
        now = places[first]
        old = memory.peek(words[now])
        mine = [(b[now], None if n is None else n[now]) for b, n in zip(bits, nodes, strict=True)]
        new = _combined(machine, parameters, old, mine, len(now))
        if "F32" in parameters:
            memory.tracker.unordered[words[now]] |= memory.tracker.atomic[words[now]]
        memory.tracker.atomics(words[now], threads[now], machine.place)
        memory.poke(words[now], new)
        old_bits[now] = old[0]
        old_nodes[now] = 0 if old[1] is None else old[1]
        left[now] = False
    return old_bits, old_nodes if old_nodes.any() else None


_OPERATIONS = {"ADD": "iadd3", "MIN": "imnmx", "MAX": "imnmx", "AND": "lop3", "OR": "lop3", "XOR": "lop3"}
_TABLES = {"AND": 0xC0, "OR": 0xFC, "XOR": 0x3C}


def _combined(
    machine: Machine, parameters: tuple[str, ...], old: Value, values: list[Value], count: int
) -> Value:
    new = values[0]
    name = next(p for p in (*parameters, "ADD") if p in ("EXCH", "CAS", "INC", "DEC", "POPC", *_OPERATIONS))
    if name == "EXCH":
        return new
    if name == "CAS" or (name in ("INC", "DEC") and "POPC" not in parameters):
        if old[1] is not None or (name == "CAS" and values[0][1] is not None):
            raise Refused("a compare-and-swap of unknown data is not covered")
        return _compared_swap(name, old, values)
    if "POPC" in parameters:
        name, new = "ADD", (np.ones(1, U32), None)
    no: Value = (np.zeros(1, np.bool_), None)
    zero: Value = (np.zeros(1, U32), None)
    if "F32" in parameters:
        return pure(machine, "fadd", ("FTZ",), (old, new), ("f", "f"), count)
    if name == "ADD":
        wide = [(v[0].astype(np.uint64), v[1]) for v in (old, new)]
        return pure(machine, "iadd3", (), (*wide, (np.zeros(1, np.uint64), None)), ("u", "u", "u"), count)
    if name in _TABLES:
        return pure(
            machine, "lop3", (), (old, new, zero, _TABLES[name], no), ("i", "i", "i", "n", "p"), count
        )
    least: Value = (np.array([name == "MIN"]), None)
    kind = ("U32",) if "S32" not in parameters else ()
    return pure(machine, "imnmx", kind, (old, new, least), ("i", "i", "p"), count)


def _compared_swap(name: str, old: Value, values: list[Value]) -> Value:
    bits, limit = old[0], values[0][0]
    if name == "INC":
        return np.where(bits >= limit, U32(0), bits + U32(1)), None
    if name == "DEC":
        return np.where((bits == 0) | (bits > limit), limit, bits - U32(1)), None
    swapped, nodes = bits == limit, values[1][1]
    return np.where(swapped, values[1][0], bits), None if nodes is None else np.where(
        swapped, nodes, 0
    ).astype(np.int32)


def pure(
    machine: Machine,
    name: str,
    parameters: tuple[str, ...],
    values: tuple[Value | int, ...],
    kinds: tuple[str, ...],
    count: int,
) -> Value:
    """A pure primitive on values, outside of an instruction of its own."""
    from sassql.insight.symbolic import symbolic  # noqa: PLC0415

    some = np.zeros(count, np.bool_)
    for value in values:
        if not isinstance(value, int) and value[1] is not None:
            some |= value[1] != 0
    bits = PRIMITIVES[name](parameters, *(v if isinstance(v, int) else v[0] for v in values))[0]
    if not some.any():
        return bits, None
    return np.broadcast_to(bits, (count,)), symbolic(machine.dag, name, parameters, 0, values, kinds, some)
