"""Boxes do not overlap, edges go down, and cycles do no harm."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from sassql.report.layout import layout


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 14))
    node = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=30))
    sizes = draw(st.lists(st.tuples(st.floats(10, 200), st.floats(10, 50)), min_size=count, max_size=count))
    return sizes, edges


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_boxes_are_apart_and_in_the_picture(graph):
    sizes, edges = graph
    placed = layout(sizes, edges)
    for (one, (ax, ay)), (two, (bx, by)) in combinations(enumerate(placed.centres), 2):
        beside = abs(ax - bx) >= (sizes[one][0] + sizes[two][0]) / 2
        below = abs(ay - by) >= (sizes[one][1] + sizes[two][1]) / 2
        assert beside or below
    for (x, y), (width, height) in zip(placed.centres, sizes, strict=True):
        assert x - width / 2 >= 0 and x + width / 2 <= placed.width
        assert y - height / 2 >= 0 and y + height / 2 <= placed.height


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_edges_without_cycles_go_down(graph):
    sizes, edges = graph
    edges = [(min(e), max(e)) for e in edges if e[0] != e[1]]
    placed = layout(sizes, edges)
    for (source, target), route in zip(edges, placed.routes, strict=True):
        assert placed.centres[source][1] < placed.centres[target][1]
        heights = [y for _, y in route]
        assert heights == sorted(heights)


def test_nothing_to_place():
    assert layout([], []).centres == []
