"""Where a motif that a `use` names is found."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sassql.lang.ast import Motif, PatternFile
from sassql.lang.parse import parse_file
from sassql.resources import folder

_MOST_ABOVE = 3
"""Folders above a file that may hold the library that it belongs to."""


def find_motif(name: str, file: PatternFile) -> tuple[Motif, PatternFile] | None:
    """The motif ``name`` as ``file`` sees it, and the file that has it.

    The file itself comes first, then `NAME.sq` in its folder and the folders of its library, then the
    motifs that ship with sassql.
    """
    for motif in file.motifs:
        if motif.name == name:
            return motif, file
    for path in _places(name, file.file):
        found = _parsed(path, path.stat().st_mtime_ns)
        for motif in found.motifs:
            if motif.name == name:
                return motif, found
    return None


def _places(name: str, file: str) -> Iterator[Path]:
    own = Path(file)
    if own.is_file():
        home = own.resolve().parent
        yield from sorted(path for path in home.glob(f"{name}.sq"))
        for above in [home, *home.parents][:_MOST_ABOVE]:
            if above.name == "patterns":
                yield from sorted(above.rglob(f"{name}.sq"))
    yield from sorted(folder("patterns").rglob(f"{name}.sq"))


@cache
def _parsed(path: Path, changed: int) -> PatternFile:
    return parse_file(path)
