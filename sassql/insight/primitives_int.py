"""Integer primitives: exact, modulo 2^32 or 2^64."""

from __future__ import annotations

import numpy as np

from sassql.insight.primitives import Array, Parameters, combine, low32, primitive

U32, U64, I32, I64 = np.uint32, np.uint64, np.int32, np.int64
_MASK = np.uint64(0xFFFFFFFF)


def _signed64(value: Array) -> Array:
    """32-bit numbers with their sign, as 64-bit numbers."""
    return value.view(I32).astype(I64).view(U64)


@primitive("iadd3")
def iadd3(
    parameters: Parameters,
    a: Array,
    b: Array,
    c: Array | None = None,
    ci: Array | None = None,
    cj: Array | None = None,
) -> tuple[Array, ...]:
    """Sum of up to three addends and two carries; then whether it overflowed once, and twice."""
    total = a + b
    for more in (c, ci, cj):
        if more is not None:
            total = total + more.astype(U64)
    carry = total >> U64(32)
    return low32(total), carry >= 1, carry >= 2


@primitive("iadd_x")
def iadd_x(parameters: Parameters, a: Array, b: Array, ci: Array) -> tuple[Array, ...]:
    """Sum of two addends and a carry, and whether it overflowed."""
    return iadd3(parameters, a, b, None, ci)[:2]


@primitive("iadd64")
def iadd64(parameters: Parameters, a: Array, b: Array, c: Array | None = None) -> tuple[Array, ...]:
    """64-bit sum, and whether it overflowed once, and twice."""
    total = a + b
    carries = (total < a).astype(U64)
    if c is not None:
        total = total + c
        carries = carries + (total < c)
    return total, carries >= 1, carries >= 2


@primitive("imad")
def imad(parameters: Parameters, a: Array, b: Array, c: Array, ci: Array) -> tuple[Array, ...]:
    """The low word of a*b + c."""
    return (a * b + c + ci.astype(U32),)


def _product(parameters: Parameters, a: Array, b: Array) -> Array:
    if "U32" in parameters:
        return a.astype(U64) * b.astype(U64)
    return _signed64(a) * _signed64(b)


@primitive("imad_wide")
def imad_wide(parameters: Parameters, a: Array, b: Array, c: Array, ci: Array) -> tuple[Array, ...]:
    """a*b + c in 64 bits, and whether the sum overflowed."""
    product = _product(parameters, a, b)
    total = product + c + ci.astype(U64)
    return total, (total < product) | (ci & (total == product))


@primitive("imul_wide")
def imul_wide(parameters: Parameters, a: Array, b: Array) -> tuple[Array, ...]:
    """a*b in 64 bits."""
    return (_product(parameters, a, b),)


@primitive("imad_hi")
def imad_hi(parameters: Parameters, a: Array, b: Array, c: Array, ci: Array) -> tuple[Array, ...]:
    """The high word of a*b + c, c in 64 bits."""
    return (low32((_product(parameters, a, b) + c + ci.astype(U64)) >> U64(32)),)


@primitive("lea")
def lea(parameters: Parameters, a: Array, b: Array, shift: int, ci: Array) -> tuple[Array, ...]:
    """(a << shift) + b, and whether the sum overflowed."""
    total = (a << U32(shift)).astype(U64) + b + ci
    return low32(total), total > _MASK


@primitive("lea_hi")
def lea_hi(parameters: Parameters, a: Array, b: Array, c: Array, shift: int, ci: Array) -> tuple[Array, ...]:
    """The high word of {c, a} << shift, plus b."""
    wide = a.astype(U64) | c.astype(U64) << U64(32)
    total = ((wide << U64(shift)) >> U64(32)) + b + ci
    return low32(total), total > _MASK


@primitive("lea_sx")
def lea_sx(parameters: Parameters, a: Array, b: Array, shift: int, ci: Array) -> tuple[Array, ...]:
    """The high word of a << shift, where a is a signed word, plus b."""
    total = ((_signed64(a) << U64(shift)) >> U64(32)) + b + ci
    return low32(total), total > _MASK


@primitive("lop3")
def lop3(parameters: Parameters, a: Array, b: Array, c: Array, lut: int, ci: Array) -> tuple[Array, ...]:
    """A truth table on bits, and whether any bit is set."""
    found = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), U32)
    for row in range(8):
        if lut >> row & 1:
            found = found | ((a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c))
    return found, (found != 0) | ci


