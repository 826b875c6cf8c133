"""The word table of one architecture: every distinct instruction word is decoded once.

A word is looked up without its scheduling bits (stall, yield, barriers: bits 105-121),
with its reuse bits. A row of the table is a form; kernels hold row numbers. Rows come from
words (cubins) or from text (listings, relocated operands).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

from sassql.isa.hidden import hidden_registers
from sassql.model.form import Form
from sassql.model.register import Register
from sassql.reading.shapes import SHAPES

UInt = npt.NDArray[np.uint64]
NO_TARGET = np.iinfo(np.int64).min

CONTROL_SHIFT = np.uint64(41)
CONTROL_BITS = np.uint64((1 << 21) - 1)
_SCHEDULING = np.uint64(((1 << 17) - 1) << 41)
_MIX_LOW = np.uint64(0x9E3779B97F4A7C15)
_MIX_HIGH = np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True, slots=True)
class Decoded:
    """One word as text: ``distance`` from the instruction to the place it names, or ``NO_TARGET``."""

    text: str
    distance: int = NO_TARGET
    problem: str = ""


Decoder = Callable[[UInt, UInt], list[Decoded]]
"""Turns distinct words (low and high halves, scheduling bits as found) into text."""


def control_bits(high: UInt) -> npt.NDArray[np.uint32]:
    """Bits 105-125 of each word."""
    return (high >> CONTROL_SHIFT & CONTROL_BITS).astype(np.uint32)


def _hash(low: UInt, high: UInt) -> UInt:
    mixed = (low ^ low >> np.uint64(29)) * _MIX_LOW
    return mixed ^ ((high ^ high >> np.uint64(31)) * _MIX_HIGH >> np.uint64(7)) ^ high


class WordTable(Sequence[Form]):
    """Forms of one architecture by row number; grows, never forgets."""

    def __init__(self, arch: str) -> None:
        self.arch = arch
        self._texts: list[str] = []
        self._problems: dict[int, str] = {}
        self._examined = 0
        self._forms: list[Form | None] = []
        self._distances: list[int] = []
        self._words: dict[int, tuple[int, int]] = {}
        self._by_text: dict[tuple[str, tuple[Register, ...]], int] = {}
        self._hidden: dict[int, tuple[Register, ...]] = {}
        empty = np.empty(0, np.uint64)
        self._keys, self._low, self._high = empty, empty, empty
        self._rows = np.empty(0, np.int32)

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, row: int) -> Form: ...
    @overload
    def __getitem__(self, row: slice) -> list[Form]: ...
    def __getitem__(self, row: int | slice) -> Form | list[Form]:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        form = self._forms[row]
        if form is None:
            hidden = self._hidden.get(row)
            if hidden is None:
                hidden = hidden_registers(self.arch, self._texts[row], self._words.get(row))
            form = self._forms[row] = SHAPES.form(self._texts[row], hidden)
        return form

    def problem(self, row: int) -> str:
        """Why the row's word or text could not be decoded; empty where it could."""
        return self._problems.get(row) or self[row].shape.problem

    def problems(self, rows: npt.NDArray[np.int32]) -> dict[int, str]:
        """The rows among ``rows`` that could not be decoded, with the reason; each row is examined once."""
        for row in range(self._examined, len(self._texts)):
            if text := self.problem(row):
                self._problems[row] = text
        self._examined = len(self._texts)
        return (
            {row: self._problems[row] for row in np.intersect1d(rows, list(self._problems)).tolist()}
            if self._problems
            else {}
        )

    def distances(self, rows: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Distance in bytes from each instruction to the place it names, or ``NO_TARGET``."""
        return np.asarray(self._distances, np.int64)[rows]

    def row_of_text(self, text: str, hidden: tuple[Register, ...] = ()) -> int:
        """The row for a statement in text form, with its label operand replaced by the hole."""
        row = self._by_text.get((text, hidden))
        if row is None:
            row = self._by_text[text, hidden] = self._append(Decoded(text))
            self._hidden[row] = hidden
        return row

    def row_with_word(self, row: int, word: tuple[int, int]) -> int:
        """The row for the same text, with the registers that only its word holds."""
        hidden = hidden_registers(self.arch, self._texts[row], word)
        return self.row_of_text(self._texts[row], hidden) if hidden else row

    def rows_of_words(self, low: UInt, high: UInt, decode: Decoder) -> tuple[npt.NDArray[np.int32], int, int]:
        """Row numbers of words in order, how many distinct words they hold, and how many were new.

        ``decode`` gets each unknown word once, with scheduling bits that it really had.
        """
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
        if len(unknown):
            chosen = first[unknown]
            decoded = decode(low[chosen], high[chosen])
            rows[unknown] = self._add_words(unique[unknown], low[chosen], key_high[chosen], decoded)
        return rows[inverse.reshape(-1)].astype(np.int32), len(first), len(unknown)

    def _find(self, keys: UInt, low: UInt, high: UInt) -> npt.NDArray[np.int64]:
        rows = np.full(len(keys), -1, np.int64)
        if not len(self._keys):
            return rows
        at = np.searchsorted(self._keys, keys)
        for step in range(4):  # words that share a hash lie side by side
            place = np.minimum(at + step, len(self._keys) - 1)
            hit = (self._keys[place] == keys) & (self._low[place] == low) & (self._high[place] == high)
            rows[hit] = self._rows[place[hit]]
        return rows

    def _add_words(self, keys: UInt, low: UInt, high: UInt, decoded: list[Decoded]) -> npt.NDArray[np.int64]:
        rows = np.empty(len(decoded), np.int64)
        for i, (one, lo, hi) in enumerate(zip(decoded, low.tolist(), high.tolist(), strict=True)):
            rows[i] = row = self._append(one)
            self._words[row] = (lo, hi)
        order = np.argsort(np.concatenate([self._keys, keys]), kind="stable")
        self._keys = np.concatenate([self._keys, keys])[order]
        self._low = np.concatenate([self._low, low])[order]
        self._high = np.concatenate([self._high, high])[order]
        self._rows = np.concatenate([self._rows, rows.astype(np.int32)])[order]
        return rows

    def _append(self, decoded: Decoded) -> int:
        self._texts.append(decoded.text)
        self._forms.append(None)
        self._distances.append(decoded.distance)
        row = len(self._texts) - 1
        if decoded.problem:
            self._problems[row] = decoded.problem
        return row


_TABLES: dict[str, WordTable] = {}


def table(arch: str) -> WordTable:
    """The process's table for an architecture."""
    if arch not in _TABLES:
        _TABLES[arch] = WordTable(arch)
    return _TABLES[arch]
