"""The lowest level at which pairs of nodes are equal, and how far they are from the real values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sassql.insight.algebra import Algebra
from sassql.insight.dag import Dag, Ids
from sassql.insight.evaluation import rounded
from sassql.insight.exact import Exact
from sassql.insight.hashing import equal
from sassql.insight.ideal import Ideal, from_bits
from sassql.insight.idioms import Idioms
from sassql.insight.sampling import Draws

LEVELS = ("E0", "E1", "E2", "E3", "E4", "not_shown")
NOT_SHOWN = len(LEVELS) - 1
_RELATIVE, _ABSOLUTE = 1e-9, 1e-13
_LEAST_FINITE = 2
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


def grades(dag: Dag, pairs: list[Pairs], draws: Draws) -> list[Grades]:
    """For every pair of nodes, a place in `LEVELS`."""
    a, b = (np.concatenate([getattr(p, side) for p in pairs]) for side in ("a", "b"))
    found = np.full(len(a), NOT_SHOWN, np.int64)
    exact = Exact(dag, np.unique(np.concatenate([a, b])))
    found[equal(exact.of(a), exact.of(b))] = 0
    idioms: Idioms | None = None
    for place, level in enumerate(("E1", "E2", "E3"), start=1):
        left = np.flatnonzero(found == NOT_SHOWN)
        if not len(left):
            break
        if level == "E3":
            whole = exact if len(left) == len(a) else Exact(dag, np.unique(np.concatenate([a[left], b[left]])))
            idioms = Idioms(whole)
        forms = Algebra(dag, np.unique(np.concatenate([a[left], b[left]])), level, idioms)
        found[left[equal(forms.of(a[left]), forms.of(b[left]))]] = place
    split = np.cumsum([len(p.a) for p in pairs])[:-1]
    parts = np.split(found, split)
    _identity(dag, pairs, parts, draws, idioms)
    for pair, part in zip(pairs, parts, strict=True):
        part[pair.unordered & (part == 0)] = 1
    return parts


def _identity(dag: Dag, pairs: list[Pairs], parts: list[Grades], draws: Draws, idioms: Idioms | None) -> None:
    """E4 for what is equal at random points."""
    open_pairs = [(pair, np.flatnonzero(part == NOT_SHOWN), part) for pair, part in zip(pairs, parts, strict=True)]
    open_pairs = [item for item in open_pairs if len(item[1])]
    if not open_pairs:
        return
    wanted = np.unique(np.concatenate([nodes for pair, left, _ in open_pairs for nodes in (pair.a[left], pair.b[left])]))
    ideal = Ideal(dag, wanted, draws, idioms)
    for pair, left, part in open_pairs:
        if pair.kind not in FLOAT_WIDTHS:
            same = (ideal._raw(pair.a[left], 32) == ideal._raw(pair.b[left], 32)).all(axis=1)
        else:
            width = FLOAT_WIDTHS[pair.kind]
            x, y = (ideal.of(nodes[left], width, pair.kind == "bf16") for nodes in (pair.a, pair.b))
            same = close(x, y)
        part[left[same]] = 4


def close(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Rows that are equal at every point, as far as doubles can tell."""
    finite = np.isfinite(x) & np.isfinite(y)
    scale = float(np.abs(np.where(finite, x, 0)).max(initial=0.0))
    with np.errstate(invalid="ignore"):
        near = np.abs(x - y) <= _RELATIVE * np.maximum(np.abs(x), np.abs(y)) + _ABSOLUTE * scale
    same = np.where(finite, near, (x == y) | (np.isnan(x) & np.isnan(y)))
    found: npt.NDArray[np.bool_] = same.all(axis=1) & (finite.sum(axis=1) >= min(_LEAST_FINITE, x.shape[1]))
    return found


def errors(dag: Dag, pairs: list[Pairs], draws: Draws) -> Errors | None:
    """The predicted numeric errors over all float outputs; None where there is none."""
    floats = [p for p in pairs if p.kind in FLOAT_WIDTHS and len(p.a)]
    if not floats:
        return None
    wanted = np.unique(np.concatenate([nodes for p in floats for nodes in (p.a, p.b)]))
    idioms = Idioms(Exact(dag, wanted))
    ideal = Ideal(dag, wanted, draws, idioms)
    worst = [0.0, 0.0, 0.0]
    for pair in floats:
        width, brainy = FLOAT_WIDTHS[pair.kind], pair.kind == "bf16"
        real = [ideal.of(nodes, width, brainy) for nodes in (pair.a, pair.b)]
        made = [from_bits(rounded(dag, nodes, draws), width, brainy) for nodes in (pair.a, pair.b)]
        differences = [made[0] - real[0], made[1] - real[1], made[0] - made[1]]
        scale = max(float(np.abs(r[np.isfinite(r)]).max(initial=0.0)) for r in real) or 1.0
        for place, difference in enumerate(differences):
            finite = difference[np.isfinite(difference)]
            worst[place] = max(worst[place], float(np.abs(finite).max(initial=0.0)) / scale)
    return Errors(*worst)
