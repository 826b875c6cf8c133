"""Single lines and conjunctions of lines: opcodes, operands, names, signs, guards."""

from collections import defaultdict

import pytest

from sassql.engine.pattern import Pattern
from sassql.engine.session import sessions
from sassql.errors import PatternError

ADD = """
    MOV R1, R9 ;
    FADD.FTZ R3, R1, R2 ;
    STG.E desc[UR4][R4.64], R3 ;
    EXIT ;
"""


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("FADD %d, %a, %b", 1),
        ("FADD", 1),
        ("FADD.FTZ", 1),
        ("FADD.!FTZ", 0),
        ("FADD.SAT", 0),
        ("FADD.{FTZ|SAT}", 1),
        ("FMUL|FADD", 1),
        ("FMUL", 0),
        ("FA*", 1),
        ("<add> %d, %a, %b", 1),
        ("<mul> %d, %a, %b", 0),
        ("<fold> %d", 1),
        ("<fold>.FTZ %d", 1),
        ("<fold>.SAT %d", 0),
        ("FADD R3, R1, R2", 1),
        ("FADD R3, R2, R1", 1),  # sources commute
        ("FADD R3, R1, R5", 0),
        ("FADD _, _, _", 1),
        ("FADD d=%d, b=%b", 1),
        ("FADD %d, -%a, %b", 0),
        ("FADD %d, |%a|, %b", 0),
        ("FADD %d, %a, 0", 0),
        ("FADD %d, #n, _", 0),
        ("@PT FADD %d", 1),
        ("@%p FADD %d", 0),
    ],
)
def test_one_line(match, line, count):
    assert len(match(f"f: {line}", ADD)) == count


@pytest.mark.parametrize(
    ("line", "text", "arch", "count"),
    [
        ("SHFL.BFLY %t, %x, #d", "SHFL.BFLY PT, R3, R0, 0x10, 0x1f", "sm_90", 1),
        ("SHFL.BFLY PT, %t, %x, 0x10, 0x1f", "SHFL.BFLY PT, R3, R0, 0x10, 0x1f", "sm_90", 1),
        ("SHFL.BFLY PT, %t, %x, 0x10, 0x1e", "SHFL.BFLY PT, R3, R0, 0x10, 0x1f", "sm_90", 0),
        ("SHFL.BFLY PT, %t, %x", "SHFL.BFLY P1, R3, R0, 0x10, 0x1f", "sm_90", 0),
        ("SHFL.BFLY p=%p, %t, %x", "SHFL.BFLY P1, R3, R0, 0x10, 0x1f", "sm_90", 1),
        ("IADD3 %d, %a, %b, 0", "IADD3 R6, PT, PT, R0, R5, RZ", "sm_100", 1),
        ("IADD3 %d, %a, %b, RZ", "IADD3 R6, PT, PT, R0, R5, RZ", "sm_100", 1),
        ("IADD3 %d, PT, PT, %a, %b", "IADD3 R6, PT, PT, R0, R5, RZ", "sm_100", 1),
        ("IADD3 %d, PT, PT, %a, %b", "IADD3 R6, P0, PT, R0, R5, RZ", "sm_100", 0),
        ("IADD3 %d, %a, %b, %c", "IADD3 R6, P0, PT, R0, R5, R7", "sm_100", 1),
        ("FMNMX %d, %a, %b, !PT", "FMNMX R3, R3, R0, !PT", "sm_80", 1),
        ("FMNMX %d, %a, %b, PT", "FMNMX R3, R3, R0, !PT", "sm_80", 0),
        ("FSEL %d, %a, %b, %p", "FSEL R3, R3, R0, P2", "sm_80", 1),
        ("FSEL %d, %a, %b, %p", "FSEL R3, R3, R0, !P2", "sm_80", 0),
        ("FSEL %d, %a, %b, !%p", "FSEL R3, R3, R0, !P2", "sm_80", 1),
        ("LOP3.LUT %d, %a, %b, RZ, 0xc0", "LOP3.LUT R0, R1, 0x1f, RZ, 0xc0, !PT", "sm_80", 1),
        ("LOP3.LUT %d, %a, #n", "LOP3.LUT R0, R1, 0x1f, RZ, 0xc0, !PT", "sm_80", 1),
        ("S2R %d, SR_TID.X", "S2R R0, SR_TID.X", "sm_80", 1),
        ("S2R %d, SR_TID.Y", "S2R R0, SR_TID.X", "sm_80", 0),
        ("FMUL %d, %a, 1.4426950216", "FMUL R9, R0, 1.4426950216293334961", "sm_80", 1),
        ("FMUL %d, %a, 1.44", "FMUL R9, R0, 1.4426950216293334961", "sm_80", 0),
        ("FFMA %d, %a, -%b, 1", "FFMA R6, R3, -R9, 1", "sm_80", 1),
        ("FFMA %d, -%b, %a, 1", "FFMA R6, R3, -R9, 1", "sm_80", 1),
        ("FFMA %d, %a, %b, 1", "FFMA R6, R3, -R9, 1", "sm_80", 0),
        ("IADD3 %d, %a, -1", "IADD3 R0, R0, -0x1, RZ", "sm_80", 1),
        ("IADD3 %d, %a, #n", "IADD3 R0, R0, -0x1, RZ", "sm_80", 1),
        ("FADD %d, %a, %b", "FADD R0, R1, c[0x0][0x160]", "sm_80", 1),
        ("FADD %d, %a, c[0x0][0x160]", "FADD R0, R1, c[0x0][0x160]", "sm_80", 1),
        ("FADD %d, %a, c[0x0][0x164]", "FADD R0, R1, c[0x0][0x160]", "sm_80", 0),
        ("HADD2.F32 %d, _, %x", "HADD2.F32 R5, -RZ, R2.H0_H0", "sm_80", 0),
        ("HADD2.F32 %d, _, %x.H0_H0", "HADD2.F32 R5, -RZ, R2.H0_H0", "sm_80", 1),
        ("FFMA2 %d, %a, %b, %c", "FFMA2 R12, R6.F32x2.HI_LO, R8.F32x2.HI_LO, R12.F32x2.HI_LO", "sm_100", 1),
        ("STG [_], %v", "STG.E.128 desc[UR4][R2.64], R12", "sm_90", 1),
        ("STG desc[_], %v", "STG.E.128 desc[UR4][R2.64], R12", "sm_90", 1),
        ("STG gdesc[_], %v", "STG.E.128 desc[UR4][R2.64], R12", "sm_90", 0),
        ("<mma> d=%d, c=%c", "HMMA.16816.F32 R8, R24, R4, R8", "sm_80", 1),
        ("<mma> d=%c, c=%c", "HMMA.16816.F32 R8, R24, R4, R8", "sm_80", 0),
        ("<max> %r, %x, 0", "FMNMX R3, R3, RZ, !PT", "sm_80", 1),
        ("@%p FADD %d", "@P3 FADD R0, R1, R2", "sm_80", 1),
        ("@%p FADD %d", "@!P3 FADD R0, R1, R2", "sm_80", 0),
        ("@!%p FADD %d", "@!P3 FADD R0, R1, R2", "sm_80", 1),
        ("@P3 FADD %d", "@P3 FADD R0, R1, R2", "sm_80", 1),
        ("@P2 FADD %d", "@P3 FADD R0, R1, R2", "sm_80", 0),
        ("@PT FADD %d", "@P3 FADD R0, R1, R2", "sm_80", 0),
        ("FADD %d", "@!PT FADD R0, R1, R2", "sm_80", 0),  # never runs: no node
        ("NOP", "NOP", "sm_80", 0),
        ("FADD %d, %a", "FADD RZ, R1, R2", "sm_80", 0),  # the result goes nowhere
        ("R2UR UR4, R2", "R2UR UR4, R2", "sm_80", 1),
    ],
)
def test_operands(match, line, text, arch, count):
    assert len(match(f"f: {line}", f"{text} ;\nEXIT ;", arch)) == count


