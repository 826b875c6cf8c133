"""The result document: what a report says, as plain typed data. Every output is a renderer of it.

A document is made in `sassql.report.build` and rendered by `html`, `markdown` and `to_json`; renderers
see nothing else. Sections that need what is not there (classes, accuracy) are empty or None.

    >>> to_record(Document("an empty corpus"))["schema"]
    'sassql.report/1'
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sassql.insight.residency import Occupancy

SCHEMA = "sassql.report/1"
"""Name and version of the JSON form; the number rises when a field changes its meaning or goes."""


COPY, OTHER = "copy and constant", "other"
_SPACES = ("global", "shared", "local", "generic")
GROUPS = (
    "tensor core",
    "floating point",
    "integer and address",
    "comparison and select",
    "conversion",
    COPY,
    "lane exchange",
    *(f"{space} {access}" for space in _SPACES for access in ("load", "store", "atomic")),
    "asynchronous copy",
    "barrier",
    "fence",
    "control flow",
    "filler",
    OTHER,
)
"""What instructions are counted by in `KernelRecord.mix`, in the order in which it is shown."""


@dataclass(frozen=True, slots=True)
class Motif:
    """One motif found in a kernel, ``count`` times with these columns.

    ``at`` are addresses of its instructions, in bytes; of many only the first.
    """

    motif: str
    columns: Mapping[str, Any]
    at: tuple[int, ...]
    status: str = "match"
    count: int = 1

    @property
    def text(self) -> str:
        """The motif with its columns: ``warp_reduce op=sum width=32``."""
        told = " ".join(f"{k}={'?' if v is None else v}" for k, v in self.columns.items())
        return f"{self.motif} {told}".strip()


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is worth a look.

    ``kind`` is a stable word; ``weight`` counts the instructions concerned, those in loops ten
    times as much for each loop around them.
    """

    kind: str
    text: str
    at: tuple[int, ...]
    weight: int


@dataclass(frozen=True, slots=True)
class Needs:
    """Resources of a kernel as its ELF says; None where it says nothing. Memory is in bytes."""

    registers: int | None = None
    shared: int | None = None
    local: int | None = None
    barriers: int | None = None
    parameters: int | None = None


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """One kernel of the report.

    ``id`` is its name in the report; ``weight`` counts its instructions, those in loops ten times as much
    for each loop around them; ``mix`` counts instructions by what they do. ``cls`` is its class, empty
    where nobody classified it; ``unknown`` names opcodes that the tables lack.
    """

    id: str
    file: str
    entry: str
    name: str
    demangled: str
    arch: str
    instructions: int
    blocks: int = 0
    loops: int = 0
    weight: int = 0
    mix: Mapping[str, int] = field(default_factory=dict)
    needs: Needs = Needs()
    occupancy: Occupancy | None = None
    cls: str = ""
    status: str = ""
    motifs: tuple[Motif, ...] = ()
    findings: tuple[Finding, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """The name without arguments and template arguments."""
        return short_name(self.demangled)

    @property
    def place(self) -> str:
        return f"{self.file}[{self.entry}]" if self.entry else self.file

    @property
    def motif_names(self) -> tuple[str, ...]:
        """Motifs that were found for certain, each once, in alphabetical order."""
        return tuple(sorted({m.motif for m in self.motifs if m.status == "match"}))


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that could not be read, compiled or asked; ``serious`` is false for a mere note."""

    text: str
    kind: str
    serious: bool


@dataclass(frozen=True, slots=True)
class Score:
    """One line of the comparison with the truth of a corpus; see `docs/accuracy.md` for the words."""

    name: str
    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float | None:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else None

    @property
    def recall(self) -> float | None:
        return self.right / (self.right + self.missed) if self.right + self.missed else None


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How the kernels' motifs and classes compare with what the corpus says they are."""

    motifs: tuple[Score, ...]
    classes: Mapping[str, int] = field(default_factory=dict)
    decoys: Mapping[str, int] = field(default_factory=dict)
    mistakes: tuple[str, ...] = ()


@dataclass(slots=True)
class Document:
    """A whole report. ``opcodes`` counts instructions by architecture and opcode."""

    title: str
    sources: tuple[str, ...] = ()
    made_by: str = ""
    tools: Mapping[str, str] = field(default_factory=dict)
    kernels: list[KernelRecord] = field(default_factory=list)
    cubins: int = 0
    opcodes: dict[str, dict[str, int]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    motif_titles: dict[str, str] = field(default_factory=dict)
    accuracy: Accuracy | None = None

    @property
    def instructions(self) -> int:
        return sum(kernel.instructions for kernel in self.kernels)

    @property
    def architectures(self) -> tuple[str, ...]:
        """Architectures of the kernels, oldest first."""
        return tuple(sorted({kernel.arch for kernel in self.kernels}, key=arch_order))

    @property
    def classified(self) -> bool:
        return any(kernel.cls for kernel in self.kernels)


def arch_order(arch: str) -> tuple[int, str]:
    """Sorts ``sm_90`` before ``sm_100``."""
    digits = "".join(c for c in arch if c.isdigit())
    return (int(digits or 0), arch)


MOST_ARGUMENTS = 40
"""Letters of template arguments that a short name keeps; longer ones are left out."""


def short_name(demangled: str) -> str:
    """The name without arguments, result, and long template arguments: what fits into a table.

    >>> short_name("void at::native::reduce<512, 4>(float*, int)")
    'at::native::reduce<512, 4>'
    >>> short_name("void f<at::native::op<float, 4, at::native::less_than_or_equal<float> > >(int)")
    'f<…>'
    """
    parts: list[str] = []
    opened = depth = 0
    for place, letter in enumerate(demangled):
        if letter == "<":
            opened = opened if depth else place
            depth += 1
        elif letter == ">" and depth:
            depth -= 1
            inside = demangled[opened : place + 1]
            parts += [] if depth else [inside if len(inside) <= MOST_ARGUMENTS else "<…>"]
        elif depth == 0:
            anonymous = demangled.startswith("(anonymous namespace)", place)
            if letter == "(" and not anonymous and not "".join(parts).endswith("operator"):
                break
            parts.append(letter)
    if depth:  # no template arguments: a name may hold anything
        return demangled
    name = "".join(parts).strip().replace("(anonymous namespace)", "(anonymous)")
    return name.removeprefix("void ").strip() or demangled


def to_record(document: Document) -> dict[str, Any]:
    """The document as plain values; addresses are ``"0x180"`` texts as everywhere in JSON."""
    record: dict[str, Any] = {"schema": SCHEMA, **asdict(document)}
    record["instructions"] = document.instructions
    record["architectures"] = list(document.architectures)
    for kernel in record["kernels"]:
        kernel["class"] = kernel.pop("cls") or None
        kernel["status"] = kernel["status"] or None
        for part in (*kernel["motifs"], *kernel["findings"]):
            part["at"] = [f"{address:#x}" for address in part["at"]]
        for motif in kernel["motifs"]:
            motif.update({k: v for k, v in motif.pop("columns").items() if k not in motif})
    return record


def to_json(document: Document) -> str:
    """The document as JSON text, in UTF-8 when written."""
    return json.dumps(to_record(document), ensure_ascii=False, indent=1, default=str) + "\n"
