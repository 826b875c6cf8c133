"""The annotated listing of one kernel, as styled lines for a terminal.

From left to right: bars for the loops, the address, control codes, the statement, and behind it
what is known: where each source comes from, what a memory access addresses, tags and motifs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from rich.text import Text

from sassql.cli.loop_bars import LoopBars
from sassql.cli.source_text import source_text
from sassql.cli.statement_colors import colored
from sassql.cli.view import View, selected
from sassql.facts.addresses import Addresses
from sassql.facts.blocks import Blocks
from sassql.facts.counters import Counters
from sassql.facts.loops import Loops
from sassql.facts.origins import Origin, Origins
from sassql.facts.tags import PADDING
from sassql.isa.flow import FlowKind, flow_of
from sassql.model.instruction import Instruction
from sassql.model.kernel import Kernel, SourceLine

_STYLES = {
    FlowKind.BRANCH: "bold magenta",
    FlowKind.INDIRECT: "bold magenta",
    FlowKind.CALL: "bold magenta",
    FlowKind.RETURN: "bold magenta",
    FlowKind.EXIT: "bold red",
}
_TAGGED = "dim"
_WIDEST_TEXT = 50
_LEAST_NOTES = 30
"""Where fewer characters are left of the line, notes stand in lines of their own."""
_MOST_SOURCES = 4
_LONGEST_ADDRESS = 240
"""Letters of an address; a longer sum is cut."""
_SHAPES = {"phi": "φ({})", "psi": "ψ({})", "call": "call {}"}

Marks = Mapping[int, Sequence[str]]
"""Names of motifs by address."""


class Listing:
    """Draws one kernel; ``marks`` are names to print behind the instructions at these addresses.

    ``colors`` colours the parts of statements, which takes a while: for a terminal.
    """

    def __init__(self, kernel: Kernel, view: View, marks: Marks, *, colors: bool = False) -> None:
        self.kernel = kernel
        self.colors = colors
        self.view = view
        self.marks = marks
        self.blocks: Blocks = kernel.fact("blocks")
        self.loops: Loops = kernel.fact("loops")
        self.tags: Mapping[int, tuple[str, ...]] = kernel.fact("tags")
        self.shown = selected(kernel, view)
        self.bars = LoopBars(self.loops, self.blocks)
        self._addresses: list[int] = kernel.addresses.tolist()
        self._known: Addresses | None = kernel.fact("addresses") if view.addresses else None
        self._origins: Origins | None = kernel.fact("origins") if view.values else None
        self._last_line: SourceLine | None = None
        shown = [Instruction(kernel, index) for index in self.shown if not self._is_padding(index)]
        self._text_width = min(_WIDEST_TEXT, max((len(ins.text) for ins in shown), default=0))
        self._control_width = max((len(_control(ins)) for ins in shown), default=0)

    def lines(self) -> Iterator[Text]:
        """Every line, an empty one last."""
        yield from self._heading()
        left_out = 0
        for block, (start, end) in enumerate(
            zip(self.blocks.start.tolist(), self.blocks.end.tolist(), strict=True)
        ):
            inside = [index for index in range(start, end) if index in self.shown]
            if not inside:
                left_out += end - start
                continue
            if left_out:
                yield _skipped(left_out)
                left_out = 0
            if not self.view.padding and all(map(self._is_padding, range(start, end))):
                if block == 0 or not self._padded_before(block):
                    yield self._padding(block)
                continue
            yield from self._block(block, inside)
        if left_out:
            yield _skipped(left_out)
        yield Text()

    # --- heading

    def _heading(self) -> Iterator[Text]:
        kernel = self.kernel
        line = Text(kernel.demangled, style="bold")
        line.append(f"   {kernel.arch}, {len(kernel.form_ids)} instructions", style="default")
        yield line
        found = kernel.resources
        facts = {
            "registers": found.registers,
            "shared bytes": found.shared,
            "local bytes": found.local,
            "barriers": found.barriers,
            "parameters": len(found.parameters) or None,
        }
        known = ", ".join(f"{name} {value}" for name, value in facts.items() if value is not None)
        yield Text(f"{kernel.source}{'   ' + known if known else ''}", style="dim")
        if len(self.loops):
            counters: Counters = kernel.fact("counters")
            for number in range(len(self.loops)):
                yield from _broken(self._loop(number, counters), self.view.width)

    def _loop(self, number: int, counters: Counters) -> Text:
        """One line for a loop: where, how it is counted, and what keeps it going."""
        loop, found = self.loops[number], counters[number]
        start = self._addresses[int(self.blocks.start[loop.header])]
        end = max(self._addresses[int(self.blocks.end[block]) - 1] for block in loop.blocks)
        line = Text("  " * loop.depth + f"loop {number}", style="bold yellow")
        line.append(f"  {start:#06x}-{end:#06x}  {found.kind.value}", style="default")
        if found.counters:
            told = ", ".join(
                f"{c.register} from {c.init} by {c.step}"
                if len(str(c.init)) + len(str(c.step)) <= _LEAST_NOTES
                else f"{c.register} by a long sum"
                for c in found.counters
            )
            line.append(f"  {told}", style="cyan")
        for bound in found.bounds:
            if len(str(bound)) <= 2 * _LEAST_NOTES:
                line.append(f"  while {bound}", style="cyan")
        if found.trips is not None:
            line.append(f"  {found.trips} times", style="bold")
        return line

    # --- blocks

    def _block(self, block: int, inside: Sequence[int]) -> Iterator[Text]:
        start = int(self.blocks.start[block])
        address = self._addresses[start]
        name = next((f.name for f in self.kernel.functions if f.start == address), "")
        if name and name != self.kernel.name:
            yield Text(f"{name}:", style="bold")
        yield from self._block_line(block, address)
        before = start
        for index in inside:
            if index > before:
                yield _skipped(index - before)
            before = index + 1
            yield from self._instruction(Instruction(self.kernel, index), block)
        if before < int(self.blocks.end[block]):
            yield _skipped(int(self.blocks.end[block]) - before)

    def _block_line(self, block: int, address: int) -> Iterator[Text]:
        line = _bars(self.bars.at_header(block))
        line.append(f"block {address:#x}", style="bold green")
        if number := self.bars.name(block):
            line.append(f"  {number}", style="yellow")
        edges = (
            ("from", self.blocks.predecessors[block], partial(self.bars.is_back, target=block)),
            ("to", self.blocks.successors[block], partial(self.bars.is_back, block)),
        )
        for word, others, is_back in edges:
            shown = ", ".join(
                f"{self._addresses[int(self.blocks.start[other])]:#x}{' (back)' if is_back(other) else ''}"
                for other in sorted(others)
            )
            line.append(f"  {word} {shown}" if shown else "", style="green")
        if self._origins is not None and (where := self._origins.where(block)):
            line.append(f"  where {' and '.join(where)}", style="magenta")
        first, *more = _broken(line, self.view.width - 12)
        yield first
        for piece in more:
            yield _bars(self.bars.below(block, -1) + " " * 8).append_text(piece)

    def _is_padding(self, index: int) -> bool:
        return PADDING in self.tags.get(index, ())

    def _padded_before(self, block: int) -> bool:
        return self._is_padding(int(self.blocks.start[block]) - 1)

    def _padding(self, block: int) -> Text:
        """One line for all the padding from here on."""
        start = int(self.blocks.start[block])
        end = start
        while end < len(self._addresses) and self._is_padding(end):
            end += 1
        opcodes = (Instruction(self.kernel, index).opcode for index in range(start, end))
        told = ", ".join(f"{len(list(run))} {opcode}" for opcode, run in groupby(opcodes))
        place = f"{self._addresses[start]:#06x}-{self._addresses[end - 1]:#06x}"
        return Text(f"  {place}  padding: {told}", style="dim")

    # --- instructions

    def _instruction(self, ins: Instruction, block: int) -> Iterator[Text]:
        if self.view.lines and (origin := ins.source_line) != self._last_line:
            self._last_line = origin
            yield Text(f"  {source_text(origin)}" if origin else "  (no source line)", style="italic dim")
        line = _bars(self.bars.beside(block, ins.index))
        line.append(f"  {ins.address:#06x}  ", style="cyan")
        if self._control_width:
            line.append(f"{_control(ins):<{self._control_width}}  ", style="dim")
        style = _TAGGED if self.tags.get(ins.index) else _STYLES.get(flow_of(ins.form).kind, "")
        column = line.cell_len
        padded = f"{ins.text:<{self._text_width}}"
        line.append_text(colored(padded, style) if self.colors else Text(padded, style=style))
        yield from self._with_notes(line, list(self._notes(ins)), column, self.bars.below(block, ins.index))

    def _with_notes(self, line: Text, notes: list[Text], column: int, bars: str) -> Iterator[Text]:
        """The line with its notes, packed into the width; what does not fit goes into further lines."""
        width = self.view.width
        narrow = width - line.cell_len < _LEAST_NOTES
        indent = column + 4 if narrow else line.cell_len + 2
        notes = [piece for note in notes for piece in _broken(note, width - indent)]
        first = True
        while notes:
            note = notes.pop(0)
            fits = line.cell_len + 2 + note.cell_len <= width and not (narrow and first)
            if not fits and not (first and not narrow):
                line.rstrip()
                yield line
                line = _bars(bars)
                line.append(" " * (indent - line.cell_len - 2))
            line.append("  ").append_text(note)
            first = False
        line.rstrip()
        yield line

    def _notes(self, ins: Instruction) -> Iterator[Text]:
        for name in self.tags.get(ins.index, ()):
            yield Text(name, style="yellow")
        for mark in self.marks.get(ins.address, ()):
            yield Text(mark, style="bold green")
        if self.view.registers:
            yield Text(f"{_names(ins.defs)} <- {_names(ins.uses)}", style="blue")
        if self._known is not None and (address := self._known.of(ins.index)) is not None:
            text = str(address)
            shown = text if len(text) <= _LONGEST_ADDRESS else f"{text[:_LONGEST_ADDRESS]} …"
            yield Text(shown, style="cyan")
        if self._origins is not None:
            told = dict.fromkeys(map(_origin, self._origins.of(ins.index)))
            yield from (Text(text, style="blue") for text in told if text)


def _origin(origin: Origin) -> str:
    """``R4 <- φ(0x100, 0x160) = tid.x``; empty for a constant bank's word that has no name."""
    value = f" = {origin.value}" if origin.value else ""
    if origin.kind == "constant":
        return f"{origin.text}{value}" if value else ""
    places = [f"{a:#x}" for a in origin.addresses[:_MOST_SOURCES]]
    if more := len(origin.addresses) - _MOST_SOURCES:
        places += [f"{more} more"] if more > 0 else []
    places += ["entry"] if origin.entry else []
    told = _SHAPES.get(origin.kind, "{}").format(", ".join(places))
    return f"{origin.text} <- {told}{value}"


