"""Measures the bounded executor and `sassql compare` on corpora/lowering; the figures of docs/compare.md.

python benchmarks/compare.py numpy [--arch sm_75,...]    every kernel against its reference in numpy
python benchmarks/compare.py pairs [--arch sm_75,...]    the pairs of pairs.tsv, with seconds
python benchmarks/compare.py across                      the same source on five architectures
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import sassql
from sassql.insight.compare import compare
from sassql.insight.launch import read_launch
from sassql.insight.state import Fault, Refused

ROOT = Path(sassql.__file__).parents[1]
LOWERING = ROOT / "corpora" / "lowering"
LAUNCH = LOWERING / "launch.toml"
ARCHITECTURES = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"]
sys.path.insert(0, str(ROOT / "tests" / "insight"))


def kernels(architectures: list[str]) -> dict[str, dict[str, sassql.Kernel]]:
    found: dict[str, dict[str, sassql.Kernel]] = defaultdict(dict)
    for kernel in sassql.Corpus.open(LOWERING, arch=architectures).kernels():
        found[kernel.name][kernel.arch] = kernel
    return found


def against_numpy(architectures: list[str]) -> None:
    from running import check

    for arch in architectures:
        for symbolic in (False, True):
            done, worst, refused, started = 0, (0.0, ""), [], time.time()
            names = set()
            for name, by_arch in sorted(kernels([arch]).items()):
                launch = read_launch(LAUNCH, name)
                for number, shape in enumerate(launch.shapes):
                    try:
                        found = check(by_arch[arch], launch, shape, number % 2 == 0, symbolic, seed=number)
                    except (Refused, Fault, AssertionError) as error:
                        refused.append(f"{name} {shape}: {error}")
                        break
                    done += 1
                    names.add(name)
                    worst = max(worst, (found.error, name))
            what = "unknowns" if symbolic else "numbers"
            text = f"{arch} on {what}: {len(names)} kernels, {done} runs, worst {worst[0]:.1e} ({worst[1]})"
            print(f"{text}, {time.time() - started:.0f} s")
            for line in refused:
                print("  ", line)


def pairs(architectures: list[str]) -> None:
    found = kernels(architectures)
    rows = [line.split("\t") for line in (LOWERING / "pairs.tsv").read_text("utf-8").splitlines()[1:]]
    seconds: list[float] = []
    for a, b, wanted in rows:
        levels = []
        for arch in architectures:
            if arch not in found[a] or arch not in found[b]:
                levels.append("-")
                continue
            started = time.time()
            levels.append(compare(found[a][arch], found[b][arch], LAUNCH).level)
            seconds.append(time.time() - started)
        print(f"{a}\t{b}\t{wanted}\t{' '.join(levels)}\t{seconds[-1]:.2f} s", flush=True)
    seconds.sort()
    print(f"{len(seconds)} comparisons, median {statistics.median(seconds):.2f} s, worst {seconds[-1]:.1f} s")


def across() -> None:
    found = kernels(ARCHITECTURES)
    levels: Counter[str] = Counter()
    for name, by_arch in sorted(found.items()):
        launch = replace(read_launch(LAUNCH, name), partial=True)
        base = "sm_80" if "sm_80" in by_arch else next(iter(by_arch))
        for arch, kernel in by_arch.items():
            if arch == base:
                continue
            result = compare(by_arch[base], kernel, launch, quick=True)
            if result.level == "not_shown":
                result = compare(by_arch[base], kernel, launch)
            levels[result.level] += 1
            if result.level != "E0":
                print(name, base, arch, result.level, result.reason[:150], flush=True)
    total = sum(levels.values())
    print(f"{total} comparisons: {dict(levels)}; E0 in {100 * levels['E0'] / total:.1f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["numpy", "pairs", "across"])
    parser.add_argument("--arch", default=",".join(ARCHITECTURES))
    options = parser.parse_args()
    chosen = options.arch.split(",")
    if options.what == "numpy":
        against_numpy(chosen)
    elif options.what == "pairs":
        pairs(chosen)
    else:
        across()


if __name__ == "__main__":
    main()
