"""What the engine computes once per kernel, for every motif that is asked about it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

import sassql.facts  # noqa: F401  (registers the analyses)
from sassql.engine.carries import Carries
from sassql.engine.divergence import Divergence, divergence
from sassql.engine.lines import Lines
from sassql.engine.operations import LongerForms
from sassql.engine.opsets import Alternative
from sassql.engine.reach import Reach
from sassql.engine.values import Values
from sassql.engine.ways import Ways
from sassql.facts.blocks import Blocks
from sassql.model.form import Form
from sassql.model.kernel import Kernel, provides

if TYPE_CHECKING:
    from sassql.engine.bindings import Used
    from sassql.engine.budget import OutOfStepsError
    from sassql.engine.indexed import Lookup
    from sassql.engine.rows import Group
    from sassql.facts.addresses import Address

NEVER_NODES = frozenset({"NOP"})
"""Opcodes that do nothing: hazard fillers and padding."""


class Session:
    """Values, flows and ways of a kernel; one for motifs that see everything, one for the others."""

    def __init__(self, kernel: Kernel, everything: bool) -> None:
        self.kernel = kernel
        self.everything = everything
        self.used: dict[tuple[str, bool, int], tuple[list[Group], OutOfStepsError | None]] = {}
        """What was found of motifs that others use, by what they say, the strategy, and the budget."""
        self.attributes: dict[tuple[int, str], tuple[Address, object]] = {}
        """Attributes of addresses, by object and name; the object is kept, so that its number stays."""
        self.rows_of: dict[tuple[str, bool, int], tuple[Used, ...]] = {}
        """The same as rows for those who use them."""
        self._has: dict[tuple[Alternative, ...], bool] = {}
        self.lookup: Lookup | None = None
        """Where the faster way keeps its indices."""

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """The numbers of the kernel's distinct forms."""
        return tuple(np.unique(self.kernel.form_ids).tolist())

    @cached_property
    def by_opcode(self) -> dict[str, list[tuple[int, Form]]]:
        """The signature: forms, with their numbers, by opcode. Without a line's opcodes there is no row."""
        found: dict[str, list[tuple[int, Form]]] = {}
        for row in self.rows:
            form = self.kernel.forms[row]
            found.setdefault(form.opcode, []).append((row, form))
        return found

    @cached_property
    def nodes(self) -> npt.NDArray[np.bool_]:
        """By instruction number, whether motifs see it."""
        seen = np.ones(len(self.kernel.form_ids), bool)
        idle = [row for opcode in NEVER_NODES for row, _ in self.by_opcode.get(opcode, ())]
        seen[np.isin(self.kernel.form_ids, idle)] = False
        for index, names in self.kernel.fact("tags").items():
            if not self.everything or "filler" in names:
                seen[index] = False
        if self.diverged:
            blocks: Blocks = self.kernel.fact("blocks")
            seen[np.isin(blocks.of, list(self.diverged.blocks))] = False
        return seen

    @cached_property
    def places(self) -> dict[int, list[int]]:
        """The nodes by form."""
        found: dict[int, list[int]] = {}
        for index, (row, seen) in enumerate(zip(self.kernel.rows, self.nodes.tolist(), strict=True)):
            if seen:
                found.setdefault(row, []).append(index)
        return found

    def has(self, alternatives: tuple[Alternative, ...]) -> bool:
        """True where a node is one of these: rows ask the same again and again."""
        found = self._has.get(alternatives)
        if found is None:
            found = any(a.fits(self.kernel.forms[row]) for a in alternatives for row in self.places)
            self._has[alternatives] = found
        return found

    @cached_property
    def lines(self) -> Lines:
        """Where lines may lie."""
        return Lines(self)

    @cached_property
    def longer(self) -> LongerForms:
        """Operations of several instructions."""
        return LongerForms(self.kernel, self)

    @cached_property
    def diverged(self) -> Divergence:
        """Copies for diverged warps; none of them where the motif wants to see everything."""
        return Divergence(frozenset()) if self.everything else divergence(self.kernel)

    @cached_property
    def values(self) -> Values:
        """Operand values; the first use computes SSA."""
        return Values(self.kernel, self.diverged)

    @cached_property
    def reach(self) -> Reach:
        return Reach(self.kernel, self.values)

    @cached_property
    def ways(self) -> Ways:
        return Ways(self.kernel)

    @cached_property
    def carries(self) -> Carries:
        return Carries(self.kernel, self.values, self.diverged)


@provides("engine")
def sessions(kernel: Kernel) -> tuple[Session, Session]:
    """The sessions of a kernel: without and with what motifs do not see."""
    return Session(kernel, False), Session(kernel, True)


def session(kernel: Kernel, everything: bool) -> Session:
    """The session of a kernel for motifs that see everything, or for the others."""
    found: tuple[Session, Session] = kernel.fact("engine")
    return found[everything]
