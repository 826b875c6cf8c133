"""Runs every check over a pattern file: the one door between a syntax tree and the engine."""

from __future__ import annotations

from pathlib import Path

from sassql.errors import PatternError, Place
from sassql.lang import blocks, connect, names, unsupported, uses, vocabulary
from sassql.lang.ast import PatternFile
from sassql.lang.findings import CHECKS, Finding, Severity
from sassql.lang.parse import parse, parse_file

MODULES = (unsupported, vocabulary, names, uses, blocks, connect)
"""Modules whose checks run, in the order in which their findings matter."""


def findings(file: PatternFile) -> tuple[Finding, ...]:
    """Everything that the checks say about ``file``: errors first, then by place."""
    found = [finding for run in CHECKS.values() for finding in run(file)]
    return tuple(sorted(found, key=lambda f: (f.severity is not Severity.ERROR, f.at, f.id)))


def checked(file: PatternFile) -> PatternFile:
    """``file`` itself where it has no error.

    Raises:
        PatternError: the first error in the text.
    """
    if not (file.motifs or file.classes or file.classifies):
        hint = "the file is empty" if not file.text.strip() else "a file needs a motif, a class or a classify"
        raise PatternError("no motif", place=Place(file.file), hint=hint)
    for finding in findings(file):
        if finding.severity is Severity.ERROR:
            raise finding.as_error(file)
    return file


def load(path: Path | str) -> PatternFile:
    """Parse and check a file."""
    return checked(parse_file(path))


def loads(text: str, file: str = "<text>") -> PatternFile:
    """Parse and check a text."""
    return checked(parse(text, file))
