"""What names of a scope are called inside the engine.

Loops are no scopes of their own here, yet a name that a loop carries means something else
inside (the φ) than outside (what goes in): where both are mentioned, the inner one gets a name of
its own, and two border atoms tie them together. Names that equalities tie are one name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sassql.engine import compile_atoms as atoms
from sassql.lang.ast import Chain, Either, Equal, Flow, For, Line, Loop, Sigil, Statement, Where
from sassql.lang.walk import expression_names, line_names

MOST_WAYS = 256
"""Combinations of branches of one scope."""


@dataclass(frozen=True, slots=True)
class Item:
    """A statement with the loops around it, the innermost last."""

    statement: Statement
    loops: tuple[str, ...]


Way = list[Item]
"""The statements that hold together for one combination of branches."""


def flatten(body: tuple[Statement, ...], loops: tuple[str, ...]) -> list[Way]:
    """Every combination of branches, those of the first `either` varying slowest."""
    ways: list[Way] = [[]]
    for statement in body:
        match statement:
            case Loop(name=name, body=inner):
                here = Item(statement, loops)
                more = [[here, *way] for way in flatten(inner, (*loops, name))]
            case Either(branches=branches):
                more = [way for branch in branches for way in flatten(branch, loops)]
            case _:
                more = [[Item(statement, loops)]]
        ways = [[*way, *rest] for way in ways for rest in more][:MOST_WAYS]
    return ways


class ScopeNames:
    """The names of one way through a scope."""

    def __init__(
        self, way: Way, around: dict[str, str], interface: frozenset[str], emitted: frozenset[str]
    ) -> None:
        self._way = way
        self._around = around
        self._interface = interface
        self._carried: dict[str, tuple[str, ...]] = {}
        self._renamed: set[tuple[str, str]] = set()
        self._parent: dict[str, str] = {}
        self._mentioned: dict[str, set[tuple[str, ...]]] = {}
        for item in way:
            for key in atoms.statement_keys(item.statement):
                self._mentioned.setdefault(key, set()).add(item.loops)
        for key in interface | emitted:
            self._mentioned.setdefault(key, set()).add(())
        for item in way:
            if isinstance(item.statement, Loop):
                self._carry(item.statement.name)
        for item in way:
            if isinstance(item.statement, Equal) and not self.needs_check(item.statement):
                called = self._resolved(item.loops)
                left, right = (called(n.key) for n in (item.statement.left, item.statement.right))
                self._join(left, right)

    def _join(self, left: str, right: str) -> None:
        left, right = self._find(left), self._find(right)
        if left in self._around.values():  # a name of the scope around keeps its name
            left, right = right, left
        self._parent[left] = right

    def needs_check(self, equal: Equal) -> bool:
        """True where both names come from outside: they are not one name, they must be found equal."""
        return equal.left.key in self._around and equal.right.key in self._around

    def _carry(self, loop: str) -> None:
        """Names with a prime in the statements directly in a loop, and whether they need a name inside."""
        own = [item.statement for item in self._way if item.loops and item.loops[-1] == loop]
        found = dict.fromkeys(plain for statement in own for plain in primed_in(statement))
        self._carried[loop] = tuple(found)
        for plain in found:
            for key in (plain, f"{plain}'"):
                if any(loop not in path for path in self._mentioned.get(key, ())):
                    self._renamed |= {(loop, plain), (loop, f"{plain}'")}

    def carried(self, loop: str) -> tuple[str, ...]:
        """The plain names that a loop carries round, as written."""
        return self._carried.get(loop, ())

    def elsewhere(self, block: Statement) -> frozenset[str]:
        """Names that something besides ``block`` mentions: those are the same on each of its steps."""
        return self._interface | self.beside(block)

    def beside(self, block: Statement) -> frozenset[str]:
        """Names that another statement of the scope mentions; conditions are judged when all are known."""
        return frozenset(
            key
            for item in self._way
            if item.statement is not block and not isinstance(item.statement, Where)
            for key in atoms.statement_keys(item.statement)
        )

    def trials(self, unknowns: tuple[str, ...]) -> tuple[int, ...]:
        """The numbers that conditions of the scope allow for an integer that a header leaves open."""
        found: set[int] = set()
        for item in self._way:
            if isinstance(item.statement, Where):
                for name in expression_names(item.statement.condition):
                    if self.within(item.loops)(name.key) in unknowns:
                        found.update(atoms.listed(name.key, item.statement.condition))
        return tuple(sorted(found))

    def _find(self, key: str) -> str:
        while self._parent.setdefault(key, key) != key:
            key = self._parent[key]
        return key

    def _resolved(self, loops: tuple[str, ...]) -> atoms.Called:
        def called(key: str) -> str:
            plain = key.removesuffix("'")
            for loop in reversed(loops):
                if plain in self._carried.get(loop, ()):
                    return f"{key}@{loop}" if (loop, key) in self._renamed else key
            return self._around.get(key, key)

        return called

    def within(self, loops: tuple[str, ...]) -> atoms.Called:
        """How a name written inside of ``loops`` is called."""
        resolved = self._resolved(loops)
        return lambda key: self._find(resolved(key))

    def inside(self, key: str, loop: str) -> str:
        """How a name that ``loop`` carries is called inside of it."""
        return self._find(f"{key}@{loop}" if (loop, key) in self._renamed else key)

    def borders(self, loop: str, outside: tuple[str, ...]) -> Iterator[tuple[str, str, str, bool]]:
        """(plain name inside, name inside, name outside, whether it leaves) of what is mentioned outside."""
        for plain in self.carried(loop):
            for key, leaving in ((plain, False), (f"{plain}'", True)):
                if any(loop not in path for path in self._mentioned.get(key, ())):
                    yield self.inside(plain, loop), self.inside(key, loop), self.within(outside)(key), leaving

    def outer(self) -> dict[str, str]:
        """How names written directly in the scope are called, where that is another name."""
        return {k: v for k, v in self.seen_from(()).items() if k != v}

    def seen_from(self, loops: tuple[str, ...]) -> dict[str, str]:
        """Every name of the scope, by how it is written inside of ``loops``."""
        called = self.within(loops)
        return {key: called(key) for key in self._mentioned}


def primed_in(statement: Statement) -> Iterator[str]:
    """The plain names of those that a statement primes: of a repetition, those of its steps."""
    match statement:
        case Line():
            names = [name for name in line_names(statement) if name.primed]
        case Flow(source=left, target=right) | Equal(left=left, right=right):
            names = [name for name in (left, right) if name.primed]
        case For(body=body) | Chain(body=body):
            for inner in body:
                yield from primed_in(inner)
            return
        case Either(branches=branches):
            for inner in (s for branch in branches for s in branch):
                yield from primed_in(inner)
            return
        case _:
            return
    yield from (name.plain for name in names if name.sigil is Sigil.VALUE)
