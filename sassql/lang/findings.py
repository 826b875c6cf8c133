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
    """An error stops the motif from running; a remark does not."""

    ERROR = "error"
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

Check = Callable[[PatternFile], Iterator[Finding]]

CHECKS: dict[str, Check] = {}
"""Every check by id, in the order of the modules that define them."""


def check(
    number: str, name: str, severity: Severity = Severity.ERROR
) -> Callable[[Callable[[PatternFile], Iterator[Told]]], Check]:
    """Register the decorated function as check ``number``; its own docstring is the recommendation."""

    def register(body: Callable[[PatternFile], Iterator[Told]]) -> Check:
        def run(file: PatternFile) -> Iterator[Finding]:
            for message, at, *hint in body(file):
                yield Finding(number, name, message, at, hint[0] if hint else "", severity)

        run.__doc__ = body.__doc__
        CHECKS[number] = run
        return run

    return register


def meant(word: str, known: Collection[str], form: str = "`{}`") -> str:
    """``did you mean `SHFL`?`` where a known word resembles ``word``, else an empty string."""
    close = difflib.get_close_matches(word, sorted(known), 1, 0.6)
    return f"did you mean {form.format(close[0])}?" if close else ""
