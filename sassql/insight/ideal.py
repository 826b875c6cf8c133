"""Nodes as real numbers: floats without rounding, approximate instructions as the functions they stand for.

Doubles stand for the reals. What works on bits (integers, shifts, the exponent of a float) works on the
bits of the value rounded to its format.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sassql.insight.dag import CONST, LEAF, Dag, Group, Ids
from sassql.insight.evaluation import STRUCTURE, computed, live, nodes_of, signature, structure
from sassql.insight.idioms import FOUND, Idioms
from sassql.insight.primitives import Array
from sassql.insight.primitives_float import mufu_exact
from sassql.insight.primitives_half import brain, to_brain
from sassql.insight.sampling import Draws

U64 = np.uint64
_SNAPPED = {0x3FB8AA3B: np.log2(np.e), 0x3F317218: np.log(2.0)}
"""Constants of the compiler that stand for irrational numbers."""
_DIRECTED = frozenset({"RM", "RP", "RZ"})
Real = Callable[..., Array]


def _fma(a: Array, b: Array, c: Array) -> Array:
    return a * b + c


def _extreme(a: Array, b: Array, least: Array) -> Array:
    return np.where(least, np.fmin(a, b), np.fmax(a, b))


_REALS: dict[str, Real] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "fma": _fma,
    "mnmx": _extreme,
}
_NAMES = {f"{kind}{name}": rule for kind in "fhbd" for name, rule in _REALS.items()}
_NAMES |= {"mma_step": _fma, "mma_step_tf32": _fma, "hadd_f32": _REALS["add"], "mma_end": lambda a: a}
_NAMES |= {name: (lambda a: a) for name in ("narrow", "widen", "f2f_narrow", "f2f_widen", "copy", "copy64")}
_NAMES |= {"fmnmx3": lambda a, b, c, p: _extreme(_extreme(a, b, p), c, p)}
_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "rsq": lambda a: 1.0 / np.sqrt(a),
    "rcp": lambda a: 1.0 / a,
}


def from_bits(bits: Array, width: int, brainy: bool = False) -> Array:
    """The float that bits of a width are."""
    if width == 64:
        return bits.view(np.float64)
    if width == 16:
        half = bits.astype(np.uint16)
        return brain(half).astype(np.float64) if brainy else half.view(np.float16).astype(np.float64)
    return bits.astype(np.uint32).view(np.float32).astype(np.float64)


def to_bits(values: Array, width: int, brainy: bool = False) -> Array:
    """The bits of reals rounded to a width."""
    if width == 64:
        return values.view(U64)
    if width == 16:
        return (
            to_brain(values.astype(np.float32)).astype(U64)
            if brainy
            else values.astype(np.float16).view(np.uint16).astype(U64)
        )
    return values.astype(np.float32).view(np.uint32).astype(U64)


class Ideal:
    """Nodes for each sample of ``draws``: ``real`` says whether a node is a number or bits."""

    def __init__(self, dag: Dag, wanted: Ids, draws: Draws, idioms: Idioms | None = None) -> None:
        self.dag, self.draws, self.idioms = dag, draws, idioms
        alive = live(dag, wanted)
        shape = (dag.size, draws.count)
        self.numbers = np.zeros(shape, np.float64)
        self.bits = np.zeros(shape, U64)
        self.real = np.zeros(dag.size, np.bool_)
        self.constant = np.zeros(dag.size, np.bool_)
        self.brainy = np.zeros(dag.size, np.bool_)
        with np.errstate(all="ignore"):
            for group in dag.schedule():
                nodes = nodes_of(group, alive)
                if len(nodes):
                    self._group(group, nodes)
                    if idioms is not None:
                        self._idioms(idioms, nodes)

    def of(self, nodes: Ids, width: int, brainy: bool = False) -> Array:
        """The values of nodes that are floats of a width."""
        return self._number(nodes, width, brainy)

    def _number(self, nodes: npt.NDArray[np.integer], width: int, brainy: bool = False) -> Array:
        real = self.real[nodes]
        if real.all():
            value: Array = self.numbers[nodes]
            return value
        found = self.numbers[nodes].copy()
        bits = self.bits[nodes]
        value = from_bits(bits, width, brainy)
        if width == 32:
            for constant, exact in _SNAPPED.items():
                mask = (bits == U64(constant)) & self.constant[nodes][:, None]
                value = np.where(mask, exact, value)
        return np.where(real[:, None], found, value)

    def raw(self, nodes: npt.NDArray[np.integer], width: int, brainy: bool = False) -> Array:
        """The bits of nodes; a real is rounded to its format."""
        real = self.real[nodes]
        if not real.any():
            value: Array = self.bits[nodes]
            return value
        values = to_bits(self.numbers[nodes], width, brainy)
        if width == 16 and not brainy and self.brainy[nodes].any():
            values = np.where(self.brainy[nodes][:, None], to_bits(self.numbers[nodes], 16, True), values)
        return np.where(real[:, None], values, self.bits[nodes])

    def _group(self, group: Group, nodes: npt.NDArray[np.int64]) -> None:
        dag, operation = self.dag, self.dag.operations[group.operation]
        name, arguments = operation.name, self.dag.arguments[: group.count, nodes]
        if name == CONST:
            low, high = dag.arguments[:2, nodes].view(np.uint32).astype(U64)
            self.bits[nodes] = (low | high << U64(32))[:, None]
            self.constant[nodes] = True
        elif name == LEAF:
            self._leaf(operation.parameters, dag.arguments[0, nodes], nodes)
        elif name in STRUCTURE:
            widths = {"pack": 16, "pair64": 32, "low_half": 32, "high_half": 32}
            taken = [self.raw(a, widths.get(name, 64)) for a in arguments]
            self.bits[nodes] = structure(name, taken)
        elif _DIRECTED & set(operation.parameters) or not self._as_real(
            name, operation.parameters, arguments, nodes
        ):
            kinds = signature(name, operation.parameters)
            widths = {"d": 64, "q": 64, "h": 16, "b": 16}
            taken = [self.raw(a, widths.get(k, 32), k == "b") for a, k in zip(arguments, kinds, strict=False)]
            self.bits[nodes] = computed(operation, kinds, taken)

    def _leaf(self, parameters: tuple[str, ...], index: Ids, nodes: npt.NDArray[np.int64]) -> None:
        name, kind = parameters
        count = int(index.max()) + 1
        if kind in ("f16", "bf16", "f32", "f64"):
            self.real[nodes] = True
            self.brainy[nodes] = kind == "bf16"
            self.numbers[nodes] = self.draws.values(name, kind, count)[index]
        else:
            self.bits[nodes] = self.draws.bits(name, kind, count)[index].astype(U64)

    def _as_real(
        self, name: str, parameters: tuple[str, ...], arguments: Ids, nodes: npt.NDArray[np.int64]
    ) -> bool:
        """Compute nodes as reals; false for an operation on bits."""
        brainy = name.startswith("b") or "BF16" in parameters
        width = {"h": 16, "b": 16, "d": 64}.get(name[0], 32)
        if name in ("mma_step", "widen"):
            width = 16
        if name in _NAMES:
            kinds = signature(name, parameters)
            taken = []
            for argument, kind in zip(arguments, kinds, strict=False):
                if kind == "p":
                    taken.append(self.raw(argument, 32) != 0)
                else:
                    size = 64 if kind in "dq" else 16 if kind in "hb" else 32
                    taken.append(self._number(argument, size, brainy or kind == "b"))
            found = _NAMES[name](*taken)
            if "SAT" in parameters:
                found = np.clip(found, 0.0, 1.0)
        elif name == "mufu":
            found = mufu_exact(parameters[0], self._number(arguments[0], 32))
        elif name in ("fneg", "fabs"):
            width = int(parameters[0])
            value = self._number(arguments[0], width)
            found = -value if name == "fneg" else abs(value)
        elif (
            name in ("sel", "fselect", "sel64") and (self.real[arguments[0]] | self.real[arguments[1]]).all()
        ):
            size = 64 if name == "sel64" else 32
            yes, no = (self._number(argument, size) for argument in arguments[:2])
            found = np.where(self.raw(arguments[2], 32) != 0, yes, no)
        elif name in ("fcompare", "dcompare", "i2f", "f2i"):
            return self._conversion(name, parameters, arguments, nodes)
        else:
            return False
        self.real[nodes] = True
        self.brainy[nodes] = brainy
        self.numbers[nodes] = found
        return True

    def _conversion(
        self, name: str, parameters: tuple[str, ...], arguments: Ids, nodes: npt.NDArray[np.int64]
    ) -> bool:
        """Between reals and bits: comparisons of reals; whole numbers as they are."""
        if name == "i2f":
            raw = self.raw(arguments[0], 32).astype(np.uint32)
            self.numbers[nodes] = (raw if "U32" in parameters else raw.view(np.int32)).astype(np.float64)
            self.real[nodes] = True
            return True
        if name == "f2i":
            value = self._number(arguments[0], 32)
            rounding = {"TRUNC": np.trunc, "FLOOR": np.floor, "CEIL": np.ceil}
            chosen = next((rounding[p] for p in parameters if p in rounding), np.rint)
            self.bits[nodes] = np.nan_to_num(chosen(value)).astype(np.int64).astype(np.uint32).astype(U64)
            return True
        from sassql.insight.primitives_float import compared  # noqa: PLC0415

        width = 32 if name == "fcompare" else 64
        x, y = (self._number(argument, width) for argument in arguments[:2])
        results = compared(parameters, x, y, self.raw(arguments[2], 32) != 0)
        operation = self.dag.operations[int(self.dag.codes[nodes[0]])]
        self.bits[nodes] = results[operation.result].astype(U64)
        return True

    def _idioms(self, idioms: Idioms, nodes: npt.NDArray[np.int64]) -> None:
        kinds = idioms.kind[nodes]
        for kind in np.unique(kinds[kinds > 0]).tolist():
            here = nodes[kinds == kind]
            references = idioms.arguments[:, here]
            first, second = (
                np.where((refs < 0)[:, None], -1.0, 1.0) * self._number(abs(refs), 32) for refs in references
            )
            word = FOUND[kind - 1]
            if word == "fdiv":
                found = first / second
            elif word == "exp_add":
                found = np.exp(first) + second
            else:
                found = _FUNCTIONS[word](first)
            self.real[here] = True
            self.numbers[here] = found
