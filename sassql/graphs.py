"""Graphs of a kernel for other programs: DOT for Graphviz, GraphML for everything else.

    >>> import networkx as nx
    >>> print(to_dot(nx.DiGraph([(0x10, 0x20)])), end="")
    digraph {
      "0x10";
      "0x20";
      "0x10" -> "0x20";
    }

`kernel.cfg`, `kernel.callgraph`, `kernel.dataflow` and :func:`loop_tree` are the graphs;
docs/facts.md lists their attributes. Names come from binaries and may hold anything: both
formats escape what has a meaning in them.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sassql.model.kernel import Kernel

if TYPE_CHECKING:
    import networkx as nx

    from sassql.facts.blocks import Blocks
    from sassql.facts.counters import Counters
    from sassql.facts.loops import Loops

_KEYWORDS = frozenset({"node", "edge", "graph", "digraph", "subgraph", "strict"})

__all__ = ["block_labels", "loop_labels", "loop_tree", "statement_labels", "to_dot", "to_graphml"]

ADDRESSES = frozenset({"start", "end", "address"})
"""Attributes that are bytes in the kernel's section: DOT shows them in hexadecimal."""


def to_dot(graph: nx.Graph[Any], *, name: str = "", labels: Mapping[Any, str] | None = None) -> str:
    """The graph in the language of Graphviz.

    Attributes of nodes and edges are kept under their names; Graphviz draws those that it knows.
    An edge is labelled with the register that it carries, and dashed where the definition may
    not have happened.

    Args:
        graph: one of a kernel's graphs, or any networkx graph.
        name: name of the graph, any text.
        labels: by node, what is written in it; lines end in newlines and are set from the left.
    """
    directed = graph.is_directed()
    arrow = "->" if directed else "--"
    lines = [f"{'digraph' if directed else 'graph'} {_quoted(name) + ' ' if name else ''}{{"]
    lines += [f"  {_key(key)}={_value(key, value)};" for key, value in graph.graph.items()]
    if labels:
        lines.append('  node [shape=box, fontname="monospace"];')
    for node, data in graph.nodes(data=True):
        shown = _attributes(data)
        if labels and node in labels:
            shown.append(f"label={_lines(labels[node])}")
        lines.append(f"  {_identifier(node)}{_bracketed(shown)};")
    for source, target, data in graph.edges(data=True):
        shown = [*_attributes(data), *_drawing(data)]
        lines.append(f"  {_identifier(source)} {arrow} {_identifier(target)}{_bracketed(shown)};")
    return "\n".join([*lines, "}", ""])


def to_graphml(graph: nx.Graph[Any]) -> str:
    """The graph as GraphML, written by networkx.

    GraphML has numbers, booleans and text: a list (``unresolved``) is written as its
    addresses with blanks between. ``networkx.parse_graphml(text, node_type=int)`` reads it back
    (``str`` for the call graph; with ``force_multigraph=True`` for those that are multigraphs).
    """
    import networkx as nx  # noqa: PLC0415  (a fifth of a second that most calls do not need)

    plain = graph.__class__()
    plain.graph.update({key: _plain(value) for key, value in graph.graph.items()})
    plain.add_nodes_from((_plain(node), _plain_data(data)) for node, data in graph.nodes(data=True))
    plain.add_edges_from(
        (_plain(source), _plain(target), _plain_data(data)) for source, target, data in graph.edges(data=True)
    )
    out = io.BytesIO()
    nx.write_graphml(plain, out)
    return out.getvalue().decode("utf-8")


