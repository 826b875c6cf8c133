"""Renders a document as Markdown: for pull requests, issues and terminals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from sassql.report.document import Document
from sassql.report.tables import (
    Matrix,
    class_counts,
    heaviest_findings,
    mix_matrix,
    motif_matrix,
    resource_table,
    unknown_opcodes,
)

MOST_KERNELS, MOST_FINDINGS, MOST_FAILURES = 50, 50, 50
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&@])")


def to_markdown(document: Document) -> str:
    """The whole document; of kernels and findings the heaviest."""
    return "\n".join(_lines(document)) + "\n"


def plain(text: object) -> str:
    """A text that Markdown takes for nothing but text: one line, every special character escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], numbers: int | None = None
) -> Iterator[str]:
    """A table; columns from number ``numbers`` on are set from the right."""
    yield "| " + " | ".join(map(plain, heads)) + " |"
    right = len(heads) if numbers is None else numbers
    yield "| " + " | ".join("---:" if n >= right else "---" for n in range(len(heads))) + " |"
    for row in rows:
        yield "| " + " | ".join(map(plain, row)) + " |"


def _lines(document: Document) -> Iterator[str]:
    yield f"# {plain(document.title)}"
    yield ""
    serious = sum(failure.serious for failure in document.failures)
    yield (
        f"{len(document.kernels):,} kernels, {document.instructions:,} instructions, "
        f"{plain(', '.join(document.architectures) or 'no architecture')}; {serious} failures. "
        f"{plain(', '.join(f'{tool} {version}' for tool, version in document.tools.items()))}."
    )
    if unknown := unknown_opcodes(document):
        yield f"\nOpcodes that the tables lack, what rests on them is unknown: {plain(', '.join(unknown))}."
    if counts := class_counts(document):
        yield "\n## Classes\n"
        yield from table(("class", "kernels"), counts.most_common(), 1)
    yield from _matrix("Motifs", "motif", motif_matrix(document))
    yield from _matrix("Instructions", "group", mix_matrix(document))
    resources = resource_table(document)
    yield "\n## Resources\n"
    rows = ((arch, count, *cells) for arch, count, cells in resources.rows)
    yield from table(("architecture", "kernels", *resources.heads), rows, 1)
    yield from _accuracy(document)
    yield from _findings(document)
    if document.failures:
        yield "\n## Failures\n"
        yield from (f"* {plain(failure.text)}" for failure in document.failures[:MOST_FAILURES])
        if (more := len(document.failures) - MOST_FAILURES) > 0:
            yield f"* … and {more} more"
    yield from _kernels(document)


def _matrix(title: str, head: str, found: Matrix) -> Iterator[str]:
    if found.rows:
        yield f"\n## {title}\n"
        rows = ((name, *(text for text, _ in cells)) for name, cells in found.rows)
        yield from table((head, *found.columns), rows, 1)


def _accuracy(document: Document) -> Iterator[str]:
    if document.accuracy is None:
        return
    yield "\n## Accuracy\n"
    shown = [
        (s.name, s.right, s.wrong, s.missed, _share(s.precision), _share(s.recall))
        for s in document.accuracy.motifs
    ]
    yield from table(("motif", "right", "wrong", "missed", "precision", "recall"), shown, 1)
    for name, found in (("Classes", document.accuracy.classes), ("Decoys", document.accuracy.decoys)):
        if found:
            yield f"\n{name}: {', '.join(f'{count} {word}' for word, count in found.items())}."


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _findings(document: Document) -> Iterator[str]:
    found, more = heaviest_findings(document.kernels, MOST_FINDINGS)
    if found:
        yield "\n## Findings\n"
        rows = ((f.kind, f"{f.weight:,}", k.short, k.arch, f.text) for k, f in found)
        yield from table(("finding", "weight", "kernel", "architecture", "what"), rows)
        if more:
            yield f"\n… and {more} lighter ones."


def _kernels(document: Document) -> Iterator[str]:
    yield "\n## Kernels\n"
    rows = (
        (
            kernel.short,
            kernel.cls or "-",
            kernel.arch,
            f"{kernel.instructions:,}",
            f"{kernel.weight:,}",
            "-" if kernel.needs.registers is None else kernel.needs.registers,
            f"{kernel.occupancy.percent} %" if kernel.occupancy else "-",
            ", ".join(kernel.motif_names),
        )
        for kernel in document.kernels[:MOST_KERNELS]
    )
    heads = ("kernel", "class", "architecture", "instructions", "weight", "registers", "occupancy", "motifs")
    yield from table(heads, rows)
    if (more := len(document.kernels) - MOST_KERNELS) > 0:
        yield f"\n… and {more} lighter ones."
