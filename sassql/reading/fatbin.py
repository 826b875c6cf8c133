"""Fat binaries: several compilations of the same code, one after another, most of them compressed.

A section of a library holds any number of *containers*, each a 16-byte header and
*entries*. An entry is a header of 64 bytes or more and a payload padded to 8 bytes: a
cubin, PTX text, or intermediate code for the linker. Each entry is read on its own, so a
damaged one costs nobody but itself. The layout was worked out from files that nvcc 11.8
to 13.0 made, and checked entry by entry against what cuobjdump extracts.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Generator, Iterator
from dataclasses import dataclass

import lz4.block
import zstandard

from sassql.errors import InputError

MAGIC = b"\x50\xed\x55\xba"
KIND_PTX = 1
KIND_CUBIN = 2
KIND_INTERMEDIATE = 8

FLAG_LZ4 = 0x2000
FLAG_ZSTD = 0x8000
FLAG_ACCELERATED = 0x100000
FLAG_FAMILY = 0x200000

LARGEST_ENTRY = 1 << 31
"""Bytes; the largest cubin met so far is 115 MB."""

_CONTAINER = struct.Struct("<4sHHQ")
_CONTAINER_VERSION = 1
# kind, version, header size, padded size, packed size, options offset, minor, major,
# sm, offset and size of a source name, flags, 0, unpacked size
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_ENTRY_VERSION = 0x0101
_LARGEST_HEADER = 1 << 16
_ENTRY_START = re.compile(rb"(?=[\x01-\x7f]\x00\x01\x01)")
_ALIGNMENT = 8
_LZ4_BEST_RATIO = 255
_DAMAGED = "the file is truncated or corrupt"


@dataclass(frozen=True, slots=True)
class Packed:
    """One entry as it lies in the file; `unpack` makes the bytes of the cubin or PTX.

    `unpacked_size` is 0 for an entry that is not compressed.
    """

    kind: int
    sm: int
    flags: int
    payload: memoryview
    unpacked_size: int

    @property
    def arch(self) -> str:
        """``sm_90``, ``sm_90a``, ``sm_100f``: all three are told apart by flags of the entry."""
        accelerated, family = self.flags & FLAG_ACCELERATED, self.flags & FLAG_FAMILY
        return f"sm_{self.sm}" + ("a" if accelerated else "f" if family else "")

    def unpack(self) -> bytes:
        """The payload, decompressed. Raises InputError where it does not decompress to its stated size."""
        if not self.flags & (FLAG_LZ4 | FLAG_ZSTD):
            data = bytes(self.payload)
        elif self.unpacked_size > LARGEST_ENTRY:
            raise InputError(f"the entry claims {self.unpacked_size} bytes unpacked", hint=_DAMAGED)
        elif self.flags & FLAG_ZSTD:
            data = _unpack_zstd(self.payload, self.unpacked_size)
        else:
            data = _unpack_lz4(self.payload, self.unpacked_size)
        if self.kind == KIND_PTX:
            return data.rstrip(b"\0")
        if self.kind == KIND_CUBIN and data[:4] != b"\x7fELF":
            raise InputError(f"the entry holds no cubin: it starts with {data[:8]!r}", hint=_DAMAGED)
        return data


def walk(data: memoryview) -> Iterator[Packed | InputError]:
    """All entries of all containers in a fat-binary section or file, in their order.

    What cannot be read comes as an error in place of the entries that it hides, and
    reading goes on at the next thing that looks sound. Nothing is decompressed.
    """
    offset = 0
    while offset < len(data):
        start = _next_container(data, offset)
        # between containers there is padding only
        if data[offset:start].tobytes().strip(b"\0"):
            yield InputError(f"bytes {offset} to {start} belong to no container", hint=_DAMAGED)
        if start == len(data):
            return
        offset = yield from _walk_container(data, start)


def _walk_container(data: memoryview, start: int) -> Generator[Packed | InputError, None, int]:
    """The entries of the container at `start`; returns the offset after it."""
    if len(data) - start < _CONTAINER.size:
        yield InputError(f"the container at byte {start} is cut off", hint=_DAMAGED)
        return len(data)
    _, version, header, size = _CONTAINER.unpack_from(data, start)
    if version != _CONTAINER_VERSION or header < _CONTAINER.size:
        yield InputError(f"the container at byte {start} has an unknown header", hint=_DAMAGED)
        return start + len(MAGIC)
    end = start + header + size
    if end > len(data):
        yield InputError(f"the container at byte {start} ends at {end} of {len(data)}", hint=_DAMAGED)
        end = len(data)
    offset: int = start + header
    while offset < end:
        entry, following = _sound_entry(data, offset, end) or (None, offset)
        if entry is not None:
            yield entry
        if entry is None or (following < end and not _sound_entry(data, following, end)):
            # the next header is damaged, or the sizes in this one, which lead to it: search from here
            following = _next_entry(data, offset, end)
            yield InputError(f"damaged entry between byte {offset} and {following}", hint=_DAMAGED)
        offset = following
    return offset


def container_at(data: memoryview, start: int) -> memoryview | None:
    """The container at `start` of any data, or None where there is none with a sound first entry."""
    if bytes(data[start : start + 4]) != MAGIC or len(data) - start < _CONTAINER.size:
        return None
    _, version, header, size = _CONTAINER.unpack_from(data, start)
    end = start + header + size
    if version != _CONTAINER_VERSION or header != _CONTAINER.size or end > len(data):
        return None
    return data[start:end] if _sound_entry(data, start + header, end) else None


def _next_container(data: memoryview, offset: int) -> int:
    if data[offset : offset + 4] == MAGIC:
        return offset
    found = re.compile(re.escape(MAGIC)).search(data, offset)
    return found.start() if found else len(data)


def _next_entry(data: memoryview, offset: int, end: int) -> int:
    """Where the first sound entry behind `offset` starts, or the end of the container."""
    for found in _ENTRY_START.finditer(data, offset + 1, end):
        if (found.start() - offset) % _ALIGNMENT == 0 and _sound_entry(data, found.start(), end):
            return found.start()
    return end


def _sound_entry(data: memoryview, offset: int, end: int) -> tuple[Packed, int] | None:
    if end - offset < _ENTRY.size:
        return None
    fields = _ENTRY.unpack_from(data, offset)
    kind, version, header, size, packed_size, _, _, _, sm, _, _, flags, _, unpacked_size = fields
    start = offset + header
    if version != _ENTRY_VERSION or not kind or not _ENTRY.size <= header <= _LARGEST_HEADER:
        return None
    if header % _ALIGNMENT or size % _ALIGNMENT or start + size > end:
        return None
    compressed = flags & (FLAG_LZ4 | FLAG_ZSTD)
    if compressed and packed_size > size:
        return None
    payload = data[start : start + (packed_size if compressed else size)]
    return Packed(kind, sm, flags, payload, unpacked_size if compressed else 0), start + size


def _unpack_zstd(payload: memoryview, size: int) -> bytes:
    try:
        stated = zstandard.frame_content_size(payload)
        if stated not in (-1, size):
            raise InputError(f"the entry unpacks to {stated} bytes, its header says {size}", hint=_DAMAGED)
        data = zstandard.ZstdDecompressor().decompress(payload, max_output_size=size)
    except zstandard.ZstdError as error:
        raise InputError(f"the entry does not decompress: {error}", hint=_DAMAGED) from None
    return _of_size(data, size)


def _unpack_lz4(payload: memoryview, size: int) -> bytes:
    if size > _LZ4_BEST_RATIO * len(payload) + 64:
        raise InputError(f"{len(payload)} packed bytes cannot become {size}", hint=_DAMAGED)
    try:
        data: bytes = lz4.block.decompress(payload, uncompressed_size=size)
    except lz4.block.LZ4BlockError as error:
        raise InputError(f"the entry does not decompress: {error}", hint=_DAMAGED) from None
    return _of_size(data, size)


def _of_size(data: bytes, size: int) -> bytes:
    if len(data) != size:
        raise InputError(f"the entry unpacks to {len(data)} bytes, its header says {size}", hint=_DAMAGED)
    return data
