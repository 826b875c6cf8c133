"""Whether two addresses name the same bytes."""

from __future__ import annotations

import pytest

import sassql.facts.addresses  # noqa: F401  (registers the analysis)
from sassql.facts.alias import Answer, meets, must_equal, overlaps, same

YES, NO, UNKNOWN = Answer.YES, Answer.NO, Answer.UNKNOWN

PROLOGUE = """
        S2R R0, SR_TID.X ;
        S2R R1, SR_CTAID.X ;
        S2R R4, SR_TID.Y ;
        LDS R5, [RZ] ;
        IMAD.WIDE R2, R0, 0x4, c[0x0][0x160] ;
        IMAD.WIDE R6, R0, 0x4, c[0x0][0x168] ;
        IMAD.WIDE R8, R1, 0x4, R2 ;
        IMAD.WIDE R10, R0, 0x8, c[0x0][0x160] ;
        IMAD R12, R4, 0x21, R0 ;
        IMAD R13, R0, 0x21, R4 ;
        IMAD R14, R5, 0x4, R0 ;
        LOP3.LUT R15, R0, 0x1f, RZ, 0xc0, !PT ;
        SHF.R.U32.HI R16, RZ, 0x5, R0 ;
        IMAD R17, R16, 0x20, R15 ;
        MOV R18, c[0x0][0x160] ;
        MOV R19, c[0x0][0x164] ;
"""
START = 16


@pytest.fixture
def pair(listing):
    """``pair("LDG.E R20, [R2.64]", "STG.E [R2.64], R20")``: the two addresses."""

    def addresses_of(one: str, two: str):
        probe = listing(f"{PROLOGUE}        {one} ;\n        {two} ;\n        EXIT ;\n", "sm_80")
        found = probe.kernel.fact("addresses")
        return found.of(START), found.of(START + 1)

    return addresses_of


def ask(question, pair, one, two):
    a, b = pair(one, two)
    forward, backward = question(a, b), question(b, a)
    assert forward.answer is backward.answer, "the question has no direction"
    assert forward.reason
    return forward.answer


CASES = [
    # one, two, must_equal, meets, same, overlaps
    ("LDG.E R20, [R2.64]", "STG.E [R2.64], R20", YES, YES, YES, YES),
    ("LDG.E R20, [R2.64]", "STG.E [R2.64+0x4], R20", NO, NO, NO, YES),
    ("LDG.E.64 R20, [R2.64]", "STG.E [R2.64+0x4], R20", NO, YES, NO, YES),
    ("LDG.E.64 R20, [R2.64]", "STG.E [R2.64], R20", NO, YES, YES, YES),
    ("LDG.E R20, [R2.64]", "STG.E [R2.64+0x2], R20", NO, YES, NO, YES),
    ("LDG.E.U8 R20, [R2.64]", "STG.E.U8 [R2.64+0x2], R20", NO, NO, NO, NO),
    ("LDG.E R20, [R2.64]", "STG.E [R6.64], R20", UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    ("LDG.E R20, [R2.64]", "STG.E [R8.64], R20", UNKNOWN, UNKNOWN, NO, YES),
    ("LDG.E R20, [R10.64]", "STG.E [R10.64+0x4], R20", NO, NO, NO, NO),
    ("LDG.E R20, [R2.64]", "STG.E [R10.64+0x2], R20", NO, UNKNOWN, NO, YES),
    ("LDG.E R20, [R18.64]", "STG.E [R18.64+0x40], R20", NO, NO, NO, NO),
    ("LDG.E R20, [R2.64]", "STS [R2], R20", NO, NO, NO, NO),
    ("LDS R20, [R12.X4]", "STS [R13.X4], R20", UNKNOWN, UNKNOWN, NO, YES),
    ("LDS R20, [R0.X4]", "STS [R0.X4+0x1000], R20", NO, NO, NO, UNKNOWN),
    ("LDS R20, [R0.X4]", "STS [R0.X4+0x800], R20", NO, NO, NO, YES),
    ("LDS R20, [R0.X4]", "STS [R14], R20", UNKNOWN, UNKNOWN, NO, UNKNOWN),
    ("LDS R20, [R14]", "STS [R14], R20", YES, YES, YES, YES),
    ("LDS R20, [R0.X4]", "STS [R17.X4], R20", YES, YES, YES, YES),
    ("LDS R20, [R25]", "STS [R0], R20", UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    ("LD.E R20, [R2.64]", "STG.E [R2.64], R20", YES, YES, YES, YES),
    ("LD.E R20, [R18.64]", "STS [R0], R20", UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    ("LDS R20, [R1.X4]", "STS [RZ+0x8], R20", UNKNOWN, UNKNOWN, NO, UNKNOWN),
    ("LDL R20, [R0]", "STL [R0+0x4], R20", NO, NO, NO, NO),
]


@pytest.mark.parametrize(("one", "two", "equal", "meet", "formula", "overlap"), CASES)
def test_answers(pair, one, two, equal, meet, formula, overlap):
    found = tuple(ask(question, pair, one, two) for question in (must_equal, meets, same, overlaps))
    assert found == (equal, meet, formula, overlap)


def test_two_loops_over_one_array_overlap(listing):
    probe = listing("""
        S2R R0, SR_TID.X ;
        LEA R2, R0, RZ, 0x2 ;
        MOV R3, RZ ;
.L_x_1:
        STS [R2], RZ ;
        VIADD R2, R2, 0x200 ;
        VIADD R3, R3, 0x1 ;
        ISETP.NE.AND P0, PT, R3, c[0x0][0x210], PT ;
    @P0 BRA `(.L_x_1) ;
        MOV R3, RZ ;
        LEA R2, R0, RZ, 0x2 ;
.L_x_2:
        LDS R4, [R2] ;
        LDS R5, [R2+0x2] ;
        VIADD R2, R2, 0x200 ;
        VIADD R3, R3, 0x1 ;
        ISETP.NE.AND P0, PT, R3, c[0x0][0x210], PT ;
    @P0 BRA `(.L_x_2) ;
        EXIT ;
    """)
    store, load, off = probe.kernel.fact("addresses")
    assert str(store) == "shared: 512*k0 + 4*tid.x"
    assert str(load) == "shared: 512*k1 + 4*tid.x"
    assert must_equal(store, load).answer is UNKNOWN, "not in one iteration"
    assert overlaps(store, load).answer is YES
    assert must_equal(store, off).answer is NO
    assert meets(store, off).answer is UNKNOWN, "four bytes from two on meet the next word"
