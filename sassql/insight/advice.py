"""Advice about a kernel: what was chosen and could be otherwise, with its premise and its price."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from sassql.insight.advice_case import Case
from sassql.insight.advice_costs import costs
from sassql.insight.advice_evaluate import figures_of
from sassql.insight.advice_groups import Group, group_advice
from sassql.insight.advice_passes import passes
from sassql.insight.advice_records import RULES, Advice, Effect, Finding
from sassql.insight.advice_reloads import reloads
from sassql.insight.advice_results import results
from sassql.insight.advice_round_trips import round_trips
from sassql.model.kernel import Kernel

__all__ = ["RULES", "Advice", "Effect", "Finding", "Group", "advise", "group_advice"]

_CHECKS: Mapping[int, Callable[[Case], Iterator[Finding]]] = {
    1: round_trips,
    2: results,
    3: reloads,
    4: passes,
}
_EVERY = frozenset(RULES)


def advise(
    kernel: Kernel,
    *,
    launch: str | Path | Mapping[str, Any] | None = None,
    rules: Collection[int] = _EVERY,
) -> Advice:
    """The findings of rules 1 to 5 about a kernel.

    Each names its evidence, its premises and what following it would save, as a formula in the terms of the
    launch; with ``launch``, a launch description as of `sassql.compare`, as numbers too. ``rules`` are those
    to look at. Rule 6 is about several kernels: `group_advice`.

    Raises:
        UsageError: the launch description cannot be read or does not fit the kernel.
    """
    case = Case(kernel, figures_of(kernel, launch) if launch is not None else ())
    found = [f for rule, check in _CHECKS.items() if rule in rules or 5 in rules for f in check(case)]
    if 5 in rules:
        found += costs(case, found)
    source = kernel.source
    return Advice(
        source.file,
        source.entry,
        kernel.name,
        kernel.demangled,
        kernel.arch,
        tuple(finding for finding in found if finding.rule in rules),
        tuple(_notes(case)),
    )


def _notes(case: Case) -> Iterator[str]:
    """What may be missing, and why."""
    yield from (f"memory flow is incomplete: {text}" for text in case.flow.incomplete)
    yield from (f"the search for {name} gave up" for name in case.motifs.gave_up)
