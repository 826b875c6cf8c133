"""Tables of what loops carry: for each header φ, what comes into it along each way."""

from __future__ import annotations

from collections.abc import Iterator

from sassql.engine.bindings import Occurrences
from sassql.engine.divergence import Divergence
from sassql.engine.values import Unit, Units, Values
from sassql.facts.blocks import Blocks
from sassql.facts.dominators import Dominators
from sassql.facts.loops import Loops
from sassql.facts.values import SSA, ValueKind
from sassql.model.kernel import Kernel


class Carries:
    """The φ of loop headers. A way is a place among the predecessors of the header."""

    def __init__(self, kernel: Kernel, values: Values, diverged: Divergence) -> None:
        self._loops: Loops = kernel.fact("loops")
        self._blocks: Blocks = kernel.fact("blocks")
        self._tree: Dominators = kernel.fact("dominators")
        self._ssa: SSA = kernel.fact("ssa")
        self._values = values
        self._diverged = diverged.blocks
        self._loop_of = {self._loops[n].header: n for n in range(len(self._loops))}
        self._phis: dict[int, list[int]] = {}
        for value, kind in enumerate(self._ssa.kind):
            loop = self._loop_of.get(self._ssa.block[value]) if kind is ValueKind.PHI else None
            if loop is not None and values.unit_of(value) == value:
                self._phis.setdefault(loop, []).append(value)
        self._into: dict[tuple[int, int], dict[Unit, list[Unit]]] = {}

    @property
    def most(self) -> int:
        """The φ of the header that has the most."""
        return max((len(found) for found in self._phis.values()), default=1)

    def loop_of(self, unit: Unit) -> int | None:
        """The loop whose header has the φ ``unit``; None for any other value."""
        if not isinstance(unit, int) or self._ssa.kind[unit] is not ValueKind.PHI:
            return None
        return self._loop_of.get(self._ssa.block[unit])

    def latches(self, loop: int) -> tuple[int, ...]:
        """The ways back into the header."""
        before = self._blocks.predecessors[self._loops[loop].header]
        inside = set(self._loops[loop].blocks) - self._diverged
        return tuple(way for way, block in enumerate(before) if block in inside)

    def entries(self, loop: int) -> tuple[int, ...]:
        """The ways into the loop; one more than there are blocks at the start of a function."""
        before = self._blocks.predecessors[self._loops[loop].header]
        back = {way for way, block in enumerate(before) if block in self._loops[loop].blocks}
        return tuple(way for way in range(len(before) + 1) if way not in back)

    def back(self, units: Units, loop: int, way: int) -> Units | None:
        """What comes into φ side by side along one way; None where one is no φ of the header."""
        found: list[Unit] = []
        for unit in units:
            if not isinstance(unit, int) or self.loop_of(unit) != loop:
                return None
            inputs = self._ssa.inputs[unit]
            if way >= len(inputs):
                return None
            found.append(self._values.unit_of(inputs[way]))
        return tuple(found)

    def pairs(self, loop: int, way: int) -> Iterator[tuple[Unit, Unit]]:
        """Every φ of the header that something else comes back to, with what that is."""
        for phi in self._phis.get(loop, ()):
            unit = self._values.unit_of(self._ssa.inputs[phi][way])
            if unit != phi:
                yield phi, unit

    def into(self, unit: Unit, loop: int, way: int) -> list[Unit]:
        """The φ to which a value comes back along one way."""
        if (loop, way) not in self._into:
            made: dict[Unit, list[Unit]] = {}
            for phi, source in self.pairs(loop, way):
                made.setdefault(source, []).append(phi)
            self._into[loop, way] = made
        return self._into[loop, way].get(unit, [])

    def leaves_early(self, after: Occurrences, loop: int) -> bool:
        """True where the loop may be left before the carried value is made anew."""
        if not after or not isinstance(after[0][0], int):
            return False
        made = self._ssa.block[after[0][0]]
        return any(not self._tree.dominates(made, block) for block, _ in self._loops[loop].exits)
