"""`sassql lint`: every check of patterns, those that a motif must pass and those that make it better.

`// suppress: SQ052` behind a line, or in a line of its own above it, silences a warning or remark there.
"""

from __future__ import annotations

from collections.abc import Iterator

from sassql.lang import check
from sassql.lang.ast import PatternFile
from sassql.lang.findings import CHECKS, LINT_CHECKS, Check, Finding, Severity
from sassql.lang.lint import classification, listings, quality, selectivity
from sassql.lang.lint.suppress import Suppression, judged, suppressions

__all__ = ["all_checks", "lint"]

MODULES = (quality, selectivity, classification, listings)
"""Modules whose checks only `sassql lint` runs."""


def all_checks() -> tuple[Check, ...]:
    """Every check, by id."""
    return tuple(sorted((*CHECKS.values(), *LINT_CHECKS.values()), key=lambda c: c.id))


def lint(file: PatternFile) -> tuple[Finding, ...]:
    """Everything that any check says about a file, in the order of the text, suppressions applied."""
    found = [*check.findings(file), *_more(file)]
    told = suppressions(file.text)
    kept = [finding for finding in found if not _is_suppressed(finding, told)]
    kept += judged(told, found, all_checks())
    return tuple(sorted(kept, key=lambda f: (f.at, f.id)))


def _more(file: PatternFile) -> Iterator[Finding]:
    for run in LINT_CHECKS.values():
        yield from run(file)


def _is_suppressed(finding: Finding, told: tuple[Suppression, ...]) -> bool:
    if finding.severity is Severity.ERROR:
        return False
    return any(s.line == finding.at.line and s.names & {finding.id, finding.name} for s in told)
