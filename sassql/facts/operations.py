"""What each value computes by its own instruction: operation, operands, types.

Made by `sassql.facts.meanings`, which adds the forms of several instructions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sassql.facts.blocks import Blocks
from sassql.facts.copies import Copies
from sassql.facts.normal import Parts, normal
from sassql.facts.terms import Term, Terms
from sassql.facts.values import SSA, ValueKind
from sassql.isa.constant_reads import constant_read
from sassql.isa.meanings import EXACT, UNKNOWN, Template, templates
from sassql.isa.sequences import routine
from sassql.model.kernel import Kernel


@dataclass(frozen=True, slots=True)
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


@dataclass(slots=True, eq=False)
class Meanings:
    """Meanings of the values of "ssa". Single ones are made when asked for."""

    kernel: Kernel
    ssa: SSA
    copies: Copies
    terms: Terms
    longer: dict[int, Meaning] = field(default_factory=dict)
    """Forms of several instructions, by root of each of their results."""
    _templates: dict[int, tuple[Template, ...]] = field(default_factory=dict)
    _made: dict[int, Meaning | None] = field(default_factory=dict)
    _callees: dict[int, str] | None = None

    def of(self, value: int) -> Meaning | None:
        """What ``value`` is, seen through copies: the longest known form; None where nobody knows."""
        root = self.copies.root(value)
        found = self.longer.get(root)
        return self.single(root) if found is None else found

    def single(self, value: int) -> Meaning | None:
        """The same by the defining instruction alone, and of this value instead of what it copies."""
        if value not in self._made:
            found = self._make(value)
            self._made[value] = found
            if found is not None and len(found.results) > 1:
                for other in found.results:  # one object for all parts of a wide value
                    self._made.setdefault(other, found)
        return self._made[value]

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
                inputs = tuple(self.terms.of_values((v,)) for v in ssa.inputs[value])
                commuting = len(inputs) if len(inputs) == 2 else 0
                return Meaning("phi", inputs, commuting, results=(value,))
            case ValueKind.ENTRY:
                return Meaning("entry", detail=str(ssa.register[value]), results=(value,))
            case ValueKind.CALL:
                index = ssa.instruction[value]
                if not self.kernel.forms[int(self.kernel.form_ids[index])].shape.known:
                    return None
                name = self._callee(index)
                return Meaning("call", (), 0, "", "", name, frozenset(), UNKNOWN, (value,), index, (index,))

    def _guarded(self, value: int) -> Meaning | None:
        ssa = self.ssa
        index = ssa.instruction[value]
        guard = self.terms.guard(index)
        if guard is None:
            return None
        new, old = (self.terms.of_values((v,)) for v in ssa.inputs[value])
        parts = normal(Parts("select", (guard, new, old), 0, "b32"))
        return Meaning("select", parts.operands, type="b32", results=(value,), index=index, covers=(index,))

    def _defined(self, value: int) -> Meaning | None:
        ssa, index = self.ssa, self.ssa.instruction[value]
        operand = ssa.operand[value]
        if (number := self.terms.constants[value]) is not None:
            return Meaning("constant", (Term(number=number),), results=(value,), index=index)
        row = int(self.kernel.form_ids[index])
        form = self.kernel.forms[row]
        if (place := constant_read(form)) is not None:
            bank, offset = place[0], place[1] + 4 * ssa.unit[value]
            return Meaning("constant", (Term(constant=(bank, offset)),), results=(value,), index=index)
        if row not in self._templates:
            self._templates[row] = templates(form)
        found = next((t for t in self._templates[row] if t.result == operand), None)
        return None if found is None else self._bind(index, found)

    def _bind(self, index: int, template: Template) -> Meaning | None:
        ssa = self.ssa
        keys = ssa.accesses[index].def_keys
        results = tuple(ssa.first[index] + i for i, key in enumerate(keys) if key[0] == template.result)
        element = template.source or template.type
        operands = tuple(self.terms.of_operand(index, place, element) for place in template.operands)
        parts = normal(Parts(template.operation, operands, template.commuting, template.type))
        return Meaning(
            parts.operation,
            parts.operands,
            parts.commuting,
            parts.type,
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
    roots = tuple(meanings.copies.root(value) for value in values)
    first = meanings.single(roots[0])
    if first is None or first.results == roots:
        return first
    if len(roots) == 1:
        return None  # a part of something wider
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
