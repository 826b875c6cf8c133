"""`sassql report`: what a library or a corpus is made of, as a page that people look at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sassql import resources
from sassql.cli.inputs import Reading, input_options
from sassql.cli.progress import Pace
from sassql.cli.report_sides import Named, sides_of
from sassql.errors import EXIT_NOTHING, UsageError
from sassql.reading.load import Options, architectures

if TYPE_CHECKING:
    from sassql.report.build import Job
    from sassql.report.document import Document

FORMATS = ("html", "md", "json")
_SUFFIXES = {".html": "html", ".htm": "html", ".md": "md", ".json": "json"}


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=str,
    help="FILE.html, FILE.md or FILE.json, or a FOLDER/ with a page for each kernel. Markdown on standard "
    "output without it.",
)
@click.option(
    "--format", "format", type=click.Choice(FORMATS), help="What is written; the output's ending by default."
)
@click.option(
    "--compare", is_flag=True, help="Compare two PATHS, or PATH:KERNEL, or two architectures of one."
)
@click.option(
    "--patterns",
    type=click.Path(path_type=Path, exists=True),
    help="Folder or file of motifs, in place of those and the classes of `sassql classify`.",
)
@click.option("--title", default="", help="Heading of the report; the names of the inputs by default.")
@click.option(
    "--jobs", type=click.IntRange(min=0), default=0, help="Processes; all cores for 0, the default."
)
@input_options
@click.pass_context
def report(
    ctx: click.Context,
    paths: tuple[Path, ...],
    output: str | None,
    format: str | None,
    compare: bool,
    patterns: Path | None,
    title: str,
    jobs: int,
    arch: str | None,
    kernel_glob: str | None,
) -> None:
    """Write a report on GPU code: overview, motifs, instructions, resources, findings, annotated listings.

    PATHS are what `sassql query` reads. A report in one file carries the overview and the 200
    heaviest kernels; a folder has a page for each.

    \b
    Examples:
      sassql report corpora/lowering -o report.html
      sassql report libfoo.so --arch sm_90 -o foo/
      sassql report build/ --kernel '*softmax*' --format md
      sassql report --compare old.cubin new.cubin -o changes.html
      sassql report --compare a.cubin:softmax_three_pass a.cubin:softmax_online
      sassql report --compare kernels.cu --arch sm_80,sm_90 -o generations.html

    Exit codes: 0 done, 1 no kernel, 2 bad usage or pattern, 3 something could not be read (the rest is in the
    report), 4 a tool is missing.
    """
    if not paths:
        raise UsageError("nothing to report on", hint="name a corpus, a library, or other files")
    format = _format(output, format)
    reading = Reading(paths, arch, kernel_glob)
    if compare:
        ctx.exit(_compare(reading, _Request(output, format, patterns, jobs, title)))
    options = Options(architectures(arch))
    with Pace("reading", paths, options) as pace:
        job = _job(reading, patterns, jobs, title, pace)
        document = _document(job, pace)
    with Pace("writing", paths, options) as pace:
        _write(document, job, output, format, pace)
    reading.modules_read = document.cubins or len(document.kernels)
    reading.kernels_read = reading.kernels_wanted = len(document.kernels)
    click.echo(f"{len(document.kernels):,} kernels, {document.instructions:,} instructions", err=True)
    code = reading.finish(found=bool(document.kernels))
    ctx.exit(code if document.kernels or code else EXIT_NOTHING)


@dataclass(frozen=True, slots=True)
class _Request:
    """The options that say what is made."""

    output: str | None
    format: str
    patterns: Path | None
    jobs: int
    title: str


def _compare(reading: Reading, request: _Request) -> int:
    """Write a comparison and return the exit code."""
    from sassql.report import comparison_pages  # noqa: PLC0415  (a second that `--help` does not need)

    if request.output is not None and request.output.endswith("/"):
        raise UsageError("a comparison is one file", hint="say -o changes.html")
    sides = sides_of(reading)
    paths = tuple(path for side in sides for path in side.reading.paths)
    with Pace("comparing", paths, Options(architectures(reading.arch))) as pace:
        jobs = [_job(side.reading, request.patterns, request.jobs, "", pace) for side in sides]
        made = [comparison_pages.Side(side.name, job) for side, job in zip(sides, jobs, strict=True)]
        found = comparison_pages.compare(made[0], made[1], request.title, pace.advance)
    render = {
        "html": comparison_pages.to_html,
        "md": comparison_pages.to_markdown,
        "json": comparison_pages.to_json,
    }[request.format]
    _put(request.output, render(found))
    differing = sum(pair.differs for pair in found.pairs)
    click.echo(f"{len(found.pairs):,} pairs of kernels, {differing:,} differ", err=True)
    codes = []
    for side, document in zip(sides, (found.a, found.b), strict=True):
        side.reading.modules_read = document.cubins or len(document.kernels)
        side.reading.kernels_read = side.reading.kernels_wanted = len(document.kernels)
        codes.append(side.reading.finish(found=bool(document.kernels)))
    return max(codes)


def _job(reading: Reading, patterns: Path | None, jobs: int, title: str, pace: Pace) -> Job:
    from sassql.report.build import Job  # noqa: PLC0415  (a second that `--help` does not need)
    from sassql.report.motifs import pattern_files  # noqa: PLC0415

    return Job(
        paths=reading.paths,
        patterns=pattern_files(patterns or resources.folder("patterns")),
        options=Options(architectures=architectures(reading.arch)),
        select=Named(reading.kernel_glob) if reading.kernel_glob is not None else None,
        jobs=jobs,
        title=title,
        classify=patterns is None,
        compiling=pace.compiling,
        problems=reading.problems,
    )


def _document(job: Job, pace: Pace) -> Document:
    from sassql.report.build import build  # noqa: PLC0415

    document = build(job, pace.advance)
    document.accuracy = accuracy(document) if job.classify else None
    return document


def _format(output: str | None, format: str | None) -> str:
    """The format that the options ask for.

    Raises:
        UsageError: the output's ending says none, or does not go with the format.
    """
    folder = output is not None and (output.endswith("/") or Path(output).is_dir())
    if format is None and output is not None and not folder and Path(output).suffix.lower() not in _SUFFIXES:
        hint = "use .html, .md, .json, a folder/, or --format"
        raise UsageError(f"{output}: the ending says no format", hint=hint)
    if format is None:
        format = "md" if output is None else "html" if folder else _SUFFIXES[Path(output).suffix.lower()]
    if folder and format != "html":
        raise UsageError(f"a folder is written as HTML, not as {format}")
    if format == "html" and output is None:
        raise UsageError("no output", hint="say where with -o report.html or -o folder/")
    return format


def _write(document: Document, job: Job, output: str | None, format: str, pace: Pace) -> None:
    from sassql.report import pages  # noqa: PLC0415
    from sassql.report.document import to_json  # noqa: PLC0415
    from sassql.report.markdown import to_markdown  # noqa: PLC0415

    if format == "html":
        assert output is not None
        folder = output.endswith("/") or Path(output).is_dir()
        (pages.write_folder if folder else pages.write_file)(document, job, Path(output), pace.advance)
        return
    _put(output, to_json(document) if format == "json" else to_markdown(document))


def _put(output: str | None, text: str) -> None:
    from sassql.report import pages  # noqa: PLC0415

    if output is not None:
        pages.write(Path(output), text)
        return
    click.echo(text.encode("utf-8", "backslashreplace"), nl=False)


def accuracy(document: Document) -> Any:  # noqa: ANN401  (None, or the section of the document)
    """The comparison with the truth, where the report is of one corpus that has it."""
    from sassql.report.document import Accuracy, Score  # noqa: PLC0415
    from sassql.testing import truth  # noqa: PLC0415
    from sassql.testing.accuracy import score  # noqa: PLC0415

    folders = [Path(source) for source in document.sources]
    if len(folders) != 1 or not (folders[0] / truth.TRUTH).is_file():
        return None
    records = (
        {
            "kernel": kernel.name,
            "arch": kernel.arch,
            "class": kernel.cls or "unknown",
            "motifs": [{**m.columns, "motif": m.motif, "status": m.status} for m in kernel.motifs],
        }
        for kernel in document.kernels
    )
    found = score(truth.read_truth(folders[0]), records)
    tallies = [("all", found.total), *sorted(found.motifs.items())]
    rows = [Score(name, t.right, t.wrong, t.missed) for name, t in tallies if t.right + t.wrong + t.missed]
    mistakes = [
        f"{m.what}: {m.kernel} {m.arch} {m.motif} {m.detail}".strip()
        for m in found.mistakes
        if document.classified or m.what != "class"
    ]
    return Accuracy(
        tuple(rows),
        dict(found.classes) if document.classified else {},
        dict(found.decoys),
        tuple(mistakes),
    )
