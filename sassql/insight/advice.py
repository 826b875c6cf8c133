"""Advice about a kernel: what was chosen and could be otherwise, with its premise and its price."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sassql.insight.advice_case import Case
from sassql.insight.advice_evaluate import figures_of
from sassql.insight.advice_records import RULES, Advice, Effect, Finding
from sassql.insight.advice_reloads import reloads
from sassql.insight.advice_round_trips import round_trips
from sassql.model.kernel import Kernel

__all__ = ["RULES", "Advice", "Effect", "Finding", "advise"]

_CHECKS: Mapping[int, Callable[[Case], Iterator[Finding]]] = {1: round_trips, 3: reloads}


def advise(
    kernel: Kernel,
    *,
    launch: str | Path | Mapping[str, Any] | None = None,
    rules: frozenset[int] | None = None,
) -> Advice:
    """The findings of rules 1 to 5 about a kernel.

    Each names its evidence, its premises and what following it would save, as a formula in the terms of the
    launch; with ``launch``, a launch description as of `sassql.compare`, as numbers too.

    Raises:
        UsageError: the launch description cannot be read or does not fit the kernel.
    """
    figures = figures_of(kernel, launch) if launch is not None else ()
    case = Case(kernel, figures)
    found: list[Finding] = []
    for rule, check in _CHECKS.items():
        if rules is None or rule in rules:
            found += check(case)
    source = kernel.source
    return Advice(
        source.file,
        source.entry,
        kernel.name,
        kernel.demangled,
        kernel.arch,
        tuple(found),
        tuple(f"incomplete: {text}" for text in case.flow.incomplete),
    )
