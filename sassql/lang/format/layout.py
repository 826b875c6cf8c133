"""Pieces of a pattern to lines: where lines end, how far they are indented, what is aligned.

Lines break where the author broke them. A block that has a line break anywhere has one behind its `{`
and one before its `}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from sassql.lang.format.pieces import Piece, pieces
from sassql.lang.format.spacing import ALTERNATIVES, Role, blank, roles
from sassql.lang.messages import HEADER_WORDS, ITEM_WORDS

_STEP = 2
_CONTINUED = 4
_HEADER = 5
"""Width of the longest header words."""
_GAPS = {
    "line": (2,),
    "labelled line": (1, 2),
    "header": (1,),
    "class": (1,),
    "classify": (2, 1),
    "emit": (1,),
}
"""Blanks behind each column, by kind of statement."""
_GO_ON = frozenset({"or", "and", "via"})
"""A line that begins with one of these words goes on with the line before, in the grammar."""
_WIDEST_ALIGNED = 28
"""A longer opset does not push the operands of its neighbours to the right."""
_WIDEST_COMMENTED = 80
"""Likewise a longer line and its neighbours' comments."""


@dataclass(slots=True)
class Line:
    """One line of the result. ``cells`` are aligned with those of neighbours of the same ``kind``."""

    indent: int
    blank_before: bool = False
    cells: list[str] = field(default_factory=lambda: [""])
    kind: str = ""
    comment: str = ""

    @property
    def text(self) -> str:
        return " " * self.indent + "".join(self.cells)

    @property
    def empty(self) -> bool:
        return not any(self.cells) and not self.comment


def layout(text: str) -> str:
    """The text of a pattern that parses, in the one way to write it."""
    lines = _Writer(pieces(text)).run()
    for run in _runs(lines, lambda line: (line.kind, line.indent) if line.kind else None):
        _align(run)
    for run in _runs(lines, lambda line: bool(line.comment) and bool(line.text.strip())):
        _align_comments(run)
    out: list[str] = []
    for line in lines:
        if line.blank_before and out:
            out.append("")
        out.append((line.text + line.comment).rstrip(" "))
    return "\n".join([*out, ""]) if out else ""


class _Writer:
    """Goes through the pieces once, with the blocks that are open."""

    def __init__(self, found: list[Piece]) -> None:
        self.found = found
        self.roles = roles(found)
        self.spread = _spread(found, self.roles)
        self.lines: list[Line] = []
        self.line = Line(0)
        self.depth = 0
        self.cell_starts: tuple[int, ...] = ()

    def run(self) -> list[Line]:
        for place, piece in enumerate(self.found):
            forced = self._comments(place, piece)
            if piece.type == "$END":
                break
            self._place(place, piece, forced)
        self._flush()
        return self.lines

    # --- comments

    def _comments(self, place: int, piece: Piece) -> bool:
        """Write the comments before a piece; True where the piece has to begin a line."""
        forced = False
        for number, comment in enumerate(piece.comments):
            last = number == len(piece.comments) - 1
            follows = piece.newlines if last else piece.comments[number + 1].newlines
            ends = comment.line or follows > 0 or self._must_break(place)
            own = comment.newlines > 0 or self.line.empty
            if own and (ends or forced or self.line.empty) and (ends or place == 0 or self._begins(place)):
                self._new(self._indent(place), comment.newlines)
                self.line.cells[-1] = comment.text
                self._flush()
                forced = True
            elif ends:
                self.line.comment += (" " if self.line.comment else "") + comment.text
                forced = True
            else:
                self.line.cells[-1] += f" {comment.text}" if self.line.cells[-1] else comment.text
        return forced

    def _begins(self, place: int) -> bool:
        """True where a piece begins a statement or closes a block."""
        piece = self.found[place]
        return (
            piece.separated
            or self._is_item(place)
            or piece.type == "$END"
            or (place > 0 and self._is_block(place - 1, "{"))
            or self._is_block(place, "}")
        )

    def _must_break(self, place: int) -> bool:
        """True where a piece begins a line wherever the author put it."""
        if self.found[place].type == "$END" or self._is_item(place):
            return True
        opened = place - 1 if place and self._is_block(place - 1, "{") else place
        return self.spread.get(opened, False) and (opened < place or self._is_block(place, "}"))

    def _gap(self, newlines: int) -> bool:
        """True where a blank line is kept: not at the beginning of a text or block."""
        return newlines > 1 and bool(self.lines) and not self.lines[-1].text.endswith("{")

    # --- pieces

    def _place(self, place: int, piece: Piece, forced: bool) -> None:
        broken = forced or piece.newlines > 0
        closes = self._is_block(place, "}")
        before = self.found[place - 1] if place else None
        if closes:
            self.depth -= 1
            if self.spread.get(place):
                self._new(self.depth * _STEP)
            else:
                self.line.cells[-1] += " " if before is not None and before.text != "{" else ""
        elif place == 0 or self._is_item(place):
            self._new(self.depth * _STEP, piece.newlines)
            self._begin(place)
        elif self._is_block(place - 1, "{"):
            if self.spread.get(place - 1):
                self._new(self.depth * _STEP, piece.newlines if forced else 0)
            else:
                self.line.cells[-1] += " "
            self._begin(place)
        elif piece.separated:
            if broken and piece.text not in _GO_ON:
                self._new(self.depth * _STEP, piece.newlines)
                self._begin(place)
            else:
                self.line.cells[-1] += " ; "
                self.line.kind = ""
        elif broken and not (piece.text == "or" and self._is_block(place - 1, "}") and not forced):
            self._new(self._indent(place))
        elif before is not None and blank(before, self.roles[place - 1], piece, self.roles[place]):
            self.line.cells[-1] += " "
        self._cell(place)
        self.line.cells[-1] += piece.text
        if self._is_block(place, "{"):
            self.depth += 1
            self.line.kind = ""

    def _new(self, indent: int, newlines: int = 0) -> None:
        self._flush()
        self.line = Line(indent, self._gap(newlines))

    def _flush(self) -> None:
        if not self.line.empty:
            self.line.cells = [
                cell.strip(" ") if n else cell.rstrip(" ") for n, cell in enumerate(self.line.cells)
            ]
            if not self.line.kind:
                self.line.cells = [" ".join(cell for cell in self.line.cells if cell)]
            self.lines.append(self.line)
        self.line = Line(self.depth * _STEP)

    def _indent(self, place: int) -> int:
        """Where a line begins: deeper in the middle of a statement."""
        inside = self._begins(place)
        more = 0 if inside or place == 0 else (_CONTINUED if self.depth else _STEP)
        return self.depth * _STEP + more

    def _is_block(self, place: int, sign: str) -> bool:
        return self.found[place].text == sign and self.roles[place] is Role.BLOCK

    def _is_item(self, place: int) -> bool:
        piece = self.found[place]
        return self.depth == 0 and piece.text in ITEM_WORDS and piece.type != "IDENT"

    # --- cells

    def _begin(self, place: int) -> None:
        """Find out what kind of statement begins, and where its cells do."""
        if self.line.empty:  # only the first statement of a line is aligned with its neighbours
            self.line.kind, self.cell_starts = _kind(self.found, place)

    def _cell(self, place: int) -> None:
        if self.line.kind and place in self.cell_starts and self.line.cells[-1]:
            self.line.cells.append("")


