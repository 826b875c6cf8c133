"""Fact "blocks": where basic blocks begin and end, and what follows what."""

from __future__ import annotations

import numpy as np


def test_labels_that_nobody_names_do_not_split(listing):
    probe = listing("""
        SHFL.BFLY PT, R3, R0, 0x10, 0x1f ;
.L_x_1:
        FADD R3, R3, R0 ;
.L_x_2:
        SHFL.BFLY PT, R2, R3, 0x8, 0x1f ;
.L_x_3:
        FADD R2, R3, R2 ;
        EXIT ;
    """)
    assert len(probe.blocks) == 1
    assert probe.blocks.successors == ((),)


def test_targets_split_and_so_do_branches(listing):
    probe = listing("""
        MOV R1, RZ ;
    @P0 BRA `(.L_x_1) ;
        MOV R2, RZ ;
.L_x_1:
        MOV R3, RZ ;
        EXIT ;
    """)
    assert probe.blocks.start.tolist() == [0, 2, 3]
    assert probe.blocks.end.tolist() == [2, 3, 5]
    assert probe.edges() == {(0, 2), (0, 3), (2, 3)}
    assert probe.blocks.predecessors == ((), (0,), (0, 1))


def test_a_reconvergence_point_is_neither_edge_nor_split(listing):
    probe = listing("""
        BSSY B0, `(.L_x_1) ;
    @P0 BRA `(.L_x_0) ;
        FADD R1, R1, R2 ;
.L_x_0:
        BSYNC B0 ;
.L_x_1:
        FADD R1, R1, R1 ;
        EXIT ;
    """)
    assert probe.blocks.start.tolist() == [0, 2, 3]
    assert probe.edges() == {(0, 2), (0, 3), (2, 3)}


def test_a_uniform_predicate_operand_makes_a_branch_conditional(listing):
    probe = listing("""
.L_x_0:
        FADD R1, R1, R2 ;
        BRA.U UP0, `(.L_x_0) ;
        BRA.U !UP1, `(.L_x_0) ;
        BRA.DIV ~URZ, `(.L_x_0) ;
        BRA P1, `(.L_x_0) ;
        BRA `(.L_x_0) ;
    """)
    assert probe.edges() == {(0, 0), (0, 2), (2, 0), (2, 3), (3, 0), (3, 4), (4, 0), (4, 5), (5, 0)}


def test_guarded_exits_and_returns_fall_through(listing):
    probe = listing("""
    @P0 EXIT ;
        EXIT P1 ;
    @!P0 RET.REL.NODEC R8 `(kernel) ;
        RET.REL.NODEC R8 `(kernel) ;
        NOP ;
    """)
    assert probe.edges() == {(0, 1), (1, 2), (2, 3)}
    assert probe.blocks.reachable == (True, True, True, True, False)


def test_what_never_jumps_has_no_edge_and_its_far_side_is_dead(listing):
    probe = listing("""
    @!PT BRA `(.L_x_2) ;
        MOV R1, RZ ;
.L_x_1:
        FADD R1, R1, R1 ;
    @P0 BRA `(.L_x_1) ;
        EXIT ;
.L_x_2:
        BRA `(.L_x_1) ;
    """)
    loop, dead = probe.block("FADD"), probe.block("BRA")
    assert not probe.blocks.reachable[dead]
    assert probe.blocks.successors[dead] == (loop,)
    assert dead not in probe.blocks.predecessors[loop]


def test_padding_belongs_to_a_block_and_nobody_reaches_it(listing):
    probe = listing("""
        EXIT ;
.L_x_0:
        BRA `(.L_x_0) ;
        NOP ;
        NOP ;
    """)
    blocks = probe.blocks
    assert blocks.of.tolist() == [0, 1, 2, 2]
    assert blocks.reachable == (True, False, False)
    assert (blocks.start.tolist(), blocks.end.tolist()) == ([0, 1, 2], [1, 2, 4])


def test_an_indirect_branch_goes_where_its_annotation_says(listing):
    probe = listing("""
        BRX R2 -0x10 (*"BRANCH_TARGETS .L_x_1,.L_x_2"*) ;
.L_x_1:
        MOV R1, RZ ;
        EXIT ;
.L_x_2:
        EXIT ;
    """)
    assert probe.edges() == {(0, 1), (0, 3)}
    assert probe.blocks.unresolved == ()


def test_an_indirect_branch_without_targets_is_unresolved(listing):
    probe = listing("""
        BRX R2 -0x10 ;
        MOV R1, RZ ;
        EXIT ;
    """)
    assert probe.blocks.unresolved == (0,)
    assert probe.edges() == set()
    assert probe.blocks.reachable == (True, True), "nobody can say that the rest is dead"
    assert probe.kernel.cfg.graph["unresolved"] == [0]


def test_a_branch_out_of_the_section_is_unresolved(listing):
    probe = listing("""
    @P0 BRA `(elsewhere) ;
        EXIT ;
    """)
    assert probe.blocks.unresolved == (0,)
    assert probe.edges() == {(0, 1)}


WITH_FUNCTION = """
//--------------------- .text.k --------------------------
        .other k,@"STO_CUDA_ENTRY STV_DEFAULT"
        .size k,(.L_x_9 - k)
        .size $k$half,(.L_x_9 - $k$half)
k:
        MOV R4, 0x60 ;
        CALL.REL.NOINC `($k$half) ;
        FADD R1, R5, R5 ;
        CALL.ABS.NOINC `(outside) ;
        CALL.REL.NOINC R6 `(k) ;
        EXIT ;
$k$half:
        FMUL R5, R5, 0.5 ;
    @P0 CALL.REL.NOINC `($k$half) ;
        RET.REL.NODEC R4 `(k) ;
.L_x_9:
"""


