"""Fact "accesses": the registers of each operand, as numbers."""

from __future__ import annotations

import pytest

from sassql.facts.accesses import REGISTERS, access_of, accesses, number_of, register_of
from sassql.isa.registers import clobbered_by_calls
from sassql.model.operands import MemoryOperand, RegisterOperand
from sassql.model.register import register
from sassql.reading.shapes import SHAPES


def told(keys, numbers):
    return {key: str(register_of(number)) for key, number in zip(keys, numbers, strict=True)}


def test_numbers_and_registers():
    assert [number_of(r) for r in REGISTERS] == list(range(len(REGISTERS)))
    assert len({str(r) for r in REGISTERS}) == len(REGISTERS)


def test_guard_operands_and_addresses():
    access = access_of(SHAPES.form("@!P3 STG.E.64 desc[UR4][R2.64+UR6+0x8], R8"))
    assert told(access.use_keys, access.uses) == {
        (-1, 0): "P3",
        (0, 0): "UR4",
        (0, 1): "UR5",
        (0, 2): "R2",
        (0, 3): "R3",
        (0, 4): "UR6",
        (0, 5): "UR7",
        (1, 0): "R8",
        (1, 1): "R9",
    }
    assert access.defs == ()
    assert access.guarded
    assert access.use_mask == sum(1 << number for number in access.uses)


def test_registers_that_the_text_does_not_print():
    form = SHAPES.form("LDG.E R12, [R4.64]", (register("UR", 10), register("UR", 11)))
    access = access_of(form)
    assert told(access.use_keys, access.uses) == {
        (1, 0): "R4",
        (1, 1): "R5",
        (-1, 1): "UR10",
        (-1, 2): "UR11",
    }


def test_a_mask_says_which_registers_are_written():
    form = SHAPES.form("LDG.E.ENL2.256.CONSTANT R8, R4, desc[UR4][R4.64], 0xbf")
    access = access_of(form)
    assert told(access.def_keys, access.defs) == {
        (0, 0): "R8",
        (0, 1): "R9",
        (0, 2): "R10",
        (1, 0): "R4",
        (1, 1): "R5",
        (1, 2): "R6",
        (1, 3): "R7",
    }
    assert {register_of(number) for number in access.defs} == form.defs


@pytest.mark.parametrize(
    ("text", "operand", "defines", "names"),
    [
        ("R2P PR, R0, 0x6", 0, True, ["P1", "P2"]),
        ("R2P PR, R28.B1, 0x7f", 0, True, [f"P{i}" for i in range(7)]),
        ("P2R R18, PR, RZ, 0x1", 1, False, ["P0"]),
        ("UP2UR UR37, UPR, URZ, 0x3", 1, False, ["UP0", "UP1"]),
    ],
)
def test_predicates_behind_pr(text, operand, defines, names):
    form = SHAPES.form(text)
    group = form.shape.group
    assert (group.operand, group.defines, [str(r) for r in form.group]) == (operand, defines, names)
    assert set(form.group) <= (form.defs if defines else form.uses)
    access = access_of(form)
    keys, numbers = (access.def_keys, access.defs) if defines else (access.use_keys, access.uses)
    behind = [register_of(n) for key, n in zip(keys, numbers, strict=True) if key[0] == operand]
    assert behind == list(form.group)


def test_what_never_runs_has_no_accesses():
    access = access_of(SHAPES.form("@!PT LDS RZ, [R4]"))
    assert (access.uses, access.defs) == ((), ())
    access = access_of(SHAPES.form("@PT FADD R1, R2, R3"))
    assert not access.guarded, "@PT always runs"


def test_unknown_opcodes_are_told(listing):
    kernel = listing("FADD R1, R2, R3 ;\nFOO R1, R2 ;\nEXIT ;").kernel
    assert accesses(kernel).incomplete == (1,)


def test_accesses_are_those_of_the_operands(everywhere):
    """A register operand has its registers under its index, an address those of its terms in order."""
    forms = {row: k.forms[row] for k in everywhere.module.kernels for row in set(k.form_ids.tolist())}
    assert len(forms) > 100
    for form in forms.values():
        access = access_of(form)
        if form.guard is not None and form.guard.never:
            continue
        uses, defs = told(access.use_keys, access.uses), told(access.def_keys, access.defs)
        assert len(uses) == len(access.uses), "no key twice"
        for place, operand in enumerate(form.operands):
            if isinstance(operand, RegisterOperand) and operand.file != "B":
                names = [str(r) for r in operand.registers]
                if operand.access.uses:
                    assert [uses[place, unit] for unit in range(len(names))] == names, form.text
                if operand.access.defines:
                    assert [defs[place, unit] for unit in range(len(names))] == names, form.text
            if isinstance(operand, MemoryOperand):
                terms = ([operand.descriptor] if operand.descriptor else []) + list(operand.terms)
                held = [(t.register, t.width or 1) for t in terms if t.register]
                names = [f"{r.file}{r.index + i}" for r, width in held for i in range(width)]
                assert [uses[place, unit] for unit in range(len(names))] == names, form.text


def test_the_calling_convention():
    names = {str(r) for r in clobbered_by_calls()}
    assert {"R0", "R3", "R15", "R32", "R35", "R40", "P0", "P6", "UR4", "UR35", "UP0"} <= names
    assert not names & {"R1", "R2", "R16", "R31", "R36", "R39", "UR3", "UR36", "UR63"}
