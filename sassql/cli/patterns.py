"""Finds the pattern files that a command is given."""

from __future__ import annotations

from pathlib import Path

from sassql.errors import UsageError


def pattern_files(paths: tuple[Path, ...]) -> list[Path]:
    """The `.sq` files that are named or lie in the folders that are named.

    Raises:
        UsageError: a path does not exist, or a folder has no pattern.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(path.rglob("*.sq"))
            if not inside:
                raise UsageError(f"{path} has no .sq file")
            found += inside
        elif path.exists():
            found.append(path)
        else:
            raise UsageError(f"no such file or folder: {path}")
    return list(dict.fromkeys(found))
