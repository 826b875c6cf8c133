"""From a form to something that a machine can run: readers, a primitive, writers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sassql.insight import primitives_float, primitives_half, primitives_int  # noqa: F401  (they register themselves)
from sassql.insight.dag import CONST, Ids
from sassql.insight.operands import Reader, Writer, halves, reader, writer
from sassql.insight.primitives import PRIMITIVES
from sassql.insight.state import FALSE, TRUE, ZERO, Chosen, Refused, Value, as_nodes
from sassql.insight.symbolic import Mask, symbolic
from sassql.isa.execution import Execution, execution_of
from sassql.model.form import Form, Guard
from sassql.model.operands import ImmediateOperand
from sassql.model.register import Register

if TYPE_CHECKING:
    from sassql.insight.machine import Machine

Run = Callable[["Machine", Chosen], None]
Special = Callable[[Form, Execution], Run]

SPECIALS: dict[str, Special] = {}
"""Primitives that read the instruction themselves: a maker of the function that runs a form."""
CONTROLS: set[str] = set()
"""Those that decide where their threads go on."""


def special(name: str, *, control: bool = False) -> Callable[[Special], Special]:
    """Register the decorated maker under ``name``."""

    def register(function: Special) -> Special:
        SPECIALS[name] = function
        if control:
            CONTROLS.add(name)
        return function

    return register


@dataclass(frozen=True, slots=True)
class Op:
    """A form that can be run: ``run`` does it for chosen threads; ``control`` ones set where these go on."""

    run: Run
    control: bool
    guard: Guard | None
    defs: frozenset[Register]
    uses: frozenset[Register]
    primitive: str
    text: str


def compiled(form: Form) -> Op:
    """A form as an `Op`; running one that is not covered is refused.

    Nothing is refused here: a kernel may hold instructions that never run.
    """
    execution = execution_of(form)
    guard = form.guard
    if isinstance(execution, str):
        return Op(_refusal(execution), False, guard, frozenset(), frozenset(), "", form.text)
    name = execution.primitive
    try:
        run = _pure(form, execution) if execution.pure else SPECIALS[name](form, execution)
    except Refused as reason:
        return Op(_refusal(str(reason)), False, guard, frozenset(), frozenset(), "", form.text)
    return Op(run, name in CONTROLS, guard, form.defs, form.uses, name, form.text)


def _refusal(reason: str) -> Run:
    def run(machine: Machine, chosen: Chosen) -> None:
        raise Refused(reason)

    return run


def _pure(form: Form, execution: Execution) -> Run:
    kinds = tuple(kind for _, kind, _ in execution.operands)
    wanted = [
        (n, writer(form, place, kind))
        for n, (place, kind) in enumerate(execution.results)
        if place is not None
    ]
    if "h" in kinds or "b" in kinds:
        return _half(form, execution, kinds, wanted)
    readers = [_reader(form, place, kind, default) for place, kind, default in execution.operands]
    primitive, name, parameters = PRIMITIVES[execution.primitive], execution.primitive, execution.parameters

    def run(machine: Machine, chosen: Chosen) -> None:
        values = tuple(r if isinstance(r, int) else r(machine, chosen) for r in readers)
        unknown = [v[1] for v in values if not isinstance(v, int) and v[1] is not None]
        bits = [v if isinstance(v, int) else v[0] for v in values]
        if not unknown:
            for (_, write), found in zip(wanted, _picked(primitive(parameters, *bits), wanted), strict=True):
                write(machine, chosen, (found, None))
            return
        count = max(len(v[0]) if v[1] is None else len(v[1]) for v in values if not isinstance(v, int))
        some = _any(unknown, count)
        if not some.all():
            concrete = _picked(primitive(parameters, *bits), wanted)
        else:
            concrete = [_nothing(execution.results[n][1]) for n, _ in wanted]
        for (n, write), found in zip(wanted, concrete, strict=True):
            nodes = symbolic(machine.dag, name, parameters, n, values, kinds, some)
            write(machine, chosen, settled(machine, found, nodes, count))

    return run


def _any(unknown: list[Ids], count: int) -> Mask:
    """Lanes where one of the values is unknown."""
    some = np.zeros(count, np.bool_)
    for nodes in unknown:
        some |= nodes != 0
    return some


def settled(machine: Machine, bits: np.ndarray, nodes: Ids, count: int) -> Value:
    """A value whose nodes may be constants, which a select has picked: these are known bits again."""
    width = 1 if bits.dtype == np.bool_ else 8 * bits.dtype.itemsize
    constant = (nodes != 0) & (machine.dag.codes[nodes] == machine.dag.number(CONST, (str(width),)))
    if not constant.any():
        return bits, nodes
    every = np.array(np.broadcast_to(bits, (count,)))
    low, high = machine.dag.arguments[:2, nodes[constant]].view(np.uint32).astype(np.uint64)
    every[constant] = (low | high << np.uint64(32)).astype(every.dtype)
    nodes = np.where(constant, 0, nodes).astype(np.int32)
    return every, nodes if nodes.any() else None


def _picked(results: tuple[np.ndarray, ...], wanted: list[tuple[int, Writer]]) -> list[np.ndarray]:
    return [results[n] for n, _ in wanted]


def _nothing(kind: str) -> np.ndarray:
    if kind == "p":
        return FALSE
    return np.zeros(1, np.uint64) if kind in "dq" else ZERO


def _reader(form: Form, place: int | None, kind: str, default: str) -> Reader | int:
    if place is None:
        constant = {"F": FALSE, "T": TRUE, "0": ZERO}[default]
        return lambda machine, chosen: (constant, None)
    if kind == "n":
        operand = form.operands[place]
        if not isinstance(operand, ImmediateOperand):
            raise Refused(f"{form.opcode} with the operand {operand.text} is not covered")
        return int(operand.value)
    return reader(form, place, kind)


def _half(form: Form, execution: Execution, kinds: tuple[str, ...], wanted: list[tuple[int, Writer]]) -> Run:
    """An operation on halves: once for the low and once for the high one."""
    parts = [
        halves(form, place, kind)
        if kind in "hb" and place is not None
        else _twice(_reader(form, place, kind, default))
        for place, kind, default in execution.operands
    ]
    primitive, name, parameters = PRIMITIVES[execution.primitive], execution.primitive, execution.parameters
    whole = execution.results[0][1] in "hb"

    def one(machine: Machine, values: tuple[Value, ...]) -> Value:
        unknown = [nodes for _, nodes in values if nodes is not None]
        if not unknown:
            return primitive(parameters, *(bits for bits, _ in values))[0], None
        some = _any(unknown, max(len(bits) if nodes is None else len(nodes) for bits, nodes in values))
        found = np.zeros(1, np.uint16 if whole else np.uint32)
        if not some.all():
            found = primitive(parameters, *(bits for bits, _ in values))[0]
        return found, symbolic(machine.dag, name, parameters, 0, values, kinds, some)

    def run(machine: Machine, chosen: Chosen) -> None:
        values = [part(machine, chosen) for part in parts]
        low = one(machine, tuple(v[0] for v in values))
        if not wanted:
            return
        write = wanted[0][1]
        if not whole:
            write(machine, chosen, low)
            return
        write(machine, chosen, joined(machine, low, one(machine, tuple(v[1] for v in values))))

    return run


def joined(machine: Machine, low: Value, high: Value) -> Value:
    """A word of two halves."""
    bits = low[0].astype(np.uint32) | high[0].astype(np.uint32) << np.uint32(16)
    if low[1] is None and high[1] is None:
        return bits, None
    count = max(len(n) for n in (low[1], high[1]) if n is not None)
    some = np.zeros(count, np.bool_)
    for nodes in (low[1], high[1]):
        if nodes is not None:
            some |= nodes != 0
    found = np.zeros(count, np.int32)
    first, second = as_nodes(machine.dag, low, 16, count), as_nodes(machine.dag, high, 16, count)
    found[some] = machine.dag.pack(first[some], second[some])
    return bits, found


def _twice(read: Reader | int) -> Callable[[Machine, Chosen], tuple[Value, Value]]:
    assert not isinstance(read, int)

    def both(machine: Machine, chosen: Chosen) -> tuple[Value, Value]:
        value = read(machine, chosen)
        return value, value

    return both
