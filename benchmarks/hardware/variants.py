"""Writes a job of every kernel of corpora/lowering against itself, compiled with other options: `variants.json`.

python benchmarks/hardware/variants.py FOLDER

The other machine code of the same source is where sassql gives most of its E0; a GPU then says whether the bits are
the same. `device_runner.py FOLDER RESULTS.json --job variants.json` runs it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

from prepare import ARCH, LAUNCH, LOWERING, Kernels, Record, side_record, verdict

import sassql
from sassql.insight.compare import compare
from sassql.insight.launch import read_launch
from sassql.insight.sampling import Draws

OPTIONS = {
    "O0": "--ptxas-options=-O0",
    "registers": "--maxrregcount=32",
    "nofma": "--fmad=false",
    "fast": "--use_fast_math",
}


def compiled(folder: Path, option: str) -> Kernels:
    """The corpus with one more option."""
    shutil.copytree(LOWERING, folder, dirs_exist_ok=True)
    manifest = folder / "manifest.toml"
    text = manifest.read_text("utf-8")
    manifest.write_text(
        text.replace('options = ["--std=c++17"]', f'options = ["--std=c++17", "{option}"]'), "utf-8"
    )
    return Kernels(folder)


def variant_record(name: str, kernels: tuple[Kernels, Kernels], prefix: str) -> Record:
    """A kernel against its other machine code, on the shapes of the launch file."""
    launch = replace(read_launch(LAUNCH, name), partial=True)
    found = verdict(compare(kernels[0].kernels[name], kernels[1].kernels[name], launch))
    cubins = (kernels[0].cubins[name].name, f"{prefix}_{kernels[1].cubins[name].name}")
    runs = []
    for shape in launch.shapes:
        ranges = Draws.of(launch, shape).ranges
        sides = [side_record(name, cubin, launch.a, shape, ranges) for cubin in cubins]
        runs.append({"kind": "launch", "foretold": None, "a": sides[0], "b": sides[1]})
    return {"a": name, "b": f"{name} {prefix}", "documented": "", "verdicts": {"launch": found}, "runs": runs}


def write(folder: Path, only: set[str] | None = None) -> list[Record]:
    """Write the job for every option."""
    folder.mkdir(parents=True, exist_ok=True)
    plain = Kernels()
    pairs: list[Record] = []
    plain.copy(folder)
    for prefix, option in OPTIONS.items():
        other = compiled(folder / "sources" / prefix, option)
        for path in sorted(set(other.cubins.values())):
            shutil.copy(path, folder / f"{prefix}_{path.name}")
        started = time.time()
        names = [name for name in sorted(plain.kernels) if only is None or name in only]
        pairs += [variant_record(name, (plain, other), prefix) for name in names]
        print(f"{option}: {time.time() - started:.0f} s", file=sys.stderr, flush=True)
    job = {"sassql": sassql.__version__, "arch": ARCH, "pairs": pairs, "singles": []}
    (folder / "variants.json").write_text(json.dumps(job), "utf-8")
    return pairs


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", help="such as ew_relu,ew_sin")
    options = parser.parse_args()
    pairs = write(options.folder, set(options.only.split(",")) if options.only else None)
    levels = [pair["verdicts"]["launch"]["level"] for pair in pairs]
    print({level: levels.count(level) for level in sorted(set(levels))})


if __name__ == "__main__":
    main()
