"""Forms of several instructions in the graph: division, exponential, logarithm, roots, by `sequences.tsv`.

The patterns are those of fact "meanings"; here they are matched at all nodes of the graph at once. A node is
written as a number with a sign: -n is the opposite of node n. Where a pattern has the slow path of a division
beside the fast one, the fast one is what a run has: that the slow one is not taken is its assumption.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sassql.insight.dag import CONST
from sassql.insight.exact import Exact
from sassql.insight.hashing import equal, signed
from sassql.isa import sequences
from sassql.isa.sequences import Anything, Either, Named, Node, Number, Pattern, Signed, Variable

Refs = npt.NDArray[np.int64]
_WORDS = {
    "ffma": "fma",
    "fadd": "add",
    "fmul": "mul",
    "sel": "select",
    "fselect": "select",
    "fcompare": "compare",
    "shl": "shift_left",
    "shf": "shift_left",
    "imad": "shift_left",
}
_FUNCTIONS = {"EX2": "exp2", "LG2": "log2", "RCP": "rcp", "RSQ": "rsq", "SQRT": "sqrt"}
_KINDS = frozenset(
    {"EQ", "NE", "LT", "LE", "GT", "GE", "EQU", "NEU", "LTU", "LEU", "GTU", "GEU", "NUM", "NAN"}
)
_OPPOSITES = {"GEU": "LT", "GTU": "LE", "LTU": "GE", "LEU": "GT", "NEU": "EQ", "NE": "EQU"}
_OPPOSITES |= {b: a for a, b in _OPPOSITES.items()}
_IGNORED = frozenset({"FTZ", "AND", "L", "U32"})
FOUND = ("fdiv", "rcp", "sqrt", "rsq", "exp", "exp2", "log", "log2", "exp_add")
"""Operations of the table that are looked for; the rows for integers and doubles are of no use here."""


@dataclass(slots=True)
class State:
    """Lanes that still match, by place in the first array, and what names stand for there."""

    lanes: npt.NDArray[np.int64]
    names: dict[str, Refs]

    def taken(self, mask: npt.NDArray[np.bool_]) -> State:
        """The lanes of a mask."""
        return State(self.lanes[mask], {name: refs[mask] for name, refs in self.names.items()})


class Idioms:
    """What nodes are as one function.

    ``kind`` is a place in `FOUND` plus 1, or 0; ``arguments`` are signed nodes.
    """

    def __init__(self, exact: Exact) -> None:
        self.exact, self.dag = exact, exact.dag
        dag = self.dag
        self.kind = np.zeros(dag.size, np.int8)
        self.arguments = np.zeros((2, dag.size), np.int64)
        self._fneg = [n for n, o in enumerate(dag.operations) if o.name == "fneg" or str(o) == "inot.1"]
        self._codes: dict[str, list[int]] = {}
        for number, operation in enumerate(dag.operations):
            word = _WORDS.get(operation.name, "")
            if operation.name == "mufu":
                word = _FUNCTIONS.get(operation.parameters[0], "")
            if word and operation.result == 0:
                self._codes.setdefault(word, []).append(number)
        self._find()

    def _find(self) -> None:
        codes = self.dag.codes[: self.dag.size]
        for row in sequences.table():
            if row.operation not in FOUND or not self._possible(row.pattern) or row.type == "f64":
                continue
            pattern = _fast(row.pattern)
            wanted = [n for word in sequences.roots(pattern) for n in self._codes.get(word, [])]
            nodes = np.flatnonzero(np.isin(codes, wanted) & self.exact.alive & (self.kind == 0)).astype(
                np.int64
            )
            if not len(nodes):
                continue
            states = self.match(pattern, nodes, [State(np.arange(len(nodes)), {})], nodes)
            for name, right in row.equations:
                states = [s for state in states for s in self.match(right, state.names[name], [state], None)]
            for state in states:
                here = nodes[state.lanes]
                fresh = self.kind[here] == 0
                self.kind[here[fresh]] = FOUND.index(row.operation) + 1
                for place, operand in enumerate(row.operands):
                    self.arguments[place, here[fresh]] = state.names[operand][fresh]

    def _possible(self, pattern: Pattern) -> bool:
        needs = {w for w in sequences.needed(_fast(pattern)) if w != "sub"}
        return all(word in self._codes for word in needs)

    # --- reading the graph

    def operand(self, nodes: npt.NDArray[np.int64], place: int) -> Refs:
        """An argument of nodes, with the signs that stand before it."""
        refs = self.dag.arguments[place, nodes].astype(np.int64)
        return self.stripped(refs)

    def stripped(self, refs: Refs) -> Refs:
        """References without fneg and inverted predicates: a sign instead."""
        while True:
            node = abs(refs)
            negation = np.isin(self.dag.codes[node], self._fneg)
            if not negation.any():
                return refs
            inner = self.dag.arguments[0, node].astype(np.int64)
            refs = np.where(negation, -np.sign(refs) * inner, refs)

    def same(self, a: Refs, b: Refs) -> npt.NDArray[np.bool_]:
        """Where two references have the same value."""
        hashes = self.exact.hashes
        return equal(signed(a < 0, hashes[abs(a)]), signed(b < 0, hashes[abs(b)]))

    # --- matching

    def match(self, pattern: Pattern, refs: Refs, states: list[State], whole: Refs | None) -> list[State]:
        """The states in which a pattern matches references."""
        found: list[State] = []
        for state in states:
            values = refs[state.lanes] if whole is not None else refs
            found += self._match(pattern, values, state)
        return found

    def _match(self, pattern: Pattern, refs: Refs, state: State) -> list[State]:
        if not len(refs):
            return []
        match pattern:
            case Anything():
                return [state]
            case Variable(name):
                if name not in state.names:
                    return [State(state.lanes, {**state.names, name: refs})]
                mask = self.same(state.names[name], refs)
                return [state.taken(mask)] if mask.any() else []
            case Named(name, inner):
                found = self._match(inner, refs, state)
                return [
                    State(s.lanes, {**s.names, name: refs[np.searchsorted(state.lanes, s.lanes)]})
                    for s in found
                ]
            case Either(choices):
                return [s for choice in choices for s in self._match(choice, refs, state)]
            case Number(bits=bits, wide=False):
                mask = self._is_number(refs, bits)
                return [state.taken(mask)] if mask.any() else []
            case Signed("negated", inner):
                return self._match(inner, -refs, state)
            case Signed("absolute", inner):
                number = [n for n, o in enumerate(self.dag.operations) if o.name == "fabs"]
                mask = (refs > 0) & np.isin(self.dag.codes[abs(refs)], number)
                return (
                    self._match(inner, self.operand(refs[mask], 0), state.taken(mask)) if mask.any() else []
                )
            case Node():
                return self._match_node(pattern, refs, state)
        return []

    def _is_number(self, refs: Refs, bits: int) -> npt.NDArray[np.bool_]:
        node = abs(refs)
        constant = np.isin(
            self.dag.codes[node], [n for n, o in enumerate(self.dag.operations) if o.name == CONST]
        )
        value = self.dag.arguments[0, node].view(np.uint32)
        value = np.where(refs < 0, value ^ np.uint32(0x80000000), value)
        return np.asarray(constant & (value == np.uint32(bits)))

    def _match_node(self, pattern: Node, refs: Refs, state: State) -> list[State]:
        word, operands = pattern.operation, pattern.operands
        if word == "sub":
            word, operands = "add", (operands[0], Signed("negated", operands[1]))
        node = abs(refs)
        codes = self.dag.codes[node]
        fits = np.zeros(len(refs), np.bool_)
        for number in self._codes.get(word, []):
            for negative in (False, True):
                if self._allowed(number, word, pattern, negative):
                    fits |= (codes == number) & ((refs < 0) == negative)
        if word == "shift_left":
            fits &= self._is_shift(node)
        if not fits.any():
            return []
        inner = state.taken(fits)
        values = self._arguments(word, node[fits])
        found: list[State] = []
        for order in _orders(word, values):
            states = [inner]
            for operand, one in zip(operands, order, strict=False):
                states = [
                    s
                    for known in states
                    for s in self._match(operand, one[np.searchsorted(inner.lanes, known.lanes)], known)
                ]
            found += states
        return found

    def _allowed(self, number: int, word: str, pattern: Node, negative: bool) -> bool:
        """Whether an operation (for a negative predicate, its opposite) has the details of a pattern."""
        parameters = self.dag.operations[number].parameters
        if word == "compare":
            kind = next(p for p in parameters if p in _KINDS)
            kind = _OPPOSITES.get(kind, "") if negative else kind
            return (
                bool(kind) and (not pattern.details or kind in pattern.details[0]) and "OR" not in parameters
            )
        if negative:
            return False
        flags = set(parameters) - _IGNORED - set(_FUNCTIONS)
        wanted = {d for detail in pattern.details for d in detail}
        return flags <= wanted and {w for w in wanted if w.isupper()} <= flags

    def _is_shift(self, nodes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Products with a power of two and no addend, and shifts to the left."""
        dag = self.dag
        multiply = [n for n, o in enumerate(dag.operations) if o.name == "imad"]
        product = np.isin(dag.codes[nodes], multiply)
        right = [
            n
            for n, o in enumerate(dag.operations)
            if o.name == "shf" and ("R" in o.parameters or "HI" in o.parameters)
        ]
        factor = dag.arguments[0, dag.arguments[1, nodes]].view(np.uint32)
        empty = self._is_number(dag.arguments[2, nodes].astype(np.int64), 0)
        power = (factor & (factor - np.uint32(1))) == 0
        return np.where(product, empty & power & (factor > 0), ~np.isin(dag.codes[nodes], right))

    def _arguments(self, word: str, nodes: npt.NDArray[np.int64]) -> list[Refs]:
        if word == "select":
            condition = self.operand(nodes, 2)
            yes, no = self.operand(nodes, 0), self.operand(nodes, 1)
            return [condition, yes, no]
        if word == "shift_left":
            return [self.operand(nodes, 0), self._shift_of(nodes)]
        return [self.operand(nodes, place) for place in range(3 if word == "fma" else 2)]

    def _shift_of(self, nodes: npt.NDArray[np.int64]) -> Refs:
        """By how much nodes shift, as nodes of constants."""
        dag = self.dag
        found = dag.arguments[1, nodes].astype(np.int64)
        multiply = [n for n, o in enumerate(dag.operations) if o.name == "imad"]
        product = np.isin(dag.codes[nodes], multiply)
        if product.any():
            factors = dag.arguments[0, found[product]].view(np.uint32)
            shifts = np.log2(np.maximum(factors, 1)).astype(np.uint32)
            found[product] = dag.constants(shifts, 32)
        value: Refs = found
        return value


def _orders(word: str, values: list[Refs]) -> list[list[Refs]]:
    """The orders and signs in which operands may stand."""
    if word == "select":
        condition, yes, no = values
        return [[condition, yes, no], [-condition, no, yes]]
    if word == "add":
        return [values, values[::-1]]
    if word in ("mul", "fma"):
        a, b, *rest = values
        return [[a, b, *rest], [b, a, *rest], [-a, -b, *rest], [-b, -a, *rest]]
    return [values]


def _fast(pattern: Pattern) -> Pattern:
    """A pattern without the call of a slow path."""
    if isinstance(pattern, Node) and pattern.operation == "phi":
        return pattern.operands[1]
    return pattern