def test_names_tie_lines_together(match, places):
    listing = """
        FMUL R3, R1, R2 ;
        FMUL R5, R1, R2 ;
        FADD R6, R3, R9 ;
        FADD R3, R5, R9 ;
        FADD R7, R3, R8 ;
        EXIT ;
    """
    rows = match("m: FMUL %p, _, _\na: FADD %s, %p, _", listing)
    assert places(rows) == [{"m": [0x00], "a": [0x20]}, {"m": [0x10], "a": [0x30]}]


def test_the_order_of_lines_means_nothing(match, places):
    listing = "FMUL R3, R1, R2 ;\nFADD R6, R3, R9 ;\nEXIT ;"
    assert places(match("a: FADD %s, %p, _\nm: FMUL %p, _, _", listing)) == [{"a": [0x10], "m": [0x00]}]


def test_a_register_that_was_overwritten_is_another_value(match):
    listing = "FMUL R3, R1, R2 ;\nFADD R3, R1, R1 ;\nFADD R6, R3, R9 ;\nEXIT ;"
    assert match("m: FMUL %p, _, _\na: FADD %s, %p, _", listing) == []


def test_different_labels_are_different_instructions(match):
    listing = "FADD R3, R1, R2 ;\nEXIT ;"
    assert match("a: FADD %x, %y\nb: FADD %x, %y", listing) == []


def test_different_names_may_be_one_value(match):
    listing = "FADD R3, R1, R1 ;\nEXIT ;"
    assert len(match("a: FADD %d, %x, %y", listing)) == 1
    assert match("a: FADD %d, %x, %y\nwhere not same(%x, %y)", listing) == []
    assert len(match("a: FADD %d, %x, %y\nwhere same(%x, %y)", listing)) == 1


def test_copies_are_transparent(match):
    listing = """
        FMUL R3, R1, R2 ;
        MOV R4, R3 ;
        IMAD.MOV.U32 R5, RZ, RZ, R4 ;
        FADD R6, R5, R9 ;
        EXIT ;
    """
    assert len(match("m: FMUL %p, _, _\na: FADD %s, %p, _", listing)) == 1


