"""Kernels from a few lines of SASS."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import sassql.facts  # noqa: F401  (registers the analyses)
from sassql.facts.ssa import SSA, ValueKind
from sassql.model.kernel import Kernel
from sassql.reading.listing import read_listing


@dataclass
class Probe:
    """A kernel whose instructions are called by their text, and whose values are told in words."""

    kernel: Kernel

    @property
    def blocks(self):
        return self.kernel.fact("blocks")

    @property
    def ssa(self) -> SSA:
        return self.kernel.fact("ssa")

    def index(self, text: str, occurrence: int = 0) -> int:
        """Number of the instruction whose text begins with ``text``."""
        found = [i.index for i in self.kernel.instructions if i.text.startswith(text)]
        assert found, f"no instruction begins with {text!r}"
        return found[occurrence]

    def block(self, text: str) -> int:
        """The block of that instruction."""
        return int(self.blocks.of[self.index(text)])

    def edges(self) -> set[tuple[int, int]]:
        """Control flow as (first instruction of a block, first instruction of the next)."""
        starts = self.blocks.start.tolist()
        return {
            (starts[b], starts[t]) for b, following in enumerate(self.blocks.successors) for t in following
        }

    def tell(self, value: int | None, depth: int = 3) -> str:
        """``@2`` is what instruction 2 writes; ``phi(…)``, ``psi(new, old)``, ``R4 at entry``, ``call 3``."""
        if value is None:
            return "nothing"
        ssa = self.ssa
        match ssa.kind[value]:
            case ValueKind.DEF:
                return f"@{ssa.instruction[value]}"
            case ValueKind.ENTRY:
                return f"{ssa.register[value]} at entry"
            case ValueKind.CALL:
                return f"call {ssa.instruction[value]}"
            case kind:
                inside = ", ".join(self.tell(v, depth - 1) for v in ssa.inputs[value]) if depth else "…"
                return f"{kind.value}({inside})"

    def read(self, text: str, operand: int, unit: int = 0, occurrence: int = 0) -> str:
        """What an operand reads."""
        return self.tell(self.ssa.use(self.index(text, occurrence), operand, unit))


@pytest.fixture
def listing():
    """``listing(text)``: a `Probe` on a pasted listing of sm_90, or of another architecture."""

    def probe(text: str, arch: str = "sm_90") -> Probe:
        modules, problems = read_listing(text, arch=arch)
        assert problems == []
        return Probe(modules[0].kernels[0])

    return probe
