"""What `sassql.invariants` says: frozen statements, each with its evidence and its missing premise.

``at`` are addresses of instructions in bytes, the evidence. ``premise`` is what would have to be known for
the statement to be stronger, or to hold at all where it says ``if``; empty where nothing is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

PROVEN, REFUTED, UNKNOWN = "proven", "refuted", "unknown"
_BEHIND = {
    "barrier": "a barrier",
    "mbarrier": "a barrier in memory",
    "fence": "a fence",
    "async": "a wait for copies",
    "warp": "a barrier of the warp",
}
MOST_PLACES = 64
"""Addresses that a statement of a record lists."""


def plain(value: object, name: str = "") -> Any:  # noqa: ANN401  (what JSON can hold)
    """A statement, or a part of one, as plain values; ``at`` as ``"0x180"`` texts."""
    if isinstance(value, Statement):
        return value.as_record()
    if name == "at" and isinstance(value, tuple):
        return [f"{address:#x}" for address in value[:MOST_PLACES]]
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return value


class Statement:
    """What all statements have: :meth:`as_record`, with a field ``text`` that says it to people."""

    __slots__ = ()
    SECTION: ClassVar[str] = ""

    @property
    def text(self) -> str:
        """The statement in words."""
        return ""

    def as_record(self) -> dict[str, Any]:
        """The fields as plain values that JSON can hold."""
        names = [f.name for f in fields(self)]  # type: ignore[arg-type]
        record = {name: plain(getattr(self, name), name) for name in names}
        return {"text": self.text, **record} if self.text else record


@dataclass(frozen=True, slots=True)
class Source(Statement):
    """One thing that a stored location depends on.

    ``kind`` is load, parameter, thread (a thread, block or lane number), launch (a size of the launch) or
    other; ``by`` says how: value, address, control. Of a load ``place`` is the address and ``relation`` how
    the element lies to the stored one: own, broadcast, strided, swapped, shifted, displaced, reversed,
    gathered, other, unknown as in `sassql.facts.index_relation`, or group (under another element that the
    same thread stores).
    """

    kind: str
    name: str
    by: tuple[str, ...]
    at: tuple[int, ...]
    place: str = ""
    relation: str = ""


@dataclass(frozen=True, slots=True)
class Output(Statement):
    """A stored location and what it depends on.

    Stores of one buffer with one formula are one location; ``access`` is store or atomic, ``count`` how many
    instructions write it. ``independence``: whether each element depends on this thread's own elements (and
    inputs that all share) only. ``exchanges`` are instructions in the dependency that bring in other lanes'
    or threads' values, ``because`` those that decide about independence.
    """

    SECTION: ClassVar[str] = "dependency"
    place: str
    buffer: str
    access: str
    count: int
    independence: str
    why: str
    sources: tuple[Source, ...]
    at: tuple[int, ...]
    exchanges: tuple[int, ...] = ()
    because: tuple[int, ...] = ()
    premise: str = ""

    @property
    def text(self) -> str:
        """``param1 + 4*tid.x depends on param0 (own) by value, tid.x by address``."""
        parts = []
        for source in self.sources:
            told = f"{source.name} ({source.relation})" if source.relation else source.name
            parts.append(f"{told} by {' and '.join(source.by)}")
        return f"{self.place} depends on {'; '.join(parts) or 'nothing'}"

    def as_record(self) -> dict[str, Any]:
        """The fields as plain values; all addresses as texts."""
        record = Statement.as_record(self)
        for name in ("exchanges", "because"):
            record[name] = [f"{address:#x}" for address in getattr(self, name)[:MOST_PLACES]]
        return record


@dataclass(frozen=True, slots=True)
class Stride(Statement):
    """How far apart neighbours along one factor of a domain lie in a loaded buffer.

    ``bytes`` is a formula; ``kind`` is contiguous, strided, same (all read one element) or unknown.
    """

    buffer: str
    bytes: str
    kind: str

    @property
    def text(self) -> str:
        """``param0: 4 bytes, contiguous``."""
        told = {"same": "the same element", "unknown": "unknown"}.get(self.kind)
        return f"{self.buffer}: {told or f'{self.bytes} bytes, {self.kind}'}"


@dataclass(frozen=True, slots=True)
class Factor(Statement):
    """One factor of a reduction's domain.

    ``over`` is loop, unrolled, fragment, lanes, warps, threads or blocks; ``extent`` how many values meet
    along it, as a number or a formula. A loop has ``init``, ``step`` and ``bound`` of its counter; lanes have
    ``offsets`` and their ``rank`` over GF(2): 2^rank lanes meet. ``via`` is how: xor, down, up, redux, shared
    memory, atomic, partials …
    """

    over: str
    extent: str
    via: str
    at: tuple[int, ...]
    init: str = ""
    step: str = ""
    bound: str = ""
    rank: int | None = None
    offsets: tuple[int, ...] = ()
    strides: tuple[Stride, ...] = ()
    folds: int = 0
    """Of a loop: folds in each iteration, more than one where it is unrolled."""
    parts: tuple[int, ...] = ()
    """Of a loop that the compiler split into several: folds in an iteration of each part."""

    @property
    def text(self) -> str:
        """``32 lanes (xor of 16, 8, 4, 2, 1)``."""
        told = f"{self.extent} {self.over}"
        if self.over == "loop":
            told = f"loop from {self.init} by {self.step}" if self.step else "loop"
            told += f" while {self.bound}" if self.bound else ""
            told += f", {self.extent} iterations" if self.extent else ""
            told += f", {self.folds} folds in each" if self.folds > 1 else ""
            told += f", with remainders in {len(self.parts)} parts" if self.parts else ""
        elif self.offsets:
            told += f" ({self.via} of {', '.join(map(str, self.offsets))})"
        elif self.via:
            told += f" ({self.via})"
        strides = "; ".join(s.text for s in self.strides)
        return f"{told} [{strides}]" if strides else told


@dataclass(frozen=True, slots=True)
class Reduction(Statement):
    """One reduction: its domain as a product of ``factors``, and how free its order is.

    ``order`` is exact (any order gives the same bits), reassociable (any order gives the same real number),
    nondeterministic (the hardware chooses the order already), or fixed.
    """

    SECTION: ClassVar[str] = "reduction"
    op: str
    dtype: str
    factors: tuple[Factor, ...]
    order: str
    why: str
    at: tuple[int, ...]
    status: str = "match"
    premise: str = ""

    @property
    def kind_of_sum(self) -> bool:
        """True for sums, sums of products, and running sums."""
        return "sum" in self.op or self.op in ("online", "welford")

    @property
    def text(self) -> str:
        """``sum of f32 over loop … x 32 lanes x ntid.x / 32 warps: reassociable``."""
        return f"{self.op} of {self.dtype or '?'} over {' x '.join(f.text for f in self.factors) or '?'}"


@dataclass(frozen=True, slots=True)
class Reader(Statement):
    """Loads of the same kernel that read a stored location.

    ``same_thread``: yes where a thread reads its own elements, no where it reads by another formula: other
    threads' elements; None where nobody knows. ``certainty`` is must, may or unknown; ``sync`` lists what
    lies on every way between: barrier, mbarrier, fence, async, warp, loop.
    """

    at: tuple[int, ...]
    same_thread: bool | None
    certainty: str
    sync: tuple[str, ...]
    sync_at: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """``the same thread after a barrier``."""
        who = {True: "the same thread", False: "other threads", None: "a thread, perhaps another one"}
        strong = [word for word in self.sync if word in _BEHIND]
        found = [_BEHIND[word] for word in strong if word != "warp" or len(strong) == 1]
        if found:
            return f"{who[self.same_thread]} behind {' and '.join(found)}"
        after = "in a later loop or iteration" if self.sync else "with nothing between"
        return f"{who[self.same_thread]} {after}"

    def as_record(self) -> dict[str, Any]:
        """The fields as plain values; all addresses as texts."""
        record = Statement.as_record(self)
        record["sync"] = list(self.sync)
        return record | {"sync_at": [f"{address:#x}" for address in self.sync_at[:MOST_PLACES]]}


@dataclass(frozen=True, slots=True)
class Stored(Statement):
    """What becomes of a stored location.

    ``fate`` is output, round trip, overwritten, possibly observable, or, in shared memory, never read.

    ``removable`` says under which premise the store is needless; empty where it is needed.
    """

    SECTION: ClassVar[str] = "observability"
    place: str
    buffer: str
    fate: str
    readers: tuple[Reader, ...]
    removable: str
    at: tuple[int, ...]
    premise: str = ""

    @property
    def text(self) -> str:
        """``param1 + 4*tid.x: round trip, read by the same thread behind a barrier``."""
        read = "; ".join(dict.fromkeys(r.text for r in self.readers))
        told = f"{self.place}: {self.fate}" + (f", read by {read}" if read else "")
        return told + (f"; {self.removable}" if self.removable else "")


@dataclass(frozen=True, slots=True)
class Reuse(Statement):
    """A value or an address that is used several times.

    ``kind`` is register (a loaded value with several uses), reload (a place loaded several times), invariant
    (loaded anew in each iteration from one place), shared (a word of shared memory that several threads
    read) or broadcast (a word of global memory that several threads of a block read). ``count`` is a number
    or, of threads, a formula.
    """

    SECTION: ClassVar[str] = "reuse"
    kind: str
    place: str
    count: str
    why: str
    at: tuple[int, ...]
    premise: str = ""

    @property
    def text(self) -> str:
        """``param0 + 4*tid.x: loaded 2 times, in two loops``."""
        return f"{self.place}: {self.why}"


@dataclass(frozen=True, slots=True)
class Numerics(Statement):
    """A statement on rounding: ``topic`` is contraction, flush_to_zero, approximation or accumulation."""

    SECTION: ClassVar[str] = "numerics"
    topic: str
    value: str
    why: str
    count: int
    at: tuple[int, ...]
    premise: str = ""

    @property
    def text(self) -> str:
        """``contraction: 3 multiply-adds contracted``."""
        return f"{self.topic.replace('_', ' ')}: {self.value}" + (f", {self.why}" if self.why else "")


@dataclass(frozen=True, slots=True)
class Invariants:
    """What is invariant in a kernel, and what was only chosen.

    ``independence`` of the kernel: proven where it is for every output, refuted where it is for one, else
    unknown, with the reason in ``why``. ``open`` lists what could not be said, and why.
    """

    kernel: str
    arch: str
    file: str
    entry: str
    independence: str
    why: str
    outputs: tuple[Output, ...]
    reductions: tuple[Reduction, ...]
    stores: tuple[Stored, ...]
    reuse: tuple[Reuse, ...]
    numerics: tuple[Numerics, ...]
    open: tuple[str, ...] = ()

    @property
    def sections(self) -> tuple[tuple[str, tuple[Statement, ...]], ...]:
        """Name and statements of the five sections, in order."""
        return (
            ("dependency", self.outputs),
            ("reduction", self.reductions),
            ("observability", self.stores),
            ("reuse", self.reuse),
            ("numerics", self.numerics),
        )

    def as_record(self) -> dict[str, Any]:
        """Everything as plain values, with the field names of ``--format jsonl``."""
        record: dict[str, Any] = {
            "file": self.file,
            "entry": self.entry,
            "kernel": self.kernel,
            "arch": self.arch,
            "independence": self.independence,
            "why": self.why,
        }
        for name, statements in self.sections:
            record[name] = [s.as_record() for s in statements]
        return record | {"open": list(self.open)}
