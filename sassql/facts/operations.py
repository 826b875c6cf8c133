"""What each value computes by its own instruction: operation, operands, types.

Made by `sassql.facts.meanings`, which adds the forms of several instructions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sassql.facts.blocks import Blocks
from sassql.facts.copies import Copies
from sassql.facts.forms import ByShape, Forms
from sassql.facts.normal import NORMALISED, Parts, normal
from sassql.facts.terms import Term, Terms
from sassql.facts.values import SSA, ValueKind
from sassql.isa.constant_reads import constant_read
from sassql.isa.meanings import EXACT, UNKNOWN, Template, templates
from sassql.isa.sequences import routine
from sassql.model.kernel import Kernel


@dataclass(slots=True, unsafe_hash=True)  # frozen ones take three times as long to make
class Meaning:
    """An operation on values.

    ``operands`` stand in semantic order; the first ``commuting`` of them may be swapped.
    ``type`` is the element type of the result, ``source`` that of the operands where it
    differs; both are empty where nobody says. ``detail`` is what narrows the operation down
    (which comparison, shuffle mode, memory space, special register), ``flags`` are modifiers
    that change the result (FTZ, SAT, RM, RP, RZ …). ``fidelity`` is ``exact`` (correctly
    rounded, flags applied), ``ordered`` (exact but for NaN and the sign of zero),
    ``approximate``, or ``unknown``.

    ``results`` are the values computed, lowest 32 bits first, ``index`` the instruction
    that labels the operation (-1 for a φ), ``covers`` all instructions of a longer form.

    Operations that are no instruction: ``phi``; ``entry`` (a register when the function
    begins); ``call`` (what a call left in a register; ``detail`` names the routine);
    ``constant`` (a number or a place in a constant bank); ``select`` of a guarded
    instruction: (guard, new, old).
    """

    operation: str
    operands: tuple[Term, ...] = ()
    commuting: int = 0
    type: str = ""
    source: str = ""
    detail: str = ""
    flags: frozenset[str] = frozenset()
    fidelity: str = EXACT
    results: tuple[int, ...] = ()
    index: int = -1
    covers: tuple[int, ...] = ()

    @property
    def exact(self) -> bool:
        """True where the result is the operation's, bit by bit, whatever the operands."""
        return self.fidelity == EXACT


_templates = ByShape(templates, numbers=True)
_OPEN = Meaning("not made yet")


