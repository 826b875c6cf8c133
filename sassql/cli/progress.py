"""Progress of a long pass: how many kernels, how fast, how long still; on stderr where it is a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from sassql.corpus.batch import Batch, Done
from sassql.reading.load import Options, count_entries


class Pace:
    """A bar over the entries of the inputs, with the number of kernels and their rate."""

    def __init__(self, what: str, paths: Sequence[Path], options: Options) -> None:
        console = Console(stderr=True)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[kernels]} kernels, {task.fields[rate]}/s", markup=False),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        total = sum(count_entries(path, options) for path in paths) if console.is_terminal else 0
        self._task = self._bar.add_task(what, total=total or None, kernels=0, rate="-")
        self._kernels = 0

    def __enter__(self) -> Pace:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def advance(self, done: Done) -> None:
        """Add what a task gave."""
        self._kernels += done.kernels
        elapsed = self._bar.tasks[0].elapsed or 0.0
        rate = f"{self._kernels / elapsed:.0f}" if elapsed > 1 else "-"
        self._bar.update(self._task, advance=done.cubins, kernels=self._kernels, rate=rate)

    def compiling(self, done: int, total: int, label: str) -> None:
        """While a corpus is compiled: what is compiled now."""
        self._bar.update(self._task, description=f"compiling {label} ({done} of {total})")


def followed(batch: Batch, doing: str, paths: Sequence[Path]) -> Iterator[Done]:
    """What a batch gives, task by task, with a bar on stderr."""
    with Pace(doing, paths, batch.options) as pace:
        for done in batch.run(paths, progress=pace.compiling):
            pace.advance(done)
            yield done
