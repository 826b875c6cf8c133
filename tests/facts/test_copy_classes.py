"""Fact "copies": values that are one and the same."""

from __future__ import annotations

import pytest

from sassql.isa.copying import copy_of, table
from sassql.reading.shapes import SHAPES


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("MOV R1, R2", 1),
        ("MOV R1, R2, 0xf", 1),
        ("MOV R1, UR4", 1),
        ("MOV.64 R2, R4", 1),
        ("MOV R1, 0x10", 1),
        ("MOV R1, RZ", 1),
        ("UMOV UR4, UR5", 1),
        ("UMOV.64 UR4, UR6", 1),
        ("R2UR UR4, R5", 1),
        ("R2UR.BROADCAST UR4, R5", 1),
        ("IMAD.MOV.U32 R1, RZ, RZ, R2", 3),
        ("IMAD.MOV.U32 R1, RZ, RZ, -0x1", 3),
        ("IMAD.U32 R1, RZ, RZ, UR4", 3),
        ("IMAD R1, R3, RZ, R2", 3),
        ("IMAD.IADD R1, R2, 0x1, RZ", 1),
        ("IMAD.WIDE.U32 R2, R6, RZ, R4", 3),
        ("IADD3 R1, R2, RZ, RZ", 1),
        ("IADD3 R1, PT, PT, RZ, RZ, R2", 5),
        ("IADD3 R1, P0, P1, RZ, R2, RZ", 4),
        ("UIADD3 UR4, UPT, UPT, UR5, URZ, URZ", 3),
        ("IADD.64 R2, R4, RZ", 1),
        ("VIADD R1, R2, 0x0", 1),
        ("LEA R1, R2, RZ, 0x0", 1),
        ("LEA R1, RZ, R2, 0x4", 2),
        ("LOP3.LUT R1, R2, RZ, RZ, 0xfc, !PT", 1),
        ("LOP3.LUT R1, RZ, R2, RZ, 0xfc, !PT", 2),
        ("LOP3.LUT R1, R2, 0xffffffff, RZ, 0xc0, !PT", 1),
        ("LOP3.LUT R1, R2, R3, R4, 0xf0, !PT", 1),
        ("PLOP3.LUT P0, PT, PT, PT, UP4, 0x80, 0x8", 4),
        ("SEL R1, R2, R3, PT", 1),
        ("SEL R1, R2, R3, !PT", 2),
        ("PRMT R1, R2, 0x3210, RZ", 1),
        ("PRMT R1, R2, 0x7654, R3", 3),
    ],
)
def test_copies(text, source):
    copy = copy_of(SHAPES.form(text))
    assert copy is not None
    assert copy.source == source


@pytest.mark.parametrize(
    "text",
    [
        "MOV R1, c[0x0][0x28]",
        "MOV R20, 32@lo((kernel + .L_x_0@srel))",
        "MOV R1, R2, 0x7",
        "MOV.SPILL R2, UR43",
        "R2UR.FILL UR42, R0",
        "R2UR.OR P0, UR5, R51",
        "R2UR P0, UR4, R50",
        "IMAD.MOV R1, RZ, RZ, -R2",
        "IMAD.X R1, RZ, RZ, R2, P0",
        "IMAD.HI.U32 R1, R6, RZ, R2",
        "IMAD.IADD R1, R2, 0x1, R3",
        "IMAD R1, R2, 0x2, RZ",
        "IADD3 R1, -R2, RZ, RZ",
        "IADD3 R1, R2, 0x1, RZ",
        "IADD3.X R1, R2, RZ, RZ, P0, !PT",
        "LEA R1, R2, RZ, 0x1",
        "LEA.HI R1, R2, RZ, RZ, 0x0",
        "LOP3.LUT R1, RZ, R2, RZ, 0x33, !PT",
        "LOP3.LUT R1, R2, R3, RZ, 0xfc, !PT",
        "LOP3.LUT R1, R2, 0xff, RZ, 0xc0, !PT",
        "PLOP3.LUT P0, PT, P1, PT, PT, 0x8, 0x80",
        "PLOP3.LUT P0, PT, !P1, PT, PT, 0xf0, 0x0",
        "SEL R1, R2, R3, P0",
        "PRMT R1, R2, 0x3211, RZ",
        "PRMT.B4E R1, R2, 0x3210, RZ",
        "FADD R1, R2, -RZ",
        "FMUL R1, R2, 1",
        "HADD2.F32 R1, -RZ, R2.H0_H0",
        "S2R R1, SR_TID.X",
        "CS2R R2, SRZ",
        "SHFL.BFLY PT, R3, R0, 0x10, 0x1f",
        "MOV RZ, R1",
    ],
)
def test_what_is_no_copy(text):
    assert copy_of(SHAPES.form(text)) is None


def test_the_table_names_known_opcodes_only():
    from sassql.isa import signatures

    assert [opcode for opcode in table() if not signatures.is_opcode(opcode)] == []


