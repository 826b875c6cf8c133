"""A deterministic limit on work: the same on every machine, unlike a clock."""

from __future__ import annotations

DEFAULT_STEPS = 2_000_000


class OutOfStepsError(Exception):
    """The budget ran out at a line of the motif."""

    def __init__(self, limit: int, line: int) -> None:
        super().__init__(f"{limit} steps ran out at line {line}")
        self.limit = limit
        self.line = line


class Budget:
    """Counts steps; a step is one try to lay a line on an instruction, or one step of a run."""

    def __init__(self, limit: int = DEFAULT_STEPS) -> None:
        self.limit = limit
        self.spent = 0

    def step(self, line: int) -> None:
        """Count one step for ``line``.

        Raises:
            OutOfStepsError: the limit is reached.
        """
        self.spent += 1
        if self.spent > self.limit:
            raise OutOfStepsError(self.limit, line)
