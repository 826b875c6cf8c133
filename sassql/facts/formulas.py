"""Fact "formulas": the low word of every value as a polynomial, loop headers left as unknowns.

The rules of `data/linear.tsv` say what each opcode computes. A φ of a loop header is an atom
of its own here; `sassql.facts.counters` finds out which of them count, and what is left in
terms of loop counters is what others should ask for (:meth:`Counters.of`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sassql.facts import arithmetic, functions
from sassql.facts.blocks import Blocks
from sassql.facts.choices import assume, choice, too_long
from sassql.facts.constants import Constants
from sassql.facts.forms import Forms
from sassql.facts.functions import function
from sassql.facts.loops import Loops
from sassql.facts.polynomials import (
    NOWHERE,
    ZERO,
    Polynomial,
    constant_word,
    load,
    merge,
    parameter,
    special,
    unknown,
)
from sassql.facts.values import SSA, ValueKind
from sassql.isa.constant_reads import constant_read, place_of
from sassql.isa.launch import Launch, launch
from sassql.isa.linear import Linear, linear_of
from sassql.isa.spaces import Space, Touch, touches_of
from sassql.model.form import Form
from sassql.model.kernel import Kernel, provides
from sassql.model.operands import (
    AddressTerm,
    ConstantOperand,
    ImmediateOperand,
    KeywordOperand,
    MemoryOperand,
    Operand,
    RegisterOperand,
)

_PREDICATES = ("P", "UP")
_READING = frozenset({"load", "atomic"})
_FRAME = "frame"
_STACK_POINTER = 1


@dataclass(frozen=True, slots=True)
class _Recipe:
    """How a result of one form is made: ``linear`` of the table, or ``given`` outright."""

    linear: Linear | None = None
    place: tuple[int, int] | None = None
    special: str = ""
    loads: bool = False
    indexed: Touch | None = None


@dataclass(slots=True, eq=False)
class Formulas:
    """Polynomials by value of "ssa", made when asked for.

    A predicate has none: :meth:`of` is for values of general and uniform registers and
    spill slots. ``parameter_base`` is where parameter 0 lies in constant bank 0, in bytes.
    """

    kernel: Kernel
    ssa: SSA
    constants: Constants
    blocks: Blocks
    forms: Forms
    headers: frozenset[int]
    launch: Launch
    parameter_base: int | None
    _made: dict[int, Polynomial] = field(default_factory=dict)
    _recipes: dict[tuple[int, int], _Recipe] = field(default_factory=dict)

    def of(self, value: int) -> Polynomial:
        """The polynomial of a value; φ of loop headers are atoms."""
        root = self.constants.copies.root(value)
        found = self._made.get(root)
        return self._solve(root) if found is None else found

    def operand(self, index: int, place: int, unit: int = 0) -> Polynomial | None:
        """The word that an operand of an instruction reads, its sign applied; None for a float."""
        return self._word(index, self.form(index).operands[place], place, unit)

    def form(self, index: int) -> Form:
        return self.forms.of[index]

    def _solve(self, root: int) -> Polynomial:
        """Work through what a value is made of, without recursion: chains are thousands long."""
        copies, made = self.constants.copies, self._made
        pending, open_ = [root], set[int]()
        while pending:
            value = pending[-1]
            if value in made:
                pending.pop()
                continue
            needed: list[int] = []
            if value not in open_:
                open_.add(value)
                needed = [r for r in map(copies.root, self._needs(value)) if r not in made]
                for source in needed:
                    if source in open_:  # a cycle that no loop header cuts
                        made[source] = Polynomial.of(merge(source, self.ssa.block[source]))
                    else:
                        pending.append(source)
            if not needed:
                made[value] = self._bounded(value, self._compute(value))
                pending.pop()
        return made[root]

    def _bounded(self, value: int, found: Polynomial) -> Polynomial:
        """The polynomial, or an unknown where it grew too long to be of use."""
        return self._cut(value, found) if too_long(found) else found

    def _cut(self, value: int, found: Polynomial) -> Polynomial:
        data = any(atom.data for atom in found.atoms)
        return Polynomial.of(unknown(value, self.ssa.block[value], "too long an expression", data=data))

    def _needs(self, value: int) -> Sequence[int]:
        """Values that must be known first."""
        ssa = self.ssa
        if self.constants[value] is not None or self._is_unsolved(value):
            return ()
        if ssa.kind[value] in (ValueKind.PHI, ValueKind.PSI):
            return [source for source in ssa.inputs[value] if self.is_word(source)]
        if ssa.kind[value] is not ValueKind.DEF or ssa.instruction[value] < 0:
            return ()
        index = ssa.instruction[value]
        recipe = self._recipe(value)
        if recipe.linear is None and recipe.indexed is None:
            return ()
        return [source for source in ssa.read[index] if self.is_word(source)]

    def _is_unsolved(self, value: int) -> bool:
        return self.ssa.kind[value] is ValueKind.PHI and self.ssa.block[value] in self.headers

    def is_word(self, value: int) -> bool:
        """True for a value of a general or uniform register or a spill slot."""
        return self.ssa.register[value].file not in _PREDICATES

    def _compute(self, value: int) -> Polynomial:
        ssa = self.ssa
        if (number := self.constants[value]) is not None:
            return Polynomial.number(number)
        match ssa.kind[value]:
            case ValueKind.PHI if self._is_unsolved(value):
                return Polynomial.of(merge(value, ssa.block[value]))
            case ValueKind.PHI:
                args = [self.of(source) for source in ssa.inputs[value]]
                return choice("join", args, ssa.block[value], ssa.block[value])
            case ValueKind.PSI:
                return self._guarded(value)
            case ValueKind.DEF if ssa.instruction[value] >= 0:
                return self._defined(value)
            case ValueKind.ENTRY if str(ssa.register[value]) == f"R{_STACK_POINTER}":
                return Polynomial.of(special(_FRAME))
            case kind:
                return Polynomial.of(unknown(value, self.ssa.block[value], f"{kind.value} value"))

    def _guarded(self, value: int) -> Polynomial:
        new, old = (self.of(source) for source in self.ssa.inputs[value])
        index = self.ssa.instruction[value]
        guard, predicate = self.form(index).guard, self.ssa.guard(index)
        if predicate is None or guard is None:
            return Polynomial.of(unknown(value, self.ssa.block[value], "guard without a value"))
        found = self._chosen(predicate, (old, new) if guard.inverted else (new, old))
        if too_long(found):  # what was there before is of no interest to those under the same guard
            old = self._cut(self.ssa.inputs[value][1], old)
            found = self._chosen(predicate, (old, new) if guard.inverted else (new, old))
        return found

    def _chosen(self, predicate: int, arms: tuple[Polynomial, Polynomial]) -> Polynomial:
        """The first where the predicate holds, else the second."""
        root = self.constants.copies.root(predicate)
        known = self.constants[root]
        arms = (assume(arms[0], root, True), assume(arms[1], root, False))
        if known is not None:
            return arms[0 if known else 1]
        return choice("select", arms, root, self.ssa.block[root])

    def _recipe(self, value: int) -> _Recipe:
        index, unit = self.ssa.instruction[value], self.ssa.unit[value]
        place = self.ssa.operand[value]
        key = (self.forms.number[index], place * 16 + unit)
        found = self._recipes.get(key)
        if found is None:
            found = self._recipes[key] = self._new_recipe(self.form(index), place, unit)
        return found

    def _new_recipe(self, form: Form, place: int, unit: int) -> _Recipe:
        if place < 0 or form.operands[place].role != "d":
            return _Recipe(loads=_reads_memory(form))
        fetched = constant_read(form)
        if fetched is not None:
            return _Recipe(place=(fetched[0], fetched[1] + 4 * unit))
        for operand in form.operands:
            if isinstance(operand, KeywordOperand) and operand.role == "a":
                return _Recipe(special=self.launch.special.get(operand.name, "") if unit == 0 else "")
        touches = touches_of(form)
        for touch in touches:
            if touch.space is Space.CONSTANT:
                return _Recipe(indexed=touch)
        if any(touch.access in _READING for touch in touches):
            return _Recipe(loads=True)
        return _Recipe(linear=linear_of(form, unit))

    def _defined(self, value: int) -> Polynomial:
        ssa = self.ssa
        index, unit, home = ssa.instruction[value], ssa.unit[value], ssa.block[value]
        recipe, form = self._recipe(value), self.form(index)
        if recipe.place is not None:
            return self.constant(*recipe.place)
        if recipe.special:
            return Polynomial.of(special(recipe.special))
        if recipe.loads:
            name = f"load@{int(self.kernel.addresses[index]):#x}" + (f".{unit}" if unit else "")
            return Polynomial.of(load(value, home, name))
        if recipe.indexed is not None:
            return self._indexed(value, recipe.indexed, unit)
        linear = recipe.linear
        if linear is None:
            return Polynomial.of(unknown(value, home, f"result of {form.opcode}"))
        if linear.rule == "lanes":
            data = any(a.data for v in ssa.read[index] if self.is_word(v) for a in self.of(v).atoms)
            return Polynomial.of(unknown(value, home, f"other threads' values, {form.opcode}", data=data))
        if linear.rule == "function":
            return self._opaque_function(value, index)
        words = [self._word(index, form.operands[p], p) for p in linear.sources]
        if linear.rule == "select":
            return self._select(value, form, linear, words)
        if linear.rule.startswith("least_or_most"):
            return self._least_or_most(value, form, linear, words)
        if any(word is None for word in words):
            return Polynomial.of(unknown(value, home, f"an operand of {form.opcode}"))
        return arithmetic.RULES[linear.rule]([word for word in words if word is not None])

    def _select(
        self, value: int, form: Form, linear: Linear, words: Sequence[Polynomial | None]
    ) -> Polynomial:
        one, two = words[:2]
        condition = form.operands[linear.sources[2]]
        if one is None or two is None or not isinstance(condition, RegisterOperand):
            return Polynomial.of(unknown(value, self.ssa.block[value], f"an operand of {form.opcode}"))
        arms = (two, one) if condition.inverted else (one, two)
        if condition.is_zero:
            return arms[0]
        predicate = self.ssa.use(self.ssa.instruction[value], linear.sources[2])
        if predicate is None:
            return Polynomial.of(unknown(value, self.ssa.block[value], "a select without a condition"))
        return self._chosen(predicate, arms)

    def _least_or_most(
        self, value: int, form: Form, linear: Linear, words: Sequence[Polynomial | None]
    ) -> Polynomial:
        one, two = words[:2]
        choice = form.operands[linear.sources[2]]
        if one is None or two is None or not isinstance(choice, RegisterOperand) or not choice.is_zero:
            return Polynomial.of(unknown(value, self.ssa.block[value], f"an operand of {form.opcode}"))
        is_signed = not linear.rule.endswith("unsigned")
        return functions.least_or_most(one, two, least=not choice.inverted, is_signed=is_signed)

    def _opaque_function(self, value: int, index: int) -> Polynomial:
        """A result that depends on the operands alone: as an atom that has them as arguments."""
        form, ssa = self.form(index), self.ssa
        reads = list(zip(ssa.accesses[index].use_keys, ssa.read[index], strict=True))
        args = [self.of(value) for _, value in reads if self.is_word(value)]
        predicates = [v for (p, _), v in reads if p >= 0 and not self.is_word(v)]
        if len(predicates) > 1:
            return Polynomial.of(unknown(value, ssa.block[value], f"predicates of {form.opcode}"))
        conditions = [f"p{self.constants.copies.root(v)}" for v in predicates]
        homes = [ssa.block[self.constants.copies.root(v)] for v in predicates]
        name = "".join([form.shape.text.split(" ", 2 if form.guard else 1)[-1], *conditions])
        numbers = [n for n in form.numbers if not n.isdigit()]
        opcode = ".".join((form.opcode, *form.modifiers))
        return function(f"{opcode}<{name}{','.join(numbers)}>", args, home=max(homes, default=NOWHERE))

    def _indexed(self, value: int, touch: Touch, unit: int) -> Polynomial:
        """A word of a constant bank at a computed offset."""
        index = self.ssa.instruction[value]
        operand = self.form(index).operands[touch.operand]
        words = self.terms(index, touch.operand)
        if not isinstance(operand, ConstantOperand) or operand.bank is None or words is None:
            return Polynomial.of(unknown(value, self.ssa.block[value], "a constant bank in a register"))
        at = words + Polynomial.number(operand.offset + 4 * unit)
        if (known := at.value) is not None and touch.width == 4:
            return self.constant(operand.bank, known)
        width = ".".join(self.form(index).modifiers)
        return function(f"constant{width}", [at], operand.bank)

    def constant(self, bank: int, offset: int) -> Polynomial:
        """A word of a constant bank by what it is: a parameter, a size of the launch, or just that."""
        if bank == 0:
            name = self.launch.constants.get(offset)
            if name is not None:
                return Polynomial.of(special(name))
            if self.parameter_base is not None and offset >= self.parameter_base:
                at = offset - self.parameter_base
                return Polynomial.of(parameter(at, self.parameter_name(at)))
        return Polynomial.of(constant_word(bank, offset))

    def parameter_name(self, at: int) -> str:
        """``param2``, ``param0+0x8`` inside of a larger one, ``param[0x8]`` where nothing says which one."""
        for found in self.kernel.resources.parameters:
            if found.offset <= at < found.offset + found.size:
                inside = at - found.offset
                return f"param{found.ordinal}" + (f"+{inside:#x}" if inside else "")
        return f"param[{at:#x}]"

    def terms(self, index: int, place: int) -> Polynomial | None:
        """The sum of an address operand's registers, without its offset; None where a symbol is added."""
        operand = self.form(index).operands[place]
        terms: tuple[AddressTerm, ...]
        if isinstance(operand, ConstantOperand):
            terms = (operand.base,) if operand.base is not None else ()
            unit = 0 if operand.bank_register is None else 1
        elif isinstance(operand, MemoryOperand):
            terms = operand.terms
            described = operand.descriptor
            unit = (described.width or 1) if described is not None and described.register is not None else 0
        else:
            return None
        if operand.symbol:
            return None
        total = ZERO
        for term in terms:
            if term.register is None:
                continue
            value = self.ssa.use(index, place, unit)
            if value is None:
                return None
            total += self.of(value).times(term.scale)
            unit += term.width or 1
        return total

    def _word(self, index: int, operand: Operand, place: int, unit: int = 0) -> Polynomial | None:
        """The word that an operand reads, its sign and ``~`` applied; None for floats and predicates."""
        if isinstance(operand, ImmediateOperand):
            if not isinstance(operand.value, int):
                return None
            return Polynomial.number(operand.value >> 32 * unit)
        if operand.absolute or operand.suffixes:
            return None
        if isinstance(operand, RegisterOperand):
            if operand.file in _PREDICATES:
                return None
            value = None if operand.is_zero else self.ssa.use(index, place, unit)
            word = ZERO if operand.is_zero else None if value is None else self.of(value)
        elif isinstance(operand, ConstantOperand) and not operand.symbol:
            at = place_of(operand)
            word = None if at is None else self.constant(at[0], at[1] + 4 * unit)
        else:
            return None
        if word is None:
            return None
        word = Polynomial.number(-1) - word if operand.inverted else word
        return -word if operand.negated else word


def _reads_memory(form: Form) -> bool:
    return any(touch.access in _READING for touch in touches_of(form))


@provides("formulas")
def formulas(kernel: Kernel) -> Formulas:
    """Polynomials of a kernel's values."""
    known = launch(kernel.arch)
    base = kernel.resources.parameter_base
    loops: Loops = kernel.fact("loops")
    return Formulas(
        kernel=kernel,
        ssa=kernel.fact("ssa"),
        constants=kernel.fact("constants"),
        blocks=kernel.fact("blocks"),
        forms=kernel.fact("forms"),
        headers=frozenset(loop.header for loop in loops.loops),
        launch=known,
        parameter_base=known.parameter_base if base is None else base,
    )
