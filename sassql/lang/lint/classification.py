"""Checks of `classify`: which rule wins must be decided by priorities.

SQ047 and SQ048 need kernels (`sassql lint --over`): `sassql.engine.overlap` makes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from sassql.lang.ast import PatternFile
from sassql.lang.findings import Told, lint_check
from sassql.lang.format import without_places


@lint_check("SQ045", "equal-priority")
def equal_priority(file: PatternFile) -> Iterator[Told]:
    """Give each class a priority of its own: where two rules hold, the higher one names the kernel."""
    for first, second in combinations(file.classifies, 2):
        if first.priority == second.priority and first.name != second.name:
            where = f"as `{first.name}` has in line {first.at.line}"
            told = f"`{second.name}` has priority {second.priority}, {where}"
            yield told, second.at, "a kernel for which both hold has no class"


@lint_check("SQ046", "class-never-wins")
def class_never_wins(file: PatternFile) -> Iterator[Told]:
    """Delete the rule, or change it: one with a higher priority has the same condition."""
    for lower in file.classifies:
        for higher in file.classifies:
            same = without_places(lower.condition) == without_places(higher.condition)
            if same and higher.priority > lower.priority and higher.name != lower.name:
                yield f"`{lower.name}` never wins: `{higher.name}` holds wherever it does", lower.at


@lint_check("SQ047", "classes-overlap")
def overlap_over_kernels(file: PatternFile) -> Iterator[Told]:
    """Give one of the rules more priority: with `--over`, both were found to hold on one kernel."""
    return iter(())


@lint_check("SQ048", "class-always-beaten")
def never_wins_over_kernels(file: PatternFile) -> Iterator[Told]:
    """Change a priority or a condition: with `--over`, no kernel for which the rule holds has its name."""
    return iter(())
