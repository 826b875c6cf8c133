"""Findings of `sassql advise` as lines for people."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

_PLACES = 6
_NARROWEST = 40
_INDENT = " " * 9

Record = Mapping[str, Any]


def kernel_lines(record: Record, findings: Sequence[Record]) -> Iterator[str]:
    """A kernel and its findings."""
    where = f"{record['file']}[{record['entry']}]" if record["entry"] else record["file"]
    yield click.style(str(record["kernel"]), bold=True) + f"  {record['arch']}  {where}"
    for finding in findings:
        yield from _finding(finding)


def _finding(finding: Record) -> Iterator[str]:
    doubt = f", maybe: {finding['why']}" if finding["status"] != "certain" else ""
    yield f"  rule {finding['rule']} " + click.style(f"{finding['kind']}{doubt}", fg="yellow")
    yield from _wrapped(finding["action"])
    for condition in finding["conditions"]:
        yield from _wrapped(f"if {condition}")
    for effect in finding["effects"]:
        yield from _wrapped(_effect(effect))
    if monoid := finding["details"].get("monoid"):
        yield from _wrapped(f"monoid: {monoid}; equal at level {finding['details']['level']}")
    shown = ", ".join(finding["at"][:_PLACES])
    more = f" and {len(finding['at']) - _PLACES} more" if len(finding["at"]) > _PLACES else ""
    yield from _wrapped(f"at {shown}{more}")


def _effect(effect: Record) -> str:
    text = f"saves {'at most ' if effect['at_most'] else ''}{effect['formula']} {effect['unit']}"
    if parts := effect.get("parts"):
        text += f" ({', '.join(f'{formula} {name}' for name, formula in parts.items())})"
    numbers = [_number(value) for value in effect.get("values", ()) if value["value"] is not None]
    return f"{text}: {', '.join(numbers)}" if numbers else text


def _number(value: Record) -> str:
    shape = ", ".join(f"{name}={size}" for name, size in value["shape"].items())
    return f"{value['value']:,}" + (f" at {shape}" if shape else "")


def group_lines(groups: Sequence[Record]) -> Iterator[str]:
    """What several kernels share."""
    yield click.style("The same finding in several kernels", bold=True)
    for group in groups:
        motifs = ", ".join(group["motifs"]) or "no motif"
        yield f"  rule {group['of_rule']} {group['kind']} ({motifs}): {len(group['kernels'])} kernels"
        yield from _wrapped(", ".join(group["kernels"]))


def _wrapped(text: str) -> Iterator[str]:
    """One line in a pipe, as many as it takes on a terminal."""
    if not sys.stdout.isatty():
        yield _INDENT + text
        return
    width = max(shutil.get_terminal_size().columns, _NARROWEST)
    yield from textwrap.wrap(text, width, initial_indent=_INDENT, subsequent_indent=_INDENT + "  ")
