"""Writes reports: the document is made first, then the kernels that are shown are read once more.

Sections of kernels are made in the processes that read them, so a report of any length needs the
memory of its records only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sassql.corpus.batch import Question
from sassql.errors import UsageError
from sassql.insight.advice import advise
from sassql.insight.invariants import invariants
from sassql.model.kernel import Kernel
from sassql.report import html
from sassql.report.build import Chosen, Job, Key, Progress, key_of
from sassql.report.detail import KernelDetail
from sassql.report.document import Document, KernelRecord
from sassql.report.listing import Lister
from sassql.report.pictures import flow_picture, motif_picture

BUDGET = 50_000
"""Values that are looked at for the invariants of a kernel: a report has many kernels."""
IN_ONE_FILE = 200
"""Kernels with their listings in a report that is one file."""
LISTED_IN_ONE_FILE, LISTED = 1_200, 30_000
"""Instructions that the listing of a kernel has at most, in a single file and in a page of its own."""


def detail(kernel: Kernel, record: KernelRecord, most: int = LISTED) -> KernelDetail:
    """Everything about one kernel; its listing has at most ``most`` instructions."""
    lister = Lister(kernel, record, most)
    return KernelDetail(
        record=record,
        loops=tuple(lister.loop_lines()),
        blocks=tuple(lister.block_lines()),
        left_out=lister.left_out,
        flow=flow_picture(kernel),
        motif_flow=motif_picture(kernel, record),
        invariants=invariants(kernel, budget=BUDGET).as_record(),
        advice=tuple(finding.as_record() for finding in advise(kernel).findings) if kernel.is_entry else (),
    )


@dataclass(frozen=True, slots=True)
class _Sections:
    """The question that makes sections; it is sent to every process."""

    records: Mapping[Key, KernelRecord]
    most: int
    pack: bool

    def __call__(self, kernel: Kernel) -> dict[str, Any]:
        record = self.records[key_of(kernel)]
        text = html.fragment(detail(kernel, record, self.most))
        return {"id": record.id, "section": html.packed(text) if self.pack else text}


def _question(sections: _Sections) -> Question:
    return sections


def sections(
    job: Job, records: Sequence[KernelRecord], *, most: int, pack: bool, progress: Progress
) -> Iterator[tuple[str, str]]:
    """Ids and sections of some kernels, in the order in which they are read."""
    asked = _Sections({key_of(record): record for record in records}, most, pack)
    for done in job.run(partial(_question, asked), Chosen(records)):
        for answer in done.answers:
            yield answer["id"], answer["section"]
        known = {str(problem) for problem in job.problems}
        job.problems.extend(p for p in done.problems if str(p) not in known)
        progress(done)


def write_file(document: Document, job: Job, path: Path, progress: Progress = lambda _: None) -> None:
    """One page that needs nothing else: the overview, and the heaviest kernels with their listings.

    Raises:
        UsageError: the file cannot be written.
    """
    chosen = document.kernels[:IN_ONE_FILE]
    made = dict(sections(job, chosen, most=LISTED_IN_ONE_FILE, pack=True, progress=progress))
    pages = {record.id: f"#{record.id}" for record in chosen if record.id in made}
    write(
        path,
        html.page(document, pages, [(record.id, made[record.id]) for record in chosen if record.id in made]),
    )


def write_folder(document: Document, job: Job, folder: Path, progress: Progress = lambda _: None) -> None:
    """`index.html`, and a page for each kernel in `kernels/`, which is loaded when it is opened.

    Raises:
        UsageError: the folder cannot be written.
    """
    made: dict[str, str] = {}
    by_id = {record.id: record for record in document.kernels}
    found = sections(job, document.kernels, most=LISTED, pack=False, progress=progress)
    for name, section in found:
        made[name] = f"kernels/{name}.html"
        write(folder / made[name], html.kernel_page(by_id[name], section, document.title))
    for name in (html.STYLE, html.SCRIPT):
        write(folder / name, html.asset(name))
    write(folder / "index.html", html.page(document, made, None))


def write(path: Path, text: str) -> None:
    """Write a file, and its folder where there is none.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None
