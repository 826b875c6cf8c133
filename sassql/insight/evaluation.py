"""Nodes as numbers: in the arithmetic of the instructions, or with real functions in doubles."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from sassql.insight.dag import (
    CONST,
    HIGH64,
    HIGH_HALF,
    LEAF,
    LOW64,
    LOW_HALF,
    PACK,
    PAIR64,
    Dag,
    Group,
    Ids,
    Operation,
)
from sassql.insight.primitives import PRIMITIVES, Array
from sassql.insight.sampling import Draws
from sassql.isa import execution

U64 = np.uint64
_MORE = {
    "narrow": "f",
    "widen": "h",
    "mma_step": "hhf",
    "mma_step_tf32": "fff",
    "mma_end": "f",
}
_UNARY = frozenset({"fneg", "fabs", "inot", "ineg", "iabs"})
_WIDTHS = {"1": "p", "16": "h", "32": "r", "64": "q"}
STRUCTURE = frozenset({PACK, LOW_HALF, HIGH_HALF, LOW64, HIGH64, PAIR64})
"""Operations that take values apart or put them together."""


@cache
def signature(name: str, parameters: tuple[str, ...]) -> str:
    """The types of a primitive's operands, one letter each as in `execution.tsv`."""
    if name in _UNARY and parameters and parameters[0] in _WIDTHS:
        return _WIDTHS[parameters[0]]
    if name in _MORE:
        return _MORE[name]
    rows = [row for rows in execution.table().values() for row in rows if row.primitive == name]
    return max(("".join(slot.type for slot in row.operands) for row in rows), key=len)


def live(dag: Dag, wanted: Ids) -> npt.NDArray[np.bool_]:
    """The nodes that ``wanted`` depend on, themselves included."""
    found = np.zeros(dag.size, np.bool_)
    found[wanted] = True
    for group in reversed(dag.schedule()):
        if group.count:
            nodes = nodes_of(group, found)
            for place in range(group.count if len(nodes) else 0):
                found[dag.arguments[place, nodes]] = True
    return found


def nodes_of(group: Group, alive: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """The live nodes of a group."""
    part = alive[group.nodes]
    return group.nodes if part.all() else group.nodes[part]


def typed(values: Array, kind: str) -> Array | int:
    """Values of nodes as an operand of a type."""
    if kind == "n":
        return int(values.flat[0])
    if kind == "p":
        return np.asarray(values != 0)
    if kind in "hb":
        return values.astype(np.uint16)
    if kind in "dqu":
        return values
    return values.astype(np.uint32)


def rounded(dag: Dag, wanted: Ids, draws: Draws) -> Array:
    """The bits of nodes for each sample, computed as the instructions do; shape (nodes, samples)."""
    alive = live(dag, wanted)
    values = np.zeros((dag.size, draws.count), U64)
    with np.errstate(all="ignore"):
        for group in dag.schedule():
            here = nodes_of(group, alive)
            if len(here):
                values[here] = _rounded(dag, group, here, values, draws)
    return values[wanted]


def _rounded(dag: Dag, group: Group, here: npt.NDArray[np.int64], values: Array, draws: Draws) -> Array:
    operation = dag.operations[group.operation]
    name = operation.name
    arguments = dag.arguments[:, here]
    if name == CONST:
        low, high = arguments[:2].view(np.uint32).astype(U64)
        number: Array = (low | high << U64(32))[:, None]
        return number
    if name == LEAF:
        index = arguments[0]
        kind = operation.parameters[1]
        value: Array = draws.bits(operation.parameters[0], kind, int(index.max()) + 1)[index].astype(U64)
        return value
    taken = [values[arguments[place]] for place in range(group.count)]
    if name in STRUCTURE:
        return structure(name, taken)
    kinds = signature(name, operation.parameters)
    if "BF16" in operation.parameters and name == "mma_step":
        kinds = "bbf"
    return computed(operation, kinds, taken)


def computed(operation: Operation, kinds: str, taken: list[Array]) -> Array:
    """What a primitive gives for nodes with arguments ``taken``, each of shape (nodes, samples).

    A primitive has one number (a truth table, a shift) for all lanes; nodes with others are computed apart.
    """
    numbers = [value[:, 0] for value, kind in zip(taken, kinds, strict=False) if kind == "n"]
    if numbers and any((number != number[0]).any() for number in numbers):
        rows, which = np.unique(np.stack(numbers), axis=1, return_inverse=True)
        found = np.zeros((len(which), max(value.shape[1] for value in taken)), U64)
        for row in range(rows.shape[1]):
            here = which.ravel() == row
            found[here] = computed(operation, kinds, [value[here] for value in taken])
        return found
    operands = [typed(value, kind) for value, kind in zip(taken, kinds, strict=False)]
    result = PRIMITIVES[operation.name](operation.parameters, *operands)[operation.result]
    return result.astype(U64)


def structure(name: str, taken: list[Array]) -> Array:
    """Bits put together or taken apart."""
    sixteen, wide = U64(16), U64(32)
    if name in (PACK, PAIR64):
        value: Array = taken[0] | taken[1] << (sixteen if name == PACK else wide)
        return value
    if name == LOW_HALF:
        return taken[0] & U64(0xFFFF)
    if name == HIGH_HALF:
        return taken[0] >> sixteen & U64(0xFFFF)
    return taken[0] & U64(0xFFFFFFFF) if name == LOW64 else taken[0] >> wide
