"""Which names an atom binds, and which have to be bound before it can be evaluated."""

from __future__ import annotations

from sassql.engine.plan import (
    Again,
    Atom,
    BorderAtom,
    CarryAtom,
    Conjunction,
    EveryAtom,
    FirstAtom,
    FlowAtom,
    LineAtom,
    LoopAtom,
    OrderAtom,
    Outline,
    PathAtom,
    RepeatAtom,
    ScopeAtom,
    SliceAtom,
    UseAtom,
    WhereAtom,
)


def binds(atom: Atom) -> frozenset[str]:
    """Keys that an atom binds where they are not bound yet."""
    match atom:
        case LineAtom(label=label):
            return atom.keys | {label}
        case LoopAtom(loop=loop):
            return frozenset({loop})
        case CarryAtom() | BorderAtom():
            return atom.keys
        case FlowAtom(source=source, target=target):
            return frozenset({source, target})
        case FirstAtom(target=target):
            return frozenset({target})
        case RepeatAtom(labels=labels, outer=outer):
            return frozenset({*labels, *outer.values(), *atom.unknowns}) | list_keys(atom)
        case UseAtom(alias=alias, inputs=inputs, outputs=outputs):
            return frozenset({alias, *outputs, *(key for key in inputs if isinstance(key, str))})
        case EveryAtom(subject=subject):
            return frozenset({subject.label}) | list_keys(atom)
        case ScopeAtom(kind="opt", body=body):
            return frozenset().union(*(variant.binders for variant in body.variants))
    return frozenset()


def list_keys(atom: Atom) -> frozenset[str]:
    """Names and labels that are lists outside of a repetition."""
    match atom:
        case RepeatAtom(labels=labels, outer=outer, body=body):
            inner = frozenset().union(*(variant.binders | variant.lists for variant in body.variants))
            return frozenset(inner | {*labels}) - {*outer, *outer.values()}
        case EveryAtom(subject=subject):
            return subject.keys | {subject.label}
        case ScopeAtom(kind="opt", body=body):
            return frozenset().union(*(variant.lists for variant in body.variants))
    return frozenset()


def is_check(atom: Atom) -> bool:
    """True for an atom that binds nothing and costs little."""
    return isinstance(atom, WhereAtom | OrderAtom | PathAtom | SliceAtom)


def outline(conjunction: Conjunction) -> Outline:
    """What the order of the atoms rests on, whatever the kernel."""
    if not conjunction.outlines:
        atoms = conjunction.atoms
        needed = _requirements(conjunction)
        bound = tuple(binds(atom) for atom in atoms)
        judges = [n for n, atom in enumerate(atoms) if is_check(atom) or isinstance(atom, FlowAtom)]
        checks = tuple(
            tuple(n for n in judges if not atoms[n].keys.isdisjoint(keys))
            if isinstance(atom, LineAtom | UseAtom)
            else ()
            for atom, keys in zip(atoms, bound, strict=True)
        )
        again = tuple(_once_more(conjunction))
        conjunction.outlines.append(Outline(tuple(needed[id(a)] for a in atoms), bound, checks, again))
    return conjunction.outlines[0]


def _requirements(conjunction: Conjunction) -> dict[int, frozenset[str]]:
    found: dict[int, frozenset[str]] = {}
    positive = [a for a in conjunction.atoms if not isinstance(a, ScopeAtom | EveryAtom)]
    sure: frozenset[str] = frozenset().union(*(binds(atom) for atom in positive))
    for atom in conjunction.atoms:  # scopes follow each other in the order of the text
        if isinstance(atom, ScopeAtom | EveryAtom):
            found[id(atom)] = atom.keys & sure
            sure |= binds(atom)
    for atom in positive:
        match atom:
            case BorderAtom(loop=loop, inner=inner, plain=plain):
                needed = frozenset({loop, inner, plain})
            case FirstAtom(flows=flows):
                needed = frozenset(key for flow in flows for key in (flow.source, *flow.loops))
            case FlowAtom(loops=loops):
                needed = frozenset(loops)
            case RepeatAtom(shared=shared, outer=outer):
                needed = frozenset(outer.get(key, key) for key in shared)
            case _ if is_check(atom):
                needed = atom.keys
            case _:
                needed = frozenset()
        found[id(atom)] = needed & sure
    return found


def _once_more(conjunction: Conjunction) -> list[Again]:
    """What has to be judged again at the end, since what it was judged by may have grown."""
    kinds = (LoopAtom, CarryAtom, FlowAtom, SliceAtom)
    return [Again(atom.line, atom.keys, atom) for atom in conjunction.atoms if isinstance(atom, kinds)]


def is_bound(atom: Atom, bound: frozenset[str] | set[str]) -> bool:
    """True where both ends of a flow are known: then it is a check."""
    return isinstance(atom, FlowAtom) and atom.source in bound and atom.target in bound
