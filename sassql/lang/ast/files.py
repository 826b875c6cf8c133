"""Files: motifs, classes, tests."""

from __future__ import annotations

from dataclasses import dataclass

from sassql.lang.ast.expressions import Expression
from sassql.lang.ast.names import Name, Position
from sassql.lang.ast.operands import Opset
from sassql.lang.ast.statements import Header, Statement


@dataclass(frozen=True, slots=True)
class ClassDefinition:
    """``class <fold> = <add> | <max>``."""

    name: str
    opset: Opset
    at: Position


@dataclass(frozen=True, slots=True)
class Classify:
    """``classify gemm priority 30 when mma_accumulator``."""

    name: str
    priority: int
    condition: Expression
    at: Position


@dataclass(frozen=True, slots=True)
class Motif:
    """A motif with its interface: values that go in, values that come out."""

    name: str
    inputs: tuple[Name, ...]
    outputs: tuple[Name, ...]
    body: tuple[Statement, ...]
    at: Position

    @property
    def headers(self) -> tuple[Header, ...]:
        return tuple(s for s in self.body if isinstance(s, Header))

    def header(self, word: str) -> str:
        """First value of the header ``word``, or an empty string."""
        return next((h.values[0] for h in self.headers if h.word == word and h.values), "")


@dataclass(frozen=True, slots=True)
class Test:
    """A test block; ``motif`` is the motif above it, ``listing_line`` the line on which ``{{`` stands.

    ``source`` is ``corpus/file.cu:kernel`` or a path of a cubin; then there is no listing.
    """

    __test__ = False

    title: str
    motif: str
    expected: int
    todo: bool
    conditions: tuple[Expression, ...]
    arch: str
    listing: str
    listing_line: int
    source: str
    at: Position


@dataclass(frozen=True, slots=True)
class PatternFile:
    """A parsed `.sq` file. ``text`` is kept for messages."""

    file: str
    text: str
    classes: tuple[ClassDefinition, ...]
    motifs: tuple[Motif, ...]
    classifies: tuple[Classify, ...]
    tests: tuple[Test, ...]

    def source_line(self, line: int) -> str:
        """Text of line ``line``, or an empty string."""
        lines = self.text.splitlines()
        return lines[line - 1] if 0 < line <= len(lines) else ""
