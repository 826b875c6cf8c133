"""Checked motifs to plans: scopes become conjunctions of atoms (`sassql.engine.plan`)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from sassql.engine import compile_atoms as atoms
from sassql.engine.compile_names import ScopeNames, Way, flatten
from sassql.engine.compile_repeat import repeat_atom
from sassql.engine.earliest import shows_first_only
from sassql.engine.plan import (
    Atom,
    BorderAtom,
    CarryAtom,
    Conjunction,
    EveryAtom,
    FirstAtom,
    FlowAtom,
    KeyPart,
    LineAtom,
    LoopAtom,
    MotifPlan,
    PerColumns,
    RepeatAtom,
    Scope,
    ScopeAtom,
    UseAtom,
    WhereAtom,
)
from sassql.engine.readiness import binds, list_keys
from sassql.lang.ast import (
    Chain,
    Emit,
    Equal,
    Every,
    Flow,
    For,
    Key,
    Line,
    Loop,
    Motif,
    No,
    Opt,
    Order,
    Path,
    PatternFile,
    Slice,
    Statement,
    Use,
    Where,
)
from sassql.lang.walk import lines, statements


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a scope needs to know of those around it.

    ``text`` has the names that mean the same inside, as they are written, and how they are
    called; ``loops`` the loops around; ``interface`` names of the motif's interface and
    ``emitted`` those of its columns.
    """

    text: dict[str, str]
    loops: tuple[str, ...] = ()
    interface: frozenset[str] = frozenset()
    emitted: frozenset[str] = frozenset()


