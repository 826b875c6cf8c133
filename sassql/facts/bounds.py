"""What ends a loop: the comparison at each way out, and when it first fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from sassql.facts.blocks import Blocks
from sassql.facts.choices import substitute, substitute_inside
from sassql.facts.dominators import Dominators
from sassql.facts.formulas import Formulas
from sassql.facts.loops import Loop
from sassql.facts.polynomials import WORD, Atom, Polynomial, mentioned, signed
from sassql.facts.values import SSA, ValueKind
from sassql.isa import flow
from sassql.isa.compares import MIRRORED, NEGATED, Compare, compare_of
from sassql.isa.spaces import touches_of
from sassql.model.kernel import Kernel
from sassql.model.operands import RegisterOperand

MOST_TRIED = 64
_TOUCHING = frozenset({"load", "atomic", "both"})
_COMPARES: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


@dataclass(frozen=True, slots=True)
class Bound:
    """The loop goes on while ``left operator right``; only ``left`` has the counter of the loop.

    ``block`` is where it is tested and ``predicate`` the value of "ssa" that tells. ``exact`` is false where
    another condition is joined to it. ``wide`` is a comparison of 64-bit numbers: the
    polynomials are their low words.
    """

    block: int
    predicate: int
    operator: str
    left: Polynomial
    right: Polynomial
    is_signed: bool
    wide: bool
    exact: bool

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


def conditions(kernel: Kernel, index: int) -> list[tuple[int, bool]]:
    """Predicates, as values of "ssa", that must hold (or not) for the branch at ``index`` to be taken."""
    form = kernel.forms[kernel.rows[index]]
    ssa: SSA = kernel.fact("ssa")
    row = flow.row_of(form.opcode, form.modifiers)
    found: list[tuple[int, bool]] = []
    guard = ssa.guard(index)
    if guard is not None and form.guard is not None:
        found.append((guard, not form.guard.inverted))
    for place, operand in enumerate(form.operands):
        if row is not None and operand.role in row.when and isinstance(operand, RegisterOperand):
            value = ssa.use(index, place)
            if value is not None:
                found.append((value, not operand.inverted))
    return found


def exit_bounds(
    kernel: Kernel,
    formulas: Formulas,
    loop: Loop,
    kappa: Atom,
    resolve: Callable[[int, Polynomial], Polynomial],
) -> list[Bound]:
    """The recognised bounds of a loop, one per way out at most."""
    blocks: Blocks = kernel.fact("blocks")
    found = []
    for block, target in loop.exits:
        last = int(blocks.end[block]) - 1
        needed = conditions(kernel, last)
        if len(needed) != 1 or len(blocks.successors[block]) != 2:
            continue
        predicate, wanted = needed[0]
        falls = target == block + 1  # then the branch is what stays in the loop
        bound = _bound(formulas, block, predicate, wanted is falls, resolve)
        if bound is not None and (bound := _turned(bound, kappa)) is not None:
            found.append(bound)
    return found


def _bound(
    formulas: Formulas,
    block: int,
    predicate: int,
    holds: bool,
    resolve: Callable[[int, Polynomial], Polynomial],
) -> Bound | None:
    root = formulas.constants.copies.root(predicate)
    compared = _compared(formulas, root)
    if compared is None:
        return None
    index, compare = compared
    operator, is_signed, wide, alone = compare.operator, compare.is_signed, compare.wide, compare.alone
    if compare.low >= 0:
        value = formulas.ssa.use(index, compare.low)
        low = None if value is None else _compared(formulas, formulas.constants.copies.root(value))
        if low is None:
            return None
        index, compare = low
    left, right = (formulas.operand(index, place) for place in (compare.left, compare.right))
    if left is None or right is None:
        return None
    return Bound(
        block,
        root,
        operator if holds else NEGATED[operator],
        resolve(block, left),
        resolve(block, right),
        is_signed,
        wide,
        alone and compare.alone,
    )


def _compared(formulas: Formulas, value: int) -> tuple[int, Compare] | None:
    ssa = formulas.ssa
    if ssa.kind[value] is not ValueKind.DEF or ssa.instruction[value] < 0:
        return None
    index = ssa.instruction[value]
    compare = compare_of(formulas.form(index), ssa.operand[value])
    return None if compare is None else (index, compare)


def _turned(bound: Bound, kappa: Atom) -> Bound | None:
    """The bound with the counter on its left side, or None where it has none."""
    left, right = (kappa in mentioned(side) for side in (bound.left, bound.right))
    if left and not right:
        return bound
    if left or not right:
        return None
    return Bound(
        bound.block,
        bound.predicate,
        MIRRORED[bound.operator],
        bound.right,
        bound.left,
        bound.is_signed,
        bound.wide,
        bound.exact,
    )


def final_count(kernel: Kernel, loop: Loop, bounds: list[Bound], kappa: Atom) -> int | None:
    """How often the loop goes round before it ends, where all of it is numbers; else None."""
    if len(loop.exits) != 1 or len(bounds) != 1:
        return None
    bound = bounds[0]
    tree: Dominators = kernel.fact("dominators")
    step, limit = bound.left.coefficient(kappa), bound.right.value
    if limit is None or not bound.exact or bound.wide:
        return None
    if not all(tree.dominates(bound.block, latch) for latch in loop.latches):
        return None
    blocks: Blocks = kernel.fact("blocks")
    if any(int(blocks.of[i]) in loop.blocks for i in blocks.unresolved):
        return None
    if step is None or step.value is None:
        return _tried(bound, kappa, limit)
    start = (bound.left - Polynomial.of(kappa).times(step.value)).value
    if start is None:
        return None
    return first_failure(start, step.value, bound.operator, limit, is_signed=bound.is_signed)


def _tried(bound: Bound, kappa: Atom, limit: int) -> int | None:
    """The same by trying, for what is shifted or alternates and depends on nothing but the counter."""
    for count in range(MOST_TRIED):
        word = substitute(bound.left, partial(_count_as, kappa=kappa, count=count)).value
        if word is None:
            return None
        pair = (signed(word), signed(limit)) if bound.is_signed else (word, limit)
        if not _COMPARES[bound.operator](*pair):
            return count
    return None


def _count_as(atom: Atom, kappa: Atom, count: int) -> Polynomial | None:
    if atom == kappa:
        return Polynomial.number(count)
    return substitute_inside(atom, partial(_count_as, kappa=kappa, count=count)) if atom.args else None


def first_failure(start: int, step: int, operator: str, limit: int, *, is_signed: bool) -> int | None:
    """The smallest ``k`` for which ``start + step*k  operator  limit`` fails, or None.

    All are 32-bit patterns. None too where the counter would wrap round before that.

    >>> first_failure(0, 4, "<", 10, is_signed=True)
    3
    """
    by = signed(step)
    begin, end = (signed(start), signed(limit)) if is_signed else (start, limit)
    holds = _COMPARES[operator]
    if not holds(begin, end):
        return 0
    if operator == "==":
        return 1 if by else None
    if operator == "!=":
        distance = signed((limit - start) % WORD)
        return distance // by if by and distance % by == 0 and distance // by > 0 else None
    if by == 0 or (by > 0) != (operator in ("<", "<=")):
        return None
    distance = end - begin + (by // abs(by) if operator in ("<=", ">=") else 0)
    count = -(-distance // by)
    low, high = (-(WORD >> 1), (WORD >> 1) - 1) if is_signed else (0, WORD - 1)
    return count if low <= begin + by * count <= high else None


def waits(kernel: Kernel, loop: Loop) -> bool:
    """True where what a loop reads from memory decides whether it goes on."""
    blocks: Blocks = kernel.fact("blocks")
    ssa: SSA = kernel.fact("ssa")
    inside = set(loop.blocks)
    pending = [
        value for block, _ in loop.exits for value, _ in conditions(kernel, int(blocks.end[block]) - 1)
    ]
    seen: set[int] = set()
    while pending:
        value = pending.pop()
        if value in seen or ssa.block[value] not in inside:
            continue
        seen.add(value)
        pending.extend(ssa.inputs[value])
        index = ssa.instruction[value]
        if ssa.kind[value] is ValueKind.DEF and index >= 0:
            form = kernel.forms[kernel.rows[index]]
            if any(touch.access in _TOUCHING for touch in touches_of(form)):
                return True
            pending.extend(ssa.read[index])
    return False