def test_a_parameter_is_one_value_wherever_it_is_read(match):
    body = "m: FMUL %d, _, %s\na: FADD %e, _, %s"
    listing = """
        FMUL R3, R1, c[0x0][0x170] ;
        IMAD.MOV.U32 R5, RZ, RZ, c[0x0][{}] ;
        FADD R6, R2, R5 ;
        EXIT ;
    """
    assert len(match(body, listing.format("0x170"), "sm_75")) == 1
    assert match(body, listing.format("0x174"), "sm_75") == []
    loaded = (
        "LDC R4, c[0x0][0x220] ;\nFMUL R3, R1, R4 ;\nULDC UR4, c[0x0][0x220] ;\nFADD R6, R2, UR4 ;\nEXIT ;"
    )
    assert len(match(body, loaded)) == 1


def test_wide_and_narrow_names_unify(match, places):
    listing = """
        LDG.E.64 R2, desc[UR4][R8.64] ;
        FADD R5, R3, R9 ;
        FADD R6, R4, R9 ;
        DADD R10, R2, R2 ;
        EXIT ;
    """
    assert [i["f"] for i in places(match("l: LDG %v\nf: FADD %d, %v", listing))] == [[0x10]]
    assert len(match("f: FADD %d, %v\nl: LDG %v\nd: DADD %e, %v", listing)) == 1


def test_two_parts_are_not_one_value(match):
    listing = "LDG.E.64 R2, desc[UR4][R8.64] ;\nFADD R5, R2, R9 ;\nFMUL R6, R3, R10 ;\nEXIT ;"
    assert match("a: FADD _, %v\nb: FMUL _, %v", listing) == []
    assert match("l: LDG %v\na: FADD _, %v\nb: FMUL _, %v", listing) == []


def test_a_phi_is_a_value(match, places):
    listing = """
        @P0 BRA `(.L_x_1) ;
        FADD R3, R1, R2 ;
        BRA `(.L_x_2) ;
    .L_x_1:
        FMUL R3, R1, R2 ;
    .L_x_2:
        FADD R4, R3, R3 ;
        FMUL R5, R3, R3 ;
        EXIT ;
    """.replace("    .L", ".L")
    assert match("a: FADD %x, _, _\nb: FMUL _, %x, _", listing) == []
    rows = match("a: FADD _, %x, %x\nb: FMUL _, %x, %x", listing)
    assert places(rows) == [{"a": [0x40], "b": [0x50]}]


def test_a_guarded_result_is_the_value_after_it(match):
    listing = "FMUL R3, R1, R2 ;\n@P0 FADD R3, R3, R2 ;\nFMUL R4, R3, R3 ;\nEXIT ;"
    assert len(match("a: @%p FADD %x, _, _\nb: FMUL _, %x, %x", listing)) == 1
    assert match("a: FMUL %x, _, _\nb: FMUL _, %x, %x", listing) == []


def test_a_constant_in_a_register_is_an_integer(match):
    rows = match("a: SHF.L.U32 %d, %a, #n\nemit n = #n", "MOV R7, 0x3 ;\nSHF.L.U32 R1, R2, R7, RZ ;\nEXIT ;")
    assert [row.columns for row in rows] == [{"n": 3}]


def test_a_float_in_a_register_is_a_number(match):
    listing = "MOV R7, 0x3fb8aa3b ;\nFMUL R1, R2, R7 ;\nEXIT ;"
    assert len(match("a: FMUL %d, %a, 1.4426950216", listing)) == 1
    assert match("a: FMUL %d, %a, 1.5", listing) == []


def test_padding_is_no_node_unless_scope_says_so(match):
    listing = "EXIT ;\n.L_x_1:\nFADD R1, R2, R3 ;\nBRA `(.L_x_1) ;"
    assert match("f: FADD %d", listing) == []
    assert len(match("scope all\nf: FADD %d", listing)) == 1


def test_a_motif_for_another_architecture_has_no_rows_and_counts(kernel_of, pattern_of):
    pattern = pattern_of("arch sm_90+\nf: FADD %d")
    assert pattern.match(kernel_of(ADD, "sm_80")) == []
    assert pattern.outside == 1
    assert len(pattern.match(kernel_of(ADD))) == 1
    assert (pattern.covers("sm_100a"), pattern.covers("sm_89")) == (True, False)


def test_the_opcode_is_tested_before_anything_is_analysed(kernel_of, pattern_of, monkeypatch):
    def refuse(_):
        raise AssertionError("an analysis ran")

    facts = defaultdict(lambda: refuse, engine=sessions)  # an empty place for what motifs share
    monkeypatch.setattr("sassql.model.kernel.FACTS", facts)
    assert pattern_of("f: FADD %d, %x\ng: FMUL _, %d").match(kernel_of(ADD)) == []


def test_a_bad_pattern_has_a_place():
    with pytest.raises(PatternError) as caught:
        Pattern.parse("motif m { f: FADDD %d }", "m.sq")
    assert str(caught.value) == "m.sq:1:14: unknown opcode `FADDD` [SQ002]; did you mean `FADD`?"
