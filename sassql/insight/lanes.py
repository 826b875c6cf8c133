"""Primitives that move values between the lanes of a warp, and between register files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sassql.insight.accesses import operand_of, pure, register_row
from sassql.insight.compiling import Run, special
from sassql.insight.operands import reader
from sassql.insight.state import Bits, Chosen, Refused, State, Value, as_nodes, general, predicate
from sassql.insight.tracking import Words
from sassql.isa.execution import Execution
from sassql.isa.launch import launch as launch_facts
from sassql.model.form import Form
from sassql.model.operands import ImmediateOperand, KeywordOperand, RegisterOperand

if TYPE_CHECKING:
    from sassql.insight.machine import Machine

U32 = np.uint32
_LAST = 31


def _predicate_row(form: Form, role: str) -> int | None:
    operand = operand_of(form, role)
    if not isinstance(operand, RegisterOperand) or operand.index is None:
        return None
    return predicate(operand.file, operand.index)


def _place(form: Form, role: str) -> int:
    return next(n for n, o in enumerate(form.operands) if o.role == role)


def source_lanes(mode: str, lane: Bits, delta: Bits, clamp: Bits) -> tuple[Bits, npt.NDArray[np.bool_]]:
    """The lane that each lane reads and whether it lies inside of the segment; outside a lane reads itself.

    The clamp operand holds the last lane (for UP the first) in bits 0-4 and the bits that may not change
    in bits 8-12, as the PTX ISA says of `shfl`.
    """
    bound, fixed = clamp & U32(31), clamp >> U32(8) & U32(31)
    most = (lane & fixed) | (bound & ~fixed & U32(31))
    delta = delta & U32(31)
    if mode == "UP":
        source = lane.astype(np.int64) - delta.astype(np.int64)
        inside = source >= most
    elif mode == "DOWN":
        source = lane.astype(np.int64) + delta.astype(np.int64)
        inside = source <= most
    elif mode == "BFLY":
        source = (lane ^ delta).astype(np.int64)
        inside = source <= most
    else:
        source = ((delta & ~fixed & U32(31)) | (lane & fixed)).astype(np.int64)
        inside = source <= most
    return np.where(inside, source, lane), inside


def gathered(machine: Machine, value: Value, chosen: Chosen, sources: Words) -> Value:
    """What ``value`` of the chosen threads is in the threads ``sources``, which must be among them."""
    threads = machine.threads(chosen)
    place = np.zeros(machine.state.threads, np.int64)
    place[threads] = np.arange(len(threads))
    at = place[sources]
    bits = np.broadcast_to(value[0], threads.shape)[at]
    return bits, None if value[1] is None else np.broadcast_to(value[1], threads.shape)[at]


@special("shuffle")
def shuffle(form: Form, execution: Execution) -> Run:
    """SHFL: a lane's value; from a lane that does not take part it is undefined."""
    mode = execution.parameters[0]
    value, delta, clamp = (reader(form, _place(form, role), "r") for role in ("a", "delta", "clamp"))
    row, inside_row = register_row(form, "d"), _predicate_row(form, "p")

    def run(machine: Machine, chosen: Chosen) -> None:
        threads, geometry = machine.threads(chosen), machine.geometry
        settings = [r(machine, chosen) for r in (delta, clamp)]
        if any(nodes is not None for _, nodes in settings):
            raise Refused("a shuffle whose lane depends on unknown data is not covered")
        lane = geometry.lane_of[threads].astype(U32)
        lanes, inside = source_lanes(mode, lane, settings[0][0], settings[1][0])
        sources = geometry.thread_at[geometry.warp_of[threads], lanes]
        there = (sources >= 0) & machine.is_active(np.maximum(sources, 0), chosen)
        bits, nodes = gathered(machine, value(machine, chosen), chosen, np.where(there, sources, threads))
        if not there.all():
            machine.undefined += 1
            leaf = machine.dag.leaves(f"undefined shuffle {machine.undefined} of {id(machine)}", "b32", 1)[0]
            nodes = np.where(there, 0 if nodes is None else nodes, leaf).astype(np.int32)
        if row is not None:
            machine.state.write(row, chosen, (bits, nodes))
        if inside_row is not None:
            machine.state.write_predicate(inside_row, chosen, (inside, None))

    return run


