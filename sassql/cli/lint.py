"""`sassql lint`: what every check says about pattern files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from sassql.cli.output import write_rows
from sassql.cli.patterns import pattern_files
from sassql.errors import EXIT_FOUND, EXIT_NOTHING, EXIT_USAGE, PatternError, Place
from sassql.lang.ast import PatternFile
from sassql.lang.findings import Check, Finding, Severity
from sassql.lang.lint import all_checks
from sassql.lang.lint import lint as run_checks
from sassql.lang.parse import parse_file

PAGE = "docs/lint.md"
SYNTAX = "SQ000"
"""The id of a text that does not parse: no check has seen it."""
_COLORS = {"error": "red", "warning": "yellow", "remark": "cyan"}


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format",
    type=click.Choice(("text", "table", "jsonl", "csv")),
    default="text",
    show_default=True,
    help="For people, with the line and a caret; or one row per finding.",
)
@click.option(
    "--over",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Kernels, or a corpus, that `classify` rules are tried on; may be given several times.",
)
@click.option("--strict", is_flag=True, help="Remarks fail, too.")
@click.option("--list", "list_", is_flag=True, help="Print every check with what it recommends.")
@click.pass_context
def lint(
    ctx: click.Context,
    paths: tuple[Path, ...],
    format: str,
    over: tuple[Path, ...],
    strict: bool,
    list_: bool,
) -> None:
    """Say what is wrong with pattern files, and what would be better.

    PATHS are .sq files, or folders that are searched for them. A comment `// suppress: SQ052` behind a
    line or above it silences a warning or remark there.

    \b
    Examples:
      sassql lint patterns/
      sassql lint my_motif.sq --format jsonl | jq .id
      sassql lint patterns/classes.sq --over corpora/lowering
      sassql lint --list

    Exit codes: 0 nothing but remarks, 1 errors or warnings (with --strict: anything), 2 a pattern does not
    parse.
    """
    if list_:
        write_rows(map(_check_row, all_checks()), "table" if format == "text" else format)
        ctx.exit(EXIT_FOUND)
    if not paths:
        raise click.UsageError("Missing argument 'PATHS...'.")
    files = pattern_files(paths)
    tally: Counter[str] = Counter()
    found = _records(files, over, tally)
    if format == "text":
        for record in found:
            _print(record)
    else:
        write_rows((_row(record) for record in found), format)
    told = ", ".join(f"{tally[s.value]} {s.value}{'' if tally[s.value] == 1 else 's'}" for s in Severity)
    click.echo(f"{told} in {len(files)} files", err=True)
    if tally["syntax"]:
        ctx.exit(EXIT_USAGE)
    serious = tally["error"] + tally["warning"] + (tally["remark"] if strict else 0)
    ctx.exit(EXIT_NOTHING if serious else EXIT_FOUND)


def _records(files: list[Path], over: tuple[Path, ...], tally: Counter[str]) -> Iterator[dict[str, Any]]:
    checks = {check.id: check for check in all_checks()}
    for path in files:
        try:
            file = parse_file(path)
            found = (*run_checks(file), *_over(file, over))
        except PatternError as error:
            tally["error"] += 1
            tally["syntax"] += 1
            yield _syntax(error, path)
            continue
        for finding in found:
            tally[finding.severity.value] += 1
            source = file.source_line(finding.at.line)
            yield _record(finding, checks[finding.id], str(path), source)


def _over(file: PatternFile, paths: tuple[Path, ...]) -> tuple[Finding, ...]:
    """What kernels say about the `classify` rules of a file."""
    if not paths or not file.classifies:
        return ()
    from sassql.cli.inputs import Reading  # noqa: PLC0415  (lint alone needs no reader and no engine)
    from sassql.engine.overlap import Overlaps  # noqa: PLC0415

    overlaps, reading = Overlaps(file), Reading(paths)
    for module in reading.modules():
        overlaps.add(module.kernels)
    reading.finish()
    return overlaps.findings()


def _record(finding: Finding, check: Check, file: str, source: str) -> dict[str, Any]:
    return {
        "file": file,
        "line": finding.at.line,
        "column": finding.at.column,
        "severity": finding.severity.value,
        "id": finding.id,
        "name": finding.name,
        "message": finding.message,
        "hint": finding.hint,
        "recommendation": check.recommendation,
        "docs": f"{PAGE}#{check.anchor}",
        "source": source,
    }


def _syntax(error: PatternError, path: Path) -> dict[str, Any]:
    return {
        "file": error.place.file or str(path),
        "line": error.place.line,
        "column": error.place.column,
        "severity": Severity.ERROR.value,
        "id": SYNTAX,
        "name": "syntax",
        "message": error.message,
        "hint": error.hint,
        "recommendation": "Correct the text: nothing else was checked.",
        "docs": f"{PAGE}#sq000-syntax",
        "source": error.source_line,
    }


def _row(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "source"}


def _print(record: dict[str, Any]) -> None:
    """Place, what is wrong, what was probably meant; the line with a caret; where to read more."""
    severity = click.style(record["severity"], fg=_COLORS[record["severity"]], bold=True)
    place = Place(record["file"], record["line"], record["column"])
    hint = f"; {record['hint']}" if record["hint"] else ""
    click.echo(f"{place}: {severity} {record['id']} {record['message']}{hint}")
    shown = PatternError("", place=place, source_line=record["source"]).caret()
    if shown:
        click.echo(shown)
    if record["id"] != SYNTAX:
        click.echo(click.style(f"    {record['recommendation']} ({record['docs']})", dim=True))


def _check_row(check: Check) -> dict[str, str]:
    return {
        "id": check.id,
        "name": check.name,
        "severity": check.severity.value,
        "recommendation": check.recommendation,
    }
