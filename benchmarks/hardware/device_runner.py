"""Runs a job on a GPU: the pairs against each other, and every kernel against what sassql's executor predicts.

python3 device_runner.py JOB_FOLDER RESULTS.json [--seeds 20]

Needs libcuda.so.1 and numpy. Both kernels of a pair get the same random inputs, and outputs that hold the same
random numbers before, so that an element which only one of them writes shows.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from inputs import SPECIAL, Array, Bytes, Image, for_reference, values

Record = dict[str, Any]
REFERENCE_BYTES = 1 << 24
"""Outputs beyond this size are compared with each other only: references in doubles take too long."""


class Runs(Protocol):
    """What launches a kernel on an image of memory; the GPU, or a stand-in in tests."""

    def run(self, side: Record, image: Image, seed: int) -> Bytes:
        """The image after the launch."""
        ...


class OnGpu:
    """Launches through the driver, in one block of GPU memory that grows when needed."""

    def __init__(self, folder: Path) -> None:
        from driver import Gpu

        self.gpu, self.folder = Gpu(), folder
        self._address, self._size = 0, 0

    def run(self, side: Record, image: Image, seed: int) -> Bytes:
        """The image after the launch."""
        size = len(image.data)
        if size > self._size:
            if self._size:
                self.gpu.free(self._address)
            self._address, self._size = self.gpu.allocate(size), size
        function = self.gpu.function(self.folder / side["cubin"], side["kernel"])
        self.gpu.upload(self._address, image.data)
        parameters = image.parameters(side["arguments"], self._address, seed)
        self.gpu.launch(function, tuple(side["grid"]), tuple(side["block"]), side["shared"], parameters)
        self.gpu.wait()
        return self.gpu.download(self._address, size)


class Extremes:
    """The largest differences and values over the seeds of one shape, and how many bits differ."""

    def __init__(self) -> None:
        self.largest: dict[str, float] = {}
        self.counts: dict[str, int] = {}
        self.undefined: list[str] = []

    def note(self, name: str, found: Array) -> None:
        """Keep the largest absolute value that is finite."""
        finite = np.abs(found[np.isfinite(found)])
        self.largest[name] = max(self.largest.get(name, 0.0), float(finite.max(initial=0.0)))

    def add(self, name: str, count: int) -> None:
        """Add to a count."""
        self.counts[name] = self.counts.get(name, 0) + count

    def relative(self, name: str) -> float | None:
        """A largest difference over the largest value; None where it was not measured."""
        if name not in self.largest:
            return None
        return self.largest[name] / (self.largest.get("value", 0.0) or 1.0)


def is_float(kind: str) -> bool:
    """Whether elements of a type are floats."""
    return kind[0] in "fb"


def differences(a: Array, b: Array) -> Array:
    """a - b, with 0 where both are the same infinity or both undefined, infinite where only one is finite."""
    with np.errstate(invalid="ignore"):
        found = a.astype(np.float64) - b.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0.0, np.where(np.isfinite(found), found, np.inf))


def against_reference(side: Record, image: Image, after: Bytes, seed: int) -> dict[str, tuple[Array, Array]]:
    """By the shared name of each float output, what it holds and what it should; only where both are known."""
    from references import REFERENCES  # type: ignore[import-not-found, unused-ignore]

    function = REFERENCES.get(side["kernel"])
    if function is None:
        return {}
    wanted = function(**for_reference(side["arguments"], image, side["shape"], seed))
    found = {}
    for argument in side["arguments"]:
        if argument["own"] in wanted and argument["direction"]:
            right = np.asarray(wanted[argument["own"]]).reshape(-1)
            made = values(image.part(argument["name"], after), argument["type"])[: len(right)]
            known = ~np.isnan(right) if right.dtype.kind == "f" else np.ones(len(right), bool)
            found[argument["name"]] = (made[known], right[known])
    return found


def pair_on_shape(machine: Runs, run: Record, seeds: int) -> Record:
    """Both kernels on the inputs of every seed."""
    a, b = run["a"], run["b"]
    shared = outputs_in_common(a, b)
    extremes, harmed = Extremes(), []
    for seed in range(seeds):
        images = [Image.of(side["arguments"], seed) for side in (a, b)]
        after = [machine.run(side, image, seed) for side, image in zip((a, b), images, strict=True)]
        for side, image, data in zip((a, b), images, after, strict=True):
            harmed += [f"{side['kernel']}: {text}" for text in image.harmed(data, side["arguments"])]
        for argument in shared:
            name, kind = argument["name"], argument["type"]
            one, other = (image.part(name, data) for image, data in zip(images, after, strict=True))
            length = min(len(one), len(other))
            compare_output(extremes, kind, one[:length], other[:length])
        if run["kind"] != "big" or (len(images[0].data) <= REFERENCE_BYTES and seed < 2):
            for which, side, image, data in zip("ab", (a, b), images, after, strict=True):
                reference_errors(extremes, which, side, image, data, seed)
    found = summary(run, extremes, seeds, harmed)
    if run["kind"] != "big":
        found["special"] = special(machine, run, seeds)
    return found


def special(machine: Runs, run: Record, seeds: int) -> Record:
    """Both kernels on data with NaN, infinities, zeros and denormals: in how many elements the bits differ."""
    a, b = run["a"], run["b"]
    extremes = Extremes()
    for seed in range(SPECIAL, SPECIAL + seeds):
        images = [Image.of(side["arguments"], seed) for side in (a, b)]
        after = [machine.run(side, image, seed) for side, image in zip((a, b), images, strict=True)]
        for argument in outputs_in_common(a, b):
            parts = [image.part(argument["name"], data) for image, data in zip(images, after, strict=True)]
            length = min(len(part) for part in parts)
            compare_output(extremes, argument["type"], parts[0][:length], parts[1][:length])
    return {"seeds": seeds, **extremes.counts}


def outputs_in_common(a: Record, b: Record) -> list[Record]:
    """The buffers that both kernels are to write."""
    names = {x["name"] for x in b["arguments"] if x["direction"] in ("out", "inout")}
    return [x for x in a["arguments"] if x["direction"] in ("out", "inout") and x["name"] in names]


def compare_output(extremes: Extremes, kind: str, one: Bytes, other: Bytes) -> None:
    """Bits and values of one output of both kernels."""
    first, second = values(one, kind), values(other, kind)
    width = one.nbytes // max(len(first), 1)
    apart = (one.reshape(-1, width) != other.reshape(-1, width)).any(axis=1)
    if is_float(kind):
        apart &= ~(np.isnan(first) & np.isnan(second))  # payloads do not count
        found = differences(first, second)
        extremes.note("value", first)
        extremes.note("value", second)
        extremes.note("between", found)
        if np.isinf(found).any():
            extremes.add("only one is finite", int(np.isinf(found).sum()))
    extremes.add("elements", len(first))
    extremes.add("bits differ", int(apart.sum()))


def reference_errors(
    extremes: Extremes, which: str, side: Record, image: Image, data: Bytes, seed: int
) -> None:
    """The error of one kernel against its reference in doubles."""
    for name, (made, right) in against_reference(side, image, data, seed).items():
        kind = next(x["type"] for x in side["arguments"] if x["name"] == name)
        if is_float(kind):
            extremes.note(f"error_{which}", differences(made, right))
            extremes.note("value", right)
        else:
            extremes.add(f"wrong_{which}", int((made.astype(np.int64) != right.astype(np.int64)).sum()))


def summary(run: Record, extremes: Extremes, seeds: int, harmed: list[str]) -> Record:
    """The result of a shape."""
    return {
        "kind": run["kind"],
        "foretold": run["foretold"],
        "shape": {**run["b"]["shape"], **run["a"]["shape"]},
        "seeds": seeds,
        **extremes.counts,
        "largest": extremes.largest.get("value"),
        **{name: extremes.relative(name) for name in ("between", "error_a", "error_b")},
        "harmed": sorted(set(harmed))[:3],
    }


def single(machine: Runs, side: Record, predicted: Any) -> Record:
    """One kernel on seed 0 against the executor, bit by bit, and against its reference."""
    image = Image.of(side["arguments"], 0)
    after = machine.run(side, image, 0)
    extremes = Extremes()
    for argument in side["arguments"]:
        key = f"{side['kernel']}/{side.get('number')}/{argument['name']}"
        if key in predicted:
            compare_output(extremes, argument["type"], image.part(argument["name"], after), predicted[key])
    reference_errors(extremes, "a", side, image, after, 0)
    return {
        "kernel": side["kernel"],
        "shape": side["shape"],
        "unmodelled": side.get("unmodelled", []),
        **extremes.counts,
        "executor": extremes.relative("between"),
        "reference": extremes.relative("error_a"),
        "harmed": image.harmed(after, side["arguments"]),
    }


def run_job(machine: Runs, folder: Path, seeds: int, big_seeds: int, name: str = "job.json") -> Record:
    """Everything of a job."""
    job = json.loads((folder / name).read_text("utf-8"))
    pairs = []
    for pair in job["pairs"]:
        started = time.time()
        runs = [pair_on_shape(machine, r, big_seeds if r["kind"] == "big" else seeds) for r in pair["runs"]]
        pairs.append({**{k: pair[k] for k in ("a", "b", "documented", "verdicts")}, "runs": runs})
        print(f"{pair['a']} / {pair['b']}: {time.time() - started:.1f} s", file=sys.stderr, flush=True)
    kept = {}
    if job["singles"]:
        with np.load(folder / "predicted.npz") as predicted:
            kept = dict(predicted)
    singles = [
        {"refused": side["refused"], "kernel": side["kernel"]}
        if "refused" in side
        else single(machine, side, kept)
        for side in job["singles"]
    ]
    return {"arch": job["arch"], "sassql": job["sassql"], "pairs": pairs, "singles": singles}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--big-seeds", type=int, default=3)
    parser.add_argument("--job", default="job.json")
    options = parser.parse_args()
    started = time.time()
    machine = OnGpu(options.folder)
    found = run_job(machine, options.folder, options.seeds, options.big_seeds, options.job)
    found = {"gpu": machine.gpu.describe(), "seconds": time.time() - started, **found}
    options.results.write_text(json.dumps(found, indent=1), "utf-8")


if __name__ == "__main__":
    main()
