"""The form that both engines evaluate: conjunctions of atoms over labels, names, loops.

`sassql.engine.compile` makes it from the syntax tree. What nests in the text but not in
meaning is gone: `either` is one conjunction per combination of branches, a `loop` is a condition on
the atoms that stood in it, equalities are one name. What is left to nest are scopes of their
own: `for`, `chain`, `opt`, `no`, `every`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache

from sassql.engine.match_line import LineMatcher
from sassql.engine.opsets import Alternative
from sassql.lang.ast import Chain, Column, Expression, For, Line, Motif

Names = Mapping[str, str]
"""How names of a scope are called inside the engine, where that differs from the text."""


class SlotKind(Enum):
    """What is compared where a line lies on an instruction."""

    GUARD = "guard"
    VALUE = "value"
    INTEGER = "integer"
    NUMBER = "number"
    ADDRESS = "address"
    TERM = "term"
    """One register of an address: ``term`` counts them."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One thing to compare: ``position`` is the pattern operand, ``key`` the name."""

    kind: SlotKind
    position: int
    key: str = ""
    number: int | float = 0
    term: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Atom:
    """What all atoms share: the line of the text, and the keys of everything that is mentioned."""

    line: int
    keys: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class LineAtom(Atom):
    """A line. ``label`` is the written one, or a made-up one that no user can write.

    ``region`` is the innermost loop around it, or empty.
    """

    label: str
    written: Line
    matcher: LineMatcher
    slots: tuple[Slot, ...]
    region: str

    @property
    def named(self) -> bool:
        return bool(self.written.label)


@dataclass(frozen=True, slots=True, eq=False)
class LoopAtom(Atom):
    """A loop: inside ``parent``, not one of ``others``, around the instructions of ``labels``."""

    loop: str
    parent: str
    others: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CarryAtom(Atom):
    """``plain`` is a φ in the header of ``loop`` and ``primed`` what comes back to it."""

    loop: str
    plain: str
    primed: str


@dataclass(frozen=True, slots=True, eq=False)
class BorderAtom(Atom):
    """A carried name as it is seen from outside of its loop: what goes in, or what comes out."""

    loop: str
    inner: str
    outer: str
    leaving: bool
    plain: str
    """The plain name inside."""


@dataclass(frozen=True, slots=True, eq=False)
class Through:
    """What a flow may pass: any instruction, or those of an opset, at most ``most`` of them."""

    alternatives: tuple[Alternative, ...]
    anything: bool
    most: int


@cache
def through_of(alternatives: tuple[Alternative, ...], anything: bool, most: int) -> Through:
    """One object for all flows that may pass the same, so that they share what is found of them."""
    return Through(alternatives, anything, most)


@dataclass(frozen=True, slots=True, eq=False)
class FlowAtom(Atom):
    """``flow a -> b``; the headers of ``loops`` are not crossed."""

    source: str
    target: str
    through: Through
    loops: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FirstAtom(Atom):
    """A primed name that only flows bind: the first value that all of them reach."""

    target: str
    plain: str
    flows: tuple[FlowAtom, ...]
    readers: tuple[LineAtom, ...]
    """Lines that read the plain name: a value that none of them reads is no next step."""


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """``no STG [&A]``: a quantifier over instructions that ``pattern`` fits, or over a label's."""

    quantifier: str
    label: str
    pattern: LineAtom | None
    has_address: bool


