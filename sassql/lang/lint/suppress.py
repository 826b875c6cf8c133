"""`// suppress: SQ052` and what is wrong with one.

SQ060 and SQ061 need the findings of all others, so they are registered here and made by `judged`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sassql.lang.ast import PatternFile, Position
from sassql.lang.findings import Check, Finding, Severity, Told, lint_check, meant

_COMMENTS = re.compile(r'"(?:[^"\\\n]|\\.)*"|\{\{.*?\}\}|/\*.*?\*/|//(?P<text>[^\n]*)', re.DOTALL)
_NOTHING = re.compile(r"\s*(?://.*)?")
_SUPPRESS = re.compile(r"\s*suppress\s*:\s*(?P<names>[\w, -]+)")


@dataclass(frozen=True, slots=True)
class Suppression:
    """``names`` are ids or names of checks; ``line`` is the line whose findings are silenced."""

    names: frozenset[str]
    line: int
    at: Position


@lint_check("SQ060", "unknown-suppression")
def unknown_suppression(file: PatternFile) -> Iterator[Told]:
    """Name a check by its id or its name; errors cannot be suppressed."""
    return iter(())


@lint_check("SQ061", "idle-suppression", Severity.REMARK)
def idle_suppression(file: PatternFile) -> Iterator[Told]:
    """Delete the comment: the check finds nothing there any more."""
    return iter(())


def suppressions(text: str) -> tuple[Suppression, ...]:
    """Every suppression of a text."""
    found: list[Suppression] = []
    for match in _COMMENTS.finditer(text):
        told = _SUPPRESS.match(match["text"] or "")
        if told is None:
            continue
        line = text.count("\n", 0, match.start()) + 1
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        names = frozenset(name for name in re.split(r"[,\s]+", told["names"]) if name)
        target = line if before.strip() else _next_line(text, line)
        found.append(Suppression(names, target, Position(line, len(before) + 1)))
    return tuple(found)


def judged(
    told: Sequence[Suppression], found: Sequence[Finding], checks: Sequence[Check]
) -> Iterator[Finding]:
    """Findings about the suppressions themselves."""
    known = {name: check for check in checks for name in (check.id, check.name)}
    for suppression in told:
        here = {n for f in found if f.at.line == suppression.line for n in (f.id, f.name)}
        for name in sorted(suppression.names):
            if name not in known:
                hint = meant(name, known)
                yield _finding(unknown_suppression, f"there is no check `{name}`", suppression.at, hint)
            elif known[name].severity is Severity.ERROR:
                message = f"{name} is an error, which cannot be suppressed"
                yield _finding(unknown_suppression, message, suppression.at)
            elif name not in here:
                message = f"{name} finds nothing in line {suppression.line}"
                yield _finding(idle_suppression, message, suppression.at)


def _finding(check: Check, message: str, at: Position, hint: str = "") -> Finding:
    return Finding(check.id, check.name, message, at, hint, check.severity)


def _next_line(text: str, line: int) -> int:
    """The next line with anything but a comment in it."""
    lines = text.splitlines()
    following = line
    while following < len(lines) and _NOTHING.fullmatch(lines[following]):
        following += 1
    return following + 1
