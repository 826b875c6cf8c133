"""`sassql test --learn`: writes what was found into the `expect` of tests, and nothing else.

Only numbers change, and a `todo` that holds goes: conditions, listings and the layout of the file
stay. What a person has to look at (a condition that fails, a test that could not run, a budget that
ran out) is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lark import Token

from sassql.lang.parse import grammar
from sassql.testing.blocks import Outcome, Verdict

_COUNT = "- expected "
_CONDITION = "- row "


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one test is changed to: the number that it expects from now on, and whether it stays a `todo`."""

    outcome: Outcome
    expected: int
    todo: bool

    def __str__(self) -> str:
        test = self.outcome.test
        before = f"{'todo ' if test.todo else ''}{test.expected}"
        return f"{self.outcome.place}: expect {before} becomes {'todo ' if self.todo else ''}{self.expected}"


def lesson(outcome: Outcome) -> Lesson | None:
    """What a test that does not hold may learn; None where there is nothing, or a person must look."""
    test = outcome.test
    if test.todo:
        holds = outcome.verdict is Verdict.TODO and any("`todo` can go" in told for told in outcome.details)
        return Lesson(outcome, test.expected, False) if holds else None
    if outcome.verdict is not Verdict.FAILED:
        return None
    counted = any(told.startswith(_COUNT) for told in outcome.details)
    judged = any(told.startswith(_CONDITION) for told in outcome.details)
    if not counted or judged or any(row.status == "gave_up" for row in outcome.rows):
        return None
    return Lesson(outcome, sum(row.status == "match" for row in outcome.rows), False)


def learned(text: str, outcomes: Sequence[Outcome]) -> str:
    """The text of a pattern file with every lesson in it; ``outcomes`` are those of all its tests."""
    result, shift = text, 0
    for outcome, (todo, number) in zip(outcomes, _expectations(text), strict=True):
        told = lesson(outcome)
        if told is None:
            continue
        first = todo if todo is not None and not told.todo else number
        start = (first.start_pos or 0) + shift
        end = (number.start_pos or 0) + len(number) + shift
        result = f"{result[:start]}{told.expected}{result[end:]}"
        shift = len(result) - len(text)
    return result


def _expectations(text: str) -> list[tuple[Token | None, Token]]:
    """The `todo` and the number of each test, in the order of the text."""
    found: list[tuple[Token | None, Token]] = []
    tokens = [t for t in grammar().parse_interactive(text).exhaust_lexer() if t.type != "_SEP"]
    for place, token in enumerate(tokens):
        if token.type == "EXPECT":
            following = tokens[place + 1]
            todo = following if following.type == "TODO" else None
            found.append((todo, tokens[place + 2] if todo is not None else following))
    return found
