"""`sassql invariants`: what a kernel's mathematics forces, and what was only chosen."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click

from sassql.cli.inputs import code_of, input_options, selection, show_problems
from sassql.cli.output import format_option, write_rows
from sassql.cli.progress import followed
from sassql.corpus.batch import Batch
from sassql.errors import Problem
from sassql.insight.invariants import question
from sassql.reading.load import Options, architectures

SECTIONS = ("dependency", "reduction", "observability", "reuse", "numerics")
COLUMNS = ("file", "entry", "kernel", "arch", "section", "subject", "verdict", "text", "premise", "at")
MOST_LINES, MOST_PLACES = 12, 6
"""Statements of a section, and addresses of a statement, that are printed for people."""
_TITLES = {
    "dependency": "what each stored location depends on",
    "reduction": "what is reduced over which domain, and how free its order is",
    "observability": "what becomes of each store",
    "reuse": "what is used several times",
    "numerics": "how it rounds",
}


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--section",
    "sections",
    multiple=True,
    type=click.Choice(SECTIONS),
    help="Only this section; repeatable.",
)
@click.option("--jobs", type=click.IntRange(1), default=None, help="Processes; all cores by default.")
@input_options
@format_option
@click.pass_context
def invariants(
    ctx: click.Context,
    paths: tuple[Path, ...],
    sections: tuple[str, ...],
    jobs: int | None,
    arch: str | None,
    kernel_glob: str | None,
    format: str,
) -> None:
    """Say what is invariant in each kernel: dependency, reductions, observability, reuse, numerics.

    Each statement comes with the addresses that are its evidence, and with its missing premise: what would
    have to be known for it to hold in full. What cannot be said is unknown, with the reason.

    \b
    Examples:
      sassql invariants kernel.cubin
      sassql invariants kernels.cu --arch sm_120 --kernel 'softmax*' --section reduction
      sassql invariants corpora/lowering --format jsonl > invariants.jsonl

    Exit codes: 0 there were kernels, 1 there were none, 3 something could not be read, 4 a tool is missing.
    """
    select = selection(kernel_glob)
    batch = Batch(question, Options(architectures(arch)), select, jobs or os.cpu_count() or 1)
    wanted = tuple(name for name in SECTIONS if name in sections) or SECTIONS
    answers: Counter[str] = Counter()
    problems: list[Problem] = []

    def records() -> Iterator[dict[str, Any]]:
        for done in followed(batch, "analysing", paths):
            for record in done.answers:
                answers[record["independence"]] += 1
                yield {k: v for k, v in record.items() if k not in SECTIONS or k in wanted}
            problems.extend(done.problems)
            yield from (_unanswered(problem) for problem in done.problems if problem.exit_code)

    if format == "jsonl":
        write_rows(records(), format)
    elif format == "csv":
        write_rows((row for record in records() for row in _rows(record)), format, columns=COLUMNS)
    else:
        for record in records():
            _print(record)
    show_problems(problems)
    told = ", ".join(f"{count} {name}" for name, count in answers.most_common())
    click.echo(f"{answers.total()} kernels{f': independence {told}' if told else ''}", err=True)
    ctx.exit(code_of(problems, found=bool(answers)))


def _unanswered(problem: Problem) -> dict[str, Any]:
    """The object of something that could not be read or asked."""
    return {
        "file": problem.place.file,
        "entry": problem.place.entry,
        "kernel": None,
        "arch": None,
        "independence": "unknown",
        "why": str(problem),
        **{name: [] for name in SECTIONS},
        "open": [str(problem)],
    }


def _rows(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A line for each statement of a kernel, or for the reason why there is none."""
    if record["kernel"] is None:
        yield {**record, "section": "", "verdict": "error", "text": record["why"]}
    for section in SECTIONS:
        for statement in record.get(section, ()):
            yield {
                **{name: record[name] for name in ("file", "entry", "kernel", "arch")},
                "section": section,
                "subject": _subject(statement),
                "verdict": _verdict(statement),
                "text": statement["text"],
                "premise": statement["premise"],
                "at": " ".join(statement["at"]),
            }


def _subject(statement: dict[str, Any]) -> str:
    names = ("place", "op", "topic")
    return next((str(statement[name]) for name in names if name in statement), "")


def _verdict(statement: dict[str, Any]) -> str:
    """The one word of a statement: independence, order, fate, kind or value."""
    names = ("independence", "order", "fate", "kind", "value")
    return next((str(statement[name]) for name in names if name in statement), "")


def _print(record: dict[str, Any]) -> None:
    """One kernel for people: a paragraph for each section."""
    echo, bold = click.echo, partial(click.style, bold=True)
    if record["kernel"] is None:
        return  # the reason comes on stderr
    echo(bold(f"{record['kernel']}  {record['arch']}"))
    echo(f"elements are independent: {record['independence']}, {record['why']}")
    for section in SECTIONS:
        statements = record.get(section)
        if statements is None:
            continue
        echo()
        echo(f"{bold(section)}  {_TITLES[section]}")
        for statement in statements[:MOST_LINES]:
            _print_statement(section, statement)
        if not statements:
            echo("  nothing")
        if len(statements) > MOST_LINES:
            echo(f"  … and {len(statements) - MOST_LINES} more, in --format jsonl")
    for reason in record["open"]:
        echo(f"open: {reason}")
    echo()


def _print_statement(section: str, statement: dict[str, Any]) -> None:
    """A statement with its details, its premise, and the addresses that are its evidence."""
    echo, at = click.echo, statement["at"]
    match section:
        case "dependency":
            _print_dependency(statement)
        case "reduction":
            echo(f"  {statement['op']} of {statement['dtype'] or 'an unknown type'}")
            for place, factor in enumerate(statement["factors"]):
                echo(f"    {'x   ' if place else 'over'} {factor['text']}")
            echo(f"    order: {statement['order']}, {statement['why']}")
        case _:
            echo(f"  {statement['text']}")
    if statement["premise"]:
        echo(f"    if {statement['premise']}")
    more = f" … {len(at) - MOST_PLACES} more" if len(at) > MOST_PLACES else ""
    echo(f"    at {' '.join(at[:MOST_PLACES])}{more}")


def _print_dependency(statement: dict[str, Any]) -> None:
    echo = click.echo
    echo(f"  {statement['place']}{' (atomic)' if statement['access'] == 'atomic' else ''}")
    for by in ("value", "address", "control"):
        found = [s for s in statement["sources"] if by in s["by"]]
        names = (f"{s['name']} ({s['relation']})" if s["relation"] else s["name"] for s in found)
        if found:
            echo(f"    by {by:8}{', '.join(dict.fromkeys(names))}")
    because = " ".join(statement["because"][:MOST_PLACES])
    told = f" ({because})" if because else ""
    echo(f"    independent: {statement['independence']}, {statement['why']}{told}")
