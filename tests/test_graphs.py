"""Graphs for other programs: DOT is read by a strict reader, GraphML by networkx, and both say what the graph says."""

from __future__ import annotations

import networkx as nx
import pytest
from dot_text import read_dot
from hypothesis import given, settings
from hypothesis import strategies as st

from sassql import graphs
from sassql.reading.listing import read_listing


def kernels(compiled):
    found = {k.name: k for k in compiled("sm_90").module.kernels}
    return [*found.values(), *compiled("sm_90", "small.cu").module.kernels]


def everything(kernel):
    return {
        "cfg": (kernel.cfg, graphs.block_labels(kernel)),
        "calls": (kernel.callgraph, None),
        "dataflow": (kernel.dataflow, graphs.statement_labels(kernel)),
        "loops": (graphs.loop_tree(kernel), graphs.loop_labels(kernel)),
    }


def named(node):
    return hex(node) if isinstance(node, int) else node


def plain(graph):
    """The graph as GraphML can say it."""
    copy = graph.copy()
    for key, value in copy.graph.items():
        copy.graph[key] = " ".join(map(hex, value)) if isinstance(value, list) else value
    return copy


@pytest.mark.parametrize("what", ["cfg", "calls", "dataflow", "loops"])
def test_dot_has_every_node_and_edge(compiled, what):
    seen = 0
    for kernel in kernels(compiled):
        graph, labels = everything(kernel)[what]
        for text in (graphs.to_dot(graph), graphs.to_dot(graph, name=kernel.demangled, labels=labels)):
            read = read_dot(text)
            assert list(read.nodes) == [named(n) for n in graph.nodes]
            assert sorted((one, two) for one, two, _ in read.edges) == sorted(
                (named(a), named(b)) for a, b in graph.edges()
            )
            seen += len(read.nodes)
    assert seen > 5


@pytest.mark.parametrize("what", ["cfg", "calls", "dataflow", "loops"])
def test_graphml_is_read_back_as_the_same_graph(compiled, what):
    for kernel in kernels(compiled):
        graph, _ = everything(kernel)[what]
        back = nx.parse_graphml(
            graphs.to_graphml(graph),
            node_type=str if what == "calls" else int,
            force_multigraph=graph.is_multigraph(),
        )
        want = plain(graph)
        assert type(back) is type(want)
        assert dict(back.nodes(data=True)) == dict(want.nodes(data=True))
        assert sorted(map(str, back.edges(data=True))) == sorted(map(str, want.edges(data=True)))
        assert {
            k: v for k, v in back.graph.items() if k not in ("node_default", "edge_default")
        } == want.graph


hostile = st.text(
    st.one_of(st.sampled_from('"\\{}<>;&|\n\r\0\t\x1b$`é\u202e'), st.characters(exclude_categories=["Cs"])),
    max_size=12,
)


@settings(max_examples=200, deadline=None)
@given(
    names=st.lists(hostile.filter(lambda n: n not in ("", "node")), min_size=1, max_size=4, unique=True),
    title=hostile,
)
def test_hostile_names(names, title):
    graph = nx.MultiDiGraph()
    visible = [graphs._visible(name) for name in names]
    for name in names:
        graph.add_edge(names[0], name, register=name, guarded=True)
        graph.add_node(name, function=name)
    read = read_dot(graphs.to_dot(graph, name=title))
    labelled = read_dot(graphs.to_dot(graph, labels={n: n for n in names}))
    assert list(read.nodes) == list(labelled.nodes) == visible
    assert read.name == graphs._visible(title)
    assert [edge[:2] for edge in read.edges] == [(visible[0], v) for v in visible]
    assert all(data["label"] == v for (_, v, data) in read.edges)
    assert [d["label"] for d in labelled.nodes.values()] == [
        graphs._visible(name.removesuffix("\n")) + "\n" for name in names
    ]
    back = nx.parse_graphml(graphs.to_graphml(graph), force_multigraph=True)
    assert set(back.nodes) == {v.replace("\r", "\n") for v in visible}


def test_the_loop_tree():
    modules, _ = read_listing(
        """
        .target sm_90
.L_1:
        IADD3 R2, R2, 0x1, RZ ;
.L_2:
        IADD3 R3, R3, 0x1, RZ ;
        ISETP.LT.AND P0, PT, R3, 0x8, PT ;
        @P0 BRA `(.L_2) ;
        ISETP.LT.AND P1, PT, R2, 0x4, PT ;
        @P1 BRA `(.L_1) ;
        EXIT ;
        """,
        file="loops.sass",
    )
    graph = graphs.loop_tree(modules[0].kernels[0])

    assert list(graph.edges) == [(0x0, 0x10)]
    assert [data["depth"] for _, data in graph.nodes(data=True)] == [1, 2]
    assert graph.nodes[0x10]["number"] == 1 and graph.nodes[0x0]["end"] == 0x50