def masks(machine: Machine, chosen: Chosen, bits: Bits) -> npt.NDArray[np.uint32]:
    """By warp, a mask of the chosen threads where ``bits`` hold."""
    threads, geometry = machine.threads(chosen), machine.geometry
    found = np.zeros(geometry.warps, U32)
    held = threads[np.broadcast_to(bits, threads.shape)]
    np.bitwise_or.at(found, geometry.warp_of[held], U32(1) << geometry.lane_of[held].astype(U32))
    return found


@special("vote")
def vote(form: Form, execution: Execution) -> Run:
    """VOTE: a mask of the lanes whose predicate holds, and whether it holds for any or all."""
    condition = reader(form, _place(form, "ci"), "p")
    row, result = register_row(form, "d"), _predicate_row(form, "p")
    mode = execution.parameters[0]

    def run(machine: Machine, chosen: Chosen) -> None:
        bits, nodes = condition(machine, chosen)
        if nodes is not None:
            raise Refused("a vote on unknown data is not covered")
        warp = machine.geometry.warp_of[machine.threads(chosen)]
        ballot, every = masks(machine, chosen, bits)[warp], masks(machine, chosen, np.ones(1, np.bool_))[warp]
        if row is not None:
            machine.state.write(row, chosen, (ballot, None))
        if result is not None:
            found = {"ANY": ballot != 0, "ALL": ballot == every, "EQ": (ballot == every) | (ballot == 0)}[
                mode
            ]
            machine.state.write_predicate(result, chosen, (found, None))

    return run


@special("match")
def match(form: Form, execution: Execution) -> Run:
    """MATCH.ANY: a mask of the lanes that hold the same value; ALL: a mask of all, where they all do."""
    value, row, result = (
        reader(form, _place(form, "a"), "r"),
        register_row(form, "d"),
        _predicate_row(form, "p"),
    )
    whole = "ALL" in execution.parameters

    def run(machine: Machine, chosen: Chosen) -> None:
        bits, nodes = value(machine, chosen)
        if nodes is not None:
            raise Refused("a match of unknown data is not covered")
        threads = machine.threads(chosen)
        warp, lane = machine.geometry.warp_of[threads], machine.geometry.lane_of[threads].astype(U32)
        keys = warp.astype(np.uint64) << np.uint64(32) | np.broadcast_to(bits, threads.shape)
        _, inverse = np.unique(keys, return_inverse=True)
        same = np.zeros(len(threads), U32)
        np.bitwise_or.at(same, inverse, U32(1) << lane)
        found = same[inverse]
        if whole:
            all_equal = found == masks(machine, chosen, np.ones(1, np.bool_))[warp]
            found = np.where(all_equal, found, U32(0))
            if result is not None:
                machine.state.write_predicate(result, chosen, (all_equal, None))
        if row is not None:
            machine.state.write(row, chosen, (found, None))

    return run


