"""What a check says about a pattern file, and the list of all checks.

A check is a function from a file to findings. It has a stable id, so that people can look it
up and tools can filter it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import Enum

from sassql.errors import PatternError, Place
from sassql.lang.ast import PatternFile, Position


class Severity(Enum):
    """An error stops the motif from running, a warning fails `sassql lint`, a remark does neither."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found, with its place."""

    id: str
    name: str
    message: str
    at: Position
    hint: str = ""
    severity: Severity = Severity.ERROR

    def as_error(self, file: PatternFile) -> PatternError:
        """The finding as an exception that shows its source line."""
        return PatternError(
            f"{self.message} [{self.id}]",
            place=Place(file.file, self.at.line, self.at.column),
            hint=self.hint,
            source_line=file.source_line(self.at.line),
        )


Told = tuple[str, Position] | tuple[str, Position, str]
"""Message, place, and a hint where there is one: what the body of a check yields."""

_Body = Callable[[PatternFile], Iterator[Told]]


@dataclass(frozen=True, slots=True)
class Check:
    """One check: call it with a file. ``recommendation`` says what to do about a finding."""

    id: str
    name: str
    severity: Severity
    recommendation: str
    body: _Body

    @property
    def anchor(self) -> str:
        """Where docs/lint.md explains it, for the end of an address."""
        return f"{self.id}-{self.name}".lower()

    def __call__(self, file: PatternFile) -> Iterator[Finding]:
        for message, at, *hint in self.body(file):
            yield Finding(self.id, self.name, message, at, hint[0] if hint else "", self.severity)


CHECKS: dict[str, Check] = {}
"""Checks that run before a motif does, by id, in the order of the modules that define them."""

LINT_CHECKS: dict[str, Check] = {}
"""Checks that only `sassql lint` runs: about patterns that work, and could be better."""


def check(number: str, name: str, severity: Severity = Severity.ERROR) -> Callable[[_Body], Check]:
    """Register the decorated function as check ``number``; its own docstring is the recommendation."""
    return _registering(CHECKS, number, name, severity)


def lint_check(number: str, name: str, severity: Severity = Severity.WARNING) -> Callable[[_Body], Check]:
    """The same for a check that only `sassql lint` runs."""
    return _registering(LINT_CHECKS, number, name, severity)


def _registering(
    checks: dict[str, Check], number: str, name: str, severity: Severity
) -> Callable[[_Body], Check]:
    def register(body: _Body) -> Check:
        recommendation = " ".join((body.__doc__ or "").split())
        checks[number] = Check(number, name, severity, recommendation, body)
        return checks[number]

    return register


def meant(word: str, known: Collection[str], form: str = "`{}`") -> str:
    """``did you mean `SHFL`?`` where a known word resembles ``word``, else an empty string."""
    swapped = [name for name in sorted(known) if sorted(name) == sorted(word)]
    close = swapped or difflib.get_close_matches(word, sorted(known), 1, 0.6)
    return f"did you mean {form.format(close[0])}?" if close else ""
