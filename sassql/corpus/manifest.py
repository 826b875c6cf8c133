"""Reads what a corpus folder says about itself: `manifest.toml`, or just its ``.cu`` files.

    name = "lowering"                            # letters, digits, - and _
    title = "150 annotated kernels"
    about = "…"                                  # optional
    architectures = ["sm_80", "sm_90"]           # optional; built when nothing else is asked for
    all_architectures = ["sm_75", "sm_80", …]    # optional; what `--arch all` means
    options = ["--std=c++17"]                    # optional; for the compiler

    [[source]]
    file = "softmax.cu"                          # .cu or .ptx, relative to the folder
    subject = "softmax"
    kernels = 8                                  # optional; how many the source has
    headers = false                              # optional; true: it includes CUDA headers

A folder without a manifest is a corpus too: all its ``.cu`` files, for sm_90.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from sassql.errors import Place, UsageError
from sassql.reading.compile import DEFAULT_ARCH
from sassql.resources import cache_root

MANIFEST = "manifest.toml"
SUFFIXES = (".cu", ".ptx")

_TOP = {
    "name": str,
    "title": str,
    "about": str,
    "architectures": list,
    "all_architectures": list,
    "options": list,
    "source": list,
}
_SOURCE = {"file": str, "subject": str, "kernels": int, "headers": bool}
_REQUIRED = {"name", "title", "source", "file", "subject"}
_WORDS = {str: "a text", list: "a list of texts", int: "a number", bool: "true or false"}
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
_FOLDER_OPTION = re.compile(r"(-I|--include-path)=?(.*)")
_TOML_PLACE = re.compile(r"\s*\(at line (\d+), column (\d+)\)$")


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a corpus."""

    file: str
    """Path in the corpus folder, with ``/``."""
    subject: str = ""
    kernels: int | None = None
    """How many kernels the file has, where the manifest says it."""
    headers: bool | None = None
    """Whether it includes CUDA headers, where the manifest says it."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a corpus folder holds and how it is compiled."""

    folder: Path
    name: str
    sources: tuple[Source, ...]
    title: str = ""
    about: str = ""
    architectures: tuple[str, ...] = (DEFAULT_ARCH,)
    all_architectures: tuple[str, ...] = ()
    """Empty: everything that the compiler knows."""
    options: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    """``.cu`` files of the folder that the manifest does not name."""

    @property
    def built(self) -> Path:
        """Folder for the cubins of this corpus; two folders of one name do not share it."""
        digest = hashlib.sha256(str(self.folder.resolve()).encode()).hexdigest()
        return cache_folder() / f"{self.name}-{digest[:8]}"

    @property
    def compiler_options(self) -> tuple[str, ...]:
        """The options with include folders relative to the corpus, wherever the build runs."""
        options: list[str] = []
        waiting = ""
        for option in self.options:
            match = _FOLDER_OPTION.fullmatch(waiting + option)
            waiting = ""
            if match is None:
                options.append(option)
            elif match[2]:
                options.append(f"--include-path={(self.folder / match[2]).resolve()}")
            else:
                waiting = f"{match[1]}="
        return tuple(options)

    def include_folders(self, source: Source) -> tuple[Path, ...]:
        """Where a source finds local headers: beside itself, in the corpus, where the options say."""
        named = filter(None, map(_FOLDER_OPTION.fullmatch, self.compiler_options))
        folder = self.folder.resolve()
        return ((folder / source.file).parent, folder, *(Path(match[2]) for match in named))


def cache_folder() -> Path:
    """Folder with everything that corpora were built to; `SASSQL_CACHE` names another root."""
    return cache_root() / "corpora"


