"""Fact "decided": whether a predicate is known where an instruction takes effect.

Equal comparisons are taken together:

    ISETP.GE P1, R27, R16 ;  @!P1 LDG R4, [R2]  …  ISETP.GE P0, R17, R16 ;  @!P0 STG [R6], R4

Where R17 and R27 are the same number, the store runs only where the load did, although the predicates
are two values.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sassql.facts.blocks import Blocks
from sassql.facts.choices import assume
from sassql.facts.control import Control
from sassql.facts.formulas import Formulas
from sassql.facts.polynomials import Polynomial, mentioned
from sassql.facts.values import SSA, ValueKind
from sassql.isa.meanings import templates
from sassql.model.kernel import Kernel, provides

MOST_ROUNDS = 8

Comparison = tuple[str, str, Polynomial, Polynomial]
"""Detail (GE, LT …), type, and the two numbers that are compared."""


@dataclass(slots=True, eq=False)
class Decided:
    """Answers for one kernel, each found once."""

    kernel: Kernel
    ssa: SSA
    formulas: Formulas
    control: Control
    blocks: Blocks
    _comparisons: dict[int, Comparison | None] = field(default_factory=dict)
    _holds: dict[tuple[int, int, bool], tuple[dict[int, bool], dict[Comparison, bool]]] = field(
        default_factory=dict
    )

    def root(self, predicate: int) -> int:
        """The value that stands for all copies of a predicate."""
        return self.formulas.constants.copies.root(predicate)

    def at(self, index: int, predicate: int) -> bool | None:
        """Whether a predicate (a root) holds where instruction ``index`` acts; None where that is open."""
        guard, value = self.formulas.form(index).guard, self.ssa.guard(index)
        own = (-1, False) if guard is None or value is None else (self.root(value), not guard.inverted)
        key = (int(self.blocks.of[index]), *own)
        if key not in self._holds:
            self._holds[key] = self._all_that_holds(*key)
        roots, comparisons = self._holds[key]
        if predicate in roots:
            return roots[predicate]
        compared = self.comparison(predicate)
        return None if compared is None else comparisons.get(self._under(compared, roots, comparisons))

    def _all_that_holds(
        self, block: int, predicate: int, holds: bool
    ) -> tuple[dict[int, bool], dict[Comparison, bool]]:
        roots = dict(self.control.known(block))
        if predicate >= 0:
            roots[predicate] = holds
        comparisons: dict[Comparison, bool] = {}
        for _ in range(MOST_ROUNDS):
            found = {
                self._under(compared, roots, comparisons): known
                for root, known in roots.items()
                if (compared := self.comparison(root)) is not None
            }
            implied = self._implied(found)
            if found == comparisons and implied.items() <= roots.items():
                break
            comparisons = found
            roots.update(implied)
        return roots, comparisons

    def _implied(self, comparisons: dict[Comparison, bool]) -> dict[int, bool]:
        """Predicates of choices that cannot be otherwise: what is known would contradict itself."""
        choosing = {a.number for _, _, *sides in comparisons for a in mentioned(*sides) if a.name == "select"}
        found = {}
        for number in choosing:
            own = self.comparison(number)
            if own is None:
                continue
            for holds in (False, True):
                at = {
                    (d, t, assume(a, number, holds), assume(b, number, holds)): known
                    for (d, t, a, b), known in comparisons.items()
                }
                if at.get(own, holds) is not holds:
                    found[number] = not holds
        return found

    def _under(
        self, compared: Comparison, roots: dict[int, bool], comparisons: dict[Comparison, bool]
    ) -> Comparison:
        """A comparison where all of this is known: choices that it decides are made."""
        detail, kind, left, right = compared
        for _ in range(MOST_ROUNDS):
            choosing = {a.number for a in mentioned(left, right) if a.name == "select"}
            settled = {n: s for n in choosing if (s := self._settled(n, roots, comparisons)) is not None}
            if not settled:
                break
            for number, holds in settled.items():
                left, right = assume(left, number, holds), assume(right, number, holds)
        return detail, kind, left, right

    def _settled(
        self, predicate: int, roots: dict[int, bool], comparisons: dict[Comparison, bool]
    ) -> bool | None:
        if predicate in roots:
            return roots[predicate]
        compared = self.comparison(predicate)
        return None if compared is None else comparisons.get(compared)

    def comparison(self, predicate: int) -> Comparison | None:
        """What a predicate compares, where it is a comparison of two words and nothing else."""
        if predicate not in self._comparisons:
            self._comparisons[predicate] = self._compared(predicate)
        return self._comparisons[predicate]

    def _compared(self, predicate: int) -> Comparison | None:
        ssa, index = self.ssa, self.ssa.instruction[predicate]
        if ssa.kind[predicate] is not ValueKind.DEF or index < 0:
            return None
        made = next((t for t in templates(self.formulas.form(index)) if t.operation == "compare"), None)
        if made is None or made.result != ssa.operand[predicate] or len(made.operands) != 2:
            return None
        left, right = (self.formulas.operand(index, place) for place in made.operands)
        return None if left is None or right is None else (made.detail, made.source, left, right)


@provides("decided")
def decided(kernel: Kernel) -> Decided:
    """What is known of predicates, instruction by instruction."""
    return Decided(
        kernel, kernel.fact("ssa"), kernel.fact("formulas"), kernel.fact("control"), kernel.fact("blocks")
    )
