"""Spill slots: values that wait in the stack frame."""

from __future__ import annotations

FRAME = "MOV R1, c[0x0][0x28] ;\n IADD3 R1, R1, -0x40, RZ ;\n"


def root(probe, text, operand=1, unit=0, occurrence=0):
    value = probe.ssa.use(probe.index(text, occurrence), operand, unit)
    return probe.tell(probe.kernel.fact("copies").root(value))


def test_a_spill_and_its_reload_are_one_value(listing):
    probe = listing(
        FRAME
        + """
        LDS R2, [R9] ;
        STL [R1+0x10], R2 ;
        MOV R2, RZ ;
        LDL.LU R7, [R1+0x10] ;
        FADD R8, R7, R2 ;
        EXIT ;
    """
    )
    assert root(probe, "FADD") == "@2"
    ssa = probe.ssa
    slot = ssa.slot_definition(3)
    assert str(ssa.register[slot]) == "L16"
    assert ssa.slot_use(5) == slot
    assert ssa.slot_use(3) is None
    assert ssa.slot_definition(5) is None


def test_the_later_store_wins(listing):
    probe = listing(
        FRAME
        + """
        STL [R1+0x10], R2 ;
        STL [R1+0x10], R3 ;
        STL [R1+0x14], R4 ;
        LDL R7, [R1+0x10] ;
        FADD R8, R7, R7 ;
        EXIT ;
    """
    )
    assert root(probe, "FADD") == "R3 at entry"


def test_wide_accesses_overlap_word_by_word(listing):
    probe = listing(
        FRAME
        + """
        STL.128 [R1+0x10], R4 ;
        STL [R1+0x18], R20 ;
        LDL.64 R12, [R1+0x14] ;
        FADD R8, R12, R13 ;
        EXIT ;
    """
    )
    assert root(probe, "FADD", 1) == "R5 at entry"
    assert root(probe, "FADD", 2) == "R20 at entry"


def test_a_store_of_part_of_a_word_hides_the_rest(listing):
    probe = listing(
        FRAME
        + """
        STL [R1+0x10], R4 ;
        STL.U8 [R1+0x11], R5 ;
        STL [R1+0x14], R6 ;
        LDL R7, [R1+0x10] ;
        LDL.U8 R10, [R1+0x14] ;
        FADD R8, R7, R10 ;
        EXIT ;
    """
    )
    assert root(probe, "FADD", 1) == "@3", "the slot as the narrow store left it"
    assert probe.ssa.operand[probe.ssa.slot_definition(3)] == -1
    assert root(probe, "FADD", 2) == "@6", "a narrow load is a value of its own"


def test_a_guarded_spill(listing):
    probe = listing(
        FRAME
        + """
        STL [R1], R4 ;
    @P0 STL [R1], R5 ;
        LDL R7, [R1] ;
        FADD R8, R7, R7 ;
        EXIT ;
    """
    )
    assert root(probe, "FADD") == "psi(@3, @2)"


def test_a_loop_variable_on_the_stack_is_a_join(listing):
    """In a real FlashAttention kernel the running sum goes round the loop like this."""
    probe = listing(
        FRAME
        + """
        STL [R1+0x10], RZ ;
.L_x_0:
        LDL R7, [R1+0x10] ;
        FADD R7, R7, R2 ;
        STL [R1+0x10], R7 ;
    @P0 BRA `(.L_x_0) ;
        EXIT ;
    """
    )
    assert root(probe, "FADD") == "phi(@2, @5)"
    joined = probe.kernel.fact("copies").root(probe.ssa.use(4, 1))
    before, carried = probe.ssa.inputs[joined]
    copies = probe.kernel.fact("copies")
    assert copies.root(carried) == probe.ssa.definition(4, 0)
    assert probe.kernel.fact("constants")[before] == 0


def test_different_frames_are_different_slots(listing):
    probe = listing("""
        STL [R1+0x10], R4 ;
        STL [R1+0x14], R4 ;
        IADD3 R1, R1, -0x8, RZ ;
        LDL R7, [R1+0x10] ;
        FADD R8, R7, R7 ;
        EXIT ;
    """)
    assert root(probe, "FADD") == "@3"


ARRAY = (
    FRAME
    + """
        STL [R1+0x10], R4 ;
        {taking}
        {writing}
        LDL R7, [R1+0x10] ;
        FADD R8, R7, R7 ;
        EXIT ;
"""
)


def after(listing, taking, writing):
    probe = listing(ARRAY.replace("{taking}", taking).replace("{writing}", writing))
    return root(probe, "FADD")


def test_an_array_on_the_stack_makes_every_other_store_suspect(listing):
    taken = "LEA R3, R2, R1, 0x2 ;"
    assert after(listing, "NOP ;", "STL [R3], R5 ;") == "R4 at entry", "nobody can know the address"
    assert after(listing, taken, "LDL R5, [R3] ;") == "R4 at entry"
    assert after(listing, taken, "STL [R3], R5 ;") == "call 4"
    assert after(listing, taken, "STL.U8 [R3], R5 ;") == "call 4"
    assert after(listing, taken, "ST.E [R8.64], R5 ;") == "call 4"
    assert after(listing, taken, "STG.E [R8.64], R5 ;") == "R4 at entry"
    assert after(listing, taken, "CALL.ABS.NOINC `(elsewhere) ;") == "call 4"
    assert after(listing, "NOP ;", "CALL.ABS.NOINC `(elsewhere) ;") == "R4 at entry"


def test_an_index_beside_the_stack_pointer_is_an_array(listing):
    assert after(listing, "NOP ;", "STL [R1+UR4], R5 ;") == "call 4"


def test_the_stack_pointer_may_go_back(listing):
    probe = listing(
        FRAME
        + """
        STL [R1+0x10], R16 ;
        CALL.ABS.NOINC `(elsewhere) ;
        LDL R16, [R1+0x10] ;
        IADD3 R1, R1, 0x40, RZ ;
        FADD R8, R16, R16 ;
        EXIT ;
    """
    )
    assert root(probe, "FADD") == "R16 at entry"


def test_a_kernel_without_a_stack_has_no_slots(listing):
    probe = listing("FADD R1, R2, R3 ;\nEXIT ;")
    assert probe.ssa.slots == {}
    assert {r.file for r in probe.ssa.register} <= {"R", "UR", "P", "UP"}
