from __future__ import annotations

import pytest

from sassql.model.kernel import Function
from sassql.model.rows import Row
from sassql.reading.listing import read_listing

TEXT = "\tcode for sm_90\n\tFunction : k\n" + "".join(f"/*{16 * n:04x}*/ NOP ;\n" for n in range(4))


@pytest.fixture
def kernel():
    (module,), _ = read_listing(TEXT, file="x.sass", entry="e")
    return module.kernels[0]


def test_the_record_of_a_row(kernel):
    first, second, _, last = kernel.instructions
    row = Row("ladder", kernel, {"op": "add", "rungs": 5}, {"s": (first, second), "store": (last,)})

    assert row.as_record() == {
        "file": "x.sass",
        "entry": "e",
        "kernel": "k",
        "function": "k",
        "arch": "sm_90",
        "motif": "ladder",
        "status": "match",
        "columns": {"op": "add", "rungs": 5},
        "at": {"s": ["0x0", "0x10"], "store": ["0x30"]},
    }


def test_a_reason_is_told_where_there_is_one(kernel):
    row = Row("m", kernel, {}, {}, status="gave_up", reason="10,000 states")

    assert (row.as_record()["status"], row.as_record()["reason"]) == ("gave_up", "10,000 states")


def test_the_function_of_a_row(kernel):
    kernel.functions = (Function("k", 0, 0x40, True), Function("$local", 0x20, 0x20))
    first, _, third, last = kernel.instructions

    assert Row("m", kernel, {}, {"a": (third, last)}).as_record()["function"] == "$local"
    assert Row("m", kernel, {}, {"a": (first, last)}).as_record()["function"] == "k"
    assert Row("m", kernel, {}, {}).as_record()["function"] == "k"
