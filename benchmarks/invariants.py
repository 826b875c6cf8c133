"""Compares `sassql invariants` with the truth of corpora/lowering; the figures of docs/invariants.md.

python benchmarks/invariants.py [--arch sm_75,...]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import sassql
from sassql.insight.invariants import invariants
from sassql.insight.invariants_statements import Invariants
from sassql.testing.truth import Claim, KernelTruth, read_truth

ROOT = Path(sassql.__file__).parents[1]
LOWERING = ROOT / "corpora" / "lowering"
ARCHITECTURES = "sm_75,sm_80,sm_90,sm_100,sm_120"
SIMPLE = {"sum_of_products": "sum", "argmax": "max", "welford": "sum"}
EXACT = {"max", "min", "or", "and", "xor", "argmax", "argmin"}


def lanes(claims: list[Claim], found: Invariants) -> Iterator[tuple[str, bool, str]]:
    """Each warp reduction of the source: a factor of so many lanes, of the same operation."""
    for claim in claims:
        width = claim.columns.get("width", "")
        if claim.motif != "warp_reduce" or not width.isdigit() or claim.columns.get("origin") == "compiler":
            continue
        said = [
            (SIMPLE.get(r.op, r.op), f.extent)
            for r in found.reductions
            for f in r.factors
            if f.over in ("lanes", "warps")
        ]
        op = claim.columns.get("op", "")
        right = any(o == SIMPLE.get(op, op) and e in (width, "ntid.x / 32") for o, e in said)
        yield "lanes", right, f"{op} {width}: {said}"


def domains(claims: list[Claim], found: Invariants) -> Iterator[tuple[str, bool, str]]:
    """Each block and grid reduction of the source: a factor over warps or threads, over blocks."""
    for claim in claims:
        op, via = claim.columns.get("op", ""), claim.columns.get("via", "")
        over = {"block_reduce": ("warps", "threads"), "grid_reduce": ("blocks",)}.get(claim.motif)
        if over is None or claim.columns.get("role") == "pass2" or claim.columns.get("origin") == "compiler":
            continue
        said = [(SIMPLE.get(r.op, r.op), f.over) for r in found.reductions for f in r.factors]
        right = any(o == SIMPLE.get(op, op) and f in over for o, f in said)
        yield claim.motif.replace("_reduce", " factor"), right, f"{op} {via}: {said}"


def orders(claims: list[Claim], found: Invariants) -> Iterator[tuple[str, bool, str]]:
    """The freedom of order, from operation, type and atomics of the source."""
    for claim in claims:
        if claim.motif not in ("warp_reduce", "block_reduce", "grid_reduce"):
            continue
        op, dtype, via = (claim.columns.get(key, "") for key in ("op", "dtype", "via"))
        integers = dtype[:1] in ("s", "u") or via == "bar_red"
        atomic = via == "atomic"
        wanted = "exact" if op in EXACT or integers else "nondeterministic" if atomic else "reassociable"
        said = {r.order for r in found.reductions if SIMPLE.get(r.op, r.op) == SIMPLE.get(op, op)}
        if any(c.motif == "grid_reduce" and c.columns.get("via") == "atomic" for c in claims) and said:
            wanted = wanted if wanted == "exact" else "nondeterministic"
        yield "order", wanted in said, f"{op} {dtype} {via}: {wanted} {said}"


def trips(claims: list[Claim], found: Invariants) -> Iterator[tuple[str, bool, str]]:
    """Each global round trip of the source that survives, and no other."""
    told = [c for c in claims if c.motif == "roundtrip" and c.columns.get("space") == "global" and c.survives]
    said = [(r.same_thread, r.sync) for s in found.stores for r in s.readers if s.fate in TRIPS]
    for claim in told:
        same = claim.columns["same_thread"] == "yes"
        right = any(s is same and _sync(sync, claim.columns["sync"]) for s, sync in said)
        yield "round trips", right, f"{claim.columns}: {said}"
    if said and not told:
        yield "round trips", False, f"none in the source: {said}"


TRIPS = ("round trip", "overwritten")


def _sync(said: tuple[str, ...], wanted: str) -> bool:
    return wanted in said or (wanted == "none" and not said)


def independence(truth: KernelTruth, found: Invariants) -> tuple[str, str]:
    """What the class says, and what was found."""
    classes = {truth.cls, *truth.also}
    cls = "elementwise" if truth.cls == "elementwise" else "also" if "elementwise" in classes else "other"
    return cls, found.independence


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default=ARCHITECTURES)
    truths = read_truth(LOWERING)
    table: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    right: dict[str, Counter[str]] = defaultdict(Counter)
    total: dict[str, Counter[str]] = defaultdict(Counter)
    by_kernel: dict[str, dict[str, str]] = defaultdict(dict)
    for arch in parser.parse_args().arch.split(","):
        seconds = []
        for kernel in sassql.Corpus.open(LOWERING, arch=[arch]).kernels():
            started = time.perf_counter()
            found = invariants(kernel)
            seconds.append((time.perf_counter() - started, kernel.name))
            truth = truths[kernel.name]
            said = independence(truth, found)
            table[arch][said] += 1
            by_kernel[kernel.name][arch] = signature(found)
            if said in (("elementwise", "refuted"), ("elementwise", "unknown"), ("other", "proven")):
                print(f"{arch} {kernel.name} {said} {found.why}")
            for check in (lanes, domains, orders, trips):
                for what, good, detail in check(truth.claims, found):
                    total[what][arch] += 1
                    right[what][arch] += good
                    if not good:
                        print(f"{arch} {kernel.name} {what}: {detail}")
        times = sorted(seconds, reverse=True)
        median = statistics.median(t for t, _ in seconds)
        mean = sum(t for t, _ in seconds) / len(seconds)
        slow = ", ".join(f"{name} {t:.2f}" for t, name in times[:3])
        above = sum(t > 0.3 for t, _ in seconds)
        print(
            f"{arch}: {len(seconds)} kernels, median {median:.3f} s, mean {mean:.3f} s, {above} above 0.3 s ({slow})"
        )
    for arch, counts in table.items():
        print(arch, dict(counts))
    for what, counted in total.items():
        print(what, {arch: f"{right[what][arch]}/{count}" for arch, count in counted.items()})
    alike = sum(len(set(found.values())) == 1 for found in by_kernel.values())
    print(f"{alike} of {len(by_kernel)} kernels have the same statements on every architecture")
    for name, found in by_kernel.items():
        if len(set(found.values())) > 1:
            print("  differs", name, {v: [a for a in found if found[a] == v] for v in set(found.values())})


def signature(found: Invariants) -> str:
    """What should not depend on the architecture: independence, reductions, fates."""
    reductions = sorted(
        f"{SIMPLE.get(r.op, r.op)}:{r.order}:{'x'.join(f.over for f in r.factors if f.over != 'unrolled')}"
        for r in found.reductions
    )
    fates = sorted({f"{s.buffer}:{s.fate}" for s in found.stores})
    return f"{found.independence} {reductions} {fates}"


if __name__ == "__main__":
    main()
