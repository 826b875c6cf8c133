"""Pure primitives on unknown values: nodes, after what needs no node.

Moves hide in arithmetic (`IMAD.MOV`, `PRMT 0x5410`, `LOP3 & 0x7fffffff`); a select whose predicate is
known picks one of its operands. Such forms give the operand's own node, so that a value keeps its
identity however it was moved.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sassql.insight.dag import CONST, Dag, Ids
from sassql.insight.primitives import WIDTHS, Parameters
from sassql.insight.recognising import low_of_extreme, narrowed
from sassql.insight.state import Bits, Refused, Value, as_nodes

Mask = npt.NDArray[np.bool_]
Simplifier = Callable[[Dag, Parameters, "tuple[Value | int, ...]", int], "Ids | None"]

SIMPLIFIERS: dict[str, Simplifier] = {}
_FULL = 0xFFFFFFFF


def simplifier(*names: str) -> Callable[[Simplifier], Simplifier]:
    """Register a function that gives nodes without a new operation; 0 where it has none."""

    def register(function: Simplifier) -> Simplifier:
        for name in names:
            SIMPLIFIERS[name] = function
        return function

    return register


def symbolic(
    dag: Dag,
    name: str,
    parameters: Parameters,
    result: int,
    values: tuple[Value | int, ...],
    kinds: tuple[str, ...],
    some: Mask,
) -> Ids:
    """Nodes of one result of a primitive for the lanes ``some``, 0 for the others."""
    count = len(some)
    found = np.zeros(count, np.int32)
    left = some
    if result == 0 and name in SIMPLIFIERS:
        simple = SIMPLIFIERS[name](dag, parameters, values, count)
        if simple is not None:
            found = np.where(some, simple, 0).astype(np.int32)
            left = some & (found == 0)
    if not left.any():
        return found
    if result and name.startswith("iadd") and _has_sign(values):
        raise Refused("the carry of a difference of unknown data is not covered")
    arguments: list[Ids | int] = []
    for value, kind in zip(values, kinds, strict=True):
        if isinstance(value, int):
            arguments.append(dag.constant(value & _FULL, 32))
            continue
        bits, nodes = value
        if kind == "u":
            bits = bits.astype(np.uint32)
        arguments.append(as_nodes(dag, (bits, nodes), WIDTHS[kind], count)[left])
    number = dag.number(name, parameters, result)
    found[left] = dag.add(number, tuple(arguments), int(left.sum()))
    return found


def _has_sign(values: tuple[Value | int, ...]) -> bool:
    return any(not isinstance(v, int) and v[1] is not None and bool((v[0] > _FULL).any()) for v in values)


def _known(value: Value | int, wanted: int, count: int) -> Mask:
    """Lanes where a value is known to be ``wanted``."""
    if isinstance(value, int):
        return np.full(count, value == wanted)
    bits, nodes = value
    found = np.broadcast_to(bits == bits.dtype.type(wanted & _mask_of(bits)), (count,))
    return found if nodes is None else found & (nodes == 0)


def _mask_of(bits: Bits) -> int:
    return int((1 << 8 * bits.dtype.itemsize) - 1)


def _nodes(value: Value | int, count: int) -> Ids:
    if isinstance(value, int) or value[1] is None:
        return np.zeros(count, np.int32)
    return np.broadcast_to(value[1], (count,))


@simplifier("copy", "copy64")
def _copy(dag: Dag, parameters: Parameters, values: tuple[Value | int, ...], count: int) -> Ids:
    return _nodes(values[0], count)


@simplifier("iadd3", "iadd64")
def _sum(dag: Dag, parameters: Parameters, values: tuple[Value | int, ...], count: int) -> Ids | None:
    """X + 0 + 0."""
    zeros = [_known(v, 0, count) for v in values]
    found = np.zeros(count, np.int32)
    for place, value in enumerate(values):
        others = np.all([z for n, z in enumerate(zeros) if n != place], axis=0)
        found = np.where(others, _nodes(value, count), found)
    if not found.any() and all(not isinstance(v, int) and v[0].dtype == np.uint64 for v in values[:3]):
        return _low_sum(dag, parameters, values, count)
    return found.astype(np.int32)


def _low_sum(dag: Dag, parameters: Parameters, values: tuple[Value | int, ...], count: int) -> Ids | None:
    """A sum of words whose low halves are all known: 16-bit numbers that lie in words with garbage above."""
    total = np.zeros(count, np.uint32)
    number, arguments = dag.number(CONST, ("16",)), []
    for value in values:
        assert not isinstance(value, int)
        bits, nodes = value
        word = as_nodes(
            dag, (bits.astype(np.uint32), nodes), WIDTHS["u"] if bits.dtype == np.uint64 else 1, count
        )
        arguments.append(word)
        if nodes is None:
            total = total + bits.astype(np.uint32)
            continue
        packed = dag.codes[word] == dag.pack_number
        low = np.where(packed, dag.arguments[0, word], 0)
        if not packed.all() or (dag.codes[low] != number).any():
            return None
        total = total + dag.arguments[0, low].view(np.uint32)
    whole = dag.add(dag.number("iadd3", parameters), tuple(arguments), count)
    return dag.pack(dag.constants(total & np.uint32(0xFFFF), 16), dag.half(whole, 1))


@simplifier("imad")
def _product(dag: Dag, parameters: Parameters, values: tuple[Value | int, ...], count: int) -> Ids:
    """0*x + c, and x*1 + 0."""
    a, b, c, carry = values
    zero, none = _known(a, 0, count) | _known(b, 0, count), _known(carry, 0, count)
    found = np.where(zero & none, _nodes(c, count), 0)
    empty = _known(c, 0, count) & none
    found = np.where(empty & _known(b, 1, count), _nodes(a, count), found)
    return np.where(empty & _known(a, 1, count), _nodes(b, count), found).astype(np.int32)


@simplifier("sel", "fselect", "sel64")
def _select(dag: Dag, parameters: Parameters, values: tuple[Value | int, ...], count: int) -> Ids:
    """The operand that a known predicate picks, either where both are the same, the word of an extreme."""
    if "FTZ" in parameters:
        return np.zeros(count, np.int32)
    a, b, condition = values
    assert not isinstance(condition, int) and not isinstance(a, int) and not isinstance(b, int)
    width = 64 if max(a[0].dtype.itemsize, b[0].dtype.itemsize) == 8 else 32
    first, second = as_nodes(dag, a, width, count), as_nodes(dag, b, width, count)
    picked = np.where(np.broadcast_to(condition[0], (count,)), first, second)
    known = _known(condition, 0, count) | _known(condition, 1, count)
    found = np.where(known, picked, np.where(first == second, first, 0)).astype(np.int32)
    left = (found == 0) & (_nodes(condition, count) != 0)
    if width == 32 and left.any():
        found[left] = low_of_extreme(dag, first[left], second[left], _nodes(condition, count)[left])
    return found


@simplifier("lop3")
def _logic(dag: Dag, parameters: Parameters, values: tuple[Value | int, ...], count: int) -> Ids | None:
    """A float's magnitude or sign, and truth tables that give one operand back."""
    a, b, c, lut = values[0], values[1], values[2], values[3]
    tables = {"fabs": (0xC0, 0x7FFFFFFF), "fneg": (0x3C, 0x80000000)}
    nodes = _nodes(a, count)
    for name, (table, mask) in tables.items():
        if lut == table and bool(_known(b, mask, count).all()) and nodes.all() and _known(c, 0, count).all():
            return dag.add(dag.number(name, ("32",)), (nodes,), count)
    if lut == 0xC0 and nodes.all():
        zero = np.full(count, dag.constant(0, 16), np.int32)
        if bool(_known(b, 0xFFFF, count).all()):
            return dag.pack(dag.half(nodes, 0), zero)
        if bool(_known(b, 0xFFFF0000, count).all()):
            return dag.pack(zero, dag.half(nodes, 1))
    same = {0xF0: a, 0xCC: b, 0xAA: c}
    if lut in same:
        return _nodes(same[int(lut)], count)
    zero_b, zero_c = _known(b, 0, count), _known(c, 0, count)
    if lut in (0xFC, 0x3C, 0xFE, 0x96) and bool((zero_b & zero_c).all()):
        return _nodes(a, count)
    zero_a = _known(a, 0, count)
    if lut in (0xFC, 0x3C, 0xFE, 0x96) and bool((zero_a & zero_c).all()):
        return _nodes(b, count)
    return None


