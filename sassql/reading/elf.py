"""One cubin: architecture, code sections, their functions, relocations and resources.

Two ELF layouts are in use. The *old* one (EI_OSABI 0x33, up to CUDA 12.9 for sm_90 and
below) has the architecture in the low byte of `e_flags` and 0x800 for an ``a``. The
*new* one (0x41, sm_100 and up from CUDA 12.8, everything from CUDA 13) has it in bits
8-15. There an ``a`` is bit 0x8 of `e_flags` (CUDA 12.8 and 12.9) or a record of
`.nv.compat` (CUDA 13), the two things `nvdisasm` derives its `.target` line from. An
``f`` is in neither: only the command line in `.note.nv.tkinfo` tells (`-arch sm_100f`),
and a cubin without that note reads as the plain architecture, as it does in nvdisasm.

Registers, stack, parameters and branch targets are in `.nv.info`; see `nvinfo`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Literal

from sassql.errors import InputError, UnsupportedArchError
from sassql.model.kernel import Function, Resources
from sassql.reading.lines import LineTable, line_table
from sassql.reading.nvinfo import (
    KernelInfo,
    SymbolInfo,
    ToolNote,
    read_accelerator_target,
    read_kernel_info,
    read_symbol_info,
    read_tool_notes,
)
from sassql.reading.sections import (
    ELF_MAGIC,
    FLAG_EXECUTABLE,
    MACHINE_CUDA,
    SECTION_SYMBOL_INDICES,
    SECTION_SYMBOLS,
    Image,
    Section,
    printable,
    read_image,
    text_at,
)

OLDEST_SM = 75
ADDRESS_BANK = 4
"""The constant bank of addresses: of variables, and of functions of the runtime (assert, printf, malloc)."""

_CORRUPT = "the file is corrupt; build or copy it again"
_LAYOUTS: dict[int, Literal["old", "new"]] = {0x33: "old", 0x41: "new"}
_TEXT = ".text."
_OLD_ACCELERATOR = 0x800
_NEW_ACCELERATOR = 0x8
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOL_FUNCTION = 2
_SYMBOL_SECTION = 3
_OTHER_ENTRY = 0x10
_EXTENDED_INDEX = 0xFFFF
_BARRIER_SHIFT = 20
_BARRIER_MASK = 0x7F
_INFO_SYMBOL = 0xFFFFFF
_INFO_REGISTER_SHIFT = 24


@dataclass(frozen=True, slots=True)
class Relocation:
    """A place in the code that the linker or loader fills in.

    `type` is NVIDIA's number. `addend` is 0 for sections of the kind that keeps it in
    the instruction itself.
    """

    offset: int
    type: int
    symbol: str
    addend: int


@dataclass(frozen=True, slots=True)
class CodeSection:
    """The machine code of one kernel or device function, with all that is known of it."""

    name: str
    symbol_index: int
    code: bytes
    functions: tuple[Function, ...]
    relocations: tuple[Relocation, ...]
    indirect_targets: dict[int, tuple[int, ...]]
    resources: Resources
    constants: dict[int, bytes]
    linked: dict[int, str]
    """Words of the constant bank of addresses, by offset: whose address the loader puts there."""


@dataclass(frozen=True, slots=True)
class Cubin:
    """A cubin as read; `sections` is empty for one that holds no code."""

    arch: str
    layout: Literal["old", "new"]
    sections: tuple[CodeSection, ...]
    producer: str
    lines: LineTable | None


@dataclass(frozen=True, slots=True)
class _Symbols:
    """The symbol table: functions by section index, and a name for every symbol."""

    functions: dict[int, list[tuple[int, Function]]]
    rows: list[tuple[int, int, int, int, int, int]]
    strings: bytes
    section_names: tuple[str, ...]
    names: dict[int, str]

    def name(self, index: int) -> str:
        """Name of symbol `index`; a section symbol bears the name of its section."""
        known = self.names.get(index)
        if known is not None:
            return known
        if index >= len(self.rows):
            raise InputError(f"relocation against symbol {index} of {len(self.rows)}", hint=_CORRUPT)
        offset, info, _, home, _, _ = self.rows[index]
        if not offset and info & 0xF == _SYMBOL_SECTION and home < len(self.section_names):
            title = self.section_names[home]
        else:
            title = text_at(self.strings, offset, "a symbol name")
        return self.names.setdefault(index, title)


@dataclass(frozen=True, slots=True)
class _Tables:
    """What is read once for a whole cubin and needed for each of its code sections."""

    image: Image
    by_name: dict[str, Section]
    symbols: _Symbols
    infos: SymbolInfo

    def content(self, section: Section | None) -> memoryview:
        """The bytes of a section, none for one that is not there."""
        return self.image.content(section) if section else self.image.data[:0]


def read_cubin(data: bytes, *, file: str = "", entry: str = "") -> Cubin:
    """Everything that the ELF structure of a cubin says, without disassembling.

    Raises UnsupportedArchError for an architecture older than sm_75 and InputError for
    anything that is not an intact cubin; both carry `file` and `entry`.
    """
    try:
        return _read(data)
    except InputError as error:
        error.at(file=file, entry=entry)
        raise


def cubin_arch(data: bytes | memoryview) -> str:
    """Architecture of a cubin (``sm_90a``), of any age, without reading its code.

    Raises InputError for anything that is not a cubin.
    """
    image = _cubin_image(data)
    by_name = {section.name: section for section in image.sections}
    return _arch(image, by_name, _tool_notes(image, by_name))


def _read(data: bytes) -> Cubin:
    image = _cubin_image(data)
    by_name = {section.name: section for section in image.sections}
    notes = _tool_notes(image, by_name)
    arch = _arch(image, by_name, notes)
    if _sm(image) < OLDEST_SM:
        hint = f"nvdisasm 13 reads sm_{OLDEST_SM} and newer"
        raise UnsupportedArchError(f"{arch} code is not supported", hint=hint)
    coded = [s for s in image.sections if s.flags & FLAG_EXECUTABLE and s.name.startswith(_TEXT)]
    if sum(section.size for section in coded) > len(data):
        raise InputError("the code sections overlap", hint=_CORRUPT)
    tables = _Tables(image, by_name, _symbols(image), _symbol_infos(image, by_name))
    sections = tuple(_code_section(tables, section) for section in coded)
    return Cubin(arch, _LAYOUTS[image.os_abi], sections, _producer(image, notes), line_table(image))


def _cubin_image(data: bytes | memoryview) -> Image:
    if not len(data):
        raise InputError("the file is empty", hint="expected a cubin")
    if bytes(data[:4]) != ELF_MAGIC:
        head = bytes(data[:8])
        raise InputError(f"not a cubin: it starts with {head!r}", hint="expected an ELF file made by ptxas")
    image = read_image(data)
    if image.machine != MACHINE_CUDA:
        raise InputError(
            f"not a cubin: an ELF file for machine {image.machine}",
            hint="cubins inside a library or object are found by reading it as a container",
        )
    if image.os_abi not in _LAYOUTS:
        raise InputError(f"a cubin of unknown layout 0x{image.os_abi:x}", hint="known are 0x33 and 0x41")
    return image


def _sm(image: Image) -> int:
    return image.flags & 0xFF if _LAYOUTS[image.os_abi] == "old" else image.flags >> 8 & 0xFF


def _arch(image: Image, by_name: dict[str, Section], notes: tuple[ToolNote, ...]) -> str:
    sm = _sm(image)
    if _LAYOUTS[image.os_abi] == "old":
        return f"sm_{sm}" + ("a" if image.flags & _OLD_ACCELERATOR else "")
    compat = by_name.get(".nv.compat")
    marked = read_accelerator_target(image.content(compat)) if compat else None
    if marked or image.flags & _NEW_ACCELERATOR:
        return f"sm_{sm}a"
    # the linker's note comes first and decides: objects for sm_100f may be linked for sm_100
    suffixes = [note.arch[1] for note in notes if note.arch and note.arch[0] == sm]
    return f"sm_{sm}f" if suffixes[:1] == ["f"] else f"sm_{sm}"


def _tool_notes(image: Image, by_name: dict[str, Section]) -> tuple[ToolNote, ...]:
    section = by_name.get(".note.nv.tkinfo")
    return read_tool_notes(image.content(section)) if section else ()


def _producer(image: Image, notes: tuple[ToolNote, ...]) -> str:
    """The tool that wrote the file, or in the old layout the toolkit, from `e_version`."""
    if notes:
        return str(notes[0])
    major, minor = divmod(image.version, 10)
    return f"CUDA {major}.{minor}" if _LAYOUTS[image.os_abi] == "old" else ""


def _symbols(image: Image) -> _Symbols:
    names = tuple(section.name for section in image.sections)
    table = next((section for section in image.sections if section.type == SECTION_SYMBOLS), None)
    if table is None:
        return _Symbols({}, [], b"", names, {})
    if table.size % _SYMBOL.size or table.link >= len(image.sections):
        raise InputError("the symbol table has a wrong size or no names", hint=_CORRUPT)
    rows = list(_SYMBOL.iter_unpack(image.content(table)))
    strings = bytes(image.content(image.sections[table.link]))
    homes = _extended_homes(image, table, len(rows))
    functions: dict[int, list[tuple[int, Function]]] = {}
    for index, (name, info, other, home, start, size) in enumerate(rows):
        if info & 0xF == _SYMBOL_FUNCTION and home:
            place = homes[index] if homes and home == _EXTENDED_INDEX else home
            title = text_at(strings, name, "a symbol name")
            function = Function(title, start, size, bool(other & _OTHER_ENTRY))
            functions.setdefault(place, []).append((index, function))
    return _Symbols(functions, rows, strings, names, {})


def _extended_homes(image: Image, table: Section, count: int) -> tuple[int, ...]:
    """Section numbers of symbols in a file with more sections than 16 bits can count."""
    for section in image.sections:
        if section.type == SECTION_SYMBOL_INDICES and section.link == table.index:
            if section.size != 4 * count:
                raise InputError("the table of section numbers has a wrong size", hint=_CORRUPT)
            return struct.unpack(f"<{count}I", image.content(section))
    return ()


def _symbol_infos(image: Image, by_name: dict[str, Section]) -> SymbolInfo:
    section = by_name.get(".nv.info")
    return read_symbol_info(image.content(section) if section else image.data[:0])


def _code_section(tables: _Tables, section: Section) -> CodeSection:
    name = section.name.removeprefix(_TEXT)
    shown = printable(name)
    found = sorted(tables.symbols.functions.get(section.index, ()), key=lambda pair: (pair[1].start, pair[0]))
    for _, function in found:
        if function.start + function.size > section.size:
            inside = f"function {printable(function.name)} ends outside section .text.{shown}"
            raise InputError(inside, hint=_CORRUPT)
    same_name = (index for index, function in found if function.name == name)
    symbol = next(same_name, section.info & _INFO_SYMBOL)
    noted = tables.by_name.get(".nv.info." + name)
    info = read_kernel_info(tables.content(noted), f"section .nv.info.{shown}")
    return CodeSection(
        name=name,
        symbol_index=symbol,
        code=bytes(tables.content(section)),
        functions=tuple(function for _, function in found),
        relocations=_relocations(tables, f"text.{name}"),
        indirect_targets=dict(info.indirect_targets),
        resources=_resources(tables, section, symbol, info),
        constants=_constants(tables, name),
        linked={r.offset: r.symbol for r in _relocations(tables, f"nv.constant{ADDRESS_BANK}")},
    )


def _constants(tables: _Tables, name: str) -> dict[int, bytes]:
    """The constant banks that the compiler filled for one kernel; bank 0 is the launch's own."""
    banks = ((bank, tables.by_name.get(f".nv.constant{bank}.{name}")) for bank in range(1, 18))
    return {bank: bytes(tables.content(section)) for bank, section in banks if section}


