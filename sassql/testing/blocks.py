"""Runs the `test` blocks of a pattern file.

A block holds if its motif has exactly as many rows as it says, and every row fulfils every
condition. Rows that are only a ``maybe`` do not count; a motif that gave up fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path

from sassql.corpus.build import states
from sassql.corpus.manifest import MANIFEST, load_manifest
from sassql.engine.expressions import ColumnScope, evaluate, truth
from sassql.engine.pattern import Pattern
from sassql.errors import InputError, Place, Problem, SassqlError
from sassql.lang.arch import covers
from sassql.lang.ast import Binary, Expression, Test
from sassql.model.kernel import Kernel
from sassql.model.rows import Row
from sassql.reading.listing import read_listing
from sassql.reading.load import DEFAULT_ARCH, Options, collect, read
from sassql.resources import folder
from sassql.testing.wording import condition_text, row_text


class Verdict(Enum):
    """How a test ended. A ``todo`` describes a known gap and never fails."""

    PASSED = "passed"
    FAILED = "failed"
    TODO = "todo"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One test with its verdict; ``details`` are the lines that explain a failure."""

    file: str
    test: Test
    verdict: Verdict
    rows: tuple[Row, ...] = ()
    details: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        return f"{self.file}:{self.test.at.line}"


def run_file(path: str | Path) -> Iterator[Outcome]:
    """The outcomes of every test of a file, in its order.

    Raises:
        PatternError: the file does not parse or check.
    """
    yield from run(Pattern.load(path))


def run(pattern: Pattern) -> Iterator[Outcome]:
    """The outcomes of every test of a pattern's file."""
    for test in pattern.file.tests:
        yield run_test(pattern, test)


def run_test(pattern: Pattern, test: Test) -> Outcome:
    """Run one test block."""
    file = pattern.file.file
    try:
        kernels = _kernels(test, file)
        rows = [row for kernel in kernels for row in pattern.match(kernel) if row.motif == test.motif]
    except SassqlError as error:
        details, rows = [str(error), *filter(None, [error.caret()])], []
    else:
        details = [*_uncovered(pattern, test, kernels), *_differences(test, rows)]
        if len(rows) < test.expected:
            details += _missing_lines(pattern, test, kernels)
    if test.todo:
        note = ("it holds now: `todo` can go",) if not details else tuple(details)
        return Outcome(file, test, Verdict.TODO, tuple(rows), note)
    verdict = Verdict.FAILED if details else Verdict.PASSED
    return Outcome(file, test, verdict, tuple(rows), tuple(details))


def _kernels(test: Test, file: str) -> tuple[Kernel, ...]:
    if test.source:
        return _named_kernels(test, file)
    modules, problems = read_listing(test.listing, file=file, arch=test.arch)
    for problem in problems:
        raise _listing_error(problem, test, file)
    return tuple(kernel for module in modules for kernel in module.kernels)


def _listing_error(problem: Problem, test: Test, file: str) -> InputError:
    line = test.listing_line + (problem.place.line or 1) - 1
    return InputError(problem.message, place=Place(file, line, problem.place.column))


def _named_kernels(test: Test, file: str) -> tuple[Kernel, ...]:
    """Kernels of ``corpus/file.cu:kernel``, which is looked for in `corpora/` and beside the pattern."""
    place = Place(file, test.at.line)
    name, _, wanted = test.source.rpartition(":")
    if not name:
        hint = 'write `from "corpus/file.cu:kernel"`'
        raise InputError(f"{test.source!r} names no kernel", place=place, hint=hint)
    candidates = [base / name for base in (folder("corpora"), Path(file).parent)]
    path = next((candidate for candidate in candidates if candidate.is_file()), None)
    if path is None:
        raise InputError(f"no file {name}", place=place, hint="looked in corpora/ and beside the pattern")
    found = [kernel for kernel in _read(path, test.arch) if wanted in (kernel.name, _plain_name(kernel))]
    if not found:
        raise InputError(
            f"{name} has no kernel {wanted!r} for {test.arch or 'any architecture'}", place=place
        )
    return tuple(found)


def _plain_name(kernel: Kernel) -> str:
    """The name of a C++ kernel without parameters and namespaces."""
    return kernel.demangled.split("(")[0].split("<")[0].split("::")[-1].split(" ")[-1]


@cache
def _read(path: Path, arch: str) -> tuple[Kernel, ...]:
    """The kernels of a file; a source is compiled once per architecture and process."""
    wanted = arch or (DEFAULT_ARCH if path.suffix in (".cu", ".ptx") else "")
    built = _built(path.parent, wanted).get(path.name, path)
    program = collect(str(path), read(built, Options((wanted,) if wanted else ())))
    for problem in program.problems:
        raise InputError(problem.message, place=problem.place, hint=problem.hint)
    return program.kernels


@cache
def _built(corpus: Path, arch: str) -> dict[str, Path]:
    """Cubins that `sassql corpus build` made of a corpus, where they match their sources; by source."""
    if not arch or not (corpus / MANIFEST).is_file():
        return {}
    found = states(load_manifest(corpus), [arch])
    return {state.source.file: state.path for state in found if state.state == "current"}


def _uncovered(pattern: Pattern, test: Test, kernels: Iterable[Kernel]) -> Iterator[str]:
    wanted = next(m for m in pattern.motifs if m.name == test.motif).header("arch")
    for arch in sorted({kernel.arch for kernel in kernels}):
        if wanted and not covers(wanted, arch):
            yield f"{test.motif} is for {wanted}, this test is for {arch}"


def _differences(test: Test, rows: Iterable[Row]) -> Iterator[str]:
    """What is not as the test says, and then every row."""
    certain = [row for row in rows if row.status == "match"]
    others = [row for row in rows if row.status != "match"]
    told: list[str] = []
    if len(certain) != test.expected:
        conditions = ", ".join(condition_text(c) for c in test.conditions)
        told.append(f"- expected {_count(test.expected)}{f' with {conditions}' if conditions else ''}")
        told.append(f"+ found    {_count(len(certain))}")
    for number, row in enumerate(certain, 1):
        for condition in test.conditions:
            if truth(condition, ColumnScope(row.columns)) is not True:
                told.append(f"- row {number}: {condition_text(condition)}")
                told.append(f"+ row {number}: {_actual(condition, row)}")
    told += [f"+ {row.reason}" for row in others if row.status == "gave_up"]
    if told:
        told += [f"  row {number}: {row_text(row)}" for number, row in enumerate((*certain, *others), 1)]
    yield from told


def _count(number: int) -> str:
    return f"{number} row{'' if number == 1 else 's'}"


def _actual(condition: Expression, row: Row) -> str:
    """The condition with what the row has in place of what was expected."""
    if isinstance(condition, Binary) and condition.operator not in ("and", "or"):
        found = evaluate(condition.left, ColumnScope(row.columns))
        return f"{condition_text(condition.left)} == {'unknown' if found is None else found}"
    return "this does not hold"


def _missing_lines(pattern: Pattern, test: Test, kernels: Iterable[Kernel]) -> Iterator[str]:
    """Lines of the motif that no instruction can be: the first thing to look at where rows are missing."""
    for kernel in kernels:
        for line in pattern.impossible_lines(test.motif, kernel):
            yield f"  no instruction of {kernel.name or 'the listing'} fits line {line.at.line}" + (
                f" ({line.label})" if line.label else ""
            )
