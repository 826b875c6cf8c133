"""The section table of a 64-bit little-endian ELF file, checked against the file's end.

Both kinds of ELF that sassql meets are read here: cubins, and the host objects,
libraries and programs that carry them. Nothing is copied; `Image.content` gives
views. Source: System V ABI, chapter 4 (object files).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from sassql.errors import InputError

ELF_MAGIC = b"\x7fELF"
MACHINE_CUDA = 190
TYPE_RELOCATABLE = 1

SECTION_SYMBOLS = 2
SECTION_NOBITS = 8
SECTION_SYMBOL_INDICES = 18
FLAG_EXECUTABLE = 0x4

_TRUNCATED = "the file is truncated or corrupt; build or copy it again"
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_UNSET_INDEX = 0xFFFF


@dataclass(frozen=True, slots=True)
class Section:
    """One row of the section table; `offset` and `size` count bytes in the file."""

    index: int
    name: str
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    entry_size: int


@dataclass(frozen=True, slots=True)
class Image:
    """An ELF file: the header fields that say what it is, and its sections."""

    data: memoryview
    os_abi: int
    type: int
    machine: int
    version: int
    flags: int
    sections: tuple[Section, ...]

    def content(self, section: Section) -> memoryview:
        """The bytes of a section; empty for one that takes no room in the file."""
        if section.type == SECTION_NOBITS:
            return self.data[:0]
        return part(self.data, section.offset, section.size, f"section {printable(section.name)}")


def file_size(image: Image) -> int:
    """Bytes from the start of an ELF file to the end of its last part, for one inside other data.

    Raises InputError where that lies beyond the end of the data.
    """
    fields = _HEADER.unpack(part(image.data, 0, _HEADER.size, "the ELF header"))
    segments, table, segment_size, segment_count, row_size = fields[5], fields[6], *fields[9:12]
    ends = [segments + segment_size * segment_count, table + row_size * len(image.sections)]
    ends += [section.offset + section.size for section in image.sections if section.type != SECTION_NOBITS]
    return len(part(image.data, 0, max(ends), "the ELF file"))


def part(data: memoryview, offset: int, size: int, what: str) -> memoryview:
    """`size` bytes from `offset`, or an InputError that names what ends too early."""
    if offset < 0 or size < 0 or offset + size > len(data):
        message = f"{what} ends at byte {offset + size}, there are {len(data)}"
        raise InputError(message, hint=_TRUNCATED)
    return data[offset : offset + size]


def text_at(strings: bytes, offset: int, what: str) -> str:
    """The NUL-terminated string at `offset` of a string table.

    Raises InputError where the offset or the end of the string lies outside.
    """
    end = strings.find(0, offset)
    if end < 0:
        raise InputError(f"{what} lies outside its string table", hint=_TRUNCATED)
    return strings[offset:end].decode("utf-8", "backslashreplace")


def printable(name: str) -> str:
    """A name as it can stand in one line of a message."""
    return name if name.isprintable() else ascii(name)[1:-1]


def read_image(data: bytes | memoryview) -> Image:
    """Header and section table of an ELF file, with an empty table where it has none.

    Raises InputError for anything that is not a 64-bit little-endian ELF file, and
    for a table or a name that lies outside the file.
    """
    view = memoryview(data)
    if bytes(view[:4]) != ELF_MAGIC:
        raise InputError("not an ELF file", hint="expected a cubin, an object, a library or a program")
    if bytes(view[4:6]) != b"\x02\x01":
        raise InputError("not a 64-bit little-endian ELF file", hint="sassql reads no other kind")
    header = _HEADER.unpack(part(view, 0, _HEADER.size, "the ELF header"))
    ident, kind, machine, version, _, segments, table, flags, _, segment_size, segment_count = header[:11]
    part(view, segments, segment_size * segment_count, "the segment table")
    sections: tuple[Section, ...] = ()
    if table:
        sections = _read_table(view, table, *header[11:])
    return Image(view, ident[7], kind, machine, version, flags, sections)


def _read_table(view: memoryview, table: int, row_size: int, count: int, names: int) -> tuple[Section, ...]:
    if row_size != _SECTION.size:
        raise InputError(f"section headers of {row_size} bytes in place of {_SECTION.size}", hint=_TRUNCATED)
    first = _SECTION.unpack(part(view, table, row_size, "the section table"))
    # a file with more sections than 16 bits can count keeps both numbers in the unused first row
    count = count or first[5]
    names = first[6] if names == _UNSET_INDEX else names
    raw = part(view, table, count * row_size, "the section table")
    rows = list(_SECTION.iter_unpack(raw))
    if names >= len(rows):
        raise InputError(f"the section names are in section {names} of {len(rows)}", hint=_TRUNCATED)
    strings = bytes(part(view, rows[names][4], rows[names][5], "the table of section names"))
    sections = []
    for index, (name, kind, flags, _, offset, size, link, info, _, entry_size) in enumerate(rows):
        title = text_at(strings, name, "a section name")
        sections.append(Section(index, title, kind, flags, offset, size, link, info, entry_size))
    return tuple(sections)
