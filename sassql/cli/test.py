"""`sassql test`: runs the tests that stand in pattern files."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from sassql.cli.fmt import print_diff
from sassql.cli.output import format_option, write_rows
from sassql.cli.patterns import pattern_files
from sassql.errors import EXIT_FOUND, EXIT_NOTHING
from sassql.testing.blocks import Outcome, Verdict, run_file
from sassql.testing.learn import learned, lesson

_MARKS = {
    Verdict.PASSED: ("passed", "green"),
    Verdict.FAILED: ("FAILED", "red"),
    Verdict.TODO: ("todo", "yellow"),
}


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--learn", is_flag=True, help="Write what was found into `expect`, after a look.")
@click.option("--yes", is_flag=True, help="With --learn: write without a question.")
@format_option
@click.pass_context
def test(ctx: click.Context, paths: tuple[Path, ...], learn: bool, yes: bool, format: str) -> None:
    """Run the tests inside pattern files.

    PATHS are .sq files, or folders that are searched for them.

    \b
    Examples:
      sassql test patterns/
      sassql test my_motif.sq
      sassql test patterns/warp --format jsonl
      sassql test my_motif.sq --learn

    --learn shows what would change as a diff and asks; only numbers behind `expect` change, and a `todo` that
    holds goes. Tests whose conditions fail, or that could not run, are left to you.

    Exit codes: 0 all passed, 1 a test failed, 2 a pattern does not parse or check.
    """
    files = pattern_files(paths)
    if learn:
        ctx.exit(_learn(files, yes))
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


def _learn(files: list[Path], yes: bool) -> int:
    """Show what tests may learn, ask, and write it; the exit code."""
    changes: list[tuple[Path, str]] = []
    left = 0
    for file in files:
        outcomes = list(run_file(file))
        before = file.read_bytes().decode("utf-8")
        after = learned(before, outcomes)
        for outcome in outcomes:
            if outcome.verdict is Verdict.FAILED and lesson(outcome) is None:
                left += 1
                _print(outcome)
        if after != before:
            changes.append((file, after))
            print_diff(file, before, after, "learned")
    if not changes:
        click.echo("nothing to learn" + (f"; {left} failed in other ways" if left else ""), err=True)
        return EXIT_NOTHING if left else EXIT_FOUND
    if not yes and not _agreed():
        click.echo("nothing was written", err=True)
        return EXIT_NOTHING
    for file, text in changes:
        file.write_bytes(text.encode("utf-8"))
        click.echo(f"wrote {file}", err=True)
    return EXIT_NOTHING if left else EXIT_FOUND


def _agreed() -> bool:
    """The answer of a person; no where nobody can be asked."""
    return sys.stdin.isatty() and click.confirm("Write this?", err=True)


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
