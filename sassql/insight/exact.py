"""Level E0: hashes that are equal only where the bits are, for every input, NaN payloads aside.

Rewrites that hold for every bit: commutation; signs moved through products, selects and comparisons;
x * 1, x + (-0), x * 2 = x + x, fma with one of these; comparisons and their opposites; maxima and minima
as sets; integer sums and products with constants as linear forms modulo 2^32. A float sum keeps its order.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sassql.insight.dag import CONST, LEAF, Dag, Group, Ids
from sassql.insight.evaluation import live, nodes_of
from sassql.insight.extremes import Extremes
from sassql.insight.hashing import (
    Mask,
    Words,
    equal,
    magnitude,
    mix,
    negative,
    number,
    pair,
    seed,
    signed,
    where,
)
from sassql.insight.predicates import any_bit, comparison, table_of_predicates
from sassql.insight.selects import Selects

Places = npt.NDArray[np.int64]
Rule = Callable[["Exact", "Call"], Words]
FLOATS = {"f": 32, "h": 16, "b": 16, "d": 64}
_ONES = {"f": 0x3F800000, "h": 0x3C00, "b": 0x3F80, "d": 0x3FF0000000000000}
_TWOS = {"f": 0x40000000, "h": 0x4000, "b": 0x4000, "d": 0x4000000000000000}
_UNITS = {"fadd", "fmul", "ffma", "hadd", "hmul", "hfma", "badd", "bmul", "bfma", "dadd", "dmul", "dfma"}


class Call:
    """The live nodes of a group, with their arguments."""

    def __init__(self, forms: Exact, group: Group, nodes: Places) -> None:
        operation = forms.dag.operations[group.operation]
        self.forms, self.group, self.nodes = forms, group, nodes
        self.name, self.parameters, self.result = operation.name, operation.parameters, operation.result
        self.flags = frozenset(operation.parameters)
        self.arguments = forms.dag.arguments[: group.count, nodes]

    def hash(self, place: int) -> Words:
        """The hashes of an argument as a float, a predicate or plain bits."""
        return self.forms.bits(self.arguments[place])

    def linear(self, place: int) -> Words:
        """The hashes of an argument as an integer."""
        return self.forms.whole(self.arguments[place])

    def constant(self, place: int) -> tuple[Mask, npt.NDArray[np.uint64]]:
        """Where an argument is a constant, and its bits."""
        return self.forms.known(self.arguments[place])

    def is_constant(self, place: int, bits: int) -> Mask:
        """Where an argument is the constant ``bits``."""
        known, value = self.constant(place)
        found: Mask = known & (value == np.uint64(bits))
        return found

    def title(self, name: str = "") -> str:
        """What tells the operation from others: its name and parameters."""
        return ".".join((name or self.name, *self.parameters))


class Exact:
    """Hashes of the nodes that ``wanted`` depend on."""

    level = "E0"

    def __init__(self, dag: Dag, wanted: Ids, base: Exact | None = None) -> None:
        self.dag, self.wanted = dag, wanted
        self.alive = live(dag, wanted)
        self.hashes = np.zeros((dag.size, 4), np.uint32)
        self.integer = np.zeros(dag.size, np.bool_)
        codes = [n for n, operation in enumerate(dag.operations) if operation.name == CONST]
        self.constant = np.isin(dag.codes[: dag.size], codes)
        self.extremes: Extremes = Extremes(self, None if base is None else base.extremes)
        self.selects = Selects(self)
        for group in dag.schedule():
            nodes = nodes_of(group, self.alive)
            if len(nodes):
                self.hashes[nodes] = self.group(group, nodes)

    def of(self, nodes: Ids) -> Words:
        """The hashes of nodes."""
        return self.hashes[nodes]

    def bits(self, nodes: Ids) -> Words:
        """The hashes of nodes as floats, predicates or plain bits."""
        found: Words = self.hashes[nodes]
        whole = self.integer[nodes]
        return where(whole, mix("bits of an integer", found), found) if whole.any() else found

    def whole(self, nodes: Ids) -> Words:
        """The hashes of nodes as integers."""
        found = where(self.integer[nodes], self.hashes[nodes], mix("integer", self.hashes[nodes]))
        known, bits = self.known(nodes)
        return where(known, bits.astype(np.uint32)[:, None] * seed("one"), found) if known.any() else found

    def known(self, nodes: Ids) -> tuple[Mask, npt.NDArray[np.uint64]]:
        """Where nodes are constants, and their bits."""
        known = self.constant[nodes]
        low, high = self.dag.arguments[:2, nodes].view(np.uint32).astype(np.uint64)
        return known, np.where(known, low | high << np.uint64(32), 0)

    def group(self, group: Group, nodes: Places) -> Words:
        """The hashes of the live nodes of a group."""
        operation = self.dag.operations[group.operation]
        if operation.name == CONST:
            low, high = self.dag.arguments[:2, nodes].view(np.uint32).astype(np.uint64)
            return self.number(low | high << np.uint64(32), int(operation.parameters[0]))
        if operation.name == LEAF:
            index = np.zeros((len(nodes), 4), np.uint32)
            index[:, 0] = self.dag.arguments[0, nodes]
            return mix(f"leaf {operation.parameters}", index)
        call = Call(self, group, nodes)
        if operation.result == 0 and operation.name in RULES:
            return RULES[operation.name](self, call)
        if operation.name in COMPARISONS:
            return comparison(call)
        if operation.name == "lop3":
            return any_bit(call, mix("integer", logic(call)))
        return generic(call)

    def number(self, bits: npt.NDArray[np.uint64], width: int) -> Words:
        """The hashes of constants."""
        return number(bits, width)

    # --- float arithmetic

    def product(self, call: Call, a: int, b: int) -> tuple[Mask, Words]:
        """The sign of a product and a hash of its factors."""
        (sign_a, size_a), (sign_b, size_b) = (magnitude(call.hash(place)) for place in (a, b))
        return sign_a ^ sign_b, pair(size_a, size_b)

    def multiply(self, call: Call) -> Words:
        """Fmul and its kin."""
        kind = call.name[0]
        sign, factors = self.product(call, 0, 1)
        title = call.title(f"{kind}mul")
        if call.flags & {"SAT", "RM", "RP"}:
            return mix(title, factors, signed(sign, seed("sign")))
        found = signed(sign, mix(title, factors))
        if call.flags:
            return found
        for one, other in ((0, 1), (1, 0)):
            found = where(call.is_constant(one, _ONES[kind]), call.hash(other), found)
            minus = call.is_constant(one, _ONES[kind] | 1 << FLOATS[kind] - 1)
            found = where(minus, negative(call.hash(other)), found)
        return found

    def add(self, call: Call, first: Words, second: Words, kind: str) -> Words:
        """A rounded sum of two hashes."""
        title = call.title(f"{kind}add")
        found = mix(title, pair(first, second))
        if call.flags & {"SAT", "RM", "RP", "RZ"}:
            return found
        same = equal(first, second)
        if same.any():
            two = number(np.full(len(first), _TWOS[kind], np.uint64), FLOATS[kind])
            sign, size = magnitude(first)
            doubled = signed(sign, mix(call.title(f"{kind}mul"), pair(size, magnitude(two)[1])))
            found = where(same, doubled, found)
        if call.flags:
            return found
        zero = number(np.full(1, 1 << FLOATS[kind] - 1, np.uint64), FLOATS[kind])
        found = where(equal(second, zero), first, found)
        return where(equal(first, zero), second, found)

    def fused(self, call: Call) -> Words:
        """Ffma and its kin."""
        kind = call.name[0]
        sign, factors = self.product(call, 0, 1)
        found = mix(call.title(), signed(sign, mix("product", factors)), call.hash(2))
        if call.flags:
            return found
        nothing = call.is_constant(2, 1 << FLOATS[kind] - 1)
        if nothing.any():
            found = where(nothing, self.multiply(call), found)
        for one, other in ((0, 1), (1, 0)):
            single = call.is_constant(one, _ONES[kind])
            minus = call.is_constant(one, _ONES[kind] | 1 << FLOATS[kind] - 1)
            if (single | minus).any():
                value = signed(minus, call.hash(other))
                found = where(single | minus, self.add(call, value, call.hash(2), kind), found)
        return found


RULES: dict[str, Rule] = {}
COMPARISONS = frozenset({"fcompare", "icompare", "dcompare", "icompare64"})


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the rule of some operations."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return register


def logic(call: Call) -> Words:
    """A truth table on bits."""
    return mix("lop3", *(call.hash(place) for place in range(4)))


def generic(call: Call) -> Words:
    """A hash of the operation and its arguments in their order."""
    operation = call.forms.dag.operations[call.group.operation]
    return mix(str(operation), *(call.hash(place) for place in range(call.group.count)))


@rule("fadd", "hadd", "badd", "dadd")
def _add(forms: Exact, call: Call) -> Words:
    return forms.add(call, call.hash(0), call.hash(1), call.name[0])


@rule("fmul", "hmul", "bmul", "dmul")
def _multiply(forms: Exact, call: Call) -> Words:
    return forms.multiply(call)


@rule("ffma", "hfma", "bfma", "dfma")
def _fused(forms: Exact, call: Call) -> Words:
    return forms.fused(call)


@rule("mma_step", "mma_step_tf32")
def _step(forms: Exact, call: Call) -> Words:
    sign, factors = forms.product(call, 0, 1)
    return mix(call.title(), signed(sign, mix("product", factors)), call.hash(2))


@rule("fneg")
def _negate(forms: Exact, call: Call) -> Words:
    return negative(call.hash(0))


@rule("fabs")
def _absolute(forms: Exact, call: Call) -> Words:
    return mix(call.title(), magnitude(call.hash(0))[1])


@rule("copy", "copy64")
def _copy(forms: Exact, call: Call) -> Words:
    forms.integer[call.nodes] = forms.integer[call.arguments[0]]
    value: Words = forms.hashes[call.arguments[0]]
    return value


@rule("hadd_f32")
def _widen(forms: Exact, call: Call) -> Words:
    """X + (-0) is the half itself as a 32-bit float."""
    found = mix(call.title(), pair(call.hash(0), call.hash(1)))
    for zero, other in ((0, 1), (1, 0)):
        found = where(call.is_constant(zero, 0x8000), mix("widen", call.hash(other)), found)
    return found


@rule("sel", "fselect", "sel64")
def _select(forms: Exact, call: Call) -> Words:
    return forms.selects.hashes(call)


@rule("lop3")
def _logic(forms: Exact, call: Call) -> Words:
    """The carry operand is of the second result only."""
    return logic(call)


@rule("plop3")
def _predicates(forms: Exact, call: Call) -> Words:
    return table_of_predicates(call)


@rule("inot")
def _invert(forms: Exact, call: Call) -> Words:
    if call.parameters == ("1",):
        return negative(call.hash(0))
    if call.parameters != ("32",):
        return generic(call)
    forms.integer[call.nodes] = True
    return negative(call.linear(0)) - seed("one")


@rule("ineg")
def _integer_negative(forms: Exact, call: Call) -> Words:
    if call.parameters != ("32",):
        return generic(call)
    forms.integer[call.nodes] = True
    return negative(call.linear(0))


@rule("iadd3")
def _integer_sum(forms: Exact, call: Call) -> Words:
    forms.integer[call.nodes] = True
    found = call.linear(0)
    for place in range(1, call.group.count):
        found = found + call.linear(place)
    return found


@rule("imad")
def _integer_product(forms: Exact, call: Call) -> Words:
    forms.integer[call.nodes] = True
    a, b = call.linear(0), call.linear(1)
    (known_a, bits_a), (known_b, bits_b) = call.constant(0), call.constant(1)
    (sign_a, size_a), (sign_b, size_b) = magnitude(a), magnitude(b)
    found = signed(sign_a ^ sign_b, mix("integer product", pair(size_a, size_b)))
    found = where(known_b, a * bits_b.astype(np.uint32)[:, None], found)
    found = where(known_a & ~known_b, b * bits_a.astype(np.uint32)[:, None], found)
    return found + call.linear(2) + call.linear(3)


@rule("lea")
def _scaled_sum(forms: Exact, call: Call) -> Words:
    known, shift = call.constant(2)
    if not known.all():
        return generic(call)
    forms.integer[call.nodes] = True
    factor = (np.uint64(1) << np.minimum(shift, np.uint64(63))).astype(np.uint32)[:, None]
    return call.linear(0) * factor + call.linear(1) + call.linear(3)


@rule("shl", "shf")
def _shift(forms: Exact, call: Call) -> Words:
    known, shift = call.constant(1)
    left = call.name == "shl" or ({"L", "U32"} <= call.flags and "HI" not in call.flags)
    if not left or not known.all() or (shift > 31).any():
        return generic(call)
    forms.integer[call.nodes] = True
    return call.linear(0) * (np.uint64(1) << shift).astype(np.uint32)[:, None]


@rule("idp")
def _bytes(forms: Exact, call: Call) -> Words:
    forms.integer[call.nodes] = True
    a, b = call.hash(0), call.hash(1)
    same = len(set(call.parameters)) == 1
    return mix(call.title(), pair(a, b) if same else mix("ordered", a, b)) + call.linear(2)


@rule("fmnmx", "hmnmx", "bmnmx", "dmnmx", "imnmx", "imnmx64", "fmnmx3", "imnmx3")
def _extreme(forms: Exact, call: Call) -> Words:
    return forms.extremes.hashes(call)
