"""What tests may learn: numbers, and that a `todo` is done; nothing that a person has to decide."""

from __future__ import annotations

import pytest

from sassql.engine.pattern import Pattern
from sassql.testing.blocks import run
from sassql.testing.learn import learned, lesson

MOTIF = "motif m {\n  a: FADD %r, %x\n  emit op = a.op, n = a.index\n}\n"
LISTING = (
    "sm_90 {{\n   FADD R1, R2, R3 ;\n   FADD R4, R2, R5 ;\n   STG.E desc[UR4][R2.64], R4 ;\n   EXIT ;\n}}"
)


def outcomes(text):
    return list(run(Pattern.parse(text, "m.sq")))


def after(test):
    text = f'{MOTIF}// a comment\ntest   "t"   {test}\n'
    result = learned(text, outcomes(text))
    assert result.startswith(f'{MOTIF}// a comment\ntest   "t"   ')
    return result[len(text) - len(test) - 1 :].removesuffix("\n")


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (f"expect  7 {LISTING}", f"expect  2 {LISTING}"),
        (
            f"expect /* how many */ 10 {{ op == <add> }} {LISTING}",
            f"expect /* how many */ 2 {{ op == <add> }} {LISTING}",
        ),
        (f"expect 2 {LISTING}", f"expect 2 {LISTING}"),
        (f"expect todo 2 {LISTING}", f"expect 2 {LISTING}"),
        (f"expect todo 3 {LISTING}", f"expect todo 3 {LISTING}"),
        (f"expect 7 {{ op == <max> }} {LISTING}", f"expect 7 {{ op == <max> }} {LISTING}"),
        (
            'expect 1 from "lowering/softmax.cu:no_such_kernel" sm_90',
            'expect 1 from "lowering/softmax.cu:no_such_kernel" sm_90',
        ),
        ("expect 1 sm_90 {{ what is this }}", "expect 1 sm_90 {{ what is this }}"),
    ],
)
def test_only_numbers_change(before, expected):
    assert after(before) == expected


def test_several_tests_of_one_file():
    text = MOTIF + "".join(f'test "{n}" expect {n} {LISTING}\n' for n in (100, 2, 0, 12345))
    result = learned(text, outcomes(text))

    assert result == MOTIF + "".join(f'test "{n}" expect 2 {LISTING}\n' for n in (100, 2, 0, 12345))
    assert [str(told) for told in map(lesson, outcomes(text)) if told] == [
        "m.sq:5: expect 100 becomes 2",
        "m.sq:17: expect 0 becomes 2",
        "m.sq:23: expect 12345 becomes 2",
    ]
    assert learned(result, outcomes(result)) == result
