"""`sassql plan`: in which order a pattern's statements are searched, and what each leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from sassql.cli.inputs import Reading, input_options
from sassql.cli.output import format_option, write_rows
from sassql.engine.pattern import Pattern
from sassql.engine.planned import Planned, planned
from sassql.model.kernel import Kernel

_MOST_KERNELS = 10


@click.command()
@click.argument("pattern", type=click.Path(path_type=Path))
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@input_options
@format_option
@click.pass_context
def plan(
    ctx: click.Context,
    pattern: Path,
    paths: tuple[Path, ...],
    arch: str | None,
    kernel_glob: str | None,
    format: str,
) -> None:
    """Print the order in which the statements of a PATTERN are searched: the first one is the seed.

    With kernels (PATHS), each statement has the instructions that it fits (candidates), the ways that the
    planner expects for each way before it, and the derivations that it really left. Without, the order is
    that of the text: costs are counts of a kernel. Indented statements stand in a `for`, `chain`, `opt`,
    `no` or `every`.

    \b
    Examples:
      sassql plan my_motif.sq
      sassql plan my_motif.sq kernel.cubin --kernel '*softmax*'
      sassql plan my_motif.sq kernel.cubin --format jsonl | jq 'select(.place == 1)'

    Exit codes: 0 done, 1 no such kernel, 2 bad pattern, 3 something could not be read, 4 a tool is missing.
    """
    loaded = Pattern.load(pattern)
    if not paths:
        _write(((None, planned(p, None, loaded.budget)) for p in loaded.plans), loaded, format)
        return
    reading = Reading(paths, arch, kernel_glob)
    kernels = [kernel for module in reading.modules() for kernel in reading.kernels(module)]
    if len(kernels) > _MOST_KERNELS and format == "table":
        raise click.UsageError(f"{len(kernels)} kernels: choose by --kernel, or take --format jsonl")
    _write(((k, planned(p, k, loaded.budget)) for k in kernels for p in loaded.plans), loaded, format)
    ctx.exit(reading.finish(found=bool(kernels)))


def _write(found: Iterator[tuple[Kernel | None, Planned]], loaded: Pattern, format: str) -> None:
    if format != "table":
        write_rows((record for kernel, plan in found for record in _records(kernel, plan, loaded)), format)
        return
    for kernel, plan in found:
        where = f" in {kernel.demangled} ({kernel.arch})" if kernel is not None else ""
        spent = f": {plan.spent:,} steps of {loaded.budget:,}" if kernel is not None else ""
        note = f"; {plan.note}" if plan.note else ""
        click.echo(f"{click.style(plan.motif, bold=True)}{where}{spent}{note}")
        write_rows((_row(record) for record in _records(None, plan, loaded)), "table")
        click.echo()


def _records(kernel: Kernel | None, plan: Planned, loaded: Pattern) -> Iterator[dict[str, Any]]:
    place = {"kernel": kernel.name, "arch": kernel.arch} if kernel is not None else {}
    for step in plan.steps:
        record = asdict(step)
        record["binds"] = list(step.binds)
        record["text"] = loaded.file.source_line(step.line).split("//")[0].strip()
        yield {**place, **record}


def _row(record: dict[str, Any]) -> dict[str, Any]:
    """For people: short names, and no columns that are empty everywhere."""
    indent = "  " if record["block"] else ""
    shown = {
        "#": f"{indent}{record['place']}" + (f"/{record['branch']}" if record["branch"] > 1 else ""),
        "line": record["line"],
        "kind": record["kind"],
        "statement": record["text"],
        "binds": " ".join(record["binds"]),
    }
    if record["ways"] is not None:
        expected = record["expected"]
        shown["candidates"] = record["candidates"]
        shown["expected"] = None if expected is None else f"{expected:.3g}"
        shown["ways"] = record["ways"]
    return shown
