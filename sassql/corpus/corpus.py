"""`load` and `Corpus`: the front doors for scripts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import sassql.facts  # noqa: F401  (registers the analyses that kernels answer with)
from sassql.corpus import ingest
from sassql.engine.pattern import Pattern
from sassql.errors import InputError, Problem, UsageError
from sassql.model.kernel import Kernel
from sassql.model.program import Module, Program
from sassql.reading import load as reading
from sassql.reading.load import Options

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("file", "entry", "kernel", "function", "arch", "motif", "status")


def load(
    source: str | Path | bytes | bytearray | memoryview, *, arch: str | Sequence[str] | None = None
) -> Program:
    """Read GPU code from a file, a folder, or bytes.

    Args:
        source: ``.cubin .fatbin .o .a .so .whl`` or an executable, a listing, ``.cu``, ``.ptx``, the
            content of one of these as bytes, or a folder of them.
        arch: architectures to read, such as ``"sm_90"``; all by default. Sources are compiled
            for it, for ``sm_90`` by default. A listing that does not say its own needs it.

    Returns:
        A program; entries that could not be read are in ``program.problems``.

    Raises:
        InputError: nothing could be read at all; the first reason.
        UsageError: there is no such file.
        ToolMissingError: a CUDA tool that is needed was not found.
    """
    options = Options(architectures=reading.architectures(arch))
    if isinstance(source, bytes | bytearray | memoryview):
        program = reading.collect("<bytes>", reading.read_bytes(source, options=options))
    elif not str(source):
        raise UsageError("the path is empty", hint="give a file or a folder; '.' is the current one")
    else:
        program = reading.collect(str(source), ingest.read(Path(source), options))
    if not program.modules:
        _raise_first(program)
    return program


def _raise_first(program: Program) -> None:
    serious = [p for p in program.problems if p.exit_code]
    if serious:
        raise serious[0].error()
    hint = "look at the architectures with `sassql inspect --summary`"
    raise InputError(f"{program.source} has nothing for the architectures asked for", hint=hint)


class Corpus:
    """A set of GPU code to ask questions of: a corpus folder, or any folder or file.

    >>> corpus = Corpus.open("corpora/lowering")                    # doctest: +SKIP
    >>> corpus.query(Pattern.load("patterns/warp/shuffle_ladder.sq"))   # doctest: +SKIP
    """

    def __init__(self, path: Path, options: Options) -> None:
        self.path = path
        self._options = options
        self.problems: list[Problem] = []
        """What the last pass could not read."""

    @classmethod
    def open(cls, path: str | Path, *, arch: str | Sequence[str] | None = None) -> Corpus:
        """Open a corpus; nothing is compiled or read before the first question.

        Raises:
            UsageError: there is no such path.
        """
        if not Path(path).exists():
            raise UsageError(f"no such file or folder: {path}")
        return cls(Path(path), Options(architectures=reading.architectures(arch)))

    def modules(self) -> Iterator[Module]:
        """Modules one after the other; earlier ones can be forgotten."""
        self.problems = []
        for found in ingest.read(self.path, self._options):
            if isinstance(found, Problem):
                self.problems.append(found)
            else:
                yield found

    def kernels(self) -> Iterator[Kernel]:
        """All kernels, module by module."""
        for module in self.modules():
            yield from module.kernels

    def query(self, pattern: Pattern) -> pd.DataFrame:
        """The rows of a pattern's motifs: a column per field, per emitted column, and ``at``.

        ``at`` is a dict from label to addresses. A warning names how many entries could not be
        read; they are in :attr:`problems`.
        """
        import pandas as pd  # noqa: PLC0415  (half a second that most calls do not need)

        records = []
        for kernel in self.kernels():
            for row in pattern.match(kernel):
                record = row.as_record()
                columns = record.pop("columns")
                records.append({**{c: record[c] for c in COLUMNS}, **columns, "at": record["at"]})
        unread = [p for p in self.problems if p.exit_code]
        if unread:
            warnings.warn(f"{len(unread)} entries could not be read; see corpus.problems", stacklevel=2)
        return pd.DataFrame.from_records(records, columns=None if records else [*COLUMNS, "at"])

    def __repr__(self) -> str:
        return f"<Corpus {self.path}>"
