"""What every command that reads GPU code shares: options, progress, problems, exit codes."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

import click
import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from sassql.corpus import ingest
from sassql.errors import EXIT_FOUND, EXIT_INPUT, EXIT_NOTHING, EXIT_TOOL, EXIT_USAGE, Problem, SassqlError
from sassql.isa import signatures
from sassql.model.kernel import Kernel
from sassql.model.program import Module
from sassql.reading.load import Options, architectures

Command = TypeVar("Command", bound="Callable[..., object]")
SHOWN_PROBLEMS = 20
_PRECEDENCE = (EXIT_USAGE, EXIT_TOOL, EXIT_INPUT)


def input_options(command: Command) -> Command:
    """Add ``--arch`` and ``--kernel`` to a command."""
    command = click.option(
        "--kernel",
        "kernel_glob",
        metavar="GLOB",
        help="Only kernels whose mangled or demangled name matches.",
    )(command)
    return click.option(
        "--arch",
        metavar="LIST",
        help="Only these architectures (sm_80,sm_90a); sources are compiled for them.",
    )(command)


@dataclass(slots=True)
class Reading:
    """Reads the inputs of one call; remembers what could not be read, and prints it at the end."""

    paths: Sequence[Path]
    arch: str | None = None
    kernel_glob: str | None = None
    reader: Literal["words", "text"] = "words"
    problems: list[Problem] = field(default_factory=list)
    modules_read: int = 0
    kernels_read: int = 0
    kernels_wanted: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    """Instructions by opcode, of opcodes that the tables do not know."""

    def modules(self) -> Iterator[Module]:
        """Every module of every path, with a progress bar on stderr where it is a terminal."""
        options = Options(architectures=architectures(self.arch), reader=self.reader)
        with _bar() as bar:
            task = bar.add_task("reading", total=None)
            for path in self.paths:
                bar.update(task, description=f"reading {path.name}")
                try:
                    for found in ingest.read(path, options, progress=_compiling(bar)):
                        if isinstance(found, Problem):
                            self.problems.append(found)
                            continue
                        self.modules_read += 1
                        self.unknown += unknown_opcodes(found)
                        bar.update(task, advance=len(found.kernels))
                        yield found
                except SassqlError as error:
                    self.problems.append(Problem.of(error.at(file=str(path))))

    def kernels(self, module: Module) -> Iterator[Kernel]:
        """The module's kernels that ``--kernel`` selects."""
        for kernel in module.kernels:
            self.kernels_read += 1
            if self.kernel_glob is None or matches(kernel, self.kernel_glob):
                self.kernels_wanted += 1
                yield kernel

    def finish(self, *, found: bool = True) -> int:
        """Print the problems on stderr and return the exit code of the call."""
        serious = [p for p in self.problems if p.exit_code]
        show_problems(self.problems[:SHOWN_PROBLEMS])
        if len(self.problems) > SHOWN_PROBLEMS:
            click.echo(f"… and {len(self.problems) - SHOWN_PROBLEMS} more", err=True)
        if self.unknown:
            named = ", ".join(f"{opcode} ({count})" for opcode, count in self.unknown.most_common())
            click.echo(
                f"note: opcodes that are not in the tables, what rests on them is unknown: {named}", err=True
            )
        if self.kernel_glob is not None and self.kernels_read and not self.kernels_wanted:
            click.echo(f"note: no kernel of {self.kernels_read} is named {self.kernel_glob!r}", err=True)
        if serious:
            return code_of(self.problems)
        if not self.modules_read:
            click.echo(f"note: nothing for the architectures {self.arch}", err=True)
        elif not self.kernels_read:
            click.echo("note: what was read holds no kernel", err=True)
        return EXIT_FOUND if found and self.modules_read else EXIT_NOTHING


def show_problems(problems: Iterable[Problem]) -> None:
    """Each on a line of its own on stderr: errors, and notes of what does not count as one."""
    for problem in problems:
        word, colour = ("error", "red") if problem.exit_code else ("note", "cyan")
        click.echo(click.style(f"{word}: ", fg=colour) + str(problem), err=True)


def code_of(problems: Iterable[Problem], *, found: bool = True) -> int:
    """The exit code of a call: that of the gravest problem, else whether something was found."""
    codes = {problem.exit_code for problem in problems}
    return next((code for code in _PRECEDENCE if code in codes), EXIT_FOUND if found else EXIT_NOTHING)


def unknown_opcodes(module: Module) -> Counter[str]:
    """How often each opcode that the tables do not know stands in a module."""
    if not module.kernels:
        return Counter()
    rows = np.concatenate([kernel.form_ids for kernel in module.kernels])
    counts = module.kernels[0].forms.count_opcodes(rows)  # kernels of a module share their forms
    return Counter({o: n for o, n in counts.items() if o and not signatures.is_opcode(o)})


def matches(kernel: Kernel, glob: str) -> bool:
    """True where a kernel's mangled or demangled name matches a shell pattern."""
    return fnmatch.fnmatchcase(kernel.name, glob) or fnmatch.fnmatchcase(kernel.demangled, glob)


def selection(glob: str | None) -> Callable[[Kernel], bool] | None:
    """What ``--kernel`` selects, as something that other processes can be given; None for everything."""
    return partial(matches, glob=glob) if glob else None


def _bar() -> Progress:
    console = Console(stderr=True)
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),  # a path may have brackets
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _compiling(bar: Progress) -> Callable[[int, int, str], None]:
    tasks: list[object] = []

    def report(done: int, total: int, label: str) -> None:
        if not tasks:
            tasks.append(bar.add_task("compiling", total=total))
        bar.update(tasks[0], completed=done, total=total or None, description=f"compiling {label}")  # type: ignore[arg-type]

    return report
