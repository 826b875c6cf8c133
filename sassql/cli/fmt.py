"""`sassql fmt`: writes pattern files in the one way to write them."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

import click

from sassql.cli.patterns import pattern_files
from sassql.errors import EXIT_FOUND, EXIT_NOTHING, EXIT_USAGE, PatternError, UsageError
from sassql.lang.format import formatted

_STDIN = "-"


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--check", is_flag=True, help="Write nothing; say which files would change.")
@click.option("--diff", is_flag=True, help="Write nothing; print what would change.")
@click.pass_context
def fmt(ctx: click.Context, paths: tuple[Path, ...], check: bool, diff: bool) -> None:
    """Format pattern files: blanks, indentation, aligned columns. Comments and listings are kept.

    PATHS are .sq files, or folders that are searched for them; `-` reads a pattern from standard input and
    prints it. Line breaks stay where they are.

    \b
    Examples:
      sassql fmt patterns/
      sassql fmt --check --diff patterns/
      sassql fmt - < my_motif.sq

    Exit codes: 0 done, or nothing to change; 1 with --check or --diff, something would change; 2 a pattern
    does not parse (the others are formatted).
    """
    if any(str(path) == _STDIN for path in paths):
        if len(paths) > 1:
            raise UsageError("`-` stands alone")
        click.echo(formatted(sys.stdin.read(), "<stdin>"), nl=False)
        ctx.exit(EXIT_FOUND)
    changed = failed = 0
    files = pattern_files(paths)
    for file in files:
        try:
            before, after = _both(file)
        except PatternError as error:
            failed += 1
            _report(error)
            continue
        if before == after:
            continue
        changed += 1
        if diff:
            print_diff(file, before, after, "formatted")
        if check and not diff:
            click.echo(f"would change {file}")
        if not check and not diff:
            _write(file, after)
            click.echo(f"formatted {file}")
    click.echo(_summary(len(files), changed, failed, writes=not (check or diff)), err=True)
    if failed:
        ctx.exit(EXIT_USAGE)
    ctx.exit(EXIT_NOTHING if changed and (check or diff) else EXIT_FOUND)


def _both(file: Path) -> tuple[str, str]:
    """The text of a file and what it should be."""
    try:
        before = file.read_bytes().decode("utf-8")
    except OSError as error:
        raise PatternError(f"{file}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise PatternError(f"{file}: byte {error.start} is not UTF-8: this is no text file") from None
    return before, formatted(before, str(file))


def _write(file: Path, text: str) -> None:
    try:
        file.write_bytes(text.encode("utf-8"))
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from None


def _report(error: PatternError) -> None:
    click.echo(click.style("error: ", fg="red", bold=True) + str(error), err=True)
    if caret := error.caret():
        click.echo(caret, err=True)


def print_diff(file: Path, before: str, after: str, how: str) -> None:
    """Print how a file would change."""
    colors = {"+": "green", "-": "red", "@": "cyan"}
    names = (str(file), f"{file} ({how})")
    for line in difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm=""):
        click.echo(click.style(line, fg=colors.get(line[:1])))


def _summary(files: int, changed: int, failed: int, *, writes: bool) -> str:
    told = f"{changed} of {files} files {'formatted' if writes else 'would change'}"
    return told + (f", {failed} with errors" if failed else "")
