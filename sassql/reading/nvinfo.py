"""What the compiler notes in a cubin about its kernels: `.nv.info`, `.nv.compat` and the tool notes.

`.nv.info*` and `.nv.compat` are lists of records: a format byte, an attribute byte, and
a value that the format sizes (nothing, one byte, two bytes, or a length and so many
bytes). The attribute numbers were read off `cuobjdump -elf`, which prints their names,
over the cubins of seven libraries (CUDA 11.8 to 13.5).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from sassql.errors import InputError
from sassql.model.kernel import Parameter
from sassql.reading.sections import part, text_at

# formats
_NOTHING, _BYTE, _HALF, _SIZED = 1, 2, 3, 4

_COMPAT_ACCELERATOR_TARGET = 0x09
_TOOL_NOTE = 2000
_TOOL_STRINGS = 24
_ARCH_OPTION = re.compile(r"(?:^|\s)-{1,2}(?:gpu-)?arch[= ](?:sm|compute|lto)_(\d+)([af]?)\b")
_VERSION = re.compile(r"\bV(\d+(?:\.\d+)+)")


class Attribute(IntEnum):
    """The attributes of `.nv.info` (whole cubin) and `.nv.info.KERNEL` that are used here."""

    MAX_THREADS = 0x05
    PARAMETER_BANK = 0x0A
    REQUIRED_BLOCK = 0x10
    FRAME_SIZE = 0x11
    MIN_STACK_SIZE = 0x12
    PARAMETER = 0x17
    REGISTER_COUNT = 0x2F
    BRANCH_TARGETS = 0x34
    PARAMETER_LONG = 0x45
    BARRIER_COUNT = 0x4C


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """What `.nv.info.KERNEL` says about one kernel or device function."""

    parameters: tuple[Parameter, ...] = ()
    parameter_base: int | None = None
    """Offset of parameter 0 in constant bank 0."""
    barriers: int | None = None
    max_threads: int | None = None
    required_block: tuple[int, int, int] | None = None
    indirect_targets: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """(offset of the branch, offsets of its targets), both in the code section."""


@dataclass(frozen=True, slots=True)
class SymbolInfo:
    """What `.nv.info` says by symbol index: registers of a thread, bytes of its stack."""

    registers: dict[int, int]
    frames: dict[int, int]
    stacks: dict[int, int]


@dataclass(frozen=True, slots=True)
class ToolNote:
    """A tool that wrote the cubin: name, version (``13.0.88``) and command line."""

    name: str
    version: str
    options: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()

    @property
    def arch(self) -> tuple[int, str] | None:
        """(90, "a") for ``-arch sm_90a``; None where the command line does not say."""
        found = _ARCH_OPTION.search(self.options)
        return (int(found[1]), found[2]) if found else None


def records(data: memoryview, what: str) -> Iterator[tuple[int, memoryview]]:
    """(attribute, value) of each record of a `.nv.info` or `.nv.compat` section.

    Raises InputError for a record that goes past the end or has an unknown format.
    """
    offset = 0
    while offset < len(data):
        head = part(data, offset, 4, what)
        form, attribute = head[0], head[1]
        offset += 4
        if form == _SIZED:
            size = head[2] | head[3] << 8
            yield attribute, part(data, offset, size, what)
            offset += size
        elif form in (_NOTHING, _BYTE, _HALF):
            yield attribute, head[2 : 2 + (0, 1, 2)[form - _NOTHING]]
        else:
            raise InputError(f"{what} has a record of unknown format {form} at byte {offset - 4}")


def read_symbol_info(data: memoryview) -> SymbolInfo:
    """Registers and stack of every function of the cubin, from `.nv.info`."""
    what = "section .nv.info"
    info = SymbolInfo({}, {}, {})
    tables: dict[int, dict[int, int]] = {
        Attribute.REGISTER_COUNT: info.registers,
        Attribute.FRAME_SIZE: info.frames,
        Attribute.MIN_STACK_SIZE: info.stacks,
    }
    for attribute, value in records(data, what):
        if attribute in tables:
            symbol, number = _words(value, 2, what)
            tables[attribute][symbol] = number
    return info


def read_kernel_info(data: memoryview, what: str) -> KernelInfo:
    """Parameters, barriers, launch limits and branch targets of one code section."""
    parameters: list[Parameter] = []
    base = barriers = max_threads = required = None
    targets: list[tuple[int, tuple[int, ...]]] = []
    for attribute, value in records(data, what):
        match attribute:
            case Attribute.PARAMETER | Attribute.PARAMETER_LONG:
                parameters.append(_parameter(value, attribute == Attribute.PARAMETER_LONG, what))
            case Attribute.PARAMETER_BANK:
                base = _words(value, 2, what)[1] & 0xFFFF
            case Attribute.BARRIER_COUNT:
                barriers = int.from_bytes(value, "little")
            case Attribute.MAX_THREADS:
                x, y, z = _words(value, 3, what)
                max_threads = x * y * z
            case Attribute.REQUIRED_BLOCK:
                required = _words(value, 3, what)
            case Attribute.BRANCH_TARGETS:
                targets.extend(_branch_targets(value, what))
    parameters.sort(key=lambda parameter: parameter.ordinal)
    return KernelInfo(
        tuple(parameters),
        base,
        barriers,
        max_threads,
        (required[0], required[1], required[2]) if required else None,
        tuple(targets),
    )


def read_accelerator_target(data: memoryview) -> bool | None:
    """Whether `.nv.compat` marks an ``a`` architecture; None where it does not say.

    `nvdisasm` 13.5 takes the ``a`` of its `.target` line from this record: patching it
    changes the line, patching the command line in the tool note does not.
    """
    for attribute, value in records(data, "section .nv.compat"):
        if attribute == _COMPAT_ACCELERATOR_TARGET and len(value):
            return value[0] == 1
    return None


def read_tool_notes(data: memoryview) -> tuple[ToolNote, ...]:
    """The tools named in `.note.nv.tkinfo`: the linker first, then the assembler runs it joined."""
    what = "section .note.nv.tkinfo"
    notes = []
    offset = 0
    while offset < len(data):
        owner, size, kind = struct.unpack("<III", part(data, offset, 12, what))
        offset += 12 + (owner + 3 & ~3)
        text = part(data, offset, size, what)
        offset += size + 3 & ~3
        if kind == _TOOL_NOTE:
            notes.append(_tool_note(text, what))
    return tuple(notes)


def _tool_note(text: memoryview, what: str) -> ToolNote:
    name, version, _, options = struct.unpack("<IIII", part(text, 8, 16, what))
    strings = bytes(text[_TOOL_STRINGS:])
    release = text_at(strings, version, what)
    found = _VERSION.search(release)
    return ToolNote(
        text_at(strings, name, what), found[1] if found else release, text_at(strings, options, what).strip()
    )


def _parameter(value: memoryview, is_long: bool, what: str) -> Parameter:
    _, place, packed = _words(value, 3, what)
    # the short form packs the size with alignment and bank; blocks above 4 KB have the long one
    size = packed & 0xFFFF if is_long else packed >> 18
    return Parameter(place & 0xFFFF, place >> 16, size)


def _branch_targets(value: memoryview, what: str) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Each branch: its offset, a zero, the number of targets, the targets."""
    offset = 0
    while offset < len(value):
        branch, _, count = _words(value[offset:], 3, what)
        # a jump table repeats the targets that several cases share
        yield branch, tuple(dict.fromkeys(_words(value[offset + 12 :], count, what)))
        offset += 12 + 4 * count


def _words(value: memoryview, count: int, what: str) -> tuple[int, ...]:
    return struct.unpack(f"<{count}I", part(value, 0, 4 * count, what))
