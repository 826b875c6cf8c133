"""The members of `ar` archives (static libraries) and of zip files (Python wheels)."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sassql.errors import InputError, Place
from sassql.reading.sections import printable

AR_MAGIC = b"!<arch>\n"
AR_THIN_MAGIC = b"!<thin>\n"
ZIP_MAGIC = b"PK\x03\x04"

LARGEST_MEMBER = 1 << 33
"""Bytes of a zip member, unpacked; a bound on what a damaged or hostile file can ask for."""

ZipFilter = Callable[[str, bytes], bool]
"""(name, first bytes) of a zip member -> whether to unpack it."""

_HEAD = 16
_AR_HEADER = 60
_AR_END = b"`\n"
_BSD_LONG_NAME = "#1/"
_DAMAGED = "the file is truncated or corrupt"
# everything that zipfile lets through for a damaged, encrypted or oddly compressed member
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OSError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Member:
    """A file inside an archive; the name is made unique with ``#2`` where it occurs again."""

    name: str
    data: memoryview


def ar_members(data: memoryview) -> Iterator[Member | InputError]:
    """The files of a GNU or BSD archive, without its symbol and name tables.

    A damaged header hides all that follows, since only headers say where the next is.
    """
    if bytes(data[:8]) == AR_THIN_MAGIC:
        raise InputError("a thin archive names its members and does not hold them", hint="give the objects")
    names: bytes = b""
    used: dict[str, int] = {}
    offset = len(AR_MAGIC)
    while offset < len(data):
        header = bytes(data[offset : offset + _AR_HEADER])
        size = header[48:58].strip()
        start = offset + _AR_HEADER
        if header[58:60] != _AR_END or not size.isdigit() or start + int(size) > len(data):
            yield InputError(f"damaged archive member at byte {offset}", hint=_DAMAGED)
            return
        content = data[start : start + int(size)]
        offset = start + int(size) + int(size) % 2
        title = header[:16].decode("latin-1").rstrip()
        if title == "//":
            names = bytes(content)
        elif title not in ("/", "/SYM64/"):
            name, content = _ar_name(title, names, content)
            if not name.startswith("__.SYMDEF"):
                yield Member(_unique(name, used), content)


def zip_members(data: memoryview, wanted: ZipFilter) -> Iterator[Member | InputError]:
    """The files of a zip archive that `wanted` accepts by name and first bytes, unpacked one at a time.

    Raises InputError for a file whose table of contents cannot be read.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except _ZIP_ERRORS as error:
        raise InputError(f"the zip archive cannot be read: {error}", hint=_DAMAGED) from None
    with archive:
        used: dict[str, int] = {}
        for info in archive.infolist():
            name = _unique(info.filename, used)
            try:
                member = _zip_member(archive, info, wanted)
            except _ZIP_ERRORS as error:
                place = Place(entry=name)
                yield InputError(f"the member cannot be read: {error}", place=place, hint=_DAMAGED)
                continue
            if member is not None:
                yield Member(name, memoryview(member))


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, wanted: ZipFilter) -> bytes | None:
    if info.is_dir() or not info.file_size:
        return None
    with archive.open(info) as stream:
        if not wanted(info.filename, stream.read(_HEAD)):
            return None
    if info.file_size > LARGEST_MEMBER:
        raise ValueError(f"{info.file_size} bytes are more than {LARGEST_MEMBER}")
    return archive.read(info)


def _ar_name(title: str, names: bytes, content: memoryview) -> tuple[str, memoryview]:
    """The member's name, and its content without a name that is kept there (BSD)."""
    if title.startswith(_BSD_LONG_NAME) and title[3:].isdecimal():
        length = int(title[3:])
        return bytes(content[:length]).rstrip(b"\0").decode("utf-8", "replace"), content[length:]
    if title[:1] == "/" and title[1:].isdecimal():
        start = int(title[1:])
        end = names.find(b"\n", start)
        if end >= 0:
            return names[start:end].decode("utf-8", "replace").removesuffix("/"), content
    return title.removesuffix("/"), content


def _unique(title: str, used: dict[str, int]) -> str:
    name = printable(title)
    used[name] = used.get(name, 0) + 1
    return name if used[name] == 1 else f"{name}#{used[name]}"
