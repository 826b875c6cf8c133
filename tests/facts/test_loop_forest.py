"""Fact "loops": natural loops and how they nest."""

from __future__ import annotations


def test_nested_loops(listing):
    probe = listing("""
        MOV R0, RZ ;
.L_x_0:
        MOV R1, RZ ;
.L_x_1:
        FADD R1, R1, R2 ;
    @P0 BRA `(.L_x_1) ;
        FADD R0, R0, R1 ;
    @P1 BRA `(.L_x_0) ;
        EXIT ;
    """)
    loops = probe.kernel.fact("loops")
    outer, inner = loops.loops
    assert (outer.header, outer.blocks, outer.depth, outer.parent) == (1, (1, 2, 3), 1, -1)
    assert (inner.header, inner.blocks, inner.depth, inner.parent) == (2, (2,), 2, 0)
    assert (outer.latches, outer.exits) == ((3,), ((3, 4),))
    assert (inner.latches, inner.exits) == ((2,), ((2, 3),))
    assert loops.of == (-1, 0, 1, 0, -1)
    assert loops.enclosing(2) == (1, 0)
    assert loops.enclosing(4) == ()
    assert loops.irreducible == ()


def test_two_back_edges_to_one_header_are_one_loop(listing):
    probe = listing("""
.L_x_0:
        FADD R1, R1, R2 ;
    @P0 BRA `(.L_x_0) ;
    @P2 EXIT ;
        FADD R1, R1, R3 ;
    @P1 BRA `(.L_x_0) ;
        EXIT ;
    """)
    (loop,) = probe.kernel.fact("loops").loops
    assert loop.latches == (0, 2)
    assert loop.blocks == (0, 1, 2)
    assert loop.exits == ((2, 3),), "an exit of the thread is no edge"


def test_a_loop_that_a_jumping_call_leaves(listing):
    probe = listing("""
.L_x_0:
        FADD R1, R1, R2 ;
    @P0 CALL.REL.NOINC `(.L_x_1) ;
        BRA `(.L_x_0) ;
.L_x_1:
        EXIT ;
    """)
    (loop,) = probe.kernel.fact("loops").loops
    assert loop.blocks == (0, 1)
    assert loop.exits == ((0, 2),)


def test_padding_is_no_loop(listing):
    probe = listing("""
        EXIT ;
.L_x_0:
        BRA `(.L_x_0) ;
    """)
    assert len(probe.kernel.fact("loops")) == 0


def test_dead_code_is_no_second_way_into_a_loop(listing):
    probe = listing("""
    @!PT BRA `(.L_x_2) ;
.L_x_1:
        FADD R1, R1, R1 ;
.L_x_3:
        FADD R1, R1, R1 ;
    @P0 BRA `(.L_x_1) ;
        EXIT ;
.L_x_2:
        BRA `(.L_x_3) ;
    """)
    loops = probe.kernel.fact("loops")
    assert [probe.block("FADD") in loop.blocks for loop in loops.loops] == [True]
    assert loops.irreducible == ()


def test_a_cycle_with_two_ways_in_is_told(listing):
    probe = listing("""
    @P0 BRA `(.L_x_1) ;
.L_x_0:
        FADD R1, R1, R1 ;
.L_x_1:
        FADD R1, R1, R2 ;
    @P1 BRA `(.L_x_0) ;
        EXIT ;
    """)
    loops = probe.kernel.fact("loops")
    assert len(loops) == 0
    assert loops.irreducible == ((2, 1),) or loops.irreducible == ((1, 2),)
