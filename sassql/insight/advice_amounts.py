"""Bytes of a launch as a formula for people, in the launch's own terms, and as a number for one launch.

``blocks`` and ``threads`` (of a block) and ``warps`` (of all blocks) are the launch's, ``ntid.x`` and
``nctaid.x`` their extents, ``param2`` is the third argument. Where a kernel never asks for ``tid.y``, blocks
are taken to be flat. Numbers are exact sums over the threads, whatever the formula says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sassql.facts.addresses import Addresses
from sassql.facts.polynomials import Atom, Polynomial, mentioned, signed, special
from sassql.insight.advice_conditions import Condition, is_of_thread
from sassql.insight.advice_evaluate import Figures, count
from sassql.insight.advice_extents import Extent
from sassql.insight.advice_steps import Steps
from sassql.insight.advice_walks import Walk
from sassql.model.kernel import Kernel

AXES = ("x", "y", "z")
_WARP = 32
_LANES = ("(tid.x % 32)", "laneid")
_LOOP = re.compile(r"\bk\d+\b")
_HEX = re.compile(r"0x[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of bytes: ``times`` of it stay where a ``share`` in words and a divisor are given.

    ``parts`` are summed up. ``divisor`` names the extent of the launch (``ntid.y``) of which all but one
    part is saved: the amount is multiplied with ``1 - 1/divisor``.
    """

    parts: tuple[Extent, ...] = ()
    divisor: str = ""

    @property
    def is_limit(self) -> bool:
        """True where it may be less."""
        return any(part.limit for part in self.parts)

    @property
    def unknown(self) -> str:
        """Why the formula has an unknown in it; empty where it has none."""
        return next((part.unknown for part in self.parts if part.unknown), "")

    def text(self, used: frozenset[str]) -> str:
        """The formula; ``used`` are the axes that the kernel asks for."""
        together: dict[str, int] = {}
        for part in self.parts:
            how_often = times(part, used)
            together[how_often] = together.get(how_often, 0) + part.bytes
        found = " + ".join(f"{size}*{often}" if often else str(size) for often, size in together.items())
        if self.divisor:
            found = f"({found})" if len(together) > 1 else found
            found = f"{found}*(1 - 1/{self.divisor})"
        return found or "0"

    def number(self, figures: Figures) -> int | None:
        """Bytes of one launch; None where something in it is not known."""
        if self.unknown:
            return None
        total = 0
        for part in self.parts:
            found = count(part, figures)
            if found is None:
                return None
            total += found * part.bytes
        if self.divisor:
            extent = figures.names[self.divisor]
            total -= total // extent
        return total


def amount_of(walks: Iterable[Walk], divisor: str = "") -> Amount:
    """What some walks move in a launch."""
    return Amount(tuple(walk.extent for walk in walks), divisor)


def axes_used(kernel: Kernel) -> frozenset[str]:
    """The thread and block numbers that addresses of a kernel have in them: ``tid.y``."""
    addresses: Addresses = kernel.fact("addresses")
    atoms = {atom for address in addresses for atom in mentioned(address.polynomial)}
    return frozenset(atom.name for atom in atoms if is_of_thread(atom))


def times(extent: Extent, used: frozenset[str]) -> str:
    """How often something happens in a launch."""
    factors: list[str] = []
    inner, absorbed = _levels(extent)
    factors += _threads(extent.conditions, used, absorbed)
    factors += inner
    if extent.unknown:
        loop = _LOOP.search(extent.unknown)
        factors.append(f"trips({loop[0]})" if loop else "trips")
    return "*".join(f for f in factors if f != "1")


def _levels(extent: Extent) -> tuple[list[str], str]:
    """The loops as factors, and which threads share one of them: block, warp or grid; empty for none."""
    factors: list[str] = []
    absorbed = ""
    for level in extent.levels:
        if not level:
            continue
        whole = _shared(level[0]) if len(level) == 1 and not absorbed else None
        if whole is not None:
            absorbed, text = whole
            factors.append(text)
        else:
            texts = [_steps(steps) for steps in level]
            factors.append(texts[0] if len(texts) == 1 else f"({' + '.join(texts)})")
    return factors, absorbed


def _shared(steps: Steps) -> tuple[str, str] | None:
    """The steps of all threads that divide a range among them; who they are, and the range."""
    unit = str(steps.unit)
    lane = next((text for text in _LANES if unit == "0x20" and f"-{text}" in str(steps.distance)), "")
    if lane:
        rest = _without(steps.distance, lane)
        return None if rest is None else ("warp", _sum(rest))
    if unit == "ntid.x":
        rest = _plus(steps.distance, ("tid.x",))
        return None if rest is None else ("block", _sum(rest))
    if unit in ("nctaid.x*ntid.x", "ntid.x*nctaid.x"):
        rest = _plus(steps.distance, ("tid.x", "ctaid.x*ntid.x"))
        return None if rest is None else ("grid", _sum(rest))
    return None


def _without(distance: Polynomial, text: str) -> Polynomial | None:
    """The sum without the atom that is written like this; None where threads differ in the rest."""
    kept = tuple((m, c) for m, c in distance.terms if "*".join(map(str, m)) != text)
    rest = Polynomial(kept)
    return None if _by_thread(rest) else rest