def load_manifest(folder: Path) -> Manifest:
    """What the folder says about itself.

    Raises:
        UsageError: no such folder, nothing to compile, TOML that does not parse, an unknown or
            missing key, a file that is not there; with file and line.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise UsageError("no such folder", place=Place(str(folder)))
    path = folder / MANIFEST
    if path.is_file():
        return _Reader(path).manifest()
    sources = tuple(Source(file) for file in _cuda_files(folder))
    if not sources:
        raise UsageError(f"no {MANIFEST} and no .cu files: not a corpus", place=Place(str(folder)))
    name = re.sub(r"[^\w-]+", "_", folder.resolve().name, flags=re.ASCII) or "corpus"
    return Manifest(folder, name, sources)


def local_headers(source: Path, folders: Iterable[Path]) -> tuple[Path, ...]:
    """Every file that ``source`` includes from its own folder or from ``folders``, at any depth.

    The search reads ``#include`` lines and runs no preprocessor: lines in a disabled branch
    count, and a file whose name comes from a macro is not seen.
    """
    folders = tuple(folders)
    found: dict[Path, None] = {}
    waiting = [source]
    while waiting:
        current = waiting.pop()
        try:
            text = current.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for quoted, bracketed in _INCLUDE.findall(text):
            places = (current.parent, *folders) if quoted else (source.parent, *folders)
            header = next((p for f in places if (p := (f / (quoted or bracketed)).resolve()).is_file()), None)
            if header is not None and header not in found and header != source.resolve():
                found[header] = None
                waiting.append(header)
    return tuple(sorted(found))


@contextlib.contextmanager
def locked(folder: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Lets one build at a time into a folder, where the file system knows locks.

    ``waiting`` is called once when another build is in there.

    Raises:
        UsageError: the folder cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".lock").open("ab")
    except OSError as error:
        raise UsageError(
            f"the cache cannot be written: {error.strerror}",
            place=Place(str(folder)),
            hint="set SASSQL_CACHE to a folder that can",
        ) from None
    with file:
        try:
            import fcntl  # noqa: PLC0415 - not on every system

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(file, fcntl.LOCK_EX)
        except (ImportError, OSError):
            pass  # no locks here: every write is atomic all the same
        yield


class _Reader:
    """One manifest file on its way to a `Manifest`; keeps the text for the lines of its errors."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.text = path.read_text(encoding="utf-8")
            self.content = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            lines = self.text.splitlines() or [""]
            found = _TOML_PLACE.search(str(error))
            line, column = (int(found[1]), int(found[2])) if found else (len(lines), None)
            message = _TOML_PLACE.sub("", str(error)).removesuffix(" (at end of document)")
            place = Place(str(path), line, column)
            raise UsageError(f"bad TOML: {message}", place=place, source_line=lines[line - 1]) from None
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot be read: {error}", place=Place(str(path))) from None

    def manifest(self) -> Manifest:
        top = self.content
        self._check(top, _TOP, None)
        if not re.fullmatch(r"[\w-]+", top["name"], re.ASCII):
            self._refuse(f"name {top['name']!r} may have letters, digits, - and _ only", "name")
        if not top["source"]:
            self._refuse("no [[source]]", "source")
        sources = tuple(self._source(entry, index) for index, entry in enumerate(top["source"]))
        listed = {source.file for source in sources}
        return Manifest(
            folder=self.path.parent,
            name=top["name"],
            sources=sources,
            title=top["title"],
            about=top.get("about", "").strip(),
            architectures=self._texts("architectures") or (DEFAULT_ARCH,),
            all_architectures=self._texts("all_architectures"),
            options=self._texts("options"),
            unlisted=tuple(file for file in _cuda_files(self.path.parent) if file not in listed),
        )

    def _source(self, entry: object, index: int) -> Source:
        if not isinstance(entry, dict):
            self._refuse("source must be written as [[source]] tables", "source")
        self._check(entry, _SOURCE, index)
        file = Path(entry["file"])
        if file.is_absolute() or ".." in file.parts:
            self._refuse(f"file {entry['file']!r} is outside the corpus folder", "file", index)
        if file.suffix not in SUFFIXES:
            self._refuse(f"file {entry['file']!r} is neither .cu nor .ptx", "file", index)
        if not (self.path.parent / file).is_file():
            self._refuse(f"file {entry['file']!r} does not exist", "file", index)
        before = [earlier.get("file") for earlier in self.content["source"][:index]]
        if entry["file"] in before:
            self._refuse(f"file {entry['file']!r} is listed twice", "file", index)
        return Source(file.as_posix(), entry["subject"], entry.get("kernels"), entry.get("headers"))

    def _check(self, table: Mapping[str, object], known: Mapping[str, type], index: int | None) -> None:
        for key, value in table.items():
            if key not in known:
                self._refuse(f"unknown key {key!r}", key, index, hint=f"known: {', '.join(known)}")
            # true is an int for isinstance, and never meant as one
            if type(value) is not known[key]:
                self._refuse(f"{key} must be {_WORDS[known[key]]}", key, index)
        for key in known:
            if key in _REQUIRED and key not in table:
                self._refuse(f"missing key {key!r}", None, index)

    def _texts(self, key: str) -> tuple[str, ...]:
        values = self.content.get(key, [])
        if not all(isinstance(value, str) for value in values):
            self._refuse(f"{key} must be a list of texts", key)
        if key != "options":
            for value in values:
                if not re.fullmatch(r"sm_\d+[a-z]?", value):
                    self._refuse(f"{key}: {value!r} is not an architecture", key, hint="write it like sm_90")
            values = dict.fromkeys(values)
        return tuple(values)

    def _refuse(self, message: str, key: str | None, index: int | None = None, *, hint: str = "") -> NoReturn:
        place = Place(str(self.path), self._line(key, index))
        raise UsageError(message, place=place, hint=hint)

    def _line(self, key: str | None, index: int | None) -> int | None:
        """Line of a key, of the table it is missing from, or None: tomllib keeps no positions."""
        lines = self.text.splitlines()
        starts = [n for n, line in enumerate(lines) if re.match(r"\s*\[\[\s*source\s*\]\]", line)]
        if index is None:
            first, last = 0, len(lines) if key == "source" else next(iter(starts), len(lines))
        elif index < len(starts):
            first, last = starts[index], [*starts, len(lines)][index + 1]
        else:
            return None
        if key is None:
            return first + 1
        pattern = re.compile(rf"\s*(\[\[?\s*)?[\"']?{re.escape(key)}[\"']?\s*[]=.]")
        return next((n + 1 for n in range(first, last) if pattern.match(lines[n])), None)


def _cuda_files(folder: Path) -> list[str]:
    files = (path.relative_to(folder) for path in folder.rglob("*.cu") if path.is_file())
    return sorted(file.as_posix() for file in files if not any(part.startswith(".") for part in file.parts))
