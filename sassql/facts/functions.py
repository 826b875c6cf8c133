"""Functions of polynomials that are no polynomials: quotients, remainders, masks, minima, selects.

Each is simplified exactly as far as that is plain: `x & 31` is a remainder, `n & ~15` is
``n`` less its remainder, an OR of disjoint bits a sum, the remainder of a number that is
known to be small that number. Operands and results are 32-bit words.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache

from sassql.facts.polynomials import (
    MASK,
    NOWHERE,
    WORD,
    ZERO,
    Atom,
    AtomKind,
    Polynomial,
    key_of,
    make_atom,
    signed,
)

_MOST = {
    "laneid": 31,
    "tid.x": 1023,
    "tid.y": 1023,
    "tid.z": 63,
    "ntid.x": 1024,
    "ntid.y": 1024,
    "ntid.z": 64,
}
_MOST |= {"ctaid.y": 65534, "ctaid.z": 65534, "ctaid.x": 2**31 - 2}
_COMMUTING = frozenset({"and", "or", "xor", "min", "max", "umin", "umax", "mulhi", "umulhi", "product"})


def function(name: str, args: Sequence[Polynomial], number: int = -1, *, home: int = NOWHERE) -> Polynomial:
    """The function ``name`` as an atom; a ``number`` is part of what it is."""
    if name in _COMMUTING:
        args = sorted(args, key=key_of)
    data, opaque, reason = False, False, ""
    for arg in args:
        for monomial, _ in arg.terms:
            for inner in monomial:
                data, opaque = data or inner.data, opaque or inner.opaque
                reason = reason or inner.reason
    return Polynomial.of(
        make_atom(AtomKind.FUNCTION, name, number, tuple(args), home, None, data, opaque, reason)
    )


def most(polynomial: Polynomial) -> int | None:
    """An upper bound of the value taken as an integer without wrapping round, or None."""
    total = 0
    for monomial, coefficient in polynomial.terms:
        product = coefficient
        for atom in monomial:
            bound = _most_of(atom)
            if bound is None:
                return _most_left(polynomial)
            product *= bound
        total += product
        if total >= WORD:
            return _most_left(polynomial)
    return total


def _most_left(polynomial: Polynomial) -> int | None:
    """The bound of ``x - d*(x / d)``, a remainder."""
    for monomial, coefficient in polynomial.terms:
        atom = monomial[0] if len(monomial) == 1 else None
        if atom is None or atom.name != "div" or coefficient != -atom.number & MASK or atom.scope is not None:
            continue
        if polynomial + Polynomial.of(atom).times(atom.number) == atom.args[0]:
            return atom.number - 1
    return None


def _most_of(atom: Atom) -> int | None:
    if atom.kind is AtomKind.SPECIAL:
        return _MOST.get(atom.name)
    if atom.kind is not AtomKind.FUNCTION:
        return None
    if atom.name == "mod":
        return atom.number - 1
    if atom.name == "div":
        inside = most(atom.args[0])
        return (MASK if inside is None else inside) // atom.number
    return None


def remainder(x: Polynomial, modulus: int) -> Polynomial:
    """``x`` modulo a power of two: only the low bits of each coefficient count."""
    if modulus in (1, WORD):
        return ZERO if modulus == 1 else x
    low = Polynomial.make({monomial: c % modulus for monomial, c in x.terms})
    bound = most(low)
    if low.value is not None or (bound is not None and bound < modulus):
        return low
    factor = min(modulus, *(c & -c for _, c in low.terms)) if low.terms else 1
    if factor > 1:
        inside = Polynomial.make({monomial: c // factor for monomial, c in low.terms})
        return remainder(inside, modulus // factor).times(factor)
    if len(low.terms) == 1 and low.terms[0][1] == 1 and len(low.terms[0][0]) == 1:
        atom = low.terms[0][0][0]
        if atom.name == "mod" and atom.number >= modulus:  # (x % 64) % 32
            return remainder(atom.args[0], modulus)
    if (divided := _divided(low, modulus.bit_length() - 1)) is not None:
        return low - quotient(*divided).times(modulus)
    return function("mod", [low], modulus)


def divisor_of(multiplier: int, shift: int) -> int | None:
    """The d for which ``x * multiplier >> 32 + shift`` is ``x / d`` for every word x; None for no such d.

    How compilers divide by a constant: Granlund and Montgomery, "Division by Invariant Integers
    using Multiplication", theorem 4.2.
    """
    if multiplier <= 1 << shift:
        return None
    power = 1 << 32 + shift
    found = power // multiplier + 1
    return found if 0 < multiplier * found - power <= 1 << shift else None


def _high_product(x: Polynomial) -> tuple[Polynomial, int] | None:
    """The word and the number that ``x`` is the high word of the product of."""
    atom = x.terms[0][0][0] if len(x.terms) == 1 and len(x.terms[0][0]) == 1 and x.terms[0][1] == 1 else None
    if atom is None or atom.name != "umulhi" or atom.kind is not AtomKind.FUNCTION or atom.scope is not None:
        return None
    for one, other in (atom.args, atom.args[::-1]):
        if (number := other.value) is not None:
            return one, number
    return None


def _divided(x: Polynomial, shift: int) -> tuple[Polynomial, int] | None:
    """The word and the number that it is divided by, where ``x >> shift`` is how compilers write that.

    ``x`` is the high word of a product, or with a multiplier of 33 bits ``(n - h) / 2 + h``.
    """
    product, by = _high_product(x), None
    if product is not None:
        by = divisor_of(product[1], shift)
    elif len(x.terms) == 2:
        for place in (0, 1):
            high, half = (Polynomial((x.terms[n],)) for n in (place, 1 - place))
            product = _high_product(high)
            if product is not None and half == function("div", [product[0] - high], 2):
                by = divisor_of((1 << 32) + product[1], shift + 1)
                break
    return None if product is None or by is None else (product[0], by)


def quotient(x: Polynomial, divisor: int) -> Polynomial:
    """``x`` as an unsigned number, divided by a number and rounded down."""
    if divisor == 1:
        return x
    if divisor & (divisor - 1) == 0 and (divided := _divided(x, divisor.bit_length() - 1)) is not None:
        return quotient(*divided)
    if (number := x.value) is not None:
        return Polynomial.number(number // divisor)
    bound = most(x)
    if bound is None:
        return function("div", [x], divisor)
    if bound < divisor:
        return ZERO
    whole = Polynomial.make({m: c // divisor for m, c in x.terms if c % divisor == 0})
    rest = Polynomial.make({m: c for m, c in x.terms if c % divisor})
    bound = most(rest)
    if bound is not None and bound < divisor:
        return whole
    if bound is not None and len(rest.terms) == 1 and rest.terms[0][1] > 1:  # x * 21846 / 65536 is x / 3
        monomial, factor = rest.terms[0]
        by = divisor // factor + 1
        excess = by * factor - divisor
        if excess > 0 and bound // factor * excess < divisor:
            return whole + function("div", [Polynomial(((monomial, 1),))], by)
    return whole + (function("div", [rest], divisor) if rest.terms else ZERO)


def shift_right(x: Polynomial, amount: Polynomial) -> Polynomial:
    """A logical shift; by 32 and more it leaves nothing."""
    if (by := amount.value) is not None:
        return quotient(x, 1 << by) if by < 32 else ZERO
    return function("shr", [x, amount])


def shift_right_signed(x: Polynomial, amount: Polynomial) -> Polynomial:
    """An arithmetic shift; by 32 and more it leaves the sign."""
    by = amount.value
    if by is None:
        return function("sar.v", [x, amount])
    by = min(by, 31)
    if (number := x.value) is not None:
        return Polynomial.number(signed(number) >> by)
    bound = most(x)
    if bound is not None and bound < 1 << 31:
        return quotient(x, 1 << by)
    return function("sar", [x], by) if by else x


def shift_left(x: Polynomial, amount: Polynomial) -> Polynomial:
    """A shift to the left; by 32 and more it leaves nothing."""
    if (by := amount.value) is not None:
        return x.times(1 << by) if by < 32 else ZERO
    return function("shl", [x, amount])


def bit_and(x: Polynomial, y: Polynomial) -> Polynomial:
    """Bitwise AND; with a mask of low or of high bits it is a remainder, or takes one away."""
    for value, mask in ((x, y.value), (y, x.value)):
        if mask is None:
            continue
        if (number := value.value) is not None:
            return Polynomial.number(number & mask)
        low = mask & -mask
        if (mask + low) & mask == 0:  # one run of bits
            return remainder(value, mask + low) - remainder(value, low) if mask else ZERO
    return x if x == y else function("and", [x, y])


def bit_or(x: Polynomial, y: Polynomial) -> Polynomial:
    """Bitwise OR; of disjoint bits it is a sum."""
    return _sum_or(x, y, "or", lambda a, b: a | b)


def bit_xor(x: Polynomial, y: Polynomial) -> Polynomial:
    """Bitwise XOR; of disjoint bits it is a sum."""
    for value, other in ((x, y), (y, x)):
        if other.value == MASK:
            return Polynomial.number(-1) - value
    return ZERO if x == y else _sum_or(x, y, "xor", lambda a, b: a ^ b)


def _sum_or(x: Polynomial, y: Polynomial, name: str, fold: Callable[[int, int], int]) -> Polynomial:
    a, b = x.value, y.value
    if a is not None and b is not None:
        return Polynomial.number(fold(a, b))
    if _disjoint(x, y) or _disjoint(y, x):
        return x + y
    return x if x == y else function(name, [x, y])


def _disjoint(high: Polynomial, low: Polynomial) -> bool:
    """True where all bits of ``low`` lie below the lowest bit that ``high`` can have."""
    bound = most(low)
    lowest = min((c & -c for _, c in high.terms), default=WORD)
    return bound is not None and bound < lowest


BITWISE: dict[str, Callable[[Polynomial, Polynomial], Polynomial]] = {
    "and": bit_and,
    "or": bit_or,
    "xor": bit_xor,
}
SHIFTS: dict[str, Callable[[Polynomial, Polynomial], Polynomial]] = {
    "shl": shift_left,
    "shr": shift_right,
    "sar.v": shift_right_signed,
}
_BITS = (0xF0, 0xCC, 0xAA)
_ORDERS = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))


@cache
def _recipes() -> dict[int, tuple[str, str, tuple[int, int, int], int]]:
    """Truth tables of two nested operations: outer(inner(x, y), z); bit n of the last inverts source n."""
    one: dict[str, Callable[[int, int], int]] = {
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
    }
    found: dict[int, tuple[str, str, tuple[int, int, int], int]] = {}
    for inverted in sorted(range(8), key=int.bit_count):
        bits = [b ^ 0xFF if inverted >> i & 1 else b for i, b in enumerate(_BITS)]
        for outer, inner, order in itertools.product(one, one, _ORDERS):
            x, y, z = (bits[i] for i in order)
            found.setdefault(one[outer](one[inner](x, y), z), (outer, inner, order, inverted))
    return found


def truth_table(sources: Sequence[Polynomial], table: int) -> Polynomial:
    """Bit by bit, the function of three words whose bit 4a+2b+c of ``table`` is the result."""
    used = [i for i in range(3) if _uses(table, i)]
    for place, source in enumerate(sources):
        if place in used and source.value in (0, MASK):
            table = _fixed(table, place, source.value == MASK)
    used = [i for i in range(3) if _uses(table, i)]
    if not used:
        return Polynomial.number(MASK if table & 1 else 0)
    words = [Polynomial.number(-1) - s for s in sources]
    if len(used) == 1:
        return sources[used[0]] if table == _BITS[used[0]] else words[used[0]]
    if len(used) == 2:
        return _two(sources, words, used, table)
    recipe = _recipes().get(table)
    if recipe is None:
        return function("lop3", sources, table)
    outer, inner, order, inverted = recipe
    x, y, z = ((words if inverted >> i & 1 else sources)[i] for i in order)
    return BITWISE[outer](BITWISE[inner](x, y), z)


def _two(
    sources: Sequence[Polynomial], inverses: Sequence[Polynomial], used: Sequence[int], table: int
) -> Polynomial:
    i, j = used
    for name, combine in BITWISE.items():
        for flip_i, flip_j in itertools.product((False, True), repeat=2):
            a = _BITS[i] ^ (0xFF if flip_i else 0)
            b = _BITS[j] ^ (0xFF if flip_j else 0)
            bits = a & b if name == "and" else a | b if name == "or" else a ^ b
            if bits == table:
                return combine((inverses if flip_i else sources)[i], (inverses if flip_j else sources)[j])
    return function("lop3", sources, table)


def _fixed(table: int, place: int, one: bool) -> int:
    """The table with source ``place`` fixed at 0 or 1."""
    shift = 4 >> place
    kept = table & _BITS[place] if one else table & (_BITS[place] ^ 0xFF)
    return kept | (kept >> shift if one else kept << shift)


def _uses(table: int, place: int) -> bool:
    return _fixed(table, place, False) != _fixed(table, place, True)


def multiply(x: Polynomial, y: Polynomial) -> Polynomial:
    """The low word of a product; one of too many terms is not multiplied out."""
    product = x.product(y)
    return function("product", [x, y]) if product is None else product


def multiply_high(x: Polynomial, y: Polynomial, *, is_signed: bool) -> Polynomial:
    """The high word of the product of two words."""
    a, b = x.value, y.value
    if a is not None and b is not None:
        return Polynomial.number((signed(a) * signed(b) if is_signed else a * b) >> 32)
    if not is_signed and (number := a if b is None else b) is not None:
        by = divisor_of(number, 0)
        if by is not None:
            return quotient(y if b is None else x, by)
    return function("mulhi" if is_signed else "umulhi", [x, y])


def least_or_most(x: Polynomial, y: Polynomial, *, least: bool, is_signed: bool) -> Polynomial:
    """The smaller or the larger of two words."""
    if x == y:
        return x
    a, b = x.value, y.value
    if a is not None and b is not None:
        key = signed if is_signed else int
        return Polynomial.number((min if least else max)(a, b, key=key))
    return function(("" if is_signed else "u") + ("min" if least else "max"), [x, y])


def word_of_function(atom: Atom, args: Sequence[int]) -> int:
    """The value of a function whose arguments have the values ``args``.

    Raises:
        KeyError: the function is not of this module: a select, a join, an opcode.
    """
    rules: dict[str, Callable[..., int]] = {
        "div": lambda x: x // atom.number,
        "mod": lambda x: x % atom.number,
        "sar": lambda x: signed(x) >> atom.number,
        "sar.v": lambda x, n: signed(x) >> min(n, 31),
        "shr": lambda x, n: x >> min(n, 32),
        "shl": lambda x, n: x << min(n, 32),
        "and": lambda x, y: x & y,
        "or": lambda x, y: x | y,
        "xor": lambda x, y: x ^ y,
        "min": lambda x, y: min(x, y, key=signed),
        "max": lambda x, y: max(x, y, key=signed),
        "umin": min,
        "umax": max,
        "mulhi": lambda x, y: signed(x) * signed(y) >> 32,
        "umulhi": lambda x, y: x * y >> 32,
        "product": lambda x, y: x * y,
        "lop3": lambda a, b, c: _bits(atom.number, a, b, c),
    }
    return rules[atom.name](*args) & MASK


def _bits(table: int, a: int, b: int, c: int) -> int:
    found = 0
    for place in range(8):
        if table >> place & 1:
            found |= (a if place & 4 else ~a) & (b if place & 2 else ~b) & (c if place & 1 else ~c)
    return found
