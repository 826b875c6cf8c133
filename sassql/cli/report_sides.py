"""What the two sides of `sassql report --compare` are: files, kernels of files, architectures."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from pathlib import Path

from sassql.cli.inputs import Reading
from sassql.errors import UsageError
from sassql.model.kernel import Kernel
from sassql.reading.load import architectures


@dataclass(frozen=True, slots=True)
class Named:
    """Picks kernels by name, as `--kernel` does; can be sent to another process."""

    glob: str

    def __call__(self, kernel: Kernel) -> bool:
        return fnmatch.fnmatchcase(kernel.name, self.glob) or fnmatch.fnmatchcase(kernel.demangled, self.glob)


@dataclass(frozen=True, slots=True)
class Side:
    """One side: how it is called, and what is read."""

    name: str
    reading: Reading


def sides_of(reading: Reading) -> tuple[Side, Side]:
    """The two sides that the arguments name.

    Two paths are two sides; one path has two architectures. A path may end in ``:KERNEL``, a
    shell pattern of kernels' names.

    Raises:
        UsageError: there are more or fewer.
    """
    archs = architectures(reading.arch)
    if len(reading.paths) == 1 and len(archs) == 2:
        path, glob = _split(reading.paths[0])
        one, two = (Reading((path,), arch, glob or reading.kernel_glob) for arch in archs)
        return Side(f"{path} {archs[0]}", one), Side(f"{path} {archs[1]}", two)
    if len(reading.paths) != 2:
        hint = "name two files, FILE:KERNEL, or one with --arch sm_80,sm_90"
        raise UsageError(f"a comparison has two sides, not {len(reading.paths)}", hint=hint)
    if len(archs) == 2:
        one_arch, two_arch = archs
    else:
        one_arch = two_arch = reading.arch or ""
    made = []
    for argument, arch in zip(reading.paths, (one_arch, two_arch), strict=True):
        path, glob = _split(argument)
        made.append(
            Side(f"{argument} {arch}".strip(), Reading((path,), arch or None, glob or reading.kernel_glob))
        )
    return made[0], made[1]


def _split(argument: Path) -> tuple[Path, str | None]:
    """A path and the pattern behind its last colon; a file may have a colon in its name."""
    if argument.exists() or ":" not in str(argument):
        return argument, None
    path, _, glob = str(argument).rpartition(":")
    return (Path(path), glob) if Path(path).exists() and glob else (argument, None)
