"""Definitions and uses against the oracle on kernels chosen for what they have that is new.

    python benchmarks/oracle_coverage.py /tmp/wheels/torch/torch/lib --sample 30 --known tests/isa/observed.tsv

Whole libraries have hundreds of millions of instructions, and life ranges cost the vendor's tool
a second for 20,000. sassql reads a seeded sample of the cubins of every library and architecture,
and nvdisasm is asked only for kernels that hold a mnemonic and operand shape that fewer than
`--want` kernels of that architecture had before; every instruction of these kernels is compared.
Prints what `oracle_registers.py` prints, and every form that the tables do not know, judged or not.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from life_ranges import oracle
from observations import Observations, shape_key
from oracle_registers import Score, add_report_options, report, write_results

from sassql.errors import Problem, SassqlError
from sassql.model.kernel import Kernel, Source
from sassql.model.program import Module
from sassql.reading import containers, elf
from sassql.reading.cubin import read_modules
from sassql.reading.load import files_of
from sassql.reading.shapes import SHAPES
from sassql.reading.table import WordTable

BATCH_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Sample:
    """Which cubins of a library are read: up to ``count`` of each architecture, drawn with ``seed``."""

    count: int
    seed: int
    arch: str | None

    def cubins(self, path: Path) -> Iterator[tuple[bytes, Source]]:
        """The drawn cubins of a file, or of the cubins of a folder."""
        if path.is_dir():
            files = files_of(path)
            single = [f for f in files if f.suffix == ".cubin"]
            for file in self._draw(single):
                yield file.read_bytes(), Source(str(file))
            for file in files:
                if file.suffix != ".cubin":
                    yield from self.cubins(file)
        elif path.suffix == ".cubin":
            yield path.read_bytes(), Source(str(path))
        else:
            yield from self._entries(path)

    def _draw(self, items: list[Path]) -> list[Path]:
        """Up to ``count`` of the files of each folder."""
        folders: dict[Path, list[Path]] = defaultdict(list)
        for item in items:
            folders[item.parent].append(item)
        chosen = random.Random(self.seed)
        return [f for found in folders.values() for f in chosen.sample(found, min(self.count, len(found)))]

    def _entries(self, path: Path) -> Iterator[tuple[bytes, Source]]:
        names: dict[str, list[str]] = defaultdict(list)

        def note(name: str, kind: str, arch: str) -> bool:
            if kind == "cubin" and self.arch in (None, arch):
                names[arch].append(name)
            return False

        data = path.read_bytes()
        try:
            for _ in containers.entries(data, file=str(path), select=note):
                pass
        except SassqlError as error:
            print(f"  {error}", file=sys.stderr)
            return
        chosen = random.Random(self.seed)
        drawn = {n for found in names.values() for n in chosen.sample(found, min(self.count, len(found)))}
        for entry in containers.entries(data, file=str(path), select=lambda name, kind, arch: name in drawn):
            if not isinstance(entry, Problem):
                yield entry.data, Source(str(path), entry.name)


@dataclass(slots=True)
class Coverage:
    """What the chosen kernels had so far, and what comparing them gave."""

    want: int
    kernels_with: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Compared kernels by architecture and shape."""
    unknown: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Shapes that the tables do not know, in every kernel that was read, with their architectures."""
    observed: Observations = field(default_factory=Observations)
    scores: dict[str, Score] = field(default_factory=dict)
    unjudged: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)

    def add(self, module: Module, data: bytes) -> None:
        """Choose kernels of a cubin and compare them."""
        arch = module.arch
        shapes = {kernel.name: self._shapes(kernel) for kernel in module.kernels}
        self.read[arch] += sum(len(kernel.instructions) for kernel in module.kernels)
        chosen: list[Kernel] = []
        for kernel in sorted(module.kernels, key=lambda k: len(k.instructions)):
            if any(self.kernels_with[arch, shape] < self.want for shape in shapes[kernel.name]):
                chosen.append(kernel)
                self.kernels_with.update((arch, shape) for shape in shapes[kernel.name])
        if not chosen:
            return
        names = {kernel.name for kernel in chosen}
        found = oracle(data, [s for s in elf.read_cubin(data).sections if s.name in names]) or {}
        score = self.scores.setdefault(arch, Score(self.observed))
        for kernel in chosen:
            if kernel.name in found:
                score.judge(kernel, found[kernel.name])
            else:
                self.unjudged[arch] += len(kernel.instructions)

    def _shapes(self, kernel: Kernel) -> set[str]:
        assert isinstance(kernel.forms, WordTable)
        found = set()
        for text in kernel.forms.shape_texts(kernel.form_ids):
            key = shape_key(text)
            found.add(key)
            if not SHAPES.shape(text).known:
                self.unknown[key].add(kernel.arch)
        return found


def batches(found: Iterable[tuple[bytes, Source]]) -> Iterator[list[tuple[bytes, Source]]]:
    """Cubins in groups that are decoded together."""
    batch: list[tuple[bytes, Source]] = []
    size = 0
    for one in found:
        batch.append(one)
        size += len(one[0])
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def known_shapes(path: Path, want: int) -> Counter[tuple[str, str]]:
    """The shapes of an earlier record, as if enough kernels of their architecture had them."""
    lines = path.read_text("utf-8").splitlines()[1:]
    rows = (line.split("\t")[:2] for line in lines)
    return Counter({(arch, shape_key(SHAPES.form(text).shape.text)): want for arch, text in rows})


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, default=20, help="cubins per library and architecture")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--want", type=int, default=1, help="kernels that are to have a shape")
    parser.add_argument("--known", type=Path, help="an earlier --record: its shapes are not new")
    add_report_options(parser)
    arguments = parser.parse_args()
    coverage = Coverage(arguments.want)
    if arguments.known:
        coverage.kernels_with = known_shapes(arguments.known, arguments.want)
    sample = Sample(arguments.sample, arguments.seed, arguments.arch)
    for path in arguments.paths:
        for batch in batches(sample.cubins(path)):
            for (data, source), result in zip(batch, read_modules(batch), strict=True):
                if isinstance(result, SassqlError):
                    print(f"  {source}: {result}", file=sys.stderr)
                elif arguments.arch in (None, result[0].arch):
                    coverage.add(result[0], data)
    print("read:", ", ".join(f"{arch} {count}" for arch, count in sorted(coverage.read.items())))
    report(coverage.scores, coverage.unjudged, arguments.show)
    print(f"{len({shape for _, shape in coverage.kernels_with})} shapes in all")
    for shape, archs in sorted(coverage.unknown.items()):
        print(f"not in the tables: {shape}   ({' '.join(sorted(archs))})")
    write_results(arguments, coverage.scores, coverage.observed)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
