"""Source lines from `.debug_line`, parsed when somebody asks for the first one of a module."""

from __future__ import annotations

import io
import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sassql.errors import InputError
from sassql.model.kernel import SourceLine
from sassql.reading.sections import Image, Section

if TYPE_CHECKING:
    from elftools.dwarf.lineprogram import LineProgram

_LINES = ".debug_line"
_ENTRY = struct.Struct("<QQq")
_PLAIN_ENTRY = struct.Struct("<QQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SECTION_SHIFT = 40
"""Addresses of section n are moved to n << 40, so that one table holds all sections apart."""


@dataclass(slots=True)
class LineTable:
    """The line table of a module; parsed once, on the first question."""

    content: bytes
    sections: tuple[str, ...]
    _rows: dict[str, list[tuple[int, SourceLine | None]]] | None = None

    def at(self, section: str, address: int) -> SourceLine | None:
        """The source line of the instruction at ``address`` in ``.text.SECTION``, if the table has one."""
        if self._rows is None:
            self._rows = _parse(self.content, self.sections)
        rows = self._rows.get(section, [])
        place = bisect_right(rows, address, key=lambda row: row[0]) - 1
        return rows[place][1] if place >= 0 else None


def line_table(image: Image) -> LineTable | None:
    """The line table of a cubin, unparsed; None where it has none.

    Raises:
        InputError: a relocation points outside of the table.
    """
    by_name = {section.name: section for section in image.sections}
    lines = by_name.get(_LINES)
    if lines is None or not lines.size:
        return None
    content = bytearray(image.content(lines))
    for prefix, entry in ((".rela", _ENTRY), (".rel", _PLAIN_ENTRY)):
        if (relocations := by_name.get(prefix + _LINES)) is not None:
            _relocate(content, image, relocations, entry)
    return LineTable(bytes(content), tuple(section.name for section in image.sections))


def _relocate(content: bytearray, image: Image, relocations: Section, entry: struct.Struct) -> None:
    """Put the number of its section into every address of the table."""
    table = image.sections[relocations.link] if relocations.link < len(image.sections) else None
    symbols = list(_SYMBOL.iter_unpack(image.content(table))) if table is not None else []
    raw = image.content(relocations)
    for offset, info, *addend in entry.iter_unpack(raw[: len(raw) // entry.size * entry.size]):
        number = info >> 32
        if number >= len(symbols) or offset + 8 > len(content):
            raise InputError("a relocation of the line table is corrupt", hint="build the file again")
        home, value = symbols[number][3], symbols[number][4]
        place = value + (addend[0] if addend else struct.unpack_from("<Q", content, offset)[0])
        struct.pack_into("<Q", content, offset, (home << _SECTION_SHIFT) + place)


def _parse(content: bytes, sections: Sequence[str]) -> dict[str, list[tuple[int, SourceLine | None]]]:
    from elftools.common.exceptions import ELFError  # noqa: PLC0415  (most calls ask for no line)
    from elftools.construct import ConstructError  # noqa: PLC0415

    found: dict[str, list[tuple[int, SourceLine | None]]] = {}
    try:
        for program in _programs(content):
            files = _files(program.header)
            for entry in program.get_entries():
                state = entry.state
                if state is None:
                    continue
                home, address = state.address >> _SECTION_SHIFT, state.address & ((1 << _SECTION_SHIFT) - 1)
                if home >= len(sections):
                    continue
                name = sections[home].removeprefix(".text.")
                line = None if state.end_sequence else SourceLine(files.get(state.file, "?"), state.line)
                found.setdefault(name, []).append((address, line))
    except (ELFError, ConstructError, struct.error, IndexError, KeyError, ValueError):
        pass  # a damaged table ends where it is damaged: lines help people, nothing rests on them
    for rows in found.values():
        rows.sort(key=lambda row: (row[0], row[1] is not None))
    return found


def _programs(content: bytes) -> Iterator[LineProgram]:
    from elftools.common.utils import struct_parse  # noqa: PLC0415  (as above)
    from elftools.dwarf.lineprogram import LineProgram  # noqa: PLC0415
    from elftools.dwarf.structs import DWARFStructs  # noqa: PLC0415

    stream = io.BytesIO(content)
    structs = DWARFStructs(little_endian=True, dwarf_format=32, address_size=8)
    offset = 0
    while offset + 4 <= len(content):
        header = struct_parse(structs.Dwarf_lineprog_header, stream, offset)
        start, offset = stream.tell(), offset + 4 + header["unit_length"]
        yield LineProgram(header, stream, structs, start, offset)


def _files(header: Mapping[str, object]) -> dict[int, str]:
    directories = [text.decode(errors="replace") for text in header["include_directory"]]  # type: ignore[attr-defined]
    names: dict[int, str] = {}
    for number, entry in enumerate(header["file_entry"], 1):  # type: ignore[arg-type, var-annotated]
        name = entry.name.decode(errors="replace")
        inside = entry.dir_index and entry.dir_index <= len(directories)
        names[number] = f"{directories[entry.dir_index - 1]}/{name}" if inside and name[:1] != "/" else name
    return names
