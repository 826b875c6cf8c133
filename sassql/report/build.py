"""Makes the document: every kernel of some inputs is read once, on all cores, and only its record is kept.

Listings are not in the document, they would not fit: `details` reads the kernels that are to be shown
once more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from sassql.corpus.batch import Batch, Done, Question, Select
from sassql.errors import Problem, SassqlError
from sassql.model.kernel import Kernel
from sassql.reading import tools
from sassql.reading.load import EVERYTHING, Options
from sassql.report.document import Document, Failure, KernelRecord
from sassql.report.motifs import library_records, records_of, titles
from sassql.report.summary import Summarizer

_TOOLS = ("nvdisasm",)

Progress = Callable[[Done], object]
"""Called with what each task gave."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a report is made of.

    ``classify`` asks what `sassql classify` asks, in place of ``patterns``, whose titles are used
    all the same. ``select`` picks kernels, a function of a module; ``jobs`` processes, all cores for 0.
    """

    paths: Sequence[Path]
    patterns: tuple[Path, ...] = ()
    options: Options = EVERYTHING
    select: Select | None = None
    jobs: int = 0
    title: str = ""
    classify: bool = False
    compiling: Any = None
    """Called while a corpus is compiled, as `Batch.run` says."""
    problems: list[Problem] = field(default_factory=list)
    """What went wrong, as it is found."""

    def run(self, setup: Callable[[], Question], select: Select | None = None) -> Iterator[Done]:
        """Ask every kernel."""
        batch = Batch(setup, self.options, select or self.select, self.jobs)
        return batch.run(self.paths, progress=self.compiling)


def build(job: Job, progress: Progress = lambda _: None) -> Document:
    """The document of a job; its kernels are sorted by weight, the heaviest first."""
    document = Document(
        title=job.title or ", ".join(path.name or str(path) for path in job.paths),
        sources=tuple(map(str, job.paths)),
        tools=_versions(),
        motif_titles=titles(job.patterns),
    )
    counts: dict[str, Counter[str]] = {}
    found: list[KernelRecord] = []
    for done in job.run(partial(_summarizer, job.patterns, job.classify)):
        for answer in done.answers:
            record: KernelRecord = answer["kernel"]
            found.append(record)
            counts.setdefault(record.arch, Counter()).update(answer["opcodes"])
        job.problems.extend(done.problems)
        document.cubins += done.cubins
        progress(done)
    found.sort(key=lambda k: (-k.weight, k.demangled, k.arch, k.file, k.entry))
    document.kernels = [replace(record, id=f"k{number}") for number, record in enumerate(found, 1)]
    document.opcodes = {arch: dict(count.most_common()) for arch, count in sorted(counts.items())}
    document.failures = [Failure(str(p), p.kind, bool(p.exit_code)) for p in job.problems]
    return document


def _summarizer(patterns: tuple[Path, ...], classify: bool) -> Question:
    return Summarizer(library_records() if classify else records_of(patterns))


def _versions() -> dict[str, str]:
    from sassql import __version__  # noqa: PLC0415  (the package imports this module)

    found = {"sassql": __version__}
    for name in _TOOLS:
        try:
            found[name] = tools.find(name).version  # type: ignore[arg-type]
        except SassqlError:  # listings are read without it
            continue
    return found


Key = tuple[str, str, str, str]


def key_of(found: Kernel | KernelRecord) -> Key:
    """What tells a kernel of a report from all others: file, entry, symbol, architecture."""
    if isinstance(found, Kernel):
        return found.source.file, found.source.entry, found.name, found.arch
    return found.file, found.entry, found.name, found.arch


class Chosen:
    """Picks the kernels of some records; can be sent to another process."""

    def __init__(self, records: Sequence[KernelRecord]) -> None:
        self.keys = {key_of(record) for record in records}

    def __call__(self, kernel: Kernel) -> bool:
        return key_of(kernel) in self.keys
