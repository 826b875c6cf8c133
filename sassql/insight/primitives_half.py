"""Primitives on halves (one call for each half) and conversions between formats."""

from __future__ import annotations

import numpy as np

from sassql.insight.primitives import Array, Parameters, primitive
from sassql.insight.primitives_float import extreme

F16, F32, F64 = np.float16, np.float32, np.float64
U16, U32, U64 = np.uint16, np.uint32, np.uint64


def _half(value: Array) -> Array:
    return value.astype(U16).view(F16)


def brain(value: Array) -> Array:
    """Bits of bfloat16 numbers as 32-bit floats."""
    return (value.astype(U32) << U32(16)).view(F32)


def to_brain(value: Array) -> Array:
    """32-bit floats rounded to bfloat16, as bits."""
    bits = np.asarray(value, F32).view(U32)
    rounded = (bits + U32(0x7FFF) + (bits >> U32(16) & U32(1))) >> U32(16)
    return np.where(np.isnan(value), U32(0x7FFF), rounded).astype(U16)


def _saturated(parameters: Parameters, value: Array) -> Array:
    found = np.asarray(value)
    if "SAT" in parameters:
        found = np.where(np.isnan(found), 0, np.clip(found, 0, 1))
    return np.asarray(found, F16).view(U16)


@primitive("hadd")
def hadd(parameters: Parameters, a: Array, b: Array) -> tuple[Array, ...]:
    """A + b in 16 bits."""
    return (_saturated(parameters, _half(a) + _half(b)),)


@primitive("hmul")
def hmul(parameters: Parameters, a: Array, b: Array) -> tuple[Array, ...]:
    """A * b in 16 bits."""
    return (_saturated(parameters, _half(a) * _half(b)),)


@primitive("hfma")
def hfma(parameters: Parameters, a: Array, b: Array, c: Array) -> tuple[Array, ...]:
    """A * b + c in 16 bits, rounded once: the double holds the exact sum."""
    x, y, z = (_half(v).astype(F64) for v in (a, b, c))
    return (_saturated(parameters, (x * y + z).astype(F16)),)


@primitive("hmnmx")
def hmnmx(parameters: Parameters, a: Array, b: Array, ci: Array) -> tuple[Array, ...]:
    """The smaller where the predicate holds, else the larger, in 16 bits."""
    return (np.asarray(extreme(parameters, _half(a), _half(b), ci), F16).view(U16),)


@primitive("hadd_f32")
def hadd_f32(parameters: Parameters, a: Array, b: Array) -> tuple[Array, ...]:
    """The sum of two halves as a 32-bit float; with a zero of the right sign, a conversion."""
    return ((_half(a).astype(F32) + _half(b).astype(F32)).view(U32),)


@primitive("badd")
def badd(parameters: Parameters, a: Array, b: Array) -> tuple[Array, ...]:
    """A + b in bfloat16."""
    return (to_brain(brain(a) + brain(b)),)


@primitive("bmul")
def bmul(parameters: Parameters, a: Array, b: Array) -> tuple[Array, ...]:
    """A * b in bfloat16."""
    return (to_brain(brain(a) * brain(b)),)


@primitive("bfma")
def bfma(parameters: Parameters, a: Array, b: Array, c: Array) -> tuple[Array, ...]:
    """A * b + c in bfloat16, rounded from a double."""
    x, y, z = (brain(v).astype(F64) for v in (a, b, c))
    return (to_brain((x * y + z).astype(F32)),)


@primitive("bmnmx")
def bmnmx(parameters: Parameters, a: Array, b: Array, ci: Array) -> tuple[Array, ...]:
    """The smaller where the predicate holds, else the larger, in bfloat16."""
    return (to_brain(extreme(parameters, brain(a), brain(b), ci)),)