class Compiler:
    """Makes the plans of one file; ``plan_of`` gives the plan of a motif that a `use` names."""

    def __init__(self, file: PatternFile, plan_of: Callable[[str], MotifPlan]) -> None:
        self.file = file
        self.own = {definition.name: definition for definition in file.classes}
        self.plan_of = plan_of

    def motif(self, motif: Motif) -> MotifPlan:
        """The plan of a motif that the checks found no error in."""
        columns = [s for s in motif.body if isinstance(s, Emit)]
        interface = frozenset(name.key for name in (*motif.inputs, *motif.outputs))
        emitted = frozenset(key for emit in columns for key in atoms.expression_keys(emit))
        scope = self.scope(motif.body, Surroundings({}, (), interface, emitted))
        made = MotifPlan(
            motif=motif,
            file=self.file.file,
            scope=scope,
            columns=tuple(c for emit in columns if not emit.per for c in emit.columns),
            grouped=tuple(PerColumns(emit.columns, emit.per) for emit in columns if emit.per),
            key=_key(motif, scope),
            labels=_shown(motif.body),
            inputs=tuple(name.key for name in motif.inputs),
            outputs=tuple(name.key for name in motif.outputs),
            everything=motif.header("scope") == "all",
            arch=motif.header("arch"),
            identity=self._identity(motif),
        )
        return replace(made, shows_first=shows_first_only(made))

    def _identity(self, motif: Motif) -> str:
        used = [self.plan_of(s.motif).identity for s in statements(motif.body) if isinstance(s, Use)]
        text = "\0".join((motif.name, self.file.text, *used))
        return hashlib.sha256(text.encode()).hexdigest()

    def scope(self, body: tuple[Statement, ...], around: Surroundings) -> Scope:
        """The conjunctions of a body, one per combination of branches."""
        return Scope(tuple(self._conjunction(way, around) for way in flatten(body, around.loops)))

    def _conjunction(self, way: Way, around: Surroundings) -> Conjunction:
        names = ScopeNames(way, around.text, around.interface, around.emitted)
        found: list[Atom] = list(self._loops(way, names))
        repeats: list[RepeatAtom] = []
        for item in way:
            for atom in self._atoms(item.statement, item.loops, names, around):
                found.append(atom)
                if isinstance(atom, RepeatAtom):
                    repeats.append(atom)
        lists = frozenset().union(*(list_keys(atom) for atom in found))
        solved = {key for repeat in repeats for key in repeat.unknowns}
        late = [a for a in found if isinstance(a, WhereAtom) and not a.keys.isdisjoint(lists | solved)]
        found = _with_firsts(found)
        needed = tuple(_needed(found))
        return Conjunction(
            atoms=tuple(atom for atom in found if atom not in late),
            late=tuple(late),
            chains=tuple(r for r in repeats if isinstance(r.block, Chain)),
            names=names.outer(),
            lists=lists,
            binders=frozenset().union(*(binds(atom) for atom in found)),
            needed=needed,
            matchers=frozenset(line.matcher for line in needed),
        )

    def _loops(self, way: Way, names: ScopeNames) -> Iterator[Atom]:
        """The loops of a way, and the names that they carry round."""
        blocks = [(item.statement, item.loops) for item in way if isinstance(item.statement, Loop)]
        for number, (block, outside) in enumerate(blocks):
            assert isinstance(block, Loop)
            loop, line = block.name, block.at.line
            inside = tuple(label for item in way if loop in item.loops for label in _laid(item.statement))
            others = tuple(
                b.name for b, path in blocks[:number] if isinstance(b, Loop) and b.name not in outside
            )
            parent = outside[-1] if outside else ""
            keys = frozenset({loop, *inside, *([parent] if parent else []), *others})
            yield LoopAtom(line, keys, loop, parent, others, inside)
            for plain in names.carried(loop):
                inner, primed = names.inside(plain, loop), names.inside(f"{plain}'", loop)
                yield CarryAtom(line, frozenset({loop, inner, primed}), loop, inner, primed)
            for plain, inner, outer, leaving in names.borders(loop, outside):
                keys = frozenset({loop, inner, outer, plain})
                yield BorderAtom(line, keys, loop, inner, outer, leaving, plain)

    def _atoms(
        self, statement: Statement, loops: tuple[str, ...], names: ScopeNames, around: Surroundings
    ) -> Iterator[Atom]:
        called = names.within(loops)
        match statement:
            case Line():
                yield atoms.line_atom(statement, self.own, called, loops[-1] if loops else "")
            case Flow():
                yield atoms.flow_atom(statement, self.own, called, loops)
            case Slice():
                yield atoms.slice_atom(statement, self.own, called)
            case Path():
                yield atoms.path_atom(statement, self.own, called)
            case Order():
                yield atoms.order_atom(statement)
            case Where():
                yield from atoms.where_atoms(statement, called)
            case Equal() if names.needs_check(statement):
                yield atoms.equal_atom(statement, called)
            case Use():
                yield atoms.use_atom(statement, self.plan_of(statement.motif), called)
            case For() | Chain():
                yield repeat_atom(self, statement, loops, names, around)
            case Opt(body=body) | No(body=body):
                inner = self.scope(body, self._inner(loops, names, around))
                kind = "opt" if isinstance(statement, Opt) else "no"
                yield ScopeAtom(
                    statement.at.line, _scope_keys(inner), kind, inner, loops[-1] if loops else ""
                )
            case Every(line=line, body=body):
                subject = atoms.line_atom(line, self.own, called)
                inside = self._inner(loops, names, around, (line,))
                inner = self.scope(body, inside)
                keys = _scope_keys(inner) | subject.keys
                yield EveryAtom(statement.at.line, keys, subject, inner, loops[-1] if loops else "")

    def _inner(
        self,
        loops: tuple[str, ...],
        names: ScopeNames,
        around: Surroundings,
        own: tuple[Statement, ...] = (),
    ) -> Surroundings:
        """The surroundings of a scope inside this one: it sees every name of this one."""
        text = {**around.text, **names.seen_from(loops)}
        more = frozenset(key for s in own for key in atoms.statement_keys(s))
        return Surroundings({**text, **{k: text.get(k, k) for k in more}}, loops)


def _laid(statement: Statement) -> tuple[str, ...]:
    """Labels of a statement that lie inside of the loop around it."""
    match statement:
        case Line():
            return (atoms.label_of(statement),)
        case For(body=body) | Chain(body=body):
            return tuple(atoms.label_of(line) for line in _positive_lines(body))
    return ()


def _positive_lines(body: tuple[Statement, ...]) -> Iterator[Line]:
    hidden = {id(line) for s in statements(body) if isinstance(s, No | Every) for line in lines((s,))}
    return (line for line in lines(body) if id(line) not in hidden)


