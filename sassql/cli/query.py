"""`sassql query`: rows of motifs over files, folders or a corpus."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from sassql.cli.inputs import Reading, input_options
from sassql.cli.output import format_option, write_rows
from sassql.engine.pattern import Pattern
from sassql.errors import EXIT_INPUT, EXIT_TOOL, EXIT_USAGE

COLUMNS = ("file", "entry", "kernel", "function", "arch", "motif", "status", "columns", "at", "reason")


@click.command()
@click.argument("pattern", type=click.Path(path_type=Path))
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@input_options
@format_option
@click.pass_context
def query(
    ctx: click.Context,
    pattern: Path,
    paths: tuple[Path, ...],
    arch: str | None,
    kernel_glob: str | None,
    format: str,
) -> None:
    """Find the motifs of a PATTERN file in GPU code.

    PATHS are cubins, fat binaries, libraries, programs, listings, .cu or .ptx sources, folders of these,
    or a corpus folder, whose kernels are compiled first where they changed.

    \b
    Examples:
      sassql query patterns/warp/shuffle_ladder.sq corpora/lowering
      sassql query patterns/warp/shuffle_ladder.sq libfoo.so --arch sm_90 --kernel '*softmax*'
      sassql query my_motif.sq build/*.cubin --format jsonl | jq '.at'

    Exit codes: 0 rows were found, 1 none, 2 bad pattern, 3 something could not be read, 4 a tool is missing.
    """
    motif = Pattern.load(pattern)
    reading = Reading(paths, arch, kernel_glob)
    tally = {"rows": 0, "gave_up": 0, "skipped": 0}
    table = format == "table"

    def rows() -> Iterator[dict[str, Any]]:
        for module in reading.modules():
            for kernel in reading.kernels(module):
                if not motif.covers(kernel.arch):
                    tally["skipped"] += 1
                    continue
                for row in motif.match(kernel):
                    tally["rows"] += 1
                    tally["gave_up"] += row.status == "gave_up"
                    yield _for_people(row.as_record()) if table else row.as_record()

    write_rows(rows(), format, columns=COLUMNS if format == "csv" else None)
    code = reading.finish(found=tally["rows"] > 0)
    skipped = f", {tally['skipped']} outside the motif's architectures" if tally["skipped"] else ""
    read = f"{reading.kernels_wanted} kernels of {reading.modules_read} modules"
    click.echo(f"{tally['rows']} rows in {read}{skipped}", err=True)
    if tally["gave_up"] and code not in (EXIT_USAGE, EXIT_TOOL):
        code = EXIT_INPUT
    ctx.exit(code)


def _for_people(record: dict[str, Any]) -> dict[str, Any]:
    """A row for the terminal: columns side by side, addresses short, empty fields left out."""
    place = record["file"] + (f"[{record['entry']}]" if record["entry"] else "")
    shown = {"file": place, "kernel": record["kernel"], "arch": record["arch"], "motif": record["motif"]}
    shown |= record["columns"]
    if record["status"] != "match":
        shown["status"] = record["status"] + (f": {record['reason']}" if record.get("reason") else "")
    shown["at"] = " ".join(f"{label}:{_short(found)}" for label, found in record["at"].items())
    return {name: json.dumps(v) if isinstance(v, dict | list) else v for name, v in shown.items()}


def _short(addresses: list[str]) -> str:
    return addresses[0] if len(addresses) == 1 else f"{addresses[0]}…{addresses[-1]}" if addresses else "-"
