"""What facts cost: microseconds per instruction, growth with size, and memory over a library.

    python benchmarks/facts.py FILE.cubin … FOLDER …          # a table: one line per fact
    python benchmarks/facts.py --growth 45000 FILE.cubin      # one kernel, repeated up to that many instructions
    python benchmarks/facts.py --memory 500 FILE …            # memory after so many kernels, read one by one

Processor time of one process, each fact after those that it needs, the instructions decoded
before. `--most` leaves larger kernels out, `--share` takes a seeded share of the kernels.
Slices are made from what every store writes.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import random
import resource
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import sassql.facts  # noqa: F401  (registers the analyses)
from sassql.model.kernel import Kernel
from sassql.reading.load import Options, collect, read

FLOW = ("blocks", "dominators", "loops", "accesses", "clobbers", "liveness", "ssa")
"""What "CFG, SSA and loops" of the figures consists of."""
MORE = (
    "tags",
    "copies",
    "constants",
    "postdominators",
    "control",
    "formulas",
    "counters",
    "addresses",
    "meanings",
    "memory_flow",
    "slices",
    "dataflow",
    "cfg",
)


def kernels(paths: list[Path], most: int, share: float) -> Iterator[Kernel]:
    """The chosen kernels of files and folders, their instructions decoded."""
    for path in paths:
        files = sorted(path.rglob("*.cubin")) if path.is_dir() else [path]
        for file in files:
            for kernel in collect(str(file), read(file, Options(jobs=1))).kernels:
                chosen = random.Random(f"{file.name}:{kernel.name}").random() < share
                if chosen and 0 < len(kernel.form_ids) <= most:
                    for row in set(kernel.rows):
                        _ = kernel.forms[row].operands
                    yield kernel


def timed(kernel: Kernel, seconds: dict[str, float]) -> None:
    """Add the processor time of each fact of a kernel."""
    for name in (*FLOW, *MORE):
        start = time.process_time()
        found = kernel.fact(name)
        if name == "meanings":
            for _ in found:
                pass
        if name == "slices":
            for index, form in enumerate(map(kernel.forms.__getitem__, kernel.rows)):
                if any(operand.role == "value" for operand in form.operands):
                    found.of_instruction(index)
        seconds[name] = seconds.get(name, 0.0) + time.process_time() - start


def table(paths: list[Path], most: int, share: float, repeat: int) -> None:
    seconds: dict[str, float] = {}
    sizes: list[int] = []
    whole: list[float] = []
    for kernel in kernels(paths, most, share):
        runs: list[dict[str, float]] = []
        for _ in range(repeat):
            kernel._facts.clear()
            runs.append({})
            timed(kernel, runs[-1])
        least = {name: min(run[name] for run in runs) for name in runs[0]}
        for name, spent in least.items():
            seconds[name] = seconds.get(name, 0.0) + spent
        sizes.append(len(kernel.form_ids))
        whole.append(sum(least.values()))
        kernel._facts.clear()
    count = sum(sizes)
    print(f"{len(sizes)} kernels, {count} instructions, median {statistics.median(sizes):.0f}")
    for name in (*FLOW, *MORE):
        print(f"{name:16} {1e6 * seconds[name] / count:8.2f} us/instruction")
    flow = sum(seconds[name] for name in FLOW)
    print(f"{'CFG, SSA, loops':16} {1e6 * flow / count:8.2f} us/instruction")
    print(f"{'everything':16} {1e6 * sum(whole) / count:8.2f} us/instruction")
    near = [t for n, t in zip(sizes, whole, strict=True) if 250 <= n <= 350]
    if near:
        print(
            f"kernels of 250 to 350 instructions: everything in {1e3 * statistics.median(near):.1f} ms (median)"
        )


def repeated(kernel: Kernel, times: int) -> Kernel:
    """The kernel several times over, one copy behind the other; its functions belong to the first."""
    size = int(kernel.addresses[-1]) + 16
    steps = np.arange(times, dtype=np.int64)[:, None] * size
    targets = np.where(kernel.targets[None, :] >= 0, kernel.targets[None, :] + steps, kernel.targets[None, :])
    return replace(
        kernel,
        form_ids=np.tile(kernel.form_ids, times),
        addresses=(kernel.addresses[None, :] + steps).ravel(),
        control=None,
        targets=targets.ravel(),
        symbols={},
        indirect_targets={},
        _facts={},
        _rows=None,
    )


def growth(paths: list[Path], largest: int, most: int) -> None:
    """The largest kernel, then that kernel repeated."""
    kernel = max(kernels(paths, most, 1.0), key=lambda k: len(k.form_ids))
    size = len(kernel.form_ids)
    print(f"{kernel.name[:60]}, {kernel.arch}")
    for times in sorted({1, *(max(1, largest // size // step) for step in (8, 4, 2, 1))}):
        one = repeated(kernel, times) if times > 1 else kernel
        seconds: dict[str, float] = {}
        gc.collect()
        timed_names(one, seconds)
        flow = sum(seconds[name] for name in FLOW)
        print(
            f"{len(one.form_ids):7} instructions, {len(one.fact('blocks')):6} blocks: CFG, SSA, loops {flow:6.2f} s, "
            f"{1e6 * flow / len(one.form_ids):5.1f} us/instruction; peak {peak():.0f} MiB"
        )


def timed_names(kernel: Kernel, seconds: dict[str, float]) -> None:
    for name in FLOW:
        start = time.process_time()
        kernel.fact(name)
        seconds[name] = time.process_time() - start


def peak() -> float:
    """The most memory that this process ever had, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def resident() -> float:
    """The memory of this process now, MiB."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def memory(paths: list[Path], count: int, most: int) -> None:
    """Memory after each fifth of ``count`` kernels whose facts were all computed and dropped.

    All are decoded before: what is read once stays, whoever asks for facts.
    """
    chosen = list(itertools.islice(kernels(paths, most, 1.0), count))
    gc.collect()
    print(f"{'decoded':>8}: {resident():.1f} MiB")
    instructions = 0
    for done, kernel in enumerate(chosen, 1):
        timed(kernel, {})
        instructions += len(kernel.form_ids)
        kernel._facts.clear()
        if done % max(1, count // 5) == 0:
            gc.collect()
            print(f"{done:8} kernels, {instructions:8} instructions: {resident():.1f} MiB")


def main() -> int:
    """Report on the files of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--growth", type=int, default=0)
    parser.add_argument("--memory", type=int, default=0)
    parser.add_argument("--most", type=int, default=1 << 20)
    parser.add_argument("--repeat", type=int, default=3, help="the least time of so many counts")
    parser.add_argument("--share", type=float, default=1.0)
    options = parser.parse_args()
    if options.growth:
        growth(options.paths, options.growth, options.most)
    elif options.memory:
        memory(options.paths, options.memory, options.most)
    else:
        table(options.paths, options.most, options.share, options.repeat)
    return 0


if __name__ == "__main__":
    sys.exit(main())
