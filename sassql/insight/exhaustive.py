"""Expressions over one unknown of 16 bits: bitwise equal where they are for all of its 65,536 values.

An emulated maximum of bfloat16 numbers is a dozen moves, comparisons and branches; no rewrite joins
them, and trying all values does. Only operations that the executor computes as the hardware does are
allowed: moves, selects, comparisons, truth tables, maxima. Nothing that rounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sassql.insight.dag import CONST, HIGH_HALF, LEAF, LOW_HALF, PACK, Dag, Ids
from sassql.insight.evaluation import STRUCTURE, signature, structure, typed
from sassql.insight.primitives import PRIMITIVES

MOST_NODES = 200
"""Larger expressions are not looked at."""
_NOT_A_NUMBER = {"f16": 0x7C00, "bf16": 0x7F80}
"""By the type of the unknown: magnitudes above this one are NaNs."""
_MOVES = {"sel", "fselect", "prmt", "lop3", "shf", "shl", "shr", "copy", "fneg", "fabs"}
_CHOICES = {"icompare", "fcompare", "plop3", "inot", "hmnmx", "bmnmx", "fmnmx", "imnmx"}
_EXACT = frozenset({PACK, *_MOVES, *_CHOICES})
_EVERY = np.arange(1 << 16, dtype=np.uint64)
Table = npt.NDArray[Any]


class _Open(Exception):  # noqa: N818  (an outcome, and no mistake)
    """An expression that values cannot be tried for."""


class Exhaustive:
    """Tables of expressions; those that differ only in which element their unknown is share one."""

    def __init__(self, dag: Dag) -> None:
        self.dag = dag
        self.counts = np.zeros(dag.size, np.int8)
        for event in dag.events:
            self.counts[event.first : event.stop] = event.count
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._tables: list[Table] = []
        self._seen: dict[tuple[Any, ...], int] = {}
        self._leaf: int | None = None

    def same(self, a: Ids, b: Ids, kind: str) -> npt.NDArray[np.bool_]:
        """Where pairs of nodes have the same bits for every input; the first that has not ends the search."""
        found = np.zeros(len(a), np.bool_)
        for place, pair in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
            self._seen, self._leaf = {}, None
            try:
                first, second = (self._tables[self._number(self._resolved(node))] for node in pair)
            except _Open:
                break
            nan = [(value & np.uint64(0x7FFF)) > _NOT_A_NUMBER[kind] for value in (first, second)]
            if not ((first == second) | (nan[0] & nan[1])).all():
                break
            found[place] = True
        return found

    def _resolved(self, node: int, depth: int = 0) -> tuple[Any, ...]:
        """A node as an operation and its arguments; the half of a select is a select of halves."""
        dag = self.dag
        operation = dag.operations[int(dag.codes[node])]
        if operation.name in (LOW_HALF, HIGH_HALF):
            return self._half(int(dag.arguments[0, node]), operation.name == HIGH_HALF, depth)
        bits = dag.constant_bits(node)
        return (node,) if bits is None else (CONST, bits)

    def _half(self, node: int, high: bool, depth: int = 0) -> tuple[Any, ...]:
        dag = self.dag
        if depth > MOST_NODES:
            raise _Open
        name = dag.name(node)
        if name == CONST:
            return CONST, (dag.constant_bits(node) or 0) >> 16 * high & 0xFFFF
        if name == PACK:
            return self._resolved(int(dag.arguments[int(high), node]), depth + 1)
        if name == "sel":
            first, second = (self._half(int(dag.arguments[p, node]), high, depth + 1) for p in (0, 1))
            return first if first == second else ("sel", first, second, int(dag.arguments[2, node]))
        return ("half", node, high)

    def _number(self, key: tuple[Any, ...]) -> int:
        """The number of an expression's table."""
        if key in self._seen:
            return self._seen[key]
        if len(self._seen) > MOST_NODES:
            raise _Open
        if key[0] == CONST:
            number = self._made(key)
        elif key[0] == "sel":
            parts = [self._number(key[1]), self._number(key[2]), self._number(self._resolved(key[3]))]
            number = self._made(("sel", (), 0, *parts))
        elif key[0] == "pack":
            number = self._made((PACK, (), 0, self._number(key[1]), self._number(key[2])))
        elif key[0] == "half":
            name = HIGH_HALF if key[2] else LOW_HALF
            number = self._made((name, (), 0, self._number(self._resolved(key[1]))))
        else:
            number = self._of_node(key[0])
        self._seen[key] = number
        return number

    def _of_node(self, node: int) -> int:
        dag = self.dag
        operation = dag.operations[int(dag.codes[node])]
        if operation.name == LEAF:
            if operation.parameters[1] not in _NOT_A_NUMBER or self._leaf not in (None, node):
                raise _Open
            self._leaf = node
            return self._made((LEAF,))
        if operation.name not in _EXACT or "FTZ" in operation.parameters:
            raise _Open
        arguments = dag.arguments[: self.counts[node], node].tolist()
        keys = [self._resolved(argument) for argument in arguments]
        if operation.name == "prmt":
            keys[0], keys[2] = self._moved(arguments)
        parts = [self._number(key) for key in keys]
        return self._made((operation.name, operation.parameters, operation.result, *parts))

    def _moved(self, arguments: list[int]) -> list[tuple[Any, ...]]:
        """The operands of a permutation of bytes, without the halves that it takes nothing of."""
        selector = self.dag.constant_bits(arguments[1])
        if selector is None:
            raise _Open
        used = {selector >> 4 * place & 7 for place in range(4)}
        none = (CONST, 0)
        found: list[tuple[Any, ...]] = []
        for first, node in ((0, arguments[0]), (4, arguments[2])):
            needed = [bool(used & {first + half, first + half + 1}) for half in (0, 2)]
            parts = [self._half(node, bool(half)) if needed[half] else none for half in (0, 1)]
            found.append(("pack", *parts))
        return found

    def _made(self, what: tuple[Any, ...]) -> int:
        number = self._numbers.get(what)
        if number is None:
            number = self._numbers[what] = len(self._tables)
            self._tables.append(self._table(what))
        return number

    def _table(self, what: tuple[Any, ...]) -> Table:
        if what[0] == CONST:
            return np.full(1, what[1], np.uint64)
        if what[0] == LEAF:
            return _EVERY
        name, parameters, result, *parts = what
        taken = [self._tables[part] for part in parts]
        if name in STRUCTURE:
            return structure(name, taken)
        kinds = signature(name, parameters)
        operands = [typed(value, kind) for value, kind in zip(taken, kinds, strict=False)]
        with np.errstate(all="ignore"):
            found: Table = PRIMITIVES[name](parameters, *operands)[result].astype(np.uint64)
        return found
