"""How polynomials and their atoms are written for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sassql.facts.polynomials import Atom

_INFIX = {"div": "/", "mod": "%", "and": "&", "or": "|", "xor": "^", "sar": ">>", "shr": ">>>", "shl": "<<"}


def show_function(atom: Atom) -> str:
    """``(tid.x / 32)``, ``umulhi(a, b)``."""
    sign = _INFIX.get(atom.name)
    parts = [f"({arg})" if len(arg.terms) > 1 else str(arg) for arg in atom.args]
    if sign is not None:
        parts += [str(atom.number)] if len(parts) == 1 else []
        return f"({f' {sign} '.join(parts)})"
    mark = f"#{atom.number}" if atom.number >= 0 else ""
    name = atom.name.partition("<")[0]  # what follows keeps two forms of an opcode apart
    return f"{name}{mark}({', '.join(map(str, atom.args))})"


def show_term(monomial: tuple[Atom, ...], number: int) -> str:
    """``-4*tid.x``; ``number`` has a sign."""
    factors = [str(atom) for atom in monomial]
    if number == -1:
        return "-" + "*".join(factors)
    return "*".join(([] if number == 1 else [_show_factor(number)]) + factors)


def _show_factor(number: int) -> str:
    return str(number) if abs(number) < 1 << 16 else show_number(number)


def show_number(number: int) -> str:
    """``-0x10``."""
    return f"-{-number:#x}" if number < 0 else f"{number:#x}"
