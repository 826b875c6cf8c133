"""Random data of a launch, and where each buffer lies in one image of the GPU's memory.

The numbers are those of `sassql.insight.sampling.Draws` with one sample and, for integers that a launch
description gives a range for, with seed 0 those of `sassql.insight.launching`: so what sassql's executor
predicts for a seed can be compared with what a GPU computes. This module needs numpy only; a test compares it
with the original.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]

SPECIAL = 1000
"""From this seed on, some of the floats are NaN, infinite, zero of either sign, denormal, or huge."""
_SPECIALS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 1e-45, 1.1754943e-38, 3e38, -3e38, 1e-20)
_EVERY = 48
GUARD = 512
"""Bytes around every buffer that no kernel may touch."""
_GUARD_BYTE = 0xA5
_ALIGNED = 256
_FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
_SIZES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "u8": 1, "i32": 4, "u32": 4, "i64": 8, "u64": 8}


class Argument(TypedDict, total=False):
    """An argument of a launch as the job file has it."""

    name: str
    own: str  # the kernel's own name for it, which references know
    direction: str  # in, out, inout, scratch; empty for a number
    type: str
    count: int
    range: list[float]  # floats: uniform between these; integers: from the first to below the second
    permutation: bool
    seed: str  # of integers with a range: what their seed is made of
    value: float  # of a number that is fixed


def _generator(text: str) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(zlib.crc32(text.encode())))


def to_brain(value: npt.NDArray[np.float32]) -> Array:
    """32-bit floats rounded to bfloat16, as bits."""
    bits = value.view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)).astype(
        np.uint16
    )


def draw(name: str, kind: str, count: int, seed: int, bounds: list[float] | None = None) -> Array:
    """Bits of random elements: normal floats (uniform between ``bounds``), integers of all values."""
    rng = _generator(f"{seed}:{name}:{kind}")
    if kind not in _FLOATS and kind != "bf16":
        whole = np.uint64 if kind.endswith("64") else np.uint32
        return rng.integers(0, np.iinfo(whole).max, count, whole, endpoint=True)
    value = rng.standard_normal(count) if bounds is None else rng.uniform(bounds[0], bounds[1], count)
    if seed >= SPECIAL:
        where = rng.integers(0, count, max(count // _EVERY, 1))
        value[where] = rng.choice(_SPECIALS, len(where))
    with np.errstate(over="ignore"):
        return to_brain(value.astype(np.float32)) if kind == "bf16" else value.astype(_FLOATS[kind])


def buffer(argument: Argument, seed: int) -> Bytes:
    """The bytes of a buffer before the launch."""
    kind, count = argument["type"], argument["count"]
    if "seed" in argument:
        text = argument["seed"] if seed == 0 else f"{seed}:{argument['seed']}"
        # the original seeds its default generator with the number itself
        rng = np.random.default_rng(zlib.crc32(text.encode()))
        whole = np.dtype({"u": "uint", "i": "int"}[kind[0]] + kind[1:])
        if argument.get("permutation"):
            found = rng.permutation(count)
        else:
            low, high = argument["range"]
            found = rng.integers(int(low), int(high), count)
        return found.astype(whole).view(np.uint8)
    held = argument["direction"] in ("in", "inout")
    name = argument["name"] if held else f"{argument['name']} before"
    bounds = argument.get("range") if held else None
    return np.ascontiguousarray(draw(name, kind, count, seed, bounds)).view(np.uint8)


def number(argument: Argument, seed: int) -> bytes:
    """The bytes of an argument that is a number."""
    kind = argument["type"]
    single, pair = kind.removesuffix("x2"), kind.endswith("x2")
    if "value" not in argument:
        ordinary = seed % SPECIAL
        return draw(argument["name"], single, 2 if pair else 1, ordinary, argument.get("range")).tobytes()
    value = argument["value"]
    if single in _FLOATS:
        return np.full(2 if pair else 1, value, _FLOATS[single]).tobytes()
    if single == "bf16":
        return to_brain(np.full(2 if pair else 1, value, np.float32)).tobytes()
    return (int(value) & (1 << 8 * _SIZES[kind]) - 1).to_bytes(_SIZES[kind], "little")


@dataclass(slots=True)
class Image:
    """All buffers of a launch in one block of memory, with guards around each."""

    data: Bytes
    places: dict[str, tuple[int, int]]
    """First byte and size of each buffer."""

    @classmethod
    def of(cls, arguments: list[Argument], seed: int) -> Image:
        """Filled with the data of a seed."""
        parts = {a["name"]: buffer(a, seed) for a in arguments if a["direction"]}
        places, at = {}, GUARD
        for name, part in parts.items():
            places[name] = (at, part.nbytes)
            at = -(-(at + part.nbytes + GUARD) // _ALIGNED) * _ALIGNED
        data = np.full(at, _GUARD_BYTE, np.uint8)
        for name, part in parts.items():
            first, size = places[name]
            data[first : first + size] = part
        return cls(data, places)

    def part(self, name: str, data: Bytes | None = None) -> Bytes:
        """The bytes of a buffer, in this image or in another one laid out like it."""
        first, size = self.places[name]
        return (self.data if data is None else data)[first : first + size]

    def parameters(self, arguments: list[Argument], base: int, seed: int) -> list[bytes]:
        """The bytes of each kernel parameter for an image at address ``base``."""
        return [
            (base + self.places[a["name"]][0]).to_bytes(8, "little") if a["direction"] else number(a, seed)
            for a in arguments
        ]

    def harmed(self, after: Bytes, arguments: list[Argument]) -> list[str]:
        """What a kernel changed that it must not: inputs, and guards."""
        same = np.ones(len(self.data), bool)
        for argument in arguments:
            if argument["direction"] in ("out", "inout", "scratch"):
                first, size = self.places[argument["name"]]
                same[first : first + size] = False
        wrong = np.flatnonzero((self.data != after) & same)
        return [f"byte {int(wrong[0])} of the image, and {len(wrong) - 1} more"] if len(wrong) else []


def values(raw: Bytes, kind: str) -> Array:
    """Bytes as numbers: floats as doubles, integers as they are."""
    single = kind.removesuffix("x2")
    if single == "bf16":
        return (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if single in _FLOATS:
        with np.errstate(invalid="ignore"):  # a signalling NaN
            return raw.view(_FLOATS[single]).astype(np.float64)
    return raw.view(np.dtype({"u": "uint", "i": "int"}[kind[0]] + kind[1:]))


def for_reference(
    arguments: list[Argument], image: Image, shape: dict[str, int], seed: int
) -> dict[str, Any]:
    """What a reference in numpy is called with: the kernel's own names, and those of the shape."""
    found: dict[str, Any] = dict(shape)
    for argument in arguments:
        if argument["direction"]:
            found[argument["own"]] = values(image.part(argument["name"]), argument["type"])
        else:
            single = values(np.frombuffer(number(argument, seed), np.uint8), argument["type"])
            if argument["type"].endswith("x2"):
                found[argument["own"]] = single
            elif argument["type"][0] in "fb":
                found[argument["own"]] = float(single[0])
            else:
                found.setdefault(argument["own"], int(single[0]))
    return found