@primitive("plop3")
def plop3(parameters: Parameters, ci: Array, cj: Array, ck: Array, lut: int, lut2: int) -> tuple[Array, ...]:
    """Two truth tables on predicates."""
    index = ci * 4 + cj * 2 + ck * 1
    return (lut >> index & 1).astype(bool), (lut2 >> index & 1).astype(bool)


@primitive("shf")
def shf(parameters: Parameters, a: Array, shift: Array, c: Array) -> tuple[Array, ...]:
    """A word of {c, a} shifted; without W a shift beyond the width is the width."""
    size = 64 if "U64" in parameters or "S64" in parameters else 32
    by = (shift & U32(size - 1) if "W" in parameters else np.minimum(shift, U32(size))).astype(U64)
    wide = a.astype(U64) | c.astype(U64) << U64(32)
    far = by >= 64
    by = np.minimum(by, U64(63))
    if "L" in parameters:
        moved = np.where(far, U64(0), wide << by)
    elif "S32" in parameters or "S64" in parameters:
        moved = (wide.view(I64) >> by.astype(I64)).view(U64)
    else:
        moved = np.where(far, U64(0), wide >> by)
    return (low32(moved >> U64(32)) if "HI" in parameters else low32(moved),)


@primitive("shl")
def shl(parameters: Parameters, a: Array, shift: Array) -> tuple[Array, ...]:
    """A << shift; without W a shift of 32 and more gives zero."""
    by = shift & U32(31) if "W" in parameters else shift
    return (np.where(by > 31, U32(0), a << np.minimum(by, U32(31))),)


@primitive("shr")
def shr(parameters: Parameters, a: Array, shift: Array) -> tuple[Array, ...]:
    """A >> shift, with the sign unless U32."""
    by = np.minimum(shift & U32(31) if "W" in parameters else shift, U32(32))
    most = np.minimum(by, U32(31))
    if "U32" in parameters:
        return (np.where(by > 31, U32(0), a >> most),)
    return ((a.view(I32) >> most.view(I32)).view(U32),)


@primitive("prmt")
def prmt(parameters: Parameters, a: Array, sel: Array, c: Array) -> tuple[Array, ...]:
    """Each byte of the result is one of the eight of {c, a}; bit 3 of a selector repeats the byte's sign."""
    wide = a.astype(U64) | c.astype(U64) << U64(32)
    found = np.zeros(np.broadcast_shapes(a.shape, sel.shape, c.shape), U32)
    for place in range(4):
        pick = sel >> U32(4 * place) & U32(15)
        byte = low32(wide >> ((pick & U32(7)).astype(U64) * U64(8))) & U32(255)
        sign = np.where(byte & U32(128), U32(255), U32(0))
        found = found | np.where(pick & U32(8), sign, byte) << U32(8 * place)
    return (found,)


@primitive("sel")
def sel(parameters: Parameters, a: Array, b: Array, ci: Array) -> tuple[Array, ...]:
    """A where the predicate holds, else b."""
    return (np.where(ci, a, b),)


@primitive("sel64")
def sel64(parameters: Parameters, a: Array, b: Array, ci: Array) -> tuple[Array, ...]:
    """A where the predicate holds, else b, in 64 bits."""
    return (np.where(ci, a, b),)


