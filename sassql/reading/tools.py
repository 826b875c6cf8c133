"""Finds and runs the CUDA command line tools: nvdisasm and cuobjdump.

Search order, the first hit wins:

1. `SASSQL_NVDISASM`, `SASSQL_CUOBJDUMP`: someone said which tool to use, so a wrong path is an
   error and never a reason to look further;
2. the wheels of this environment (``site-packages/nvidia/*/bin``): pinned with sassql, hence the
   same answers on every machine whatever toolkit is installed there;
3. `CUDA_HOME`, then `CUDA_PATH`: the toolkit that builds on this machine use;
4. `PATH`;
5. ``/usr/local/cuda/bin``, where installers put a toolkit without touching `PATH`.

`SASSQL_NVDISASM_12` names a 12.x nvdisasm. It reads what 13.x does not (life ranges and control
flow of cubins built before CUDA 13, architectures before sm_75), serves as an oracle only, and
nothing needs it.

`find` looks at file names and starts no process. A version costs one start of the tool and is
kept on disk for the next call.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sassql.errors import (
    InputError,
    Place,
    ToolFailedError,
    ToolMissingError,
    UnsupportedArchError,
    UsageError,
)
from sassql.resources import cache_root

ToolName = Literal["nvdisasm", "cuobjdump"]

WHEELS: Mapping[str, str] = {"nvdisasm": "nvidia-cuda-nvdisasm", "cuobjdump": "nvidia-cuda-cuobjdump"}
VARIABLES: Mapping[str, str] = {"nvdisasm": "SASSQL_NVDISASM", "cuobjdump": "SASSQL_CUOBJDUMP"}
LEGACY_VARIABLE = "SASSQL_NVDISASM_12"
TOOLKIT_VARIABLES = ("CUDA_HOME", "CUDA_PATH")
WORD_BYTES = 16
"""Bytes of one instruction, on every architecture that sassql reads."""

_ARCH = re.compile(r"sm_(\d+)([a-z]?)")
_VERSION = re.compile(r"\bV(\d+(?:\.\d+)+)")
_ALLOWED = re.compile(r"Allowed values for this option:\s*((?:'[^']*'[,\s]*)+)")
_FAILURE = re.compile(r"^\w+\s+(?:error|fatal)\s*:\s*(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Tool:
    """A CUDA tool on this machine; ``source`` says which step of the search found it."""

    name: str
    path: Path
    source: str
    """``SASSQL_NVDISASM``, ``wheel nvidia-cuda-nvdisasm``, ``CUDA_HOME``, ``PATH`` …"""

    @property
    def version(self) -> str:
        """Full version such as ``13.5.37``, or ``unknown`` when the tool does not say.

        Raises:
            ToolFailedError: the tool cannot be started.
        """
        return _described(self)[0]


@dataclass(frozen=True, slots=True)
class Toolkit:
    """A folder with ``bin`` and ``include``, and which step of the search named it."""

    folder: Path
    source: str


DEFAULT_TOOLKIT = Toolkit(Path("/usr/local/cuda"), "/usr/local/cuda")

_found: dict[tuple[object, ...], Tool] = {}
_descriptions: dict[tuple[str, int, int], tuple[str, tuple[str, ...]]] = {}


def find(name: ToolName) -> Tool:
    """The tool ``name``, by the search order of this module; starts no process.

    Raises:
        ToolMissingError: no step of the search found it; the hint is the command that installs it.
    """
    variable = VARIABLES[name]
    key = (name, *map(os.environ.get, (variable, *TOOLKIT_VARIABLES, "PATH")), *sys.path)
    tool = _found.get(key)
    if tool is None:
        tool = _found[key] = _named(name, variable) or _searched(name)
    return tool


def find_legacy() -> Tool | None:
    """The 12.x nvdisasm that `SASSQL_NVDISASM_12` names, or None when the variable is not set.

    Raises:
        ToolMissingError: the variable names something that cannot be run.
    """
    return _named("nvdisasm", LEGACY_VARIABLE)


def environment_folders() -> list[Path]:
    """The ``site-packages/nvidia/*`` folders of this environment, newest CUDA first."""
    folders: dict[Path, None] = {}
    for entry in sys.path:
        try:
            names = os.listdir(Path(entry, "nvidia"))  # noqa: PTH208 - names alone, this runs at every start
        except OSError:
            continue
        folders.update(
            dict.fromkeys(Path(entry, "nvidia", name) for name in sorted(names, key=_newest_first))
        )
    return list(folders)


def toolkits() -> list[Toolkit]:
    """The toolkit folders that the environment names, whether they exist or not."""
    named = ((name, os.environ.get(name)) for name in TOOLKIT_VARIABLES)
    return [Toolkit(Path(value).absolute(), name) for name, value in named if value]


def wheel_version(path: Path, distribution: str) -> str:
    """Version of the wheel ``distribution`` if ``path`` lies in the environment that has it, else ``""``."""
    for parent in path.parents:
        if parent.name == "nvidia":
            stem = distribution.replace("-", "_")
            found = sorted(parent.parent.glob(f"{stem}-*.dist-info"))
            return found[-1].name.removeprefix(f"{stem}-").removesuffix(".dist-info") if found else ""
    return ""


def architectures(tool: Tool) -> tuple[str, ...]:
    """What the tool says that it reads, in order: ``("sm_75", …, "sm_90", "sm_90a", …)``.

    Raises:
        ToolFailedError: the tool cannot be started.
    """
    return _described(tool)[1]


def sort_key(arch: str) -> tuple[int, str]:
    """Orders architectures by number, then the plain one before ``a`` and ``f``."""
    match = _ARCH.fullmatch(arch)
    return (int(match[1]), match[2]) if match else (sys.maxsize, arch)


def run(tool: Tool, *arguments: str, cwd: Path | None = None, place: Place | None = None) -> str:
    """Standard output of one call of the tool; warnings of a call that succeeds are dropped.

    Args:
        tool: what to start.
        arguments: passed as they are, without a shell.
        cwd: folder to run in; ``cuobjdump -xelf`` writes there.
        place: what the call is about, for the error.

    Raises:
        ToolFailedError: the tool stopped with an error (its own first error line), was killed by
            a signal, or cannot be started.
        ToolMissingError: the tool has gone since it was found.
    """
    import subprocess  # noqa: PLC0415 - `find` must not pay for it

    try:
        done = subprocess.run(
            [str(tool.path), *arguments],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            stdin=subprocess.DEVNULL,
            cwd=cwd,
            env=_child_environment(tool),
            check=False,
        )
    except FileNotFoundError:
        if cwd is not None and not cwd.is_dir():
            raise UsageError("folder does not exist", place=Place(str(cwd))) from None
        raise _missing(tool.name) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise ToolFailedError(f"{tool.path} cannot be started: {reason}", place=place) from None
    if done.returncode:
        raise ToolFailedError(_failure(tool, done.returncode, done.stderr), place=place)
    return done.stdout


def disassemble_elf(path: Path, *options: str) -> str:
    """What ``nvdisasm -c`` prints for a cubin; ``options`` such as ``-plr`` are added.

    Raises:
        ToolFailedError: nvdisasm refuses the file, in its own words.
        ToolMissingError: there is no nvdisasm.
    """
    # absolute, because nvdisasm takes a name that starts with "-" for an option
    return run(find("nvdisasm"), "-c", *options, str(Path(path).absolute()), place=Place(str(path)))


def disassemble_words(words: bytes, arch: str, *, base: int = 0) -> str:
    """What nvdisasm prints for bare instruction words of ``arch``: no labels, no symbols.

    Branch targets are offsets from ``base``, the address in bytes of the first word. One word
    that is no instruction makes nvdisasm refuse all of them; its address is in the message.

    Raises:
        UsageError: ``arch`` is not written like ``sm_90a``.
        UnsupportedArchError: nvdisasm does not read ``arch``.
        InputError: ``words`` is not a whole number of instructions.
        ToolFailedError: nvdisasm refuses a word.
        ToolMissingError: there is no nvdisasm.
    """
    import tempfile  # noqa: PLC0415 - `find` must not pay for it

    match = _ARCH.fullmatch(arch)
    if match is None:
        raise UsageError(f"{arch!r} is not an architecture", hint="write it like sm_90 or sm_90a")
    tool = find("nvdisasm")
    if arch not in architectures(tool):
        raise UnsupportedArchError(f"nvdisasm {tool.version} does not read {arch}")
    if len(words) % WORD_BYTES:
        raise InputError(f"{len(words)} bytes are not a whole number of {WORD_BYTES}-byte instructions")
    if not words:
        return ""
    with tempfile.NamedTemporaryFile(prefix="sassql-", suffix=".bin") as file:
        file.write(words)
        file.flush()
        # bare words have no flow to analyse: without the analyser the same text comes a fifth sooner
        return run(tool, "-ndf", "-b", f"SM{match[1]}{match[2]}", "-base", hex(base), file.name)


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a file so that nobody ever sees half of it; makes its folder if needed.

    Raises:
        OSError: the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # tempfile would make it private, where the folder and the umask are to decide
    draft = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _named(name: ToolName, variable: str) -> Tool | None:
    value = os.environ.get(variable)
    if not value:
        return None
    path = Path(value).absolute()
    if path.is_dir():
        path /= name
    if not _runnable(path):
        raise ToolMissingError(
            f"{variable} names {value}, which is no program that can be run",
            hint=f"correct {variable} or unset it",
        )
    return Tool(name, path, variable)


def _searched(name: ToolName) -> Tool:
    places = [(folder / "bin", f"wheel {WHEELS[name]}") for folder in environment_folders()]
    places += [(kit.folder / "bin", kit.source) for kit in toolkits()]
    places += [(Path(entry), "PATH") for entry in os.environ.get("PATH", "").split(os.pathsep) if entry]
    places.append((DEFAULT_TOOLKIT.folder / "bin", DEFAULT_TOOLKIT.source))
    for folder, source in places:
        if _runnable(folder / name):
            return Tool(name, (folder / name).absolute(), source)
    raise _missing(name)


def _missing(name: str) -> ToolMissingError:
    return ToolMissingError(
        f"{name} was not found", hint=f"pip install {WHEELS[name]}, or set {VARIABLES[name]} to its path"
    )


def _runnable(path: Path) -> bool:
    return os.access(path, os.X_OK) and path.is_file()


def _newest_first(name: str) -> tuple[int, str]:
    digits = re.fullmatch(r"cu(\d+)", name)
    return (-int(digits[1]) if digits else 0, name)


def _child_environment(tool: Tool) -> dict[str, str] | None:
    """The environment of a call: cuobjdump starts nvdisasm itself and is to pick the one we do."""
    if tool.name != "cuobjdump":
        return None
    try:
        return {**os.environ, "NVDISASM_PATH": str(find("nvdisasm").path.parent)}
    except ToolMissingError:
        return None


def _failure(tool: Tool, code: int, stderr: str) -> str:
    if code < 0:
        return f"{tool.name} was stopped by signal {-code}"
    # warnings stand before the error that ended the call
    match = _FAILURE.search(stderr)
    line = match[1] if match else next(iter(stderr.strip().splitlines()), "")
    return f"{tool.name}: {' '.join(line.split())}" if line else f"{tool.name} stopped with exit code {code}"


def _described(tool: Tool) -> tuple[str, tuple[str, ...]]:
    """Version and architectures, from this process, the disk or the tool, in that order."""
    try:
        status = tool.path.stat()
    except OSError:
        raise _missing(tool.name) from None
    key = (str(tool.path), status.st_mtime_ns, status.st_size)
    if key not in _descriptions:
        _descriptions[key] = _remembered(key) or _asked(tool, key)
    return _descriptions[key]


def _asked(tool: Tool, key: tuple[str, int, int]) -> tuple[str, tuple[str, ...]]:
    version = _VERSION.search(run(tool, "--version"))
    values = re.findall(r"'([^']*)'", " ".join(_ALLOWED.findall(run(tool, "--help"))))
    archs = {re.sub(r"^SM_?", "sm_", value, flags=re.IGNORECASE) for value in values}
    readable = sorted(filter(_ARCH.fullmatch, archs), key=sort_key)
    described = (version[1] if version else "unknown", tuple(readable))
    _remember(key, described)
    return described


def _memory() -> Path:
    return cache_root() / "tools.json"


def _load_memory() -> dict[str, object]:
    import json  # noqa: PLC0415 - `find` must not pay for it

    try:
        known = json.loads(_memory().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _remembered(key: tuple[str, int, int]) -> tuple[str, tuple[str, ...]] | None:
    match _load_memory().get(key[0]):
        case {"mtime_ns": mtime, "size": size, "version": str(version), "architectures": list(archs)}:
            if (mtime, size) == key[1:] and all(isinstance(arch, str) for arch in archs):
                return version, tuple(archs)
    return None


def _remember(key: tuple[str, int, int], described: tuple[str, Sequence[str]]) -> None:
    import json  # noqa: PLC0415 - `find` must not pay for it

    path, mtime, size = key
    entry = {"mtime_ns": mtime, "size": size, "version": described[0], "architectures": list(described[1])}
    try:
        # a second process that writes now loses one entry and asks the tool again: no lock is worth that
        write_atomically(_memory(), json.dumps({**_load_memory(), path: entry}, indent=1).encode())
    except OSError:
        return  # a cache that cannot be written only costs time
