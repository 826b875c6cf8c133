"""The word table of one architecture: every distinct instruction word is decoded once.

A word is looked up without its scheduling bits (stall, yield, barriers: bits 105-121),
with its reuse bits. A row of the table is a form; kernels hold row numbers. Rows come from
words (cubins) or from text (listings, relocated operands). Rows of words are kept on disk,
see `segments`; nothing of them is read before somebody looks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sassql.errors import ToolMissingError
from sassql.isa.hidden import hidden_registers, may_hide
from sassql.model.form import Form
from sassql.model.register import Register
from sassql.reading import segments
from sassql.reading.segments import Segment, Store
from sassql.reading.shapes import SHAPES, number_holes
from sassql.resources import cache_root

UInt = npt.NDArray[np.uint64]
NO_TARGET = np.iinfo(np.int64).min

CONTROL_SHIFT = np.uint64(41)
CONTROL_BITS = np.uint64((1 << 21) - 1)
_SCHEDULING = np.uint64(((1 << 17) - 1) << 41)
_MIX_LOW = np.uint64(0x9E3779B97F4A7C15)
_MIX_HIGH = np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(slots=True)
class Decoded:
    """Words as text, in order, and by position what differs from the rule.

    ``distances`` lead from an instruction to the place it names, for those that name one;
    ``problems`` say why a word is no instruction, ``untried`` why one was not asked for: such a
    word is not learnt, and is tried again when it is met again.
    """

    texts: list[str] = field(default_factory=list)
    distances: dict[int, int] = field(default_factory=dict)
    problems: dict[int, str] = field(default_factory=dict)
    untried: dict[int, str] = field(default_factory=dict)

    def extend(self, other: Decoded) -> None:
        """Append the words of another batch."""
        start = len(self.texts)
        self.texts += other.texts
        self.distances |= {start + i: d for i, d in other.distances.items()}
        self.problems |= {start + i: p for i, p in other.problems.items()}
        self.untried |= {start + i: p for i, p in other.untried.items()}


Decoder = Callable[[UInt, UInt], Decoded]
"""Turns distinct words (low and high halves, scheduling bits as found) into text."""

LOOSE = 1 << 30
"""Row number of the first row that comes from text; those below come from words."""


def control_bits(high: UInt) -> npt.NDArray[np.uint32]:
    """Bits 105-125 of each word."""
    return (high >> CONTROL_SHIFT & CONTROL_BITS).astype(np.uint32)


def _hash(low: UInt, high: UInt) -> UInt:
    mixed = (low ^ low >> np.uint64(29)) * _MIX_LOW
    return mixed ^ ((high ^ high >> np.uint64(31)) * _MIX_HIGH >> np.uint64(7)) ^ high


class WordTable:
    """Forms of one architecture by row number; grows, never forgets.

    Without ``store`` nothing is kept on disk.
    """

    def __init__(self, arch: str, store: Store | None = None) -> None:
        self.arch = arch
        self._store = store
        self._segments: list[Segment] = []
        self._bases: list[int] = []
        self._opened = store is None
        self._forms: dict[int, Form] = {}
        self._loose: list[tuple[str, tuple[Register, ...]]] = []
        self._by_text: dict[tuple[str, tuple[Register, ...]], int] = {}
        self._loose_problems: dict[int, str] = {}

    def __len__(self) -> int:
        return sum(map(len, self._segments)) + len(self._loose)

    def __getitem__(self, row: int, /) -> Form:
        form = self._forms.get(row)
        if form is None:
            text, hidden = self._loose[row - LOOSE] if row >= LOOSE else self._word(row)
            form = self._forms[row] = SHAPES.form(text, hidden)
        return form

    def _word(self, row: int) -> tuple[str, tuple[Register, ...]]:
        segment, place = self._at(row)
        text = segment.text(place)
        return text, hidden_registers(self.arch, text, (int(segment.low[place]), int(segment.high[place])))

    def _at(self, row: int) -> tuple[Segment, int]:
        number = bisect_right(self._bases, row) - 1
        return self._segments[number], row - self._bases[number]

    def count_opcodes(self, rows: npt.NDArray[np.int32]) -> Counter[str]:
        """How often each opcode stands among ``rows``; no row is looked at one by one but those from text."""
        found: Counter[str] = Counter()
        for base, segment in zip(self._bases, self._segments, strict=True):
            mine = rows[(rows >= base) & (rows < base + len(segment))] - base
            counts = np.bincount(segment.shapes[mine], minlength=len(segment.shape_texts))
            for shape in np.flatnonzero(counts).tolist():
                found[opcode_of(segment.shape_texts[shape])] += int(counts[shape])
        for row in rows[rows >= LOOSE].tolist():
            found[opcode_of(self._loose[row - LOOSE][0])] += 1
        return found

    def shape_texts(self, rows: npt.NDArray[np.int32]) -> set[str]:
        """The distinct shapes among ``rows``, as text; no form is made."""
        found: set[str] = set()
        for base, segment in zip(self._bases, self._segments, strict=True):
            mine = rows[(rows >= base) & (rows < base + len(segment))] - base
            found.update(segment.shape_texts[shape] for shape in np.unique(segment.shapes[mine]).tolist())
        return found | {self[row].shape.text for row in np.unique(rows[rows >= LOOSE]).tolist()}

    def problems(self, rows: npt.NDArray[np.int32]) -> dict[int, str]:
        """The rows among ``rows`` that did not decode: no instruction, or text that the grammar refuses."""
        known = dict(self._loose_problems)
        for base, segment in zip(self._bases, self._segments, strict=True):
            known |= {base + place: text for place, text in segment.problems.items()}
        return {row: known[row] for row in np.intersect1d(rows, list(known)).tolist()} if known else {}

    def distances(self, rows: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Distance in bytes from each instruction to the place it names, or ``NO_TARGET``."""
        found = np.full(len(rows), NO_TARGET, np.int64)
        for base, segment in zip(self._bases, self._segments, strict=True):
            mine = (rows >= base) & (rows < base + len(segment))
            found[mine] = segment.distances[rows[mine] - base]
        return found

    @property
    def hides_registers(self) -> bool:
        """True where words of this architecture hold registers that their text does not print."""
        return may_hide(self.arch)

    @property
    def problems_of_text(self) -> bool:
        """True once any row from text was refused by the grammar."""
        return bool(self._loose_problems)

    def row_of_text(self, text: str, hidden: tuple[Register, ...] = ()) -> int:
        """The row for a statement in text form, with its label operand replaced by the hole."""
        row = self._by_text.get((text, hidden))
        if row is None:
            row = self._by_text[text, hidden] = LOOSE + len(self._loose)
            self._loose.append((text, hidden))
            if problem := self[row].shape.problem:
                self._loose_problems[row] = problem
        return row

    def row_with_word(self, row: int, word: tuple[int, int]) -> int:
        """The row for the same text, with the registers that only its word holds."""
        text = self._loose[row - LOOSE][0]
        hidden = hidden_registers(self.arch, text, word)
        return self.row_of_text(text, hidden) if hidden else row

    def rows_of_words(self, low: UInt, high: UInt, decode: Decoder) -> tuple[npt.NDArray[np.int32], int, int]:
        """Row numbers of words in order, how many distinct words they hold, and how many were new.

        ``decode`` gets each unknown word once, with scheduling bits that it really had.
        """
        self._load()
        key_high = high & ~_SCHEDULING
        keys = _hash(low, key_high)
        unique, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        clean = bool(np.all(low[first][inverse] == low) and np.all(key_high[first][inverse] == key_high))
        if not clean:  # two words with one hash: group by the words themselves
            both = np.stack([key_high, low], axis=1)
            _, first, inverse = np.unique(both, axis=0, return_index=True, return_inverse=True)
            unique = keys[first]
        rows = self._find(unique, low[first], key_high[first])
        unknown = np.flatnonzero(rows < 0)
        if len(unknown) and self._load(again=True):  # another process may have decoded them meanwhile
            rows[unknown] = self._find(unique[unknown], low[first[unknown]], key_high[first[unknown]])
            unknown = np.flatnonzero(rows < 0)
        if len(unknown):
            chosen = first[unknown]
            decoded = decode(low[chosen], high[chosen])
            tried = np.setdiff1d(np.arange(len(unknown)), list(decoded.untried))
            self._learn(unique[unknown], low[chosen], key_high[chosen], decoded, tried)
            rows[unknown] = self._find(unique[unknown], low[chosen], key_high[chosen])
            for place, why in decoded.untried.items():
                rows[unknown[place]] = self._row_of_untried(decoded.texts[place], why)
        return rows[inverse.reshape(-1)].astype(np.int32), len(first), len(unknown)

    def _load(self, *, again: bool = False) -> bool:
        """Take the segments on disk, those since the last time with ``again``; whether there were any."""
        if self._store is None or (self._opened and not again):
            return False
        self._opened = True
        found = self._store.load()
        for segment in found:
            self._append(segment)
        return bool(found)

    def _append(self, segment: Segment) -> None:
        self._bases.append(self._bases[-1] + len(self._segments[-1]) if self._segments else 0)
        self._segments.append(segment)

    def _find(self, keys: UInt, low: UInt, high: UInt) -> npt.NDArray[np.int64]:
        rows = np.full(len(keys), -1, np.int64)
        for base, segment in zip(self._bases, self._segments, strict=True):
            missing = np.flatnonzero(rows < 0)
            if not len(missing):
                break
            found = segment.find(keys[missing], low[missing], high[missing])
            rows[missing] = np.where(found < 0, -1, found + base)
        return rows

    def _row_of_untried(self, text: str, why: str) -> int:
        row = self.row_of_text(text)
        self._loose_problems[row] = why
        return row

    def _learn(
        self, keys: UInt, low: UInt, high: UInt, decoded: Decoded, tried: npt.NDArray[np.int64]
    ) -> None:
        shapes = number_holes(decoded.texts)
        refused = {text: SHAPES.shape(text).problem for text in dict.fromkeys(shapes)}
        problems = [refused[text] for text in shapes] if any(refused.values()) else [""] * len(shapes)
        for place, problem in decoded.problems.items():
            problems[place] = problem
        distances = np.full(len(keys), NO_TARGET, np.int64)
        distances[list(decoded.distances)] = list(decoded.distances.values())
        texts = decoded.texts
        if len(tried) < len(keys):
            keys, low, high, distances = keys[tried], low[tried], high[tried], distances[tried]
            texts, shapes, problems = (
                [column[n] for n in tried.tolist()] for column in (texts, shapes, problems)
            )
        segment = segments.build(keys, low, high, distances, texts, shapes, problems)
        self._append(segment)
        if self._store is not None:
            self._store.add(segment)


def opcode_of(text: str) -> str:
    """The base opcode of a statement or of a shape.

    >>> opcode_of("@!P0 LDG.E.64 R2, [R4.64]")
    'LDG'
    """
    start = text.find(" ") + 1 if text.startswith("@") else 0
    end = text.find(" ", start)
    return text[start : end if end >= 0 else len(text)].partition(".")[0]


_TABLES: dict[tuple[str, str], WordTable] = {}


def table(arch: str) -> WordTable:
    """The process's table for an architecture, with what earlier processes decoded."""
    key = arch, str(cache_root())
    if key not in _TABLES:
        try:
            store: Store | None = Store(arch)
        except ToolMissingError:  # listings need no tool
            store = None
        _TABLES[key] = WordTable(arch, store)
    return _TABLES[key]