@primitive("iabs")
def iabs(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """The magnitude of a signed word."""
    return (np.where(a >> U32(31), U32(0) - a, a),)


@primitive("ineg")
def ineg(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """-a: the operand's sign."""
    return (a.dtype.type(0) - a,)


@primitive("inot")
def inot(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """~a: the operand's inversion, of bits or of a predicate."""
    return (~a,)


@primitive("flo")
def flo(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """Number of the highest bit that differs from the sign, -1 for none; with SH its distance from bit 31."""
    value = a if "U32" in parameters else np.where(a >> U32(31), ~a, a)
    place = np.floor(np.log2(np.maximum(value, U32(1)).astype(np.float64))).astype(U32)
    place = U32(31) - place if "SH" in parameters else place
    return (np.where(value == 0, U32(0xFFFFFFFF), place),)


@primitive("popc")
def popc(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """How many bits are set."""
    found = np.zeros(a.shape, U32)
    for bit in range(32):
        found = found + (a >> U32(bit) & U32(1))
    return (found,)


@primitive("brev")
def brev(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """The bits in opposite order."""
    found = np.zeros(a.shape, U32)
    for bit in range(32):
        found = found | (a >> U32(bit) & U32(1)) << U32(31 - bit)
    return (found,)


@primitive("sgxt")
def sgxt(parameters: Parameters, a: Array, b: Array) -> tuple[Array, ...]:
    """The low b bits, with their sign unless U32."""
    width = b & U32(31) if "W" in parameters else np.minimum(b, U32(32))
    by = np.minimum(U32(32) - width, U32(31))
    moved = a << by
    found = moved >> by if "U32" in parameters else (moved.view(I32) >> by.view(I32)).view(U32)
    return (np.where(width == 0, U32(0), found),)


@primitive("bmsk")
def bmsk(parameters: Parameters, a: Array, b: Array) -> tuple[Array, ...]:
    """B bits set from bit a on."""
    start = (a & U32(31) if "W" in parameters else np.minimum(a, U32(32))).astype(U64)
    width = (b & U32(31) if "W" in parameters else np.minimum(b, U32(32))).astype(U64)
    return (low32(((U64(1) << width) - U64(1)) << start),)


@primitive("idp")
def idp(parameters: Parameters, a: Array, b: Array, c: Array) -> tuple[Array, ...]:
    """Sum of the products of four bytes each, plus c."""
    kinds = [p for p in parameters if p in ("S8", "U8")]
    total = c
    for place in range(4):
        left, right = ((value >> U32(8 * place)).astype(np.uint8) for value in (a, b))
        x, y = (
            (v.view(np.int8) if kind == "S8" else v).astype(I32)
            for v, kind in zip((left, right), kinds, strict=True)
        )
        total = total + (x * y).view(U32)
    return (total,)


def _pick(a: Array, b: Array, least: Array, unsigned: bool) -> Array:
    signed = I64 if a.dtype == U64 else I32
    less = a < b if unsigned else a.view(signed) < b.view(signed)
    return np.where(least == less, a, b)


@primitive("imnmx")
def imnmx(parameters: Parameters, a: Array, b: Array, ci: Array) -> tuple[Array, ...]:
    """The smaller where the predicate holds, else the larger."""
    return (_pick(a, b, ci, "U32" in parameters),)


@primitive("imnmx3")
def imnmx3(parameters: Parameters, a: Array, b: Array, c: Array, ci: Array) -> tuple[Array, ...]:
    """The smallest of three where the predicate holds, else the largest."""
    unsigned = "U32" in parameters
    return (_pick(_pick(a, b, ci, unsigned), c, ci, unsigned),)


@primitive("imnmx64")
def imnmx64(parameters: Parameters, a: Array, b: Array, ci: Array) -> tuple[Array, ...]:
    """The smaller where the predicate holds, else the larger, in 64 bits."""
    return (_pick(a, b, ci, "U64" in parameters),)


def _compared(parameters: Parameters, a: Array, b: Array, unsigned: bool) -> Array:
    if not unsigned:
        signed = I64 if a.dtype == U64 else I32
        a, b = a.view(signed), b.view(signed)
    if "EQ" in parameters:
        return np.equal(a, b)
    if "NE" in parameters:
        return np.not_equal(a, b)
    if "LT" in parameters:
        return a < b
    if "LE" in parameters:
        return a <= b
    return a > b if "GT" in parameters else a >= b


@primitive("icompare")
def icompare(parameters: Parameters, a: Array, b: Array, ci: Array) -> tuple[Array, ...]:
    """A comparison of words and its opposite, each joined with ci."""
    return combine(parameters, _compared(parameters, a, b, "U32" in parameters), ci)


@primitive("icompare64")
def icompare64(parameters: Parameters, a: Array, b: Array, ci: Array) -> tuple[Array, ...]:
    """A comparison of 64-bit numbers and its opposite, each joined with ci."""
    return combine(parameters, _compared(parameters, a, b, "U64" in parameters), ci)


@primitive("icompare_ex")
def icompare_ex(parameters: Parameters, a: Array, b: Array, ci: Array, cj: Array) -> tuple[Array, ...]:
    """A comparison of high words; where they are equal, cj has what the low words say."""
    equal = a == b
    if "EQ" in parameters:
        found = equal & cj
    elif "NE" in parameters:
        found = ~equal | cj
    else:
        strict = tuple({"LE": "LT", "GE": "GT"}.get(p, p) for p in parameters)
        found = _compared(strict, a, b, "U32" in parameters) | equal & cj
    return combine(parameters, found, ci)


@primitive("copy")
def copy(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """The value itself."""
    return (a,)


@primitive("copy64")
def copy64(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """The value itself, in 64 bits."""
    return (a,)