def _bars(text: str) -> Text:
    """A line that begins with bars; what follows has colours of its own."""
    line = Text()
    line.append(text, style="yellow")
    return line


def _broken(text: Text, width: int) -> Iterator[Text]:
    """A text in pieces of at most ``width`` characters, broken at blanks; what has none stays longer."""
    while text.cell_len > width and (cut := text.plain.rfind(" ", 1, width + 1)) > 0:
        head, tail = text.divide([cut])
        head.rstrip()
        yield head
        tail = tail[len(tail.plain) - len(tail.plain.lstrip()) :]
        text = Text("  ", style=text.style).append_text(tail)
        width = max(width, 24)
        if not tail:
            return
    yield text


def _control(ins: Instruction) -> str:
    control = ins.control
    if control is None:
        return ""
    waits = "".join(str(i) for i in range(6) if control.wait_mask >> i & 1)
    parts = [f"{control.stall:2}", "Y" if control.may_yield else "-"]
    parts.append("-" if control.write_barrier is None else f"W{control.write_barrier}")
    parts.append("-" if control.read_barrier is None else f"R{control.read_barrier}")
    return " ".join([*parts, f"wait {waits}" if waits else ""])


def _names(registers: frozenset[Any]) -> str:
    return " ".join(map(str, sorted(registers))) or "-"


def _skipped(count: int) -> Text:
    return Text(f"  ... {count} instruction{'s' if count > 1 else ''}", style="dim")
