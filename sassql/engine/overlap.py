"""What kernels say about `classify` rules: two that hold on one kernel; one that never wins.

For `sassql lint --over`; the checks SQ047 and SQ048 are registered in `sassql.lang.lint`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations

from sassql.engine.classes import Rules
from sassql.lang.ast import Classify, PatternFile
from sassql.lang.findings import Finding
from sassql.lang.lint.classification import never_wins_over_kernels, overlap_over_kernels
from sassql.model.kernel import Kernel


@dataclass(slots=True)
class Overlaps:
    """Collects, kernel by kernel, what the rules of one file do."""

    file: PatternFile
    _rules: Rules = field(init=False)
    _both: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _holds: dict[str, int] = field(default_factory=dict)
    _wins: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rules = Rules([self.file])

    def add(self, kernels: Iterable[Kernel]) -> None:
        """Classify more kernels."""
        for kernel in kernels:
            found = self._rules.classify(kernel)
            holding = [answer for answer in found.answers if answer.holds]
            for answer in holding:
                self._holds[answer.name] = self._holds.get(answer.name, 0) + 1
            self._wins[found.name] = self._wins.get(found.name, 0) + 1
            for one, other in combinations(holding, 2):
                if one.priority == other.priority and one.name != other.name:
                    self._both.setdefault((one.name, other.name), []).append(kernel.demangled)

    def findings(self) -> tuple[Finding, ...]:
        """What was met, in the order of the text."""
        rules = {rule.name: rule for rule in reversed(self.file.classifies)}
        found = [self._overlap(rules[other], one, names) for (one, other), names in self._both.items()]
        found += [
            self._never(rules[name], count) for name, count in self._holds.items() if not self._wins.get(name)
        ]
        return tuple(sorted(found, key=lambda f: (f.at, f.id)))

    def _overlap(self, rule: Classify, other: str, names: list[str]) -> Finding:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        message = f"`{rule.name}` and `{other}` both hold on {names[0]}{more}, with priority {rule.priority}"
        check = overlap_over_kernels
        return Finding(check.id, check.name, message, rule.at, "", check.severity)

    def _never(self, rule: Classify, count: int) -> Finding:
        kernels = f"{count} kernel{'s' if count > 1 else ''}"
        message = (
            f"`{rule.name}` holds on {kernels} and names none: a rule with more priority always holds, too"
        )
        check = never_wins_over_kernels
        return Finding(check.id, check.name, message, rule.at, "", check.severity)
