"""The rows of a listing as HTML. By hand and not by a template: a report has a million of them."""

from __future__ import annotations

from markupsafe import Markup, escape

from sassql.report.colours import colour
from sassql.report.detail import Block, KernelDetail, Line, Read

MOST_SOURCES = 4
_SHAPES = {"phi": "φ(", "psi": "ψ(", "call": "call ("}
_BARS = {
    ("start", True): "╭",
    ("start", False): "│",
    ("inside", True): "│",
    ("inside", False): "│",
    ("end", True): "│",
    ("end", False): "│",
}


def bars(block: Block, head: bool) -> str:
    """The bars of the loops around a block, the outermost first; ``head`` for the block's own line."""
    return "".join(_BARS[bar, head] for bar in block.bars)


class Rows:
    """Writes the rows of one kernel."""

    def __init__(self, detail: KernelDetail) -> None:
        self._id = escape(detail.record.id)
        self._motifs = detail.record.motifs

    def __call__(self, block: Block) -> Markup:
        """All rows of a block."""
        before = bars(block, False)
        last = before[:-1] + "╰" if block.bars and block.bars[-1] == "end" else before
        parts: list[str] = []
        for place, line in enumerate(block.lines):
            parts += self._line(line, last if place == len(block.lines) - 1 else before)
        return Markup("".join(parts))

    def _line(self, line: Line, drawn: str) -> list[str]:
        parts = []
        if line.source:
            parts.append(
                f'<tr class="source"><td></td><td class="bars">{drawn}</td>'
                f'<td colspan="4">{escape(line.source)}</td></tr>'
            )
        motifs = sorted(line.motifs, key=lambda n: len(self._motifs[n].at))  # the rarest gives the colour
        style = f" c{colour(self._motifs[motifs[0]].motif)}" if motifs else ""
        tagged = " tagged" if line.tags else ""
        head, _, rest = str(escape(line.text)).partition(str(escape(line.opcode)) if line.opcode else "\0")
        text = f"{head}<b>{escape(line.opcode)}</b>{rest}" if line.opcode else str(escape(line.text))
        parts.append(
            f'<tr id="{self._id}-{line.address:#x}" class="i{style}{tagged}" data-a="{line.address:#x}">'
            f'<td class="arrows"></td><td class="bars">{drawn}</td><td class="a">{line.address:#06x}</td>'
            f'<td class="ctl">{escape(line.control)}</td><td class="t">{text}</td>'
            f'<td class="notes">{self._notes(line)}</td></tr>'
        )
        return parts

    def _notes(self, line: Line) -> str:
        notes = [f'<span class="tag">{escape(tag)}</span>' for tag in line.tags]
        for number in sorted(line.motifs, key=lambda n: len(self._motifs[n].at)):
            motif = self._motifs[number]
            notes.append(
                f'<span class="chip c{colour(motif.motif)}">{escape(motif.motif)} {number + 1}</span>'
            )
        notes += [f'<span class="mem">{escape(text)}</span>' for text in line.memory]
        notes += [self._read(read) for read in line.reads]
        return " ".join(notes)

    def _read(self, read: Read) -> str:
        value = f" = {escape(read.value)}" if read.value else ""
        text = escape(read.text)
        if read.kind == "constant":
            return f'<span class="r">{text}{value}</span>'
        places = [f'<a href="#{self._id}-{a:#x}">{a:#x}</a>' for a in read.at[:MOST_SOURCES]]
        if (more := len(read.at) - MOST_SOURCES) > 0:
            places.append(f"{more} more")
        if read.entry:
            places.append("entry")
        opening = _SHAPES.get(read.kind, "")
        told = f"{opening}{', '.join(places)}{')' if opening else ''}"
        return f'<span class="r" data-r="{text}">{text} ← {told}{value}</span>'
