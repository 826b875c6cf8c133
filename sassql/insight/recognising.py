"""Emulated operations as the operation itself, lane by lane, while the graph is made.

An architecture without an instruction gets the same bits from several: a maximum of halves from one of
32-bit floats, a 64-bit maximum from comparisons of words. What is recognised has the same bits for every
input, NaN payloads aside.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sassql.insight.dag import Dag, Ids

Mask = npt.NDArray[np.bool_]
_MINUS_ZERO = 0x8000
_SIDES = {"GT": 0, "GE": 0, "LT": 1, "LE": 1}
"""Comparisons, and the predicate of the extreme that `a ? b : compares a and b` picks: 0 the largest."""


def _operations(dag: Dag, name: str, parameters: tuple[tuple[str, ...], ...] | None = None) -> list[int]:
    """Numbers of an operation's first result, with some parameters or any."""
    return [
        number
        for number, operation in enumerate(dag.operations)
        if operation.name == name
        and not operation.result
        and (parameters is None or operation.parameters in parameters)
    ]


def narrowed(dag: Dag, parameters: tuple[str, ...], nodes: Ids) -> Ids:
    """32-bit floats rounded to halves.

    The extreme of two halves that were widened to 32 bits is one of them (or a NaN), so rounding gives
    the extreme of the halves: widening is exact, keeps the order, signed zeros and denormals, and a NaN is
    a NaN in both formats.
    """
    found = np.zeros(len(nodes), np.int32)
    for extreme in _operations(dag, "fmnmx", ((), ("NAN",))) if parameters == () else ():
        here = dag.codes[nodes] == extreme
        sides = []
        for place in (0, 1):
            exact, half = _widened(dag, dag.arguments[place, nodes])
            here &= exact
            sides.append(half)
        if here.any():
            number = dag.number("hmnmx", dag.operations[extreme].parameters)
            arguments = (sides[0][here], sides[1][here], dag.arguments[2, nodes[here]])
            found[here] = dag.add(number, arguments, int(here.sum()))
    rest = found == 0
    if rest.any():
        found[rest] = dag.add(dag.number("narrow", parameters), (nodes[rest],), int(rest.sum()))
    return found


def _widened(dag: Dag, nodes: Ids) -> tuple[Mask, Ids]:
    """Where 32-bit floats are halves, widened by `h + (-0)`, or constants that a half has; the halves."""
    half = np.zeros(len(nodes), np.int32)
    wide = np.isin(dag.codes[nodes], _operations(dag, "hadd_f32", ((),)))
    zero = dag.constant(_MINUS_ZERO, 16)
    for one, other in ((0, 1), (1, 0)):
        here = wide & (dag.arguments[other, nodes] == zero)
        half[here] = dag.arguments[one, nodes[here]]
    for node in np.unique(nodes[~wide]).tolist():
        bits = dag.constant_bits(node)
        if bits is None:
            continue
        value = np.array([bits], np.uint32).view(np.float32)
        with np.errstate(over="ignore"):
            short = value.astype(np.float16)
        if (short.astype(np.float32).view(np.uint32) == value.view(np.uint32)).all():
            half[nodes == node] = dag.constant(int(short.view(np.uint16)[0]), 16)
    return half != 0, half


def low_of_extreme(dag: Dag, a: Ids, b: Ids, condition: Ids) -> Ids:
    """Selects of low words by a comparison of 64-bit integers: the low word of the extreme; 0 for others.

    The condition is that of `ISETP.EX`: the high words decide, and the low ones where the high are
    equal. Where the pairs are equal so are the words, so it does not matter whether equality counts.
    """
    found = np.zeros(len(a), np.int32)
    true = dag.constant(1, 1)
    for extended in np.unique(dag.codes[condition]).tolist():
        operation = dag.operations[extended]
        if operation.name != "icompare_ex" or operation.result or "AND" not in operation.parameters:
            continue
        side = next((p for p in operation.parameters if p in _SIDES), None)
        if side is None:
            continue
        here = (dag.codes[condition] == extended) & (dag.arguments[2, condition] == true)
        here &= _low_decides(dag, dag.arguments[3, condition], a, b, _SIDES[side])
        if not here.any():
            continue
        high = [dag.arguments[place, condition[here]] for place in (0, 1)]
        pairs = tuple(joined(dag, low[here], word) for low, word in zip((a, b), high, strict=True))
        sign = ("U64",) if "U32" in operation.parameters else ()
        number = dag.number("imnmx64", sign)
        wide = dag.add(number, (*pairs, dag.constant(_SIDES[side], 1)), int(here.sum()))
        found[here] = dag.word(wide, 0)
        for whole, node in zip(wide.tolist(), condition[here].tolist(), strict=True):
            dag.origins[whole] = node
    return found


def _low_decides(dag: Dag, lower: Ids, a: Ids, b: Ids, least: int) -> Mask:
    """Where a predicate says how unsigned words a and b compare, in the direction of the extreme."""
    found = np.zeros(len(a), np.bool_)
    true = dag.constant(1, 1)
    for code in np.unique(dag.codes[lower]).tolist():
        operation = dag.operations[code]
        if (
            operation.name != "icompare"
            or operation.result
            or not {"U32", "AND"} <= set(operation.parameters)
        ):
            continue
        if _SIDES.get(next((p for p in operation.parameters if p in _SIDES), "")) != least:
            continue
        here = (dag.codes[lower] == code) & (dag.arguments[2, lower] == true)
        here &= (dag.arguments[0, lower] == a) & (dag.arguments[1, lower] == b)
        found |= here
    constants = [dag.constant_bits(node) for nodes in (a, b, lower) for node in nodes.tolist()]
    for place, (x, y, says) in enumerate(
        zip(*(constants[n * len(a) : (n + 1) * len(a)] for n in range(3)), strict=True)
    ):
        if x is None or y is None or says is None:
            continue
        found[place] |= x == y or (x < y if least else x > y) == bool(says)
    return found


def joined(dag: Dag, low: Ids, high: Ids) -> Ids:
    """64-bit values of two words; the words of an extreme that comparisons made give it back."""
    found = np.zeros(len(low), np.int32)
    selects = dag.number("sel")
    for place, (one, other) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        if int(dag.codes[one]) != dag.words[0] or int(dag.codes[other]) != selects:
            continue
        whole = int(dag.arguments[0, one])
        condition = dag.origins.get(whole)
        if condition is None or int(dag.arguments[2, other]) != condition:
            continue
        if (dag.arguments[:2, other] == dag.arguments[:2, condition]).all():
            found[place] = whole
    rest = found == 0
    if rest.any():
        found[rest] = dag.wide(low[rest], high[rest])
    return found
