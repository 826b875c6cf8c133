"""Primitives of control flow: branches, calls, reconvergence, barriers, fences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sassql.insight.accesses import operand_of, register_row
from sassql.insight.compiling import Run, special
from sassql.insight.lanes import masks
from sassql.insight.operands import reader
from sassql.insight.state import Chosen, Fault, Refused, Value
from sassql.insight.tracking import Words
from sassql.isa.execution import Execution
from sassql.model.form import Form
from sassql.model.operands import ImmediateOperand, LabelOperand, RegisterOperand

if TYPE_CHECKING:
    from sassql.insight.machine import Machine

U32 = np.uint32


@special("branch", control=True)
def branch(form: Form, execution: Execution) -> Run:
    """BRA: to its label, where its predicate operands hold."""
    conditions = [o for o in form.operands if o.role in ("ci", "cj")]
    if any(not isinstance(o, RegisterOperand) for o in conditions) or operand_of(form, "a") is not None:
        raise Refused(f"{form.text} is not covered")

    def run(machine: Machine, chosen: Chosen) -> None:
        threads, target = machine.threads(chosen), machine.kernel_targets(machine.here)
        holds = np.ones(len(threads), np.bool_)
        for operand in conditions:
            assert isinstance(operand, RegisterOperand)
            bits, nodes = machine.state.predicate_operand(operand, chosen)
            if nodes is not None:
                raise Refused("a uniform branch on unknown data is not covered")
            holds &= bits
        if conditions:
            machine.note_way(holds)
        machine.pc[threads[holds]] = target

    return run


@special("branch_indirect", control=True)
def branch_indirect(form: Form, execution: Execution) -> Run:
    """BRX: to an address that is counted from the next instruction."""
    place = next((n for n, o in enumerate(form.operands) if o.role == "a"), None)
    offset = operand_of(form, "offset")
    if place is None:
        raise Refused(f"{form.text} is not covered")
    where = reader(form, place, "q")
    more = int(offset.value) if isinstance(offset, ImmediateOperand) else 0

    def run(machine: Machine, chosen: Chosen) -> None:
        bits, nodes = where(machine, chosen)
        if nodes is not None:
            raise Refused("an indirect branch on unknown data is not covered")
        following = int(machine.kernel.addresses[machine.here]) + 16
        _jump(machine, chosen, bits.astype(np.int64) + following + more)

    return run


def _jump(machine: Machine, chosen: Chosen, addresses: Words) -> None:
    threads = machine.threads(chosen)
    places = np.searchsorted(machine.kernel.addresses, addresses)
    places = np.minimum(places, len(machine.kernel.addresses) - 1)
    if (machine.kernel.addresses[places] != addresses).any():
        raise Fault(f"{machine.place()} leaves the kernel")
    machine.pc[threads] = places


@special("call", control=True)
def call(form: Form, execution: Execution) -> Run:
    """CALL.REL: to its label; the way back is in a register that RET names."""
    if any(isinstance(o, RegisterOperand) for o in form.operands):
        raise Refused("a call of a computed place is not covered")

    def run(machine: Machine, chosen: Chosen) -> None:
        machine.pc[machine.threads(chosen)] = machine.kernel_targets(machine.here)

    return run


@special("return", control=True)
def return_(form: Form, execution: Execution) -> Run:
    """RET.REL: to the address in a register pair, counted from the label."""
    place = next((n for n, o in enumerate(form.operands) if o.role == "a"), None)
    if place is None:
        raise Refused(f"{form.text} is not covered")
    where = reader(form, place, "q")
    labelled = any(isinstance(o, LabelOperand) for o in form.operands)

    def run(machine: Machine, chosen: Chosen) -> None:
        bits, nodes = where(machine, chosen)
        if nodes is not None:
            raise Refused("a return to unknown data is not covered")
        base = max(int(machine.kernel.targets[machine.here]), 0) if labelled else 0
        _jump(machine, chosen, bits.astype(np.int64) + base)

    return run


@special("exit", control=True)
def exit_(form: Form, execution: Execution) -> Run:
    """EXIT: the threads end."""
    if form.operands:
        raise Refused(f"{form.text} is not covered")

    def run(machine: Machine, chosen: Chosen) -> None:
        machine.status[machine.threads(chosen)] = 1  # EXITED

    return run


def _barrier_of(form: Form) -> int:
    operand = operand_of(form, "barrier")
    if (
        not isinstance(operand, RegisterOperand)
        or operand.index is None
        or operand_of(form, "ci") is not None
    ):
        raise Refused(f"{form.text} is not covered")
    return operand.index


@special("set_reconvergence")
def set_reconvergence(form: Form, execution: Execution) -> Run:
    """BSSY: the lanes that meet again at the BSYNC of this barrier."""
    number = _barrier_of(form)

    def run(machine: Machine, chosen: Chosen) -> None:
        threads = machine.threads(chosen)
        present = masks(machine, chosen, np.ones(1, np.bool_))
        machine.state.barriers[number, threads] = present[machine.geometry.warp_of[threads]]

    return run


@special("reconverge", control=True)
def reconverge(form: Form, execution: Execution) -> Run:
    """BSYNC: wait for the lanes of the barrier."""
    number = _barrier_of(form)

    def run(machine: Machine, chosen: Chosen) -> None:
        threads = machine.threads(chosen)
        wait(machine, chosen, machine.state.barriers[number, threads], number)

    return run


def wait(machine: Machine, chosen: Chosen, needed: np.ndarray, number: int) -> None:
    """Hold threads until the lanes of a mask are here as well; who has exited is not waited for."""
    threads, warp = machine.threads(chosen), machine.geometry.warp_of[machine.threads(chosen)]
    present = masks(machine, chosen, np.ones(1, np.bool_))[warp]
    missing = np.broadcast_to(needed, threads.shape) & ~present
    held = missing != 0
    if held.any():
        held = missing & machine.alive()[warp] != 0
    machine.waits[threads[held]] = np.broadcast_to(needed, threads.shape)[held]
    machine.waits_on[threads[held]] = number
    machine.status[threads[held]] = 3  # AT_SYNC


@special("leave_reconvergence")
def leave_reconvergence(form: Form, execution: Execution) -> Run:
    """BREAK: the lanes do not come to the BSYNC of this barrier."""
    number = _barrier_of(form)

    def run(machine: Machine, chosen: Chosen) -> None:
        threads, geometry = machine.threads(chosen), machine.geometry
        leaving = masks(machine, chosen, np.ones(1, np.bool_))
        for warp in np.unique(geometry.warp_of[threads]).tolist():
            lanes = np.array(geometry.lanes_of(warp))
            mine = threads[geometry.warp_of[threads] == warp]
            group = np.bitwise_or.reduce(machine.state.barriers[number, mine])
            members = lanes[(U32(1) << geometry.lane_of[lanes].astype(U32) & group) != 0]
            machine.state.barriers[number, members] &= ~leaving[warp]
            waiting = members[(machine.status[members] == 3) & (machine.waits_on[members] == number)]
            machine.waits[waiting] &= ~leaving[warp]

    return run


@special("meet_warp", control=True)
def meet_warp(form: Form, execution: Execution) -> Run:
    """WARPSYNC: wait for the lanes of a mask."""
    everything = "ALL" in execution.parameters
    place = next((n for n, o in enumerate(form.operands) if o.role == "a"), None)
    if operand_of(form, "target") is not None or (place is None and not everything):
        raise Refused(f"{form.text} is not covered")
    mask = None if place is None or everything else reader(form, place, "r")

    def run(machine: Machine, chosen: Chosen) -> None:
        bits: Value = (np.array([0xFFFFFFFF], U32), None) if mask is None else mask(machine, chosen)
        if bits[1] is not None:
            raise Refused("a warp barrier whose mask depends on unknown data is not covered")
        wait(machine, chosen, bits[0], -1)

    return run


@special("branch_diverged", control=True)
def branch_diverged(form: Form, execution: Execution) -> Run:
    """BRA.DIV: to a copy for lanes that came apart, which computes the same.

    Lanes that can still come are waited for here.
    """

    def run(machine: Machine, chosen: Chosen) -> None:
        threads, warp = machine.threads(chosen), machine.geometry.warp_of[machine.threads(chosen)]
        present = masks(machine, chosen, np.ones(1, np.bool_))[warp]
        missing = machine.alive()[warp] & ~present
        held = missing != 0
        machine.waits[threads[held]] = machine.alive()[warp][held]
        machine.waits_on[threads[held]] = -1
        machine.status[threads[held]] = 5  # AT_DIVERGENCE

    return run


# --- barriers of a block


@special("barrier", control=True)
def barrier(form: Form, execution: Execution) -> Run:
    """BAR.SYNC and BAR.RED: wait for the threads of the block; RED folds a predicate."""
    number, count = operand_of(form, "barrier"), operand_of(form, "count")
    if not isinstance(number, ImmediateOperand) or count is not None:
        raise Refused(f"{form.text} is not covered")
    parameters = execution.parameters
    place = next((n for n, o in enumerate(form.operands) if o.role == "ci"), None)
    condition = None if place is None else reader(form, place, "p")
    mode = next((p for p in parameters if p in ("AND", "OR", "POPC")), "")

    def run(machine: Machine, chosen: Chosen) -> None:
        threads = machine.threads(chosen)
        if machine.depth:
            raise Refused("a barrier where unknown data decide who comes is not covered")
        machine.status[threads] = 2  # AT_BARRIER
        machine.waits[threads] = int(number.value)
        if condition is not None and mode:
            bits, nodes = condition(machine, chosen)
            machine.barrier_value[threads] = bits
            machine.barrier_nodes[threads] = 0 if nodes is None else nodes
            machine.barrier_mode = mode

    return run


def pass_barriers(machine: Machine, group: Words) -> bool:
    """Let blocks go on whose threads all wait at the same barrier; whether there was one."""
    geometry = machine.geometry
    waiting = group[machine.status[group] == 2]
    if not len(waiting):
        return False
    alive = np.bincount(geometry.block_of[machine.status != 1], minlength=geometry.blocks)
    here = np.bincount(geometry.block_of[waiting], minlength=geometry.blocks)
    ready = (here == alive) & (here > 0)
    released = False
    for block in np.flatnonzero(ready).tolist():
        mine = waiting[geometry.block_of[waiting] == block]
        if len(np.unique(machine.waits[mine])) > 1:
            raise Fault(f"threads of a block wait at different barriers, one of them {machine.place()}")
        if len(np.unique(machine.pc[mine])) > 1:
            machine.assume("threads of a block meet at barriers in different places")
        if machine.barrier_mode:
            _fold(machine, mine)
        machine.status[mine] = 0
        machine.clock.barriers[block] += 1
        released = True
    machine.barrier_mode = "" if released else machine.barrier_mode
    return released


def _fold(machine: Machine, threads: Words) -> None:
    """The result of BAR.RED for the threads of a block: a number, or the node of one."""
    mode, dag = machine.barrier_mode, machine.dag
    bits, nodes = machine.barrier_value[threads], machine.barrier_nodes[threads]
    known, unknown = bits[nodes == 0], nodes[nodes != 0]
    if mode == "POPC":
        count, node = int(known.sum()), 0
        one, zero = dag.constant(1, 32), dag.constant(0, 32)
        if len(unknown):
            ones = dag.add(dag.number("sel"), (one, zero, unknown), len(unknown))
            node = dag.constant(count, 32)
            for place in ones.tolist():
                node = int(dag.add(dag.number("iadd3"), (node, place, zero), 1)[0])
        value, result = count, node
    else:
        every = bool(known.all()) if mode == "AND" else bool(known.any())
        decided = every == (mode == "OR") and len(known) > 0
        result = 0
        if len(unknown) and not decided:
            table, true = (
                dag.constant(0x80 if mode == "AND" else 0xFE, 32),
                dag.constant(int(mode == "AND"), 1),
            )
            result = int(unknown[0])
            for place in unknown[1:].tolist():
                result = int(dag.add(dag.number("plop3"), (result, place, true, table, table), 1)[0])
        value = int(every)
    machine.block_value[threads], machine.block_nodes[threads] = value, result
    machine.block_predicate[threads] = mode != "POPC"


@special("barrier_result")
def barrier_result(form: Form, execution: Execution) -> Run:
    """B2R.RESULT: what BAR.RED found; for AND and OR 0 or a number that is not 0, and a predicate."""
    row, operand = register_row(form, "d"), operand_of(form, "p")
    predicate = operand if isinstance(operand, RegisterOperand) and operand.index is not None else None

    def run(machine: Machine, chosen: Chosen) -> None:
        threads, dag = machine.threads(chosen), machine.dag
        bits, nodes = machine.block_value[threads], machine.block_nodes[threads]
        some, logical = nodes != 0, machine.block_predicate[threads]
        if predicate is not None:
            from sassql.insight.state import predicate as row_of  # noqa: PLC0415

            assert predicate.index is not None
            known = nodes if some.any() else None
            machine.state.write_predicate(row_of(predicate.file, predicate.index), chosen, (bits != 0, known))
        if row is None:
            return
        found = nodes.copy()
        turned = some & logical
        if turned.any():
            arguments = (dag.constant(1, 32), dag.constant(0, 32), nodes[turned])
            found[turned] = dag.add(dag.number("sel"), arguments, int(turned.sum()))
        machine.state.write(row, chosen, (bits, found if some.any() else None))

    return run


@special("fence")
def fence(form: Form, execution: Execution) -> Run:
    """MEMBAR: what the block has written is visible to others, unless it is for the block alone."""

    def run(machine: Machine, chosen: Chosen) -> None:
        if "CTA" not in execution.parameters:
            machine.clock.fence[machine.clock.block_of[machine.threads(chosen)]] = machine.clock.time

    return run


@special("nothing")
@special("give_way")
def nothing(form: Form, execution: Execution) -> Run:
    """Instructions that compute nothing in this model."""
    return lambda machine, chosen: None
