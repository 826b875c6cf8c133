"""How often accesses happen in a launch: the threads that come to them, and how often the loops go round."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from sassql.facts.addresses import Address, AddressKind
from sassql.facts.bounds import Bound
from sassql.facts.loops import NO_LOOP
from sassql.facts.polynomials import Polynomial, counter, signed
from sassql.insight.advice_conditions import Condition, Conditions, is_told
from sassql.insight.advice_families import Families
from sassql.insight.advice_steps import ONE, Steps, continues, divided, joined, whole_steps


@dataclass(frozen=True, slots=True)
class Extent:
    """How often something happens in a launch, and how many ``bytes`` it moves each time.

    In the threads for which all ``conditions`` hold; in each, the product over ``levels`` (nested loops, the
    outermost first) of the sum of its steps. ``limit`` is true where it may be less often, ``unknown`` says
    why it is not known.
    """

    bytes: int
    conditions: tuple[Condition, ...] = ()
    levels: tuple[tuple[Steps, ...], ...] = ()
    limit: bool = False
    unknown: str = ""


class Extents:
    """The extents of a kernel's accesses."""

    def __init__(self, families: Families) -> None:
        self.families = families
        self.loops, self.counters, self.control = families.loops, families.counters, families.control
        self.conditions = Conditions(families.kernel)

    def extent(self, members: list[Address], family: tuple[int, ...], parent: int) -> Extent:
        """How often the accesses happen, all copies of the loop together."""
        held = [frozenset(self.conditions.around(m.instruction)) for m in members]
        shared = frozenset.intersection(*held)
        around = {*family, *self.loops.enclosing(members[0].block)}
        bounds = {
            b.predicate for n in around for b in self.counters[n].bounds if self._is_past(b, n, members)
        }
        conditions, unclear = self.conditions.of_threads(
            shared, members[0].block, bounds, unrolled=bool(family)
        )
        branches = frozenset.intersection(*(self.conditions.deciders(m.instruction) for m in members))
        ends = {block for loop in around for block, _ in self.loops[loop].exits}
        unclear = unclear or self._differ(members, held, family)
        unclear = unclear or self.conditions.is_open(branches, shared, ends)
        for member in members:
            guard = self.families.guard(member)
            unclear = unclear or (guard is not None and guard not in shared)
            unclear = unclear or self.conditions.is_open(self._inner_deciders(member, family), shared, ends)
        levels: list[tuple[Steps, ...]] = []
        reasons: list[str] = []
        width = sum(m.width or 0 for m in members)
        if family:
            inner, width, reason = self._inner(members, family, conditions)
            levels.append(inner)
            reasons.append(reason)
        inside = self.loops[family[0]].header if family else members[0].block
        while parent != NO_LOOP:
            steps, reason = self._outer(parent, inside)
            levels.insert(0, steps)
            reasons.append(reason)
            inside, parent = self.loops[parent].header, self.loops[parent].parent
        unknown = next((r for r in reasons if r), "")
        known = tuple(c for c in conditions if not _repeats(c, levels))
        return Extent(width, known, tuple(levels), unclear, unknown)

    def _differ(
        self, members: list[Address], held: list[frozenset[tuple[int, bool]]], family: tuple[int, ...]
    ) -> bool:
        """True where copies in one loop happen on different conditions."""
        found: dict[int, set[frozenset[tuple[int, bool]]]] = defaultdict(set)
        for member, conditions in zip(members, held, strict=True):
            loop = self.loops.of[member.block]
            if loop in family or not family:
                found[loop].add(conditions)
        return any(len(different) > 1 for different in found.values())

    def _is_past(self, bound: Bound, loop: int, members: list[Address]) -> bool:
        """True for a bound that is tested before the accesses, or that ends another loop than theirs."""
        block = members[0].block
        if loop not in self.loops.enclosing(block):
            return True
        return bound.block != block and self.control.tree.dominates(bound.block, block)

    def _inner_deciders(self, member: Address, family: tuple[int, ...]) -> list[int]:
        """The branches inside of its loop that decide about an access."""
        loop = self.loops.of[member.block]
        if loop not in family:
            return []
        inside, of = self.loops[loop].blocks, self.control.blocks.of
        return [b for b in self.conditions.deciders(member.instruction) if int(of[b]) in inside]

    def _outer(self, loop: int, inside: int) -> tuple[tuple[Steps, ...], str]:
        if len(self.families.loops_of(loop)) > 1:
            return (), "an outer loop that is split into several"
        found = self._steps(loop, 1, inside)
        steps = (whole_steps(found[0]),) if found else ()
        return (steps, "") if steps and _are_told(steps) else ((), _untold(loop))

    def _inner(
        self, members: list[Address], family: tuple[int, ...], conditions: tuple[Condition, ...]
    ) -> tuple[tuple[Steps, ...], int, str]:
        """Steps of a family, bytes of each, and what is not known."""
        chain: dict[int, Steps] = {}
        ordered = sorted(family, key=lambda n: self.loops[n].header)
        ordered = [n for n in ordered if self.families.inside(members, n)]
        outside: dict[int, int] = defaultdict(int)
        for m in members:
            if self.loops.of[m.block] not in family:
                outside[m.block] += m.width or 0
        if not ordered:
            return (), 0, "copies of a loop without that loop"
        moved = [sum(m.width or 0 for m in self.families.inside(members, n)) for n in ordered]
        width = math.gcd(*moved, *outside.values())
        if len(ordered) > 1 and any(m.kind is AddressKind.DATA for m in members):
            return (), width, "copies of a loop that follows loaded data"
        for loop, size in zip(ordered, moved, strict=True):
            found = self._steps(loop, size // width, self.families.inside(members, loop)[0].block)
            if found is None:
                return (), width, f"how often loop k{loop} goes round"
            steps, bound = found
            sides = [] if bound is None else [bound.left, bound.right]
            if any(map(continues, sides)):
                chain.clear()  # it counts from where the first one began
            for earlier in self.families.left_behind(sides, loop):
                chain.pop(earlier, None)
            chain[loop] = steps
        last = max(self.loops[n].header for n in chain)
        tail = any(block > last for block in outside)
        found_all = joined(list(chain.values()), tail, [c.room() for c in conditions])
        if not found_all:
            return (), width, "the rest that no loop takes"
        return (found_all, width, "") if _are_told(found_all) else ((), width, _untold(ordered[0]))

    def _steps(self, loop: int, copies: int, inside: int) -> tuple[Steps, Bound | None] | None:
        """The steps of a loop, each of whose iterations counts as ``copies``, and what ends it.

        None where they are not known.
        """
        found = self.counters[loop]
        if len(self.loops[loop].exits) > 1:
            return None
        if found.trips is not None:
            return Steps(Polynomial.number(found.trips * copies), ONE), None
        bounds = [b for b in found.bounds if b.exact and not b.wide]
        for bound in bounds:
            steps = self._counted(loop, bound, copies, inside)
            if steps is not None:
                return steps, bound
        return None

    def _counted(self, loop: int, bound: Bound, copies: int, inside: int) -> Steps | None:
        family = self.families.loops_of(loop)
        kappa = counter(loop, self.loops[loop].header)
        step = bound.left.coefficient(kappa)
        if step is None or not step.terms:
            return None
        start = self.families.origin(bound.left, family)
        if inside == bound.block or not self.control.tree.dominates(bound.block, inside):  # before the test
            start -= step
        limit = self.families.origin(bound.right, family)
        unit = divided(step, copies)
        if unit is None:
            return None
        down = unit.value is not None and signed(unit.value) < 0
        distance = start - limit if down else limit - start
        if bound.operator in ("<=", ">="):
            distance += ONE
        elif bound.operator == "==":
            return None
        return Steps(distance, -unit if down else unit)


def _are_told(steps: tuple[Steps, ...]) -> bool:
    """True where the launch tells how many there are."""
    return all(is_told(one.distance) and is_told(one.unit) for one in steps)


def _untold(loop: int) -> str:
    return f"how often loop k{loop} goes round"


def _repeats(condition: Condition, levels: list[tuple[Steps, ...]]) -> bool:
    """True for a condition that only says that a loop is entered: its steps would be none otherwise."""
    return any(condition.room() == steps.distance for level in levels if len(level) == 1 for steps in level)
