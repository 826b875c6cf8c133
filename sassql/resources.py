"""Finds the folders that ship with sassql, in a wheel and in an editable checkout alike, and the cache."""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """The folder ``name`` that ships with sassql.

    A wheel carries it inside the package; in a checkout it lies beside the package.

    Raises:
        FileNotFoundError: neither place has it, which means a broken installation.
    """
    for base in (_PACKAGE, _PACKAGE.parent):
        candidate = base / name
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"sassql installation is incomplete: no folder {name!r} in {_PACKAGE}")


def cache_root() -> Path:
    """Folder for everything that can be made again: `SASSQL_CACHE`, else the platform's cache folder."""
    named = os.environ.get("SASSQL_CACHE")
    if named:
        return Path(named).absolute()
    import platformdirs  # noqa: PLC0415 - most calls must not pay for it

    return Path(platformdirs.user_cache_dir("sassql"))
