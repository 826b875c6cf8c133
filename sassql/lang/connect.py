"""SQ040: a motif whose lines fall apart into halves that share no name is a cross product."""

from __future__ import annotations

from collections.abc import Iterator

from sassql.lang.ast import (
    Chain,
    Either,
    Equal,
    Every,
    Expression,
    Flow,
    For,
    Line,
    Loop,
    Motif,
    No,
    Opt,
    Order,
    Path,
    PatternFile,
    Position,
    Statement,
    Symbol,
    Use,
    Where,
)
from sassql.lang.findings import Told, check
from sassql.lang.walk import (
    expression_names,
    expressions,
    line_names,
    parts,
    statements,
)


@check("SQ040", "disconnected-pattern")
def disconnected_pattern(file: PatternFile) -> Iterator[Told]:
    """Let the halves share a name, write a `where` about both, or split the motif."""
    for motif in file.motifs:
        yield from _disconnected(motif.body, motif)
        for statement in statements(motif.body):
            if isinstance(statement, For | Chain):
                yield from _disconnected(statement.body, motif)


def _disconnected(body: tuple[Statement, ...], motif: Motif) -> Iterator[Told]:
    groups = components(body)
    if len(groups) > 1:
        first, second = groups[0], groups[1]
        told = f"the lines {first.line} and {second.line} of `{motif.name}` share no name"
        yield (
            f"{told}: that is a cross product",
            second,
            "let them share a name, write `where`, or split the motif",
        )


def components(body: tuple[Statement, ...]) -> list[Position]:
    """Place of the first statement of each group of statements that hang together by names.

    A loop is no statement of its own here: lying in one loop connects nothing, being carried
    round by it does. What must not be there, and what holds for every line, needs no connection.
    """
    parent: dict[str, str] = {}

    def find(key: str) -> str:
        while parent.setdefault(key, key) != key:
            key = parent[key]
        return key

    units: list[tuple[Position, str]] = []
    for number, statement in enumerate(_flat(body)):
        if isinstance(statement, No | Every):
            continue
        keys = _keys(statement)
        if isinstance(statement, _UNITS):
            unit = f"unit {number}"
            units.append((statement.at, unit))
            keys = [unit, *keys]
        for key in keys[1:]:
            parent[find(key)] = find(keys[0])
        for key in keys:
            if key.endswith("'"):  # a step ties what goes in and what comes out
                parent[find(key)] = find(key[:-1])
    found: dict[str, Position] = {}
    for at, unit in units:
        found.setdefault(find(unit), at)
    return list(found.values())


_UNITS = (Line, For, Chain, Use, Either, Opt)


def _flat(body: tuple[Statement, ...]) -> Iterator[Statement]:
    for statement in body:
        if isinstance(statement, Loop):
            yield from _flat(statement.body)
        else:
            yield statement


def _keys(statement: Statement) -> list[str]:
    """Names and labels through which a statement hangs together with others."""
    match statement:
        case Line():
            own = [statement.label] if statement.label else []
            return [*(name.key for name in line_names(statement)), *own]
        case Use(inputs=inputs, outputs=outputs, alias=alias):
            given = [key for expression in inputs for key in _mentioned(expression)]
            return [*given, *(name.key for name in outputs), *([alias] if alias else [])]
        case Equal(left=left, right=right) | Flow(source=left, target=right):
            return [left.key, right.key]
        case Order(left=one, right=other) | Path(source=one, target=other):
            return [one, other]
        case Where(condition=condition):
            return _mentioned(condition)
    found = [key for expression in expressions(statement) for key in _mentioned(expression)]
    if isinstance(statement, For | Chain | Either | Opt):
        inner = statements((statement,))
        next(inner)
        found += [key for s in inner if not isinstance(s, For | Either) for key in _keys(s)]
    return found


def _mentioned(expression: Expression) -> list[str]:
    """Names and labels in an expression; loops and the kernel connect nothing."""
    symbols = [p.name for p in parts(expression) if isinstance(p, Symbol) and p.name != "kernel"]
    labels = [name for name in symbols if not name[0].isupper()]
    return [*(name.key for name in expression_names(expression)), *labels]