@primitive("f2f_narrow")
def f2f_narrow(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """A double as a 32-bit float."""
    return (a.view(F64).astype(F32).view(U32),)


@primitive("f2f_widen")
def f2f_widen(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """A 32-bit float as a double."""
    return (a.view(F32).astype(F64).view(U64),)


def to_half(parameters: Parameters, a: Array) -> Array:
    """A 32-bit float as a half or, with BF16, as a bfloat16: bits in 16 bits."""
    value = a.view(F32)
    if "RELU" in parameters:
        value = np.where(value > 0, value, F32(0))
    if "BF16" in parameters:
        return (value.view(U32) >> U32(16)).astype(U16) if "RZ" in parameters else to_brain(value)
    return value.astype(F16).view(U16)


@primitive("narrow")
def narrow(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """A 32-bit float as a half: the nodes of f2h and f2h_pack are made of it."""
    return (to_half(parameters, a),)


@primitive("f2h")
def f2h(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """A 32-bit float as a half in the low bits."""
    return (to_half(parameters, a).astype(U32),)


@primitive("f2h_pack")
def f2h_pack(parameters: Parameters, a: Array, b: Array) -> tuple[Array, ...]:
    """Two 32-bit floats as halves: b low, a high."""
    return (to_half(parameters, b).astype(U32) | to_half(parameters, a).astype(U32) << U32(16),)


def _as_float(parameters: Parameters, value: Array) -> Array:
    """An integer as the 32-bit float that the rounding mode asks for."""
    near = value.astype(F32)
    if "RP" in parameters:
        near = np.where(near.astype(F64) < value.astype(F64), np.nextafter(near, F32(np.inf)), near)
    elif "RM" in parameters:
        near = np.where(near.astype(F64) > value.astype(F64), np.nextafter(near, F32(-np.inf)), near)
    elif "RZ" in parameters:
        far = abs(near.astype(F64)) > abs(value.astype(F64))
        near = np.where(far, np.nextafter(near, F32(0)), near)
    return np.asarray(near, F32).view(U32)


@primitive("i2f")
def i2f(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """A word as a 32-bit float."""
    return (_as_float(parameters, a if "U32" in parameters else a.view(np.int32)),)


@primitive("i2f_wide")
def i2f_wide(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """A 64-bit integer as a 32-bit float."""
    return (_as_float(parameters, a if "U64" in parameters else a.view(np.int64)),)


@primitive("i2d")
def i2d(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """A word as a double."""
    return ((a if "U32" in parameters else a.view(np.int32)).astype(F64).view(U64),)


@primitive("i2d_wide")
def i2d_wide(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """A 64-bit integer as a double."""
    return ((a if "U64" in parameters else a.view(np.int64)).astype(F64).view(U64),)


def _integer(parameters: Parameters, value: Array) -> Array:
    """A double as a word, rounded as the modifiers say, kept within its range; a NaN is 0."""
    rounding = {"TRUNC": np.trunc, "FLOOR": np.floor, "CEIL": np.ceil}
    name = next((p for p in parameters if p in rounding), "")
    whole = rounding[name](value) if name else np.rint(value)
    low, high = (0.0, 4294967295.0) if "U32" in parameters else (-2147483648.0, 2147483647.0)
    whole = np.where(np.isnan(whole), 0.0, np.clip(whole, low, high))
    return whole.astype(np.int64).astype(U32)


@primitive("f2i")
def f2i(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """A 32-bit float as a word."""
    return (_integer(parameters, a.view(F32).astype(F64)),)


@primitive("d2i")
def d2i(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """A double as a word."""
    return (_integer(parameters, a.view(F64)),)


@primitive("frnd")
def frnd(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """A 32-bit float rounded to an integer."""
    rounding = {"TRUNC": np.trunc, "FLOOR": np.floor, "CEIL": np.ceil}
    name = next((p for p in parameters if p in rounding), "")
    return (np.asarray((rounding[name] if name else np.rint)(a.view(F32)), F32).view(U32),)


@primitive("widen")
def widen(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """A half, or with BF16 a bfloat16, as a 32-bit float."""
    return ((brain(a) if "BF16" in parameters else _half(a).astype(F32)).view(U32),)


@primitive("mma_step")
def mma_step(parameters: Parameters, a: Array, b: Array, c: Array) -> tuple[Array, ...]:
    """One product of a matrix multiply added to its 32-bit sum; the products are exact.

    How the hardware rounds inside of one instruction is not documented: here after every product, in the
    order of k.
    """
    x, y = (brain(v) if "BF16" in parameters else _half(v).astype(F32) for v in (a, b))
    return ((x.astype(F64) * y + c.view(F32)).astype(F32).view(U32),)


@primitive("mma_step_tf32")
def mma_step_tf32(parameters: Parameters, a: Array, b: Array, c: Array) -> tuple[Array, ...]:
    """The same for 32-bit floats of which the low 13 bits do not count."""
    x, y = ((v & U32(0xFFFFE000)).view(F32).astype(F64) for v in (a, b))
    return ((x * y + c.view(F32)).astype(F32).view(U32),)


@primitive("mma_end")
def mma_end(parameters: Parameters, a: Array) -> tuple[Array, ...]:
    """The sum of one matrix instruction: marks where the hardware rounds, and changes nothing."""
    return (a,)
