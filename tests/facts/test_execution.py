"""SSA form executed: each read gets what an interpreter of registers finds in the register.

Instructions are opaque: what one writes is a hash of what it is and of what it read. A
predicate holds where its value is odd. Programs have guards, loops, values of several
registers, calls, and spills to the stack.
"""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sassql.facts  # noqa: F401  (registers the analyses)
from sassql.facts.accesses import REGISTERS
from sassql.facts.values import ValueKind
from sassql.isa.flow import FlowKind, flow_of
from sassql.model.operands import RegisterOperand
from sassql.reading.listing import read_listing

MOST_STEPS = 120


def word(*parts: object) -> int:
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=4).digest(), "little")


class Machine:
    """Runs a kernel with registers and with SSA values side by side."""

    def __init__(self, kernel, seed):
        self.kernel, self.seed = kernel, seed
        self.ssa, self.blocks = kernel.fact("ssa"), kernel.fact("blocks")
        self.clobbers = kernel.fact("clobbers")
        self.registers = {r: word(seed, "entry", r) for r in range(len(REGISTERS))}
        self.stack = {}
        self.values = {}
        self.compared = 0
        self.phis = {}
        for value, kind in enumerate(self.ssa.kind):
            if kind is ValueKind.PHI:
                self.phis.setdefault(self.ssa.block[value], []).append(value)
            elif kind is ValueKind.ENTRY:
                register = self.ssa.register[value]
                on_stack = register.file == "L"
                number = register.index if on_stack else REGISTERS.index(register)
                self.values[value] = word(seed, "stack" if on_stack else "entry", number)

    def run(self):
        block, before = 0, None
        for step in range(MOST_STEPS):
            self.enter(block, before)
            for index in range(self.blocks.start[block], self.blocks.end[block]):
                if not self.execute(index, step):
                    return
            before, block = block, self.following(block)
            if block is None:
                return

    def enter(self, block, before):
        ways = self.blocks.predecessors[block]
        place = len(ways) if before is None else ways.index(before)
        new = {phi: self.ssa.inputs[phi][place] for phi in self.phis.get(block, ())}
        self.values.update({phi: self.values.get(source) for phi, source in new.items()})

    def execute(self, index, step):
        """One instruction; False where the thread ends."""
        access = self.ssa.accesses[index]
        read = [self.registers[number] for number in access.uses]
        assert [self.values[value] for value in self.ssa.read[index]] == read, self.kernel.instructions[index]
        self.compared += len(read)
        form = self.kernel.forms[self.kernel.rows[index]]
        runs = self.holds(index)
        stored = self.ssa.slots.get(index)
        if stored is not None and stored.uses:
            found = self.ssa.slot_read[index]
            words = [self.word_on_stack(self.ssa.register[value].index) for value in found]
            assert [self.values[value] for value in found] == words, self.kernel.instructions[index]
            self.compared += len(found)
        self.write(index, access, form, read, runs, step)
        self.spill(index, stored, runs)
        if index in self.clobbers:
            self.clobber(index, step, runs)
        return not (runs and flow_of(form).kind is FlowKind.EXIT)

    def write(self, index, access, form, read, runs, step):
        count, first = len(access.defs), self.ssa.first[index]
        for place, number in enumerate(access.defs):
            made = word(form.text.split(" ")[-1], index, place, read, step)
            old = self.registers[number]
            self.values[first + place] = made
            if access.guarded:
                self.values[first + count + place] = made if runs else old
            if runs:
                self.registers[number] = made

    def spill(self, index, stored, runs):
        if stored is None or not stored.defs:
            return
        first, count = self.ssa.slot_first[index], len(stored.defs)
        sources = dict(zip(self.ssa.accesses[index].use_keys, self.ssa.read[index], strict=True))
        for place, key in enumerate(stored.def_keys):
            made = self.values[sources[key]]
            number = self.ssa.register[first + place].index
            old = self.word_on_stack(number)
            self.values[first + place] = made
            if stored.guarded:
                self.values[first + count + place] = made if runs else old
            if runs:
                self.stack[number] = made

    def word_on_stack(self, offset):
        return self.stack.get(offset, word(self.seed, "stack", offset))

    def clobber(self, index, step, runs):
        left = {}
        for number in range(len(REGISTERS)):
            if self.clobbers[index] >> number & 1:
                if runs:
                    self.registers[number] = word("call", index, number, step)
                left[REGISTERS[number]] = self.registers[number]
        for value, kind in enumerate(self.ssa.kind):
            if kind is ValueKind.CALL and self.ssa.instruction[value] == index:
                register = self.ssa.register[value]
                if register.file == "L" and runs:
                    self.stack[register.index] = word("call", index, value, step)
                on_stack = register.file == "L"
                self.values[value] = self.word_on_stack(register.index) if on_stack else left[register]

    def holds(self, index):
        guard = self.kernel.forms[self.kernel.rows[index]].guard
        if guard is None or guard.index is None:
            return guard is None or not guard.inverted
        odd = bool(self.values[self.ssa.guard(index)] & 1)
        return odd != guard.inverted

    def following(self, block):
        """The next block: by guard and by the predicate among the operands of the branch."""
        last = int(self.blocks.end[block]) - 1
        form = self.kernel.forms[self.kernel.rows[last]]
        targets = self.blocks.successors[block]
        is_branch = flow_of(form).kind is FlowKind.BRANCH
        taken = is_branch and self.holds(last)
        for place, operand in enumerate(form.operands if is_branch else ()):
            if isinstance(operand, RegisterOperand) and operand.file in ("P", "UP") and not operand.is_zero:
                taken = taken and bool(self.values[self.ssa.use(last, place)] & 1) != operand.inverted
        if not targets:
            return None
        if taken:
            target = self.kernel.instructions[last].target
            return int(self.blocks.of[self.kernel.at(target).index])
        beyond = block + 1
        return beyond if beyond in targets else None


