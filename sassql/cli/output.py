"""Prints rows as a table for people, as JSON lines or as CSV for programs.

JSON lines and CSV are written row by row, so a long query can be read while it runs; a table has to
see all rows before it knows its widths.
"""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from enum import Enum
from pathlib import Path
from typing import IO, TypeVar

import click

FORMATS = ("table", "jsonl", "csv")

Row = Mapping[str, object]
_Command = TypeVar("_Command", bound=Callable[..., object])

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def format_option(command: _Command) -> _Command:
    """Adds ``--format table|jsonl|csv`` to a click command, as the parameter ``format``."""
    return click.option(
        "--format",
        "format",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="How rows are printed: for people, one JSON object per line, or CSV.",
    )(command)


def write_rows(
    rows: Iterable[Row], fmt: str, *, columns: Sequence[str] | None = None, stream: IO[str] | None = None
) -> int:
    """Prints rows and says how many there were.

    Args:
        rows: one mapping a row; a column that a row lacks stays empty in a table or CSV.
        fmt: one of `FORMATS`.
        columns: what is printed, in order. Without it JSON lines print each row as it is, a table
            every column that any row has, and CSV those of the first row.
        stream: standard output by default.

    A reader that closes the pipe (``| head``) ends the printing quietly.

    Raises:
        ValueError: without ``columns``, a CSV row has a column that the first row had not.
    """
    write = {"table": _write_table, "jsonl": _write_jsonl, "csv": _write_csv}[fmt]
    out = sys.stdout if stream is None else stream
    counted = _Counted(rows)
    try:
        write(counted, columns, out)
        out.flush()
    except BrokenPipeError:
        _forget(out)
    return counted.count


class _Counted:
    """Rows that remember how many of them were taken."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = rows
        self.count = 0

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            self.count += 1
            yield row


def _write_jsonl(rows: Iterable[Row], columns: Sequence[str] | None, out: IO[str]) -> None:
    for row in rows:
        shown = row if columns is None else {name: row.get(name) for name in columns}
        out.write(json.dumps(dict(shown), default=_plain) + "\n")


def _write_csv(rows: Iterable[Row], columns: Sequence[str] | None, out: IO[str]) -> None:
    writer = csv.writer(out, lineterminator="\n")
    if columns is not None:
        writer.writerow(columns)
    names = columns
    for row in rows:
        if names is None:
            names = list(row)
            writer.writerow(names)
        elif columns is None and (extra := [name for name in row if name not in names]):
            raise ValueError(f"row with columns that the first row had not: {', '.join(extra)}")
        writer.writerow([_encodable(_cell(row.get(name)), out) for name in names])


def _write_table(rows: Iterable[Row], columns: Sequence[str] | None, out: IO[str]) -> None:
    kept = list(rows)
    names = list(dict.fromkeys(name for row in kept for name in row)) if columns is None else list(columns)
    if not names:
        return
    numeric = [bool(kept) and all(_is_number(row.get(name)) for row in kept) for name in names]
    shown = [[str(_encodable(_shown(row.get(name)), out)) for name in names] for row in kept]
    if out.isatty():
        _print_fitted(names, numeric, shown, out)
        return
    # a pipe has no width: nothing is wrapped, and rich, which is slow at many rows, is not needed
    widths = [max(map(len, column)) for column in zip(names, *shown, strict=True)]
    for line in (names, *shown):
        cells = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        )
        out.write("  ".join(cells).rstrip() + "\n")


def _print_fitted(
    names: Sequence[str], numeric: Sequence[bool], shown: Sequence[Sequence[str]], out: IO[str]
) -> None:
    """A table in the width of the terminal; long cells go on in the next line."""
    # rich costs more to import than the rest of the command line together
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, right in zip(names, numeric, strict=True):
        table.add_column(Text(name), overflow="fold", justify="right" if right else "left")
    for line in shown:
        # Text, because a string would be read as markup, and SASS has brackets
        table.add_row(*map(Text, line))
    Console(file=out, highlight=False).print(table)


def _shown(value: object) -> str:
    """A value as people read it: one line, and nothing in it that a terminal would obey."""
    match value:
        case None:
            text = ""
        case bool():
            text = "yes" if value else "no"
        case list() | tuple() if all(isinstance(item, str | int | float) for item in value):
            text = ", ".join(map(str, value))
        case _:
            text = str(_cell(value))
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


def _cell(value: object) -> object:
    """A value for CSV: nested ones, and yes and no, as JSON."""
    if value is None or isinstance(value, str) or _is_number(value):
        return value
    plain = value if isinstance(value, bool | list | tuple | Mapping) else _plain(value)
    return plain if isinstance(plain, str) else json.dumps(plain, default=_plain)


def _encodable(value: object, out: IO[str]) -> object:
    """Text without what ``out`` cannot encode, such as a file name in an old encoding."""
    if not isinstance(value, str):
        return value
    encoding = getattr(out, "encoding", None) or "utf-8"
    return value.encode(encoding, "backslashreplace").decode(encoding)


def _plain(value: object) -> object:
    """What `json` cannot write, as something that it can."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"a row holds a {type(value).__name__}, which no format can print")


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _forget(out: IO[str]) -> None:
    """Sends what is still buffered nowhere, or Python would complain about the pipe once more at exit."""
    try:
        descriptor = out.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
