"""Any input to modules: what a file is decides its content, its name only helps with text."""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from sassql.errors import EXIT_FOUND, InputError, Place, Problem, SassqlError, UsageError
from sassql.model.kernel import Source
from sassql.model.program import Module, Program
from sassql.reading import containers, text
from sassql.reading.cubin import read_modules
from sassql.reading.listing import looks_like_listing, read_listing

DEFAULT_ARCH = "sm_90"
SUFFIXES = frozenset({".cubin", ".fatbin", ".o", ".a", ".so", ".sass", ".cu", ".ptx", ".whl"})
"""Files that a folder is searched for; a file named on its own may have any name."""

_BATCH_BYTES = 32 << 20
_HEAD = 1 << 16
_ELF = b"\x7fELF"
_ARCH = re.compile(r"sm_\d+[af]?|all")
_CUDA_MACHINE = b"\xbe\x00"

Found = Module | Problem


@dataclass(frozen=True, slots=True)
class RawCubin:
    """A cubin that is taken out of its container and not read yet."""

    data: bytes
    source: Source


@dataclass(frozen=True, slots=True)
class Options:
    """How to read: ``architectures`` selects entries and is what sources are compiled for.

    ``reader`` is ``words``, or ``text`` for whole listings of nvdisasm in place of the word table;
    ``none`` is for `take`.
    """

    architectures: tuple[str, ...] = ()
    jobs: int = 2
    reader: Literal["words", "text", "none"] = "words"

    def wants(self, arch: str) -> bool:
        return not self.architectures or arch in self.architectures


EVERYTHING = Options()
"""Every architecture that is there; sources for the default one."""


