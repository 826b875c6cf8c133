"""Makes the annotated listing of a kernel: blocks, loops, values, addresses, control codes, source lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sassql.facts.addresses import Address, Addresses
from sassql.facts.blocks import Blocks
from sassql.facts.counters import Counters
from sassql.facts.loops import NO_LOOP, Loops
from sassql.facts.origins import Origin, Origins
from sassql.facts.tags import PADDING
from sassql.model.instruction import Control, Instruction
from sassql.model.kernel import Kernel, SourceLine
from sassql.report.detail import Block, Line, Loop, Read
from sassql.report.document import KernelRecord


class Lister:
    """Lists one kernel; ``most`` instructions at most, those of motifs and of deep loops first."""

    def __init__(self, kernel: Kernel, record: KernelRecord, most: int) -> None:
        self.kernel = kernel
        self.blocks: Blocks = kernel.fact("blocks")
        self.loops: Loops = kernel.fact("loops")
        self.tags: Mapping[int, tuple[str, ...]] = kernel.fact("tags")
        self.addresses: list[int] = kernel.addresses.tolist()
        self._known: Addresses = kernel.fact("addresses")
        self._origins: Origins = kernel.fact("origins")
        self._marks = _marks(record)
        self._last_line: SourceLine | None = None
        self.padding = sum(PADDING in tags for tags in self.tags.values())
        self._shown = self._chosen(most)
        self.left_out = sum(self._size(b) for b in range(len(self.blocks)) if b not in self._shown)
        self.left_out -= self.padding

    def _size(self, block: int) -> int:
        return int(self.blocks.end[block]) - int(self.blocks.start[block])

    def _is_padding(self, block: int) -> bool:
        return PADDING in self.tags.get(int(self.blocks.start[block]), ())

    def _chosen(self, most: int) -> set[int]:
        """The blocks that are listed."""
        every = [block for block in range(len(self.blocks)) if not self._is_padding(block)]
        if sum(map(self._size, every)) <= most:
            return set(every)
        marked = {int(self.blocks.of[self.kernel.at(a).index]) for a in self._marks}
        every.sort(key=lambda b: (b not in marked, -self._depth(b), b))
        found: set[int] = set()
        for block in every:
            if (size := self._size(block)) <= most:
                found.add(block)
                most -= size
        return found

    def _depth(self, block: int) -> int:
        loop = self.loops.of[block]
        return 0 if loop == NO_LOOP else self.loops[loop].depth

    # --- loops

    def loop_lines(self) -> Iterator[Loop]:
        """Every loop, outer ones first."""
        counters: Counters | None = self.kernel.fact("counters") if len(self.loops) else None
        for number, loop in enumerate(self.loops.loops):
            assert counters is not None
            found = counters[number]
            yield Loop(
                number,
                loop.depth,
                self.addresses[int(self.blocks.start[loop.header])],
                max(self.addresses[int(self.blocks.end[block]) - 1] for block in loop.blocks),
                found.kind.value,
                tuple(f"{c.register} from {c.init} by {c.step}" for c in found.counters),
                tuple(map(str, found.bounds)),
                found.trips,
            )

    # --- blocks

    def block_lines(self) -> Iterator[Block]:
        """Every block that is not padding; those that are left out have no lines."""
        names = {f.start: f.name for f in self.kernel.functions if not f.entry}
        for block in range(len(self.blocks)):
            if self._is_padding(block):
                continue
            start, end = int(self.blocks.start[block]), int(self.blocks.end[block])
            shown = block in self._shown
            yield Block(
                start=self.addresses[start],
                end=self.addresses[end - 1],
                loop=self.loops.of[block],
                depth=self._depth(block),
                header=any(loop.header == block for loop in self.loops.loops),
                bars=self._bars(block),
                before=self._edges(block, self.blocks.predecessors[block], back_to=block),
                after=self._edges(block, self.blocks.successors[block]),
                where=tuple(self._origins.where(block)) if shown else (),
                function=names.get(self.addresses[start], ""),
                lines=tuple(map(self._line, range(start, end))) if shown else (),
                left_out=0 if shown else end - start,
            )

    def _edges(
        self, block: int, others: Sequence[int], back_to: int | None = None
    ) -> tuple[tuple[int, bool], ...]:
        found = []
        for other in sorted(others):
            source, target = (other, back_to) if back_to is not None else (block, other)
            found.append((self.addresses[int(self.blocks.start[other])], self.is_back(source, target)))
        return tuple(found)

    def is_back(self, block: int, target: int) -> bool:
        """True for an edge that goes back to the head of a loop."""
        return any(
            self.loops[n].header == target and block in self.loops[n].latches
            for n in self.loops.enclosing(target)
        )

    def _bars(self, block: int) -> tuple[str, ...]:
        bars = []
        for number in reversed(self.loops.enclosing(block)):
            inside = self.loops[number].blocks
            bars.append("start" if block == inside[0] else "end" if block == inside[-1] else "inside")
        return tuple(bars)

    # --- instructions

    def _line(self, index: int) -> Line:
        ins = Instruction(self.kernel, index)
        source = ""
        if (line := ins.source_line) is not None and line != self._last_line:
            self._last_line = line
            source = str(line)
        return Line(
            address=ins.address,
            text=ins.text,
            opcode=ins.opcode,
            control=control_text(ins.control),
            tags=self.tags.get(index, ()),
            motifs=self._marks.get(ins.address, ()),
            reads=tuple(dict.fromkeys(filter(None, map(_read, self._origins.of(index))))),
            memory=tuple(map(address_text, self._known.by_instruction.get(index, ()))),
            source=source,
        )


def _read(origin: Origin) -> Read | None:
    """What is worth telling of an origin: not a constant bank's word without a name."""
    if origin.kind == "constant" and not origin.value:
        return None
    return Read(origin.text, origin.kind, origin.addresses, origin.entry, origin.value)


MOST_ATOMS = 40
"""Atoms of an address that is written out; a longer one is easier to read from its instructions."""


def address_text(address: Address) -> str:
    """The address in words, of a long one the buffer: formulas share their parts, and explode as text."""
    pending, count = [address.polynomial], 0
    while pending and count <= MOST_ATOMS:
        for atom in pending.pop().atoms:
            count += 1
            pending += atom.args
    if count <= MOST_ATOMS:
        return str(address)
    base = f"{address.base} + " if address.base.kind != "none" else ""
    return f"{address.space.value}: {base}…"


def control_text(control: Control | None) -> str:
    """Scheduling bits as `sassql show` writes them: stall, Y for yield, W and R for scoreboards, waits."""
    if control is None:
        return ""
    parts = [f"{control.stall:2}", "Y" if control.may_yield else "-"]
    parts.append("-" if control.write_barrier is None else f"W{control.write_barrier}")
    parts.append("-" if control.read_barrier is None else f"R{control.read_barrier}")
    waits = "".join(str(i) for i in range(6) if control.wait_mask >> i & 1)
    return " ".join([*parts, f"wait {waits}" if waits else ""]).rstrip()


def _marks(record: KernelRecord) -> dict[int, tuple[int, ...]]:
    found: dict[int, list[int]] = {}
    for number, motif in enumerate(record.motifs):
        for address in motif.at:
            found.setdefault(address, []).append(number)
    return {address: tuple(numbers) for address, numbers in found.items()}
