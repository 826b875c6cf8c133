"""A checked motif made ready for evaluation: lines with matchers, runs with their carried names.

Equalities (``%r = %x'``) become aliases here: the names of one class are one name from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from sassql.engine.match_line import LineMatcher
from sassql.lang.ast import (
    ClassDefinition,
    Column,
    Emit,
    Equal,
    For,
    GuardPattern,
    IntegerOperand,
    Key,
    Line,
    Motif,
    Name,
    NumberOperand,
    PatternFile,
    Statement,
    ValueOperand,
    Where,
)
from sassql.lang.walk import expression_names, line_names

Aliases = Mapping[str, str]


class SlotKind(Enum):
    """What is compared where a line lies on an instruction."""

    GUARD = "guard"
    VALUE = "value"
    INTEGER = "integer"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Slot:
    """One thing to compare: ``position`` is the pattern operand, ``key`` the name after equalities."""

    kind: SlotKind
    position: int
    key: str = ""
    number: int | float = 0


@dataclass(frozen=True, slots=True)
class LinePlan:
    """A line. ``label`` is the written one, or a made-up one that no user can write."""

    label: str
    line: Line
    matcher: LineMatcher
    slots: tuple[Slot, ...]

    @property
    def named(self) -> bool:
        return bool(self.line.label)

    @property
    def value_keys(self) -> frozenset[str]:
        """The value names of the line, its guard's among them."""
        return frozenset(s.key for s in self.slots if s.kind in (SlotKind.VALUE, SlotKind.GUARD))


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A ``for`` block.

    ``carried`` are the names with a primed partner. ``fixed`` are names that stand outside as
    well: they are the same on every rung; all others are lists outside. ``ends`` are the labels
    whose first and last instruction identify a run: those that make a carried value.
    """

    block: For
    lines: tuple[LinePlan, ...]
    conditions: tuple[Where, ...]
    carried: tuple[str, ...]
    fixed: frozenset[str]
    ends: tuple[str, ...]
    aliases: Aliases

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(line.label for line in self.lines)

    def unknowns(self) -> tuple[str, ...]:
        """Integers of the header besides the counter."""
        names = [*expression_names(self.block.init), *expression_names(self.block.condition)]
        return tuple(dict.fromkeys(n.key for n in names if n.key != self.block.counter.key))


@dataclass(frozen=True, slots=True)
class MotifPlan:
    """A motif ready to run."""

    motif: Motif
    lines: tuple[LinePlan, ...]
    runs: tuple[RunPlan, ...]
    conditions: tuple[Where, ...]
    columns: tuple[Column, ...]
    key: tuple[str, ...] | None
    aliases: Aliases
    everything: bool
    """``scope all``: slow paths and unreachable code are nodes too."""

    def all_lines(self) -> tuple[LinePlan, ...]:
        """The lines outside of blocks, then those inside."""
        return (*self.lines, *(line for run in self.runs for line in run.lines))


def plan_motif(motif: Motif, file: PatternFile) -> MotifPlan:
    """The plan of a motif that `sassql.lang.check` found no error in."""
    own = {definition.name: definition for definition in file.classes}
    aliases = _aliases(motif.body)
    lines = _lines(motif.body, own, aliases, "line")
    outside = _outside_names(motif, lines)
    runs = tuple(
        _run(statement, number, own, outside, aliases)
        for number, statement in enumerate(motif.body)
        if isinstance(statement, For)
    )
    keys = [statement for statement in motif.body if isinstance(statement, Key)]
    return MotifPlan(
        motif=motif,
        lines=lines,
        runs=runs,
        conditions=tuple(s for s in motif.body if isinstance(s, Where)),
        columns=tuple(c for s in motif.body if isinstance(s, Emit) for c in s.columns),
        key=tuple(name for key in keys for name in key.names) if keys else None,
        aliases=aliases,
        everything=motif.header("scope") == "all",
    )


def _lines(
    body: Iterable[Statement], own: Mapping[str, ClassDefinition], aliases: Aliases, where: str
) -> tuple[LinePlan, ...]:
    return tuple(
        LinePlan(s.label or f"{where} {number}", s, LineMatcher(s, own), tuple(_slots(s, aliases)))
        for number, s in enumerate(body)
        if isinstance(s, Line)
    )


def _slots(line: Line, aliases: Aliases) -> Iterator[Slot]:
    match line.guard:
        case GuardPattern(predicate=Name(key=key)):
            yield Slot(SlotKind.GUARD, -1, aliases.get(key, key))
    for position, operand in enumerate(line.operands):
        match operand.core:
            case ValueOperand(name=Name(key=key)):
                yield Slot(SlotKind.VALUE, position, aliases.get(key, key))
            case IntegerOperand(name=Name(key=key)):
                yield Slot(SlotKind.INTEGER, position, aliases.get(key, key))
            case NumberOperand(value=value):
                yield Slot(SlotKind.NUMBER, position, number=value)


def _aliases(body: Iterable[Statement]) -> dict[str, str]:
    """One name for each class of names that equalities tie together."""
    parent: dict[str, str] = {}

    def find(key: str) -> str:
        while parent.setdefault(key, key) != key:
            key = parent[key]
        return key

    for statement in body:
        if isinstance(statement, Equal):
            parent[find(statement.left.key)] = find(statement.right.key)
    return {key: find(key) for key in parent}


def _outside_names(motif: Motif, lines: Iterable[LinePlan]) -> frozenset[str]:
    """Names that a line outside of blocks, an equality or the interface mentions."""
    found = {name.key for line in lines for name in line_names(line.line)}
    found |= {name.key for name in (*motif.inputs, *motif.outputs)}
    for statement in motif.body:
        match statement:
            case Equal(left=left, right=right):
                found |= {left.key, right.key}
            case For(init=init, condition=condition):
                found |= {name.key for e in (init, condition) for name in expression_names(e)}
    return frozenset(found)


def _run(
    block: For, number: int, own: Mapping[str, ClassDefinition], outside: frozenset[str], aliases: Aliases
) -> RunPlan:
    inner = _aliases(block.body)
    lines = _lines(block.body, own, inner, f"for {number}")
    equal = [name for s in block.body if isinstance(s, Equal) for name in (s.left, s.right)]
    names = [*(name for line in lines for name in line_names(line.line)), *equal]
    carried = tuple(dict.fromkeys(name.plain for name in names if name.primed))
    both = {*carried, *(f"{name}'" for name in carried), block.counter.key}
    makers = tuple(line.label for line in lines if any(name.primed for name in line_names(line.line)))
    return RunPlan(
        block=block,
        lines=lines,
        conditions=tuple(s for s in block.body if isinstance(s, Where)),
        carried=carried,
        fixed=frozenset(name.key for name in names) & outside - both,
        ends=makers or tuple(line.label for line in lines),
        aliases=inner,
    )
