"""What `nvdisasm --print-life-ranges` marks: the registers that each instruction writes and reads.

The oracle of `oracle_registers.py`, `oracle_coverage.py` and the slow tests. Cubins of the old ELF
layout need a 12.x tool, named by `SASSQL_NVDISASM_12`.
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from sassql.reading import elf, tools
from sassql.reading.sections import read_image

GROUPS = {"GPR": "R", "PRED": "P", "UGPR": "UR", "UPRED": "UP"}
FUNCTIONS_PER_CALL = 40
"""Kernels that one process prints: its memory grows with them."""

_LINE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s.*// (\|.*\|)\s*$")
_HEADER = re.compile(r"// (\|.*[A-Z0-9#].*\|)\s*$")
_SECTION = re.compile(r"^\s*//-+ \.text\.(\S+)\s+-")
_MARK = re.compile(r"[\^vx]")
_REFUSED_COUNT = 255
_INFO_REGISTERS = 0x2F
_WITH_LENGTH = 4

Registers = frozenset[str]


@dataclass(slots=True)
class Marks:
    """What is marked in one code section: definitions and uses by address.

    ``columns`` are the registers that the table shows, which are those that the section has.
    """

    columns: Registers = frozenset()
    at: dict[int, tuple[Registers, Registers]] = field(default_factory=dict)


def parse(text: str) -> dict[str, Marks]:
    """The marks of a listing by section."""
    found: dict[str, Marks] = {}
    marks, names, header = Marks(), {}, []
    for line in text.splitlines():
        if row := _LINE.match(line):
            if not names and header:
                names = _columns(header)
                marks.columns = frozenset(names.values())
            defs, uses = [], []
            for mark in _MARK.finditer(row[2]):
                if (name := names.get(mark.start())) is not None:
                    defs += [name] * (mark[0] != "v")
                    uses += [name] * (mark[0] != "^")
            marks.at[int(row[1], 16)] = frozenset(defs), frozenset(uses)
        elif section := _SECTION.match(line):
            marks, names, header = found.setdefault(section[1], Marks()), {}, []
        elif not names and (table := _HEADER.search(line)):
            header.append(table[1])
    return {name: marks for name, marks in found.items() if marks.at}


def _columns(header: Sequence[str]) -> dict[int, str]:
    """Register name by column of the table, from its header rows."""
    bars = [i for i, c in enumerate(header[-1]) if c == "|"]
    found: dict[int, str] = {}
    for left, right in pairwise(bars):
        name = next((n for row in header if (n := row[left + 1 : right].strip()) in GROUPS), "")
        start = header[-1].find("#", left) + 1
        for column in range(start, right):
            digits = "".join(row[column] for row in header if column < len(row) and row[column].isdigit())
            if digits and name:
                found[column] = f"{GROUPS[name]}{int(digits)}"
    return found


def tool_for(layout: str) -> str | None:
    """The nvdisasm that has life ranges for an ELF layout; None where it was not named."""
    return str(tools.find("nvdisasm").path) if layout == "new" else os.environ.get("SASSQL_NVDISASM_12")


def oracle(data: bytes, sections: Sequence[elf.CodeSection] | None = None) -> dict[str, Marks] | None:
    """What nvdisasm marks in all or some sections of a cubin; None where there is no tool for it.

    A section that it refuses is missing from the result, and its reason goes to stderr.
    """
    cubin = elf.read_cubin(data)
    tool = tool_for(cubin.layout)
    if tool is None:
        return None
    wanted = cubin.sections if sections is None else sections
    found: dict[str, Marks] = {}
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(_with_fewer_registers(data) if cubin.layout == "old" else data)
        file.flush()
        for start in range(0, len(wanted), FUNCTIONS_PER_CALL):
            chunk = [s.symbol_index for s in wanted[start : start + FUNCTIONS_PER_CALL]]
            for printed in _printed(tool, file.name, chunk):
                found |= parse(printed)
    return found


def _printed(tool: str, path: str, functions: Sequence[int]) -> Iterator[str]:
    """The listings of some functions: one, or one each where nvdisasm refuses them together."""
    command = [tool, "-c", "-plr", "-lrm", "narrow", "-fun", ",".join(map(str, functions)), path]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if not done.returncode:
        yield done.stdout
    elif len(functions) > 1:
        for function in functions:
            yield from _printed(tool, path, [function])
    else:
        print(f"  oracle refuses function {functions[0]}: {done.stderr.strip()[:160]}", file=sys.stderr)


def _with_fewer_registers(data: bytes) -> bytes:
    """The cubin with 254 for each kernel that says 255 registers: nvdisasm 12.8 calls that invalid.

    Two places hold the number, the section's own header and `.nv.info`; no instruction changes.
    """
    content, image = bytearray(data), read_image(data)
    table, entry = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 58)[0]
    for section in image.sections:
        if section.name.startswith(".text.") and section.info >> 24 == _REFUSED_COUNT:
            content[table + section.index * entry + 47] -= 1
        elif section.name == ".nv.info":
            place, end = section.offset, section.offset + section.size
            while place < end:
                form, attribute, size = struct.unpack_from("<BBH", data, place)
                if (
                    form == _WITH_LENGTH
                    and attribute == _INFO_REGISTERS
                    and data[place + 8] == _REFUSED_COUNT
                ):
                    content[place + 8] -= 1
                place += 4 + (size if form == _WITH_LENGTH else 0)
    return bytes(content)


def cubins(path: Path) -> Iterator[tuple[str, bytes]]:
    """The cubins of a file: itself, or those of the container that it is."""
    from sassql.errors import Problem
    from sassql.reading import containers

    data = path.read_bytes()
    if data[18:20] == b"\xbe\x00":
        yield str(path), data
        return
    for entry in containers.entries(data, file=str(path)):
        if not isinstance(entry, Problem) and entry.kind == "cubin":
            yield f"{path}[{entry.name}]", entry.data