GUARDS = ["", "", "", "@P0 ", "@!P1 ", "@!PT "]


@st.composite
def programs(draw):
    count = draw(st.integers(3, 24))
    lines = []
    for _ in range(count):
        a, b, c = (draw(st.sampled_from(["R2", "R3", "R4", "R5"])) for _ in range(3))
        pair = draw(st.sampled_from(["R2", "R4"]))
        label = f"`(.L_x_{draw(st.integers(0, count - 1))})"
        p = draw(st.integers(0, 1))
        slot = draw(st.sampled_from(["0x0", "0x8"]))
        body = draw(
            st.sampled_from(
                [
                    f"FADD {a}, {b}, {c}",
                    f"IMAD.WIDE {pair}, {a}, {b}, {pair}",
                    f"DADD R2, {pair}, R4",
                    f"IADD3 {a}, P{p}, {b}, {c}, RZ",
                    f"IADD3.X {a}, {b}, {c}, RZ, P{p}, !PT",
                    f"FSETP.GT.AND P{p}, PT, {a}, {b}, PT",
                    f"LDG.E.64 {pair}, [{pair}.64]",
                    f"R2UR UR4, {a}",
                    f"STL [R1+{slot}], {a}",
                    f"LDL {a}, [R1+{slot}]",
                    f"STL.64 [R1+0x8], {pair}",
                    f"BRA {label}",
                    f"BRA {label}",
                    f"BRA.U UP0, {label}",
                    "EXIT",
                    "CALL.ABS.NOINC `(elsewhere)",
                ]
            )
        )
        lines.append(f"{draw(st.sampled_from(GUARDS))}{body} ;")
    return "\n".join(f".L_x_{i}:\n{line}" for i, line in enumerate(lines))


def kernel_of(text):
    modules, problems = read_listing(text, arch="sm_90")
    assert problems == []
    return modules[0].kernels[0]


@settings(max_examples=400, deadline=None)
@given(programs(), st.integers(0, 3))
def test_values_are_what_registers_hold(text, seed):
    Machine(kernel_of(text), seed).run()


LOOP = """
        MOV R2, RZ ;
        STL [R1], R2 ;
.L_x_1:
    @P0 FADD R2, R2, R4 ;
        IMAD.WIDE R4, R2, R3, R4 ;
        LDL R6, [R1] ;
        FADD R6, R6, R2 ;
   @!P1 STL [R1], R6 ;
        FSETP.GT.AND P0, PT, R6, R5, PT ;
        FSETP.GT.AND P1, PT, R4, R5, PT ;
        FSETP.GT.AND P2, PT, R4, R2, PT ;
    @P2 BRA `(.L_x_1) ;
        LDL R7, [R1] ;
        STG.E [R8.64], R7 ;
        EXIT ;
"""


def test_a_loop_with_guards_wide_values_and_a_spilled_one():
    compared = 0
    for seed in range(40):
        machine = Machine(kernel_of(LOOP), seed)
        machine.run()
        compared += machine.compared
    assert compared > 1500, "the loop went round"


def test_the_property_can_fail():
    kernel = kernel_of(LOOP)
    ssa = kernel.fact("ssa")
    phi = next(v for v, kind in enumerate(ssa.kind) if kind is ValueKind.PHI and len(set(ssa.inputs[v])) > 1)
    ssa.inputs[phi] = ssa.inputs[phi][::-1]
    with pytest.raises((AssertionError, KeyError)):
        for seed in range(40):
            Machine(kernel, seed).run()