def architectures(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """Architectures as people name them: a comma-separated list, or several names; none for nothing.

    Raises:
        UsageError: one of them is not written like an architecture.
    """
    given = names.split(",") if isinstance(names, str) else names or ()
    found = tuple(name.strip() for name in given if name.strip())
    for name in found:
        if not _ARCH.fullmatch(name):
            raise UsageError(f"{name!r} is not an architecture", hint="write it like sm_90 or sm_90a")
    return found


def read(path: Path, options: Options = EVERYTHING) -> Iterator[Found]:
    """Modules of a file or of the files of a folder, in order, as they are read.

    What cannot be read comes as a `Problem` in its place; only a path that does not exist
    raises.

    Raises:
        UsageError: there is no such file.
    """
    if path.is_dir():
        yield from _folder(path, options)
        return
    if not path.exists():
        raise UsageError("no such file or folder", place=Place(str(path)))
    try:
        yield from _file(path, options)
    except SassqlError as error:
        yield Problem.of(error.at(file=str(path)))
    except OSError as error:
        yield Problem(error.strerror or str(error), Place(str(path)), "check the path and its permissions")


def take(path: Path, options: Options = EVERYTHING) -> Iterator[RawCubin | Found]:
    """The cubins of a file or a folder as they are, for another process to read; listings are read.

    Architectures of cubins that stand alone are not looked at: whoever reads them does that.

    Raises:
        UsageError: there is no such file.
    """
    return read(path, replace(options, reader="none"))


def count_entries(path: Path, options: Options = EVERYTHING) -> int:
    """How many cubins a file or folder has, without taking them out; 1 for a file that is no container."""
    if path.is_dir():
        return sum(count_entries(file, options) for file in files_of(path))
    found = 0

    def count(_: str, kind: Literal["cubin", "ptx"], arch: str) -> bool:
        nonlocal found
        found += kind == "cubin" and options.wants(arch)
        return False

    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if content[:4] == _ELF and content[18:20] == _CUDA_MACHINE:
                return 1
            with memoryview(content) as view:
                list(containers.entries(view, file=str(path), select=count))
    except (SassqlError, OSError, ValueError, BufferError):
        return found or 1
    return found


def read_bytes(
    data: bytes | bytearray | memoryview, name: str = "<bytes>", options: Options = EVERYTHING
) -> Iterator[Found]:
    """The same for the content of a file, called ``name`` in messages."""
    try:
        yield from _content(memoryview(data), name, options)
    except SassqlError as error:
        yield Problem.of(error.at(file=name))


def collect(source: str, found: Iterator[Found]) -> Program:
    """A `Program` from what a reader yields."""
    everything = list(found)
    return Program(
        source=source,
        modules=tuple(m for m in everything if isinstance(m, Module)),
        problems=tuple(p for p in everything if isinstance(p, Problem)),
    )


def files_of(folder: Path) -> list[Path]:
    """The files of a folder that can hold SASS or its source, sorted, hidden folders left out."""
    found = (p for p in folder.rglob("*") if p.is_file() and not _hidden(p.relative_to(folder)))
    return sorted(p for p in found if p.suffix in SUFFIXES or ".so." in p.name)


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _folder(folder: Path, options: Options) -> Iterator[Found]:
    """Everything in a folder; libraries of host code are one note, unless there is nothing else."""
    host_code: list[Problem] = []
    any_module = False
    for found in _files_in(folder, options):
        if (
            isinstance(found, Problem)
            and found.kind == "nodevicecode"
            and Path(found.place.file).suffix not in (".cubin", ".fatbin")
        ):
            host_code.append(found)
        else:
            any_module |= isinstance(found, Module)
            yield found
    if host_code and any_module:
        names = ", ".join(Path(p.place.file).name for p in host_code[:3])
        names += " …" if len(host_code) > 3 else ""
        message = f"{len(host_code)} files hold no GPU code: {names}"
        yield Problem(message, Place(str(folder)), "", "note", EXIT_FOUND)
    else:
        yield from host_code


def _files_in(folder: Path, options: Options) -> Iterator[Found]:
    files = files_of(folder)
    if not files:
        hint = f"looked for files that end in {' '.join(sorted(SUFFIXES))}"
        yield Problem("the folder has nothing to read", Place(str(folder)), hint)
    batch: list[tuple[bytes, Source]] = []
    size = 0
    for path in files:
        if _is_cubin(path):
            content = path.read_bytes()
            batch.append((content, Source(str(path))))
            size += len(content)
            if size >= _BATCH_BYTES:
                yield from read_cubins(batch, options)
                batch, size = [], 0
        else:
            yield from read_cubins(batch, options)
            batch, size = [], 0
            yield from read(path, options)
    yield from read_cubins(batch, options)


def _is_cubin(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(20)
    except OSError:
        return False
    return head.startswith(_ELF) and head[18:20] == _CUDA_MACHINE


def _file(path: Path, options: Options) -> Iterator[Found]:
    if not path.is_file():  # a pipe
        yield from _content(memoryview(path.read_bytes()), str(path), options)
        return
    if not path.stat().st_size:
        raise InputError("the file is empty", hint="build or copy it again")
    with path.open("rb") as file:
        # never closed by hand: an error on its way up still holds views of it
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    yield from _content(memoryview(content), str(path), options)


def _content(view: memoryview, name: str, options: Options) -> Iterator[Found]:
    head = bytes(view[:_HEAD])
    if not head:
        raise InputError("no bytes at all", hint="build or copy the file again")
    suffix = Path(name).suffix
    if head.startswith(_ELF) and head[18:20] == _CUDA_MACHINE:
        yield from read_cubins([(bytes(view), Source(name))], options)
    elif containers.looks_like_container(head):
        yield from _container(view, name, options)
    elif suffix == ".cu":
        yield from _compiled("cuda", bytes(view).decode("utf-8", "replace"), name, options)
    elif suffix == ".ptx" or _is_ptx(head):
        yield from _compiled("ptx", bytes(view).decode("utf-8", "replace"), name, options)
    elif b"\0" not in head and (suffix == ".sass" or looks_like_listing(head.decode("utf-8", "replace"))):
        yield from _listing(bytes(view).decode("utf-8", "replace"), name, options)
    elif b"\0" not in head and b"__global__" in head:
        yield from _compiled("cuda", bytes(view).decode("utf-8", "replace"), name, options)
    else:
        raise InputError(
            _unknown(head, suffix), hint="expected a cubin, fat binary, library, listing, .cu or .ptx"
        )


def _unknown(head: bytes, suffix: str) -> str:
    printable = sum(32 <= b < 127 or b in b"\n\r\t" for b in head[:256])
    kind = (
        "text without a SASS instruction" if printable > 0.95 * len(head[:256]) else "no known kind of file"
    )
    return f"{kind} in a file named {suffix}" if suffix == ".cubin" else kind


def _is_ptx(head: bytes) -> bool:
    lines = [line.strip() for line in head.decode("utf-8", "replace").splitlines()]
    code = [line for line in lines if line and not line.startswith("//")]
    return bool(code) and code[0].startswith(".version")


def read_cubins(batch: Sequence[tuple[bytes, Source]], options: Options) -> Iterator[Found]:
    """Modules of cubins held in memory, each a `Problem` in its place where it cannot be read."""
    if not batch:
        return
    if options.reader == "none":
        yield from (RawCubin(data, source) for data, source in batch)  # type: ignore[misc]
        return
    found = read_modules(batch, jobs=options.jobs) if options.reader == "words" else map(_by_text, batch)
    for result in found:
        if isinstance(result, SassqlError):
            yield Problem.of(result)
        else:
            module, problems = result
            if options.wants(module.arch):
                yield module
                yield from problems


def _by_text(one: tuple[bytes, Source]) -> tuple[Module, list[Problem]] | SassqlError:
    data, source = one
    try:
        return text.read_module(data, source)
    except SassqlError as error:
        return error.at(file=source.file, entry=source.entry)


def _container(view: memoryview, name: str, options: Options) -> Iterator[Found]:
    def select(_: str, kind: Literal["cubin", "ptx"], arch: str) -> bool:
        return kind == "ptx" or options.wants(arch)

    batch: list[tuple[bytes, Source]] = []
    size = ptx = cubins = 0
    for entry in containers.entries(view, file=name, select=select):
        if isinstance(entry, Problem):
            yield entry
        elif entry.kind == "ptx":
            ptx += 1
        else:
            cubins += 1
            batch.append((entry.data, Source(name, entry.name)))
            size += len(entry.data)
            if size >= _BATCH_BYTES:
                yield from read_cubins(batch, options)
                batch, size = [], 0
    yield from read_cubins(batch, options)
    if ptx:
        hint = "" if cubins else "save one as a .ptx file to have it assembled"
        yield Problem(
            f"{ptx} PTX entries are no machine code and were not read", Place(name), hint, "note", EXIT_FOUND
        )


def _listing(listing: str, name: str, options: Options) -> Iterator[Found]:
    arch = options.architectures[0] if len(options.architectures) == 1 else ""
    modules, problems = read_listing(listing, file=name, arch=arch)
    yield from (m for m in modules if options.wants(m.arch))
    yield from problems


def _compiled(language: str, code: str, name: str, options: Options) -> Iterator[Found]:
    from sassql.reading import compile as compiling  # noqa: PLC0415  (NVRTC is loaded for sources only)

    make: Callable[..., compiling.Compiled]
    make = compiling.compile_cuda if language == "cuda" else compiling.compile_ptx
    batch = []
    for arch in options.architectures or (DEFAULT_ARCH,):
        try:
            made = make(code, name=name, arch=arch)
        except SassqlError as error:
            yield Problem.of(error.at(file=name))
        else:
            batch.append((made.cubin, Source(name, arch if len(options.architectures) > 1 else "")))
    yield from read_cubins(batch, options)