@special("reduce")
def reduce(form: Form, execution: Execution) -> Run:
    """REDUX: the lanes that take part folded into one value, which all of them get."""
    value, row = reader(form, _place(form, "a"), "r"), register_row(form, "d")
    names = execution.parameters
    name = next(p for p in names if p in ("SUM", "MIN", "MAX", "AND", "OR", "XOR"))

    def fold(machine: Machine, left: Value, right: Value, count: int) -> Value:
        no, zero = (np.zeros(1, np.bool_), None), (np.zeros(1, U32), None)
        least: Value = (np.array([name == "MIN"]), None)
        if name == "SUM":
            wide = [(v[0].astype(np.uint64), v[1]) for v in (left, right)]
            return pure(machine, "iadd3", (), (*wide, (np.zeros(1, np.uint64), None)), ("u", "u", "u"), count)
        if name in ("MIN", "MAX") and "F32" in names:
            return pure(machine, "fmnmx", (), (left, right, least), ("f", "f", "p"), count)
        if name in ("MIN", "MAX"):
            kind = () if "S32" in names else ("U32",)
            return pure(machine, "imnmx", kind, (left, right, least), ("i", "i", "p"), count)
        table = {"AND": 0xC0, "OR": 0xFC, "XOR": 0x3C}[name]
        return pure(machine, "lop3", (), (left, right, zero, table, no), ("i", "i", "i", "n", "p"), count)

    def run(machine: Machine, chosen: Chosen) -> None:
        threads = machine.threads(chosen)
        bits, nodes = value(machine, chosen)
        bits = np.broadcast_to(bits, threads.shape)
        nodes = None if nodes is None else np.broadcast_to(nodes, threads.shape)
        warps = machine.geometry.warp_of[threads]
        order = np.argsort(warps, kind="stable")
        unique, first, counts = np.unique(warps[order], return_index=True, return_counts=True)
        total: Value | None = None
        for step in range(int(counts.max())):
            here = counts > step
            lane = order[first[here] + step]
            part: Value = (bits[lane], None if nodes is None else nodes[lane])
            if total is None:
                total = part
                continue
            old: Value = (total[0][here], None if total[1] is None else total[1][here])
            new = fold(machine, old, part, len(lane))
            total = _put(total, here, new)
        assert total is not None
        place = np.searchsorted(unique, warps)
        if row is not None:
            machine.state.write(row, chosen, (total[0][place], None if total[1] is None else total[1][place]))

    return run


def _put(total: Value, here: npt.NDArray[np.bool_], new: Value) -> Value:
    bits = total[0].copy()
    bits[here] = new[0]
    if total[1] is None and new[1] is None:
        return bits, None
    nodes = np.zeros(len(bits), np.int32) if total[1] is None else total[1].copy()
    nodes[here] = 0 if new[1] is None else new[1]
    return bits, nodes


def first_lanes(machine: Machine, chosen: Chosen) -> Words:
    """For each chosen thread, the first chosen thread of its warp."""
    threads = machine.threads(chosen)
    warps = machine.geometry.warp_of[threads]
    first = np.full(machine.geometry.warps, machine.state.threads, np.int64)
    np.minimum.at(first, warps, threads)
    value: Words = first[warps]
    return value


@special("elect")
def elect(form: Form, execution: Execution) -> Run:
    """ELECT: one lane of those that take part; here the first."""
    row, lane_row = _predicate_row(form, "d"), register_row(form, "e")

    def run(machine: Machine, chosen: Chosen) -> None:
        first = first_lanes(machine, chosen)
        if row is not None:
            machine.state.write_predicate(row, chosen, (first == machine.threads(chosen), None))
        if lane_row is not None:
            machine.state.write(lane_row, chosen, (machine.geometry.lane_of[first].astype(U32), None))

    return run


@special("to_uniform")
def to_uniform(form: Form, execution: Execution) -> Run:
    """R2UR: a uniform register gets the value of one lane; here the first that takes part."""
    value, row = reader(form, _place(form, "a"), "r"), register_row(form, "d")

    def run(machine: Machine, chosen: Chosen) -> None:
        if row is not None:
            machine.state.write(
                row, chosen, gathered(machine, value(machine, chosen), chosen, first_lanes(machine, chosen))
            )

    return run


@special("special")
def special_register(form: Form, execution: Execution) -> Run:
    """S2R and its kin: what the launch says of a thread."""
    operand, row = operand_of(form, "a"), register_row(form, "d")
    width = next((o.width or 1 for o in form.operands if o.role == "d"), 1)
    name = operand.name if isinstance(operand, KeywordOperand) else ""

    def run(machine: Machine, chosen: Chosen) -> None:
        if row is None:
            return
        bits = np.zeros(machine.state.threads, U32)
        if name != "SRZ":
            atom = launch_facts(machine.kernel.arch).special.get(name)
            found = None if atom is None else machine.geometry.special(atom)
            if found is None:
                raise Refused(f"the special register {name} is not covered")
            bits = found
        machine.state.write(row, chosen, (bits if chosen is None else bits[chosen], None))
        for more in range(1, width):
            machine.state.write(row + more, chosen, (np.zeros(1, U32), None))

    return run


