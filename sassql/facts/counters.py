"""Fact "counters": what each loop counts, and how often it goes round.

``κ`` of a loop is 0 in its first iteration and one more in each that follows. A φ of the
header that a constant, or something that the loop does not change, is added to on every way
back is ``init + step*κ``, whether the source had an index or a pointer there. Words are 32
bits: of a 64-bit pointer it is the low one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from sassql.facts.blocks import Blocks
from sassql.facts.bounds import Bound, exit_bounds, final_count, waits
from sassql.facts.choices import assume, choice, progression, substitute, substitute_inside, too_long
from sassql.facts.dominators import Dominators
from sassql.facts.formulas import Formulas
from sassql.facts.loops import NO_LOOP, Loop, Loops
from sassql.facts.polynomials import (
    NOWHERE,
    Atom,
    AtomKind,
    Polynomial,
    counter,
    left_behind,
    mentioned,
    merge,
    unknown,
)
from sassql.facts.values import SSA, ValueKind
from sassql.model.kernel import Kernel, provides
from sassql.model.register import Register


class LoopKind(Enum):
    """What makes a loop end."""

    COUNTED = "counted"
    """A counter reaches a limit; there may be other ways out beside it."""
    SPIN = "spin"
    """Nothing is counted, and memory that the loop reads decides: waiting, compare and swap."""
    PADDING = "padding"
    """A branch to itself."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Counter:
    """One φ of a loop header that counts: ``value`` is its number in "ssa"."""

    value: int
    register: Register
    init: Polynomial
    step: Polynomial


@dataclass(frozen=True, slots=True)
class LoopCounters:
    """The counters and bounds of one loop.

    ``last`` is κ in the last iteration whose header runs, None where it is not a known
    number: the header of a loop with ``last`` 7 runs 8 times. ``open`` are header φ that
    count nothing.
    """

    loop: int
    kind: LoopKind
    counters: tuple[Counter, ...]
    bounds: tuple[Bound, ...]
    last: int | None
    open: tuple[int, ...]

    @property
    def trips(self) -> int | None:
        """How often the header runs each time the loop is entered, or None."""
        return None if self.last is None else self.last + 1


@dataclass(slots=True, eq=False)
class Counters:
    """Counters of all loops, numbered as in "loops", and every value in terms of them."""

    formulas: Formulas
    loops: Loops
    of_loop: list[LoopCounters] = field(default_factory=list)
    padding: tuple[int, ...] = ()
    """Blocks that are a branch to themselves and never reached."""
    solved: dict[int, Polynomial] = field(default_factory=dict)
    """By header φ: in terms of counters. For the analysis that fills it, as are the next two."""
    last: dict[int, int] = field(default_factory=dict)
    _seen: dict[Atom, Polynomial | None] = field(default_factory=dict)
    _outside: dict[tuple[Atom, int], Polynomial | None] = field(default_factory=dict)
    """By function and innermost loop of who asks, what it is from there."""

    def __len__(self) -> int:
        return len(self.of_loop)

    def __getitem__(self, loop: int) -> LoopCounters:
        return self.of_loop[loop]

    def of(self, value: int, block: int | None = None) -> Polynomial:
        """The polynomial of a value, as it is seen from ``block`` (by default where it is made)."""
        if block is None:
            block = self.formulas.ssa.block[value]
        return self.seen_from(block, self.resolve(self.formulas.of(value)))

    def resolve(self, polynomial: Polynomial) -> Polynomial:
        """The same with every solved φ as ``init + step*κ``; values in the iterations of their own loops."""
        return substitute(polynomial, self._replaced)

    def _replaced(self, atom: Atom) -> Polynomial | None:
        if atom in self._seen:
            return self._seen[atom]
        found: Polynomial | None = None
        self._seen[atom] = None  # in a cycle of several ways in, a merge may be solved by itself: it stays
        if atom.kind is AtomKind.MERGE:
            solved = self.solved.get(atom.number)
            found = None if solved is None else self.resolve(solved)
        elif atom.args:
            found = substitute_inside(atom, self._replaced)
        self._seen[atom] = found
        return found

    def forget(self) -> None:
        """Drop what was derived, since more is solved now."""
        self._seen.clear()
        self._outside.clear()

    def seen_from(
        self, block: int, polynomial: Polynomial, guards: Sequence[tuple[int, bool]] = ()
    ) -> Polynomial:
        """The same in ``block``: what a loop left behind is told from what it makes in each iteration.

        ``guards`` are predicates, copy roots of "ssa", that are known to hold or not.
        """
        for predicate, holds in guards:
            polynomial = assume(polynomial, predicate, holds)
        innermost = self.loops.of[block]
        return substitute(polynomial, lambda atom: self._from_outside(atom, block, innermost))

    def _from_outside(self, atom: Atom, block: int, innermost: int) -> Polynomial | None:
        """What an atom is for ``block``, in whose loops ``innermost`` comes first; None for itself."""
        if not atom.args:
            return None if atom.home < 0 else self._left(atom, block)
        key = (atom, innermost)
        if key not in self._outside:
            self._outside[key] = self._function_from_outside(atom, block, innermost)
        return self._outside[key]

    def _function_from_outside(self, atom: Atom, block: int, innermost: int) -> Polynomial | None:
        if all(inner.home < 0 for inner in atom.inside):
            return self._left(atom, block)
        changed = substitute_inside(atom, lambda inner: self._from_outside(inner, block, innermost))
        if changed is not None:
            return substitute(changed, lambda new: self._left(new, block) if new.args else None)
        return self._left(atom, block)

    def _left(self, atom: Atom, block: int) -> Polynomial | None:
        scope = self._scope(atom, block)
        if scope is None:
            return None
        if atom.kind is AtomKind.COUNTER and (last := self.last.get(atom.number)) is not None:
            return Polynomial.number(last)
        return Polynomial.of(left_behind(atom, scope))

    def _scope(self, atom: Atom, block: int) -> int | None:
        """The innermost loop that holds both the atom's home and ``block``, if that is not home's own."""
        if atom.home < 0 or atom.scope is not None:
            return None
        inner = self.loops.of[atom.home]
        around = self.loops.enclosing(block)
        if inner == NO_LOOP or inner in around:
            return None
        return next((n for n in self.loops.enclosing(atom.home) if n in around), NO_LOOP)

    def is_invariant(self, polynomial: Polynomial, loop: int) -> bool:
        """True where no iteration of ``loop`` changes the polynomial."""
        if all(atom.home < 0 for atom in mentioned(polynomial)):
            return True
        inside = self.loops[loop].blocks
        return all(atom.home not in inside for atom in mentioned(polynomial))