def _spread(found: Sequence[Piece], signs: Sequence[Role]) -> dict[int, bool]:
    """For each brace of a block: True where the block takes several lines."""
    result: dict[int, bool] = {}
    opened: list[int] = []
    for place, (piece, role) in enumerate(zip(found, signs, strict=True)):
        if role is not Role.BLOCK:
            continue
        if piece.text == "{":
            opened.append(place)
        elif piece.text == "}" and opened:
            start = opened.pop()
            result[start] = result[place] = any(p.breaks for p in found[start + 1 : place + 1])
    return result


def _kind(found: Sequence[Piece], place: int) -> tuple[str, tuple[int, ...]]:
    """The kind of the statement that begins at a piece, and the pieces that begin its cells."""
    piece = found[place]
    if (
        piece.type == "IDENT"
        and piece.text in HEADER_WORDS
        and found[place + 1].type in ("STRING", "ARCH", "IDENT")
    ):
        return "header", (place + 1,)
    if piece.text == "class" and piece.type != "IDENT":
        return "class", (place + 2,)
    if piece.text == "classify" and piece.type != "IDENT":
        return "classify", (place + 2, place + 4) if found[place + 2].text == "priority" else (place + 2,)
    if piece.text in ("emit", "key") and piece.type != "IDENT":
        return "emit", (place + 1,)
    start = place
    labelled = piece.type == "IDENT" and found[place + 1].type == "COLON"
    if labelled:
        start = place + 2
    if found[start].type == "AT" or found[start].type in ALTERNATIVES:
        operands = _behind_opset(found, start)
        starts = [start] if labelled else []
        if operands is not None:
            starts.append(operands)
        return ("labelled line" if labelled else "line"), tuple(starts)
    return "", ()


def _behind_opset(found: Sequence[Piece], place: int) -> int | None:
    """The piece of the first operand; None where a line has none."""
    while found[place].type not in ALTERNATIVES:
        place += 1
    inside = False
    while True:
        place += 1
        piece = found[place]
        if piece.text == ".{":
            inside = True
        elif inside:
            inside = piece.text != "}"
        elif piece.type in ("SUFFIX", "ABSENT", *ALTERNATIVES) or (
            piece.type == "VBAR" and found[place + 1].type in ALTERNATIVES
        ):
            continue
        else:
            ends = piece.separated or piece.text in ("{", "}") or piece.type == "$END"
            return None if ends else place


def _in_opset(piece: Piece, following: Piece) -> bool:
    """True where a piece goes on with an opset; a bar in front of anything but an opcode opens an operand."""
    goes_on = piece.type in ("SUFFIX", "ABSENT") or piece.type in ALTERNATIVES
    return goes_on or (piece.type == "VBAR" and following.type in ALTERNATIVES)


def _runs(lines: list[Line], key: Callable[[Line], object]) -> Iterator[list[Line]]:
    """Neighbours with one key, which is not false; a blank line ends a run."""
    groups = groupby(_numbered(lines), lambda pair: (pair[0], key(pair[1])))
    for (_, value), group in groups:
        if value:
            yield [line for _, line in group]


def _numbered(lines: list[Line]) -> Iterator[tuple[int, Line]]:
    number = 0
    for line in lines:
        number += line.blank_before
        yield number, line


def _align(run: list[Line]) -> None:
    """Pad the cells of a run to the widest one of each column; the last cell of a line ends it."""
    kind = run[0].kind
    for column, gap in enumerate(_GAPS[kind]):
        padded = [line for line in run if len(line.cells) > column + 1]
        widths = [len(line.cells[column]) for line in padded]
        most = max((width for width in widths if width <= _WIDEST_ALIGNED), default=0)
        for line in padded:
            line.cells[column] = line.cells[column].ljust(_HEADER if kind == "header" else most) + " " * gap


def _align_comments(run: list[Line]) -> None:
    widths = [len(line.text) for line in run]
    most = max((width for width in widths if width <= _WIDEST_COMMENTED), default=0)
    for line in run:
        line.comment = " " * (max(most - len(line.text), 0) + 2) + line.comment
