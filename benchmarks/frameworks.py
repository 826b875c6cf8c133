"""Classes of the kernels of real libraries against the families that their names decide.

    python benchmarks/frameworks.py libtorch_cuda.so libfaiss.so --arch sm_90,sm_80 --sample 6 \\
        --tuned libfaiss --half libtorch_cuda --jsonl kernels.jsonl
    python benchmarks/frameworks.py --records kernels.jsonl --tuned libfaiss --half libtorch_cuda

Prints, for the part of the kernels that the rules were tuned on and for the rest: how many kernels have each class,
the confusion of families and classes, precision, recall and F1 of each class, the macro-F1, what gave up, and the time.
`families.tsv` gives the families; the classifier never sees a name.

`--sample N` takes N kernels of each family and name of a library, spread by size, and `--rest N` (1)
of each name that decides nothing. `--tuned` names files (parts of their names) that were tuned on; of files under `--half` the half
of the kernels with an even hash of the name was. A kernel that reads and writes no memory but its own stack was
built for another architecture: its name decides nothing, and it is counted as empty.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sassql.corpus.batch import Batch
from sassql.errors import SassqlError
from sassql.insight.classify import question, rules
from sassql.isa.classes import opcodes
from sassql.model.demangle import demangle
from sassql.model.kernel import Kernel
from sassql.reading import elf, load
from sassql.reading.load import Options, RawCubin, architectures

FAMILIES = Path(__file__).with_name("families.tsv")
ON_THE_STACK = {"LDL", "STL"}
Row = dict[str, Any]


class Families:
    """What a name decides."""

    def __init__(self) -> None:
        with FAMILIES.open(encoding="utf-8", newline="") as file:
            lines = (line for line in file if not line.startswith("#"))
            rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            self._rows = [(re.compile(r["pattern"]), r["family"], tuple(r["class"].split(","))) for r in rows]

    def of(self, name: str) -> tuple[str, tuple[str, ...]] | None:
        """Family and accepted classes, the first of them the expected one; None where the name does not decide."""
        for pattern, family, classes in self._rows:
            if pattern.search(name):
                return None if family == "-" else (family, classes)
        return None


def quick() -> Callable[[Kernel], Row]:
    """The class alone, with the seconds that it took."""
    known = rules()

    def answer(kernel: Kernel) -> Row:
        start = time.perf_counter()
        name, status = known.class_of(kernel)
        return {
            "file": kernel.source.file,
            "kernel": kernel.name,
            "arch": kernel.arch,
            "class": name,
            "status": status,
            "instructions": len(kernel.form_ids),
            "opcodes": dict(kernel.forms.count_opcodes(kernel.form_ids)),
            "motifs": [],
            "seconds": round(time.perf_counter() - start, 4),
        }

    return answer


def timed() -> Callable[[Kernel], Row]:
    """`classify` with the seconds that it took; made once in each process."""
    ask = question()

    def answer(kernel: Kernel) -> Row:
        start = time.perf_counter()
        found = ask(kernel)
        return {**found, "seconds": round(time.perf_counter() - start, 4)}

    return answer


def hashed(name: str) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest(), 16)


def stem(name: str) -> str:
    """A demangled name without what it is a template of: kernels with one stem are one source."""
    kept, depth = [], 0
    for letter in name.replace("(anonymous namespace)", "anonymous"):
        depth += (letter == "<") - (letter == ">")
        if depth == 0 and letter == "(":
            break
        if depth == 0:
            kept.append(letter)
    text = re.sub(r"[0-9a-f]{6,}|[0-9]+", "#", "".join(kept).removeprefix("void "))
    return text if len(text) < 80 else ""


class Sample:
    """Kernels that were chosen, and their cubins in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.of: dict[str, set[str]] = {}
        self.library: dict[str, str] = {}

    def take(self, path: Path, options: Options, families: Families, count: int, rest: int) -> None:
        """Choose among the kernels of a file: no more is read than its symbols."""
        groups: dict[tuple[str, str], list[tuple[int, int, str, int]]] = defaultdict(list)
        cubins: list[bytes] = []
        seen: set[tuple[str, str]] = set()
        for raw in load.take(path, options):
            if not isinstance(raw, RawCubin):
                continue
            try:
                cubin = elf.read_cubin(raw.data, file=raw.source.file, entry=raw.source.entry)
            except SassqlError:
                continue
            for section in cubin.sections if options.wants(cubin.arch) else ():
                if (cubin.arch, section.name) not in seen:
                    seen.add((cubin.arch, section.name))
                    title = demangle(section.name)
                    family = families.of(title)
                    key = (family[0] if family else "", stem(title))
                    groups[key].append((len(section.code), hashed(section.name), section.name, len(cubins)))
            cubins.append(raw.data)
        for (family_name, _), kernels in groups.items():
            for _, _, name, number in spread(kernels, count if family_name else rest):
                self._keep(path, number, cubins[number], name)

    def _keep(self, path: Path, number: int, data: bytes, name: str) -> None:
        file = self.folder / f"{path.name}.{number}.cubin"
        if file.name not in self.of:
            file.write_bytes(data)
        self.of.setdefault(file.name, set()).add(name)
        self.library[file.name] = path.name

    def has(self, kernel: Kernel) -> bool:
        return kernel.name in self.of.get(Path(kernel.source.file).name, ())


