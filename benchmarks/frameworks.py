"""Classes of the kernels of real libraries against the families that their names decide.

    python benchmarks/frameworks.py libtorch_cuda.so libfaiss.so --arch sm_90 --jsonl kernels.jsonl

Prints how many kernels have each class, the confusion of families and classes, precision, recall and F1 of each
class, and the macro-F1. `families.tsv` gives the families; the classifier never sees a name.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sassql.corpus.batch import Batch
from sassql.insight.classify import question
from sassql.model.demangle import demangle
from sassql.reading.load import Options, architectures

FAMILIES = Path(__file__).with_name("families.tsv")


class Families:
    """What a name decides."""

    def __init__(self) -> None:
        with FAMILIES.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t")
            self._rows = [(re.compile(r["pattern"]), r["family"], tuple(r["class"].split(","))) for r in rows]

    def of(self, name: str) -> tuple[str, tuple[str, ...]] | None:
        """Family and accepted classes, the first of them the expected one; None where the name does not decide."""
        for pattern, family, classes in self._rows:
            if pattern.search(name):
                return None if family == "-" else (family, classes)
        return None


def confusion(counts: Mapping[str, Counter[str]]) -> None:
    classes = sorted({c for counter in counts.values() for c in counter})
    width = max(map(len, counts)) if counts else 0
    print(f"{'family':{width}}  " + "  ".join(f"{c:>9.9}" for c in classes))
    for family, counter in sorted(counts.items()):
        print(f"{family:{width}}  " + "  ".join(f"{counter[c] or '':>9}" for c in classes))


def f1_scores(pairs: list[tuple[tuple[str, ...], str]]) -> dict[str, tuple[float, float, float, int]]:
    """Precision, recall, F1 and support of each expected class; an accepted class counts as the expected one."""
    settled = [(accepted[0], accepted[0] if said in accepted else said) for accepted, said in pairs]
    found = {}
    for cls in sorted({want for want, _ in settled}):
        right = sum(want == said == cls for want, said in settled)
        said_so = sum(said == cls for _, said in settled)
        there = sum(want == cls for want, _ in settled)
        precision, recall = right / said_so if said_so else 0.0, right / there
        f1 = 2 * precision * recall / (precision + recall) if right else 0.0
        found[cls] = precision, recall, f1, there
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--arch")
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--jsonl", type=Path, help="write the record of each kernel here")
    arguments = parser.parse_args()
    families, start = Families(), time.perf_counter()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    classes: Counter[str] = Counter()
    pairs: list[tuple[tuple[str, ...], str]] = []
    problems: list[str] = []
    out = arguments.jsonl.open("w", encoding="utf-8") if arguments.jsonl else None
    batch = Batch(question, Options(architectures(arguments.arch)), jobs=arguments.jobs)
    for done in batch.run(arguments.paths):
        problems += [str(p) for p in done.problems if p.exit_code]
        for record in done.answers:
            classes[record["class"]] += 1
            family = families.of(demangle(record["kernel"]))
            if out:
                named: dict[str, Any] = {**record, "family": family and family[0]}
                out.write(json.dumps(named) + "\n")
            if family is not None:
                counts[family[0]][record["class"]] += 1
                pairs.append((family[1], record["class"]))
    seconds = time.perf_counter() - start
    total = classes.total()
    print(
        f"{total} kernels, {len(problems)} problems, {seconds:.0f} s, {1000 * seconds / max(total, 1):.1f} ms a kernel"
    )
    print("\n".join(problems[:10]))
    print(" ".join(f"{c}:{n}" for c, n in classes.most_common()))
    confusion(counts)
    scores = f1_scores(pairs)
    for cls, (precision, recall, f1, support) in scores.items():
        print(f"{cls:18} precision {precision:.3f}  recall {recall:.3f}  F1 {f1:.3f}  {support} kernels")
    if scores:
        print(
            f"macro-F1 {sum(f1 for _, _, f1, _ in scores.values()) / len(scores):.3f} over {len(pairs)} labelled kernels"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
