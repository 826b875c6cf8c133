"""Instruction words to text through `nvdisasm -b`, in chunks, illegal words isolated."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sassql.errors import InputError, ToolFailedError
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
MOST_REFUSED = 16
"""Words without a meaning in one call up to which they are read around; more, and the code is damaged."""

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
    for index in refused:
        low, high = (int(half) for half in words[index])
        decoded.texts[index] = f"ILLEGAL {low:#x}, {high:#x}"
        decoded.problems[index] = f"{high:016x}{low:016x} is no instruction of {arch}"
    return decoded


def _disassembled(words: UInt, arch: str) -> tuple[str, list[int]]:
    """What nvdisasm prints, with a NOP for each word that it refuses, and the numbers of these words.

    It stops at the first such word and names its address, so each costs one more call. It names none
    for a word whose low half is zero, which no architecture has: that is never asked for.
    """
    refused: list[int] = np.flatnonzero(words[:, 0] == 0).tolist()
    allowed = len(refused) + MOST_REFUSED
    accepted = words.copy()
    accepted[refused] = _NOP
    while True:
        try:
            return tools.disassemble_words(accepted.astype("<u8").tobytes(), arch, base=BASE), refused
        except ToolFailedError as error:
            named = _ADDRESS.search(error.message)
            place = (int(named[1], 16) - BASE) // WORD_BYTES if named else -1
            if not 0 <= place < len(words) or place in refused:
                raise
            if len(refused) == allowed:
                message = f"more than {MOST_REFUSED} words are no instructions of {arch}"
                raise InputError(message, hint="the code is damaged; build or copy the file again") from None
            refused.append(place)
            accepted[place] = _NOP