def _relocations(tables: _Tables, name: str) -> tuple[Relocation, ...]:
    found = []
    for prefix, form in ((".rel.", "<QQ"), (".rela.", "<QQq")):
        content = tables.content(tables.by_name.get(prefix + name))
        if len(content) % struct.calcsize(form):
            raise InputError(f"section {prefix}{printable(name)} has a wrong size", hint=_CORRUPT)
        for offset, info, *addend in struct.iter_unpack(form, content):
            target = tables.symbols.name(info >> 32)
            found.append(Relocation(offset, info & 0xFFFFFFFF, target, addend[0] if addend else 0))
    return tuple(sorted(found, key=lambda relocation: (relocation.offset, relocation.type)))


def _resources(tables: _Tables, section: Section, symbol: int, info: KernelInfo) -> Resources:
    shared = tables.by_name.get(".nv.shared." + section.name.removeprefix(_TEXT))
    barriers = info.barriers
    if barriers is None:
        # the old layout keeps the count in the section's own flags; the new one names it unless it is 0
        barriers = section.flags >> _BARRIER_SHIFT & _BARRIER_MASK
    return Resources(
        registers=tables.infos.registers.get(symbol, section.info >> _INFO_REGISTER_SHIFT or None),
        shared=shared.size if shared else 0,
        local=tables.infos.stacks.get(symbol, tables.infos.frames.get(symbol)),
        barriers=barriers,
        parameters=info.parameters,
        parameter_base=info.parameter_base,
        max_threads=info.max_threads,
        required_block=info.required_block,
    )
