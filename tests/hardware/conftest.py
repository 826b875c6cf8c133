"""The scripts of benchmarks/hardware, and a stand-in for the GPU that computes what the references say."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
for folder in (ROOT / "benchmarks" / "hardware", ROOT / "tests" / "insight"):
    sys.path.insert(0, str(folder))

from inputs import for_reference  # noqa: E402
from references import REFERENCES  # noqa: E402


class StandIn:
    """Runs a kernel by its reference in numpy; `change` may then spoil what it wrote."""

    def __init__(self, change=lambda kernel, name, part: None):
        self.change = change

    def run(self, side, image, seed):
        after = image.data.copy()
        with np.errstate(all="ignore"):  # special values
            return self._run(side, image, seed, after)

    def _run(self, side, image, seed, after):
        wanted = REFERENCES[side["kernel"]](**for_reference(side["arguments"], image, side["shape"], seed))
        types = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "u32": np.uint32, "f16": np.float16}
        for argument in side["arguments"]:
            if argument["own"] in wanted and argument["direction"]:
                raw = np.asarray(wanted[argument["own"]]).astype(types[argument["type"]]).view(np.uint8)
                part = image.part(argument["name"], after)
                part[: len(raw)] = raw
                self.change(side["kernel"], argument["name"], part)
        return after


@pytest.fixture
def stand_in():
    return StandIn
