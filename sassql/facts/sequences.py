"""Finds forms of several instructions: matches the patterns of `sassql/isa/data/sequences.tsv` with values.

Patterns see single instructions through copies, spills, and merges whose arms are one
value. The work on one value is bounded; a value on which the bound is reached keeps the meaning of
its own instruction.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from sassql.facts.operations import Meaning, Meanings, node_of
from sassql.facts.sequences_wide import wide_forms
from sassql.facts.terms import Term
from sassql.facts.values import ValueKind
from sassql.isa.meanings import EXACT, ORDERED
from sassql.isa.sequences import (
    Anything,
    Either,
    Named,
    Node,
    Number,
    Pair,
    Pattern,
    Sequence,
    Signed,
    Variable,
    by_root,
)

MOST_STEPS = 4000
"""Pattern nodes looked at for one row on one value."""

_INTEGERS = ("s32", "u32", "s64", "u64", "s16", "u16")
Names = Mapping[str, Term]
Found = tuple[Names, frozenset[int]]
"""What the names stand for, and the instructions that took part."""


class OutOfStepsError(Exception):
    """A row needed more steps than it may have."""


class Matcher:
    """Matches patterns with the values of one kernel."""

    def __init__(self, meanings: Meanings) -> None:
        self.meanings = meanings
        self._left = 0
        self._nodes: dict[tuple[int, ...], Meaning | None] = {}

    def row(self, row: Sequence, root: Term) -> Found | None:
        """The first way in which a row fits a value."""
        self._left = MOST_STEPS
        try:
            start: Found = ({}, frozenset())
            return next(self._equations(row, 0, self._match(row.pattern, root, start)), None)
        except OutOfStepsError:
            return None

    def may_fit(self, pattern: Pattern, node: Meaning) -> bool:
        """False where the operations of the operands alone forbid it: most rows end here."""
        match pattern:
            case Named(_, inner):
                return self.may_fit(inner, node)
            case Either(choices):
                return any(self.may_fit(choice, node) for choice in choices)
            case Node(operation, _, patterns):
                return operation == node.operation and self._operands_may_fit(patterns, node)
            case _:
                return True

    def _operands_may_fit(self, patterns: tuple[Pattern, ...], node: Meaning) -> bool:
        operands, commuting = node.operands, node.commuting
        if len(operands) != len(patterns):
            return False
        for place, pattern in enumerate(patterns):
            wanted = pattern.inner if isinstance(pattern, Named) else pattern
            terms = operands[:commuting] if place < commuting else operands[place : place + 1]
            if isinstance(wanted, Number):
                if all(term.number != wanted.bits for term in terms):
                    return False
            elif isinstance(wanted, Node):
                found = [self.node(term.values) for term in terms if term.values and not term.signed]
                if all(inner is None or inner.operation != wanted.operation for inner in found):
                    return False
        return True

    def node(self, values: tuple[int, ...]) -> Meaning | None:
        """The single-instruction meaning of a value, made once."""
        if values not in self._nodes:
            self._nodes[values] = node_of(self.meanings, values)
        return self._nodes[values]

    def _equations(self, row: Sequence, place: int, found: Iterator[Found]) -> Iterator[Found]:
        if place == len(row.equations):
            yield from found
            return
        name, pattern = row.equations[place]
        for one in found:
            if name in one[0]:
                yield from self._equations(row, place + 1, self._match(pattern, one[0][name], one))

    def _match(self, pattern: Pattern, term: Term, found: Found) -> Iterator[Found]:
        self._left -= 1
        if self._left < 0:
            raise OutOfStepsError
        match pattern:
            case Anything():
                yield found
            case Variable(name):
                yield from _bound(name, term, found)
            case Number(bits):
                if term.number == bits and not term.signed:
                    yield found
            case Named(name, inner):
                for one in _bound(name, term, found):
                    yield from self._match(inner, term, one)
            case Signed(sign, inner):
                yield from self._signed(sign, inner, term, found)
            case Pair(low, high):
                for one in self._match(low, _half(self.meanings, term, 0), found) if _is_pair(term) else ():
                    yield from self._match(high, _half(self.meanings, term, 1), one)
            case Either(choices):
                for choice in choices:
                    yield from self._match(choice, term, found)
            case Node():
                yield from self._node(pattern, term, found)

    def _signed(self, sign: str, inner: Pattern, term: Term, found: Found) -> Iterator[Found]:
        """A sign in the pattern takes one off the operand, or puts it on one that the name has already."""
        value = bool(getattr(term, sign))
        turned = isinstance(inner, Variable) and inner.name in found[0] and sign != "absolute"
        if value or turned:
            yield from self._match(inner, term.with_sign(sign, not value), found)

    def _node(self, pattern: Node, term: Term, found: Found) -> Iterator[Found]:
        meaning = None if term.signed or not term.values else self.node(term.values)
        if meaning is None or meaning.operation != pattern.operation:
            return
        words = {meaning.detail, meaning.type, meaning.source} | meaning.flags
        if any(words.isdisjoint(wanted) for wanted in pattern.details):
            return
        if len(meaning.operands) != len(pattern.operands):
            return
        moving, rest = meaning.operands[: meaning.commuting], meaning.operands[meaning.commuting :]
        for wanted, fixed in zip(pattern.operands[meaning.commuting :], rest, strict=True):
            if isinstance(wanted, Number) and fixed.number != wanted.bits:
                return  # before any order of the others is tried
        names, covers = found
        covered: Found = (names, covers.union(meaning.covers))
        for order in itertools.permutations(moving) if moving else [()]:
            yield from self._operands(pattern.operands, (*order, *rest), covered)

    def _operands(
        self, patterns: tuple[Pattern, ...], terms: tuple[Term, ...], found: Found
    ) -> Iterator[Found]:
        if not patterns:
            yield found
            return
        for one in self._match(patterns[0], terms[0], found):
            yield from self._operands(patterns[1:], terms[1:], one)


def _bound(name: str, term: Term, found: Found) -> Iterator[Found]:
    names, covers = found
    if name not in names:
        if term.known:
            yield {**names, name: term}, covers
    elif names[name].same(term):
        yield found


def _is_pair(term: Term) -> bool:
    return not term.signed and (len(term.values) == 2 or term.number is not None)


def _half(meanings: Meanings, term: Term, place: int) -> Term:
    if term.number is not None:
        return Term(number=term.number >> 32 * place & 0xFFFFFFFF)
    return meanings.terms.of_value(term.values[place])


def find_sequences(meanings: Meanings) -> dict[int, Meaning]:
    """Every longer form of a kernel, by root of each of its results."""
    found = wide_forms(meanings)
    matcher = Matcher(meanings)
    present = {m.operation for v in range(len(meanings.ssa)) if (m := meanings.single(v)) is not None}
    rows = {name: [r for r in made if r.needs <= present] for name, made in by_root().items()}
    for values in _candidates(meanings):
        node = matcher.node(values)
        if node is None or any(value in found for value in values):
            continue
        for row in rows.get(node.operation, ()):
            matched = matcher.row(row, Term(values)) if matcher.may_fit(row.pattern, node) else None
            if matched is not None:
                form = _form(matcher, row, values, node, matched)
                found.update(dict.fromkeys(values, form))
                break
    return found


def _candidates(meanings: Meanings) -> Iterator[tuple[int, ...]]:
    """Values that may be the root of a pattern: every copy root, and φ of register pairs."""
    ssa, copies = meanings.ssa, meanings.copies
    pairs: dict[tuple[int, str, int], int] = {}
    for value, kind in enumerate(ssa.kind):
        if copies.root(value) != value or kind in (ValueKind.ENTRY, ValueKind.CALL):
            continue
        register = ssa.register[value]
        if kind is ValueKind.PHI:
            pairs[ssa.block[value], register.file, register.index] = value
        elif kind is ValueKind.DEF:
            single = meanings.single(value)
            if single is not None and len(single.results) > 1:
                if single.results[0] == value:
                    yield single.results
                continue
        yield (value,)
    for (block, file, index), low in pairs.items():
        high = pairs.get((block, file, index + 1))
        if index % 2 == 0 and high is not None:
            yield (low, high)


def _form(matcher: Matcher, row: Sequence, values: tuple[int, ...], node: Meaning, matched: Found) -> Meaning:
    names, covers = matched
    kind = row.type
    if kind in names:
        named = matcher.node(names[kind].values)
        kind = "" if named is None else named.source or named.type
    fidelity = EXACT if row.fidelity == ORDERED and kind in _INTEGERS else row.fidelity
    commuting = 2 if row.operation in ("max", "min", "mul") else 0
    label = node.index if node.index >= 0 else _fast_path(matcher, node)
    return Meaning(
        row.operation,
        tuple(names[name] for name in row.operands),
        commuting,
        kind,
        flags=node.flags,
        fidelity=fidelity,
        results=values,
        index=label,
        covers=tuple(sorted(covers)),
    )


def _fast_path(matcher: Matcher, node: Meaning) -> int:
    """Where a φ of a routine's result and a fast path ends: on the fast path."""
    ways = [matcher.node(term.values) for term in node.operands]
    return max((way.index for way in ways if way is not None and way.operation != "call"), default=-1)
