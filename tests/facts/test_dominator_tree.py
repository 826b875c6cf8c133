"""Facts "dominators" and "postdominators", against networkx and by hand."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from sassql.facts.blocks import reached
from sassql.facts.dominators import NO_BLOCK, dominator_tree, frontiers, reverse_postorder

DIAMOND = """
    @P0 BRA `(.L_x_1) ;
        MOV R1, RZ ;
        BRA `(.L_x_2) ;
.L_x_1:
        MOV R1, RZ ;
.L_x_2:
        EXIT ;
"""


def test_a_diamond(listing):
    probe = listing(DIAMOND)
    tree = probe.kernel.fact("dominators")
    assert tree.immediate == (NO_BLOCK, 0, 0, 0)
    assert tree.roots == (0,)
    assert [tree.dominates(0, b) for b in range(4)] == [True] * 4
    assert not tree.dominates(1, 3)
    assert not tree.dominates(3, 0)
    assert tree.dominates(2, 2)
    after = probe.kernel.fact("postdominators")
    assert after.immediate == (3, 3, 3, NO_BLOCK)
    assert after.dominates(3, 0)
    assert not after.dominates(1, 0)


def test_an_early_exit_is_no_postdominator(listing):
    probe = listing("""
        MOV R1, RZ ;
    @P0 EXIT ;
        MOV R2, RZ ;
    @P1 BRA `(.L_x_1) ;
        MOV R3, RZ ;
.L_x_1:
        EXIT ;
    """)
    after = probe.kernel.fact("postdominators")
    assert [after.dominates(3, b) for b in range(4)] == [False, True, True, True]


def test_an_endless_loop_has_a_place_in_the_postdominator_tree(listing):
    probe = listing("""
    @P0 BRA `(.L_x_1) ;
        EXIT ;
.L_x_1:
        FADD R1, R1, R1 ;
        BRA `(.L_x_1) ;
    """)
    after = probe.kernel.fact("postdominators")
    assert after.immediate[0] == NO_BLOCK, "the loop never gets to the exit"
    assert after.dominates(2, 2)


def test_functions_do_not_dominate_each_other(listing):
    probe = listing("""
//--------------------- .text.k --------------------------
        .other k,@"STO_CUDA_ENTRY STV_DEFAULT"
        .size k,(.L_x_9 - k)
        .size $k$f,(.L_x_9 - $k$f)
k:
        CALL.REL.NOINC `($k$f) ;
        EXIT ;
$k$f:
        RET.REL.NODEC R4 `(k) ;
.L_x_9:
    """)
    assert probe.kernel.fact("dominators").immediate == (NO_BLOCK, NO_BLOCK)


@st.composite
def graphs(draw):
    """Any graph of up to 12 blocks, with roots from which everything is reached."""
    count = draw(st.integers(1, 12))
    blocks = st.integers(0, count - 1)
    following = draw(st.lists(st.lists(blocks, max_size=3, unique=True), min_size=count, max_size=count))
    roots = draw(st.lists(blocks, min_size=1, max_size=3, unique=True))
    for block in range(count):
        if not reached(roots, following)[block]:
            roots.append(block)
    before = [[b for b in range(count) if t in following[b]] for t in range(count)]
    return roots, following, before


@given(graphs())
def test_immediate_dominators_are_those_of_networkx(graph):
    roots, following, before = graph
    tree = dominator_tree(roots, following, before)
    expected = nx.immediate_dominators(with_root(roots, following), -1)
    assert dict(enumerate(tree.immediate)) == {b: d for b, d in expected.items() if b != -1}


@given(graphs())
def test_frontiers_are_those_of_networkx(graph):
    roots, following, before = graph
    tree = dominator_tree(roots, following, before)
    expected = nx.dominance_frontiers(with_root(roots, following), -1)
    expected.pop(-1, None)
    assert dict(enumerate(frontiers(tree, roots, before))) == expected


@given(graphs())
def test_dominance_is_what_is_lost_when_a_block_is_taken_away(graph):
    roots, following, before = graph
    tree = dominator_tree(roots, following, before)
    for a in range(len(following)):
        cut = [[t for t in ts if t != a] if b != a else [] for b, ts in enumerate(following)]
        seen = reached([r for r in roots if r != a], cut)
        assert [tree.dominates(a, b) for b in range(len(following))] == [
            b == a or not seen[b] for b in range(len(following))
        ]


@given(graphs())
def test_orders(graph):
    roots, following, before = graph
    tree = dominator_tree(roots, following, before)
    place = {block: i for i, block in enumerate(tree.order)}
    assert sorted(tree.order) == list(range(len(following)))
    assert all(place[d] < place[b] for b, d in enumerate(tree.immediate) if d != NO_BLOCK)
    assert sorted(reverse_postorder(roots, following)) == list(range(len(following)))


def with_root(roots, following):
    graph = nx.DiGraph()
    graph.add_edges_from((-1, root) for root in roots)
    graph.add_edges_from((b, t) for b, ts in enumerate(following) for t in ts)
    return graph
