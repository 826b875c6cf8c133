"""Word tables on disk: immutable segments of decoded words, safe with several processes.

A segment is a folder of `.npy` arrays and a `meta.json`, written under another name and
renamed when complete. Rows are in the order of their keys. A process maps the segments that
it finds, appends one of its own for what it had to decode, and never changes one, so there is
nothing to lock; words that two processes decode at once are kept twice and found once. When
there are many segments, the next writer merges them. A damaged segment (sizes or checksum
wrong) is removed, and its words are decoded again.

The folder's name holds the version of nvdisasm and a digest of the grammars: another one of
either starts an empty table.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sassql.reading import tools
from sassql.reading.shapes import grammar_digest
from sassql.resources import cache_root

FORMAT = 1
"""Raised when the same words are to give other rows."""
MANY = 12
"""Segments from which they are merged."""
_ARRAYS = ("keys", "low", "high", "distances", "shapes", "starts", "lengths", "texts")

UInt = npt.NDArray[np.uint64]
Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Segment:
    """Decoded words in the order of their keys.

    ``low`` and ``high`` are the words without scheduling bits; ``distances`` lead from an
    instruction to the place it names; ``shapes`` are numbers into ``shape_texts``; row ``i`` has
    ``lengths[i]`` bytes of ``texts`` from ``starts[i]`` on, in any order, so that segments merge
    without moving text. ``problems`` has the rows that did not decode.
    """

    keys: UInt
    low: UInt
    high: UInt
    distances: Int64
    shapes: npt.NDArray[np.int32]
    starts: Int64
    lengths: npt.NDArray[np.uint16]
    texts: npt.NDArray[np.uint8]
    shape_texts: tuple[str, ...]
    problems: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.keys)

    def text(self, row: int) -> str:
        start = int(self.starts[row])
        return self.texts[start : start + int(self.lengths[row])].tobytes().decode()

    def find(self, keys: UInt, low: UInt, high: UInt) -> Int64:
        """Rows of the given words, -1 for those that the segment does not have."""
        rows = np.full(len(keys), -1, np.int64)
        if not len(self):
            return rows
        first = np.searchsorted(self.keys, keys)
        pending = np.arange(len(keys))
        step = 0
        while len(pending):  # words that share a key lie side by side
            place = first[pending] + step
            inside = place < len(self)
            pending, place = pending[inside], place[inside]
            same_key = self.keys[place] == keys[pending]
            pending, place = pending[same_key], place[same_key]
            hit = (self.low[place] == low[pending]) & (self.high[place] == high[pending])
            rows[pending[hit]] = place[hit]
            pending = pending[~hit]
            step += 1
        return rows


def build(
    keys: UInt,
    low: UInt,
    high: UInt,
    distances: Int64,
    texts: Sequence[str],
    shapes: Sequence[str],
    problems: Sequence[str],
) -> Segment:
    """A segment of words in any order; ``problems`` has an empty string for a word that decoded."""
    numbers: dict[str, int] = {}
    shape_ids = np.asarray([numbers.setdefault(s, len(numbers)) for s in shapes], np.int32)
    encoded = [text.encode() for text in texts]
    lengths = np.asarray([len(text) for text in encoded], np.uint16)
    starts = np.zeros(len(encoded), np.int64)
    np.cumsum(lengths[:-1], out=starts[1:])
    order = np.argsort(keys, kind="stable")
    return Segment(
        keys=keys[order],
        low=low[order],
        high=high[order],
        distances=distances[order],
        shapes=shape_ids[order],
        starts=starts[order],
        lengths=lengths[order],
        texts=np.frombuffer(b"".join(encoded), np.uint8),
        shape_texts=tuple(numbers),
        problems={row: problems[i] for row, i in enumerate(order.tolist()) if problems[i]},
    )


def merge(segments: Sequence[Segment]) -> Segment:
    """One segment with every word of several, each once, and no text that no word has."""
    numbers: dict[str, int] = {}
    shapes = []
    for segment in segments:
        own = [numbers.setdefault(text, len(numbers)) for text in segment.shape_texts]
        shapes.append(np.asarray(own, np.int32)[segment.shapes])
    whole = {n: np.concatenate([getattr(s, n) for s in segments]) for n in ("keys", "low", "high")}
    order = np.lexsort((whole["high"], whole["low"], whole["keys"]))
    same = np.ones(len(order), bool)
    same[:1] = False
    for name in ("keys", "low", "high"):
        same[1:] &= whole[name][order[1:]] == whole[name][order[:-1]]
    kept = order[~same]
    first_rows = np.cumsum([0, *(len(s) for s in segments)])
    starts, lengths, texts = _texts_of(segments, first_rows, kept)
    refused = {
        int(first_rows[i]) + row: text for i, s in enumerate(segments) for row, text in s.problems.items()
    }
    return Segment(
        **{name: column[kept] for name, column in whole.items()},
        distances=np.concatenate([s.distances for s in segments])[kept],
        shapes=np.concatenate(shapes)[kept],
        starts=starts,
        lengths=lengths,
        texts=texts,
        shape_texts=tuple(numbers),
        problems={
            place: refused[row]
            for place in _places(kept, list(refused))
            if (row := int(kept[place])) in refused
        },
    )


def _texts_of(
    segments: Sequence[Segment], first_rows: Int64, kept: Int64
) -> tuple[Int64, npt.NDArray[np.uint16], npt.NDArray[np.uint8]]:
    """Starts, lengths and bytes of the texts of the rows that are kept, and of no other ones.

    Two processes may merge the same segments: bytes that nobody needs would double with every such merge.
    """
    starts, parts, moved = np.zeros(len(kept), np.int64), [], 0
    lengths = np.concatenate([s.lengths for s in segments])[kept]
    for segment, first in zip(segments, first_rows, strict=False):
        mine = np.flatnonzero((kept >= first) & (kept < first + len(segment)))
        begins, sizes = segment.starts[kept[mine] - first], lengths[mine].astype(np.int64)
        ends = np.cumsum(sizes)
        starts[mine] = moved + ends - sizes
        parts.append(segment.texts[np.repeat(begins - ends + sizes, sizes) + np.arange(int(sizes.sum()))])
        moved += len(parts[-1])
    return starts, lengths, np.concatenate(parts)


def _places(kept: Int64, rows: list[int]) -> list[int]:
    return np.flatnonzero(np.isin(kept, rows)).tolist() if rows else []


class Store:
    """The segments of one architecture on disk; without a folder that can be written it stays empty."""

    def __init__(self, arch: str) -> None:
        version = tools.find("nvdisasm").version
        self.path = cache_root() / "words" / f"{FORMAT}-{version}-{grammar_digest()}" / arch
        self._known: set[str] = set()

    def load(self) -> list[Segment]:
        """Every intact segment that was not given before, oldest first; damaged ones are removed."""
        found = []
        for path in self._folders():
            if path.name in self._known:
                continue
            self._known.add(path.name)
            segment = _read(path)
            if segment is None:
                shutil.rmtree(path, ignore_errors=True)
            else:
                found.append(segment)
        return found

    def add(self, segment: Segment) -> None:
        """Keep a segment for later processes; merge all where there are many."""
        with contextlib.suppress(OSError):
            self._write(segment)
            old = self._folders()
            if len(old) >= MANY:
                self._write(merge([s for s in map(_read, old) if s is not None]))
                for path in old:
                    shutil.rmtree(path, ignore_errors=True)

    def _folders(self) -> list[Path]:
        if not self.path.is_dir():
            return []
        found = (p for p in self.path.iterdir() if p.is_dir() and not p.name.startswith("."))
        return sorted(found, key=lambda p: p.name)

    def _write(self, segment: Segment) -> None:
        token = os.urandom(6).hex()
        draft = self.path / f".{token}"
        draft.mkdir(parents=True)
        try:
            for name in _ARRAYS:
                np.save(draft / f"{name}.npy", getattr(segment, name), allow_pickle=False)
            meta = {
                "rows": len(segment),
                "crc": _checksums(segment),
                "shapes": segment.shape_texts,
                "problems": list(segment.problems.items()),
            }
            (draft / "meta.json").write_text(json.dumps(meta), "utf-8")
            name = f"{_next_number(self._folders()):06d}-{token}"
            self._known.add(name)  # who writes it has it
            draft.rename(self.path / name)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise


def _next_number(folders: Iterable[Path]) -> int:
    numbers = [int(p.name.partition("-")[0]) for p in folders if p.name.partition("-")[0].isdigit()]
    return max(numbers, default=0) + 1


def _checksums(segment: Segment) -> list[int]:
    return [zlib.crc32(np.ascontiguousarray(getattr(segment, name)).data.cast("B")) for name in _ARRAYS]


def _read(path: Path) -> Segment | None:
    """The segment in a folder, memory-mapped, or None where it is damaged."""
    try:
        meta = json.loads((path / "meta.json").read_text("utf-8"))
        arrays = {n: np.load(path / f"{n}.npy", mmap_mode="r", allow_pickle=False) for n in _ARRAYS}
        problems = {int(row): str(text) for row, text in meta["problems"]}
        segment = Segment(**arrays, shape_texts=tuple(meta["shapes"]), problems=problems)
        intact = meta["rows"] == len(segment) and _checksums(segment) == meta["crc"]
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        return None
    return segment if intact else None
