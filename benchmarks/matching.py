"""Matching cost: every motif of `patterns/` on every kernel of a corpus, facts given.

    python benchmarks/matching.py [--arch sm_90] [--motif PART] [--naive] [FILE ...]
    python benchmarks/matching.py --adversarial
    python benchmarks/matching.py --class [--arch sm_90] [FILE ...]

Prints per motif the rows, the kernels that gave up, and the time; per kernel the median and
the worst. ``--naive`` runs the exhaustive engine too, on kernels of at most 300 instructions,
and compares the rows. ``--adversarial`` runs patterns that no search can finish on a kernel of
4,344 instructions: each has to end in a row that says so, within five seconds. ``--class`` measures what `sassql classify` does with a kernel that
is read: all facts, all motifs, the class. Times are CPU times.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import sassql
from sassql.engine.budget import Budget
from sassql.engine.indexed import INDEXED
from sassql.engine.library import plans_of
from sassql.engine.matching import is_meant_for, match_motif
from sassql.engine.naive import NAIVE
from sassql.lang.check import load

FACTS = [
    "blocks",
    "dominators",
    "postdominators",
    "loops",
    "tags",
    "ssa",
    "copies",
    "constants",
    "meanings",
    "addresses",
    "slices",
]
MOST_NAIVE = 300


ADVERSARIAL = {
    "a cross product": "a: <alu> %x\nb: <alu> %y\nc: <alu> %z\nwhere a.index + b.index == c.index + 77777",
    "flows": "a: <alu> %x\nb: <alu> %y\nc: <alu> %z\nflow %x -> %y via any\nflow %y -> %z via any\nwhere a.index > c.index",
    "chains": "chain 1+ { f: <alu> %s', %s, %b }\nflow %s' -> %z via any\nst: STG _, %z",
    "negation": "a: <alu> %x\nno { b: <alu> %y\nc: <alu> %z\nwhere a.index + b.index + c.index == 99999 }",
    "addresses": "a: LDS _, [&A]\nb: LDS _, [&B]\nc: LDS _, [&C]\nwhere overlaps(&A, &B) and overlaps(&B, &C)\nwhere a.index + c.index > 99999",
    "slices": "a: <alu> %x\nb: <alu> %y\nslice %x : no MUFU\nslice %y : some BAR\nwhere a.index + b.index == 999999",
}


def adversarial() -> int:
    program = sassql.load("corpora/lowering/attention.cu", arch="sm_75")
    kernel = next(k for k in program.kernels if k.name == "attn_flash_tile")
    for fact in FACTS:
        kernel.fact(fact)
    worst = 0.0
    for name, text in ADVERSARIAL.items():
        start = time.process_time()
        rows = sassql.Pattern.parse("motif m {\n" + text + "\n}").match(kernel)
        took = time.process_time() - start
        worst = max(worst, took)
        print(f"{name:16} {took:5.2f} s  {len(rows)} rows  {rows[-1].status if rows else 'nothing'}")
    return 1 if worst > 5 else 0


def to_class(options) -> int:
    """All facts, all motifs and the class of each kernel; the second pass, when each form was met before."""
    kernels = [k for path in options.files for k in sassql.load(str(path), arch=options.arch).kernels]
    for turn in ("first", "second"):
        times = []
        for kernel in kernels:
            kernel.forget()
            start = time.process_time()
            sassql.classify(kernel)
            times.append(time.process_time() - start)
        times.sort()
        shares = ", ".join(
            f"{share} % {times[len(times) * share // 100] * 1e3:.1f} ms" for share in (25, 50, 75, 90)
        )
        print(f"{turn} pass over {len(times)} kernels: {shares}, worst {times[-1] * 1e3:.0f} ms")
    return 0


def plain(rows):
    return [
        (row.columns, {k: [i.index for i in v] for k, v in row.instructions.items()}, row.status, row.order)
        for row in rows
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", default=sorted(Path("corpora/lowering").glob("*.cu")))
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--naive", action="store_true")
    parser.add_argument("--motif", default="")
    parser.add_argument("--adversarial", action="store_true")
    parser.add_argument("--class", dest="to_class", action="store_true")
    options = parser.parse_args()
    if options.adversarial:
        return adversarial()
    if options.to_class:
        return to_class(options)
    plans = [p for path in sorted(Path("patterns").rglob("*.sq")) for p in plans_of(load(path))]
    plans = [p for p in plans if options.motif in p.motif.name]
    per_kernel, per_motif, fast, slow, differ, compared = [], {}, 0.0, 0.0, 0, 0
    for path in options.files:
        for kernel in sassql.load(str(path), arch=options.arch).kernels:
            for fact in FACTS:
                kernel.fact(fact)
            spent = 0.0
            for plan in plans:
                if not is_meant_for(plan, kernel.arch):
                    continue
                start = time.process_time()
                rows = match_motif(plan, kernel, Budget(), INDEXED)
                took = time.process_time() - start
                spent += took
                entry = per_motif.setdefault(plan.motif.name, [0, 0, 0.0, 0.0, 0])
                entry[0] += sum(row.status == "match" for row in rows)
                entry[1] += sum(row.status == "gave_up" for row in rows)
                entry[2] += took
                entry[3] = max(entry[3], took)
                entry[4] += sum(row.status == "maybe" for row in rows)
                if options.naive and len(kernel.form_ids) <= MOST_NAIVE:
                    start = time.process_time()
                    other = match_motif(plan, kernel, Budget(), NAIVE)
                    took_naive = time.process_time() - start
                    if any(row.status == "gave_up" for row in (*rows, *other)):
                        print(f"not compared: {plan.motif.name} {kernel.name}: {other[-1].reason}")
                        continue
                    fast, slow, compared = fast + took, slow + took_naive, compared + 1
                    if plain(rows) != plain(other):
                        differ += 1
                        print(f"DIFFER {plan.motif.name} {path} {kernel.name}")
                        print("  fast ", plain(rows)[:3])
                        print("  naive", plain(other)[:3])
            per_kernel.append((spent, len(kernel.form_ids), f"{path}:{kernel.name}"))
    for name, (rows, gave, took, worst, maybe) in sorted(per_motif.items()):
        print(
            f"{name:24} rows {rows:6} maybe {maybe:5} gave_up {gave:3} {took:8.3f} s, worst {worst * 1e3:8.1f} ms"
        )
    times = sorted(per_kernel)
    print(f"{len(times)} kernels, median {statistics.median(t for t, _, _ in times) * 1e3:.2f} ms")
    for spent, count, name in times[-3:]:
        print(f"  {spent * 1e3:8.1f} ms  {count:6} instructions  {name}")
    if options.naive:
        print(f"compared {compared}, different {differ}; naive / fast = {slow / max(fast, 1e-9):.1f}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
