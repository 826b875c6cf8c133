"""The text of source lines, where the file that the binary names still lies there."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from sassql.model.kernel import SourceLine

_KINDS = frozenset({".cu", ".cuh", ".h", ".hpp", ".c", ".cc", ".cpp", ".inl", ".ptx", ".py"})
"""A binary may name any file; only sources are opened."""
_MOST_BYTES = 4 << 20


def source_text(line: SourceLine) -> str:
    """``file.cu:12`` and what stands there, where the file can be read."""
    texts = _lines(line.file)
    text = texts[line.line - 1].strip() if 0 < line.line <= len(texts) else ""
    clean = "".join(c for c in text if c.isprintable())
    return f"{line}  {clean}" if clean else str(line)


@lru_cache(maxsize=32)
def _lines(name: str) -> tuple[str, ...]:
    path = Path(name)
    try:
        if path.suffix not in _KINDS or not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return ()
        return tuple(path.read_text("utf-8", errors="replace").splitlines())
    except (OSError, ValueError):
        return ()
