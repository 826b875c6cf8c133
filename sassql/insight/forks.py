"""Unknown data decide: guards and branches whose predicate is a node.

A guarded instruction runs and its results are selected. A branch runs both ways up to the place where
they meet again (the branch's postdominator), and what the ways left in registers is selected; stores
on a way are selects between the old and the new word. A way into a slow path of the compiler's own
(division of extreme numbers, sine of huge ones) is not run: that it is not taken is an assumption of the
run, which it notes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sassql.facts.blocks import Blocks
from sassql.facts.dominators import NO_BLOCK, Dominators
from sassql.insight.compiling import Op, settled
from sassql.insight.dag import CONST, Ids
from sassql.insight.state import REGISTERS, Refused, Value, as_nodes, general, predicate
from sassql.insight.symbolic import Mask
from sassql.insight.tracking import Words

if TYPE_CHECKING:
    from sassql.insight.machine import Machine

MOST_DEPTH = 24
_CHOICE = 0xCA
"""The truth table of c ? a : b."""
_HUGE = 65536.0
"""Range tests of absolute values against at least this much lead to the reduction of huge arguments."""


def guarded(machine: Machine, op: Op, threads: Words, nodes: Ids) -> None:
    """Run an instruction whose guard is unknown for ``threads``; ``nodes`` are the guards."""
    if not op.control:
        _predicated(machine, op, threads, nodes)
        return
    if op.primitive == "exit":
        _fork(machine, threads, nodes, None, machine.here + 1)
        return
    if op.primitive not in ("branch", "call"):
        raise Refused("unknown data decide where threads go")
    _fork(machine, threads, nodes, machine.kernel_targets(machine.here), machine.here + 1)


def _predicated(machine: Machine, op: Op, threads: Words, nodes: Ids) -> None:
    old = machine.state.snapshot(op.defs, threads)
    before = _extend_path(machine, threads, nodes)
    hidden = _decide(machine, op, threads, nodes)
    op.run(machine, threads)
    machine.path[threads] = before
    for (flag, row), value in hidden.items():
        write = machine.state.write_predicate if flag else machine.state.write
        write(row, threads, value)
    for register, value in old.items():
        _select(machine, register.file, register.index, threads, nodes, value)


def _decide(machine: Machine, op: Op, threads: Words, nodes: Ids) -> dict[tuple[bool, int], Value]:
    """Put into source registers what they hold where the guard holds; what they held, by row.

    A register that an earlier instruction with the same guard has written is a select by that guard. What
    the instruction writes itself stays decided: its caller selects between the old and the new value.
    """
    hidden: dict[tuple[bool, int], Value] = {}
    state = machine.state
    wanted = _stripped(machine, nodes)
    for register in op.uses:
        flag = register.file in ("P", "UP")
        if not flag and register.file not in ("R", "UR"):
            continue
        row = predicate(register.file, register.index) if flag else general(register.file, register.index)
        if not (state.predicate_symbolic[row] if flag else state.symbolic[row]):
            continue
        bits, held = state.read_predicate(row, threads) if flag else state.read(row, threads)
        if held is None:
            continue
        chosen = _under(machine, held, wanted)
        if chosen is None:
            continue
        if register not in op.defs:
            hidden[flag, row] = bits.copy(), held.copy()
        write = state.write_predicate if flag else state.write
        write(row, threads, settled(machine, bits, chosen, len(threads)))
    return hidden


def _under(machine: Machine, held: Ids, condition: tuple[Ids, Mask]) -> Ids | None:
    """What values are where a condition holds: what selects by it pick; None without such selects."""
    dag = machine.dag
    selects = [dag.number("sel"), dag.number("fselect")]
    select = np.isin(dag.codes[held], selects)
    choice = (dag.codes[held] == dag.number("plop3")) & (dag.arguments[3, held] == dag.constant(_CHOICE, 32))
    places = np.where(select, dag.arguments[2, held], np.where(choice, dag.arguments[0, held], 0))
    inner, turned = _stripped(machine, places.astype(np.int32))
    wanted, opposite = condition
    same = (select | choice) & (inner == wanted)
    if not same.any():
        return None
    first = np.where(select, dag.arguments[0, held], dag.arguments[1, held])
    second = np.where(select, dag.arguments[1, held], dag.arguments[2, held])
    return np.where(same, np.where(turned == opposite, first, second), held).astype(np.int32)


def _stripped(machine: Machine, nodes: Ids) -> tuple[Ids, Mask]:
    """Predicates without inversions, and whether an odd number of them was taken off."""
    dag = machine.dag
    number = dag.number("inot", ("1",))
    turned = np.zeros(len(nodes), np.bool_)
    while True:
        inverted = dag.codes[nodes] == number
        if not inverted.any():
            return nodes, turned
        turned ^= inverted
        nodes = np.where(inverted, dag.arguments[0, nodes], nodes).astype(np.int32)


def _extend_path(machine: Machine, threads: Words, nodes: Ids) -> Ids:
    """Add a condition to the path of threads; what it was before."""
    before = machine.path[threads].copy()
    machine.path[threads] = _both(machine, before, nodes)
    return before


def _both(machine: Machine, first: Ids, second: Ids) -> Ids:
    """The conjunction of conditions, 0 where there is none."""
    dag = machine.dag
    found = np.where(first == 0, second, first).astype(np.int32)
    two = (first != 0) & (second != 0) & (first != second)
    if two.any():
        table, true = dag.constant(0x80, 32), dag.constant(1, 1)
        found[two] = dag.add(
            dag.number("plop3"), (first[two], second[two], true, table, table), int(two.sum())
        )
    return found


def _select(machine: Machine, file: str, index: int, threads: Words, nodes: Ids, old: Value) -> None:
    """What a register holds after both: the new value where the condition holds, else the old one."""
    state, dag, count = machine.state, machine.dag, len(threads)
    flag = file in ("P", "UP")
    row = predicate(file, index) if flag else general(file, index)
    new = state.read_predicate(row, threads) if flag else state.read(row, threads)
    width = 1 if flag else 32
    first, second = as_nodes(dag, new, width, count), as_nodes(dag, old, width, count)
    differ = first != second
    result = np.array(new[1] if new[1] is not None else np.zeros(count, np.int32))
    if differ.any():
        if flag:
            result[differ] = _choose(machine, nodes[differ], first[differ], second[differ])
        else:
            arguments = (first[differ], second[differ], nodes[differ])
            result[differ] = dag.add(dag.number("sel"), arguments, int(differ.sum()))
    value: Value = (new[0], result if result.any() else None)
    if flag:
        state.write_predicate(row, threads, value)
    else:
        state.write(row, threads, value)


def _choose(machine: Machine, condition: Ids, first: Ids, second: Ids) -> Ids:
    """A predicate that a condition picks: the truth table of c ? a : b."""
    table = machine.dag.constant(_CHOICE, 32)
    return machine.dag.add(
        machine.dag.number("plop3"), (condition, first, second, table, table), len(condition)
    )


def _fork(machine: Machine, threads: Words, nodes: Ids, taken: int | None, fall: int) -> None:
    """Run threads both ways; ``taken`` is None for an exit."""
    here = machine.here
    slow = _slow_side(machine, nodes, taken, fall)
    if slow is not None:
        machine.assume(
            "the operands are in the range of the fast path: the slow path behind this branch is not taken"
        )
        machine.skipped.add((here, fall if slow == "fall" or taken is None else taken))
        leaves = (
            machine.dag.add(machine.dag.number("inot", ("1",)), (nodes,), len(nodes))
            if slow == "fall"
            else nodes
        )
        machine.guards.append(leaves)
        if slow == "fall" and taken is not None:
            machine.pc[threads] = taken
        else:
            machine.pc[threads] = fall
        return
    if machine.depth >= MOST_DEPTH:
        raise Refused("unknown data decide how often a loop runs, or branches are nested too deeply")
    stop = _meeting(machine, here)
    dag = machine.dag
    falls = dag.add(dag.number("inot", ("1",)), (nodes,), len(threads))
    saved = _everything(machine, threads)
    before = machine.path[threads].copy()
    machine.depth += 1
    machine.path[threads] = _both(machine, before, falls)
    _run(machine, threads, fall, stop)
    one = _everything(machine, threads)
    _restore(machine, threads, saved)
    machine.path[threads] = _both(machine, before, nodes)
    _run(machine, threads, taken, stop)
    machine.path[threads] = before
    machine.depth -= 1
    machine.here = here
    if stop is not None:
        _merge(machine, threads, nodes, one)
        machine.pc[threads] = stop
        machine.status[threads] = 0


def _run(machine: Machine, threads: Words, start: int | None, stop: int | None) -> None:
    if start is None:
        machine.status[threads] = 1
        return
    machine.pc[threads] = start
    machine.status[threads] = 0
    machine.advance(threads, len(machine.kernel.form_ids) + 1 if stop is None else stop)


def _meeting(machine: Machine, index: int) -> int | None:
    """The instruction where both ways of a branch meet again; None where that is the end."""
    blocks: Blocks = machine.blocks
    tree: Dominators = machine.kernel.fact("postdominators")
    block = tree.immediate[int(blocks.of[index])]
    return None if block == NO_BLOCK else int(blocks.start[block])


Saved = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _everything(machine: Machine, threads: Words) -> Saved:
    """Registers and predicates of threads, with their nodes."""
    state = machine.state
    nodes = state.nodes[:, threads]
    nodes[np.logical_not(state.symbolic)] = 0
    flags = state.predicate_nodes[:, threads]
    flags[np.logical_not(state.predicate_symbolic)] = 0
    return state.bits[:, threads], nodes, state.holds[:, threads], flags


def _restore(machine: Machine, threads: Words, saved: Saved) -> None:
    state = machine.state
    for row in range(REGISTERS):
        if not state.symbolic[row]:
            state.nodes[row] = 0
    for row in range(len(state.holds)):
        if not state.predicate_symbolic[row]:
            state.predicate_nodes[row] = 0
    state.bits[:, threads], state.nodes[:, threads] = saved[0], saved[1]
    state.holds[:, threads], state.predicate_nodes[:, threads] = saved[2], saved[3]
    for row in np.flatnonzero(saved[1].any(axis=1)).tolist():
        state.symbolic[row] = True
    for row in np.flatnonzero(saved[3].any(axis=1)).tolist():
        state.predicate_symbolic[row] = True


def _merge(machine: Machine, threads: Words, nodes: Ids, fallen: Saved) -> None:
    """Select between the registers of the two ways; the taken one is in the machine."""
    state = machine.state
    bits, unknown, holds, flags = _everything(machine, threads)
    different = (unknown != fallen[1]) | ((unknown == 0) & (bits != fallen[0]))
    for row in np.flatnonzero(different.any(axis=1)).tolist():
        old: Value = (fallen[0][row], fallen[1][row])
        _select(machine, "R" if row < 256 else "UR", row % 256, threads, nodes, old)
        state.written[row] = True
    different = (flags != fallen[3]) | ((flags == 0) & (holds != fallen[2]))
    for row in np.flatnonzero(different.any(axis=1)).tolist():
        _select(machine, "P" if row < 8 else "UP", row % 8, threads, nodes, (fallen[2][row], fallen[3][row]))


def _slow_side(machine: Machine, nodes: Ids, taken: int | None, fall: int) -> str | None:
    """Which side of a branch leads into the compiler's slow path, `taken` or `fall`; None for neither."""
    sides = {"fall": fall} if taken is None else {"taken": taken, "fall": fall}
    stop = _meeting(machine, machine.here)
    for name, start in sides.items():
        if start != stop and _calls_slow(machine, start, stop):
            return name
    if taken is not None and _tests_huge(machine, int(nodes[0])):
        # the side that begins with the longer way to the meeting place reduces the huge argument
        return "fall" if (stop is not None and taken == stop) or taken > fall + 1 else "taken"
    return None