@dataclass(frozen=True, slots=True, eq=False)
class SliceAtom(Atom):
    """``slice v : claims``."""

    value: str
    addresses: bool
    claims: tuple[ClaimPlan, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PathAtom(Atom):
    """``path a -> b : claims``."""

    source: str
    target: str
    claims: tuple[ClaimPlan, ...]


@dataclass(frozen=True, slots=True, eq=False)
class OrderAtom(Atom):
    """``a before b``, ``a dom b`` …"""

    left: str
    relation: str
    right: str
    anywhere: bool


@dataclass(frozen=True, slots=True, eq=False)
class WhereAtom(Atom):
    """A condition; ``names`` are those of the scope that it stands in, ``weight`` what judging it costs."""

    condition: Expression
    names: Names
    weight: int


@dataclass(frozen=True, slots=True, eq=False)
class RepeatAtom(Atom):
    """A ``for`` or a ``chain``.

    ``carried`` are the names with a primed partner. ``fixed`` are names that stand outside as
    well: the same on every step; ``shared`` those that a step must know beforehand. All others
    are lists outside. ``ends`` are the labels whose first and last instruction identify a run:
    those that make a carried value. ``outer`` is how carried and fixed names are called outside;
    ``tied`` are ends of a chain that something else mentions.
    """

    block: For | Chain
    body: Scope
    labels: tuple[str, ...]
    carried: tuple[str, ...]
    fixed: frozenset[str]
    shared: frozenset[str]
    ends: tuple[str, ...]
    outer: Names
    tied: frozenset[str]
    unknowns: tuple[str, ...]
    """Integers that only the header of a ``for`` mentions."""
    trials: tuple[int, ...]
    """What `where #n in {…}` allows for them, if anything does."""
    loops: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class UseAtom(Atom):
    """``use m(a -> b) as u``; inputs that are no name are expressions that must be equal."""

    alias: str
    motif: MotifPlan
    inputs: tuple[str | Expression, ...]
    outputs: tuple[str, ...]
    names: Names


@dataclass(frozen=True, slots=True, eq=False)
class ScopeAtom(Atom):
    """``opt`` or ``no``, by ``kind``. ``region`` is the innermost loop around it, or empty."""

    kind: str
    body: Scope
    region: str


@dataclass(frozen=True, slots=True, eq=False)
class EveryAtom(Atom):
    """``every st: LINE { body }``."""

    subject: LineAtom
    body: Scope
    region: str


@dataclass(frozen=True, slots=True, eq=False)
class Again(Atom):
    """An atom that is judged once more when everything is bound: loops, and names that became wider."""

    atom: Atom


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """What the order of the atoms of a conjunction rests on, whatever the kernel.

    By number of the atom: ``needed`` has to be bound before it, ``bound`` is bound by it, and ``checks`` are
    the numbers of the checks that it may allow to be judged. ``again`` are the atoms behind all others.
    """

    needed: tuple[frozenset[str], ...]
    bound: tuple[frozenset[str], ...]
    checks: tuple[tuple[int, ...], ...]
    again: tuple[Again, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Conjunction:
    """Atoms that hold together. ``late`` are the conditions that speak of lists or of solved integers.

    ``chains`` are the `chain` blocks among the atoms: only maximal ones count. ``names`` tells how a
    name of the text is called here.
    """

    atoms: tuple[Atom, ...]
    late: tuple[WhereAtom, ...]
    chains: tuple[RepeatAtom, ...]
    names: Names
    lists: frozenset[str]
    binders: frozenset[str]
    """Keys that a positive atom of the conjunction binds."""
    needed: tuple[LineAtom, ...]
    """The lines without which there is no way to satisfy it: negative ones never select."""
    matchers: frozenset[LineMatcher]
    """Those of the needed lines."""
    outlines: list[Outline] = field(default_factory=list)
    """What is always the same about the order of the atoms: one, made when it is first asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """A union of conjunctions: the branches of `either`, in the order of the text."""

    variants: tuple[Conjunction, ...]


@dataclass(frozen=True, slots=True)
class KeyPart:
    """One part of what makes two derivations one row: a label's place, a repetition's ends, or a loop."""

    kind: str
    name: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PerColumns:
    """Columns of ``emit … per K``."""

    columns: tuple[Column, ...]
    per: str


@dataclass(frozen=True, slots=True, eq=False)
class MotifPlan:
    """A motif ready to run."""

    motif: Motif
    file: str
    scope: Scope
    columns: tuple[Column, ...]
    grouped: tuple[PerColumns, ...]
    key: tuple[KeyPart, ...]
    labels: tuple[str, ...]
    """Labels that rows show, in the order of the text."""
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    everything: bool
    """``scope all``: slow paths and unreachable code are nodes too."""
    arch: str
    """What the header `arch` says, or an empty string."""
    identity: str
    """Equal for plans that find the same: a digest of the text and of the motifs that it uses."""
    shows_first: bool = False
    """All of a row follows from its first derivations (`sassql.engine.earliest`)."""

    @property
    def needed(self) -> tuple[tuple[LineAtom, ...], ...]:
        """By variant, the lines without which there is no row: what a kernel must have."""
        return tuple(variant.needed for variant in self.scope.variants)
