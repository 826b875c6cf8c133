"""Running kernels of the corpus and comparing them with their references."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from references import REFERENCES

import sassql
from sassql.insight import running
from sassql.insight.launch import Launch
from sassql.insight.sampling import Draws

LOWERING = Path(sassql.__file__).parents[1] / "corpora" / "lowering"
LAUNCH = LOWERING / "launch.toml"


@dataclass
class Check:
    """The largest difference from the reference, relative to the largest value of the output."""

    error: float
    outputs: int


def arguments(launch: Launch, shape, draws: Draws, stage):
    found = dict(stage.shape)
    for argument in launch.a.arguments:
        kind = argument.type
        if argument.is_buffer:
            buffer = stage.buffers[argument.name]
            bits = buffer.known if buffer.known is not None else None
            found[argument.name] = (
                as_numbers(bits, kind)
                if bits is not None
                else draws.values(argument.name, kind, buffer.count)[:, 0]
            )
        elif kind in ("f32", "f64", "f16", "bf16"):
            found[argument.name] = (
                np.float32(argument.value).astype(float)
                if argument.value and ".." not in argument.value
                else draws.values(argument.name, kind, 1)[0, 0]
            )
        elif kind in ("f16x2", "bf16x2"):
            found[argument.name] = draws.values(argument.name, kind[:-2], 2)[:, 0]
    return found


def as_numbers(bits, kind):
    types = {
        "f16": np.float16,
        "f32": np.float32,
        "f64": np.float64,
        "i32": np.int32,
        "u32": np.uint32,
        "u8": np.uint8,
    }
    if kind == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(float)
    found = bits.view(types[kind])
    return found.astype(float) if kind.startswith("f") else found


def check(kernel, launch: Launch, shape, crossing=True, symbolic=False, seed=0) -> Check:
    """Run a kernel on numbers (or on unknowns, and evaluate them), against its reference."""
    draws = Draws.of(launch, shape, seed=seed)
    done = running.run(kernel, launch.a, shape, crossing=crossing, draws=None if symbolic else draws)
    concrete = running.staged(kernel, launch.a, shape, crossing, draws)
    wanted = REFERENCES[kernel.name](**arguments(launch, shape, draws, concrete))
    worst, outputs = 0.0, 0
    for name, values in wanted.items():
        kind = next(a.type for a in launch.a.arguments if a.name == name)
        found = as_numbers(done.numbers(name, draws), kind)[: len(values)]
        expected = np.asarray(values)
        mask = ~np.isnan(expected) if expected.dtype.kind == "f" else slice(None)
        found, expected = found[mask], expected[mask]
        outputs += len(expected)
        if kind in ("i32", "u32", "u8"):
            assert (found.astype(np.int64) == expected.astype(np.int64)).all(), f"{name} differs"
            continue
        finite = np.isfinite(expected)
        assert (found[~finite] == expected[~finite]).all(), f"{name} differs"
        found, expected = found[finite], expected[finite]
        if not len(found):
            continue
        scale = max(float(np.abs(expected).max()), 1e-30)
        worst = max(
            worst, float(np.abs(found - expected).max()) / scale if np.isfinite(found).all() else np.inf
        )
    return Check(worst, outputs)
