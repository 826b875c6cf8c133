"""GPU code wherever it travels: cubins, fat binaries, objects, libraries, programs, archives, wheels.

The host compiler puts fat binaries into the section `.nv_fatbin`, or, compiled with
`-rdc=true`, into `__nv_relfatbin`. A linked library that has both holds the same code
twice, linked and as the parts it was linked from; as cuobjdump does, the linked one is
read then. A file with neither section (a Windows DLL, a library that keeps cubins as
plain data) is searched for both kinds of file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from sassql.errors import (
    EXIT_FOUND,
    InputError,
    NoDeviceCodeError,
    Place,
    Problem,
    UnsupportedArchError,
)
from sassql.reading import archives, fatbin
from sassql.reading.elf import OLDEST_SM, cubin_arch
from sassql.reading.sections import ELF_MAGIC, MACHINE_CUDA, TYPE_RELOCATABLE, Image, file_size, read_image

Kind = Literal["cubin", "ptx"]
Select = Callable[[str, Kind, str], bool]

_LINKED = ".nv_fatbin"
_RELOCATABLE = "__nv_relfatbin"
_PE_MAGIC = b"MZ"
_ELF64 = b"\x7fELF\x02\x01"
_MACHINE_OFFSET = 18
_DEEPEST = 2
"""Archives inside archives: a static library in a wheel, no more."""

_EMBEDDED = re.compile(re.escape(fatbin.MAGIC) + rb"|\x7fELF\x02\x01\x01[\x33\x41]")
_PTX_TARGET = re.compile(rb"^\s*\.target\s+(sm_\d+[af]?)", re.MULTILINE)
_SM = re.compile(r"sm_(\d+)")
_MAGICS = (ELF_MAGIC, fatbin.MAGIC, archives.AR_MAGIC, archives.AR_THIN_MAGIC, archives.ZIP_MAGIC, _PE_MAGIC)


@dataclass(frozen=True, slots=True)
class Entry:
    """GPU code taken out of a container.

    `name` is unique in the container and the same each time: a number that counts
    cubins and PTX apart and from 1, as cuobjdump counts, and the architecture
    (``3.sm_90.cubin``); behind the member's path in an archive or a wheel
    (``pkg/libfoo.so/3.sm_90.cubin``).
    """

    name: str
    kind: Kind
    arch: str
    data: bytes


def looks_like_container(head: bytes) -> bool:
    """Whether a file that starts with `head` (8 bytes do) is of a kind that `entries` reads."""
    return head.startswith(_MAGICS)


def entries(
    data: bytes | memoryview, *, file: str = "", select: Select | None = None
) -> Iterator[Entry | Problem]:
    """All GPU code of a file, one entry at a time; each is decompressed when it is asked for.

    An entry that cannot be read, or of an architecture older than sm_75, comes as a
    `Problem` in its place. `select(name, kind, arch)` is asked before an entry is
    decompressed; those it refuses are passed over.

    Raises, during the iteration:
        InputError: the file is of no kind that holds GPU code, or damaged as a whole.
        NoDeviceCodeError: the file is intact and holds no GPU code.
    """
    view = memoryview(data)
    reader = _Reader(file, select or (lambda name, kind, arch: True))
    try:
        if not view:
            raise InputError("the file is empty", hint="expected a cubin or a file that holds GPU code")
        if not looks_like_container(bytes(view[:8])):
            raise InputError(
                f"not a GPU binary: it starts with {bytes(view[:8])!r}",
                hint="expected a cubin, fat binary, object, library, program, archive or wheel",
            )
        yield from reader.file_entries(view, _Numbers(""))
        if not reader.found:
            raise NoDeviceCodeError(
                "holds no GPU code", hint="give the library or object that its kernels are in"
            )
    except InputError as error:
        error.at(file=file)
        raise


@dataclass(slots=True)
class _Numbers:
    """Names for the entries of one file: cubins, PTX and the rest are counted apart."""

    prefix: str
    counts: dict[str, int] = field(default_factory=dict)

    def name(self, suffix: str, arch: str) -> str:
        self.counts[suffix] = self.counts.get(suffix, 0) + 1
        return f"{self.prefix}{self.counts[suffix]}.{arch}.{suffix}"


@dataclass(slots=True)
class _Reader:
    file: str
    select: Select
    found: bool = False
    """Whether there was any GPU code, even if it could not be read or was not wanted."""

    def file_entries(self, view: memoryview, numbers: _Numbers, depth: int = 0) -> Iterator[Entry | Problem]:
        """Entries of a file of any kind; one that holds no GPU code has none."""
        head = bytes(view[:8])
        if head.startswith(fatbin.MAGIC):
            yield from self._fatbin(view, numbers)
        elif head.startswith(ELF_MAGIC):
            yield from self._elf(view, numbers)
        elif head.startswith(_PE_MAGIC):
            yield from self._embedded(view, numbers)
        elif head.startswith((archives.AR_MAGIC, archives.AR_THIN_MAGIC)) and depth < _DEEPEST:
            yield from self._members(archives.ar_members(view), numbers, depth)
        elif head.startswith(archives.ZIP_MAGIC) and not depth:
            yield from self._members(archives.zip_members(view, _in_wheel), numbers, depth)

    def _members(
        self, members: Iterator[archives.Member | InputError], numbers: _Numbers, depth: int
    ) -> Iterator[Entry | Problem]:
        for member in members:
            if isinstance(member, InputError):
                yield self._problem(member, numbers.prefix.rstrip("/"))
            elif member.name.endswith(".ptx"):
                yield from self._ptx(member, numbers)
            else:
                inside = numbers.prefix + member.name
                try:
                    yield from self.file_entries(member.data, _Numbers(inside + "/"), depth + 1)
                except InputError as error:
                    yield self._problem(error, inside)

    def _elf(self, view: memoryview, numbers: _Numbers) -> Iterator[Entry | Problem]:
        if bytes(view[: len(_ELF64)]) != _ELF64:
            return
        if _machine(view) == MACHINE_CUDA:
            # a cubin that is itself a member of an archive bears the member's name
            yield from self._cubin(view, numbers, numbers.prefix.rstrip("/"))
            return
        image = read_image(view)
        sections = _fatbin_sections(image)
        if sections is None:
            yield from self._embedded(view, numbers)
        else:
            for content in sections:
                yield from self._fatbin(content, numbers)

    def _fatbin(self, view: memoryview, numbers: _Numbers) -> Iterator[Entry | Problem]:
        for packed in fatbin.walk(view):
            made = self._packed(packed, numbers)
            if made is not None:
                yield made

    def _embedded(self, view: memoryview, numbers: _Numbers) -> Iterator[Entry | Problem]:
        """Fat binaries and cubins that lie somewhere in a file without a section of their own."""
        offset = 0
        while found := _EMBEDDED.search(view, offset):
            start = found.start()
            offset = start + len(fatbin.MAGIC)
            container = fatbin.container_at(view, start)
            if container is not None:
                yield from self._fatbin(container, numbers)
                offset = start + len(container)
            elif _machine(view[start:]) == MACHINE_CUDA:
                try:
                    size = file_size(read_image(view[start:]))
                    yield from self._cubin(view[start : start + size], numbers)
                    offset = start + size
                except InputError as error:
                    yield self._problem(error, numbers.name("cubin", f"at_{start}"))

    def _cubin(self, view: memoryview, numbers: _Numbers, name: str = "") -> Iterator[Entry | Problem]:
        arch = cubin_arch(view)
        made = self._entry(name or numbers.name("cubin", arch), "cubin", arch, lambda: bytes(view))
        if made is not None:
            yield made

    def _ptx(self, member: archives.Member, numbers: _Numbers) -> Iterator[Entry | Problem]:
        target = _PTX_TARGET.search(member.data)
        arch = target[1].decode() if target else ""
        made = self._entry(numbers.prefix + member.name, "ptx", arch, lambda: bytes(member.data))
        if made is not None:
            yield made

    def _packed(self, packed: fatbin.Packed | InputError, numbers: _Numbers) -> Entry | Problem | None:
        if isinstance(packed, InputError):
            return self._problem(packed, numbers.name("damaged", "entry"))
        match packed.kind:
            case fatbin.KIND_CUBIN:
                return self._entry(numbers.name("cubin", packed.arch), "cubin", packed.arch, packed.unpack)
            case fatbin.KIND_PTX:
                return self._entry(numbers.name("ptx", packed.arch), "ptx", packed.arch, packed.unpack)
            case fatbin.KIND_INTERMEDIATE:
                self.found = True
                place = Place(self.file, entry=numbers.name("ltoir", packed.arch))
                text = "intermediate code for the linker, no machine code yet"
                return Problem(text, place, kind="intermediate", exit_code=EXIT_FOUND)
        name = numbers.name(f"kind{packed.kind}", packed.arch)
        return self._problem(InputError(f"GPU code of unknown kind {packed.kind}"), name)

    def _entry(self, name: str, kind: Kind, arch: str, unpack: Callable[[], bytes]) -> Entry | Problem | None:
        self.found = True
        if not self.select(name, kind, arch):
            return None
        sm = _SM.match(arch)
        if kind == "cubin" and sm and int(sm[1]) < OLDEST_SM:
            hint = f"nvdisasm 13 reads sm_{OLDEST_SM} and newer"
            return self._problem(UnsupportedArchError(f"{arch} code is not supported", hint=hint), name)
        try:
            return Entry(name, kind, arch, unpack())
        except InputError as error:
            return self._problem(error, name)

    def _problem(self, error: InputError, entry: str) -> Problem:
        self.found = True
        return Problem.of(error.at(file=self.file, entry=entry))


def _machine(view: memoryview) -> int:
    return int.from_bytes(view[_MACHINE_OFFSET : _MACHINE_OFFSET + 2], "little")


def _fatbin_sections(image: Image) -> list[memoryview] | None:
    """The contents to read of a host file, or None where it has no section for fat binaries."""
    linked = [section for section in image.sections if section.name.startswith(_LINKED)]
    relocatable = [section for section in image.sections if section.name.startswith(_RELOCATABLE)]
    if not linked and not relocatable:
        return None
    # an object may hold both kinds by itself, a linked file only as the parts of what it also has linked
    chosen = linked + relocatable if image.type == TYPE_RELOCATABLE else linked or relocatable
    return [image.content(section) for section in chosen]


def _in_wheel(name: str, head: bytes) -> bool:
    return name.endswith(".ptx") or (looks_like_container(head) and not head.startswith(archives.ZIP_MAGIC))