def root(probe, text, operand, unit=0):
    """What an operand reads, moves and the like seen through."""
    return probe.tell(probe.kernel.fact("copies").root(probe.ssa.use(probe.index(text), operand, unit)))


def test_a_chain_of_moves_through_register_files(listing):
    probe = listing("""
        LDS R1, [R9] ;
        MOV R2, R1 ;
        R2UR UR4, R2 ;
        UMOV UR5, UR4 ;
        IMAD.U32 R3, RZ, RZ, UR5 ;
        IADD3 R4, R3, RZ, RZ ;
        FADD R5, R4, R1 ;
        EXIT ;
    """)
    assert root(probe, "FADD", 1) == root(probe, "FADD", 2) == "@0"
    copies = probe.kernel.fact("copies")
    assert copies.same(probe.ssa.use(6, 1), probe.ssa.use(6, 2))
    assert not copies.same(probe.ssa.use(6, 1), probe.ssa.definition(6, 0))


def test_each_register_of_a_wide_move(listing):
    probe = listing("""
        LDS.64 R2, [R9] ;
        MOV.64 R4, R2 ;
        FADD R6, R4, R5 ;
        EXIT ;
    """)
    copies, ssa = probe.kernel.fact("copies"), probe.ssa
    assert copies.root(ssa.use(2, 1)) == ssa.definition(0, 0, 0)
    assert copies.root(ssa.use(2, 2)) == ssa.definition(0, 0, 1)


def test_a_guarded_move_is_no_copy_but_its_new_value_is(listing):
    probe = listing("""
        LDS R1, [R9] ;
        LDS R2, [R9+0x4] ;
    @P0 MOV R2, R1 ;
        FADD R3, R2, R2 ;
        EXIT ;
    """)
    assert root(probe, "FADD", 1) == "psi(@2, @1)"
    merged = probe.ssa.use(3, 1)
    assert probe.tell(probe.kernel.fact("copies").root(probe.ssa.inputs[merged][0])) == "@0"


def test_a_guarded_move_of_what_is_there_already_changes_nothing(listing):
    probe = listing("""
        LDS R1, [R9] ;
        MOV R2, R1 ;
    @P0 IMAD.MOV.U32 R2, RZ, RZ, R1 ;
        FADD R3, R2, R2 ;
        EXIT ;
    """)
    assert root(probe, "FADD", 1) == "@0"


def test_a_join_of_copies_of_one_value(listing):
    probe = listing("""
        LDS R1, [R9] ;
    @P0 BRA `(.L_x_1) ;
        MOV R2, R1 ;
        BRA `(.L_x_2) ;
.L_x_1:
        IMAD.MOV.U32 R2, RZ, RZ, R1 ;
.L_x_2:
        FADD R3, R2, R2 ;
        EXIT ;
    """)
    assert root(probe, "FADD", 1) == "@0"


def test_nested_loops_that_only_carry_a_value(listing):
    """The outer join is trivial only once the inner one is seen through."""
    probe = listing("""
        LDS R1, [R9] ;
.L_x_0:
        STS [R8], R1 ;
.L_x_1:
        STS [R8+0x4], R1 ;
        MOV R2, R1 ;
        MOV R1, R2 ;
    @P1 BRA `(.L_x_1) ;
    @P0 BRA `(.L_x_0) ;
        FADD R3, R1, R2 ;
        EXIT ;
    """)
    assert probe.read("STS [R8], R1", 1).startswith("phi")
    assert root(probe, "STS [R8], R1", 1) == root(probe, "STS [R8+0x4], R1", 1) == "@0"
    assert root(probe, "FADD", 1) == root(probe, "FADD", 2) == "@0"


def test_a_loop_that_changes_its_value_keeps_its_join(listing):
    probe = listing("""
        MOV R1, RZ ;
.L_x_0:
        MOV R2, R1 ;
        FADD R3, R2, R4 ;
        MOV R1, R3 ;
    @P0 BRA `(.L_x_0) ;
        EXIT ;
    """)
    assert root(probe, "FADD", 1) == "phi(@0, @3)"


def test_two_functions_with_one_register_are_not_one_value(listing):
    probe = listing("""
//--------------------- .text.k --------------------------
        .other k,@"STO_CUDA_ENTRY STV_DEFAULT"
        .size k,(.L_x_9 - k)
        .size $k$f,(.L_x_9 - $k$f)
k:
        MOV R2, R5 ;
        CALL.REL.NOINC `($k$f) ;
        STS [R2], R2 ;
        EXIT ;
$k$f:
        MOV R3, R5 ;
        RET.REL.NODEC R20 `(k) ;
.L_x_9:
    """)
    copies, ssa = probe.kernel.fact("copies"), probe.ssa
    assert not copies.same(ssa.definition(0, 0), ssa.definition(4, 0))