def loop_tree(kernel: Kernel) -> nx.DiGraph[int]:
    """The loops of a kernel, by the address of their header; edges go to the loops directly inside.

    Node attributes: ``number``, as in "loops" and in ``k1``; ``start``, the header's address, and
    ``end``, that of the loop's last instruction; ``depth``, 1 for an outermost loop; ``blocks``, how many;
    ``kind``: counted, spin, padding or unknown; ``trips``, how often the header runs each
    time the loop is entered, -1 where that is no known number.
    """
    import networkx as nx  # noqa: PLC0415  (a fifth of a second that most calls do not need)

    blocks: Blocks = kernel.fact("blocks")
    loops: Loops = kernel.fact("loops")
    counters: Counters = kernel.fact("counters")
    addresses = kernel.addresses.tolist()
    headers = [addresses[int(blocks.start[loop.header])] for loop in loops.loops]
    graph: nx.DiGraph[int] = nx.DiGraph()
    for number, loop in enumerate(loops.loops):
        trips = counters[number].trips
        graph.add_node(
            headers[number],
            number=number,
            start=headers[number],
            end=max(addresses[int(blocks.end[block]) - 1] for block in loop.blocks),
            depth=loop.depth,
            blocks=len(loop.blocks),
            kind=counters[number].kind.value,
            trips=-1 if trips is None else trips,
        )
        if loop.parent >= 0:
            graph.add_edge(headers[loop.parent], headers[number])
    return graph


def loop_labels(kernel: Kernel) -> dict[int, str]:
    """What each loop counts and what keeps it going: ``labels`` of `to_dot` for `loop_tree`."""
    counters: Counters = kernel.fact("counters")
    found: dict[int, str] = {}
    for node, data in loop_tree(kernel).nodes(data=True):
        told = counters[data["number"]]
        lines = [f"loop {data['number']}  {data['start']:#06x}-{data['end']:#06x}  {data['kind']}"]
        lines += [f"{c.register} from {c.init} by {c.step}" for c in told.counters]
        lines += [f"while {bound}" for bound in told.bounds]
        lines += [f"{told.trips} times"] if told.trips is not None else []
        found[node] = "\n".join(lines)
    return found


def block_labels(kernel: Kernel) -> dict[int, str]:
    """The statements of each block with their addresses: ``labels`` of `to_dot` for `kernel.cfg`."""
    instructions = list(kernel.instructions)
    found: dict[int, str] = {}
    blocks: Blocks = kernel.fact("blocks")
    for start, end in zip(blocks.start.tolist(), blocks.end.tolist(), strict=True):
        told = [f"{ins.address:#06x}  {ins.text}\n" for ins in instructions[start:end]]
        found[instructions[start].address] = "".join(told)
    return found


def statement_labels(kernel: Kernel) -> dict[int, str]:
    """The statement of each instruction with its address: ``labels`` of `to_dot` for `kernel.dataflow`."""
    return {ins.address: f"{ins.address:#06x}  {ins.text}\n" for ins in kernel.instructions}


def _plain(value: object) -> Any:  # noqa: ANN401  (what GraphML takes)
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return " ".join(f"{v:#x}" if isinstance(v, int) else _visible(str(v)) for v in value)
    return _visible(str(value))


def _plain_data(data: Mapping[str, object]) -> dict[str, Any]:
    return {key: _plain(value) for key, value in data.items()}


def _visible(text: str) -> str:
    r"""Control characters and halves of surrogate pairs, which no XML may hold, as ``\x01``."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def _identifier(node: object) -> str:
    return f'"{node:#x}"' if isinstance(node, int) else _quoted(str(node))


def _quoted(text: str) -> str:
    return '"' + _escaped(text).replace("\n", "\\n") + '"'


def _lines(text: str) -> str:
    """Text whose lines begin at the left."""
    return '"' + "".join(f"{_escaped(line)}\\l" for line in text.removesuffix("\n").split("\n")) + '"'


def _escaped(text: str) -> str:
    return _visible(text).replace("\\", "\\\\").replace('"', '\\"')


def _value(key: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f'"{value:#x}"' if key in ADDRESSES else str(value)
    return _quoted(str(_plain(value)))


def _attributes(data: Mapping[str, object]) -> list[str]:
    return [f"{_key(key)}={_value(key, value)}" for key, value in data.items()]


def _key(key: str) -> str:
    """The name of an attribute; DOT has a few words that are no names."""
    plain = key.isascii() and key.isidentifier() and key.lower() not in _KEYWORDS
    return key if plain else _quoted(key)


def _drawing(data: Mapping[str, object]) -> Iterator[str]:
    """How Graphviz draws an edge of the data flow."""
    if "register" in data:
        yield f"label={_quoted(str(data['register']))}"
    if data.get("guarded"):
        yield "style=dashed"


def _bracketed(attributes: list[str]) -> str:
    return f" [{', '.join(attributes)}]" if attributes else ""
