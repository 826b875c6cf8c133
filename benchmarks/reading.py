"""How fast instructions are read, as ratios in one run.

    python benchmarks/reading.py kernel.cubin --reprospect /path/to/python/with/reprospect

Four figures for the same cubin, alternating, so that a noisy machine hits all alike:
  whole process   `sassql inspect --summary` with an empty and with a filled word table, and
                  `--format jsonl`, against `nvdisasm -c`
  listing         text of `cuobjdump -sass` to instructions with definitions and uses, one core, in process
  words           the cubin to arrays (cold and warm), and to objects with definitions and uses
  ReProspect      its decoder and operand match on the same text (LGPL, installed apart from sassql:
                  `pip install reprospect` in an environment of its own)
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sassql.model.kernel import Source
from sassql.reading import shapes, table, tools
from sassql.reading.cubin import read_module
from sassql.reading.listing import read_listing

PEER = """
import sys, time
from reprospect.tools.binaries.sass.decoder import Decoder
from reprospect.testing.binaries.sass.instruction.instruction import AnyMatcher
functions = open(sys.argv[1]).read().split("\\t\\tFunction : ")[1:]  # its decoder takes one function at a time
start = time.perf_counter()
found = [i for code in functions for i in Decoder(code=code).instructions]
decoded = time.perf_counter()
matcher = AnyMatcher()
matched = sum(matcher.match(i) is not None for i in found)
print(len(found), matched, decoded - start, time.perf_counter() - decoded)
"""


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def process(*command: str, cache: Path) -> float:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    with Path(os.devnull).open("w") as sink:
        return timed(lambda: subprocess.run(command, stdout=sink, stderr=sink, env=environment, check=True))


def forget() -> None:
    """A new process's state: no tables and no shapes in memory."""
    table._TABLES.clear()
    shapes.SHAPES._shapes.clear()


def whole_processes(cubin: Path, runs: int) -> None:
    nvdisasm = str(tools.find("nvdisasm").path)
    sassql = [sys.executable, "-m", "sassql", "inspect", str(cubin)]
    rows: dict[str, list[float]] = {
        "nvdisasm -c": [],
        "summary, empty table": [],
        "summary, filled": [],
        "jsonl": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        warm = Path(folder, "warm")
        process(*sassql, "--summary", cache=warm)
        for number in range(runs):
            empty = Path(folder, f"empty{number}")
            rows["nvdisasm -c"].append(process(nvdisasm, "-c", str(cubin), cache=warm))
            rows["summary, empty table"].append(process(*sassql, "--summary", cache=empty))
            rows["summary, filled"].append(process(*sassql, "--summary", cache=warm))
            rows["jsonl"].append(process(*sassql, "--format", "jsonl", cache=warm))
            shutil.rmtree(empty, ignore_errors=True)
    base = rows["nvdisasm -c"]
    print("whole process (median seconds, median ratio to nvdisasm -c)")
    for name, seconds in rows.items():
        ratio = statistics.median(a / b for a, b in zip(seconds, base, strict=True))
        print(f"  {name:24} {statistics.median(seconds):7.2f} s   {ratio:5.2f}")


def in_process(cubin: Path, runs: int, peer: str | None) -> None:
    data, arch = cubin.read_bytes(), read_module(cubin.read_bytes(), Source(str(cubin)))[0].arch
    listing = subprocess.run(
        [str(tools.find("cuobjdump").path), "-sass", str(cubin)],
        capture_output=True, text=True, check=True,
        env={**os.environ, "NVDISASM_PATH": str(tools.find("nvdisasm").path.parent),
             "PATH": f"{tools.find('nvdisasm').path.parent}:{os.environ['PATH']}"},
    ).stdout  # fmt: skip

    def text_path() -> None:
        forget()
        for module in read_listing(listing, arch=arch)[0]:
            for kernel in module.kernels:
                for ins in kernel.instructions:
                    ins.defs, ins.uses  # noqa: B018  (made when looked at)

    def objects() -> None:
        for kernel in read_module(data, Source(str(cubin)))[0].kernels:
            for ins in kernel.instructions:
                ins.defs, ins.uses  # noqa: B018

    count = read_module(data, Source(str(cubin)))[0].instructions
    rows: dict[str, list[float]] = {
        name: [] for name in ("listing, defs and uses", "words to arrays", "words, objects")
    }
    with tempfile.NamedTemporaryFile("w", suffix=".sass") as file:
        file.write(listing)
        file.flush()
        for _ in range(runs):
            rows["listing, defs and uses"].append(timed(text_path))
            forget()
            read_module(data, Source(str(cubin)))
            rows["words to arrays"].append(timed(lambda: read_module(data, Source(str(cubin)))))
            rows["words, objects"].append(timed(objects))
            if peer:
                done = subprocess.run(
                    [peer, "-c", PEER, file.name], capture_output=True, text=True, check=True
                )
                found, matched, decode, match = done.stdout.split()
                rows.setdefault("ReProspect decoder", []).append(float(decode))
                rows.setdefault("ReProspect decoder + match", []).append(float(decode) + float(match))
    print(
        f"in process, one core, {count} instructions"
        + (f" (ReProspect: {found}, matched {matched})" if peer else "")
    )
    base = rows.get("ReProspect decoder + match")
    for name, seconds in rows.items():
        ratio = (
            f"   {statistics.median(b / a for a, b in zip(seconds, base, strict=True)):6.2f} x ReProspect"
            if base
            else ""
        )
        print(f"  {name:28} {count / statistics.median(seconds):12,.0f} instructions/s{ratio}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cubin", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--reprospect", help="a Python that has reprospect installed")
    arguments = parser.parse_args()
    whole_processes(arguments.cubin, arguments.runs)
    in_process(arguments.cubin, arguments.runs, arguments.reprospect)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
