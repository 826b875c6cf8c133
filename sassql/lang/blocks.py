"""Checks of blocks: primes, counters of `for`, loop names, and what may stand in a body."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sassql.lang.ast import (
    Chain,
    Emit,
    Equal,
    Expression,
    Flow,
    For,
    Header,
    Key,
    Line,
    Literal,
    Loop,
    Motif,
    Name,
    PatternFile,
    Position,
    Sigil,
    Slice,
    Statement,
)
from sassql.lang.findings import Told, check
from sassql.lang.fold import STEPS, fold
from sassql.lang.walk import expression_names, expressions, line_names, lines, statements

_MOST_ROUNDS = 4096
_SAMPLES = (1, 2, 3, 16, 31, 32, 1024)
"""Start values tried for a counter whose start is not a number."""


@check("SQ030", "prime-outside")
def prime_outside(file: PatternFile) -> Iterator[Told]:
    """Primes belong into `for`, `chain` or `loop`; behind the block they name the value of the last step."""
    for motif in file.motifs:
        yield from _primes(motif.body, frozenset())


def _primes(body: tuple[Statement, ...], known: frozenset[str]) -> Iterator[Told]:
    made = known | {key for s in body if isinstance(s, For | Chain | Loop) for key in _primed_keys(s)}
    for statement in body:
        if isinstance(statement, For | Chain | Loop):
            continue
        for name in _names(statement):
            if name.primed and name.key not in made:
                told = f"`{name}` outside of a step: nothing here has a next step"
                yield told, name.at, "primes belong into `for`, `chain` or `loop`"


def _names(statement: Statement) -> Iterator[Name]:
    match statement:
        case Line():
            yield from line_names(statement)
        case Equal(left=left, right=right) | Flow(source=left, target=right):
            yield from (left, right)
        case Slice(value=value):
            yield value
    for expression in expressions(statement):
        yield from expression_names(expression)


def _primed_keys(block: For | Chain | Loop) -> set[str]:
    return {n.key for s in statements(block.body) for n in _names(s) if n.primed}


@check("SQ031", "prime-without-partner")
def prime_without_partner(file: PatternFile) -> Iterator[Told]:
    """Read the plain name in the same block: `%x'` of one step is `%x` of the next."""
    for motif in file.motifs:
        for block in statements(motif.body):
            if isinstance(block, For | Chain | Loop):
                found = [n for s in statements(block.body) for n in _names(s)]
                plain = {n.key for n in found if not n.primed}
                told = set[str]()
                for name in found:
                    if name.primed and name.plain not in plain and name.key not in told:
                        told.add(name.key)
                        hint = "the next step would have nothing to read"
                        yield f"`{name}` has no plain `{name.plain}` in this block", name.at, hint


@check("SQ032", "counter")
def counter(file: PatternFile) -> Iterator[Told]:
    """Let the three parts of `for` speak of one counter, and a line of the body bind it."""
    for motif in file.motifs:
        for block in statements(motif.body):
            if not isinstance(block, For):
                continue
            name = block.counter
            if name.primed or block.updated.primed:
                yield f"the counter `{name}` has no prime", name.at, "its next value is written in the header"
            elif block.updated.key != name.key:
                told = f"the counter is `{name}`, but the last part changes `{block.updated}`"
                yield told, block.updated.at
            elif name.key not in {n.key for n in expression_names(block.condition)}:
                yield f"the condition does not mention the counter `{name}`", block.at
            elif name.key not in {n.key for line in lines(block.body) for n in line_names(line)}:
                yield f"no line of the body has the counter `{name}`", block.at
            else:
                yield from _unknowns(block, motif)


def _unknowns(block: For, motif: Motif) -> Iterator[Told]:
    """A header solves one integer that no line knows, and its step is a number."""
    elsewhere = {n.key for line in lines(motif.body) for n in line_names(line)}
    header = [*expression_names(block.init), *expression_names(block.condition)]
    unknown = sorted({n.key for n in header} - elsewhere - {block.counter.key})
    if len(unknown) > 1:
        names = " and ".join(f"`{name}`" for name in unknown)
        yield f"no line knows {names}; one unknown integer can be solved", block.at
    if any(n.sigil is not Sigil.INTEGER for n in header):
        yield "the header of `for` counts integers", block.at
    if not isinstance(block.step, Literal) or not isinstance(block.step.value, int):
        yield "the step is a whole number, as in `#d /= 2`", block.at


@check("SQ033", "endless")
def endless(file: PatternFile) -> Iterator[Told]:
    """Let the step move the counter towards the end that the condition names."""
    for motif in file.motifs:
        for block in statements(motif.body):
            if isinstance(block, For) and isinstance(block.step, Literal) and _never_ends(block):
                yield f"this `for` does not end: `#{block.counter.name} {block.operator}= …`", block.at


def _never_ends(block: For) -> bool:
    start = fold(block.init, {})
    starts = (start,) if isinstance(start, int) and not isinstance(start, bool) else _SAMPLES
    return any(_runs_on(block, value) for value in starts)


def _runs_on(block: For, value: int) -> bool:
    step = fold(block.step, {})
    for _ in range(_MOST_ROUNDS):
        if _decides(block.condition, {block.counter.key: value}) is not True:
            return False
        following = STEPS[block.operator](value, step) if isinstance(step, int) else None
        if not isinstance(following, int):
            return following is not None
        if following == value:
            return True
        value = following
    return True


def _decides(condition: Expression, known: Mapping[str, int]) -> bool | None:
    """Whether the condition holds; other names are taken as far away on the side that ends the loop last."""
    others = {n.key: 1 << 20 for n in expression_names(condition) if n.key not in known}
    value = fold(condition, {**others, **known})
    return None if value is None else bool(value)


@check("SQ034", "loop-name")
def loop_name(file: PatternFile) -> Iterator[Told]:
    """A loop name is one capital letter with optional digits: anything longer is an opcode."""
    for motif in file.motifs:
        seen: dict[str, Position] = {}
        for block in statements(motif.body):
            if isinstance(block, Loop):
                if not (block.name[0].isupper() and (block.name[1:].isdigit() or not block.name[1:])):
                    yield f"`{block.name}` is no loop name", block.at, "one capital letter: `loop K { … }`"
                if block.name in seen:
                    hint = f"the first one is in line {seen[block.name].line}"
                    yield f"second loop `{block.name}`", block.at, hint
                seen[block.name] = block.at


@check("SQ035", "misplaced")
def misplaced(file: PatternFile) -> Iterator[Told]:
    """Headers, `emit` and `key` stand directly in the motif; a motif and a block have a line."""
    for motif in file.motifs:
        top = {id(s) for s in motif.body}
        for statement in statements(motif.body):
            if isinstance(statement, Header | Emit | Key) and id(statement) not in top:
                word = statement.word if isinstance(statement, Header) else type(statement).__name__.lower()
                yield f"`{word}` stands outside of blocks", statement.at
            if isinstance(statement, For) and not any(isinstance(s, Line) for s in statement.body):
                yield "this block has no line", statement.at
        if all(isinstance(s, Header | Emit | Key) for s in motif.body):
            yield f"motif `{motif.name}` has no line", motif.at
