"""Levels E1 to E3: hashes of expressions over sums and products, where order does not matter.

E1  sums and products are multisets; zeros drop out of sums; a fused product is told from a rounded one
E2  it is not
E3  approximate instructions and rounding modes count as the functions that they stand for; idioms of
    several instructions (division, exponential, sine; `idioms.tsv`) count as one function

Sums are hashed by sums of hashes, products by sums of hashes of their factors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sassql.insight.dag import Dag, Group, Ids
from sassql.insight.exact import RULES, Call, Exact, Places
from sassql.insight.hashing import Mask, Words, equal, magnitude, mix, negative, number, signed, where
from sassql.insight.idioms import FOUND, Idioms

Rule = Callable[["Algebra", Call], Words]
_RULES: dict[str, Rule] = {}
_APPROXIMATE = frozenset({"FTZ", "RM", "RP", "RZ"})
_FLUSHING = frozenset({"fadd", "fmul", "ffma"})
"""Sums and products that flush denormal numbers with `.FTZ`."""
_MOST_MULTIPLE = 1 << 16


def _is_mixed(dag: Dag) -> bool:
    """Some sums or products flush denormal numbers and some do not: below E3 these are not the same."""
    found = {"FTZ" in operation.parameters for operation in dag.operations if operation.name in _FLUSHING}
    return len(found) > 1


class Algebra(Exact):
    """Hashes up to reassociation; ``level`` is E1, E2 or E3."""

    def __init__(self, base: Exact, wanted: Ids, level: str, idioms: Idioms | None = None) -> None:
        self.level, self.idioms = level, idioms
        dag = base.dag
        self.products = np.zeros((dag.size, 4), np.uint32)
        self.signs = np.zeros(dag.size, np.bool_)
        self.is_product = np.zeros(dag.size, np.bool_)
        self._kept = _APPROXIMATE if _is_mixed(dag) else _APPROXIMATE - {"FTZ"}
        super().__init__(dag, wanted, base)

    def group(self, group: Group, nodes: Places) -> Words:
        """The hashes of the live nodes of a group."""
        found = self._group(group, nodes)
        if self.idioms is not None:
            kinds = self.idioms.kind[nodes]
            for kind in np.unique(kinds[kinds > 0]).tolist():
                here = kinds == kind
                found[here] = self._idiom(FOUND[kind - 1], nodes[here])
        return found

    def _idiom(self, word: str, nodes: Places) -> Words:
        """The hashes of nodes that are one function of other nodes."""
        assert self.idioms is not None
        references = self.idioms.arguments[:, nodes]
        values = [signed(refs < 0, self.hashes[abs(refs)]) for refs in references]
        call = Call(self, Group(self.dag.number("fmul"), nodes, 0), nodes)
        if word in ("fdiv", "rcp"):
            (sign_a, a), (sign_b, b) = (
                self._factors(call, abs(r), v, r < 0) for r, v in zip(references, values, strict=True)
            )
            if word == "rcp":
                a, sign_a, b, sign_b = np.zeros_like(a), np.zeros_like(sign_a), a, sign_a
            sign, factors = sign_a ^ sign_b, a - b
            self.keep(call, sign, factors)
            return signed(sign, mix("fproduct", factors))
        self.is_product[nodes] = False
        if word == "exp_add":
            return mix("exp", values[0]) + values[1]
        return mix(word, values[0])

    def _group(self, group: Group, nodes: Places) -> Words:
        operation = self.dag.operations[group.operation]
        if operation.result == 0 and operation.name in _RULES:
            call = Call(self, group, nodes)
            if not call.flags & {"SAT"} and (self.level == "E3" or not call.flags & self._kept):
                return _RULES[operation.name](self, call)
        if self.level == "E3" and _APPROXIMATE & set(operation.parameters):
            call = Call(self, group, nodes)
            call.parameters = tuple(p for p in call.parameters if p not in _APPROXIMATE)
            call.flags = frozenset(call.parameters)
            if operation.result == 0 and operation.name in RULES:
                return RULES[operation.name](self, call)
        return super().group(group, nodes)

    def number(self, bits: npt.NDArray[np.uint64], width: int) -> Words:
        """The hashes of constants: zero is the empty sum."""
        found = number(bits, width)
        if width == 1:
            return found
        zero = bits & np.uint64((1 << width - 1) - 1) == 0
        return where(zero, np.zeros_like(found), found)

    def factors(self, call: Call, place: int) -> tuple[Mask, Words]:
        """An argument as a product: its sign, and the sum of the hashes of its factors."""
        nodes = call.arguments[place]
        return self._factors(call, nodes, call.hash(place), np.zeros(len(nodes), np.bool_))

    def _factors(self, call: Call, nodes: Places, value: Words, opposite: Mask) -> tuple[Mask, Words]:
        sign, size = magnitude(value)
        single = mix("factor", size)
        ones = equal(size, np.broadcast_to(magnitude(_one(call))[1], size.shape))
        single = where(ones, np.zeros_like(single), single)
        made = self.is_product[nodes]
        return np.where(made, self.signs[nodes] ^ opposite, sign), where(made, self.products[nodes], single)

    def keep(self, call: Call, sign: Mask, factors: Words) -> None:
        """Remember the nodes of a call as products."""
        self.is_product[call.nodes] = True
        self.signs[call.nodes], self.products[call.nodes] = sign, factors

    def multiple(self, call: Call, one: int, other: int) -> tuple[Mask, Words]:
        """Where an argument is a small whole constant, that many times the other one."""
        known, bits = call.constant(one)
        kind = call.name[0]
        value = _value(bits, kind)
        small = known & (value == np.rint(value)) & (abs(value) <= _MOST_MULTIPLE)
        times = np.where(small, value, 0).astype(np.int64).astype(np.uint32)
        return small, call.hash(other) * times[:, None]

    def term(self, call: Call, name: str) -> Words:
        """The product of the first two arguments as a term of a sum."""
        (sign_a, a), (sign_b, b) = self.factors(call, 0), self.factors(call, 1)
        sign, factors = sign_a ^ sign_b, a + b
        found = signed(sign, mix(name, factors))
        zero = np.zeros(4, np.uint32)
        none = (call.hash(0) == zero).all(axis=1) | (call.hash(1) == zero).all(axis=1)
        found = where(none, np.zeros_like(found), found)
        for one, other in ((0, 1), (1, 0)):
            small, scaled = self.multiple(call, one, other)
            found = where(small, scaled, found)
        if name == f"{call.name[0]}product" and call.group.count == 2:
            self.keep(call, sign, factors)
            whole = self.multiple(call, 0, 1)[0] | self.multiple(call, 1, 0)[0] | none
            self.is_product[call.nodes] = ~whole
        return found


def _one(call: Call) -> Words:
    widths = {"f": (0x3F800000, 32), "h": (0x3C00, 16), "b": (0x3F80, 16), "d": (0x3FF0000000000000, 64)}
    bits, width = widths.get(call.name[0], widths["f"])
    return number(np.array([bits], np.uint64), width)


def _value(bits: npt.NDArray[np.uint64], kind: str) -> npt.NDArray[np.float64]:
    """Constants of a float type as doubles."""
    if kind == "d":
        return bits.view(np.float64)
    if kind == "h":
        return bits.astype(np.uint16).view(np.float16).astype(np.float64)
    if kind == "b":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    return bits.astype(np.uint32).view(np.float32).astype(np.float64)


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        for name in names:
            _RULES[name] = function
        return function

    return register


@_rule("fadd", "hadd", "badd", "dadd")
def _add(forms: Algebra, call: Call) -> Words:
    return call.hash(0) + call.hash(1)


@_rule("fmul", "hmul", "bmul", "dmul")
def _multiply(forms: Algebra, call: Call) -> Words:
    return forms.term(call, f"{call.name[0]}product")


@_rule("ffma", "hfma", "bfma", "dfma", "mma_step", "mma_step_tf32")
def _fused(forms: Algebra, call: Call) -> Words:
    kind = "f" if call.name.startswith("mma") else call.name[0]
    fused = forms.level == "E1"
    return forms.term(call, f"fused {kind}product" if fused else f"{kind}product") + call.hash(2)


@_rule("mma_end")
def _end(forms: Algebra, call: Call) -> Words:
    return call.hash(0)


@_rule("fneg")
def _negate(forms: Algebra, call: Call) -> Words:
    nodes = call.arguments[0]
    forms.is_product[call.nodes] = forms.is_product[nodes]
    forms.signs[call.nodes], forms.products[call.nodes] = ~forms.signs[nodes], forms.products[nodes]
    return negative(call.hash(0))


@_rule("mufu")
def _function(forms: Algebra, call: Call) -> Words:
    """From E3 on a reciprocal is a factor with the exponent -1."""
    if forms.level != "E3" or call.parameters != ("RCP",):
        names = {"EX2": "exp2", "LG2": "log2", "RSQ": "rsq", "SQRT": "sqrt"}
        return mix(names.get(call.parameters[0], call.title()), call.hash(0))
    sign, factors = forms.factors(call, 0)
    forms.keep(call, sign, negative(factors))
    return signed(sign, mix("fproduct", negative(factors)))
