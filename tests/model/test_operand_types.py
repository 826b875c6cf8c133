from __future__ import annotations

import dataclasses

import pytest

from sassql.model import operands
from sassql.model.operands import Access, ImmediateOperand, Operand, RegisterOperand

KINDS = [
    k for k in vars(operands).values() if isinstance(k, type) and issubclass(k, Operand) and k is not Operand
]


def test_access_says_what_is_read_and_written():
    table = {access: (access.defines, access.uses) for access in Access}

    assert table == {
        Access.NONE: (False, False),
        Access.USE: (False, True),
        Access.DEF: (True, False),
        Access.BOTH: (True, True),
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_is_frozen_and_has_no_dict(kind):
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen
    assert "__slots__" in vars(kind)
    assert kind.__doc__ and not kind.__doc__.startswith(f"{kind.__name__}(")


def test_the_registers_of_a_wide_operand():
    wide = RegisterOperand(text="R4", file="R", index=4, width=2)
    unknown = RegisterOperand(text="R4", file="R", index=4, width=None)
    zero = RegisterOperand(text="RZ", file="R", index=None, width=2)

    assert [str(r) for r in wide.registers] == ["R4", "R5"]
    assert [str(r) for r in unknown.registers] == ["R4"]
    assert (zero.registers, zero.is_zero, wide.is_zero) == ((), True, False)


def test_an_operand_prints_as_its_text():
    assert str(ImmediateOperand(text="-0x10", value=-16)) == "-0x10"


def test_operands_are_values():
    one, other = (RegisterOperand(text="R4", file="R", index=4) for _ in range(2))

    assert one == other
    assert hash(one) == hash(other)
    assert one != dataclasses.replace(other, reuse=True)
    assert (one.role, one.access, one.suffixes) == ("", Access.USE, ())
