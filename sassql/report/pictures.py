"""The two graphs that are drawn of a kernel: its control flow, and the data flow between its motifs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sassql.facts.addresses import Address, Addresses
from sassql.facts.blocks import Blocks
from sassql.facts.dataflow import Sources
from sassql.facts.loops import NO_LOOP, Loops
from sassql.facts.memory_flow import MemoryFlow
from sassql.facts.tags import SLOWPATH
from sassql.facts.values import SSA
from sassql.isa.spaces import Space
from sassql.model.kernel import Kernel
from sassql.model.rows import Row
from sassql.report.detail import Node, Picture
from sassql.report.document import KernelRecord

MOST_NODES = 160
"""A picture with more boxes is a picture of nothing."""
MOST_GROUPS = 40
"""Motifs of one kind are drawn as one box where there are more than this."""
_NO_STEPS = frozenset(
    ("vec", "sync", "divergence", "spill", "reuse", "reload", "special", "approx", "slowpath")
)
"""Motifs that say something of single accesses or branches: as boxes they would hide loads and stores."""
_DRAWN = (Space.GLOBAL, Space.SHARED, Space.LOCAL, Space.GENERIC)
_ACCESSES = ("load", "store", "atomic")


def flow_picture(kernel: Kernel) -> Picture:
    """Control flow: a box for each block, blocks that simply follow each other in one box."""
    blocks: Blocks = kernel.fact("blocks")
    loops: Loops = kernel.fact("loops")
    chains = _chains(blocks)
    if len(chains) > MOST_NODES:
        return Picture(missing=f"{len(chains)} blocks are too many for a picture")
    addresses = kernel.addresses.tolist()
    number = {block: place for place, chain in enumerate(chains) for block in chain}
    nodes = []
    for chain in chains:
        count = sum(int(blocks.end[b] - blocks.start[b]) for b in chain)
        loop = loops.of[chain[0]]
        note = f"{count} instruction{'s' if count > 1 else ''}"
        depth = 0 if loop == NO_LOOP else loops[loop].depth
        kind = "block" if loop == NO_LOOP else "loop"
        if chain[0] in blocks.entries:
            kind = "entry"
        name = f"{addresses[int(blocks.start[chain[0]])]:#06x}" + (f"  loop {loop}" if depth else "")
        nodes.append(Node(name, note, kind, addresses[int(blocks.start[chain[0]])], depth))
    edges = []
    for chain in chains:
        last = chain[-1]
        for target in blocks.successors[last]:
            back = any(
                loops[n].header == target and last in loops[n].latches for n in loops.enclosing(target)
            )
            edges.append((number[last], number[target], "back" if back else "flow"))
    return Picture(tuple(nodes), tuple(edges))


def _chains(blocks: Blocks) -> list[list[int]]:
    """Reachable blocks, those that have one way in and out together."""
    heads: list[list[int]] = []
    of: dict[int, list[int]] = {}
    for block in range(len(blocks)):
        if not blocks.reachable[block]:
            continue
        before = blocks.predecessors[block]
        joined = (
            len(before) == 1
            and len(blocks.successors[before[0]]) == 1
            and before[0] in of
            and of[before[0]][-1] == before[0]
            and block not in blocks.entries
        )
        chain = of[before[0]] if joined else []
        if not joined:
            heads.append(chain)
        chain.append(block)
        of[block] = chain
    return heads


@dataclass(slots=True)
class _Group:
    """Instructions that are one box."""

    label: str
    kind: str
    members: list[int] = field(default_factory=list)
    count: int = 1


def motif_picture(kernel: Kernel, record: KernelRecord) -> Picture:
    """Data flow between motifs and the memory that they read and write.

    A box stands for a motif, or for the loads or stores of one buffer. An edge means that a value of
    one reaches the other through instructions that belong to no box; ``memory`` edges go through
    shared, local or global memory.
    """
    groups = list(_groups(kernel, record))
    if not groups:
        return Picture(missing="no motif and no memory access")
    if len(groups) > MOST_NODES:
        return Picture(missing=f"{len(groups)} motifs and buffers are too many for a picture")
    of: dict[int, int] = {}
    for place, group in enumerate(groups):
        for index in group.members:
            of.setdefault(index, place)
    users = _users(kernel)
    edges: dict[tuple[int, int, str], None] = {}
    for place, group in enumerate(groups):
        for target in _reached(group.members, place, of, users):
            edges[place, target, "data"] = None
    flow: MemoryFlow = kernel.fact("memory_flow")
    for edge in flow:
        ends = of.get(edge.store), of.get(edge.load)
        if ends[0] is not None and ends[1] is not None and ends[0] != ends[1] and edge.certainty != "unknown":
            edges[ends[0], ends[1], "memory"] = None
    nodes = tuple(
        Node(
            group.label,
            _counted(group),
            group.kind,
            int(kernel.addresses[min(group.members)]) if group.members else None,
        )
        for group in groups
    )
    return Picture(nodes, tuple(edges))


def _counted(group: _Group) -> str:
    count = len(group.members)
    shown = f"{count} instruction{'s' if count > 1 else ''}"
    return f"{group.count} times, {shown}" if group.count > 1 else shown


def _groups(kernel: Kernel, record: KernelRecord) -> Iterator[_Group]:
    """Motifs first: a load that belongs to a motif is drawn with it."""
    motifs = [m for m in record.motifs if m.at and m.status != "gave_up" and m.motif not in _NO_STEPS]
    together = len(motifs) > MOST_GROUPS
    names = Counter(m.motif for m in motifs)
    found: dict[str, _Group] = {}
    taken: set[int] = set()
    for number, motif in enumerate(motifs):
        key = motif.motif if together else str(number)
        group = found.setdefault(key, _Group(motif.motif if together else motif.text, "motif"))
        group.count = names[motif.motif] if together else 1
        members = {kernel.at(address).index for address in motif.at} - taken
        group.members += sorted(members)
        taken |= members
    yield from (group for group in found.values() if group.members)
    yield from _buffers(kernel, taken)


def _buffers(kernel: Kernel, taken: set[int]) -> Iterator[_Group]:
    """The loads, stores and atomics of each buffer that no motif has."""
    addresses: Addresses = kernel.fact("addresses")
    tags: Mapping[int, tuple[str, ...]] = kernel.fact("tags")
    found: dict[tuple[str, str], _Group] = {}
    for address in addresses:
        index = address.instruction
        drawn = address.space in _DRAWN and address.access in _ACCESSES
        if drawn and index not in taken and SLOWPATH not in tags.get(index, ()):
            key = (address.access, _buffer(address))
            found.setdefault(key, _Group(" ".join(key), address.access)).members.append(index)
    yield from found.values()


def _buffer(address: Address) -> str:
    name = address.base.name if address.base.kind != "none" else ""
    space = address.space.value
    return space if name in ("", space) else f"{space} {name}"


def _users(kernel: Kernel) -> list[list[int]]:
    """By instruction, those that read what it defines."""
    ssa: SSA = kernel.fact("ssa")
    sources = Sources(ssa)
    users: list[list[int]] = [[] for _ in ssa.read]
    for index, values in enumerate(ssa.read):
        reads = [*values, *ssa.slot_read.get(index, ())]
        for definer in {ssa.instruction[source] for value in reads for source in sources.of(value)}:
            users[definer].append(index)
    return users


def _reached(
    members: Sequence[int], own: int, of: Mapping[int, int], users: Sequence[Sequence[int]]
) -> list[int]:
    """The groups that values of ``members`` reach first."""
    found: dict[int, None] = {}
    pending = list(members)
    seen = set(pending)
    while pending:
        for user in users[pending.pop()]:
            if user in seen:
                continue
            seen.add(user)
            group = of.get(user, own)
            if group == own:
                pending.append(user)
            else:
                found[group] = None
    return list(found)


def row_picture(row: Row) -> Picture:
    """Data flow of one match: a box for each instruction that the row names, with its label."""
    names: dict[int, str] = {}
    for label, found in row.instructions.items():
        for ins in found:
            names.setdefault(ins.index, label)
    if not names:
        return Picture(missing="a match without instructions")
    if len(names) > MOST_NODES:
        return Picture(missing=f"{len(names)} instructions are too many for a picture")
    order = sorted(names)
    of = {index: place for place, index in enumerate(order)}
    users = _users(row.kernel)
    edges = {
        (place, target, "data"): None
        for place, index in enumerate(order)
        for target in _reached([index], place, of, users)
    }
    nodes = tuple(
        Node(f"{names[index]}: {row.kernel.instructions[index].text}", "", "motif", None) for index in order
    )
    return Picture(nodes, tuple(edges))
