"""Instruction words to text through `nvdisasm -b`, in chunks, illegal words isolated."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np

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

MOST_ILLEGAL = 16
"""Undecodable words in one call from which on the code is taken for damaged."""

_DAMAGED = "the code is damaged; build or copy the file again"
_NOP = np.array([0x7918, 0xFC00000000000], np.uint64)
"""NOP, the same word on every architecture."""
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
    try:
        text = tools.disassemble_words(words.astype("<u8").tobytes(), arch, base=BASE)
    except ToolFailedError as error:
        return _isolate(words, arch, error)
    found = _STATEMENT.findall(text)
    if len(found) != len(words):
        return _isolate(words, arch, ToolFailedError(f"{len(found)} of {len(words)} instructions printed"))
    decoded = Decoded([statement.rstrip(" ;") for statement in found])
    for index, statement in enumerate(decoded.texts):
        if names_place(statement):
            text, place, kind = split_number(statement)
            decoded.texts[index] = text
            if place is not None and kind == RELATIVE:
                decoded.distances[index] = place - (BASE + index * WORD_BYTES)
    return decoded


def _isolate(words: UInt, arch: str, error: ToolFailedError) -> Decoded:
    """Decode around the words that nvdisasm refuses: cut at the address it names, else in halves."""
    if len(words) == 1:
        low, high = (int(half) for half in words[0])
        problem = f"{high:016x}{low:016x} is no instruction of {arch}"
        return Decoded([f"ILLEGAL {low:#x}, {high:#x}"], problems={0: problem})
    named = _ADDRESS.search(error.message)
    cut = (int(named[1], 16) - BASE) // WORD_BYTES if named else -1
    if 0 <= cut < len(words):
        pieces = [words[:cut], words[cut : cut + 1], words[cut + 1 :]]
    else:
        pieces = [words[: len(words) // 2], words[len(words) // 2 :]]
    whole = Decoded()
    for piece in pieces:
        if len(piece):
            whole.extend(_decode_chunk(piece, arch))
    return whole
