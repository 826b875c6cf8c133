"""`sassql explain`: why a pattern has no row in a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from sassql.cli.inputs import Reading, input_options
from sassql.cli.motif_text import beside, motif_lines
from sassql.cli.output import format_option, write_rows
from sassql.cli.view import Address
from sassql.engine.explain import Explanation
from sassql.engine.explain import explain as explained
from sassql.engine.pattern import Pattern
from sassql.errors import EXIT_FOUND, EXIT_NOTHING, UsageError
from sassql.lang.ast import Motif, PatternFile
from sassql.lang.library import find_motif
from sassql.model.kernel import Kernel

_MOST_KERNELS = 10
_MOST_PLACES = 4


@click.command()
@click.argument("pattern", type=click.Path(path_type=Path))
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--motif", "name", help="Only this motif of the file; by default all of them.")
@click.option("--at", type=Address(), help="Only matches with the instruction at this address.")
@input_options
@format_option
@click.pass_context
def explain(
    ctx: click.Context,
    pattern: Path,
    paths: tuple[Path, ...],
    name: str | None,
    at: int | None,
    arch: str | None,
    kernel_glob: str | None,
    format: str,
) -> None:
    """Show how far a PATTERN comes in a kernel, which statement stops it there, and why.

    The motif is printed with the instructions of the deepest partial match beside its lines; `>` marks the
    statement that no instruction satisfies.

    \b
    Examples:
      sassql explain my_motif.sq kernel.cubin --kernel '*softmax*'
      sassql explain my_motif.sq kernel.cubin --kernel softmax --at 0x310
      sassql explain my_motif.sq kernel.cubin --kernel softmax --format jsonl | jq .reason

    Exit codes: 0 every motif has rows, 1 one has none (its explanation is printed), 2 bad pattern,
    3 something could not be read, 4 a tool is missing.
    """
    loaded = Pattern.load(pattern)
    names = [motif.name for motif in loaded.motifs]
    if name is not None and name not in names:
        raise UsageError(f"{pattern} has no motif {name!r}", hint=f"it has {', '.join(names)}")
    reading = Reading(paths, arch, kernel_glob)
    kernels = [kernel for module in reading.modules() for kernel in reading.kernels(module)]
    if len(kernels) > _MOST_KERNELS and format == "table":
        raise UsageError(f"{len(kernels)} kernels to explain", hint="choose by --kernel and --arch")
    missing = 0
    found = (_one(loaded, kernel, motif, at) for kernel in kernels for motif in ([name] if name else names))
    if format == "table":
        for explanation in found:
            missing += not explanation.rows
            _print(explanation, loaded.file)
    else:

        def records() -> Iterator[dict[str, object]]:
            nonlocal missing
            for explanation in found:
                missing += not explanation.rows
                yield explanation.as_record()

        write_rows(records(), format)
    code = reading.finish(found=bool(kernels))
    ctx.exit(code if code != EXIT_FOUND else EXIT_NOTHING if missing else EXIT_FOUND)


def _one(loaded: Pattern, kernel: Kernel, motif: str, at: int | None) -> Explanation:
    try:
        return explained(loaded, kernel, motif, at=at)
    except KeyError as error:
        raise UsageError(str(error.args[0])) from None


def _print(explanation: Explanation, file: PatternFile, indent: str = "") -> None:
    kernel = explanation.kernel
    head = f"{explanation.motif} in {kernel.demangled} ({kernel.arch})"
    if explanation.rows:
        count = len(explanation.rows)
        click.echo(
            f"{click.style(head, bold=True)}: {count} row{'s' if count > 1 else ''}, nothing to explain"
        )
        return
    told = (
        f"; {explanation.satisfied} of {explanation.statements} statements hold in the deepest partial match"
    )
    shown = told if explanation.statements else ""
    click.echo(f"{indent}{click.style(head, bold=True)}: no row{shown}")
    place = find_motif(explanation.motif, file)
    motif, home = place if place is not None else (file.motifs[0], file)
    _print_motif(explanation, motif, home, indent)
    for suspect in explanation.suspects:
        places = [f"{i.address:#06x}" for i in suspect.instructions]
        shown = ", ".join(places[:_MOST_PLACES]) + (" …" if len(places) > _MOST_PLACES else "")
        where = f" at {shown}" if shown else ""
        click.echo(f"{indent}  without line {suspect.line} there would be a match{where}")
    if explanation.gave_up:
        click.echo(f"{indent}  (the search for an explanation ran out of steps)")
    if explanation.inside is not None:
        click.echo()
        _print(explanation.inside, home, indent + "  ")
    click.echo()


def _print_motif(explanation: Explanation, motif: Motif, home: PatternFile, indent: str) -> None:
    """The lines of the motif, the instructions beside them, the reason under the line that fails."""
    notes: dict[int, list[str]] = {}
    for matched in explanation.matched:
        for ins in matched.instructions[:_MOST_PLACES]:
            notes.setdefault(matched.line, []).append(f"{ins.address:#06x}  {ins.text}")
        if (more := len(matched.instructions) - _MOST_PLACES) > 0:
            notes[matched.line].append(f"and {more} more")
    lines = motif_lines(home.text, motif)
    for text, note, fails in beside(lines, notes, explanation.line):
        shown = f"{text}  " if note else text.rstrip()
        line = click.style(shown, fg="red") if fails else shown
        click.echo(f"{indent}{line}{click.style(note, fg='green')}")
        if fails:
            click.echo(f"{indent}        {click.style(explanation.reason, fg='yellow')}")
    if explanation.line not in dict(lines):
        click.echo(f"{indent}  {explanation.reason}")
