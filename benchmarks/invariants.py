"""Compares `sassql invariants` with the truth of corpora/lowering; the figures of docs/invariants.md.

python benchmarks/invariants.py truth [--arch sm_75,...]       classes, reductions, order, round trips
python benchmarks/invariants.py executed [--arch sm_90]        dependency against the executor of `sassql compare`
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import sassql
from sassql.insight.dag import LEAF
from sassql.insight.dependencies import dependencies
from sassql.insight.evaluation import live
from sassql.insight.invariants import invariants
from sassql.insight.invariants_statements import Invariants
from sassql.insight.launch import read_launch
from sassql.insight.running import Run, run
from sassql.insight.state import Fault, Refused
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


def depends(done: Run, name: str) -> dict[str, list[tuple[int, set[int]]]]:
    """By buffer that an output depends on: (element of the output, elements of the buffer)."""
    output, dag = done.outputs[name], done.dag
    words = np.flatnonzero(output.stored & (output.nodes != 0))
    wanted = output.nodes[words]
    found: dict[str, list[tuple[int, set[int]]]] = defaultdict(list)
    if not len(wanted):
        return found
    alive = live(dag, wanted)
    numbers = [n for n, operation in enumerate(dag.operations) if operation.name == LEAF]
    leaves = np.flatnonzero(alive & np.isin(dag.codes[: dag.size], numbers))
    names = [dag.operations[dag.codes[leaf]].parameters[0] for leaf in leaves]
    for chunk, sets in enumerate(dependencies(dag, wanted)):
        for row, bits in zip(words.tolist(), sets, strict=True):
            for word, value in enumerate(bits.tolist()):
                at = chunk * 512 + word * 64
                used: dict[str, set[int]] = defaultdict(set)
                for bit in range(64):
                    if value >> bit & 1:
                        used[names[at + bit]].add(int(dag.arguments[0, leaves[at + bit]]))
                for buffer, elements in used.items():
                    found[buffer].append((row, elements))
    return found


def executed(architectures: list[str]) -> None:
    """Every dependency of an executed kernel has to be among the sources; proven elements share none."""
    seen: Counter[str] = Counter()
    for kernel in sassql.Corpus.open(LOWERING, arch=architectures).kernels():
        launch = read_launch(LOWERING / "launch.toml", kernel.name)
        parameters = {f"param{n}": a.name for n, a in enumerate(launch.a.arguments)}
        found = invariants(kernel)
        try:
            runs = [run(kernel, launch.a, shape) for shape in launch.shapes[:2]]
        except (Fault, Refused) as error:
            seen["refused"] += 1
            print(kernel.arch, kernel.name, "is not executed:", error)
            continue
        for output in found.outputs:
            name = parameters.get(output.buffer)
            if name is None:
                continue
            said = {
                parameters.get(s.name, s.name)
                for o in found.outputs
                if o.buffer == output.buffer
                for s in o.sources
            }
            own = {parameters.get(s.name) for s in output.sources if s.relation == "own"} - {
                parameters.get(s.name) for s in output.sources if s.kind == "load" and s.relation != "own"
            }
            for done in runs:
                for leaf, uses in depends(done, name).items():
                    buffer = leaf.removesuffix(" before")
                    if buffer.startswith("undefined"):
                        continue
                    seen["dependencies"] += 1
                    if buffer not in said:
                        seen["missing"] += 1
                        print(kernel.arch, kernel.name, f"{name} depends on {leaf}, which is not said")
                    if output.independence != "proven" or buffer not in own:
                        continue
                    words: dict[int, set[int]] = defaultdict(set)
                    for row, elements in uses:
                        for element in elements:
                            words[element].add(row)
                    seen["own"] += 1
                    if any(max(rows) - min(rows) >= GROUP for rows in words.values()):
                        seen["shared"] += 1
                        print(kernel.arch, kernel.name, f"elements of {name} share elements of {leaf}")
    print(dict(seen))


GROUP = 4
"""Words that one thread may store side by side."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("truth", "executed"))
    parser.add_argument("--arch", default=ARCHITECTURES)
    given = parser.parse_args()
    (truth_of if given.what == "truth" else executed)(given.arch.split(","))


def truth_of(architectures: list[str]) -> None:
    truths = read_truth(LOWERING)
    table: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    right: dict[str, Counter[str]] = defaultdict(Counter)
    total: dict[str, Counter[str]] = defaultdict(Counter)
    by_kernel: dict[str, dict[str, str]] = defaultdict(dict)
    for arch in architectures:
        seconds = []
        for kernel in sassql.Corpus.open(LOWERING, arch=[arch]).kernels():
            started = time.process_time()
            found = invariants(kernel)
            seconds.append((time.process_time() - started, kernel.name))
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