def test_calls_fall_through_and_functions_are_apart(listing):
    probe = listing(WITH_FUNCTION)
    assert probe.blocks.start.tolist() == [0, 6]
    assert probe.edges() == set()
    assert probe.blocks.entries == (0, 1)
    assert probe.blocks.function[0] == -1
    assert probe.kernel.functions[probe.blocks.function[1]].name == "$k$half"
    assert [(c.index, c.entry, c.symbol) for c in probe.blocks.calls] == [
        (1, 1, ""),
        (3, None, "outside"),
        (4, None, ""),
        (7, 1, ""),
    ]


def test_graphs_for_people(listing):
    kernel = listing(WITH_FUNCTION).kernel
    assert dict(kernel.cfg.nodes(data=True)) == {
        0x0: {"start": 0x0, "end": 0x50, "function": "k", "reachable": True},
        0x60: {"start": 0x60, "end": 0x80, "function": "$k$half", "reachable": True},
    }
    assert sorted(kernel.callgraph.edges(data="address")) == [
        ("$k$half", "$k$half", 0x70),
        ("k", "$k$half", 0x10),
        ("k", "outside", 0x30),
    ]
    assert kernel.callgraph.graph["unresolved"] == [0x40]


def test_functions_of_a_section_without_an_entry(listing):
    """A device function in a section of its own; the one inside it is apart all the same."""
    probe = listing(WITH_FUNCTION.replace('        .other k,@"STO_CUDA_ENTRY STV_DEFAULT"\n', ""))
    names = [probe.kernel.functions[number].name for number in probe.blocks.function]
    assert names == ["k", "$k$half"]


def test_a_call_to_a_mere_label_is_a_jump(listing):
    """sm_80 leaves loops this way; no return can be reached from there."""
    probe = listing("""
.L_x_0:
        FADD R1, R1, R2 ;
    @P0 CALL.REL.NOINC `(.L_x_1) ;
        BRA `(.L_x_0) ;
.L_x_1:
        EXIT ;
    """)
    assert probe.edges() == {(0, 2), (0, 3), (2, 0)}
    assert probe.blocks.calls == ()


def test_a_call_to_a_label_from_which_a_return_is_reached_is_a_call(listing):
    probe = listing("""
        CALL.REL.NOINC `(.L_x_1) ;
        EXIT ;
.L_x_1:
    @P0 BRA `(.L_x_2) ;
        FADD R1, R1, R2 ;
.L_x_2:
        RET.REL.NODEC R8 `(k) ;
    """)
    assert [(c.index, c.entry) for c in probe.blocks.calls] == [(0, 1)]
    assert probe.edges() == {(2, 3), (2, 4), (3, 4)}
    assert [name for _, name in probe.kernel.callgraph.edges()] == ["kernel+0x20"]


def test_a_call_to_a_label_whose_return_is_reached_by_another_one(listing):
    """Nothing says where functions begin: both may come back, so both are calls."""
    probe = listing("""
        CALL.REL.NOINC `(.L_x_0) ;
        EXIT ;
.L_x_0:
        FADD R1, R1, R2 ;
    @P0 CALL.REL.NOINC `(.L_x_1) ;
        BRA `(.L_x_0) ;
.L_x_1:
        RET.REL.NODEC R8 `(k) ;
    """)
    assert [c.index for c in probe.blocks.calls] == [0, 3]


def test_a_jumping_call_inside_a_function_that_returns(listing):
    probe = listing("""
//--------------------- .text.k --------------------------
        .other k,@"STO_CUDA_ENTRY STV_DEFAULT"
        .size k,(.L_x_9 - k)
        .size $k$f,(.L_x_9 - $k$f)
k:
        CALL.REL.NOINC `($k$f) ;
        EXIT ;
$k$f:
        FADD R1, R1, R2 ;
    @P0 CALL.REL.NOINC `(.L_x_1) ;
        BRA `($k$f) ;
.L_x_1:
        RET.REL.NODEC R8 `(k) ;
.L_x_9:
    """)
    assert [c.index for c in probe.blocks.calls] == [0]
    assert probe.edges() == {(2, 4), (2, 5), (4, 2)}


def test_an_unknown_branch_ends_its_block_and_is_unresolved(listing):
    probe = listing("""
        FOO R1, `(.L_x_1) ;
        MOV R1, RZ ;
.L_x_1:
        EXIT ;
    """)
    # no table says that FOO names a place, so its label is no target here; it may lead anywhere all the same
    assert probe.blocks.unresolved == (0,)
    assert (0, 1) in probe.edges()


def test_arrays_agree_with_each_other(everywhere):
    for kernel in everywhere.module.kernels:
        blocks = kernel.fact("blocks")
        assert blocks.start[0] == 0
        assert blocks.end[-1] == len(kernel.form_ids)
        assert np.array_equal(blocks.end[:-1], blocks.start[1:])
        assert np.array_equal(np.repeat(np.arange(len(blocks)), blocks.end - blocks.start), blocks.of)
        live = {(b, t) for b, ts in enumerate(blocks.successors) for t in ts if blocks.reachable[b]}
        assert live <= {(p, b) for b, ps in enumerate(blocks.predecessors) for p in ps}
