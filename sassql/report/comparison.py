"""Two sides compared: kernels, architectures or builds. What the page of `sassql report --compare` shows.

Kernels of the two sides are paired by symbol; one kernel on each side is a pair whatever its name.
Statements are aligned in normalised form: numbers of registers, labels and `.reuse` say nothing about what
the compiler decided, so they do not count.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import SequenceMatcher
from typing import Any

from sassql.report.document import Document, KernelRecord, Motif

COMPARISON_SCHEMA = "sassql.comparison/1"
MOST_ALIGNED = 6_000
"""Statements of both sides together that are aligned; the time grows with their product."""

_REGISTER = re.compile(r"\b(UR|UP|R|P|B|SB)\d+\b")
_LABEL = re.compile(r"`\([^)]*\)")


def normalised(statement: str) -> str:
    """A statement without what changes from build to build.

    >>> normalised("@!P0 FFMA R5, R2.reuse, R4, R5")
    '@!P FFMA R, R, R, R'
    >>> normalised("BRA `(0x680)")
    'BRA `'
    """
    return _LABEL.sub("`", _REGISTER.sub(r"\1", statement.replace(".reuse", "")))


@dataclass(frozen=True, slots=True)
class Statement:
    """One instruction of a listing."""

    address: int
    text: str


@dataclass(frozen=True, slots=True)
class Aligned:
    """Two statements side by side; ``kind`` is same, registers (equal but for numbers), differs, a or b."""

    kind: str
    a: Statement | None
    b: Statement | None


@dataclass(frozen=True, slots=True)
class Pair:
    """One kernel on both sides; a side without it is None. Motifs are told by name and columns."""

    a: KernelRecord | None
    b: KernelRecord | None
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        one, two = self.a, self.b
        if one is not None and two is not None and one.name != two.name:
            return f"{one.short} and {two.short}"
        found = one or two
        return found.short if found else ""

    @property
    def kernels(self) -> tuple[KernelRecord, ...]:
        return tuple(k for k in (self.a, self.b) if k is not None)

    def changes(self) -> Iterator[tuple[str, int | None, int | None]]:
        """Instructions, weight and resources of both sides: (name, a, b), those that are known of one."""
        for name, get in _NUMBERS:
            values = [None if k is None else get(k) for k in (self.a, self.b)]
            if values != [None, None]:
                yield name, values[0], values[1]

    def mix(self) -> Iterator[tuple[str, int, int]]:
        """Instructions by group, where one side has any."""
        sides = [k.mix if k else {} for k in (self.a, self.b)]
        for group in dict.fromkeys([*sides[0], *sides[1]]):
            yield group, sides[0].get(group, 0), sides[1].get(group, 0)

    @property
    def differs(self) -> bool:
        """True where the motifs, the mix or the resources differ, or one side lacks the kernel."""
        one, two = self.a, self.b
        if one is None or two is None:
            return True
        return bool(self.gained or self.lost) or one.mix != two.mix or one.needs != two.needs


def _percent(kernel: KernelRecord) -> int | None:
    return kernel.occupancy.percent if kernel.occupancy else None


_NUMBERS: tuple[tuple[str, Any], ...] = (
    ("instructions", lambda k: k.instructions),
    ("weight", lambda k: k.weight),
    ("blocks", lambda k: k.blocks),
    ("loops", lambda k: k.loops),
    ("registers", lambda k: k.needs.registers),
    ("shared memory, bytes", lambda k: k.needs.shared),
    ("local memory, bytes", lambda k: k.needs.local),
    ("barriers", lambda k: k.needs.barriers),
    ("static occupancy, %", _percent),
)


@dataclass(slots=True)
class Comparison:
    """The whole comparison; ``listings`` has, by number of the pair, the aligned statements."""

    title: str
    a: Document
    b: Document
    name_a: str
    name_b: str
    pairs: list[Pair] = field(default_factory=list)
    listings: dict[int, tuple[Aligned, ...]] = field(default_factory=dict)


def pair_up(a: Sequence[KernelRecord], b: Sequence[KernelRecord]) -> list[Pair]:
    """The kernels of both sides by symbol and, where both have it, architecture; differing pairs first."""
    if len(a) == len(b) == 1:
        return [compared(a[0], b[0])]
    waiting: dict[str, list[KernelRecord]] = defaultdict(list)
    for kernel in b:
        waiting[kernel.name].append(kernel)
    pairs = []
    for kernel in a:
        others = waiting[kernel.name]
        other = next((k for k in others if k.arch == kernel.arch), others[0] if others else None)
        if other is not None:
            others.remove(other)
        pairs.append(compared(kernel, other))
    pairs += [compared(None, kernel) for others in waiting.values() for kernel in others]
    return sorted(pairs, key=lambda pair: (not pair.differs, -max(k.weight for k in pair.kernels)))


def compared(a: KernelRecord | None, b: KernelRecord | None) -> Pair:
    """A pair with what its motifs differ in."""
    one, two = (_motifs(k.motifs) if k else Counter[str]() for k in (a, b))
    return Pair(a, b, _texts(two - one), _texts(one - two), _texts(one & two))


def _motifs(motifs: Sequence[Motif]) -> Counter[str]:
    found: Counter[str] = Counter()
    for motif in motifs:
        found[motif.text if motif.status == "match" else f"{motif.text} ({motif.status})"] += motif.count
    return found


def _texts(counts: Counter[str]) -> tuple[str, ...]:
    return tuple(f"{n} x {text}" if n > 1 else text for text, n in sorted(counts.items()))


def align(a: Sequence[Statement], b: Sequence[Statement]) -> tuple[Aligned, ...]:
    """Both listings side by side, equal statements in one line.

    Longer listings than `MOST_ALIGNED` are not aligned: nothing is returned.
    """
    if len(a) + len(b) > MOST_ALIGNED:
        return ()
    keys_a, keys_b = ([normalised(s.text) for s in side] for side in (a, b))
    found: list[Aligned] = []
    matcher = SequenceMatcher(None, keys_a, keys_b, autojunk=False)
    for tag, start_a, end_a, start_b, end_b in matcher.get_opcodes():
        ours, theirs = a[start_a:end_a], b[start_b:end_b]
        for n in range(max(len(ours), len(theirs))):
            one = ours[n] if n < len(ours) else None
            two = theirs[n] if n < len(theirs) else None
            found.append(Aligned(_kind(tag, one, two), one, two))
    return tuple(found)


def _kind(tag: str, one: Statement | None, two: Statement | None) -> str:
    if one is None or two is None:
        return "b" if one is None else "a"
    if tag == "equal":
        return "same" if one.text == two.text else "registers"
    return "differs"


def comparison_record(found: Comparison) -> Mapping[str, Any]:
    """The comparison as plain values."""
    pairs = []
    for pair in found.pairs:
        record = {
            "kernel": pair.name,
            "a": None if pair.a is None else _who(pair.a),
            "b": None if pair.b is None else _who(pair.b),
            "differs": pair.differs,
            "motifs": {"gained": pair.gained, "lost": pair.lost, "kept": pair.kept},
            "numbers": {name: {"a": one, "b": two} for name, one, two in pair.changes()},
            "mix": {group: {"a": one, "b": two} for group, one, two in pair.mix()},
        }
        pairs.append(record)
    failures = [asdict(failure) for failure in (*found.a.failures, *found.b.failures)]
    return {
        "schema": COMPARISON_SCHEMA,
        "a": found.name_a,
        "b": found.name_b,
        "pairs": pairs,
        "failures": failures,
    }


def _who(kernel: KernelRecord) -> dict[str, str]:
    return {"file": kernel.file, "entry": kernel.entry, "kernel": kernel.name, "arch": kernel.arch}
