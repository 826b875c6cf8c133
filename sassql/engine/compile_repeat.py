"""`for` and `chain` blocks to atoms: what is carried, what stays the same, what a run is known by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sassql.engine import compile_atoms as atoms
from sassql.engine.compile_names import ScopeNames, primed_in
from sassql.engine.plan import (
    BorderAtom,
    CarryAtom,
    EveryAtom,
    FirstAtom,
    FlowAtom,
    LineAtom,
    LoopAtom,
    RepeatAtom,
    Scope,
    ScopeAtom,
)
from sassql.lang.ast import (
    Chain,
    For,
    Line,
    No,
)
from sassql.lang.walk import expression_names, line_names, lines, statements

if TYPE_CHECKING:
    from sassql.engine.compile import Compiler, Surroundings


def repeat_atom(
    compiler: Compiler,
    block: For | Chain,
    loops: tuple[str, ...],
    names: ScopeNames,
    around: Surroundings,
) -> RepeatAtom:
    """The atom of a block that stands inside of ``loops``."""
    from sassql.engine.compile import Surroundings  # noqa: PLC0415  (the two make each other's scopes)

    called = names.within(loops)
    body = compiler.scope(block.body, Surroundings({}, loops))
    carried = tuple(dict.fromkeys(plain for s in block.body for plain in primed_in(s)))
    own = {*carried, *(f"{plain}'" for plain in carried)}
    own |= {block.counter.key} if isinstance(block, For) else set()
    inside = {key for s in block.body for key in atoms.statement_keys(s)}
    fixed = frozenset(inside & (names.elsewhere(block) | around.text.keys()) - own)
    labels = tuple(dict.fromkeys(atoms.label_of(line) for line in _laid(block)))
    makers = tuple(
        atoms.label_of(s) for s in block.body if isinstance(s, Line) and any(n.primed for n in line_names(s))
    )
    outer = {
        key: called(key)
        for key in (*own, *fixed)
        if not (isinstance(block, For) and key == block.counter.key)
    }
    unknowns = _unknowns(block, called) if isinstance(block, For) else ()
    needs_loop = loops if _needs_loops(body) else ()
    keys = frozenset({*labels, *outer.values(), *unknowns, *needs_loop})
    return RepeatAtom(
        line=block.at.line,
        keys=keys,
        block=block,
        body=body,
        labels=labels,
        carried=carried,
        fixed=fixed,
        shared=frozenset({*(key for key in fixed if key in _judged(body)), *needs_loop}),
        ends=makers or labels,
        outer=outer,
        tied=frozenset(own) & names.beside(block) if isinstance(block, Chain) else frozenset(),
        unknowns=unknowns,
        trials=names.trials(unknowns),
        loops=loops,
    )


def _laid(block: For | Chain) -> list[Line]:
    hidden = {id(line) for s in statements(block.body) if isinstance(s, No) for line in lines((s,))}
    return [line for line in lines(block.body) if id(line) not in hidden]


def _needs_loops(body: Scope) -> bool:
    """True where it matters to a step in which loop it lies: flows do not cross its header."""
    kinds = (FlowAtom, FirstAtom, ScopeAtom, EveryAtom)
    return any(isinstance(atom, kinds) for variant in body.variants for atom in variant.atoms)


def _judged(body: Scope) -> frozenset[str]:
    """Names that a step must know before it can be judged: those of what is no line and no flow."""
    kinds = (LineAtom, FlowAtom, FirstAtom, LoopAtom, CarryAtom, BorderAtom)
    return frozenset().union(
        *(a.keys for v in body.variants for a in (*v.atoms, *v.late) if not isinstance(a, kinds))
    )


def _unknowns(block: For, called: atoms.Called) -> tuple[str, ...]:
    """Integers of the header besides the counter, as they are called outside."""
    found = [*expression_names(block.init), *expression_names(block.condition)]
    return tuple(dict.fromkeys(called(n.key) for n in found if n.key != block.counter.key))
