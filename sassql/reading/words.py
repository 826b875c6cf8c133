"""Instruction words to text through `nvdisasm -b`, in chunks, illegal words isolated."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sassql.errors import ToolFailedError
from sassql.reading import tools
from sassql.reading.statements import RELATIVE, split_number, tidy
from sassql.reading.table import NO_TARGET, Decoded, Decoder, UInt

CHUNK = 500_000
"""Words per call: keeps nvdisasm's memory near 0.4 GB."""
PARALLEL_FROM = 8_000
"""Words from which a second process pays for its start."""
WORD_BYTES = 16
BASE = 1 << 32
"""Address of the first word, so that backward branches never fall below zero."""

_LINE = re.compile(r"^\s*/\*([0-9a-f]+)\*/\s+(.*)$", re.MULTILINE)
_ADDRESS = re.compile(r"at address 0x([0-9a-f]+)")


def decoder(arch: str, *, jobs: int = 2) -> Decoder:
    """A function that disassembles distinct words of ``arch`` with up to ``jobs`` processes."""

    def decode(low: UInt, high: UInt) -> list[Decoded]:
        words = np.stack([low, high], axis=1)
        parts = max(-(-len(words) // CHUNK), min(jobs, -(-len(words) // PARALLEL_FROM)))
        pieces = np.array_split(words, parts)
        if parts == 1:
            return _decode_chunk(pieces[0], arch)
        with ThreadPoolExecutor(jobs) as pool:
            return [one for chunk in pool.map(lambda p: _decode_chunk(p, arch), pieces) for one in chunk]

    return decode


def _decode_chunk(words: UInt, arch: str) -> list[Decoded]:
    try:
        text = tools.disassemble_words(words.astype("<u8").tobytes(), arch, base=BASE)
    except ToolFailedError as error:
        return _isolate(words, arch, error)
    found = _LINE.findall(text)
    if len(found) != len(words):
        return _isolate(
            words, arch, ToolFailedError(f"nvdisasm printed {len(found)} of {len(words)} instructions")
        )
    return [_decoded(int(address, 16), statement) for address, statement in found]


def _isolate(words: UInt, arch: str, error: ToolFailedError) -> list[Decoded]:
    """Decode around the words that nvdisasm refuses: cut at the address it names, else in halves."""
    if len(words) == 1:
        low, high = (int(half) for half in words[0])
        return [
            Decoded(
                f"ILLEGAL {low:#x}, {high:#x}", problem=f"no instruction of {arch}: {high:016x}{low:016x}"
            )
        ]
    named = _ADDRESS.search(error.message)
    cut = (int(named[1], 16) - BASE) // WORD_BYTES if named else -1
    if not 0 <= cut < len(words):
        cut = len(words) // 2
        return _decode_chunk(words[:cut], arch) + _decode_chunk(words[cut:], arch)
    around = [words[:cut], words[cut : cut + 1], words[cut + 1 :]]
    return [one for piece in around if len(piece) for one in _decode_chunk(piece, arch)]


def _decoded(address: int, statement: str) -> Decoded:
    text, place, kind = split_number(tidy(statement))
    return Decoded(text, place - address if place is not None and kind == RELATIVE else NO_TARGET)
