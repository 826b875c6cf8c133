"""A cubin to a module: its words become rows of the word table, everything else comes from the ELF."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sassql.errors import Place, Problem, SassqlError
from sassql.model.kernel import Kernel, Source
from sassql.model.program import Module
from sassql.reading import elf, relocations
from sassql.reading.table import NO_TARGET, UInt, WordTable, control_bits, table
from sassql.reading.words import WORD_BYTES, decoder

INT32 = npt.NDArray[np.int32]
MANY_REASONS = 8
"""Reasons in one kernel from which they are one problem."""


@dataclass(slots=True)
class _Parsed:
    """A cubin between its ELF and its words."""

    cubin: elf.Cubin
    source: Source
    sizes: list[int]
    low: UInt
    high: UInt


def read_module(data: bytes, source: Source, *, jobs: int = 2) -> tuple[Module, list[Problem]]:
    """Read one cubin: the module, and one problem per word that is no instruction.

    Raises:
        InputError: the bytes are no cubin, or a damaged one.
        UnsupportedArchError: an architecture that nvdisasm does not read.
        ToolMissingError: there is no nvdisasm and a word is not known yet.
    """
    result = next(iter(read_modules([(data, source)], jobs=jobs)))
    if isinstance(result, SassqlError):
        raise result
    return result


def read_modules(
    batch: Sequence[tuple[bytes, Source]], *, jobs: int = 2
) -> Iterator[tuple[Module, list[Problem]] | SassqlError]:
    """Read several cubins, in order, with one start of nvdisasm per architecture.

    A cubin that cannot be read is its error in place of a module.
    """
    parsed: list[_Parsed | SassqlError] = [_parse(data, source) for data, source in batch]
    fresh = _learn([p for p in parsed if isinstance(p, _Parsed)], jobs)
    for one in parsed:
        yield one if isinstance(one, SassqlError) else _module(one, jobs, fresh[one.cubin.arch])


def _parse(data: bytes, source: Source) -> _Parsed | SassqlError:
    try:
        cubin = elf.read_cubin(data, file=source.file, entry=source.entry)
    except SassqlError as error:
        return error.at(file=source.file, entry=source.entry)
    sizes = [len(s.code) // WORD_BYTES * WORD_BYTES for s in cubin.sections]
    raw = b"".join(s.code[:size] for s, size in zip(cubin.sections, sizes, strict=True))
    halves = np.frombuffer(raw, "<u8").reshape(-1, 2)
    return _Parsed(
        cubin, source, sizes, np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1])
    )


def _learn(parsed: list[_Parsed], jobs: int) -> dict[str, set[int]]:
    """Decode the unknown words of a whole batch at once; the rows that this added, by architecture.

    Where that fails, each cubin is decoded alone, so that one damaged entry loses nothing but itself.
    """
    fresh: dict[str, set[int]] = {p.cubin.arch: set() for p in parsed}
    for arch, added in fresh.items():
        mine = [p for p in parsed if p.cubin.arch == arch]
        if len(mine) < 2:
            continue
        low, high = (np.concatenate([getattr(p, half) for p in mine]) for half in ("low", "high"))
        with contextlib.suppress(SassqlError):
            rows, distinct, new = table(arch).rows_of_words(low, high, decoder(arch, jobs=jobs))
            added.update(np.unique(rows)[distinct - new :].tolist())  # new rows have the highest numbers
    return fresh


def _module(parsed: _Parsed, jobs: int, fresh: set[int]) -> tuple[Module, list[Problem]] | SassqlError:
    """One cubin's module. Rows in ``fresh`` are new with the first module that has them, which takes them."""
    cubin, source = parsed.cubin, parsed.source
    words = table(cubin.arch)
    try:
        rows, distinct, new = words.rows_of_words(parsed.low, parsed.high, decoder(cubin.arch, jobs=jobs))
    except SassqlError as error:
        return error.at(file=source.file, entry=source.entry)
    unique = np.unique(rows)
    added = set(unique[distinct - new :].tolist()) | fresh.intersection(unique.tolist())
    fresh -= added
    control = control_bits(parsed.high)
    kernels: list[Kernel] = []
    start = 0
    for section, size in zip(cubin.sections, parsed.sizes, strict=True):
        stop = start + size // WORD_BYTES
        kernels.append(_kernel(section, cubin, source, words, rows[start:stop], control[start:stop]))
        start = stop
    module = Module(
        source=source,
        arch=cubin.arch,
        kernels=tuple(kernels),
        layout=cubin.layout,
        producer=cubin.producer,
        distinct_words=distinct,
        new_word_ids=np.array(sorted(added), np.int32),
    )
    return module, _problems(module, words)


def _kernel(
    section: elf.CodeSection,
    cubin: elf.Cubin,
    source: Source,
    words: WordTable,
    rows: INT32,
    control: npt.NDArray[np.uint32],
) -> Kernel:
    addresses = np.arange(len(rows), dtype=np.int64) * WORD_BYTES
    distances = words.distances(rows)
    targets = np.where(distances == NO_TARGET, -1, addresses + distances)
    symbols: dict[int, str] = {}
    words_alone = rows
    if section.relocations:
        rows = relocations.apply(section, words, rows, targets, symbols)
    _leave_section(section, words, rows, targets, symbols)
    return Kernel(
        name=section.name,
        arch=cubin.arch,
        source=source,
        forms=words,
        form_ids=rows,
        addresses=addresses,
        control=control,
        targets=targets,
        symbols=symbols,
        functions=section.functions,
        resources=section.resources,
        indirect_targets=section.indirect_targets,
        is_entry=any(f.entry for f in section.functions),
        lines=cubin.lines,
        word_ids=words_alone,
        constants=section.constants,
        linked=section.linked,
    )


def _leave_section(
    section: elf.CodeSection,
    words: WordTable,
    rows: INT32,
    targets: npt.NDArray[np.int64],
    symbols: dict[int, str],
) -> None:
    """A distance that leads out of the section is a place that the linker has not filled in yet."""
    outside = np.flatnonzero((targets >= len(section.code)) | (targets < -1))
    for index in outside.tolist():
        symbols.setdefault(index, f"{targets[index]:#x}")
    targets[outside] = -1


def _problems(module: Module, words: WordTable) -> list[Problem]:
    """One problem for each reason in a kernel; where there are many, one for all the words."""
    found: list[Problem] = []
    place = Place(module.source.file, entry=module.source.entry)
    for kernel in module.kernels:
        reasons: dict[str, list[int]] = {}
        for row, text in words.problems(kernel.form_ids).items():
            reasons.setdefault(text, []).extend(kernel.addresses[kernel.form_ids == row].tolist())
        if len(reasons) > MANY_REASONS:
            every = sorted(address for places in reasons.values() for address in places)
            reasons = {f"{len(reasons)} different words are not decoded, first {next(iter(reasons))}": every}
        for text, places in reasons.items():
            where = ", ".join(f"{p:#x}" for p in sorted(places)[:3]) + (" …" if len(places) > 3 else "")
            message = f"{kernel.name} at {where}: {text} ({len(places)} instructions)"
            found.append(Problem(message, place, "the other instructions are read", "instruction"))
    return found
