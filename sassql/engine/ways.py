"""Control flow between two instructions: order, dominance, and what lies on the ways between."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sassql.facts.blocks import Blocks
from sassql.facts.dominators import Dominators
from sassql.facts.loops import Loops
from sassql.model.kernel import Kernel


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a block: an instruction number, or just before it where ``index`` is no whole number."""

    block: int
    index: float


class Ways:
    """Ways through the blocks of one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self.blocks: Blocks = kernel.fact("blocks")
        self._before: dict[tuple[int, frozenset[int]], frozenset[int]] = {}

    @property
    def _loops(self) -> Loops:
        found: Loops = self._kernel.fact("loops")
        return found

    def of(self, index: int) -> Position:
        """The position of an instruction."""
        return Position(int(self.blocks.of[index]), index)

    def before(self, a: Position, b: Position, anywhere: bool) -> bool:
        """Whether ``b`` is reached from ``a``; unless ``anywhere`` in one iteration of their common loops."""
        if a.block == b.block and a.index < b.index:
            return True
        common: frozenset[int] = frozenset()
        if not anywhere:
            if a.block == b.block:
                return False
            common = frozenset(self._loops.enclosing(a.block)) & frozenset(self._loops.enclosing(b.block))
        return b.block in self._reached(a.block, common)

    def _reached(self, start: int, common: frozenset[int]) -> frozenset[int]:
        """Blocks behind ``start``, not over back edges of the loops ``common``."""
        key = (start, common)
        if key not in self._before:
            barred = {(latch, self._loops[n].header) for n in common for latch in self._loops[n].latches}
            seen: set[int] = set()
            pending = [start]
            while pending:
                block = pending.pop()
                for following in self.blocks.successors[block]:
                    if following not in seen and (block, following) not in barred:
                        seen.add(following)
                        pending.append(following)
            self._before[key] = frozenset(seen)
        return self._before[key]

    def dominates(self, a: Position, b: Position) -> bool:
        """Every way to ``b`` goes through ``a``."""
        tree: Dominators = self._kernel.fact("dominators")
        return a.index <= b.index if a.block == b.block else tree.dominates(a.block, b.block)

    def postdominates(self, a: Position, b: Position) -> bool:
        """Every way out of ``b`` goes through ``a``."""
        tree: Dominators = self._kernel.fact("postdominators")
        return a.index >= b.index if a.block == b.block else tree.dominates(a.block, b.block)

    def between(self, a: Position, b: Position, wanted: Collection[int]) -> tuple[bool, bool, bool]:
        """(whether ``b`` is reached, whether some way passes ``wanted``, whether every way does).

        A way goes from ``a`` to the first ``b`` without coming to ``a`` again; ``wanted`` are
        instruction numbers.
        """
        if a.block == b.block and a.index < b.index:
            found = any(a.index < index < b.index for index in wanted)
            return True, found, found
        by_block: dict[int, list[int]] = {}
        for index in wanted:
            by_block.setdefault(int(self.blocks.of[index]), []).append(index)
        ends = [i for i in by_block.get(a.block, []) if i > a.index]
        ends += [i for i in by_block.get(b.block, []) if i < b.index]
        inner = self._inner(a.block, b.block, self.blocks.successors) & self._inner(
            b.block, a.block, self.blocks.predecessors
        )
        if not inner and b.block not in self.blocks.successors[a.block]:
            return False, False, True
        some = bool(ends) or any(block in inner for block in by_block)
        free = inner - by_block.keys()
        avoided = not ends and (
            b.block in self.blocks.successors[a.block] or self._connects(a.block, b.block, free)
        )
        return True, some, not avoided

    def _inner(self, start: int, stop: int, following: Sequence[Sequence[int]]) -> set[int]:
        """Blocks behind ``start`` that are entered before ``stop`` and ``start`` itself."""
        seen: set[int] = set()
        pending = [start]
        while pending:
            for block in following[pending.pop()]:
                if block not in seen and block not in (start, stop):
                    seen.add(block)
                    pending.append(block)
        return seen

    def _connects(self, start: int, stop: int, allowed: set[int]) -> bool:
        """True where a way from ``start`` to ``stop`` stays in ``allowed``."""
        seen: set[int] = set()
        pending = [start]
        while pending:
            for block in self.blocks.successors[pending.pop()]:
                if block == stop:
                    return True
                if block in allowed and block not in seen:
                    seen.add(block)
                    pending.append(block)
        return False
