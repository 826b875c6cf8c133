"""Fact "dataflow": definitions to uses as a networkx graph, φ and ψ taken apart.

It is for people and other programs; the analyses here use the values of "ssa".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sassql.facts.values import SSA, ValueKind
from sassql.model.kernel import Kernel, provides

if TYPE_CHECKING:
    import networkx as nx

_ENDS = (ValueKind.DEF, ValueKind.CALL)


@provides("dataflow")
def dataflow(kernel: Kernel) -> nx.MultiDiGraph[int]:
    """One node per instruction, named by its address; one edge per definition that may reach a read.

    Node attributes: ``opcode``; ``text``, the statement.
    Edge attributes: ``register``, the name of the register that is read; ``operand``, the
    index of the operand that reads it, -1 for the guard or a hidden register; ``guarded``,
    true where the definition may not have happened: it has a guard, or is a call that may
    write the register. What a function finds in a register when it begins has no edge, and
    neither has what goes through memory.
    """
    ssa: SSA = kernel.fact("ssa")
    addresses = kernel.addresses.tolist()
    sources = Sources(ssa)
    import networkx as nx  # noqa: PLC0415  (a fifth of a second that most calls do not need)

    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    graph.add_nodes_from(
        (ins.address, {"opcode": ins.opcode, "text": ins.text}) for ins in kernel.instructions
    )
    for index, values in enumerate(ssa.read):
        keys = ssa.accesses[index].use_keys
        for (operand, _), value in zip(keys, values, strict=True):
            name = str(ssa.register[value])
            for source in sources.of(value):
                definer = ssa.instruction[source]
                guarded = ssa.kind[source] is ValueKind.CALL or ssa.accesses[definer].guarded
                graph.add_edge(
                    addresses[definer], addresses[index], register=name, operand=operand, guarded=guarded
                )
    return graph


class Sources:
    """The definitions behind a value; values that merge each other in a loop share one set.

    ``ends`` are the kinds of values that the way back stops at.
    """

    def __init__(self, ssa: SSA, ends: tuple[ValueKind, ...] = _ENDS) -> None:
        self._ssa = ssa
        self._ends = ends
        self._known: dict[int, tuple[int, ...]] = {}

    def of(self, value: int) -> tuple[int, ...]:
        """Values of the kinds ``ends`` that ``value`` may be, in order."""
        if self._ssa.kind[value] in self._ends:
            return (value,)
        if value not in self._known:
            self._solve(value)
        return self._known[value]

    def _solve(self, start: int) -> None:
        """Tarjan's components over the inputs of merges, from ``start`` on."""
        order: dict[int, int] = {}
        low: dict[int, int] = {}
        open_: list[int] = []
        pending: list[tuple[int, int]] = [(start, 0)]
        while pending:
            value, place = pending.pop()
            if place == 0:
                order[value] = low[value] = len(order)
                open_.append(value)
            inputs = self._ssa.inputs[value]
            while place < len(inputs):
                source = inputs[place]
                place += 1
                if self._ssa.kind[source] in self._ends or source in self._known:
                    continue
                if source not in order:
                    pending += [(value, place), (source, 0)]
                    break
                low[value] = min(low[value], order[source])
            else:
                self._close(value, order, low, open_)
                if pending:
                    above = pending[-1][0]
                    low[above] = min(low[above], low[value])

    def _close(self, value: int, order: dict[int, int], low: dict[int, int], open_: list[int]) -> None:
        if low[value] != order[value]:
            return
        place = open_.index(value) if open_[-1] != value else len(open_) - 1
        component = open_[place:]
        del open_[place:]
        inside = set(component)
        found = {
            end
            for member in component
            for source in self._ssa.inputs[member]
            if source not in inside
            for end in ((source,) if self._ssa.kind[source] in self._ends else self._known[source])
        }
        for member in component:
            self._known[member] = tuple(sorted(found))
