"""Readers and writers of operands: made once for a form, run for chosen threads of a machine.

A reader gives a `Value`: bits of the operand's type with its sign, magnitude or inversion applied, and
nodes where they are unknown. Operands of halves give two values, the low half first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from sassql.insight.dag import Dag, Ids
from sassql.insight.primitives import PRIMITIVES
from sassql.insight.primitives_half import to_brain
from sassql.insight.state import ZERO, Bits, Chosen, Refused, State, Value, general, predicate
from sassql.model.form import Form
from sassql.model.operands import (
    AddressTerm,
    ConstantOperand,
    ImmediateOperand,
    MemoryOperand,
    Operand,
    RegisterOperand,
)


class Runs(Protocol):
    """What readers need of a machine."""

    state: State
    dag: Dag

    def constant(self, bank: int, offset: int, size: int) -> Value:
        """``size`` bytes of a constant bank as one value."""
        ...

    def constants(self, bank: int, offsets: Bits) -> Value:
        """Words of a constant bank at offsets in bytes."""
        ...


Reader = Callable[[Runs, Chosen], Value]
Writer = Callable[[Runs, Chosen, Value], None]
_NO_ZERO64 = np.zeros(1, np.uint64)


def unary(dag: Dag, name: str, value: Value) -> Value:
    """A sign, magnitude or inversion applied to bits and nodes."""
    bits, nodes = value
    bits = PRIMITIVES[name]((), bits)[0]
    if nodes is None:
        return bits, None
    some = nodes != 0
    found = np.zeros(len(nodes), np.int32)
    width = 1 if bits.dtype == np.bool_ else 8 * bits.dtype.itemsize
    found[some] = dag.add(dag.number(name, (str(width),)), (nodes[some],), int(some.sum()))
    return bits, found


def _signed(operand: Operand, kind: str) -> tuple[str, ...]:
    """The primitives that an operand's prefix stands for, in their order."""
    if kind == "r":
        return ("inot",) * operand.inverted
    if kind in "fdhb":
        return ("fabs",) * operand.absolute + ("fneg",) * operand.negated
    return ("iabs",) * operand.absolute + ("ineg",) * operand.negated + ("inot",) * operand.inverted


def reader(form: Form, place: int, kind: str) -> Reader:
    """The reader of operand ``place`` as a value of type ``kind`` of `execution.tsv` (not `h`, `b`, `n`)."""
    operand = form.operands[place]
    if kind == "p":
        if not isinstance(operand, RegisterOperand):
            raise Refused(f"{form.opcode} with the predicate {operand.text} is not covered")
        return lambda runs, chosen: runs.state.predicate_operand(operand, chosen)
    plain = _plain(form, operand, wide=kind in "dq", floating=kind in "fd")
    signs = _signed(operand, kind)
    if kind == "u":
        return _addend(plain, operand)
    if isinstance(operand, ImmediateOperand):
        return plain
    if kind == "r" and (operand.negated or operand.absolute):
        raise Refused(f"{form.opcode} with the operand {operand.text} is not covered")
    if not signs:
        return plain

    def read(runs: Runs, chosen: Chosen) -> Value:
        value = plain(runs, chosen)
        for name in signs:
            value = unary(runs.dag, name, value)
        return value

    return read


def _addend(plain: Reader, operand: Operand) -> Reader:
    """An addend as 64 bits: -x is ~x + 1 without wrapping, so that its carry shows."""
    register = not isinstance(operand, ImmediateOperand)
    negated, inverted = operand.negated and register, operand.inverted

    def read(runs: Runs, chosen: Chosen) -> Value:
        bits, nodes = plain(runs, chosen)
        wide = bits.astype(np.uint64)
        if negated:
            wide = (wide ^ np.uint64(0xFFFFFFFF)) + np.uint64(1)
        elif inverted:
            wide = wide ^ np.uint64(0xFFFFFFFF)
        if nodes is not None and (negated or inverted):
            nodes = unary(runs.dag, "ineg" if negated else "inot", (bits, nodes))[1]
        return wide, nodes

    return read


def _plain(form: Form, operand: Operand, *, wide: bool, floating: bool) -> Reader:
    if isinstance(operand, ImmediateOperand):
        value = _immediate(operand.value, wide=wide, floating=floating)
        return lambda runs, chosen: (value, None)
    if isinstance(operand, RegisterOperand):
        if operand.index is None:
            zero = _NO_ZERO64 if wide else ZERO
            return lambda runs, chosen: (zero, None)
        row = general(operand.file, operand.index)
        if wide and operand.width == 1:
            return lambda runs, chosen: _extended(runs.state.read(row, chosen))
        if wide:
            return lambda runs, chosen: runs.state.wide(row, chosen)
        return lambda runs, chosen: runs.state.read(row, chosen)
    if isinstance(operand, ConstantOperand):
        return _constant(form, operand, 8 if wide else 4)
    raise Refused(f"{form.opcode} with the operand {operand.text} is not covered")


def _extended(value: Value) -> Value:
    if value[1] is not None:
        raise Refused("one register as a 64-bit operand is not covered for unknown data")
    return value[0].astype(np.uint64), None


