"""A path that a user names, to modules: corpus folders are built first, everything else is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from sassql.corpus.build import Progress, build
from sassql.corpus.manifest import MANIFEST
from sassql.errors import Place, UsageError
from sassql.model.kernel import Source
from sassql.reading import load
from sassql.reading.load import EVERYTHING, Found, Options, RawCubin


def is_corpus(path: Path) -> bool:
    """True for a folder with a manifest, or with CUDA sources and nothing built beside them."""
    if not path.is_dir():
        return False
    return (path / MANIFEST).is_file() or {p.suffix for p in load.files_of(path)} == {".cu"}


def take(
    path: Path, options: Options = EVERYTHING, *, progress: Progress | None = None
) -> Iterator[RawCubin | Found]:
    """The same with cubins as they are, for another process to read."""
    return read(path, replace(options, reader="none"), progress=progress)


def read(path: Path, options: Options = EVERYTHING, *, progress: Progress | None = None) -> Iterator[Found]:
    """Modules and problems of a file, a folder, or a corpus, whose kernels are compiled where they changed.

    ``progress`` is called while a corpus is compiled.

    Raises:
        UsageError: no such path, or a bad manifest.
        ToolMissingError: a corpus needs NVRTC and there is none.
    """
    try:
        compiled_first = is_corpus(path)
    except OSError as error:  # a name that is too long, a folder that may not be searched
        raise UsageError(
            error.strerror or str(error), place=Place(str(path)), hint="check the path"
        ) from None
    if not compiled_first:
        yield from load.read(path, options)
        return
    result = build(path, options.architectures or None, progress=progress)
    yield from result.problems
    built = [(c.path.read_bytes(), Source(str(c.source), f"{c.arch}.cubin")) for c in result.cubins]
    yield from load.read_cubins(built, replace(options, architectures=()))
