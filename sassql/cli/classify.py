"""`sassql classify`: one class per kernel, its motifs with addresses, and a status."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from sassql.cli.inputs import code_of, input_options, selection, show_problems
from sassql.cli.output import format_option, write_rows
from sassql.cli.progress import followed
from sassql.corpus.batch import Batch
from sassql.errors import Problem
from sassql.insight.classify import question
from sassql.reading.load import Options, architectures

COLUMNS = ("file", "entry", "kernel", "arch", "class", "status", "instructions", "motifs")
SHOWN = 6


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--jobs", type=click.IntRange(1), default=None, help="Processes; all cores by default.")
@input_options
@format_option
@click.pass_context
def classify(
    ctx: click.Context,
    paths: tuple[Path, ...],
    jobs: int | None,
    arch: str | None,
    kernel_glob: str | None,
    format: str,
) -> None:
    """Say what each kernel does: a class, the motifs that are the evidence, and how sure that is.

    A kernel or file that cannot be answered is a row with its reason.

    \b
    Examples:
      sassql classify kernel.cubin
      sassql classify libfoo.so --arch sm_90 --format jsonl > kernels.jsonl
      sassql classify corpora/lowering --kernel 'sm_*'

    Exit codes: 0 kernels were classified, 1 there were none, 3 something could not be read or gave up,
    4 a tool is missing.
    """
    select = selection(kernel_glob)
    batch = Batch(question, Options(architectures(arch)), select, jobs or os.cpu_count() or 1)
    classes: Counter[str] = Counter()
    problems: list[Problem] = []

    def records() -> Iterator[dict[str, Any]]:
        for done in followed(batch, "classifying", paths):
            for record in done.answers:
                classes[record["class"]] += 1
                yield record if format == "jsonl" else _for_people(record)
            for problem in done.problems:
                problems.append(problem)
                if problem.exit_code:
                    yield _unanswered(problem)

    write_rows(records(), format, columns=None if format == "jsonl" else COLUMNS)
    in_rows = format == "jsonl"  # whose objects say the reason
    show_problems(problem for problem in problems if not (in_rows and problem.exit_code))
    told = ", ".join(f"{count} {name}" for name, count in classes.most_common())
    click.echo(f"{classes.total()} kernels{': ' if told else ''}{told}", err=True)
    ctx.exit(code_of(problems, found=bool(classes)))


def _unanswered(problem: Problem) -> dict[str, Any]:
    """The row of something that could not be read or asked."""
    return {
        "file": problem.place.file,
        "entry": problem.place.entry,
        "kernel": None,
        "arch": None,
        "class": "unknown",
        "status": "error",
        "reason": str(problem),
        "motifs": [],
    }


def _for_people(record: dict[str, Any]) -> dict[str, Any]:
    names: Counter[str] = Counter()
    for motif in record["motifs"]:
        kind = next((str(motif[k]) for k in ("op", "fn", "kind", "state", "space", "of") if motif.get(k)), "")
        doubt = "?" if motif["status"] != "match" else ""
        names[f"{motif['motif']} {kind}".strip() + doubt] += motif["count"]
    told = [f"{name} x{n}" if n > 1 else name for name, n in names.most_common(SHOWN)]
    more = f" … {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return {**record, "motifs": ", ".join(told) + more}
