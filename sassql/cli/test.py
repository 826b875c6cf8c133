"""`sassql test`: runs the tests that stand in pattern files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from sassql.cli.output import format_option, write_rows
from sassql.cli.patterns import pattern_files
from sassql.errors import EXIT_FOUND, EXIT_NOTHING
from sassql.testing.blocks import Outcome, Verdict, run_file

_MARKS = {
    Verdict.PASSED: ("passed", "green"),
    Verdict.FAILED: ("FAILED", "red"),
    Verdict.TODO: ("todo", "yellow"),
}


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@format_option
@click.pass_context
def test(ctx: click.Context, paths: tuple[Path, ...], format: str) -> None:
    """Run the tests inside pattern files.

    PATHS are .sq files, or folders that are searched for them.

    \b
    Examples:
      sassql test patterns/
      sassql test my_motif.sq
      sassql test patterns/warp --format jsonl

    Exit codes: 0 all passed, 1 a test failed, 2 a pattern does not parse or check.
    """
    files = pattern_files(paths)
    tally: Counter[Verdict] = Counter()

    def outcomes() -> Iterator[Outcome]:
        for file in files:
            for outcome in run_file(file):
                tally[outcome.verdict] += 1
                yield outcome

    if format == "table":
        for outcome in outcomes():
            _print(outcome)
    else:
        write_rows((record(outcome) for outcome in outcomes()), format)
    summary = ", ".join(f"{tally[verdict]} {verdict.value}" for verdict in Verdict)
    click.echo(summary, err=format != "table")
    ctx.exit(EXIT_NOTHING if tally[Verdict.FAILED] else EXIT_FOUND)


def record(outcome: Outcome) -> dict[str, Any]:
    """One outcome as plain values."""
    return {
        "file": outcome.file,
        "line": outcome.test.at.line,
        "motif": outcome.test.motif,
        "test": outcome.test.title,
        "verdict": outcome.verdict.value,
        "expected": outcome.test.expected,
        "rows": len(outcome.rows),
        "details": list(outcome.details),
    }


def _print(outcome: Outcome) -> None:
    """A line for the test; the differences below it where it does not hold."""
    word, color = _MARKS[outcome.verdict]
    click.echo(f"{click.style(word, fg=color)}  {outcome.place}  {outcome.test.title}")
    for line in outcome.details:
        sign = {"+": "red", "-": "green"}.get(line[:1])
        click.echo("        " + click.style(line, fg=sign))
