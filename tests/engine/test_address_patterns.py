"""`[&A]`, registers between brackets, and attributes of addresses."""

import pytest

TRIP = """
        S2R R0, SR_TID.X ;
        IMAD.WIDE R2, R0, 0x4, c[0x0][0x160] ;
        IMAD.WIDE R4, R0, 0x4, c[0x0][0x168] ;
        STG.E desc[UR4][R2.64], R7 ;
        STG.E desc[UR4][R2.64+0x4], R7 ;
        STG.E desc[UR4][R4.64], R7 ;
        LDG.E R8, desc[UR4][R2.64] ;
        LDG.E.64 R10, desc[UR4][R2.64] ;
        EXIT ;
"""


def columns(rows):
    return [row.columns for row in rows]


def test_one_name_is_one_place(match, places):
    rows = match("st: STG [&A]\nld: LDG %v, [&A]", TRIP, "sm_80")
    assert places(rows) == [{"st": [0x30], "ld": [0x60]}]


def test_attributes(match):
    body = (
        "st: STG [&A]\nemit b = &A.base, o = &A.offset, s = &A.space, n = &A.bytes, t = &A.tid_x, k = &A.kind"
    )
    assert columns(match(body, TRIP, "sm_80")) == [
        {"b": "param[0x0]", "o": 0, "s": "global", "n": 4, "t": 4, "k": "pure"},
        {"b": "param[0x0]", "o": 4, "s": "global", "n": 4, "t": 4, "k": "pure"},
        {"b": "param[0x8]", "o": 0, "s": "global", "n": 4, "t": 4, "k": "pure"},
    ]


@pytest.mark.parametrize(
    ("condition", "found", "status"),
    [
        ("same(&A, &B)", 1, "match"),
        ("not same(&A, &B)", 1, "match"),
        ("&A.base == &B.base", 2, "match"),
        ("&A.base != &B.base", 1, "match"),
        ("overlaps(&A, &B)", 2, "match"),
        ("&A.tid_x == 4", 3, "match"),
        ("&A.tid_x != 0", 3, "match"),
        ("&A.tid_y == 0", 3, "match"),
    ],
)
def test_conditions(match, condition, found, status):
    body = f"st: STG [&A]\nld: LDG %v, [&B]\nwhere ld.bytes == 4 and st.index < ld.index\nwhere {condition}"
    rows = match(body, TRIP, "sm_80")
    certain = [row for row in rows if row.status == status]
    assert len(certain) == found


def test_different_parameters_may_be_one_buffer(match):
    rows = match("st: STG [&A]\nld: LDG %v, [&B]\nwhere ld.bytes == 4\nwhere same(&A, &B)", TRIP, "sm_80")
    assert [(row.status, row.instructions["st"][0].index) for row in rows] == [("match", 3), ("maybe", 5)]


def test_registers_between_brackets(match, places):
    assert [p["st"] for p in places(match("st: STG [%p]", TRIP, "sm_80"))] == [[0x30], [0x50]]
    assert [p["st"] for p in places(match("st: STG [%p+0x4]", TRIP, "sm_80"))] == [[0x40]]
    assert len(match("w: IMAD.WIDE %p\nst: STG [%p]", TRIP, "sm_80")) == 2
    assert [p["st"] for p in places(match("st: STG [R4]", TRIP, "sm_80"))] == [[0x50]]
    assert [p["st"] for p in places(match("st: STG desc[_][R4]", TRIP, "sm_80"))] == [[0x50]]
    assert match("st: STG gdesc[_]", TRIP, "sm_80") == []
    assert len(match("st: STG [_]", TRIP, "sm_80")) == 3


STAGES = """
        S2R R0, SR_TID.X ;
        SHF.L.U32 R2, R0, 0x2, RZ ;
        MOV R4, RZ ;
.L_x_1:
        LDS R3, [R2] ;
        LDS R5, [R0] ;
        FADD R6, R3, R5 ;
        STS [R2+0x400], R6 ;
        IADD3 R2, R2, 0x100, RZ ;
        IADD3 R4, R4, 0x1, RZ ;
        ISETP.NE.AND P0, PT, R4, 0x10, PT ;
    @P0 BRA `(.L_x_1) ;
        EXIT ;
"""


def test_stride(match):
    rows = match("loop K { l: LDS %v, [&A] }\nemit s = &A.stride(K)", STAGES, "sm_80")
    assert columns(rows) == [{"s": 256}, {"s": 0}]
    assert len(match("loop K { l: LDS %v, [&A]\nwhere &A.stride(K) != 0 }", STAGES, "sm_80")) == 1
    assert len(match("loop K { l: LDS %v, [&A]\nwhere &A.stride(K) == 256 }", STAGES, "sm_80")) == 1


def test_two_addresses_of_one_instruction(match):
    text = """
        S2R R0, SR_TID.X ;
        IMAD.WIDE R2, R0, 0x4, c[0x0][0x160] ;
        SHF.L.U32 R4, R0, 0x2, RZ ;
        LDGSTS.E [R4], [R2.64] ;
        LDGDEPBAR ;
        DEPBAR.LE SB0, 0x1 ;
        LDS R7, [R4] ;
        EXIT ;
    """
    body = "cp: LDGSTS [&S], [&G]\nwt: DEPBAR.LE SB0, #n\nld: LDS %v, [&S]\nwt before ld\ncp before wt\n"
    rows = match(body + "emit s = &S.space, g = &G.space, n = #n, b = cp.bytes", text, "sm_80")
    assert columns(rows) == [{"s": "shared", "g": "global", "n": 1, "b": 4}]


def test_an_opaque_address_is_the_same_only_where_it_is_the_same_value(match):
    text = """
        STG.E desc[UR4][R4.64], R7 ;
        LDG.E R0, desc[UR4][R4.64] ;
        IADD3 R4, P0, R4, 0x100, RZ ;
        LDG.E R1, desc[UR4][R4.64] ;
        LDG.E R2, desc[UR4][R8.64] ;
        EXIT ;
    """
    assert len(match("st: STG [&A]\nld: LDG %v, [&A]", text)) == 1
