from __future__ import annotations

import pytest

from sassql.isa import targets
from sassql.reading.statements import names_place, split_label, split_number, tidy


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("FADD R0, R1, R2 ;", "FADD R0, R1, R2"),
        ("BRA `(.L_x_0);", "BRA `(.L_x_0)"),
        ("NOP", "NOP"),
        ("FSETP.GEU.AND P0, PT, |R2|, +INF , PT ;", "FSETP.GEU.AND P0, PT, |R2|, +INF , PT"),
        ("FADD R0, R1, -QNAN  ;", "FADD R0, R1, -QNAN"),
        ('BRX R2 -0xe0      (*"BRANCH_TARGETS .L_x_69,.L_x_70"*);', "BRX R2 -0xe0"),
        ('STL [R1], R2 (*"SpillRefill"*) ;', "STL [R1], R2"),
        ("S2R R9, SR_TID.X         &wr=0x1        ?trans7;", "S2R R9, SR_TID.X"),
        ("IADD3 R1, R2, R3, R4 &req={0}  ?trans1;", "IADD3 R1, R2, R3, R4"),
        ("LDG.E R2, desc[UR4][R2.64] &wr=0x1 &rd=0x0 ?WAIT4_END_GROUP;", "LDG.E R2, desc[UR4][R2.64]"),
    ],
)
def test_a_tidy_statement_has_nothing_around_it(line, text):
    assert tidy(line) == text
    assert tidy(text) == text


@pytest.mark.parametrize(
    ("text", "plain", "label"),
    [
        ("BRA `(.L_x_3)", "BRA `(@)", ".L_x_3"),
        ("@!P0 BRA `(.L_x_3)", "@!P0 BRA `(@)", ".L_x_3"),
        ("@UP0 BRA `(.L_x_3)", "@UP0 BRA `(@)", ".L_x_3"),
        ("BRA.U !UP1, `(.L_x_3)", "BRA.U !UP1, `(@)", ".L_x_3"),
        ("BRA.DIV UR6, `(.L_x_1284)", "BRA.DIV UR6, `(@)", ".L_x_1284"),
        ("BSSY.RECONVERGENT B0, `(.L_x_2)", "BSSY.RECONVERGENT B0, `(@)", ".L_x_2"),
        ("WARPSYNC.COLLECTIVE R8, `(.L_x_1305)", "WARPSYNC.COLLECTIVE R8, `(@)", ".L_x_1305"),
        ("CALL.REL.NOINC R2 `(k_ind)", "CALL.REL.NOINC R2 `(@)", "k_ind"),
        ("CALL.ABS.NOINC `(_Z3extf)", "CALL.ABS.NOINC `(@)", "_Z3extf"),
        ("CALL.REL.NOINC `($_Z3dblPdii$_Z4slowd)", "CALL.REL.NOINC `(@)", "$_Z3dblPdii$_Z4slowd"),
        ("RET.REL.NODEC R8 `(_Z3dblPdii)", "RET.REL.NODEC R8 `(@)", "_Z3dblPdii"),
    ],
)
def test_labels_of_places_become_holes(text, plain, label):
    assert split_label(text) == (plain, label)


@pytest.mark.parametrize(
    "text",
    [
        "FADD R0, R1, R2",
        "MOV R20, 32@lo((_Z1kPf + .L_x_0@srel))",
        "LDC R0, c[`(table)]",
        "EXIT",
        "BRX R2 -0xe0",
    ],
)
def test_everything_else_has_no_label_to_split(text):
    assert split_label(text) == (text, "")


@pytest.mark.parametrize(
    ("text", "plain", "number", "kind"),
    [
        ("BRA 0x680", "BRA `(@)", 0x680, "relative"),
        ("@P0 BRA P3, 0x1930", "@P0 BRA P3, `(@)", 0x1930, "relative"),
        ("BRA 0xfffffff0", "BRA `(@)", 0xFFFFFFF0, "relative"),
        ("BRA.DIV UR6, 0x40", "BRA.DIV UR6, `(@)", 0x40, "relative"),
        ("BSSY B0, 0x2d0", "BSSY B0, `(@)", 0x2D0, "relative"),
        ("CALL.REL.NOINC 0x480", "CALL.REL.NOINC `(@)", 0x480, "relative"),
        ("CALL.ABS.NOINC 0x0", "CALL.ABS.NOINC `(@)", 0, "absolute"),
        ("RET.REL.NODEC R12 0x0", "RET.REL.NODEC R12 `(@)", 0, "relative"),
        ("WARPSYNC.COLLECTIVE R8, 0x120", "WARPSYNC.COLLECTIVE R8, `(@)", 0x120, "relative"),
    ],
)
def test_numbers_that_are_places_become_holes(text, plain, number, kind):
    assert split_number(text) == (plain, number, kind)


@pytest.mark.parametrize(
    "text",
    [
        "BRX R2 -0xe0",
        "IADD3 R0, R1, 0x10, RZ",
        "BAR.SYNC.DEFER_BLOCKING 0x0",
        "WARPSYNC 0xffffffff",
        "RET.ABS.NODEC R20 0x0",
    ],
)
def test_other_numbers_are_no_places(text):
    assert split_number(text) == (text, None, "")


def test_the_table_of_opcodes_that_name_places():
    assert {"BRA", "BSSY", "CALL", "RET", "WARPSYNC"} <= targets.opcodes()
    assert targets.target_kind("CALL", ["REL", "NOINC"]) == "relative"
    assert targets.target_kind("CALL", ["ABS", "NOINC"]) == "absolute"
    assert targets.target_kind("WARPSYNC", []) == ""
    assert targets.target_kind("FADD", []) == ""


def test_an_opcode_is_matched_as_a_whole_word():
    assert names_place("BRA 0x10") == "relative"
    assert names_place("BRAKE 0x10") == ""
    assert names_place("@P0 CALLX.REL 0x10") == ""