def _with_firsts(found: list[Atom]) -> list[Atom]:
    """Flows to a primed name that nothing else binds become one atom."""
    bound = {key for atom in found if not isinstance(atom, FlowAtom) for key in binds(atom)}
    groups: dict[str, list[FlowAtom]] = {}
    for atom in found:
        if isinstance(atom, FlowAtom) and atom.target.endswith("'") and atom.target not in bound:
            groups.setdefault(atom.target, []).append(atom)
    if not groups:
        return found
    grouped = {id(flow) for flows in groups.values() for flow in flows}
    kept = [atom for atom in found if id(atom) not in grouped]
    for target, flows in groups.items():
        keys = frozenset().union(*(flow.keys for flow in flows))
        readers = tuple(a for a in kept if isinstance(a, LineAtom) and target[:-1] in a.keys)
        kept.append(FirstAtom(flows[0].line, keys, target, target[:-1], tuple(flows), readers))
    return kept


def _scope_keys(scope: Scope) -> frozenset[str]:
    """Everything that a scope mentions."""
    found: set[str] = set()
    for variant in scope.variants:
        for atom in (*variant.atoms, *variant.late):
            found |= atom.keys
    return frozenset(found)


def _needed(atoms_of_way: Iterable[Atom]) -> Iterator[LineAtom]:
    """Lines that must lie somewhere: those of negative parts never select."""
    for atom in atoms_of_way:
        match atom:
            case LineAtom():
                yield atom
            case RepeatAtom(body=body) if len(body.variants) == 1:
                yield from body.variants[0].needed
            case EveryAtom(subject=subject):
                yield subject
            case UseAtom(motif=motif) if len(motif.needed) == 1:
                yield from motif.needed[0]


def _shown(body: tuple[Statement, ...]) -> tuple[str, ...]:
    """Labels, and names of used rows, that a row shows: not those of what must not be there."""
    return tuple(dict.fromkeys(name for name in _shown_names(body) if name))


def _shown_names(body: Iterable[Statement]) -> Iterator[str]:
    for statement in body:
        match statement:
            case Line(label=label) | Use(alias=label):
                yield label
            case No():
                continue
            case Every(line=line):
                yield line.label
            case For(body=inner) | Chain(body=inner) | Loop(body=inner) | Opt(body=inner):
                yield from _shown_names(inner)
            case _:
                for inner in getattr(statement, "branches", ()):
                    yield from _shown_names(inner)


def _key(motif: Motif, scope: Scope) -> tuple[KeyPart, ...]:
    """The written key, or the default: labels outside of repetitions, their ends, used rows, loops."""
    written = [name for s in motif.body if isinstance(s, Key) for name in s.names]
    loops = list(
        dict.fromkeys(a.loop for v in scope.variants for a in _all_atoms(v) if isinstance(a, LoopAtom))
    )
    if written:
        wanted = [name for name in written if name != "kernel"]
        repeated = frozenset().union(*(variant.lists for variant in scope.variants))
        return tuple(_written_part(name, loops, repeated) for name in wanted)
    parts: dict[KeyPart, None] = {}
    for variant in scope.variants:
        found = list(_all_atoms(variant))
        parts.update({KeyPart("label", a.label): None for a in found if isinstance(a, LineAtom) and a.named})
        for atom in found:
            if isinstance(atom, RepeatAtom):
                parts[KeyPart("ends", "", atom.ends)] = None
            elif isinstance(atom, UseAtom):
                parts[KeyPart("label", atom.alias)] = None
    return (*parts, *(KeyPart("loop", name) for name in loops))


def _written_part(name: str, loops: list[str], repeated: frozenset[str]) -> KeyPart:
    if name in loops:
        return KeyPart("loop", name)
    return KeyPart("ends", "", (name,)) if name in repeated else KeyPart("label", name)


def _all_atoms(conjunction: Conjunction) -> Iterator[Atom]:
    """The atoms of a conjunction and of its `opt` blocks."""
    for atom in conjunction.atoms:
        yield atom
        if isinstance(atom, ScopeAtom) and atom.kind == "opt":
            for variant in atom.body.variants:
                yield from _all_atoms(variant)
