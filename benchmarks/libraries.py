"""Many cubins at once: `sassql inspect --summary` against `nvdisasm -c` on the same files, as ratios in one run.

    python benchmarks/libraries.py corpora/lowering                       # 338 small cubins
    python benchmarks/libraries.py libtorch_cuda.so --arch sm_90 --share 0.25

Takes the cubins of a corpus (all architectures) or a seeded share of a library's, writes them to a folder, and runs
nvdisasm on each, then sassql once with an empty and once with a filled word table. Reports seconds, ratios, distinct
words, peak memory and the size of the table per word.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sassql.corpus.build import build
from sassql.corpus.ingest import is_corpus
from sassql.errors import Problem
from sassql.reading import containers, tools


def sample(path: Path, folder: Path, arch: str, share: float, seed: str) -> int:
    """Write the chosen cubins into ``folder``; how many there are."""
    if path.is_dir() and is_corpus(path):
        found = [(f"{c.arch}-{c.source.stem}", c.path.read_bytes()) for c in build(path, ["all"]).cubins]
    else:

        def chosen(name: str, kind: str, entry_arch: str) -> bool:
            wanted = kind == "cubin" and (not arch or entry_arch == arch)
            return wanted and random.Random(f"{seed}:{name}").random() < share

        entries = containers.entries(path.read_bytes(), file=str(path), select=chosen)
        found = [(e.name.replace("/", "_"), e.data) for e in entries if not isinstance(e, Problem)]
    for name, data in found:
        (folder / f"{name.removesuffix('.cubin')}.cubin").write_bytes(data)
    return len(found)


def peak_megabytes(command: list[str], cache: Path) -> tuple[float, float, str]:
    """Wall seconds, peak memory of the largest process in MiB, and what it printed."""
    code = (
        "import resource, subprocess, sys; r = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, file=sys.stderr);"
        "sys.stdout.buffer.write(r.stdout); sys.exit(r.returncode)"
    )
    start = time.perf_counter()
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, env=environment, check=True
    )
    return time.perf_counter() - start, float(done.stderr.split()[-1]), done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("--arch", default="")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--seed", default="sassql")
    arguments = parser.parse_args()
    nvdisasm = str(tools.find("nvdisasm").path)
    with tempfile.TemporaryDirectory() as scratch:
        folder, cache = Path(scratch, "cubins"), Path(scratch, "cache")
        folder.mkdir()
        count = sample(arguments.path, folder, arguments.arch, arguments.share, arguments.seed)
        sassql = [sys.executable, "-m", "sassql", "inspect", str(folder), "--summary", "--format", "jsonl"]
        empty, peak, printed = peak_megabytes(sassql, cache)
        start = time.perf_counter()
        for cubin in sorted(folder.iterdir()):
            subprocess.run(
                [nvdisasm, "-c", str(cubin)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )
        base = time.perf_counter() - start
        filled, warm_peak, _ = peak_megabytes(sassql, cache)
        rows = [json.loads(line) for line in printed.splitlines()]
        table = sum(p.stat().st_size for p in (cache / "sassql" / "words").rglob("*") if p.is_file())
        own_peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    instructions, new = sum(r["instructions"] for r in rows), sum(r["new_words"] for r in rows)
    print(
        f"{count} cubins, {instructions} instructions, {new} distinct words ({100 * new / instructions:.1f} %)"
    )
    print(f"nvdisasm -c, one by one  {base:8.1f} s   {instructions / base:12,.0f} instructions/s")
    print(
        f"sassql, empty table      {empty:8.1f} s   {instructions / empty:12,.0f} instructions/s   {empty / base:.3f} x   {peak:.0f} MiB"
    )
    print(
        f"sassql, filled table     {filled:8.1f} s   {instructions / filled:12,.0f} instructions/s   {filled / base:.3f} x   {warm_peak:.0f} MiB"
    )
    print(f"table on disk: {table / max(1, new):.0f} bytes a word; largest child process {own_peak:.0f} MiB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
