"""Saved listings of `nvdisasm -c` and `cuobjdump -sass` to modules: the text path.

It reads what people keep in files and paste into issues, and it proves the word path:
the same cubin read both ways gives equal instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from sassql.errors import InputError, ListingError, Place, Problem
from sassql.model.kernel import Function, Kernel, Resources, Source
from sassql.model.program import Module
from sassql.reading.elf import OLDEST_SM
from sassql.reading.statements import split_label, split_number, tidy
from sassql.reading.table import WordTable, control_bits, table

_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(?=\S)")
_ENCODING = re.compile(r"\s*/\* 0x([0-9a-f]{16}) \*/\s*$")
_SECTION = re.compile(r"^\s*//-+ \.text\.(\S+)\s+-+")
_OTHER_SECTION = re.compile(r"^\s*//-+ (\S+)\s+-+")
_FUNCTION = re.compile(r"^\s*Function : (\S+)")
_LABEL = re.compile(r"^([.$\w][^\s:]*):\s*$")
_TARGET = re.compile(r"^\s*\.target\s+(sm_\w+)")
_FLAGS = re.compile(r"EF_CUDA_SM(\d+)")
_CODE_FOR = re.compile(r"^\s*code for (sm_\w+)")
_ENTRY = re.compile(r"^\s*\.other\s+([^,]+),@\"STO_CUDA_ENTRY")
_SIZE = re.compile(r"^\s*\.size\s+(\S+),\((\S+) - ")
_BRANCH_TARGETS = re.compile(r'\(\*"BRANCH_TARGETS ([^"]*)"\*\)')
_BARE = re.compile(r"^\s*(?:(@!?U?P\w+\s+)?[A-Z][A-Z0-9_]*(?:\.\w+)*)(?:\s|;|$)")
_LIFE_RANGES = re.compile(r"\s*// [|+].*")  # the table that `nvdisasm -plr` prints to the right
_SREL = re.compile(r"(\.L_x_\d+)@srel")
_INFO = re.compile(r"SHI_REGISTERS=(\d+)|SHF_BARRIERS=(\d+)")


def looks_like_listing(head: str) -> bool:
    """True for text with an instruction line, a section rule or a target line near its start."""
    lines = head.splitlines()
    patterns = (_INSTRUCTION, _SECTION, _TARGET, _CODE_FOR, _FUNCTION)
    return any(pattern.match(line) for line in lines for pattern in patterns)


@dataclass(slots=True)
class _Section:
    """One function being read: everything by instruction number or by label."""

    name: str
    arch: str
    line: int
    rows: list[int] = field(default_factory=list)
    addresses: list[int] = field(default_factory=list)
    places: dict[int, str | int] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    branches: dict[int, list[str]] = field(default_factory=dict)
    low: dict[int, int] = field(default_factory=dict)
    high: dict[int, int] = field(default_factory=dict)
    """Halves of the instruction words, where the listing prints them."""
    named: list[int] = field(default_factory=list)
    """Instructions with an address that holds a label, ``32@lo((kernel + .L_x_0@srel))``."""
    entries: set[str] = field(default_factory=set)
    sizes: dict[str, str] = field(default_factory=dict)
    pending: list[str] = field(default_factory=list)
    registers: int | None = None
    barriers: int | None = None


class _Reader:
    def __init__(self, file: str, entry: str, arch: str) -> None:
        self.file, self.entry, self.arch = file, entry, arch
        self._exact = False
        self.sections: list[_Section] = []
        self.problems: list[Problem] = []
        self._open: _Section | None = None
        self._outside = self._too_old = False
        self._half_word: _Section | None = None
        """Where the second half of an instruction word is expected: on the next line."""
        self._known: dict[str, tuple[int, str | int | None, list[str], bool]] = {}
        self._table: WordTable | None = None

    @property
    def _words(self) -> WordTable:
        if self._table is None or self._table.arch != self.arch:
            self._table = table(self.arch)
            self._known.clear()
        return self._table

    def read(self, lines: Iterable[str]) -> None:
        for number, whole in enumerate(lines, 1):
            if self._half_word is not None and (half := _ENCODING.match(whole)) is not None:
                self._half_word.high[len(self._half_word.rows) - 1] = int(half[1], 16)
                self._half_word = None
                continue
            line = _LIFE_RANGES.sub("", whole) if "// " in whole else whole
            found = _INSTRUCTION.match(line)
            if found is not None:
                if not self._outside and not self._too_old:
                    self._instruction(number, line, int(found[1], 16), line[found.end() :])
            elif self._too_old:
                self._header(number, line)
            elif (half := _ENCODING.match(line)) is not None and self._open is not None:
                self._open.high[len(self._open.rows) - 1] = int(half[1], 16)
            elif line.strip():
                self._other(number, line)

    def _section(self, name: str, number: int) -> _Section:
        self._open = _Section(name, self.arch, number)
        self.sections.append(self._open)
        return self._open

    def _instruction(self, number: int, line: str, address: int, statement: str) -> None:
        if (section := self._open) is None:
            section = self._section("", number)
        statement, mark, encoding = statement.partition("/* 0x")
        self._add(section, number, line, address, statement)
        if mark:
            if (found := _ENCODING.match(mark + encoding)) is not None:
                section.low[len(section.rows) - 1] = int(found[1], 16)
                self._half_word = section
            else:
                self._problem("an encoding has 16 hexadecimal digits", number, line.find(mark) + 1)

    def _add(self, section: _Section, number: int, line: str, address: int, statement: str) -> None:
        known = self._known.get(statement)
        if known is None:
            known = self._known[statement] = self._read(number, statement)
        row, held, branches, refused = known
        if refused:
            reason, column = _refusal("statement", statement)
            self._problem(f"{reason} in {tidy(statement)!r}", number, line.find(statement) + column)
        index = len(section.rows)
        section.rows.append(row)
        section.addresses.append(address)
        if held is not None:
            section.places[index] = held
        elif "@srel" in statement:
            section.named.append(index)
        if branches:
            section.branches[address] = branches
        if section.pending:
            for name in section.pending:
                section.labels[name] = address
            section.pending.clear()

    def _read(self, number: int, statement: str) -> tuple[int, str | int | None, list[str], bool]:
        """The row of a statement, the place that it names, its branch targets, and if it was refused."""
        if not self.arch:
            hint = "name it with --arch, such as sm_90"
            message = "the listing does not say its architecture"
            raise ListingError(message, place=Place(self.file, number), hint=hint)
        annotated = _BRANCH_TARGETS.search(statement)
        held: str | int | None
        plain, label = split_label(tidy(statement))
        held = label or None
        if held is None:
            plain, held, _ = split_number(plain)
        row = self._words.row_of_text(plain)
        branches = annotated[1].split(",") if annotated else []
        return row, held, branches, bool(self._words[row].shape.problem)

    def _other(self, number: int, line: str) -> None:
        section = self._open
        if (found := _SECTION.match(line)) is not None or (found := _FUNCTION.match(line)) is not None:
            self._outside = False
            self._section(found[1], number)
        elif (found := _OTHER_SECTION.match(line)) is not None:
            self._outside, self._open = True, None
        elif (found := _LABEL.match(line)) is not None:
            if section is None and not self._outside:
                section = self._section("", number)
            if section is not None:
                section.pending.append(found[1])
        elif self._header(number, line):
            pass
        elif _BARE.match(line) and not self._outside:
            section = section or self._section("", number)
            address = section.addresses[-1] + 16 if section.addresses else 0
            self._add(section, number, line, address, line.strip())
        elif section is None or not self._directive(section, line):
            self._odd(number, line)

    def _header(self, number: int, line: str) -> bool:
        """Lines that say the architecture; a listing may hold several modules."""
        if (found := _TARGET.match(line)) is not None or (found := _CODE_FOR.match(line)) is not None:
            self._exact = True
            self._module(number, found[1])
            return True
        if ".headerflags" in line:
            flags = _FLAGS.search(line)
            # .target says more; where they disagree, another module has begun
            if flags is not None and not (self._exact and flags[1] == re.sub(r"\D", "", self.arch)):
                self._exact = False
                self._module(number, f"sm_{flags[1]}{'a' if 'EF_CUDA_ACCELERATORS' in line else ''}")
            return True
        return False

    def _module(self, number: int, arch: str) -> None:
        """What follows is code of ``arch``; a function that was just named belongs to it."""
        if arch == self.arch:
            return
        self.arch = arch
        self._known.clear()
        self._too_old = int(re.sub(r"\D", "", arch)) < OLDEST_SM
        if self._too_old:
            hint = f"sassql reads sm_{OLDEST_SM} and newer"
            place = Place(self.file, number, entry=self.entry)
            self.problems.append(Problem(f"{arch} code is not supported", place, hint, "unsupportedarch"))
        if self._open is not None and not self._open.rows:
            self._open.arch = arch
        else:
            self._open = None

    def _directive(self, section: _Section, line: str) -> bool:
        if (found := _ENTRY.match(line)) is not None:
            section.entries.add(found[1])
        elif (found := _SIZE.match(line)) is not None:
            section.sizes[found[1]] = found[2]
        elif (found := _INFO.search(line)) is not None:
            section.registers = int(found[1]) if found[1] else section.registers
            section.barriers = int(found[2]) if found[2] else section.barriers
        else:
            return False
        return True

    def _odd(self, number: int, line: str) -> None:
        """A line of no known kind: fine if the grammar takes it, else a located problem."""
        reason, column = _refusal("line", line)
        if reason:
            self._problem(f"{reason}: this is no line of a listing", number, column)

    def _problem(self, message: str, number: int, column: int) -> None:
        place = Place(self.file, number, column, self.entry)
        self.problems.append(Problem(message, place, "the other lines are read", "listing"))


def _refusal(start: str, text: str) -> tuple[str, int]:
    from sassql.reading.grammar import refusal  # noqa: PLC0415  (most listings have nothing to refuse)

    return refusal(start, text)


def read_listing(
    text: str, *, file: str = "<text>", entry: str = "", arch: str = ""
) -> tuple[list[Module], list[Problem]]:
    """Read a listing; ``arch`` is needed where the text does not say it (a pasted loop body).

    Returns one module per architecture in the order of the text, and a problem for every
    line that the grammar refuses.

    Raises:
        ListingError: no architecture is known.
        InputError: the text has no instruction at all.
    """
    reader = _Reader(file, entry, arch)
    reader.read(text.splitlines())
    kept = [s for s in reader.sections if s.rows]
    if not kept:
        first = reader.problems[0] if reader.problems else None
        if first is not None and first.kind == "unsupportedarch":
            raise first.error()
        place = first.place if first else Place(file, entry=entry)
        raise InputError(
            "no SASS instruction found",
            place=place,
            hint="expected `nvdisasm -c` or `cuobjdump -sass` output",
        )
    source = Source(file, entry)
    modules = []
    for name in dict.fromkeys(s.arch for s in kept):
        kernels = tuple(_kernel(s, source) for s in kept if s.arch == name)
        modules.append(Module(source, name, kernels, "listing"))
    return modules, reader.problems


def _kernel(section: _Section, source: Source) -> Kernel:
    end = section.addresses[-1] + 16
    for name in section.pending:
        section.labels[name] = end
    targets = np.full(len(section.rows), -1, np.int64)
    symbols: dict[int, str] = {}
    for index, held in section.places.items():
        found = held if isinstance(held, int) else section.labels.get(held)
        if found is None:
            symbols[index] = str(held)
        elif 0 <= found < end:
            targets[index] = found
        else:
            symbols[index] = f"{found:#x}"
    name = section.name or next(iter(section.entries), "") or "kernel"
    words = table(section.arch)
    return Kernel(
        name=name,
        arch=section.arch,
        source=source,
        forms=words,
        form_ids=_rows(section, words),
        addresses=np.asarray(section.addresses, np.int64),
        control=_control(section),
        targets=targets,
        symbols=symbols,
        functions=_functions(section, end),
        resources=Resources(registers=section.registers, barriers=section.barriers),
        indirect_targets={
            address: tuple(section.labels[label] for label in labels if label in section.labels)
            for address, labels in section.branches.items()
        },
        is_entry=name in section.entries or name not in section.sizes,
    )


def _rows(section: _Section, words: WordTable) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Row numbers; where encodings are known, registers that only they hold are added."""
    rows = list(section.rows)
    for index in section.named:
        rows[index] = _placed(section, rows[index], words)
    if words.hides_registers:
        for index, low in section.low.items():
            if index in section.high:
                rows[index] = words.row_with_word(rows[index], (low, section.high[index]))
    return np.asarray(rows, np.int32)


def _placed(section: _Section, row: int, words: WordTable) -> int:
    """``32@lo((kernel + .L_x_0@srel))`` with the offset in place of the label."""
    text = _SREL.sub(
        lambda m: f"{section.labels[m[1]]:#x}" if m[1] in section.labels else m[0], words[row].text
    )
    return words.row_of_text(text)


def _control(section: _Section) -> np.ndarray[tuple[int], np.dtype[np.uint32]] | None:
    if len(section.low) < len(section.rows) or not section.high.keys() >= section.low.keys():
        return None
    return control_bits(np.asarray([section.high[i] for i in range(len(section.rows))], np.uint64))


def _functions(section: _Section, end: int) -> tuple[Function, ...]:
    found = []
    for function, stop in section.sizes.items():
        start = section.labels.get(function)
        if start is not None:
            finish = section.labels.get(stop, end)
            found.append(Function(function, start, finish - start, function in section.entries))
    return tuple(sorted(found, key=lambda f: (f.start, f.name)))
