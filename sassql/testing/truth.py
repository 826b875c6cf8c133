"""What a corpus says its kernels are: motifs, decoys and classes, read from the tables beside the sources.

`truth.tsv` has a row for each motif of a kernel (file, kernel, minarch, motif, args: ``key=value``
words), and ``not motif=X`` for a decoy. `names.tsv` has the class of each kernel and what is accepted
in its place.
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from sassql.errors import Place, UsageError
from sassql.resources import folder

TRUTH, NAMES = "truth.tsv", "names.tsv"
HELD_OUT_OF = 3
"""One kernel of this many is held out: nothing is tuned on it."""


@dataclass(frozen=True, slots=True)
class Word:
    """A motif of the vocabulary: the column that tells its kinds apart, and the columns that are compared."""

    name: str
    kind: str
    columns: tuple[str, ...]
    complete: bool
    """Whether the truth lists it for every kernel that has it; where it does not, a report is no error."""


@cache
def vocabulary() -> dict[str, Word]:
    """The motifs that can be scored, from `patterns/vocabulary.tsv`."""
    found = {}
    for row in read_rows(folder("patterns") / "vocabulary.tsv"):
        columns = tuple(c for c in row["columns"].split(",") if c)
        found[row["motif"]] = Word(row["motif"], row["kind"], columns, row["complete"] == "yes")
    return found


@dataclass(frozen=True, slots=True)
class Claim:
    """One row of the truth."""

    motif: str
    columns: dict[str, str] = field(hash=False)

    @property
    def survives(self) -> bool:
        """False where the compiler removes what the source has."""
        return self.columns.get("survives") != "no"


@dataclass(slots=True)
class KernelTruth:
    """What is true of one kernel."""

    name: str
    file: str
    min_arch: str = ""
    claims: list[Claim] = field(default_factory=list)
    decoys: list[Claim] = field(default_factory=list)
    cls: str = ""
    also: tuple[str, ...] = ()

    @property
    def held_out(self) -> bool:
        """True for the part that nothing was tuned on; a rule of the name, so that it stays the same."""
        return zlib.crc32(self.name.encode()) % HELD_OUT_OF == 0


def read_truth(corpus: Path) -> dict[str, KernelTruth]:
    """Kernels by name.

    Raises:
        UsageError: the folder has no truth, or a row is not as it should be.
    """
    path = corpus / TRUTH
    if not path.is_file():
        hint = f"a corpus with truth has {TRUTH}, see corpora/lowering/README.md"
        raise UsageError(f"no {TRUTH}", place=Place(str(corpus)), hint=hint)
    kernels: dict[str, KernelTruth] = {}
    for number, row in enumerate(read_rows(path), 2):
        try:
            kernel = kernels.setdefault(
                row["kernel"], KernelTruth(row["kernel"], row["file"], row["minarch"])
            )
            columns = dict(word.split("=", 1) for word in row["args"].split())
        except (KeyError, ValueError, AttributeError):
            expected = "expected file, kernel, minarch, motif, args with key=value words"
            raise UsageError(
                "not a row of a truth table", place=Place(str(path), number), hint=expected
            ) from None
        if row["motif"] == "not":
            kernel.decoys.append(_decoy(columns))
        else:
            kernel.claims.append(Claim(row["motif"], columns))
    if (corpus / NAMES).is_file():
        for row in read_rows(corpus / NAMES):
            kernel = kernels.setdefault(row["kernel"], KernelTruth(row["kernel"], ""))
            kernel.cls = row["class"]
            kernel.also = tuple(c for c in (row["also"] or "").split(",") if c)
    return kernels


def _decoy(columns: dict[str, str]) -> Claim:
    """``motif=warp_reduce_sum`` is the motif warp_reduce with the kind ``sum``."""
    name = columns["motif"]
    for word in vocabulary().values():
        if name == word.name:
            return Claim(name, {})
        if name.startswith(f"{word.name}_"):
            return Claim(word.name, {word.kind: name.removeprefix(f"{word.name}_")})
    return Claim(name, {})


def read_rows(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a table with a head; lines that start with ``#`` are comments."""
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t")