def _plus(distance: Polynomial, products: tuple[str, ...]) -> Polynomial | None:
    rest = distance
    for product in products:
        term = Polynomial.number(1)
        for name in product.split("*"):
            times_ = term.product(Polynomial.of(special(name)))
            assert times_ is not None  # two terms at most
            term = times_
        rest += term
    return None if _by_thread(rest) else rest


def _by_thread(polynomial: Polynomial) -> bool:
    return any(is_of_thread(atom) and atom.name.startswith(("tid", "lane")) for atom in mentioned(polynomial))


def _steps(steps: Steps) -> str:
    unit = plain(steps.unit)
    if unit == "1":
        return _sum(steps.distance)
    number = steps.distance.value
    if number is not None and steps.unit.value:
        return str(-(-signed(number) // steps.unit.value))
    unit = f"({unit})" if any(sign in unit for sign in "+-* ") else unit
    return f"ceil({_sum(steps.distance)}/{unit})"


def _sum(polynomial: Polynomial) -> str:
    text = plain(polynomial)
    return f"({text})" if " " in text and not (text.startswith("(") and text.count("(") == 1) else text


def plain(polynomial: Polynomial) -> str:
    """A sum with its numbers in decimal."""
    return _HEX.sub(lambda match: str(int(match[0], 16)), str(polynomial))


def _threads(conditions: Iterable[Condition], used: frozenset[str], absorbed: str) -> list[str]:
    """The threads that take part, as factors."""
    if absorbed == "grid":
        return _said(conditions)
    by_axis: dict[str, str] = {}
    rest: list[Condition] = []
    scope = ""
    for condition in conditions:
        axis, bound = _bound(condition, used)
        if axis == "lane":
            scope = "warps"
        elif axis and axis not in by_axis and not absorbed:
            by_axis[axis] = bound
        else:
            rest.append(condition)
    said = _said(rest)
    if absorbed == "warp" or scope:
        return ["warps", *said]
    if absorbed == "block":
        return ["blocks", *said]
    if not by_axis:
        return ["blocks", "threads", *said]
    factors = []
    for axis in AXES:
        sizes = [f"n{name}.{axis}" for name in ("ctaid", "tid") if f"{name}.{axis}" in used]
        factors += [by_axis[axis]] if axis in by_axis else sizes
    return [*factors, *said]


def _said(conditions: Iterable[Condition]) -> list[str]:
    """Conditions that no factor stands for, in brackets: one where it holds, else nothing."""
    return [f"[{_HEX.sub(lambda m: str(int(m[0], 16)), str(condition))}]" for condition in conditions]


def _bound(condition: Condition, used: frozenset[str]) -> tuple[str, str]:
    """The axis that a condition limits, and to what; ``lane`` for one lane of each warp."""
    left = str(condition.left)
    if condition.operator == "==" and not condition.right.terms:
        if left in _LANES:
            return "lane", ""
        if left in ("tid.x", "tid.y", "tid.z"):
            axis = left[-1]
            return axis, f"nctaid.{axis}" if f"ctaid.{axis}" in used or axis == "x" else "1"
    room = condition.room()
    if room is None:
        return "", ""
    for axis in AXES:
        tid, ctaid = special(f"tid.{axis}"), special(f"ctaid.{axis}")
        if room.coefficient(tid) != Polynomial.number(-1):
            continue
        step = room.coefficient(ctaid)
        if step is None:
            continue
        product = step.product(Polynomial.of(ctaid))
        rest = room + Polynomial.of(tid)
        if step.terms and product is not None:
            rest -= product
        if any(is_of_thread(atom) for atom in mentioned(rest)):
            continue
        blocks = f"nctaid.{axis}"
        size = plain(-step) if step.terms else f"ntid.{axis}"
        if step.terms:
            return axis, f"min({plain(rest)}, {blocks}*{size})"
        return axis, f"{blocks}*min({plain(rest)}, {size})"
    return "", ""


def per_thread(extent: Extent, width: int) -> str:
    """Values of ``width`` bytes that one thread goes through, the busiest one; empty where not known."""
    if extent.unknown or extent.bytes % max(width, 1):
        return ""
    factors = [str(extent.bytes // width)]
    factors += [_busiest(level) for level in extent.levels]
    return "*".join(f for f in factors if f != "1") or "1"


def per_block(extent: Extent) -> str:
    """Bytes that all threads of a block go through; empty where that is not known."""
    if extent.unknown:
        return ""
    inner, absorbed = _levels(extent)
    if absorbed == "grid":
        return ""
    threads = {"block": [], "warp": [f"ceil(threads/{_WARP})"]}.get(absorbed, ["threads"])
    return "*".join(f for f in (str(extent.bytes), *threads, *inner) if f != "1")


def _busiest(level: tuple[Steps, ...]) -> str:
    texts = []
    for steps in level:
        kept = tuple((m, c) for m, c in steps.distance.terms if not _is_negative_thread(m, c))
        texts.append(_steps(Steps(Polynomial(kept), steps.unit)))
    return texts[0] if len(texts) == 1 else f"({' + '.join(texts)})"


def _is_negative_thread(monomial: tuple[Atom, ...], coefficient: int) -> bool:
    return signed(coefficient) < 0 and any(is_of_thread(a) for atom in monomial for a in (atom, *atom.inside))
