"""A deterministic limit on work: the same on every machine, unlike a clock."""

from __future__ import annotations

DEFAULT_STEPS = 2_000_000
MOST_ROWS = 10_000
"""Rows of one motif in one kernel."""


class OutOfStepsError(Exception):
    """The budget ran out at a line of the motif."""

    def __init__(self, limit: int, line: int, what: str = "steps", motif: str = "") -> None:
        super().__init__(f"{limit} {what} ran out at line {line}")
        self.limit = limit
        self.line = line
        self.what = what
        self.motif = motif
        """The motif that burnt them, where it is not the one that was asked for."""


class Budget:
    """Counts steps of about two microseconds; to lay a line on an instruction takes four or more."""

    def __init__(self, limit: int = DEFAULT_STEPS, rows: int = MOST_ROWS) -> None:
        self.limit = limit
        self.rows = rows
        self.spent = 0

    def step(self, line: int, count: int = 1) -> None:
        """Count work that ``line`` makes.

        Raises:
            OutOfStepsError: the limit is reached.
        """
        self.spent += count
        if self.spent > self.limit:
            raise OutOfStepsError(self.limit, line)
