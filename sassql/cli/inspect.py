"""`sassql inspect`: every instruction as data, or a summary per file."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import click
import numpy as np
import numpy.typing as npt

from sassql.cli.inputs import Reading, input_options
from sassql.cli.output import format_option, write_rows
from sassql.cli.records import COLUMNS, instruction_lines, instruction_records
from sassql.model.program import Module

SUMMARY = ("file", "arch", "entries", "kernels", "instructions", "distinct_words", "new_words", "opcodes")
TOP_OPCODES = 8


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--summary", is_flag=True, help="One row per file: kernels, instructions, distinct words, opcode counts."
)
@click.option(
    "--reader",
    type=click.Choice(["words", "text"]),
    default="words",
    help="words: each distinct word once (default); text: whole listings, slower, the same result.",
)
@input_options
@format_option
@click.pass_context
def inspect(
    ctx: click.Context,
    paths: tuple[Path, ...],
    summary: bool,
    reader: Literal["words", "text"],
    arch: str | None,
    kernel_glob: str | None,
    format: str,
) -> None:
    """Print every instruction with its operands, registers, targets and control bits.

    \b
    Examples:
      sassql inspect kernel.cubin --format jsonl | jq 'select(.opcode == "LDG") | .text'
      sassql inspect libfoo.so --summary
      sassql inspect libfoo.so --arch sm_90 --kernel '*softmax*' --format csv > softmax.csv

    Exit codes: 0 done, 1 nothing to print, 3 something could not be read, 4 a tool is missing.
    """
    reading = Reading(paths, arch, kernel_glob, reader)
    if summary:
        found = _summaries(reading)
        rows = map(_people, found) if format == "table" else found
        count = write_rows(rows, format, columns=SUMMARY)
    elif format == "jsonl":
        out = sys.stdout
        count = 0
        for module in reading.modules():
            for kernel in reading.kernels(module):
                out.writelines(instruction_lines(kernel))
                count += len(kernel.form_ids)
        out.flush()
    else:
        kernels = (k for module in reading.modules() for k in reading.kernels(module))
        records = (record for kernel in kernels for record in instruction_records(kernel))
        count = write_rows(records, format, columns=COLUMNS)
    ctx.exit(reading.finish(found=count > 0))


def _summaries(reading: Reading) -> Iterator[dict[str, Any]]:
    """One row per file; modules of one file follow each other."""
    file: str | None = None
    modules: list[dict[str, Any]] = []
    for module in reading.modules():
        if modules and module.source.file != file:
            yield _merged(modules)
            modules = []
        file = module.source.file
        modules.append(_of_module(module, reading))
    if modules:
        yield _merged(modules)


def _of_module(module: Module, reading: Reading) -> dict[str, Any]:
    kernels = list(reading.kernels(module))
    ids = np.concatenate([k.form_ids for k in kernels]) if kernels else np.empty(0, np.int32)
    opcodes = kernels[0].forms.count_opcodes(ids) if kernels else Counter[str]()
    return {
        "file": module.source.file,
        "arch": module.arch,
        "kernels": len(kernels),
        "instructions": len(ids),
        "words": None if module.new_word_ids is None else _distinct(k.word_ids for k in kernels),
        "new_word_ids": module.new_word_ids,
        "opcodes": opcodes,
    }


def _merged(modules: list[dict[str, Any]]) -> dict[str, Any]:
    opcodes: Counter[str] = sum((m["opcodes"] for m in modules), Counter())
    distinct, new = _word_counts([m for m in modules if m["words"] is not None])
    return {
        "file": modules[0]["file"],
        "arch": ",".join(dict.fromkeys(m["arch"] for m in modules)),
        "entries": len(modules),
        "kernels": sum(m["kernels"] for m in modules),
        "instructions": sum(m["instructions"] for m in modules),
        "distinct_words": distinct,
        "new_words": new,
        "opcodes": dict(opcodes.most_common()),
    }


def _distinct(words: Iterable[npt.NDArray[np.int32] | None]) -> npt.NDArray[np.int32]:
    found = [w for w in words if w is not None]
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.int32)


def _word_counts(modules: list[dict[str, Any]]) -> tuple[int | None, int | None]:
    """Distinct words and new ones of a file, each counted once for its architecture; None without words."""
    if not modules:
        return None, None
    distinct = new = 0
    for arch in {m["arch"] for m in modules}:
        mine = [m for m in modules if m["arch"] == arch]
        words = _distinct(m["words"] for m in mine)
        distinct += len(words)
        new += len(np.intersect1d(words, _distinct(m["new_word_ids"] for m in mine)))
    return distinct, new


def _people(row: dict[str, Any]) -> dict[str, Any]:
    top = list(row["opcodes"].items())
    shown = " ".join(f"{opcode}:{count}" for opcode, count in top[:TOP_OPCODES])
    rest = f" … {len(top) - TOP_OPCODES} more" if len(top) > TOP_OPCODES else ""
    return {**row, "opcodes": shown + rest}