@dataclass(slots=True, eq=False)
class Meanings:
    """Meanings of the values of "ssa". Single ones are made when asked for."""

    kernel: Kernel
    ssa: SSA
    copies: Copies
    terms: Terms
    forms: Forms
    longer: dict[int, Meaning] = field(default_factory=dict)
    """Forms of several instructions, by root of each of their results."""
    _made: dict[int, Meaning | None] = field(default_factory=dict)
    _callees: dict[int, str] | None = None

    def of(self, value: int) -> Meaning | None:
        """What ``value`` is, seen through copies: the longest known form; None where nobody knows."""
        root = self.copies.root(value)
        found = self.longer.get(root)
        return self.single(root) if found is None else found

    def single(self, value: int) -> Meaning | None:
        """The same by the defining instruction alone, and of this value instead of what it copies."""
        found = self._made.get(value, _OPEN)
        if found is _OPEN:
            found = self._made[value] = self._make(value)
            if found is not None and len(found.results) > 1:
                for other in found.results:  # one object for all parts of a wide value
                    self._made.setdefault(other, found)
        return found

    def forms_at(self, index: int) -> tuple[Meaning, ...]:
        """Everything labelled by instruction ``index``: longer forms first, then its own results."""
        longer = [m for m in dict.fromkeys(self.longer.values()) if m.index == index]
        return (*longer, *self.at(index))

    def at(self, index: int) -> tuple[Meaning, ...]:
        """The meanings of the results of instruction ``index`` alone, without its guard."""
        first = self.ssa.first[index]
        if first < 0:
            return ()
        found = (self.single(first + i) for i in range(len(self.ssa.accesses[index].defs)))
        return tuple(dict.fromkeys(m for m in found if m is not None))

    def __iter__(self) -> Iterator[tuple[int, Meaning | None]]:
        """Every value that an instruction defines, with what :meth:`of` says of it."""
        for value, kind in enumerate(self.ssa.kind):
            if kind is ValueKind.DEF:
                yield value, self.of(value)

    def _make(self, value: int) -> Meaning | None:
        ssa = self.ssa
        match ssa.kind[value]:
            case ValueKind.DEF:
                return self._defined(value)
            case ValueKind.PSI:
                return self._guarded(value)
            case ValueKind.PHI:
                inputs = tuple([self.terms.of_value(v) for v in ssa.inputs[value]])
                commuting = len(inputs) if len(inputs) == 2 else 0
                return Meaning("phi", inputs, commuting, results=(value,))
            case ValueKind.ENTRY:
                return Meaning("entry", detail=str(ssa.register[value]), results=(value,))
            case ValueKind.CALL:
                index = ssa.instruction[value]
                if not self.forms.of[index].shape.known:
                    return None
                name = self._callee(index)
                return Meaning("call", (), 0, "", "", name, frozenset(), UNKNOWN, (value,), index, (index,))

    def _guarded(self, value: int) -> Meaning | None:
        ssa = self.ssa
        index = ssa.instruction[value]
        guard = self.terms.guard(index)
        if guard is None:
            return None
        new, old = (self.terms.of_value(v) for v in ssa.inputs[value])
        parts = normal(Parts("select", (guard, new, old), 0, "b32"))
        return Meaning("select", parts.operands, type="b32", results=(value,), index=index, covers=(index,))

    def _defined(self, value: int) -> Meaning | None:
        ssa, index = self.ssa, self.ssa.instruction[value]
        operand = ssa.operand[value]
        if (number := self.terms.of_value(value).number) is not None:
            return Meaning("constant", (Term(number=number),), results=(value,), index=index)
        form = self.forms.of[index]
        if (place := constant_read(form)) is not None:
            bank, offset = place[0], place[1] + 4 * ssa.unit[value]
            return Meaning("constant", (Term(constant=(bank, offset)),), results=(value,), index=index)
        for template in _templates(form):
            if template.result == operand:
                return self._bind(index, template)
        return None

    def _bind(self, index: int, template: Template) -> Meaning | None:
        ssa = self.ssa
        keys, first = ssa.accesses[index].def_keys, ssa.first[index]
        if len(keys) == 1:
            results: tuple[int, ...] = (first,)
        else:
            results = tuple([first + i for i, key in enumerate(keys) if key[0] == template.result])
        element = template.source or template.type
        of_operand = self.terms.of_operand
        operands = tuple([of_operand(index, place, element) for place in template.operands])
        operation, commuting, kind = template.operation, template.commuting, template.type
        if operation in NORMALISED:
            parts = normal(Parts(operation, operands, commuting, kind))
            operation, operands, commuting, kind = (
                parts.operation,
                parts.operands,
                parts.commuting,
                parts.type,
            )
        return Meaning(
            operation,
            operands,
            commuting,
            kind,
            template.source,
            template.detail,
            template.flags,
            template.fidelity,
            results,
            index,
            (index,),
        )

    def _callee(self, index: int) -> str:
        """What a call's routine is called: by our word where it is one of the compiler's own."""
        if self._callees is None:
            blocks: Blocks = self.kernel.fact("blocks")
            functions = self.kernel.functions
            self._callees = {}
            for call in blocks.calls:
                number = -1 if call.entry is None else blocks.function[call.entry]
                name = call.symbol if number < 0 else functions[number].name
                self._callees[call.index] = routine(name) or name
        return self._callees.get(index, "")


def node_of(meanings: Meanings, values: Sequence[int]) -> Meaning | None:
    """The single-instruction meaning of a value of one or more registers.

    The halves of a wide value may be merged one by one: φ beside φ is one φ of wide values.
    """
    if len(values) == 1:
        root = meanings.copies.root(values[0])
        only = meanings.single(root)
        return only if only is None or only.results == (root,) else None  # not a part of something wider
    roots = tuple(meanings.copies.root(value) for value in values)
    first = meanings.single(roots[0])
    if first is None or first.results == roots:
        return first
    parts = [meanings.single(root) for root in roots]
    if first.operation not in ("phi", "select", "call") or any(
        p is None or p.operation != first.operation or len(p.operands) != len(first.operands) for p in parts
    ):
        return None
    return _side_by_side(meanings, roots, [p for p in parts if p is not None])


def _side_by_side(meanings: Meanings, roots: tuple[int, ...], parts: list[Meaning]) -> Meaning | None:
    first, ssa = parts[0], meanings.ssa
    columns = list(zip(*(part.operands for part in parts), strict=True))
    joined = []
    if first.operation == "phi":
        if len({ssa.block[root] for root in roots}) > 1:
            return None
    elif first.operation == "call":
        return replace(first, results=roots) if len({part.index for part in parts}) == 1 else None
    else:
        if any(not term.same(columns[0][0]) for term in columns[0]):
            return None
        joined.append(columns.pop(0)[0])
    for column in columns:
        if any(len(term.values) != 1 or term.signed for term in column):
            return None
        joined.append(meanings.terms.of_values(tuple(term.values[0] for term in column)))
    covers = tuple(sorted({index for part in parts for index in part.covers}))
    index = max(part.index for part in parts)
    return Meaning(
        first.operation, tuple(joined), first.commuting, "b64", results=roots, index=index, covers=covers
    )