class _Solver:
    """Takes the φ of each header apart, inner loops first: what those leave behind is what outer ones add."""

    def __init__(self, kernel: Kernel, counters: Counters) -> None:
        self.kernel = kernel
        self.counters = counters
        self.formulas = counters.formulas
        self.ssa: SSA = counters.formulas.ssa
        self.blocks: Blocks = kernel.fact("blocks")
        self.headers: dict[int, list[int]] = {}
        self.found: dict[int, list[Counter]] = {}

    def run(self) -> None:
        counters = self.counters
        starts = {loop.header for loop in counters.loops.loops}
        for value, kind in enumerate(self.ssa.kind):
            if kind is ValueKind.PHI and self.ssa.block[value] in starts and self._is_open(value):
                self.headers.setdefault(self.ssa.block[value], []).append(value)
        solved: dict[int, LoopCounters] = {}
        for number in range(len(counters.loops) - 1, -1, -1):
            solved[number] = self._solve_loop(number)
            if solved[number].last is not None:
                counters.last[number] = solved[number].last or 0
            counters.forget()
        tree: Dominators = self.kernel.fact("dominators")
        for block in tree.order:  # outer loops first: each φ then needs what is final already
            for value in self.headers.get(block, ()):
                if value in counters.solved:
                    counters.solved[value] = counters.resolve(counters.solved[value])
        counters.forget()
        counters.of_loop = [self._finished(solved[number]) for number in range(len(solved))]

    def _finished(self, loop: LoopCounters) -> LoopCounters:
        """The same in terms of the loops outside, all of them solved."""
        counters = self.counters
        header = counters.loops[loop.loop].header
        before = next(
            (b for b in self.blocks.predecessors[header] if b not in counters.loops[loop.loop].blocks), header
        )
        final = [
            replace(
                c,
                init=counters.seen_from(before, counters.resolve(c.init)),
                step=counters.seen_from(before, counters.resolve(c.step)),
            )
            for c in loop.counters
        ]
        bounds = [
            replace(b, left=self._final(b.block, b.left), right=self._final(b.block, b.right))
            for b in loop.bounds
        ]
        return replace(loop, counters=tuple(final), bounds=tuple(bounds))

    def _final(self, block: int, polynomial: Polynomial) -> Polynomial:
        return self.counters.seen_from(block, self.counters.resolve(polynomial))

    def _is_open(self, value: int) -> bool:
        is_word = self.ssa.register[value].file not in ("P", "UP")
        return is_word and self.formulas.constants.copies.root(value) == value

    def _solve_loop(self, number: int) -> LoopCounters:
        counters = self.counters
        loop = counters.loops[number]
        left = [value for value in self.headers.get(loop.header, ()) if not self._solve(value, number)]
        counters.forget()
        left = [v for v in left if not self._follows(v, number) and not self._changes(v, number)]
        self._close(left, loop)
        counters.forget()
        kappa = counter(number, loop.header)
        bounds = exit_bounds(self.kernel, self.formulas, loop, kappa, self._final)
        last = final_count(self.kernel, loop, bounds, kappa)
        found = self.found.get(number, [])
        if bounds:
            kind = LoopKind.COUNTED
        elif not loop.exits and len(loop.blocks) == 1 and self._length(loop.header) == 1:
            kind = LoopKind.PADDING
        else:
            kind = LoopKind.SPIN if not found and waits(self.kernel, loop) else LoopKind.UNKNOWN
        return LoopCounters(number, kind, tuple(found), tuple(bounds), last, tuple(left))

    def _length(self, block: int) -> int:
        return int(self.blocks.end[block] - self.blocks.start[block])

    def _ways(self, value: int, loop: Loop) -> tuple[list[int], list[int]]:
        """Inputs of a header φ from outside of the loop, and from its latches."""
        before = self.blocks.predecessors[loop.header]
        inputs = self.ssa.inputs[value]
        inside = set(loop.blocks)
        back = [v for v, block in zip(inputs, before, strict=False) if block in inside]
        outside = [v for v, block in zip(inputs, before, strict=False) if block not in inside]
        return outside + list(inputs[len(before) :]), back

    def _initial(self, value: int, loop: Loop) -> Polynomial:
        args = [self.counters.resolve(self.formulas.of(v)) for v in self._ways(value, loop)[0]]
        home = next((b for b in self.blocks.predecessors[loop.header] if b not in loop.blocks), NOWHERE)
        return choice("entry", args, loop.header, home)

    def _solve(self, value: int, number: int) -> bool:
        """Try to see a φ as a counter."""
        loop = self.counters.loops[number]
        own = merge(value, loop.header)
        steps = {self._step(source, own, number) for source in self._ways(value, loop)[1]}
        step = steps.pop() if len(steps) == 1 else None
        return step is not None and self._note(value, number, self._initial(value, loop), step)

    def _note(self, value: int, number: int, init: Polynomial, step: Polynomial) -> bool:
        product = step.product(Polynomial.of(counter(number, self.counters.loops[number].header)))
        if product is None:
            return False
        self.counters.solved[value] = init + product
        self.found.setdefault(number, []).append(Counter(value, self.ssa.register[value], init, step))
        return True

    def _step(self, source: int, own: Atom, number: int) -> Polynomial | None:
        """What is added to φ ``own`` on one way back, if the loop does not change that."""
        counters = self.counters
        raw = self._final(self.ssa_latch(number), self.formulas.of(source))
        if raw.coefficient(own) != Polynomial.number(1):
            return None
        step = raw - Polynomial.of(own)
        return step if counters.is_invariant(step, number) else None

    def ssa_latch(self, number: int) -> int:
        return self.counters.loops[number].latches[0]

    def _follows(self, value: int, number: int) -> bool:
        """A φ whose ``next`` is computed from a counter one iteration ahead is that counter, shifted."""
        counters = self.counters
        loop = counters.loops[number]
        kappa = counter(number, loop.header)
        sources = {counters.resolve(self.formulas.of(v)) for v in self._ways(value, loop)[1]}
        back = sources.pop() if len(sources) == 1 else None
        step = None if back is None else back.coefficient(kappa)
        if back is None or step is None or not step.terms or not counters.is_invariant(step, number):
            return False
        product = step.product(Polynomial.of(kappa))
        init = self._initial(value, loop)
        if product is None or back - product - step != init:
            return False
        return self._note(value, number, init, step)

    def _changes(self, value: int, number: int) -> bool:
        """A φ that alternates, is halved or doubled each time: a function of its first value and κ."""
        counters = self.counters
        loop = counters.loops[number]
        sources = {counters.resolve(self.formulas.of(v)) for v in self._ways(value, loop)[1]}
        if len(sources) != 1:
            return False
        kappa = Polynomial.of(counter(number, loop.header))
        found = progression(sources.pop(), merge(value, loop.header), self._initial(value, loop), kappa)
        if found is None:
            return False
        counters.solved[value] = found
        return True

    def _close(self, left: list[int], loop: Loop) -> None:
        """φ that do not count: one of known values, or a value that goes through the loop."""
        counters = self.counters
        open_ = set(left)
        for value in left:
            _, back = self._ways(value, loop)
            args = [self._initial(value, loop), *(counters.resolve(self.formulas.of(v)) for v in back)]
            inside = [atom for arg in args for atom in mentioned(arg)]
            found = choice("carry", args, loop.header, loop.header)
            if too_long(found) or open_ & {a.number for a in inside if a.kind is AtomKind.MERGE}:
                data = any(atom.data for atom in inside)
                found = Polynomial.of(unknown(value, loop.header, "recurrence", data=data))
            counters.solved[value] = found
            open_.discard(value)
            counters.forget()


@provides("counters")
def counters(kernel: Kernel) -> Counters:
    """The counters of a kernel's loops."""
    loops: Loops = kernel.fact("loops")
    found = Counters(kernel.fact("formulas"), loops)
    _Solver(kernel, found).run()
    blocks: Blocks = kernel.fact("blocks")
    found.padding = tuple(
        block
        for block, following in enumerate(blocks.successors)
        if following == (block,) and not blocks.reachable[block]
    )
    return found
