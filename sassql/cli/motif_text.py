"""The text of one motif in its file, line by line, with what stands beside each line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from sassql.lang.ast import Motif

_BRACES = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*[\s\S]*?\*/|[{}]')
_WIDEST = 56


def motif_lines(text: str, motif: Motif) -> list[tuple[int, str]]:
    """(number, text) of the lines of a motif, its last brace included."""
    lines = text.splitlines()
    start = motif.at.line - 1
    depth = 0
    for number in range(start, len(lines)):
        for found in _BRACES.findall(lines[number]):
            depth += {"{": 1, "}": -1}.get(found, 0)
        if depth <= 0 and ("{" in "".join(lines[start : number + 1])):
            return [(n + 1, lines[n]) for n in range(start, number + 1)]
    return [(n + 1, line) for n, line in enumerate(lines[start:], start)]


def beside(
    lines: Sequence[tuple[int, str]], notes: dict[int, list[str]], failing: int
) -> Iterator[tuple[str, str, bool]]:
    """(pattern, note, whether it fails) of each line printed: a line with several notes takes several."""
    shown = [(number, re.sub(r"\s*//.*", "", line).rstrip()) for number, line in lines]
    width = min(_WIDEST, max((len(line) for _, line in shown), default=0))
    for number, line in shown:
        if not line and number not in notes and number != failing:
            continue
        mark = ">" if number == failing else " "
        told = notes.get(number, [])
        yield f"{mark} {number:4}  {line:<{width}}", told[0] if told else "", number == failing
        for more in told[1:]:
            yield f"        {'':<{width}}", more, False


def file_text(path: str, fallback: str = "") -> str:
    """The text of a pattern file; ``fallback`` where it cannot be read any more."""
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return fallback
