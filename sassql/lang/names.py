"""Checks of names: everything that is used is bound, and nothing is bound twice under one label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sassql.lang.ast import (
    Call,
    Chain,
    Either,
    Emit,
    Equal,
    Expression,
    Flow,
    For,
    Key,
    Line,
    Loop,
    Motif,
    Name,
    Order,
    Path,
    PatternFile,
    Position,
    Sigil,
    Statement,
    Symbol,
    Use,
)
from sassql.lang.findings import Told, check, meant
from sassql.lang.walk import (
    blocks,
    expression_names,
    expressions,
    labels,
    line_names,
    lines,
    parts,
    statements,
)


@check("SQ020", "duplicate-name")
def duplicate_name(file: PatternFile) -> Iterator[Told]:
    """Give every motif, class, label and column of its kind a name of its own."""
    for kind, items in (("motif", file.motifs), ("class", file.classes)):
        first: dict[str, Position] = {}
        for item in items:
            if item.name in first:
                hint = f"the first one is in line {first[item.name].line}"
                yield f"second {kind} `{item.name}`", item.at, hint
            first.setdefault(item.name, item.at)
    for motif in file.motifs:
        yield from _duplicate_labels(motif)
        columns = [c for s in statements(motif.body) if isinstance(s, Emit) for c in s.columns]
        count = Counter(column.name for column in columns)
        for column in columns[::-1]:
            if count[column.name] > 1:
                count[column.name] -= 1
                yield f"second column `{column.name}`", column.at


def _duplicate_labels(motif: Motif) -> Iterator[Told]:
    for found in _label_paths(motif.body):
        first: dict[str, Position] = {}
        for line in found:
            if line.label in first:
                hint = f"the first one is in line {first[line.label].line}"
                yield f"second label `{line.label}`", line.at, hint
            elif line.label:
                first[line.label] = line.at


def _label_paths(body: tuple[Statement, ...]) -> list[list[Line]]:
    """Lines that can hold together: branches of `either` exclude each other."""
    paths: list[list[Line]] = [[]]
    for statement in body:
        if isinstance(statement, Line):
            paths = [[*path, statement] for path in paths]
        elif isinstance(statement, Either):
            inner = [p for branch in statement.branches for p in _label_paths(branch)]
            paths = [[*path, *more] for path in paths for more in inner]
        else:
            for block in blocks(statement):
                paths = [[*path, *more] for path in paths for more in _label_paths(block)]
    return paths[:64]


def bound_names(motif: Motif) -> dict[str, Position]:
    """Names that something in the motif binds, prime included, with the first place."""
    found: dict[str, Position] = {}
    for statement in statements(motif.body):
        names: list[Name] = []
        match statement:
            case Line():
                names = list(line_names(statement))
            case For(counter=counter, init=init, condition=condition):
                names = [counter, *expression_names(init), *expression_names(condition)]
            case Use(inputs=inputs, outputs=outputs):
                names = [*outputs, *(name for e in inputs for name in expression_names(e))]
            case Flow(source=source, target=target):
                names = [source, target]
        for name in names:
            found.setdefault(name.key, name.at)
    _bind_equalities(motif, found)
    return found


def _bind_equalities(motif: Motif, found: dict[str, Position]) -> None:
    """`%r = %x'` binds one side where the other one is bound."""
    equalities = [s for s in statements(motif.body) if isinstance(s, Equal)]
    for _ in equalities:
        for equal in equalities:
            for one, other in ((equal.left, equal.right), (equal.right, equal.left)):
                if one.key in found:
                    found.setdefault(other.key, equal.at)


@check("SQ021", "unbound-name")
def unbound_name(file: PatternFile) -> Iterator[Told]:
    """Let a line read or write the name; conditions and columns only use names that lines bind."""
    for motif in file.motifs:
        bound = bound_names(motif)
        told = set[str]()
        for name in _used_names(motif):
            if name.key not in bound and name.key not in told:
                told.add(name.key)
                yield f"nothing binds `{name}`", name.at, _binding_hint(name, bound, motif)
        for name in (*motif.inputs, *motif.outputs):
            if name.key not in bound and name.key not in told:
                told.add(name.key)
                message = f"interface name `{name}` is not bound in `{motif.name}`"
                yield message, name.at, _binding_hint(name, bound, motif)


def _used_names(motif: Motif) -> Iterator[Name]:
    for statement in statements(motif.body):
        if isinstance(statement, Equal):
            yield from (statement.left, statement.right)
        for expression in expressions(statement):
            yield from expression_names(expression)


def _binding_hint(name: Name, bound: dict[str, Position], motif: Motif) -> str:
    """A name that resembles it, else lines that could bind it."""
    if name.primed and name.plain in bound:
        return f"`{name.plain}` is bound, but no line of a `for` binds `{name}`"
    same_kind = {key for key in bound if key[0] == name.key[0]}
    if close := meant(name.key, same_kind):
        return f"{close[:-1]} (line {bound[close.split('`')[1]].line})?"
    able = [line for line in lines(motif.body) if _could_bind(name, line)]
    if not able:
        return ""
    shown = ", ".join(str(line.at.line) for line in able[:3])
    return f"a line must read or write it, such as line {shown}"


def _could_bind(name: Name, line: Line) -> bool:
    """Any line can name a value; an integer stands beside another one, or where nothing is written."""
    if name.sigil is Sigil.VALUE or not line.operands:
        return True
    return any(n.sigil is Sigil.INTEGER for n in line_names(line))


@check("SQ022", "unknown-label")
def unknown_label(file: PatternFile) -> Iterator[Told]:
    """Write a label in front of a line, and use that name."""
    for motif in file.motifs:
        known = set(labels(motif)) | _aliases(motif)
        for name, at in _used_labels(motif):
            if name not in known:
                yield f"unknown label `{name}`", at, meant(name, known)


def _aliases(motif: Motif) -> set[str]:
    """Names other than labels that stand where labels do."""
    found = {"kernel"}
    for statement in statements(motif.body):
        match statement:
            case Use(alias=alias):
                found.add(alias)
            case Loop(name=name):
                found.add(name)
    return found


def _used_labels(motif: Motif) -> Iterator[tuple[str, Position]]:
    for statement in statements(motif.body):
        match statement:
            case Key(names=names, at=at):
                yield from ((name, at) for name in names)
            case Order(left=left, right=right, at=at) | Path(source=left, target=right, at=at):
                yield from ((left, at), (right, at))
        for expression in expressions(statement):
            yield from _symbols(expression)


def _symbols(expression: Expression) -> Iterator[tuple[str, Position]]:
    functions = {id(part.function) for part in parts(expression) if isinstance(part, Call)}
    for part in parts(expression):
        if isinstance(part, Symbol) and id(part) not in functions:
            yield part.name, part.at


@check("SQ023", "column-of-test")
def column_of_test(file: PatternFile) -> Iterator[Told]:
    """Compare columns that the motif above the test emits."""
    columns = {
        motif.name: {c.name for s in statements(motif.body) if isinstance(s, Emit) for c in s.columns}
        for motif in file.motifs
    }
    for test in file.tests:
        if not test.motif:
            yield "no motif stands above this test", test.at, "a test belongs to the motif before it"
            continue
        for condition in test.conditions:
            for name, at in _symbols(condition):
                if name not in columns[test.motif]:
                    hint = meant(name, columns[test.motif]) or "it emits " + (
                        ", ".join(f"`{c}`" for c in sorted(columns[test.motif])) or "nothing"
                    )
                    yield f"`{test.motif}` has no column `{name}`", at, hint


def step_blocks(body: tuple[Statement, ...]) -> Iterator[For | Chain | Loop]:
    """The blocks of a body that define a step, at any depth."""
    for statement in statements(body):
        if isinstance(statement, For | Chain | Loop):
            yield statement
