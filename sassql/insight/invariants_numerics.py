"""Numerics: contraction, flush to zero, approximate functions, and the types that sums are kept in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sassql.facts.meanings import Meaning, Meanings
from sassql.insight.invariants_flow import Flow
from sassql.insight.invariants_statements import Numerics, Reduction
from sassql.isa.meanings import APPROXIMATE

_FLOATS = ("f", "bf", "tf")
_ARITHMETIC = frozenset({"add", "sub", "mul", "fma", "max", "min"})
_SUMS = frozenset({"add", "sub"})
_FLUSHABLE = "f32"
_DIVISIONS = frozenset({"udiv", "sdiv", "umod", "smod"})
FUNCTIONS = {
    "fdiv": "division",
    "rcp": "reciprocal",
    "rsq": "reciprocal square root",
    "sqrt": "square root",
    "exp": "exponential",
    "exp2": "power of two",
    "exp_add": "exponential",
    "log": "logarithm",
    "log2": "logarithm to base 2",
    "sin": "sine",
    "cos": "cosine",
    "tanh": "hyperbolic tangent",
}


class Rounding:
    """What can be said of the rounding of one kernel."""

    def __init__(self, flow: Flow, reductions: Iterable[Reduction]) -> None:
        self.flow = flow
        self.reductions = tuple(reductions)
        self.meanings: Meanings = flow.kernel.fact("meanings")
        self.longer = tuple(dict.fromkeys(self.meanings.longer.values()))
        whole = [m for m in self.longer if m.operation in FUNCTIONS or m.operation in _DIVISIONS]
        self._inside = {i for m in whole for i in m.covers}
        self.single = tuple(self._single())

    def _single(self) -> Iterator[Meaning]:
        """Single operations on floats that are no part of a longer function, slow paths left out."""
        for index in range(len(self.flow.kernel.form_ids)):
            if index in self._inside or self.flow.is_hidden(index):
                continue
            yield from (m for m in self.meanings.at(index) if m.type.startswith(_FLOATS))

    def find(self) -> Iterator[Numerics]:
        """Every statement on rounding."""
        yield from self._contraction()
        yield from self._flushing()
        yield from self._functions()
        yield from self._accumulation()

    # --- contraction

    def _contraction(self) -> Iterator[Numerics]:
        fused = [m for m in self.single if m.operation == "fma"]
        products = {r: m for m in self.single if m.operation == "mul" for r in m.results}
        pairs: list[tuple[int, int]] = []
        observed: list[tuple[int, int]] = []
        for meaning in self.single:
            if meaning.operation not in _SUMS:
                continue
            of = [p for t in meaning.operands for v in t.values if (p := products.get(v)) is not None]
            for product in of:
                kept = len({u[0] for r in product.results for u in self.flow.ssa.users(r)}) > 1
                (observed if kept else pairs).append((product.index, meaning.index))
        if not fused and not pairs and not observed:
            return
        value = "contracted" if not pairs and not observed else "separate" if not fused else "mixed"
        told = []
        if fused:
            told.append(f"{_times(len(fused), 'multiply-add')} with one rounding")
        if pairs:
            told.append(f"{_times(len(pairs), 'product')} rounded before a sum that alone uses it")
        if observed:
            told.append(f"{_times(len(observed), 'product')} rounded before a sum, and used elsewhere")
        places = [m.index for m in fused] + [i for pair in (*pairs, *observed) for i in pair]
        premise = "whether the source asked for it (fmaf, intrinsics) or the compiler chose it"
        count = len(fused) + len(pairs) + len(observed)
        yield Numerics("contraction", value, "; ".join(told), count, self.flow.at(places), premise)

    # --- flush to zero

    def _flushing(self) -> Iterator[Numerics]:
        plain = [m for m in self.single if m.operation in _ARITHMETIC and m.type == _FLUSHABLE]
        if not plain:
            return
        flushing = [m for m in plain if "FTZ" in m.flags]
        value = "all" if len(flushing) == len(plain) else "mixed" if flushing else "none"
        why = f"{len(flushing)} of {_times(len(plain), 'operation')} on f32 flush subnormal numbers"
        places = [m.index for m in (flushing or plain)]
        yield Numerics("flush_to_zero", value, why, len(flushing), self.flow.at(places))

    # --- approximate functions

    def _functions(self) -> Iterator[Numerics]:
        together: dict[tuple[str, str], list[Meaning]] = {}
        for meaning in (*self.longer, *self.single):
            name = FUNCTIONS.get(meaning.operation)
            if name is None or self.flow.is_hidden(meaning.index) or not meaning.type.startswith(_FLOATS):
                continue
            if not self._divides_integers(meaning):
                together.setdefault((name, meaning.fidelity), []).append(meaning)
        for (name, fidelity), found in sorted(together.items()):
            approximate = fidelity == APPROXIMATE
            why = "by the multifunction unit" if approximate else "correctly rounded"
            value = f"{name}: {'approximate' if approximate else fidelity}"
            places = {m.index for m in found}
            yield Numerics("approximation", value, why, len(places), self.flow.at(places))

    def _divides_integers(self, meaning: Meaning) -> bool:
        """True for the reciprocal of a converted integer: the first step of an integer division."""
        if meaning.operation != "rcp" or not meaning.operands:
            return False
        made = [self.meanings.of(v) for v in meaning.operands[0].values]
        return any(m is not None and m.operation == "convert" and m.source[:1] in ("s", "u") for m in made)

    # --- accumulation

    def _accumulation(self) -> Iterator[Numerics]:
        """The types in which sums are kept, of tensor cores with the types of the factors."""
        found: dict[str, list[Reduction]] = {}
        for reduction in self.reductions:
            if reduction.kind_of_sum and reduction.dtype:
                found.setdefault(reduction.dtype, []).append(reduction)
        for dtype, reductions in sorted(found.items()):
            at = tuple(sorted({a for r in reductions for a in r.at}))
            why = f"{_times(len(reductions), 'sum')} kept in {dtype}"
            yield Numerics("accumulation", dtype, why, len(reductions), at)
        tensor: dict[tuple[str, str], list[int]] = {}
        for index in range(len(self.flow.kernel.form_ids)):
            for meaning in self.meanings.at(index):
                if meaning.operation == "mma" and not self.flow.is_hidden(index):
                    tensor.setdefault((meaning.type, meaning.source), []).append(index)
        for (kind, source), places in sorted(tensor.items()):
            factors = f"products of {source}" if source else "products"
            why = f"tensor cores add {factors} into {kind or 'an unknown type'}"
            premise = "how the tensor core rounds inside is not documented"
            yield Numerics("accumulation", kind or "?", why, len(places), self.flow.at(places), premise)


def _times(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
