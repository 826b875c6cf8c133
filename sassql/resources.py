"""Finds `grammars/`, `patterns/` and `corpora/` in a wheel and in an editable checkout alike."""

from __future__ import annotations

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