def spread(kernels: list[tuple[int, int, str, int]], count: int) -> Iterator[tuple[int, int, str, int]]:
    """So many kernels, one of each quantile of the sizes: that with the least hash."""
    kernels = sorted(kernels)
    count = min(count, len(kernels))
    for part in range(count):
        yield min(
            kernels[part * len(kernels) // count : (part + 1) * len(kernels) // count], key=lambda k: k[1]
        )


def classified(arguments: argparse.Namespace, problems: list[str]) -> Iterator[Row]:
    """The records of the kernels of all files; what failed goes to ``problems``."""
    options = Options(architectures(arguments.arch))
    setup = quick if arguments.quick else timed
    if not arguments.sample:
        yield from answers(Batch(setup, options, jobs=arguments.jobs), arguments.paths, problems)
        return
    families = Families()
    with tempfile.TemporaryDirectory() as folder:
        sample = Sample(Path(folder))
        for path in arguments.paths:
            for file in load.files_of(path) if path.is_dir() else [path]:
                sample.take(file, options, families, arguments.sample, arguments.rest)
        batch = Batch(setup, options, select=sample.has, jobs=arguments.jobs)
        for record in answers(batch, [Path(folder)], problems):
            yield {**record, "file": sample.library[Path(record["file"]).name]}


def answers(batch: Batch, paths: list[Path], problems: list[str]) -> Iterator[Row]:
    for done in batch.run(paths):
        problems += [str(p) for p in done.problems if p.exit_code]
        yield from done.answers


def part_of(record: Row, arguments: argparse.Namespace) -> str:
    file = Path(record["file"]).name
    if any(name in file for name in arguments.half):
        return "untuned" if hashed(record["kernel"]) % 2 else "tuned"
    return "tuned" if any(name in file for name in arguments.tuned) else "untuned"


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


def report(title: str, records: list[Row], families: Families) -> None:
    """Everything about one part."""
    memory = (opcodes("load") | opcodes("store") | opcodes("atomic") | opcodes("async_copy")) - ON_THE_STACK
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    by_library: dict[str, Counter[str]] = defaultdict(Counter)
    pairs: list[tuple[tuple[str, ...], str]] = []
    rest: Counter[str] = Counter()
    for record in records:
        family = families.of(demangle(record["kernel"]))
        by_library[Path(record["file"]).name]["kernels"] += 1
        if family is not None and family[1][0] != "stub" and not memory & record["opcodes"].keys():
            family = None
            by_library[Path(record["file"]).name]["empty"] += 1
        if family is None:
            rest[record["class"]] += 1
            continue
        by_library[Path(record["file"]).name]["labelled"] += 1
        counts[family[0]][record["class"]] += 1
        pairs.append((family[1], record["class"]))
    print(f"\n== {title}: {len(records)} kernels, {len(pairs)} labelled")
    for library, found in sorted(by_library.items()):
        print(f"{library}: {found['kernels']} kernels, {found['labelled']} labelled, {found['empty']} empty")
    confusion(counts)
    print("not labelled: " + " ".join(f"{c}:{n}" for c, n in rest.most_common()))
    scores = f1_scores(pairs)
    for cls, (precision, recall, f1, support) in scores.items():
        print(f"{cls:18} precision {precision:.3f}  recall {recall:.3f}  F1 {f1:.3f}  {support} kernels")
    if scores:
        right = sum(said in accepted for accepted, said in pairs)
        mean = sum(f1 for _, _, f1, _ in scores.values()) / len(scores)
        print(f"macro-F1 {mean:.3f}; {right} of {len(pairs)} labelled kernels right")
    shares(records)


def shares(records: list[Row]) -> None:
    """What stays open, and how long it takes."""
    classes = Counter(record["class"] for record in records)
    gave_up = sum(record["status"] == "gave_up" for record in records)
    seconds = sorted(record.get("seconds", 0.0) for record in records)
    print(" ".join(f"{c}:{n}" for c, n in classes.most_common()))
    print(f"unknown {classes['unknown']}, of these gave up {gave_up}, of {len(records)}")
    middle, most = seconds[len(seconds) // 2], seconds[len(seconds) * 9 // 10]
    mean = sum(seconds) / len(seconds)
    print(f"seconds a kernel: median {middle:.3f}, mean {mean:.3f}, 90 % {most:.3f}, most {seconds[-1]:.1f}")


def saved(records: Iterable[Row], path: Path | None) -> list[Row]:
    """The records as a list, each written to a file when it comes."""
    if path is None:
        return list(records)
    kept = []
    with path.open("w", encoding="utf-8") as file:
        for record in records:
            small = {**record, "motifs": sorted({m["motif"] for m in record["motifs"]})}
            file.write(json.dumps(small) + "\n")
            file.flush()
            kept.append(small)
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--arch")
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--sample", type=int, default=0, help="kernels of each family and name")
    parser.add_argument("--rest", type=int, default=1, help="kernels of each name that decides nothing")
    parser.add_argument("--quick", action="store_true", help="find the class alone, not all motifs")
    parser.add_argument("--tuned", action="append", default=[], help="part of a file's name")
    parser.add_argument("--half", action="append", default=[], help="part of a file's name")
    parser.add_argument("--jsonl", type=Path, help="write the record of each kernel here")
    parser.add_argument("--records", type=Path, action="append", default=[], help="report records of before")
    arguments = parser.parse_args()
    families, problems, start = Families(), list[str](), time.perf_counter()
    records = [json.loads(line) for path in arguments.records for line in path.open(encoding="utf-8")]
    if arguments.paths:
        records += saved(classified(arguments, problems), arguments.jsonl)
        print(f"{len(records)} kernels, {len(problems)} problems, {time.perf_counter() - start:.0f} s")
        print("\n".join(problems[:10]))
    for title in ("tuned", "untuned"):
        part = [record for record in records if part_of(record, arguments) == title]
        if part:
            report(title, part, families)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
