"""The tables of a report, counted from the document: HTML and Markdown show the same ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from sassql.report.document import GROUPS, Document, Finding, KernelRecord

SHADES = 9
"""Steps of the shades of a matrix, 0 for nothing."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows of (name, cells), a cell for each column: its text and its shade."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]


@dataclass(frozen=True, slots=True)
class Resources:
    """Registers, shared memory and occupancy of the kernels of each architecture."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, int, tuple[str, ...]], ...]


def by_architecture(document: Document) -> dict[str, list[KernelRecord]]:
    """The kernels of each architecture, oldest first."""
    found: dict[str, list[KernelRecord]] = {arch: [] for arch in document.architectures}
    for kernel in document.kernels:
        found[kernel.arch].append(kernel)
    return found


def motif_matrix(document: Document) -> Matrix:
    """Kernels with each motif, by architecture; the most frequent motif first."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for kernel in document.kernels:
        for motif in kernel.motif_names:
            counts[motif][kernel.arch] += 1
    totals = {arch: len(kernels) for arch, kernels in by_architecture(document).items()}
    return _shaded(counts, totals, shown=lambda n, total: f"{n} ({_percent(n, total)})" if n else "-")


def class_counts(document: Document) -> Counter[str]:
    """Kernels of each class."""
    return Counter(kernel.cls for kernel in document.kernels if kernel.cls)


def mix_matrix(document: Document) -> Matrix:
    """What instructions do, as a part of all instructions of an architecture."""
    counts: dict[str, Counter[str]] = {group: Counter() for group in GROUPS}
    for kernel in document.kernels:
        for group, count in kernel.mix.items():
            counts[group][kernel.arch] += count
    totals = {
        arch: sum(kernel.instructions for kernel in kernels)
        for arch, kernels in by_architecture(document).items()
    }
    return _shaded({group: count for group, count in counts.items() if count}, totals, ordered=True)


def opcode_matrix(document: Document, most: int = 40) -> Matrix:
    """The most frequent opcodes."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for arch, opcodes in document.opcodes.items():
        for opcode, count in opcodes.items():
            counts[opcode or "unreadable"][arch] += count
    totals = {arch: sum(opcodes.values()) for arch, opcodes in document.opcodes.items()}
    named = sorted(counts, key=lambda opcode: -counts[opcode].total())[:most]
    return _shaded({opcode: counts[opcode] for opcode in named}, totals)


def _shaded(
    counts: Mapping[str, Counter[str]],
    totals: Mapping[str, int],
    *,
    ordered: bool = False,
    shown: object = None,
) -> Matrix:
    columns = tuple(totals)
    names = list(counts) if ordered else sorted(counts, key=lambda name: (-counts[name].total(), name))
    text = shown if callable(shown) else (lambda n, total: _percent(n, total) if n else "-")
    rows = []
    for name in names:
        cells = tuple(
            (text(counts[name][arch], totals[arch]), shade(counts[name][arch], totals[arch]))
            for arch in columns
        )
        rows.append((name, cells))
    return Matrix(columns, tuple(rows))


def shade(part: int, whole: int) -> int:
    """The shade of a part: 0 for nothing, 1 for a little, up to `SHADES` for all."""
    return 0 if not part or not whole else max(1, round(SHADES * part / whole))


def _percent(part: int, whole: int) -> str:
    if not whole:
        return "-"
    percent = 100 * part / whole
    return f"{percent:.0f} %" if percent >= 10 else f"{percent:.1f} %"


def resource_table(document: Document) -> Resources:
    """The middle value and the highest of what kernels need, by architecture."""
    heads = (
        "Registers, median",
        "highest",
        "Shared memory, median",
        "highest",
        "With local memory",
        "Occupancy, median",
        "lowest",
        "Limited by registers",
    )
    rows = []
    for arch, kernels in by_architecture(document).items():
        registers = [k.needs.registers for k in kernels if k.needs.registers is not None]
        shared = [k.needs.shared for k in kernels if k.needs.shared is not None]
        found = [k.occupancy for k in kernels if k.occupancy]
        percent = [o.percent for o in found]
        cells = (
            *_middle_and(max, registers),
            *_middle_and(max, shared),
            str(sum(bool(k.needs.local) for k in kernels)),
            *(f"{text} %" if percent else text for text in _middle_and(min, percent)),
            str(sum(o.limit == "registers" and o.warps < o.most for o in found)) if found else "-",
        )
        rows.append((arch, len(kernels), cells))
    return Resources(heads, tuple(rows))


def _middle_and(extreme: object, values: Sequence[int]) -> tuple[str, str]:
    if not values:
        return "-", "-"
    assert callable(extreme)
    return f"{median(values):,.0f}", f"{extreme(values):,}"


def heaviest_findings(
    kernels: Iterable[KernelRecord], most: int
) -> tuple[list[tuple[KernelRecord, Finding]], int]:
    """The findings of all kernels by weight, and how many are left out."""
    every = [(kernel, finding) for kernel in kernels for finding in kernel.findings]
    every.sort(key=lambda pair: -pair[1].weight)
    return every[:most], max(0, len(every) - most)


def unknown_opcodes(document: Document) -> tuple[str, ...]:
    """Opcodes that the tables lack, of all kernels."""
    return tuple(sorted({opcode for kernel in document.kernels for opcode in kernel.unknown}))
