"""Floating-point primitives, rounded as their modifiers say.

The multifunction unit's results are modelled as correctly rounded; the real ones differ in the last
bits. A fused multiply-add of 32 bits is exact before its one rounding: the product of two floats fits
a double, and the sum is rounded to odd there, which a second rounding cannot spoil.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sassql.insight.primitives import Array, Parameters, combine, primitive

F16, F32, F64 = np.float16, np.float32, np.float64
U16, U32, U64 = np.uint16, np.uint32, np.uint64
_SIGN = U32(0x80000000)


def _flush(parameters: Parameters, value: Array) -> Array:
    """Denormal numbers as zeros of their sign, where FTZ is asked for."""
    if "FTZ" not in parameters:
        return value
    tiny = (value & U32(0x7F800000)) == 0
    return np.where(tiny, value & _SIGN, value)


def _finish(parameters: Parameters, value: Array) -> Array:
    if "SAT" in parameters:
        value = np.where(np.isnan(value), F32(0), np.clip(value, F32(0), F32(1)))
    return _flush(parameters, np.asarray(value, F32).view(U32))


def _rounded(parameters: Parameters, value: Array, error: Array) -> Array:
    """A double and what it misses of the exact value, rounded once to 32 bits."""
    near = value.astype(F32)
    if not {"RM", "RP", "RZ"} & set(parameters):
        odd = (value.view(U64) & U64(1)).astype(bool)
        finite = np.isfinite(value) & (error != 0)
        away = (error > 0) == (value > 0)
        step = np.where(away, U64(1), U64(0xFFFFFFFFFFFFFFFF))
        towards = np.where(away, value.view(U64) | U64(1), (value.view(U64) + step) | U64(1)).view(F64)
        return np.where(finite & ~odd, towards, value).astype(F32)
    difference = near.astype(F64) - value
    above = (difference > 0) | ((difference == 0) & (error < 0))
    below = (difference < 0) | ((difference == 0) & (error > 0))
    down, up = np.nextafter(near, F32(-np.inf)), np.nextafter(near, F32(np.inf))
    floor, ceiling = np.where(above, down, near), np.where(below, up, near)
    if "RM" in parameters:
        return floor
    return ceiling if "RP" in parameters else np.where(value < 0, ceiling, floor)


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    """A sum of doubles and what it misses (Knuth's TwoSum)."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    return total, np.where(np.isfinite(total), error, 0.0)


@primitive("fadd")
def fadd(parameters: Parameters, a: Array, b: Array) -> tuple[Array, ...]:
    """A + b."""
    x, y = (_flush(parameters, v).view(F32) for v in (a, b))
    if {"RM", "RP", "RZ"} & set(parameters):
        return (_finish(parameters, _rounded(parameters, *_sum(x.astype(F64), y.astype(F64)))),)
    return (_finish(parameters, x + y),)


@primitive("fmul")
def fmul(parameters: Parameters, a: Array, b: Array) -> tuple[Array, ...]:
    """A * b."""
    x, y = (_flush(parameters, v).view(F32) for v in (a, b))
    if {"RM", "RP", "RZ"} & set(parameters):
        product = x.astype(F64) * y.astype(F64)
        return (_finish(parameters, _rounded(parameters, product, np.zeros_like(product))),)
    return (_finish(parameters, x * y),)


@primitive("ffma")
def ffma(parameters: Parameters, a: Array, b: Array, c: Array) -> tuple[Array, ...]:
    """A * b + c, rounded once."""
    x, y, z = (_flush(parameters, v).view(F32).astype(F64) for v in (a, b, c))
    return (_finish(parameters, _rounded(parameters, *_sum(x * y, z))),)


@primitive("fneg")
def fneg(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """-a: the operand's sign, for floats of any width."""
    return (a ^ a.dtype.type(1 << (8 * a.dtype.itemsize - 1)),)


@primitive("fabs")
def fabs(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """|a|: the operand's magnitude, for floats of any width."""
    return (a & a.dtype.type((1 << (8 * a.dtype.itemsize - 1)) - 1),)


def extreme(parameters: Parameters, x: Array, y: Array, least: Array) -> Array:
    """MinNum or maxNum: a NaN loses unless the modifiers have NAN; -0 is below +0."""
    bits = {2: U16, 4: U32, 8: U64}[x.dtype.itemsize]
    negative = (x.view(bits) >> bits(8 * x.dtype.itemsize - 1)).astype(bool)
    less = (x < y) | ((x == y) & negative)
    picked = np.where(least == less, x, y)
    picked = np.where(np.isnan(x), y, np.where(np.isnan(y), x, picked))
    if "NAN" in parameters:
        picked = np.where(np.isnan(x) | np.isnan(y), x.dtype.type(np.nan), picked)
    return picked


@primitive("fmnmx")
def fmnmx(parameters: Parameters, a: Array, b: Array, ci: Array) -> tuple[Array, ...]:
    """The smaller where the predicate holds, else the larger."""
    x, y = (_flush(parameters, v).view(F32) for v in (a, b))
    return (np.asarray(extreme(parameters, x, y, ci), F32).view(U32),)


@primitive("fmnmx3")
def fmnmx3(parameters: Parameters, a: Array, b: Array, c: Array, ci: Array) -> tuple[Array, ...]:
    """The smallest of three where the predicate holds, else the largest."""
    return fmnmx(parameters, fmnmx(parameters, a, b, ci)[0], c, ci)


@primitive("fselect")
def fselect(parameters: Parameters, a: Array, b: Array, ci: Array) -> tuple[Array, ...]:
    """A where the predicate holds, else b."""
    return (np.where(ci, _flush(parameters, a), _flush(parameters, b)),)


_COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "EQ": lambda x, y: x == y,
    "NE": lambda x, y: (x < y) | (x > y),
    "LT": lambda x, y: x < y,
    "LE": lambda x, y: x <= y,
    "GT": lambda x, y: x > y,
    "GE": lambda x, y: x >= y,
    "EQU": lambda x, y: ~((x < y) | (x > y)),
    "NEU": lambda x, y: ~(x == y),
    "LTU": lambda x, y: ~(x >= y),
    "LEU": lambda x, y: ~(x > y),
    "GTU": lambda x, y: ~(x <= y),
    "GEU": lambda x, y: ~(x < y),
    "NUM": lambda x, y: ~(np.isnan(x) | np.isnan(y)),
    "NAN": lambda x, y: np.isnan(x) | np.isnan(y),
}


def compared(parameters: Parameters, x: Array, y: Array, ci: Array) -> tuple[Array, Array]:
    """A comparison and its opposite, each joined with ci; with U true for a NaN."""
    name = next(p for p in parameters if p in _COMPARE)
    return combine(parameters, _COMPARE[name](x, y), ci)


@primitive("fcompare")
def fcompare(parameters: Parameters, a: Array, b: Array, ci: Array) -> tuple[Array, ...]:
    """A comparison of floats and its opposite, each joined with ci."""
    x, y = (_flush(parameters, v).view(F32) for v in (a, b))
    return compared(parameters, x, y, ci)


@primitive("fset")
def fset(parameters: Parameters, a: Array, b: Array, ci: Array) -> tuple[Array, ...]:
    """1.0 where a comparison joined with ci holds, else 0."""
    return (np.where(fcompare(parameters, a, b, ci)[0], U32(0x3F800000), U32(0)),)


@primitive("fcheck")
def fcheck(parameters: Parameters, a: Array, b: Array) -> tuple[Array, ...]:
    """Whether a / b needs the slow path: exponents where the fast one could overflow or lose bits."""
    x, y = ((v >> U32(23) & U32(255)).astype(np.int32) for v in (a, b))
    return ((x > 252) | (x < 24) | (y > 252) | (y < 2) | (abs(x - y) > 125),)


_MUFU: dict[str, Callable[[Array], Array]] = {
    "EX2": np.exp2,
    "LG2": np.log2,
    "RCP": lambda x: 1.0 / x,
    "RSQ": lambda x: 1.0 / np.sqrt(x),
    "SQRT": np.sqrt,
    "SIN": lambda x: np.sin(x * (2.0 * np.pi)),
    "COS": lambda x: np.cos(x * (2.0 * np.pi)),
    "TANH": np.tanh,
}
"""Functions of the multifunction unit on doubles; sine and cosine count in turns."""


def mufu_exact(name: str, value: Array) -> Array:
    """A function of the multifunction unit, in the precision of its argument."""
    return np.asarray(_MUFU[name](value))


@primitive("mufu")
def mufu(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """A function of the multifunction unit; denormal inputs and results are zeros."""
    value = _flush(("FTZ",), a).view(F32).astype(F64)
    return (_flush(("FTZ",), mufu_exact(parameters[0], value).astype(F32).view(U32)),)


@primitive("mufu64h")
def mufu64h(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """The high word of an approximate reciprocal (or of a root) of a double, from its high word."""
    value = (a.astype(U64) << U64(32)).view(F64)
    found = 1.0 / value if "RCP64H" in parameters else 1.0 / np.sqrt(value)
    return ((found.view(U64) >> U64(32)).astype(U32),)


@primitive("dadd")
def dadd(parameters: Parameters, a: Array, b: Array) -> tuple[Array, ...]:
    """A + b in 64 bits."""
    return ((a.view(F64) + b.view(F64)).view(U64),)


@primitive("dmul")
def dmul(parameters: Parameters, a: Array, b: Array) -> tuple[Array, ...]:
    """A * b in 64 bits."""
    return ((a.view(F64) * b.view(F64)).view(U64),)


@primitive("dfma")
def dfma(parameters: Parameters, a: Array, b: Array, c: Array) -> tuple[Array, ...]:
    """A * b + c in 64 bits, through the platform's widest float: nearly rounded once."""
    x, y, z = (v.view(F64).astype(np.longdouble) for v in (a, b, c))
    return ((x * y + z).astype(F64).view(U64),)


@primitive("dmnmx")
def dmnmx(parameters: Parameters, a: Array, b: Array, ci: Array) -> tuple[Array, ...]:
    """The smaller where the predicate holds, else the larger, in 64 bits."""
    return (np.asarray(extreme(parameters, a.view(F64), b.view(F64), ci), F64).view(U64),)


@primitive("dcompare")
def dcompare(parameters: Parameters, a: Array, b: Array, ci: Array) -> tuple[Array, ...]:
    """A comparison of doubles and its opposite, each joined with ci."""
    return compared(parameters, a.view(F64), b.view(F64), ci)
