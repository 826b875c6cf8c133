"""Instruction words to text through `nvdisasm -b`, in chunks, illegal words isolated."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from sassql.errors import ToolFailedError
from sassql.reading import tools
from sassql.reading.statements import RELATIVE, names_place, split_number
from sassql.reading.table import Decoded, Decoder, UInt

CHUNK = 500_000
"""Words per call: keeps nvdisasm's memory near 0.4 GB."""
PARALLEL_FROM = 8_000
"""Words from which a second process pays for its start."""
WORD_BYTES = 16
BASE = 1 << 32
"""Address of the first word, so that backward branches never fall below zero."""
MOST_REFUSED = 48
"""Words without a meaning up to which each is looked for, at one start of nvdisasm a word (0.3 s)."""
OPCODE_BITS = np.uint64(0xFFF)
NOT_TRIED = "not decoded: nvdisasm refused {count} words before it"

_NOP = np.array([0x7918, 0xFC00000000000], np.uint64)  # the same on every architecture
_STATEMENT = re.compile(r"^ +/\*[0-9a-f]+\*/ +(.*)$", re.MULTILINE)
_ADDRESS = re.compile(r"at address 0x([0-9a-f]+)")


def decoder(arch: str, *, jobs: int = 2) -> Decoder:
    """A function that disassembles distinct words of ``arch`` with up to ``jobs`` processes."""

    def decode(low: UInt, high: UInt) -> Decoded:
        words = np.stack([low, high], axis=1)
        parts = max(-(-len(words) // CHUNK), min(jobs, -(-len(words) // PARALLEL_FROM)))
        pieces = np.array_split(words, parts)
        if parts == 1:
            return _decode_chunk(pieces[0], arch)
        whole = Decoded()
        with ThreadPoolExecutor(jobs) as pool:
            for chunk in pool.map(lambda piece: _decode_chunk(piece, arch), pieces):
                whole.extend(chunk)
        return whole

    return decode


def _decode_chunk(words: UInt, arch: str) -> Decoded:
    """Text of every word; words that nvdisasm refuses are problems, and the rest is decoded without them."""
    printed, refused = _disassembled(words, arch)
    found = _STATEMENT.findall(printed)
    if len(found) != len(words):
        raise ToolFailedError(f"nvdisasm printed {len(found)} of {len(words)} instructions")
    decoded = Decoded([statement.rstrip(" ;") for statement in found])
    for index, statement in enumerate(decoded.texts):
        if names_place(statement):
            text, place, kind = split_number(statement)
            decoded.texts[index] = text
            if place is not None and kind == RELATIVE:
                decoded.distances[index] = place - (BASE + index * WORD_BYTES)
    for index, why in refused.items():
        low, high = (int(half) for half in words[index])
        decoded.texts[index] = f"ILLEGAL {low:#x}, {high:#x}"
        if why:
            decoded.untried[index] = why
        else:
            decoded.problems[index] = f"{high:016x}{low:016x} is no instruction of {arch}"
    return decoded


def _disassembled(words: UInt, arch: str) -> tuple[str, dict[int, str]]:
    """What nvdisasm prints, with a NOP for each word that it refuses, and these by number.

    After too many of them the words that are left are given up untried, with the reason.

    It stops at the first such word and names its address, so each costs one more call. It names none
    for a word whose low half is zero, which no architecture has: that is never asked for.
    """
    refused = dict.fromkeys(np.flatnonzero(words[:, 0] == 0).tolist(), "")
    allowed = len(refused) + MOST_REFUSED
    accepted = words.copy()
    accepted[list(refused)] = _NOP
    order, ordered = np.arange(len(words)), True
    while True:
        try:
            printed = _print(accepted[order], arch)
        except ToolFailedError as error:
            named = _ADDRESS.search(error.message)
            place = (int(named[1], 16) - BASE) // WORD_BYTES if named else -1
            if not 0 <= place < len(words) or int(order[place]) in refused:
                raise
            refused[int(order[place])] = ""
            accepted[order[place]] = _NOP
            if len(refused) == allowed - MOST_REFUSED // 2:  # many: let the likely ones come first
                order, ordered = _ranked(words), False
            elif len(refused) > allowed:
                left = [n for n in order[place + 1 :].tolist() if n not in refused]
                refused |= dict.fromkeys(left, NOT_TRIED.format(count=len(refused)))
                accepted[left] = _NOP
        else:
            return printed if ordered else _print(accepted, arch), refused


def _print(words: UInt, arch: str) -> str:
    return tools.disassemble_words(words.astype("<u8").tobytes(), arch, base=BASE)


def _ranked(words: UInt) -> npt.NDArray[np.int64]:
    """Numbers of the words, those whose opcode bits are most frequent first.

    Data in a code section has any bits and real code few: what is no instruction gathers at the end.
    """
    _, place, counts = np.unique(words[:, 0] & OPCODE_BITS, return_inverse=True, return_counts=True)
    return np.argsort(-counts[place.reshape(-1)], kind="stable")
