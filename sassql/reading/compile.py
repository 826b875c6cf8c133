"""Compiles CUDA C++ with NVRTC and PTX with nvJitLink; needs neither a toolkit nor a GPU.

NVRTC takes no PTX and nvJitLink no C++, hence two functions with one result. Both libraries come
through cuda-python, which looks into the wheels of this environment first.

NVRTC has device code only: no host headers (``<vector>``, ``<stdio.h>``) and no ``<<<…>>>``.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Literal

from sassql.errors import CompileError, Place, ToolMissingError, UsageError
from sassql.reading import tools

LibraryName = Literal["NVRTC", "nvJitLink"]

DEFAULT_ARCH = "sm_90"
DEFAULT_STANDARD = "--std=c++17"
LIBRARY_WHEELS = {"NVRTC": "nvidia-cuda-nvrtc", "nvJitLink": "nvidia-nvjitlink"}
HEADER_WHEELS = {"cuda_fp16.h": "nvidia-cuda-runtime", "crt/host_defines.h": "nvidia-cuda-crt"}
_HEADER_WHEEL = f"wheel {HEADER_WHEELS['cuda_fp16.h']}"
CCCL_WHEEL = "nvidia-cuda-cccl"

_MODULES = {"NVRTC": "cuda.bindings.nvrtc", "nvJitLink": "cuda.bindings.nvjitlink"}
_FILES = {"NVRTC": "nvrtc", "nvJitLink": "nvJitLink"}
_FIRST_SPECIFIC, _FIRST_FAMILY = 90, 100
"""From these numbers on there is an ``a`` and an ``f`` variant; NVRTC lists the plain ones only."""

_ARCH_OPTION = re.compile(r"--?(gpu-architecture|arch)(=|$)")
_STANDARD_OPTION = re.compile(r"--?std(=|$)")
_CPP_ERROR = re.compile(r"(?P<file>.+?)\((?P<line>\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (?P<text>.*)")
_END_ERROR = re.compile(r"At end of source: (?:catastrophic )?error(?: #[\w-]+)?: (?P<text>.*)")
_PTX_ERROR = re.compile(
    r"ptxas (?:application ptx input, line (?P<line>\d+); )?(?:error|fatal)\s*: (?P<text>.*)"
)
_OTHER_ERROR = re.compile(
    r"^(?:nvrtc: error|Command-line error|ERROR \d+|error\s*): (?P<text>.*)$", re.MULTILINE
)
_HOST_HEADER = re.compile(r"[a-z_0-9]+|(std|string|math|assert|limits|float|time|errno|ctype)\w*\.h")
_NO_FILE = re.compile(r'(?:could not|cannot) open source file "([^"]+)"')
_HINTS = (
    (r"not supported on \.target|requires \.target", "ask for a later architecture or its a or f variant"),
    (
        r"cannot be compiled for architecture|is higher than default",
        "ask for the architecture that .target names",
    ),
    (r"Unsupported \.version", "pip install --upgrade nvidia-nvjitlink"),
    (r"Unresolved extern|Undefined reference", "define the function here, or compile with -rdc=true"),
    (r"does not match type", "the file holds no PTX text"),
)


@dataclass(frozen=True, slots=True)
class Compiled:
    """One cubin and how it came to be."""

    arch: str
    cubin: bytes
    log: str
    """Warnings of the compiler, or an empty string."""
    options: tuple[str, ...]
    """Everything that the compiler was told, architecture and include folders too."""
    compiler: str
    """``NVRTC 13.5`` or ``nvJitLink 13.5``."""


@dataclass(frozen=True, slots=True)
class Library:
    """A compiler library that was loaded."""

    name: str
    path: Path
    version: str
    """``13.5.37`` when it came from a wheel, else what the library says: ``13.5``."""


@dataclass(frozen=True, slots=True)
class Headers:
    """Where `#include <cuda_fp16.h>` and its like are found.

    ``version`` is ``13.5.37`` for a wheel, ``13.5`` for a toolkit, and has both when both are used.
    """

    folders: tuple[Path, ...]
    source: str
    version: str


def compile_cuda(
    source: str, *, name: str, arch: str, options: Sequence[str] = (), include: Sequence[Path] = ()
) -> Compiled:
    """Compiles CUDA C++ for one architecture with NVRTC.

    Args:
        source: the text.
        name: file name for messages and ``__FILE__``; its folder is searched for ``#include "…"``.
        arch: ``sm_90``, ``sm_90a``, ``sm_100f`` …
        options: NVRTC options; ``--std=c++17`` is the default standard.
        include: folders searched before those of the CUDA headers.

    Raises:
        CompileError: NVRTC refuses the source; place and message of its first error.
        UsageError: an unknown architecture or option.
        ToolMissingError: there is no NVRTC.
    """
    nvrtc, version = _loaded("NVRTC")
    _check(arch, options)
    if "\0" in source:
        line = source[: source.index("\0")].count("\n") + 1
        raise CompileError("the source has a NUL character", place=Place(name, line))
    folders = [*include, *cuda_headers().folders]
    standard = [] if any(map(_STANDARD_OPTION.match, options)) else [DEFAULT_STANDARD]
    told = [
        f"--gpu-architecture={arch}",
        *standard,
        *options,
        *(f"--include-path={folder}" for folder in folders),
    ]
    status, program = nvrtc.nvrtcCreateProgram(
        source.encode("utf-8", "surrogateescape"), os.fsencode(name), 0, [], []
    )
    _expect(nvrtc, status)
    try:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(told), [os.fsencode(option) for option in told])
        log = _text(_fetched(nvrtc, program, "ProgramLog"))
        if status == nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_OPTION:
            raise UsageError(f"NVRTC: {_other(log)}")
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise _refusal(log or str(status), name, source)
        cubin = _fetched(nvrtc, program, "CUBIN")
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return Compiled(arch, _machine_code(cubin, name), log, tuple(told), f"NVRTC {version}")


def compile_ptx(ptx: str | bytes, *, name: str, arch: str, options: Sequence[str] = ()) -> Compiled:
    """Assembles PTX for one architecture with nvJitLink.

    Args:
        ptx: the text; a NUL at its end, as NVRTC writes it, does no harm.
        name: file name for messages.
        arch: the architecture to assemble for, not older than the ``.target`` of the text.
        options: nvJitLink options such as ``-lineinfo``.

    Raises:
        CompileError: the text is refused, or names a function that is not in it.
        UsageError: an unknown architecture or option.
        ToolMissingError: there is no nvJitLink.
    """
    linker, version = _loaded("nvJitLink")
    # the list is NVRTC's, and PTX must not need it: without it nvJitLink refuses what it does not know
    with contextlib.suppress(ToolMissingError):
        _check(arch, options)
    content = (ptx.encode("utf-8", "surrogateescape") if isinstance(ptx, str) else bytes(ptx)).rstrip(b"\0")
    if not content.strip():
        raise CompileError("the PTX text is empty", place=Place(name))
    told = (f"-arch={arch}", *options)
    try:
        handle = linker.create(len(told), list(told))
    except linker.nvJitLinkError as error:
        if error.status == linker.Result.ERROR_UNSUPPORTED_ARCH:
            raise UsageError(f"nvJitLink {version} does not know {arch}") from None
        raise UsageError(f"nvJitLink refuses one of the options {' '.join(told)}: {error}") from None
    source = content.decode("utf-8", "replace")
    try:
        linker.add_data(handle, linker.InputType.PTX, content, len(content), name)
        linker.complete(handle)
        cubin = bytearray(linker.get_linked_cubin_size(handle))
        linker.get_linked_cubin(handle, cubin)
        # a missing function is reported in the log while the call itself succeeds
        if _OTHER_ERROR.search(complaint := _linker_log(linker, handle, "error")):
            raise _refusal(complaint, name, source, ptx=True)
        log = "\n".join(filter(None, (complaint, _linker_log(linker, handle, "info"))))
    except linker.nvJitLinkError as error:
        raise _refusal(_linker_log(linker, handle, "error") or str(error), name, source, ptx=True) from None
    finally:
        linker.destroy(handle)
    return Compiled(arch, _machine_code(bytes(cubin), name), log, told, f"nvJitLink {version}")


def supported_architectures() -> tuple[str, ...]:
    """Everything that NVRTC compiles for: its own list, with the ``a`` and ``f`` variants.

    Raises:
        ToolMissingError: there is no NVRTC.
    """
    nvrtc, _ = _loaded("NVRTC")
    status, numbers = nvrtc.nvrtcGetSupportedArchs()
    _expect(nvrtc, status)
    suffixes = {number: _suffixes(number) for number in sorted(set(numbers))}
    return tuple(f"sm_{number}{suffix}" for number in suffixes for suffix in suffixes[number])


def library(name: LibraryName) -> Library:
    """Loads a compiler library and says which file it is.

    Raises:
        ToolMissingError: it was not found.
    """
    _, version = _loaded(name)
    loaded = importlib.import_module("cuda.pathfinder").load_nvidia_dynamic_lib(_FILES[name])
    path = Path(loaded.abs_path)
    return Library(name, path, tools.wheel_version(path, LIBRARY_WHEELS[name]) or version)


def cuda_headers() -> Headers:
    """The CUDA headers: those of the wheels, else of a toolkit; empty when there are none.

    A toolkit that `CUDA_HOME` or `CUDA_PATH` names is searched after the wheels, for what they lack
    (``curand_kernel.h``). The default toolkit is not: the same source would compile here and not
    elsewhere. ``include/cccl``, where libcu++ and CUB live, belongs to each of these folders.
    """
    wheels = [(folder / "include", _HEADER_WHEEL) for folder in tools.environment_folders()]
    named = [(kit.folder / "include", kit.source) for kit in tools.toolkits()]
    default = (tools.DEFAULT_TOOLKIT.folder / "include", tools.DEFAULT_TOOLKIT.source)
    usable = {place: None for place in (*wheels, *named, default) if (place[0] / "cuda_fp16.h").is_file()}
    main, *more = usable or [None]
    if main is None:
        return Headers((), "", "")
    used = [main, *(place for place in more if place in named)]
    places = dict.fromkeys(folder for folder, _ in used)
    folders = [folder for place in places for folder in (place, place / "cccl") if folder.is_dir()]
    version = ", ".join(map(_header_version, places))
    return Headers(tuple(folders), main[1], version)


def check_architecture(arch: str) -> None:
    """Refuses an architecture that NVRTC does not compile for.

    Raises:
        UsageError: with the closest match and the legal ones.
        ToolMissingError: there is no NVRTC.
    """
    legal = supported_architectures()
    if arch not in legal:
        import difflib  # noqa: PLC0415 - only for the message

        close = difflib.get_close_matches(arch.lower().replace("compute", "sm"), legal, n=1, cutoff=0.5)
        guess = f"did you mean {close[0]}? " if close else ""
        raise UsageError(f"unknown architecture {arch!r}", hint=f"{guess}legal: {', '.join(legal)}")


def _loaded(name: LibraryName) -> tuple[ModuleType, str]:
    """The binding of a library and the version that the library states, such as ``13.5``."""
    wheel = LIBRARY_WHEELS[name]
    try:
        module = importlib.import_module(_MODULES[name])
    except ImportError:
        raise ToolMissingError(
            f"{name} needs cuda-python, which is not installed", hint=f"pip install cuda-python {wheel}"
        ) from None
    try:
        numbers = module.nvrtcVersion()[1:] if name == "NVRTC" else module.version()
    except RuntimeError:
        # cuda-python finds the library at the first call, and says in many lines where it looked
        raise ToolMissingError(f"the library of {name} was not found", hint=f"pip install {wheel}") from None
    return module, ".".join(map(str, numbers))


def _check(arch: str, options: Sequence[str]) -> None:
    for option in options:
        if _ARCH_OPTION.match(option):
            raise UsageError(f"the option {option} sets the architecture", hint="give it as arch alone")
    check_architecture(arch)


def _suffixes(number: int) -> tuple[str, ...]:
    return ("", *("a" if number >= _FIRST_SPECIFIC else ""), *("f" if number >= _FIRST_FAMILY else ""))


def _fetched(nvrtc: ModuleType, program: object, what: str) -> bytes:
    status, size = getattr(nvrtc, f"nvrtcGet{what}Size")(program)
    _expect(nvrtc, status)
    content = bytearray(size)
    (status,) = getattr(nvrtc, f"nvrtcGet{what}")(program, content)
    _expect(nvrtc, status)
    return bytes(content)


def _linker_log(linker: ModuleType, handle: int, kind: str) -> str:
    content = bytearray(getattr(linker, f"get_{kind}_log_size")(handle))
    if content:
        getattr(linker, f"get_{kind}_log")(handle, content)
    return _text(bytes(content))


def _text(log: bytes) -> str:
    return log.decode("utf-8", "replace").rstrip("\0").strip()


def _expect(nvrtc: ModuleType, status: object) -> None:
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise CompileError(f"NVRTC failed: {status}")


def _machine_code(cubin: bytes, name: str) -> bytes:
    if not cubin:
        raise CompileError(
            "no machine code came out", place=Place(name), hint="options such as -dlto ask for something else"
        )
    return cubin


def _refusal(log: str, name: str, source: str, *, ptx: bool = False) -> CompileError:
    """The first error of a compiler log, with its place and what to do about it."""
    lines = log.splitlines()
    for index, line in enumerate(lines):
        if match := _CPP_ERROR.match(line):
            shown, column = _pointed(lines[index + 1 :])
            place = Place(match["file"], int(match["line"]), column)
            return CompileError(match["text"], place=place, hint=_hint(match["text"]), source_line=shown)
        if match := _END_ERROR.match(line):
            place = Place(name, max(1, len(source.splitlines())))
            return CompileError(f"{match['text']} at the end of the source", place=place)
        if match := _PTX_ERROR.match(line):
            return _ptx_refusal(match, name, source, ptx=ptx)
    text = _other(log)
    return CompileError(text, place=Place(name), hint=_hint(text))


def _ptx_refusal(match: re.Match[str], name: str, source: str, *, ptx: bool) -> CompileError:
    text, line = match["text"], int(match["line"]) if match["line"] else None
    if not ptx:
        # the line counts in the PTX that NVRTC made on the way, which nobody has
        return CompileError(f"ptxas: {text}", place=Place(name), hint=_hint(text))
    lines = source.splitlines()
    shown = lines[line - 1] if line and line <= len(lines) else ""
    return CompileError(text, place=Place(name, line), hint=_hint(text), source_line=shown)


def _other(log: str) -> str:
    match = _OTHER_ERROR.search(log)
    return match["text"].strip() if match else next(iter(log.strip().splitlines()), "invalid option")


def _pointed(lines: Sequence[str]) -> tuple[str, int | None]:
    """The source line above the caret and the column that the caret counts in bytes."""
    for before, line in itertools.pairwise(lines):
        if line.strip() == "^":
            shown, lead = before[2:], line.index("^") - 2
            return shown, len(shown.encode()[:lead].decode("utf-8", "ignore")) + 1
        if not line.strip():
            break
    return "", None


def _hint(text: str) -> str:
    if match := _NO_FILE.search(text):
        return _header_hint(match[1])
    for pattern, hint in _HINTS:
        if re.search(pattern, text):
            return hint
    return ""


def _header_hint(header: str) -> str:
    if re.match(r"(nv|cuda|cub|thrust)/", header):
        return f"pip install {CCCL_WHEEL}"
    if not cuda_headers().version and re.match(r"(cuda|cooperative_groups|mma|crt/|vector_types)", header):
        return f"pip install {' '.join(HEADER_WHEELS.values())}"
    if _HOST_HEADER.fullmatch(header):
        return "NVRTC has no host headers: guard the line with #ifndef __CUDACC_RTC__"
    return "name its folder as an include folder"


def _header_version(folder: Path) -> str:
    """The wheel's version where there is one, else what ``CUDART_VERSION`` says, else ``unknown``."""
    if wheel := tools.wheel_version(folder, HEADER_WHEELS["cuda_fp16.h"]):
        return wheel
    try:
        with (folder / "cuda_runtime_api.h").open(encoding="utf-8", errors="replace") as file:
            match = re.search(r"#define\s+CUDART_VERSION\s+(\d+)", file.read(20_000))
    except OSError:
        match = None
    return f"{int(match[1]) // 1000}.{int(match[1]) % 1000 // 10}" if match else "unknown"
