"""Fact "meanings": what each value computes, independent of how the instruction is spelled.

    HFMA2 R1, R2, 1, 1, R3     add(R2, R3), f16x2
    IADD3 R4, -R5, R6, RZ      sub(R6, R5), i32
    @!P0 FMUL R0, R0, 0.5      select(P0, before, mul(before, 0.5))
    FSETP.GT P0, R1, R2  with  FSEL R3, R1, R2, P0     max(R1, R2), exact but for NaN

Single instructions come from `sassql/isa/data/meanings.tsv`; forms of several instructions
(max by compare and select, division, exp, 64-bit pairs) from `sassql/isa/data/sequences.tsv`.
What neither table knows has no meaning here: None, never a guess.
"""

from __future__ import annotations

from sassql.facts.copies import Copies
from sassql.facts.operations import Meaning, Meanings
from sassql.facts.sequences import find_sequences
from sassql.facts.terms import Term, Terms
from sassql.facts.values import SSA
from sassql.model.kernel import Kernel, provides

__all__ = ["Meaning", "Meanings", "Term", "meanings"]


@provides("meanings")
def meanings(kernel: Kernel) -> Meanings:
    """The meanings of a kernel, longer forms included."""
    ssa: SSA = kernel.fact("ssa")
    copies: Copies = kernel.fact("copies")
    terms = Terms(kernel, ssa, copies, kernel.fact("constants"))
    found = Meanings(kernel, ssa, copies, terms, kernel.fact("forms"))
    found.longer.update(find_sequences(found))
    return found