def _group(form: Form) -> tuple[int, int]:
    """Mask and first row of the predicates of P2R and R2P."""
    mask = operand_of(form, "mask")
    if not isinstance(mask, ImmediateOperand):
        raise Refused(f"{form.opcode} with such a mask is not covered")
    group = next(o for o in form.operands if isinstance(o, KeywordOperand))
    if "." in group.text:
        raise Refused(f"{form.opcode} with {group.text} is not covered")
    return int(mask.value) & 0x7F, 8 if group.name.startswith("U") else 0


@special("predicates_to_register")
def predicates_to_register(form: Form, execution: Execution) -> Run:
    """P2R: predicates as the bits of a mask, the other bits from an operand."""
    mask, start = _group(form)
    base, row = reader(form, _place(form, "b"), "r"), register_row(form, "d")

    def run(machine: Machine, chosen: Chosen) -> None:
        bits, nodes = base(machine, chosen)
        bits = bits & ~U32(mask)
        for place in range(7):
            if mask >> place & 1:
                held, unknown = machine.state.read_predicate(start + place, chosen)
                if unknown is not None or nodes is not None:
                    raise Refused("predicates of unknown data in a register are not covered")
                bits = bits | held.astype(U32) << U32(place)
        if row is not None:
            machine.state.write(row, chosen, (bits, None))

    return run


@special("register_to_predicates")
def register_to_predicates(form: Form, execution: Execution) -> Run:
    """R2P: the bits of a mask as predicates."""
    mask, start = _group(form)
    value = reader(form, _place(form, "a"), "r")

    def run(machine: Machine, chosen: Chosen) -> None:
        bits, nodes = value(machine, chosen)
        for place in range(7):
            if not mask >> place & 1:
                continue
            held = (bits >> U32(place) & U32(1)).astype(bool)
            unknown = None if nodes is None else _bit(machine, (bits, nodes), place)
            machine.state.write_predicate(start + place, chosen, (held, unknown))

    return run


def _bit(machine: Machine, value: Value, place: int) -> npt.NDArray[np.int32]:
    """Nodes of one bit of a word, as a predicate."""
    dag, count = machine.dag, len(value[0])
    some = np.broadcast_to(value[1], (count,)) != 0  # type: ignore[arg-type]
    words = as_nodes(dag, value, 32, count)[some]
    constants = [dag.constant(n, 32) for n in (1 << place, 0, 0xC0)]
    number, false = dag.number("lop3"), dag.constant(0, 1)
    masked = dag.add(number, (words, constants[0], constants[1], constants[2], false), len(words))
    true = dag.constant(1, 1)
    found = np.zeros(count, np.int32)
    found[some] = dag.add(dag.number("icompare", ("NE", "AND")), (masked, constants[1], true), len(words))
    return found


@special("barrier_move")
def barrier_move(form: Form, execution: Execution) -> Run:
    """BMOV: a convergence barrier to a register or back."""
    target, source = form.operands[0], form.operands[1]

    def run(machine: Machine, chosen: Chosen) -> None:
        state, threads = machine.state, machine.threads(chosen)
        if isinstance(source, RegisterOperand) and source.file == "B" and source.index is not None:
            bits = state.barriers[source.index, threads].copy()
            if "CLEAR" in execution.parameters:
                state.barriers[source.index, threads] = 0
        elif isinstance(source, RegisterOperand) and source.index is not None:
            bits = _known_row(state, general(source.file, source.index), chosen)
        else:
            bits = np.zeros(1, U32)
        if isinstance(target, RegisterOperand) and target.index is not None:
            if target.file == "B":
                state.barriers[target.index, threads] = bits
            else:
                state.write(general(target.file, target.index), chosen, (bits, None))

    return run


def _known_row(state: State, row: int, chosen: Chosen) -> Bits:
    bits, nodes = state.read(row, chosen)
    if nodes is not None:
        raise Refused("a convergence barrier from unknown data is not covered")
    return bits