def _immediate(value: int | float, *, wide: bool, floating: bool) -> Bits:
    if isinstance(value, float) and not floating:
        return np.array([value], np.float32).view(np.uint32)
    if floating:
        with np.errstate(over="ignore"):
            return (
                np.array([value], np.float64).view(np.uint64)
                if wide
                else np.array([value], np.float32).view(np.uint32)
            )
    return (
        np.array([int(value) % (1 << 64)], np.uint64)
        if wide
        else np.array([int(value) & 0xFFFFFFFF], np.uint32)
    )


def _constant(form: Form, operand: ConstantOperand, size: int) -> Reader:
    if operand.bank is None or operand.bank_register is not None or operand.symbol:
        raise Refused(f"{form.opcode} with the operand {operand.text} is not covered")
    bank, offset, base = operand.bank, operand.offset, operand.base
    if base is None or base.register is None:
        return lambda runs, chosen: runs.constant(bank, offset, size)
    if size != 4:
        raise Refused(f"{form.opcode} with the operand {operand.text} is not covered")
    row = general(base.file, base.register.index)

    def read(runs: Runs, chosen: Chosen) -> Value:
        bits, nodes = runs.state.read(row, chosen)
        if nodes is not None:
            raise Refused(f"the address {operand.text} depends on unknown data")
        return runs.constants(bank, bits + np.uint32(offset & 0xFFFFFFFF))

    return read


def halves(form: Form, place: int, kind: str) -> Callable[[Runs, Chosen], tuple[Value, Value]]:
    """The reader of an operand as two halves, ``h`` or bfloat16 ``b``."""
    operand = form.operands[place]
    if isinstance(operand, ImmediateOperand):
        low = next((o for o in form.operands if o.role == operand.role + "2"), operand)
        assert isinstance(low, ImmediateOperand)
        fixed = (_half(low.value, kind), None), (_half(operand.value, kind), None)
        return lambda runs, chosen: fixed
    plain = _plain(form, operand, wide=False, floating=False)
    signs = _signed(operand, kind)
    picks = {"H0_H0": (0, 0), "H1_H1": (1, 1), "H1_H0": (0, 1), "H0_NH1": (0, 1)}
    pick = next((picks[s] for s in operand.suffixes if s in picks), (0, 1))
    odd = [s for s in operand.suffixes if s not in picks or s == "H0_NH1"]
    if odd:
        raise Refused(f"{form.opcode} with the operand {operand.text} is not covered")

    def read(runs: Runs, chosen: Chosen) -> tuple[Value, Value]:
        bits, nodes = plain(runs, chosen)
        found = []
        for which in pick:
            value: Value = (
                (bits >> np.uint32(16 * which)).astype(np.uint16),
                half_nodes(runs.dag, nodes, which),
            )
            for name in signs:
                value = unary(runs.dag, name, value)
            found.append(value)
        return found[0], found[1]

    return read


def half_nodes(dag: Dag, nodes: Ids | None, which: int) -> Ids | None:
    """One half of the nodes of words."""
    if nodes is None:
        return None
    some = nodes != 0
    found = np.zeros(len(nodes), np.int32)
    found[some] = dag.half(nodes[some], which)
    return found


def _half(value: int | float, kind: str) -> Bits:
    if kind == "b":
        return to_brain(np.array([value], np.float32))
    with np.errstate(over="ignore"):
        return np.array([value], np.float16).view(np.uint16)


def writer(form: Form, place: int, kind: str) -> Writer:
    """The writer of result operand ``place``."""
    operand = form.operands[place]
    if not isinstance(operand, RegisterOperand) or operand.index is None:
        raise Refused(f"{form.opcode} with the result {operand.text} is not covered")
    if kind == "p":
        row = predicate(operand.file, operand.index)
        return lambda runs, chosen, value: runs.state.write_predicate(row, chosen, value)
    row = general(operand.file, operand.index)
    if kind in "dq":
        return lambda runs, chosen, value: runs.state.write_wide(row, chosen, value)
    return lambda runs, chosen, value: runs.state.write(row, chosen, value)


def address(form: Form, operand: MemoryOperand) -> Reader:
    """The reader of a memory operand's address: 64 bits where a register pair says so, else 32."""
    if operand.symbol or operand.prefix not in ("", "desc"):
        raise Refused(f"{form.opcode} with the address {operand.text} is not covered")
    terms = [term for term in operand.terms if term.register is not None]
    wide = any(t.width == 2 or "64" in t.suffix for t in operand.terms)
    offset = np.array([operand.offset % (1 << 64)], np.uint64)
    readers = [_term(term) for term in terms]

    def read(runs: Runs, chosen: Chosen) -> Value:
        total = offset
        for one in readers:
            bits, nodes = one(runs, chosen)
            if nodes is not None:
                raise Refused(f"the address {operand.text} depends on unknown data")
            total = total + bits
        return (total, None) if wide else (total & np.uint64(0xFFFFFFFF), None)

    return read


def _term(term: AddressTerm) -> Reader:
    assert term.register is not None
    row = general(term.file, term.register.index)
    if term.width == 2:
        return lambda runs, chosen: runs.state.wide(row, chosen)
    scale = np.uint64(term.scale)

    def read(runs: Runs, chosen: Chosen) -> Value:
        bits, nodes = runs.state.read(row, chosen)
        return bits.astype(np.uint64) * scale, nodes

    return read
