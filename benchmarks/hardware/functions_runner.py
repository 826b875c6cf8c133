"""How far the multifunction unit (MUFU) is from correctly rounded results, which sassql's executor assumes.

python3 functions_runner.py JOB_FOLDER RESULTS.json

Every float of an interval goes through one instruction; the exact value comes from numpy's doubles.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from driver import Gpu

Floats = npt.NDArray[np.float32]
Exact = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
CUBIN = "after_advice.cubin"
_BLOCK = 256


def between(low: float, high: float) -> Floats:
    """Every float from ``low`` to below ``high``, both positive."""
    first, last = (int(np.float32(v).view(np.uint32)) for v in (low, high))
    return np.arange(first, last, dtype=np.uint32).view(np.float32)


def evenly(low: float, high: float) -> Floats:
    """2^23 floats at even distances."""
    return np.linspace(low, high, 1 << 23, endpoint=False).astype(np.float32)


CASES: dict[str, tuple[str, Exact, Floats]] = {
    "mufu_rcp": ("1/x, every x in [1, 2)", lambda x: 1 / x, between(1, 2)),
    "mufu_rsq": ("1/sqrt(x), every x in [1, 4)", lambda x: 1 / np.sqrt(x), between(1, 4)),
    "mufu_sqrt": ("sqrt(x), every x in [1, 4)", np.sqrt, between(1, 4)),
    "mufu_ex2": ("2^x, x in [-1, 1)", np.exp2, evenly(-1, 1)),
    "mufu_lg2": ("log2(x), every x in [2, 4)", np.log2, between(2, 4)),
    "mufu_sin": ("sin(x), x in [-pi, pi)", np.sin, evenly(-np.pi, np.pi)),
    "mufu_cos": ("cos(x), x in [-pi, pi)", np.cos, evenly(-np.pi, np.pi)),
    "mufu_tanh": ("tanh(x), x in [-4, 4)", np.tanh, evenly(-4, 4)),
}


def errors(found: Floats, exact: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Largest errors: in units of the last place of the exact value, absolute and relative; bits that differ."""
    nearest = exact.astype(np.float32)
    step = np.spacing(np.abs(nearest)).astype(np.float64)
    apart = np.abs(found.astype(np.float64) - exact)
    large = np.abs(exact) > 2**-20
    return {
        "values": len(found),
        "not_nearest": int((found.view(np.uint32) != nearest.view(np.uint32)).sum()),
        "ulp": float((apart / step).max()),
        "absolute": float(apart.max()),
        "relative": float((apart[large] / np.abs(exact[large])).max()),
    }


def measure(gpu: Gpu, folder: Path, name: str) -> dict[str, Any]:
    """One instruction on its interval."""
    what, exact, x = CASES[name]
    source, target = gpu.allocate(x.nbytes), gpu.allocate(x.nbytes)
    gpu.upload(source, x)
    parameters = [source.to_bytes(8, "little"), target.to_bytes(8, "little"), len(x).to_bytes(4, "little")]
    grid = (-(-len(x) // _BLOCK), 1, 1)
    gpu.launch(gpu.function(folder / CUBIN, name), grid, (_BLOCK, 1, 1), 0, parameters)
    gpu.wait()
    found = gpu.download(target, x.nbytes).view(np.float32)
    gpu.free(source)
    gpu.free(target)
    return {"name": name, "what": what, **errors(found, exact(x.astype(np.float64)))}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("results", type=Path)
    options = parser.parse_args()
    gpu = Gpu()
    found = [measure(gpu, options.folder, name) for name in CASES]
    options.results.write_text(json.dumps(found, indent=1), "utf-8")


if __name__ == "__main__":
    main()
