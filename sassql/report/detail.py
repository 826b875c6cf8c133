"""One kernel in full: what the page of a kernel shows. Plain data, as everything in a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sassql.report.document import KernelRecord


@dataclass(frozen=True, slots=True)
class Read:
    """What one operand reads: its registers as ``text``, and the addresses of those that may have written it.

    ``kind`` and ``value`` are those of the fact "origins"; ``entry`` is true where it may be what the
    function found when it began.
    """

    text: str
    kind: str
    at: tuple[int, ...]
    entry: bool
    value: str


@dataclass(frozen=True, slots=True)
class Line:
    """One instruction. ``control`` says its scheduling bits, ``memory`` what it addresses.

    ``motifs`` are numbers into the kernel's motifs, ``source`` is the place of the source line that
    begins here, empty where it is that of the line before.
    """

    address: int
    text: str
    opcode: str
    control: str
    tags: tuple[str, ...] = ()
    motifs: tuple[int, ...] = ()
    reads: tuple[Read, ...] = ()
    memory: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """One basic block with the instructions that are listed; ``left_out`` are not.

    ``loop`` is the number of the innermost loop, -1 for none, ``bars`` how the bars of the loops around
    it look: ``start``, ``inside``, ``end`` or nothing, the outermost first. Neighbours are (address, true
    for a back edge).
    """

    start: int
    end: int
    loop: int
    depth: int
    header: bool
    bars: tuple[str, ...]
    before: tuple[tuple[int, bool], ...]
    after: tuple[tuple[int, bool], ...]
    where: tuple[str, ...]
    function: str
    lines: tuple[Line, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop: addresses of its first and last instruction, how it is counted, what keeps it going."""

    number: int
    depth: int
    start: int
    end: int
    kind: str
    counters: tuple[str, ...]
    bounds: tuple[str, ...]
    trips: int | None


@dataclass(frozen=True, slots=True)
class Node:
    """A box of a picture. ``at`` is the address that it links to, or None; ``kind`` chooses the colour."""

    label: str
    note: str
    kind: str
    at: int | None
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Picture:
    """A graph to draw: edges are (source, target, kind) by number of the nodes.

    ``missing`` says why there is no picture; then there are no nodes.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[tuple[int, int, str], ...] = ()
    missing: str = ""


@dataclass(frozen=True, slots=True)
class KernelDetail:
    """The page of a kernel. ``left_out`` instructions are not listed."""

    record: KernelRecord
    loops: tuple[Loop, ...]
    blocks: tuple[Block, ...]
    left_out: int
    flow: Picture
    motif_flow: Picture
    invariants: Mapping[str, Any] = field(default_factory=dict)
    advice: tuple[Mapping[str, Any], ...] = ()
