"""One changed instruction: what a run of both kernels must notice. `benchmarks/mutants.py` does it a thousand times."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from running import LAUNCH

from sassql.insight.compare import compare
from sassql.insight.launch import read_launch
from sassql.reading.shapes import SHAPES


class OneChanged:
    """The forms of a kernel and one more."""

    def __init__(self, forms, row, text):
        self.forms, self.row, self.form = forms, row, SHAPES.form(text)

    def __getitem__(self, row):
        return self.form if row == self.row else self.forms[row]

    def count_opcodes(self, rows):
        return self.forms.count_opcodes(rows[rows != self.row])


def changed(kernel, pattern, replacement, number=0):
    """The kernel with its instruction ``number`` that a pattern matches rewritten."""
    found = [i for i in kernel.instructions if re.search(pattern, i.form.text)]
    assert len(found) > number, pattern
    index, text = found[number].index, found[number].form.text
    rows = kernel.form_ids.copy()
    row = int(rows.max()) + 1
    rows[index] = row
    forms = OneChanged(kernel.forms, row, re.sub(pattern, replacement, text))
    return replace(kernel, forms=forms, form_ids=rows, _facts={}, _rows=None)


def level(kernel, other):
    launch = replace(read_launch(LAUNCH, kernel.name), partial=True)
    found = compare(kernel, other, launch, strict=True, quick=True)
    return found.level, found.reason


@pytest.mark.parametrize(
    ("name", "pattern", "replacement", "reason"),
    [
        ("tr_padded", r"^BAR.*", "NOP", "with no barrier between"),
        ("sm_block_mat", r"^BAR.*", "NOP", "with no barrier between"),
        ("gemm_cpasync", r"^DEPBAR.*", "NOP", "before an asynchronous copy has arrived"),
        ("gr_lastblock", r"^MEMBAR.*", "NOP", "in no order"),
        ("ew_relu", r"ISETP\.GE\.AND", "ISETP.GT.AND", "has 400"),
        ("dot_warp", r"^SHFL.*", "NOP", "elements not_shown"),
        ("stencil3", r"0\.25", "0.26", "elements not_shown"),
    ],
)
def test_a_change_that_matters_is_noticed(name, pattern, replacement, reason, lowering):
    kernel = lowering(name)

    found, text = level(kernel, changed(kernel, pattern, replacement))

    assert found == "not_shown"
    assert reason in text


def test_another_ladder_that_spans_the_warp_is_as_good(lowering):
    kernel = lowering("wr_imax_xor")

    assert level(kernel, changed(kernel, r"0x8, 0x1f", "0x9, 0x1f")) == ("E0", "")
    assert level(kernel, changed(kernel, r"0x8, 0x1f", "0x10, 0x1f"))[0] == "not_shown"


def test_a_carry_of_an_address_is_noticed(lowering):
    kernel = lowering("argmax_warp", "sm_75")

    found, text = level(kernel, changed(kernel, r"^(LEA\.HI\.X .*), P\d$", r"\1, !PT"))

    assert found == "not_shown"
    assert "touches byte" in text


def test_the_guard_of_a_slow_path_belongs_to_the_answer(lowering):
    kernel = lowering("ew_sigmoid")

    found, text = level(kernel, changed(kernel, "0x1800000", "0x1800001"))

    assert found == "E3", text
    assert "guards of slow paths" in text