@simplifier("shf", "shl", "shr")
def _shift(dag: Dag, parameters: Parameters, values: tuple[Value | int, ...], count: int) -> Ids | None:
    """Halves moved by 16 bits."""
    if len(values) != 3 or "W" in parameters or not _known(values[1], 16, count).all():
        return None
    if "S32" in parameters or "S64" in parameters or "U64" in parameters:
        return None
    a, _, c = values
    zero = np.full(count, dag.constant(0, 16), np.int32)
    if "L" in parameters and "HI" not in parameters and _nodes(a, count).all():
        return dag.pack(zero, dag.half(_nodes(a, count), 0))
    if "R" in parameters and "HI" in parameters and _nodes(c, count).all():
        return dag.pack(dag.half(_nodes(c, count), 1), zero)
    return None


@simplifier("prmt")
def _permute(dag: Dag, parameters: Parameters, values: tuple[Value | int, ...], count: int) -> Ids | None:
    """Halves that stay whole."""
    a, selector, c = values
    assert not isinstance(a, int) and not isinstance(c, int) and not isinstance(selector, int)
    if selector[1] is not None or len(np.unique(selector[0])) != 1:
        return None
    digits = [int(selector[0].flat[0]) >> 4 * place & 15 for place in range(4)]
    pairs = [(digits[0], digits[1]), (digits[2], digits[3])]
    if any(low % 2 or high != low + 1 or low > 7 for low, high in pairs):
        return None
    words = as_nodes(dag, a, 32, count), as_nodes(dag, c, 32, count)
    low, high = (dag.half(words[pair[0] // 4], pair[0] // 2 % 2) for pair in pairs)
    return dag.pack(low, high)


@simplifier("f2h")
def _narrow(dag: Dag, parameters: Parameters, values: tuple[Value | int, ...], count: int) -> Ids | None:
    """A half in the low bits of a word."""
    nodes = _nodes(values[0], count)
    if not nodes.all():
        return None
    half = narrowed(dag, parameters, nodes)
    return dag.pack(half, np.full(count, dag.constant(0, 16), np.int32))


@simplifier("f2h_pack")
def _narrow_two(dag: Dag, parameters: Parameters, values: tuple[Value | int, ...], count: int) -> Ids | None:
    """Two halves of a word."""
    a, b = values
    assert not isinstance(a, int) and not isinstance(b, int)
    low, high = (narrowed(dag, parameters, as_nodes(dag, v, 32, count)) for v in (b, a))
    return dag.pack(low, high)


@simplifier("fmnmx", "hmnmx", "bmnmx", "dmnmx", "imnmx", "imnmx64")
def _extreme(dag: Dag, parameters: Parameters, values: tuple[Value | int, ...], count: int) -> Ids | None:
    """The value that is its own maximum."""
    if "FTZ" in parameters:
        return None
    first, second = _nodes(values[0], count), _nodes(values[1], count)
    return np.where(first == second, first, 0).astype(np.int32)


def is_known(dag: Dag, node: int) -> bool:
    """Whether a node is a constant."""
    return dag.operations[int(dag.codes[node])].name == CONST
