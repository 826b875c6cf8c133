"""The lines of a table of this package: `data/NAME.tsv` without comments, empty lines and the head."""

from __future__ import annotations

from importlib import resources


def table_lines(name: str) -> list[str]:
    """The rows of a table as text, cells separated by tabs, in the order of the file."""
    text = resources.files("sassql.isa").joinpath("data", name).read_text("utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")][1:]
