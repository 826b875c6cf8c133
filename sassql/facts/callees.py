"""Fact "callees": the name of what each call calls, where it has one.

CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_u64)      a local function or a symbol
LDC.64 R2, c[0x4][0x0] ;  CALL.ABS.NOINC R2               a function of the runtime: __assertfail
"""

from __future__ import annotations

from sassql.facts.blocks import Blocks, Call
from sassql.facts.formulas import Formulas
from sassql.facts.polynomials import BANK_SHIFT, AtomKind, Polynomial
from sassql.model.kernel import Kernel, provides

_ADDRESSES = 4
"""The constant bank of addresses that the loader fills in."""


@provides("callees")
def callees(kernel: Kernel) -> dict[int, str]:
    """Names by instruction number of the call; empty for a callee that nobody knows."""
    blocks: Blocks = kernel.fact("blocks")
    return {call.index: _name(kernel, blocks, call) for call in blocks.calls}


def _name(kernel: Kernel, blocks: Blocks, call: Call) -> str:
    if call.entry is not None and blocks.function[call.entry] >= 0:
        return kernel.functions[blocks.function[call.entry]].name
    if call.symbol or call.entry is not None or not kernel.linked:
        return call.symbol
    formulas: Formulas = kernel.fact("formulas")
    read = formulas.ssa.uses_of(call.index)
    words = [value for operand, unit, value in read if operand >= 0 and unit == 0 and formulas.is_word(value)]
    return next((name for value in words if (name := _linked(kernel, formulas.of(value)))), "")


def _linked(kernel: Kernel, address: Polynomial) -> str:
    """The symbol whose address a word of the bank of addresses holds."""
    atoms = list(address.atoms)
    if len(atoms) != 1 or address != Polynomial.of(atoms[0]):
        return ""
    (atom,) = atoms
    if atom.kind is AtomKind.CONSTANT and atom.number >> BANK_SHIFT == _ADDRESSES:
        return kernel.linked.get(atom.number & ((1 << BANK_SHIFT) - 1), "")
    if atom.kind is AtomKind.FUNCTION and atom.name.startswith("constant") and atom.number == _ADDRESSES:
        place = atom.args[0].value if len(atom.args) == 1 else None
        return "" if place is None else kernel.linked.get(place, "")
    return ""
