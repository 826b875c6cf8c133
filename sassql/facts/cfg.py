"""Facts "cfg" and "callgraph": the blocks and calls of a kernel as networkx graphs.

They are for people and other programs; the analyses here use the arrays of "blocks".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sassql.facts.blocks import Blocks
from sassql.model.kernel import Kernel, provides

if TYPE_CHECKING:
    import networkx as nx


@provides("cfg")
def cfg(kernel: Kernel) -> nx.DiGraph[int]:
    """One node per block, named by its start address.

    Node attributes: ``start`` and ``end``, addresses of the first and last instruction;
    ``function``; ``reachable``, false for padding and the like. Edges are branches and
    fall-through, over calls too. ``graph["unresolved"]`` lists the addresses of branches
    whose targets are not all known: edges are missing there.
    """
    found: Blocks = kernel.fact("blocks")
    addresses = kernel.addresses.tolist()
    first = [addresses[i] for i in found.start.tolist()]
    import networkx as nx  # noqa: PLC0415  (a fifth of a second that most calls do not need)

    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.graph["unresolved"] = [addresses[i] for i in found.unresolved]
    for block, end in enumerate(found.end.tolist()):
        graph.add_node(
            first[block],
            start=first[block],
            end=addresses[end - 1],
            function=_function_name(kernel, found.function[block]),
            reachable=found.reachable[block],
        )
    for block, following in enumerate(found.successors):
        graph.add_edges_from((first[block], first[target]) for target in following)
    return graph


@provides("callgraph")
def callgraph(kernel: Kernel) -> nx.MultiDiGraph[str]:
    """One node per function, and an edge per call with its ``address``.

    Functions of the section are nodes even if nobody calls them; others are named by their
    symbol, and a place without a symbol by its address. ``graph["unresolved"]`` lists the
    addresses of calls whose target is computed: edges are missing there.
    """
    found: Blocks = kernel.fact("blocks")
    addresses = kernel.addresses.tolist()
    names = {kernel.addresses[0]: kernel.name} if addresses else {}
    names.update({f.start: f.name for f in kernel.functions if not f.entry})
    import networkx as nx  # noqa: PLC0415  (a fifth of a second that most calls do not need)

    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    graph.add_nodes_from(dict.fromkeys(names.values()))
    graph.graph["unresolved"] = [addresses[c.index] for c in found.calls if c.entry is None and not c.symbol]
    for call in found.calls:
        caller = _function_name(kernel, found.function[int(found.of[call.index])])
        callee = call.symbol
        if call.entry is not None:
            place = addresses[found.start[call.entry]]
            callee = names.get(place, f"{kernel.name}+{place:#x}")
        if callee:
            graph.add_edge(caller, callee, address=addresses[call.index])
    return graph


def _function_name(kernel: Kernel, number: int) -> str:
    return kernel.name if number < 0 else kernel.functions[number].name
