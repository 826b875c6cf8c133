"""Writes a job for a machine with a GPU: cubins, launches, and what sassql predicts of them.

python benchmarks/hardware/prepare.py FOLDER [--only PAIR_OR_KERNEL,...]

The folder then holds everything that `device_runner.py` needs there: cubins of corpora/lowering for sm_90, the
scripts (ctypes and numpy only), the references in numpy, `job.json`, and `predicted.npz` with what the executor
leaves in every output of every kernel.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import re
import shutil
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from device_runner import Extremes, compare_output

import sassql
from sassql.corpus.build import build
from sassql.errors import UsageError
from sassql.insight import running
from sassql.insight.compare import Comparison, compare, elements
from sassql.insight.dag import Dag
from sassql.insight.evaluation import rounded
from sassql.insight.launch import FLOATS, TYPES, Argument, Launch, Shape, Side, evaluate, read_launch, whole
from sassql.insight.sampling import Draws
from sassql.insight.state import Fault, Refused

ROOT = Path(sassql.__file__).parents[1]
LOWERING = ROOT / "corpora" / "lowering"
LAUNCH = LOWERING / "launch.toml"
HERE = Path(__file__).parent
ARCH = "sm_90"
SEEDS = 20
CARRIED = [
    HERE / "driver.py",
    HERE / "inputs.py",
    HERE / "device_runner.py",
    HERE / "traffic_runner.py",
    HERE / "functions_runner.py",
    HERE / "on_device.sh",
    ROOT / "tests" / "insight" / "references.py",
]
_UNMODELLED = re.compile(r"MUFU|HMMA|(RED|REDG|ATOM|ATOMG|ATOMS)\b.*\.F(16|32|64)")
Record = dict[str, Any]
Ranges = Mapping[str, tuple[float, float]]


class Kernels:
    """The kernels of a folder of sources, compiled for sm_90, and where their cubins are."""

    def __init__(self, folder: Path = LOWERING) -> None:
        built = build(folder, [ARCH])
        if built.problems:
            raise UsageError(str(built.problems[0]))
        self.cubins: dict[str, Path] = {}
        self.kernels: dict[str, sassql.Kernel] = {}
        for cubin in built.cubins:
            for kernel in sassql.load(cubin.path).kernels:
                self.kernels[kernel.name], self.cubins[kernel.name] = kernel, cubin.path

    def copy(self, target: Path) -> None:
        """Copy the cubins."""
        for path in sorted(set(self.cubins.values())):
            shutil.copy(path, target / path.name)


def argument_record(argument: Argument, own: str, names: Shape, ranges: Ranges) -> Record:
    """An argument of a launch as `inputs.py` understands it; ``ranges`` are those of both kernels of a pair."""
    found: Record = {
        "name": argument.name,
        "own": own,
        "direction": argument.direction,
        "type": argument.type,
    }
    floats = argument.type in FLOATS
    if argument.is_buffer:
        found["count"] = whole(argument.size, names)
    low, dots, high = argument.value.partition("..")
    if argument.value == "permutation":
        found["permutation"] = True
    elif dots:
        found["range"] = [evaluate(low, names), evaluate(high, names)]
    elif argument.is_buffer and argument.value:
        found["range"] = [whole(low, names), whole(low, names) + 1]
    elif not argument.is_buffer and (argument.value or not floats):
        found["value"] = evaluate(argument.value or argument.name, names)
    elif floats and argument.name in ranges:
        found["range"] = list(ranges[argument.name])
    if argument.is_buffer and argument.value and not floats:
        found["seed"] = f"{argument.name}:{found['count']}:{argument.value}"
    return found


def side_record(kernel: str, cubin: str, side: Side, shape: Shape, ranges: Ranges | None = None) -> Record:
    """One kernel on one shape: extents, dynamic shared memory in bytes, arguments."""
    names: Shape = dict(shape)
    for argument in side.arguments:
        if not argument.is_buffer and argument.value and argument.type not in FLOATS:
            names.setdefault(argument.name, whole(argument.value, names))
    own = read_launch(LAUNCH, kernel).a.arguments if kernel in described() else side.arguments
    return {
        "kernel": kernel,
        "cubin": cubin,
        "grid": [whole(item, names) for item in side.grid],
        "block": [whole(item, names) for item in side.block],
        "shared": whole(side.shared, names),
        "arguments": [
            argument_record(a, o.name, names, ranges or {}) for a, o in zip(side.arguments, own, strict=True)
        ],
        "shape": names,
    }


def described() -> set[str]:
    """The kernels that launch.toml describes."""
    return set(tomllib.loads(LAUNCH.read_text("utf-8"))["kernel"])


def more_shapes(a: str, b: str) -> dict[str, Shape]:
    """The shapes of a pair in larger.toml."""
    table = tomllib.loads((HERE / "larger.toml").read_text("utf-8"))
    for pair in table["pair"]:
        if (pair["a"], pair["b"]) == (a, b):
            return {"larger": pair["larger"], "big": pair["big"]}
    for family in table["family"]:
        if any(fnmatch.fnmatchcase(a, pattern) for pattern in family["kernels"].split()):
            return {"larger": family["larger"], "big": family["big"]}
    raise UsageError(f"larger.toml has nothing for {a}")


class Seeds(Draws):
    """The data of several seeds side by side: column s has what the GPU gets for seed s."""

    def __init__(self, launch: Launch, shape: Shape, count: int) -> None:
        one = Draws.of(launch, shape)
        super().__init__(one.ranges, count)
        self.columns = [Draws(one.ranges, 1, seed) for seed in range(count)]

    def _draw(self, name: str, kind: str, count: int) -> Any:
        return np.concatenate([column.bits(name, kind, count) for column in self.columns], axis=1)


def on_the_same_data(kernels: Kernels, a: str, b: str, launch: Launch, shape: Shape) -> Record:
    """How far apart the outputs of a pair are in the executor's arithmetic, on the data that the GPU gets.

    Outputs that a kernel leaves alone do not count.
    """
    dag, seeds, extremes = Dag(), Seeds(launch, shape, SEEDS), Extremes()
    runs = [
        running.run(kernels.kernels[name], side, shape, dag=dag)
        for name, side in ((a, launch.a), (b, launch.b))
    ]
    for argument in launch.a.arguments:
        one, other = (run.outputs.get(argument.name) for run in runs)
        if argument.direction not in ("out", "inout") or one is None or other is None:
            continue
        stored = one.stored & other.stored
        count = min(one.buffer.count, other.buffer.count)
        width = np.dtype(f"u{TYPES[argument.type]}")
        bits = [
            rounded(dag, elements(dag, side, argument.type, stored, count)[0], seeds).astype(width)
            for side in (one, other)
        ]
        for column in range(SEEDS):
            parts = [np.ascontiguousarray(side[:, column]).view(np.uint8) for side in bits]
            compare_output(extremes, argument.type, *parts)
    return {
        **extremes.counts,
        "value": extremes.largest.get("value"),
        "between": extremes.largest.get("between"),
    }


def verdict(found: Comparison) -> Record:
    """What sassql says, for the job."""
    fields = ("level", "outputs", "error_a", "error_b", "difference", "reason")
    return {name: getattr(found, name) for name in fields}


def pair_record(kernels: Kernels, a: str, b: str, documented: str) -> Record:
    """A pair on the shapes of launch.toml, on a larger one, and on one that only a GPU runs."""
    launch = read_launch(LAUNCH, a, b)
    one, other = kernels.kernels[a], kernels.kernels[b]
    more = more_shapes(a, b)
    shapes = [("launch", s) for s in launch.shapes] + list(more.items())
    shapes.sort(key=lambda item: ("launch", "larger", "big").index(item[0]))
    found = {"launch": verdict(compare(one, other, launch))}
    found["larger"] = verdict(compare(one, other, launch, shapes=[more["larger"]], coverage=False))
    return {
        "a": a,
        "b": b,
        "documented": documented,
        "verdicts": found,
        "runs": [
            {
                "kind": kind,
                "foretold": None if kind == "big" else on_the_same_data(kernels, a, b, launch, shape),
                "a": side_record(a, kernels.cubins[a].name, launch.a, shape, Draws.of(launch, shape).ranges),
                "b": side_record(b, kernels.cubins[b].name, launch.b, shape, Draws.of(launch, shape).ranges),
            }
            for kind, shape in shapes
        ],
    }


def unmodelled(kernel: sassql.Kernel) -> list[str]:
    """What a kernel has whose bits the executor does not foretell: the multifunction unit, tensor cores, the order
    of float atomics."""
    texts = {".".join((i.opcode, *i.modifiers)) for i in kernel.instructions}
    return sorted(text for text in texts if _UNMODELLED.match(text))


def executed(kernels: Kernels, name: str, keep: dict[str, Any]) -> Iterator[Record]:
    """A kernel on its shapes, and in ``keep`` what the executor leaves in its outputs."""
    launch = read_launch(LAUNCH, name)
    for number, shape in enumerate(launch.shapes):
        draws = Draws.of(launch, shape, seed=0)
        record = side_record(name, kernels.cubins[name].name, launch.a, shape)
        try:
            done = running.run(kernels.kernels[name], launch.a, shape, crossing=number % 2 == 0, draws=draws)
        except (Refused, Fault) as reason:
            yield {**record, "refused": str(reason)}
            continue
        for argument in launch.a.arguments:
            if argument.direction in ("out", "inout", "scratch"):
                bits = done.numbers(argument.name, draws)
                keep[f"{name}/{number}/{argument.name}"] = np.ascontiguousarray(bits).view(np.uint8)
        yield {**record, "number": number, "unmodelled": unmodelled(kernels.kernels[name])}


def write(folder: Path, only: set[str] | None = None) -> Record:
    """Write the job of the pairs and of the single kernels."""
    folder.mkdir(parents=True, exist_ok=True)
    kernels = Kernels()
    kernels.copy(folder)
    for path in CARRIED:
        shutil.copy(path, folder / path.name)
    rows = [line.split("\t") for line in (LOWERING / "pairs.tsv").read_text("utf-8").splitlines()[1:]]
    pairs = []
    for a, b, documented in rows:
        if only is None or f"{a}/{b}" in only:
            started = time.time()
            pairs.append(pair_record(kernels, a, b, documented))
            levels = [v["level"] for v in pairs[-1]["verdicts"].values()]
            print(f"{a} / {b}: {levels}, {time.time() - started:.1f} s", file=sys.stderr, flush=True)
    keep: dict[str, Any] = {}
    names = [n for n in sorted(described()) if n in kernels.kernels and (only is None or n in only)]
    singles = [record for name in names for record in executed(kernels, name, keep)]
    np.savez_compressed(folder / "predicted.npz", **keep)
    job = {"sassql": sassql.__version__, "arch": ARCH, "pairs": pairs, "singles": singles}
    (folder / "job.json").write_text(json.dumps(job), "utf-8")
    return job


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", help="such as ew_relu/ew_relu_select,ew_sin")
    options = parser.parse_args()
    job = write(options.folder, set(options.only.split(",")) if options.only else None)
    print(f"{len(job['pairs'])} pairs, {len(job['singles'])} runs of single kernels in {options.folder}")


if __name__ == "__main__":
    main()
