"""What is worth a look in a kernel: one function per kind of finding, each built on facts alone.

A finding says what the machine code does and where. Whether it can be helped is for the reader: the
texts name the condition that the binary does not show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from sassql.facts.addresses import Address, Addresses, AddressKind
from sassql.facts.blocks import Blocks
from sassql.facts.loops import Loops
from sassql.facts.polynomials import AtomKind
from sassql.facts.tags import SLOWPATH
from sassql.facts.values import SSA
from sassql.isa.spaces import Space
from sassql.model.kernel import Kernel
from sassql.report.document import Finding
from sassql.report.weights import Weights

SLOT = "L"
"""Register file of spill slots in "ssa"."""
_STEPS = ("tid.", "ctaid.")
WIDEST = 16
"""Bytes of the widest load or store that every architecture has."""

Found = tuple[str, str, Sequence[int]]
"""Kind, text, and numbers of the instructions concerned."""


def findings(kernel: Kernel, weights: Weights) -> tuple[Finding, ...]:
    """Everything found in a kernel, the heaviest first."""
    made = [
        Finding(kind, text, tuple(int(kernel.addresses[i]) for i in at), weights.of(at))
        for check in CHECKS
        for kind, text, at in check(kernel)
    ]
    return tuple(sorted(made, key=lambda finding: -finding.weight))


def spills(kernel: Kernel) -> Iterator[Found]:
    """Registers that are kept on the stack for a while."""
    ssa: SSA = kernel.fact("ssa")
    places = sorted(ssa.slots)
    if places:
        slots = {found for found in ssa.register if found.file == SLOT}
        yield (
            "spill",
            f"{4 * len(slots)} bytes of registers go to local memory: {len(places)} accesses",
            places,
        )


def narrow(kernel: Kernel) -> Iterator[Found]:
    """Accesses side by side that one wider access could do."""
    groups: dict[tuple[object, ...], list[Address]] = defaultdict(list)
    for address in _plain(kernel):
        if address.width and address.width < WIDEST and _may_be_aligned(address, 2 * address.width):
            same = (
                address.block,
                address.space,
                address.base,
                address.polynomial,
                address.access,
                address.width,
            )
            groups[same].append(address)
    for access in ("load", "store"):
        places: list[int] = []
        for (*_, kind, width), members in groups.items():
            if kind == access and isinstance(width, int):
                places += _side_by_side(members, width)
        if places:
            text = (
                f"{len(places)} {access}s lie side by side: wider ones would do, where the address is aligned"
            )
            yield f"narrow {access}", text, sorted(places)


def _may_be_aligned(address: Address, width: int) -> bool:
    """False where threads, blocks or iterations take steps that no access of ``width`` bytes can follow.

    A stencil reads what lies side by side, from every element on. Sizes and parameters may be multiples
    of anything, so a term with one of them decides nothing.
    """
    return all(
        coefficient % width == 0
        for atoms, coefficient in address.polynomial.terms
        if atoms and all(atom.kind is AtomKind.COUNTER or atom.name.startswith(_STEPS) for atom in atoms)
    )


def _side_by_side(members: Sequence[Address], width: int) -> list[int]:
    """Instructions of runs that together fill a wider access, from an aligned offset on."""
    by_offset = {address.offset: address.instruction for address in members}
    found: set[int] = set()
    for offset, index in by_offset.items():
        if offset % (2 * width) == 0 and offset + width in by_offset:
            found |= {index, by_offset[offset + width]}
    return sorted(found)


def strided(kernel: Kernel) -> Iterator[Found]:
    """Accesses whose neighbouring threads are not at neighbouring addresses."""
    places: dict[int, list[int]] = defaultdict(list)
    for address in _plain(kernel):
        step = address.coefficient("tid.x")
        size = None if step is None else step.value
        if not size or not address.width or address.space is not Space.GLOBAL:
            continue
        apart = min(size, (1 << 32) - size)
        if apart > address.width:
            places[apart].append(address.instruction)
    if places:
        steps = ", ".join(f"{n}" for n in sorted(places)[:4]) + (" …" if len(places) > 4 else "")
        every = sorted({i for found in places.values() for i in found})
        yield (
            "strided",
            f"neighbouring threads are {steps} bytes apart in {len(every)} global accesses",
            every,
        )


def _plain(kernel: Kernel) -> Iterator[Address]:
    """Global accesses whose address is known."""
    addresses: Addresses = kernel.fact("addresses")
    slow: set[int] = _tagged(kernel, SLOWPATH)
    for address in addresses:
        known = address.kind in (AddressKind.PURE, AddressKind.STRUCTURAL)
        if known and address.space is Space.GLOBAL and address.instruction not in slow:
            yield address


def slow_paths(kernel: Kernel) -> Iterator[Found]:
    """Routines that the compiler added for rare cases."""
    places = sorted(_tagged(kernel, SLOWPATH))
    count = len(kernel.form_ids)
    if len(places) * 5 >= count:
        text = f"{100 * len(places) // count} % of the code are slow paths of division, square root or sine"
        yield "slow paths", text, places


def unresolved(kernel: Kernel) -> Iterator[Found]:
    """Branches that nobody followed: what is said of the kernel may be incomplete."""
    blocks: Blocks = kernel.fact("blocks")
    if blocks.unresolved:
        yield (
            "unresolved branch",
            f"{len(blocks.unresolved)} branches with unknown targets",
            blocks.unresolved,
        )
    loops: Loops = kernel.fact("loops")
    if loops.irreducible:
        places = sorted({int(blocks.end[source]) - 1 for source, _ in loops.irreducible})
        yield "irreducible", f"{len(places)} cycles that are no natural loop", places


def unknown_opcodes(kernel: Kernel) -> Iterator[Found]:
    """Instructions that the tables do not know."""
    forms = kernel.forms
    odd = {row for row in set(kernel.rows) if not forms[row].shape.known}
    places = [index for index, row in enumerate(kernel.rows) if row in odd]
    if places:
        names = ", ".join(sorted({forms[row].opcode or "unreadable" for row in odd})[:6])
        yield "unknown opcode", f"{len(places)} instructions that the tables lack: {names}", places


def _tagged(kernel: Kernel, tag: str) -> set[int]:
    return {index for index, tags in kernel.fact("tags").items() if tag in tags}


CHECKS: tuple[Callable[[Kernel], Iterator[Found]], ...] = (
    spills,
    narrow,
    strided,
    slow_paths,
    unresolved,
    unknown_opcodes,
)
