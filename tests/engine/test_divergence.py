"""Copies of a region for diverged warps are no nodes, and what they compute is what the main way computes."""

LADDER = """
  for (#d = #w / 2; #d >= 1; #d /= 2) { s: SHFL.BFLY %t, %x, #d ; f: <add> %x', %x, %t }
  where #w in {2, 4, 8}
  emit w = #w
"""

DIVERGED = """
        UMOV UR5, 0xffffffff ;
        BRA.DIV UR5, `(.L_x_4) ;
        SHFL.BFLY PT, R8, R7, 0x2, 0x1f ;
        FADD R9, R7, R8 ;
        SHFL.BFLY PT, R10, R9, 0x1, 0x1f ;
.L_x_13:
        FADD R11, R9, R10 ;
        STG.E desc[UR6][R2.64], R11 ;
        EXIT ;
.L_x_4:
        MOV R13, 0x2 ;
        WARPSYNC.COLLECTIVE R12, `(.L_x_8) ;
        SHFL.BFLY P2, R10, R7, R13, R15 ;
        ENDCOLLECTIVE ;
.L_x_8:
        MOV R13, 0x1 ;
        FADD R9, R7, R10 ;
        WARPSYNC.COLLECTIVE R12, `(.L_x_9) ;
        SHFL.BFLY P2, R10, R9, R13, R15 ;
        ENDCOLLECTIVE ;
.L_x_9:
        BRA `(.L_x_13) ;
"""


def test_a_ladder_goes_through_the_joint(match, places):
    rows = match(LADDER, DIVERGED)
    assert [row.columns["w"] for row in rows] == [4]
    assert places(rows) == [{"s": [0x20, 0x40], "f": [0x30, 0x50]}]


def test_scope_all_sees_both_ways(match):
    shuffles = match("scope all\ns: SHFL.BFLY %t", DIVERGED)
    assert [row.instructions["s"][0].address for row in shuffles] == [0x20, 0x40, 0xA0, 0xF0]
    assert len(match("s: SHFL.BFLY %t", DIVERGED)) == 2
    assert match("scope all" + LADDER, DIVERGED) == []


def test_another_branch_is_no_copy(match):
    plain = DIVERGED.replace("BRA.DIV UR5,", "@P0 BRA")
    assert len(match("s: SHFL.BFLY %t", plain)) == 4
    assert match(LADDER, plain) == []


def test_a_loop_inside_the_main_way_stays_a_phi(match):
    text = DIVERGED.replace("        UMOV UR5", ".L_x_1:\n        FADD R7, R7, R7 ;\n        UMOV UR5")
    text = text.replace("        EXIT ;", "        @P3 BRA `(.L_x_1) ;\n        EXIT ;")
    assert [row.columns["w"] for row in match(LADDER, text)] == [4]
