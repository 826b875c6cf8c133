"""Fact "loops": natural loops and how they nest."""

from __future__ import annotations

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from sassql.reading.listing import read_listing


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


@st.composite
def programs(draw):
    """Listings of up to 14 blocks that end in branches to anywhere."""
    count = draw(st.integers(1, 14))
    lines = []
    for block in range(count):
        guard = draw(st.sampled_from(["", "@P0 "]))
        body = draw(st.sampled_from([f"BRA `(.L_x_{draw(st.integers(0, count - 1))})"] * 5 + ["EXIT", "NOP"]))
        lines.append(f".L_x_{block}:\n{guard}{body} ;")
    return "\n".join(lines)


@settings(max_examples=300, deadline=None)
@given(programs())
def test_loops_are_what_back_edges_enclose(text):
    """By definition: a back edge's target dominates its start; the loop is what reaches it without the target."""
    modules, _ = read_listing(text, arch="sm_90")
    kernel = modules[0].kernels[0]
    blocks, tree, loops = kernel.fact("blocks"), kernel.fact("dominators"), kernel.fact("loops")
    graph = nx.DiGraph()
    graph.add_nodes_from(b for b in range(len(blocks)) if blocks.reachable[b])
    graph.add_edges_from((b, t) for b in graph.nodes for t in blocks.successors[b])
    back = [(b, t) for b, t in graph.edges if tree.dominates(t, b)]
    expected = {}
    for latch, header in back:
        without = graph.copy()
        without.remove_node(header)
        before = nx.ancestors(without, latch) if latch != header else set()
        expected.setdefault(header, {header}).update({latch} | before)
    assert {loop.header: set(loop.blocks) for loop in loops.loops} == expected
    for loop in loops.loops:
        assert set(loop.latches) == {b for b, t in back if t == loop.header}
        assert set(loop.exits) == {
            (b, t) for b in loop.blocks for t in blocks.successors[b] if t not in loop.blocks
        }
    for block in graph.nodes:
        around = [n for n, loop in enumerate(loops.loops) if block in loop.blocks]
        assert sorted(loops.enclosing(block)) == around
        assert [len(loops[n].blocks) for n in loops.enclosing(block)] == sorted(
            len(loops[n].blocks) for n in around
        )
    cut = graph.copy()
    cut.remove_edges_from(back)
    cyclic = [c for c in nx.strongly_connected_components(cut) if len(c) > 1]
    assert bool(loops.irreducible) == bool(cyclic), "a cycle without a back edge is told, and nothing else"


@settings(max_examples=300, deadline=None)
@given(programs())
def test_postdominators_are_what_every_way_out_goes_through(text):
    modules, _ = read_listing(text, arch="sm_90")
    kernel = modules[0].kernels[0]
    blocks, after = kernel.fact("blocks"), kernel.fact("postdominators")
    ways_out = {b for b in range(len(blocks)) if not blocks.successors[b]} | set(blocks.leaving)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(blocks)))
    graph.add_edges_from((b, t) for b in range(len(blocks)) for t in blocks.successors[b])
    leads_out = {b for b in graph for w in ways_out if nx.has_path(graph, b, w)}
    always = {b for b in leads_out if nx.descendants(graph, b) <= leads_out}  # no endless loop behind
    for a in range(len(blocks)):
        without = graph.copy()
        without.remove_node(a)
        for b in sorted(b for b in always - {a} if blocks.reachable[b]):
            free = any(w in without and nx.has_path(without, b, w) for w in ways_out)
            assert after.dominates(a, b) == (not free), (a, b)
