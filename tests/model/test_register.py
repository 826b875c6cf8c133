from __future__ import annotations

import pickle

import pytest

from sassql.model.register import FILES, Register, register, span


@pytest.mark.parametrize("file", FILES)
def test_a_register_prints_as_nvdisasm_writes_it(file):
    assert str(register(file, 5)) == f"{file}5"


def test_equal_registers_are_one_object():
    assert register("R", 4) is register("R", 4)
    assert register("R", 4) == Register("R", 4)
    assert len({register("R", 4), Register("R", 4), register("UR", 4)}) == 2


def test_registers_sort_by_file_and_number():
    found = [register("UR", 2), register("R", 10), register("R", 9), register("P", 0)]

    assert [str(r) for r in sorted(found)] == ["P0", "R9", "R10", "UR2"]


def test_a_span_is_the_parts_of_a_wide_value():
    assert [str(r) for r in span("UR", 4, 2)] == ["UR4", "UR5"]
    assert span("R", 4, 1) == (register("R", 4),)
    assert span("R", 4, 0) == ()


def test_registers_do_not_change():
    with pytest.raises(AttributeError):
        register("R", 4).index = 5
    assert pickle.loads(pickle.dumps(register("R", 4))) == register("R", 4)
