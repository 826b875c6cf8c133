"""`sassql advise`: what could be otherwise in each kernel, with premise, price and evidence."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from sassql.cli.advice_text import group_lines, kernel_lines
from sassql.cli.inputs import code_of, input_options, selection, show_problems
from sassql.cli.output import format_option, write_rows
from sassql.cli.progress import followed
from sassql.corpus.batch import Batch
from sassql.errors import Problem, UsageError
from sassql.insight.advice import RULES, group_advice
from sassql.insight.advice import advise as advise_kernel
from sassql.insight.launch import read_table
from sassql.model.kernel import Kernel
from sassql.reading.load import Options, architectures

COLUMNS = (
    *("file", "entry", "kernel", "arch", "rule", "kind", "status", "why", "at"),
    *("conditions", "action", "effects", "motifs", "details"),
    *("of_rule", "kernels"),  # of rule 6
)
_OF_SEVERAL = 6


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--rule",
    "rules",
    type=click.IntRange(1, max(RULES)),
    multiple=True,
    help="Only findings of this rule (1 to 6); repeatable.",
)
@click.option(
    "--launch",
    type=click.Path(path_type=Path),
    help="How the kernels are launched, a TOML file as of `compare`: formulas get numbers.",
)
@click.option("--jobs", type=click.IntRange(1), default=None, help="Processes; all cores by default.")
@input_options
@format_option
@click.pass_context
def advise(
    ctx: click.Context,
    paths: tuple[Path, ...],
    rules: tuple[int, ...],
    launch: Path | None,
    jobs: int | None,
    arch: str | None,
    kernel_glob: str | None,
    format: str,
) -> None:
    """Say what could be otherwise in each kernel: where, on what premise, and what it would save.

    Rules: 1 values that are stored and loaded back, 2 where a shared reduction result lives, 3 data that
    are loaded again, 4 passes that one running state could merge, 5 what a fusion would cost, 6 the same
    finding in several kernels. An advice holds only where its premises do.

    \b
    Examples:
      sassql advise kernel.cubin
      sassql advise kernels.cu --arch sm_90 --launch launch.toml --rule 1 --rule 3
      sassql advise libfoo.so --format jsonl > advice.jsonl

    Exit codes: 0 something was found, 1 nothing, 2 bad usage or launch file, 3 something could not be read,
    4 a tool is missing.
    """
    table = None if launch is None else read_table(launch)
    wanted = frozenset(rules or RULES)
    asked = frozenset(RULES) if _OF_SEVERAL in wanted else wanted
    select = selection(kernel_glob)
    setup = partial(_question, table, asked)
    batch = Batch(setup, Options(architectures(arch)), select, jobs or os.cpu_count() or 1)
    told: Counter[int] = Counter()
    kernels: list[dict[str, Any]] = []
    problems: list[Problem] = []

    def rows() -> Iterator[dict[str, Any]]:
        for done in followed(batch, "advising", paths):
            problems.extend(done.problems)
            for record in done.answers:
                kernels.append(record)
                for finding in record["findings"]:
                    if finding["rule"] in wanted:
                        told[finding["rule"]] += 1
                        yield _flat(record, finding)
        if _OF_SEVERAL in wanted:
            for group in group_advice(kernels):
                told[_OF_SEVERAL] += 1
                yield group.as_record()

    if format == "table":
        _print(list(rows()), kernels, wanted)
    else:
        write_rows(rows(), format, columns=None if format == "jsonl" else COLUMNS)
    _notes(kernels, problems)
    counted = ", ".join(f"{n} of rule {rule}" for rule, n in sorted(told.items()))
    click.echo(f"{len(kernels)} kernels, {told.total()} findings{': ' if counted else ''}{counted}", err=True)
    ctx.exit(code_of(problems, found=bool(told)))


def _question(table: Mapping[str, Any] | None, rules: frozenset[int]) -> Callable[[Kernel], dict[str, Any]]:
    return partial(_ask, table=table, rules=rules)


def _ask(kernel: Kernel, *, table: Mapping[str, Any] | None, rules: frozenset[int]) -> dict[str, Any]:
    """The advice about a kernel as a record; without numbers where the launch description is not about it."""
    if not kernel.is_entry:
        return {"kernel": kernel.name, "arch": kernel.arch, "findings": [], "notes": []}
    try:
        return advise_kernel(kernel, launch=table, rules=rules).as_record()
    except UsageError as error:
        record = advise_kernel(kernel, rules=rules).as_record()
        record["notes"].append(f"no numbers: {error}")
        return record


def _flat(record: Mapping[str, Any], finding: Mapping[str, Any]) -> dict[str, Any]:
    """A finding with the kernel that it is about."""
    return {**{name: record[name] for name in ("file", "entry", "kernel", "arch")}, **finding}


def _print(rows: list[dict[str, Any]], kernels: list[dict[str, Any]], wanted: frozenset[int]) -> None:
    """For people: kernel by kernel, then what several of them share."""
    first = True
    for record in kernels:
        found = [finding for finding in record["findings"] if finding["rule"] in wanted]
        if found:
            click.echo("" if not first else None, nl=not first)
            for line in kernel_lines(record, found):
                click.echo(line)
            first = False
    groups = [row for row in rows if row["rule"] == _OF_SEVERAL]
    if groups:
        click.echo()
        for line in group_lines(groups):
            click.echo(line)


def _notes(kernels: list[dict[str, Any]], problems: list[Problem]) -> None:
    for record in kernels:
        for note in record["notes"]:
            click.echo(click.style("note: ", fg="cyan") + f"{record['kernel']}: {note}", err=True)
    show_problems(problems)
