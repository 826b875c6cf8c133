"""`%v.elements`, `K.has(x)` and `&A.by_load`: from how many elements a value comes, and what decides a place."""

import pytest

HEAD = """
        S2R R0, SR_TID.X ;
        IMAD.WIDE R2, R0, 0x4, c[0x0][0x160] ;
        IMAD.WIDE R4, R0, 0x4, c[0x0][0x168] ;
        IMAD.WIDE R6, R0, 0x4, c[0x0][0x170] ;
"""
TAIL = """
        STG.E desc[UR4][R6.64], R12 ;
        EXIT ;
"""
TYPES = """
        ISETP.NE.AND P0, PT, R30, 0x1, PT ;
    @P0 BRA `(.L_x_1) ;
        LDG.E R8, desc[UR4][R2.64] ;
        BRA `(.L_x_2) ;
.L_x_1:
        LDG.E.U16 R8, desc[UR4][R2.64] ;
.L_x_2:
        FADD R12, R8, R8 ;
"""
ROUND_A_LOOP = """
        MOV R12, RZ ;
.L_x_1:
        LDG.E R8, desc[UR4][R2.64] ;
        FMNMX R12, R12, R8, !PT ;
        IADD3 R2, R2, 0x4, RZ ;
        ISETP.NE.AND P0, PT, R2, R30, PT ;
    @P0 BRA `(.L_x_1) ;
"""
BOUNDS = """
    @!P1 LDG.E R8, desc[UR4][R2.64] ;
    @!P1 FMUL R13, R8, 2 ;
    @!P1 STG.E desc[UR4][R6.64+0x100], R13 ;
    @!P2 LDG.E R8, desc[UR4][R2.64+0x200] ;
    @!P2 LDG.E R9, desc[UR4][R4.64+0x200] ;
        FADD R12, R8, R9 ;
"""
LARGEST = """
        LDG.E R12, desc[UR4][R2.64] ;
        LDG.E R8, desc[UR4][R2.64+0x4] ;
        FSETP.GT.AND P1, PT, R8, R12, PT ;
    @P1 MOV R12, R8 ;
"""


@pytest.mark.parametrize(
    ("body", "elements"),
    [
        ("MOV R12, 0x1 ;", 0),
        ("LDG.E R12, desc[UR4][R2.64] ;", 1),
        ("LDG.E R8, desc[UR4][R2.64] ;\nLDG.E R9, desc[UR4][R4.64] ;\nFADD R12, R8, R9 ;", 1),
        ("LDG.E R8, desc[UR4][R2.64] ;\nLDG.E R9, desc[UR4][R2.64+0x4] ;\nFADD R12, R8, R9 ;", 2),
        (TYPES, 1),
        (BOUNDS, 1),
        (LARGEST, 2),
    ],
)
def test_elements_of_one_array(match, body, elements):
    rows = match("st: STG [&D], %v\nwhere &D.offset == 0\nemit n = %v.elements", HEAD + body + TAIL, "sm_80")
    assert [row.columns["n"] for row in rows] == [elements]


def test_what_a_loop_has(match):
    body = "loop K { ld: LDG %x }\nst: STG _, %v\nemit load = K.has(ld), store = K.has(st)"
    (row,) = match(body, HEAD + ROUND_A_LOOP + TAIL, "sm_80")
    assert row.columns == {"load": True, "store": False}


@pytest.mark.parametrize(
    ("place", "by_load"),
    [
        ("IMAD.WIDE R10, R0, 0x4, c[0x0][0x178] ;", False),
        ("LDG.E R9, desc[UR4][R4.64] ;\nIMAD.WIDE R10, R9, 0x4, c[0x0][0x178] ;", True),
        ("POPC R9, R0 ;\nIMAD.WIDE R10, R9, 0x4, c[0x0][0x178] ;", False),
    ],
)
def test_whether_a_loaded_value_decides_a_place(match, place, by_load):
    listing = HEAD + place + "\nSTG.E desc[UR4][R10.64], R0 ;\nEXIT ;"
    rows = match("st: STG [&A]\nemit by = &A.by_load", listing, "sm_80")
    assert [row.columns["by"] for row in rows] == [by_load]
