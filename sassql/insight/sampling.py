"""Sample data: numbers for the unknown elements of a launch, the same for every kernel that has them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sassql.insight.launch import Launch, Shape, evaluate
from sassql.insight.primitives_half import brain, to_brain

Array = npt.NDArray[Any]
_SIZES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}


class Draws:
    """``count`` samples of every unknown element: normal numbers, or uniform ones where a range is given."""

    def __init__(self, ranges: Mapping[str, tuple[float, float]], count: int = 1, seed: int = 0) -> None:
        self.ranges, self.count, self.seed = dict(ranges), count, seed
        self._kept: dict[tuple[str, str], Array] = {}

    @classmethod
    def of(cls, launch: Launch, shape: Shape, count: int = 1, seed: int = 0) -> Draws:
        """With the ranges that a launch gives for one shape."""
        ranges = {}
        for argument in (*launch.a.arguments, *launch.b.arguments):
            low, dots, high = argument.value.partition("..")
            if dots:
                ranges[argument.name] = (float(evaluate(low, shape)), float(evaluate(high, shape)))
        return cls(ranges, count, seed)

    def bits(self, name: str, kind: str, count: int) -> Array:
        """Bits of the elements of a name, shape (count, samples); ``kind`` is a type of launches."""
        key = (name, kind)
        found = self._kept.get(key)
        if found is None or len(found) < count:
            found = self._kept[key] = self._draw(name, kind, max(count, 64))
        return found[:count]

    def numbers(self, name: str, kind: str, count: int) -> Array:
        """The bits of the first sample."""
        return np.ascontiguousarray(self.bits(name, kind, count)[:, 0])

    def values(self, name: str, kind: str, count: int) -> Array:
        """The elements as doubles (integers as what they are), shape (count, samples)."""
        bits = self.bits(name, kind, count)
        if kind == "bf16":
            return brain(bits).astype(np.float64)
        if kind in _SIZES:
            return bits.view({2: np.float16, 4: np.float32, 8: np.float64}[_SIZES[kind]]).astype(np.float64)
        return bits.view(np.int32) if kind == "i32" else bits

    def _draw(self, name: str, kind: str, count: int) -> Array:
        # one generator for each element: a longer array begins with the elements of a shorter one
        seed = zlib.crc32(f"{self.seed}:{name}:{kind}".encode())
        rng = np.random.Generator(np.random.PCG64(seed))
        size = (1 << max(count - 1, 1).bit_length(), self.count)
        if kind not in _SIZES:
            whole = np.uint64 if kind.endswith("64") else np.uint32
            return rng.integers(0, np.iinfo(whole).max, size, whole, endpoint=True)
        low_high = self.ranges.get(name)
        value = rng.standard_normal(size) if low_high is None else rng.uniform(*low_high, size)
        if kind == "bf16":
            return to_brain(value.astype(np.float32))
        width = _SIZES[kind]
        float_type, int_type = {
            2: (np.float16, np.uint16),
            4: (np.float32, np.uint32),
            8: (np.float64, np.uint64),
        }[width]
        return value.astype(float_type).view(int_type)