def _calls_slow(machine: Machine, start: int, stop: int | None) -> bool:
    """Whether a way calls, before it branches, a routine with the tag of slow paths."""
    tags = machine.kernel.fact("tags")
    index = start
    while index < len(machine.kernel.form_ids) and index != stop:
        op = machine.op(index)
        if "slowpath" in tags.get(index, ()):
            return True
        if op.primitive == "call":
            target = machine.kernel_targets(index)
            return "slowpath" in tags.get(target, ())
        if op.control and op.primitive != "reconverge":
            return False
        index += 1
    return False


def _tests_huge(machine: Machine, node: int) -> bool:
    """Whether a predicate compares an absolute value with a huge number, perhaps inverted."""
    dag = machine.dag
    operation = dag.operations[int(dag.codes[node])]
    while operation.name == "inot":
        node = int(dag.arguments[0, node])
        operation = dag.operations[int(dag.codes[node])]
    if operation.name != "fcompare":
        return False
    for value, other in ((0, 1), (1, 0)):
        left, right = (int(dag.arguments[place, node]) for place in (value, other))
        absolute = dag.operations[int(dag.codes[left])].name == "fabs"
        bits = dag.constant_bits(right) if dag.operations[int(dag.codes[right])].name == CONST else None
        if absolute and bits is not None:
            number = float(np.array([bits], np.uint32).view(np.float32)[0])
            return number >= _HUGE and np.isfinite(number)
    return False
