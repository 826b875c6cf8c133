"""How far apart the neighbours along one factor of a reduction lie, and how free its order is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from sassql.facts.addresses import Address
from sassql.facts.bounds import Bound
from sassql.facts.polynomials import Polynomial, counter, mentioned, signed
from sassql.insight.invariants_stages import PARTNERS, moved, step_of
from sassql.insight.invariants_statements import Stride

EXACT, REASSOCIABLE, NONDETERMINISTIC, FIXED = "exact", "reassociable", "nondeterministic", "fixed"
MOST_STRIDES = 8
_WAYS, _AFTER = frozenset({"join", "entry", "carry"}), "where the loop before ended"
_BITWISE = frozenset({"and", "or", "xor"})
_EXTREME = frozenset({"max", "min"})
_FLOATS = ("f", "bf", "tf")


def order_of(op: str, dtype: str, via: Iterable[str]) -> tuple[str, str]:
    """How free the order of a reduction is, and why."""
    is_float = dtype.startswith(_FLOATS)
    plain = op.removeprefix("scan of ")
    if plain in _BITWISE:
        return EXACT, "bits are combined one by one"
    if plain in _EXTREME:
        told = ", but for NaN and the sign of zero" if is_float or not dtype else " of integers"
        return EXACT, f"any order gives the same {plain}imum{told}"
    if plain in PARTNERS:
        return EXACT, "but for ties, which the kernel breaks by its own rule"
    if plain in ("online", "welford"):
        return REASSOCIABLE, "states merge in any order; each merge rounds"
    if not dtype:
        return "unknown", "the element type is not known"
    if not is_float:
        return EXACT, "integers wrap round: any order gives the same bits"
    if any(v in ("atomic", "shared atomic", "compare and swap") for v in via):
        return NONDETERMINISTIC, "atomics add in the order in which threads come"
    return REASSOCIABLE, "another order rounds otherwise; over the reals it is the same"


def within_block(address: Address, names: Sequence[str], by: int) -> Polynomial:
    """What neighbours in a block lie apart, in the first block: blocks are whole warps."""
    polynomial = address.polynomial
    blocks = {a for a in mentioned(polynomial) if a.name.startswith("ctaid.")}
    return step_of(moved(polynomial, dict.fromkeys(blocks, 0)), names, by)


def strides(
    loads: Sequence[Address], steps: Sequence[Polynomial | None], *, rounds: bool = False
) -> tuple[Stride, ...]:
    """A stride for each buffer.

    Of a loop (``rounds``) loads that lie side by side count as one: an iteration reads them all. Lanes and
    blocks are neighbours in one access.
    """
    found: dict[str, Stride] = {}
    for address, step in zip(loads, steps, strict=True):
        name = str(address.base) or "?"
        same = [a for a in loads if (a.base, a.polynomial) == (address.base, address.polynomial)]
        made = _stride(name, step, _run(same if rounds else [address]))
        known = found.get(name)
        if known is None or known.kind == "unknown":
            found[name] = made
    return tuple(found.values())[:MOST_STRIDES]


def _stride(name: str, step: Polynomial | None, run: int) -> Stride:
    if step is None:
        return Stride(name, "?", "unknown")
    if (number := step.value) is None:
        return Stride(name, str(step), "strided")
    if not number:
        return Stride(name, "0", "same")
    return Stride(name, str(signed(number)), "contiguous" if abs(signed(number)) == run else "strided")


def _run(loads: Sequence[Address]) -> int:
    """Bytes of the loads of one formula that lie side by side, from the lowest on."""
    ordered = sorted({(a.offset, a.width or 0) for a in loads})
    end = ordered[0][0]
    for offset, width in ordered:
        if offset > end:
            break
        end = max(end, offset + width)
    return end - ordered[0][0]


def unrolled_strides(loads: Sequence[Address]) -> tuple[Stride, ...]:
    """Distances between the loads of one formula, where they are all the same."""
    groups: dict[tuple[object, ...], list[Address]] = {}
    for address in loads:
        groups.setdefault((address.base, address.polynomial), []).append(address)
    found: dict[str, Stride] = {}
    for together in groups.values():
        offsets = sorted({a.offset for a in together})
        apart = {b - a for a, b in pairwise(offsets)}
        if len(apart) == 1:
            by, name = apart.pop(), str(together[0].base) or "?"
            kind = "contiguous" if by == together[0].width else "strided"
            found.setdefault(name, Stride(name, str(by), kind))
    return tuple(found.values())[:MOST_STRIDES]


def counted_by(bound: Bound | None, number: int, header: int) -> tuple[str, str, str]:
    """Start, step and limit of the counter that a loop's bound speaks of."""
    if bound is None:
        return "", "", ""
    kappa = counter(number, header)
    step = bound.left.coefficient(kappa)
    if step is None:
        return "", "", str(bound)
    product = step.product(Polynomial.of(kappa))
    init = bound.left - product if product is not None else bound.left
    after = any(a.name in _WAYS for a in mentioned(init))
    return _AFTER if after else str(init), str(step), f"{bound.operator} {bound.right}"
