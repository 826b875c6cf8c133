"""Fact "stale": inputs of merges that nothing can see.

    @P0 LDG  R4, [R2]       R4 is the loaded value, or what was there before
        FADD R5, R4, R4     computed either way
    @P0 STG  [R6], R5       seen only where P0 holds: what was there before is never seen

Registers are reused: what was there before is often another element, and a slice through it would say
that the store depends on both. The same goes for a φ where a branch went round what is stored later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sassql.facts.accesses import Accesses
from sassql.facts.addresses import Addresses
from sassql.facts.control import Condition, Control
from sassql.facts.decided import Decided
from sassql.facts.forms import Forms
from sassql.facts.loops import Loops
from sassql.facts.values import GUARD, SSA, ValueKind
from sassql.isa.meanings import templates
from sassql.model.kernel import Kernel, provides

MOST_STEPS = 128
"""Values that are looked at behind one merge."""
MOST_IN_ALL = 400_000
"""Values that are looked at in one kernel; what is left then counts as seen."""

_SEEN = frozenset(
    ("load", "load_matrix", "load_tensor", "atomic", "shuffle", "shuffle_inside", "vote", "match", "reduce")
) | {"elect", "barrier_result", "barrier_state", "mma"}
"""Operations that other threads take part in, or memory."""

Input = tuple[int, int]
"""A merge, and which of its inputs."""


@provides("stale")
def stale(kernel: Kernel) -> Mapping[int, frozenset[int]]:
    """By PSI and PHI value of "ssa", the numbers of the inputs that it is nowhere where it matters."""
    found: dict[int, set[int]] = {}
    for merged, place in _Stale(kernel).found():
        found.setdefault(merged, set()).add(place)
    return {merged: frozenset(places) for merged, places in found.items()}


def seen_inputs(kernel: Kernel, merged: int) -> tuple[int, ...]:
    """The inputs of a PSI or PHI value that somebody can see."""
    ssa: SSA = kernel.fact("ssa")
    unseen: Mapping[int, frozenset[int]] = kernel.fact("stale")
    inputs, never = ssa.inputs[merged], unseen.get(merged)
    return inputs if never is None else tuple(v for place, v in enumerate(inputs) if place not in never)


@dataclass(slots=True)
class _Stale:
    kernel: Kernel
    ssa: SSA = field(init=False)
    forms: Forms = field(init=False)
    addresses: Addresses = field(init=False)
    control: Control = field(init=False)
    decided: Decided = field(init=False)
    headers: frozenset[int] = field(init=False)
    unseen: dict[Input, tuple[Condition, ...]] = field(default_factory=dict)
    """What holds where a merge is this input."""
    conditions: dict[Input, tuple[Condition, ...]] = field(default_factory=dict)
    leaning: dict[Input, set[Input]] = field(default_factory=dict)
    """By input, those whose walk ended at it because it is not seen."""
    pure: dict[int, bool] = field(default_factory=dict)
    spent: int = 0

    def __post_init__(self) -> None:
        fact = self.kernel.fact
        self.ssa, self.forms, self.control = fact("ssa"), fact("forms"), fact("control")
        self.addresses, self.decided = fact("addresses"), fact("decided")
        loops: Loops = fact("loops")
        self.headers = frozenset(loops[number].header for number in range(len(loops)))

    def found(self) -> frozenset[Input]:
        """Starts with all of them and takes out what can be seen, until nothing changes."""
        accesses: Accesses = self.kernel.fact("accesses")
        if accesses.incomplete:
            return frozenset()
        for merged, kind in enumerate(self.ssa.kind):
            if kind is ValueKind.PSI:
                self._guarded(merged)
            elif kind is ValueKind.PHI and self.ssa.block[merged] not in self.headers:
                self._joined(merged)
        self.conditions.update(self.unseen)
        pending = sorted(self.unseen)
        while pending:
            one = pending.pop()
            if one in self.unseen and not self._is_unseen(one):
                del self.unseen[one]
                pending += sorted(self.leaning.pop(one, ()))
        return frozenset(self.unseen)

    def _guarded(self, merged: int) -> None:
        index = self.ssa.instruction[merged]
        guard, predicate = self.forms.of[index].guard, self.ssa.guard(index)
        if guard is not None and predicate is not None:
            root = self.decided.root(predicate)
            self.conditions[merged, 0] = ((root, not guard.inverted),)
            self.unseen[merged, 1] = ((root, guard.inverted),)

    def _joined(self, merged: int) -> None:
        """What holds on each way into a φ and is not known behind it anyway."""
        block = self.ssa.block[merged]
        known = self.control.known(block)
        for place, before in enumerate(self.control.blocks.predecessors[block]):
            holds = dict(self.control.known(before))
            condition = self.control.condition(before, block)
            if condition is not None:
                holds[condition[0]] = condition[1]
            own = tuple((root, value) for root, value in holds.items() if known.get(root) is not value)
            if own and place < len(self.ssa.inputs[merged]):
                self.unseen[merged, place] = own

    def _is_unseen(self, one: Input) -> bool:
        """Follows a merge to its users; each that runs only where the merge is another input ends a way."""
        holds = self.unseen[one]
        pending: list[tuple[int, bool]] = [(one[0], True)]
        seen = set(pending)
        while pending:
            here, same_iteration = pending.pop()
            self.spent += 1
            following = self._after(here, holds if same_iteration else (), one)
            if following is None or len(seen) > MOST_STEPS or self.spent > MOST_IN_ALL:
                return False
            for after, crossed in following:
                state = (after, same_iteration and not crossed)
                if state not in seen:
                    seen.add(state)
                    pending.append(state)
        return True

    def _after(self, here: int, holds: tuple[Condition, ...], start: Input) -> list[tuple[int, bool]] | None:
        """Values that depend on this one, and whether another iteration begins; None where it is seen."""
        found: list[tuple[int, bool]] = []
        for index, operand, unit in self.ssa.users(here):
            if holds and (operand, unit) != GUARD and self._contradicts(index, holds):
                continue
            if not self._is_pure(index):
                return None
            found += [(v, False) for _, _, v in self.ssa.definitions_of(index)]
        for merged in self.ssa.merges(here):
            places = [place for place, v in enumerate(self.ssa.inputs[merged]) if v == here]
            places = [place for place in places if not self._excludes(holds, merged, place)]
            if all((merged, place) in self.unseen for place in places):
                for place in places:
                    self.leaning.setdefault((merged, place), set()).add(start)
            else:
                crossed = self.ssa.kind[merged] is ValueKind.PHI and self.ssa.block[merged] in self.headers
                found.append((merged, crossed))
        return found

    def _excludes(self, holds: tuple[Condition, ...], merged: int, place: int) -> bool:
        """True where a merge is this input only if one of the conditions does not hold."""
        return any((root, not value) in self.conditions.get((merged, place), ()) for root, value in holds)

    def _contradicts(self, index: int, holds: tuple[Condition, ...]) -> bool:
        """True where an instruction takes effect only if one of the conditions does not hold."""
        for root, value in holds:
            known = self.decided.at(index, root)
            if known is not None and known is not value:
                return True
        return False

    def _is_pure(self, index: int) -> bool:
        """True for what does nothing but compute a value."""
        number = self.forms.number[index]
        known = self.pure.get(number)
        if known is None:
            found = {template.operation for template in templates(self.forms.of[index])}
            known = self.pure[number] = bool(found) and not found & _SEEN
        return known and self.addresses.of(index) is None and self.ssa.first[index] >= 0
