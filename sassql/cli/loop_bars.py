"""Bars that show in a listing which instructions a loop holds, one column per nesting level."""

from __future__ import annotations

from collections.abc import Callable

from sassql.facts.blocks import Blocks
from sassql.facts.loops import Loops

_BAR, _TOP, _END, _NONE = "│", "╭", "╰", " "


class LoopBars:
    """The bars of one kernel. Loops of a kernel without any take no room."""

    def __init__(self, loops: Loops, blocks: Blocks) -> None:
        self._loops = loops
        self._blocks = blocks
        self._levels = max((loop.depth for loop in loops.loops), default=0)
        self._first = {number: min(loop.blocks) for number, loop in enumerate(loops.loops)}
        self._last = {number: max(loop.blocks) for number, loop in enumerate(loops.loops)}

    def name(self, block: int) -> str:
        """``loop 2``, the innermost loop of a block, ``loop 2 header`` where it begins; or nothing."""
        number = self._loops.of[block]
        if number < 0:
            return ""
        return f"loop {number}" + (" header" if self._loops[number].header == block else "")

    def is_back(self, block: int, target: int) -> bool:
        """True for an edge that goes back to the head of a loop."""
        return any(
            self._loops[n].header == target and block in self._loops[n].latches
            for n in self._loops.enclosing(target)
        )

    def at_header(self, block: int) -> str:
        """The bars beside a block's own line."""
        return self._drawn(block, lambda number: _TOP if self._first[number] == block else _BAR)

    def beside(self, block: int, index: int) -> str:
        """The bars beside an instruction: those of a loop end at its last one."""
        last = int(self._blocks.end[block]) - 1 == index
        return self._drawn(block, lambda number: _END if last and self._last[number] == block else _BAR)

    def below(self, block: int, index: int) -> str:
        """The bars beside a line that goes on with that of an instruction."""
        last = int(self._blocks.end[block]) - 1 == index
        return self._drawn(block, lambda number: _NONE if last and self._last[number] == block else _BAR)

    def _drawn(self, block: int, sign: Callable[[int], str]) -> str:
        if not self._levels:
            return ""
        signs = [sign(number) for number in reversed(self._loops.enclosing(block))]
        return "".join(signs).ljust(self._levels, _NONE)
