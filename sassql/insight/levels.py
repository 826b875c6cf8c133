"""The lowest level at which pairs of nodes are equal, and how far they are from the real values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sassql.insight.algebra import Algebra
from sassql.insight.dag import Dag, Ids
from sassql.insight.evaluation import rounded
from sassql.insight.exact import Exact
from sassql.insight.exhaustive import Exhaustive
from sassql.insight.hashing import equal
from sassql.insight.ideal import Ideal, from_bits
from sassql.insight.idioms import Idioms
from sassql.insight.sampling import Draws

LEVELS = ("E0", "E1", "E2", "E3", "E4", "not_shown")
NOT_SHOWN = len(LEVELS) - 1
_RELATIVE, _ABSOLUTE = 1e-9, 1e-10
_LEAST_FINITE = 2
_NO_NODES = np.zeros(0, np.int32)
Grades = npt.NDArray[np.int64]
FLOAT_WIDTHS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}


@dataclass(frozen=True, slots=True)
class Pairs:
    """Elements of an output of both kernels, as nodes: ``kind`` is their type."""

    name: str
    kind: str
    a: Ids
    b: Ids
    unordered: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Errors:
    """Largest difference from the real value, relative to the largest value of the output."""

    a: float
    b: float
    between: float


class Grading:
    """Compares the elements of all outputs on one shape; levels below ``floor`` but E0 are not looked for."""

    def __init__(
        self,
        dag: Dag,
        pairs: list[Pairs],
        draws: Draws,
        guards: tuple[Ids, Ids] = (_NO_NODES, _NO_NODES),
        quick: bool = False,
        floor: int = 0,
    ) -> None:
        self.dag, self.pairs, self.draws, self.quick = dag, pairs, draws, quick
        self.floor = floor
        self.a, self.b = (np.concatenate([getattr(p, side) for p in pairs]) for side in ("a", "b"))
        self._guards = guards
        self._exact = Exact(dag, np.unique(np.concatenate([self.a, self.b, *guards])))
        self._kept: tuple[Idioms, Ideal] | None = None
        self.grades = self._grades()

    def _split(self, found: Grades) -> list[Grades]:
        return np.split(found, np.cumsum([len(p.a) for p in self.pairs])[:-1])

    def _grades(self) -> list[Grades]:
        """For every pair of nodes, a place in `LEVELS`."""
        a, b, exact = self.a, self.b, self._exact
        found = np.full(len(a), NOT_SHOWN, np.int64)
        found[equal(exact.of(a), exact.of(b))] = 0
        for pair, part in zip(self.pairs, self._split(found), strict=True):  # parts are views
            left = np.flatnonzero(part == NOT_SHOWN)
            if len(left) and FLOAT_WIDTHS.get(pair.kind) == 16:
                part[left[Exhaustive(self.dag).same(pair.a[left], pair.b[left], pair.kind)]] = 0
        for place, level in enumerate(("E1", "E2", "E3"), start=1):
            left = np.flatnonzero(found == NOT_SHOWN)
            if not len(left) or self.quick:
                break
            if place < self.floor:  # another shape was worse already: a better level here changes nothing
                continue
            idioms = self._ideal[0] if level == "E3" else None
            forms = Algebra(exact, np.unique(np.concatenate([a[left], b[left]])), level, idioms)
            found[left[equal(forms.of(a[left]), forms.of(b[left]))]] = place
        parts = self._split(found)
        for pair, part in zip(self.pairs, parts, strict=True):
            if not self.quick:
                self._identity(pair, part)
            part[pair.unordered & (part == 0)] = 1
        return parts

    def guard_grade(self) -> int:
        """The level at which both kernels leave their fast paths under the same conditions; else E3."""
        first, second = self._guards
        if not len(first) and not len(second):
            return 0
        wanted = np.unique(np.concatenate([first, second]))
        for place, level in enumerate(("E0", "E1", "E2")):
            forms = Algebra(self._exact, wanted, level) if place else self._exact
            one, other = ({row.tobytes() for row in forms.of(nodes)} for nodes in (first, second))
            if one == other:
                return place
        return 3

    @property
    def _ideal(self) -> tuple[Idioms, Ideal]:
        """What is needed only where E0 does not hold, or for the errors."""
        if self._kept is None:
            idioms = Idioms(self._exact)
            self._kept = idioms, Ideal(self.dag, self._exact.wanted, self.draws, idioms)
        return self._kept

    def _identity(self, pair: Pairs, part: Grades) -> None:
        """E4 for what is equal at random points."""
        left = np.flatnonzero(part == NOT_SHOWN)
        if not len(left):
            return
        ideal = self._ideal[1]
        if pair.kind in FLOAT_WIDTHS:
            width = FLOAT_WIDTHS[pair.kind]
            same = close(*(ideal.of(nodes[left], width, pair.kind == "bf16") for nodes in (pair.a, pair.b)))
        else:
            same = (ideal.raw(pair.a[left], 32) == ideal.raw(pair.b[left], 32)).all(axis=1)
        part[left[same]] = 4

    def errors(self) -> Errors | None:
        """The predicted numeric errors over all float outputs; None where there is none."""
        floats = [p for p in self.pairs if p.kind in FLOAT_WIDTHS]
        if not floats:
            return None
        ideal = self._ideal[1]
        wanted = np.unique(np.concatenate([nodes for p in floats for nodes in (p.a, p.b)]))
        bits = rounded(self.dag, wanted, self.draws)
        worst = [0.0, 0.0, 0.0]
        for pair in floats:
            width, brainy = FLOAT_WIDTHS[pair.kind], pair.kind == "bf16"
            sides = (pair.a, pair.b)
            real = [ideal.of(nodes, width, brainy) for nodes in sides]
            made = [from_bits(bits[np.searchsorted(wanted, nodes)], width, brainy) for nodes in sides]
            with np.errstate(invalid="ignore"):
                differences = [made[0] - real[0], made[1] - real[1], made[0] - made[1]]
            scale = max(float(np.abs(r[np.isfinite(r)]).max(initial=0.0)) for r in real) or 1.0
            for place, difference in enumerate(differences):
                finite = difference[np.isfinite(difference)]
                worst[place] = max(worst[place], float(np.abs(finite).max(initial=0.0)) / scale)
        return Errors(*worst)


def close(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Rows that are equal at every point, as far as doubles can tell."""
    finite = np.isfinite(x) & np.isfinite(y)
    scale = float(np.abs(np.where(finite, x, 0)).max(initial=0.0))
    with np.errstate(invalid="ignore"):
        near = np.abs(x - y) <= _RELATIVE * np.maximum(np.abs(x), np.abs(y)) + _ABSOLUTE * scale
    same = np.where(finite, near, (x == y) | (np.isnan(x) & np.isnan(y)))
    found: npt.NDArray[np.bool_] = same.all(axis=1) & (finite.sum(axis=1) >= min(_LEAST_FINITE, x.shape[1]))
    return found
