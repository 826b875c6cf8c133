"""Rule 5: registers, shared memory, occupancy, spills and barriers: what a fusion would cost."""

from __future__ import annotations

from collections.abc import Iterator

from sassql.facts.addresses import Addresses
from sassql.facts.values import SSA
from sassql.insight.advice_amounts import Amount
from sassql.insight.advice_case import Case
from sassql.insight.advice_records import CERTAIN, MAYBE, ROOM, Finding
from sassql.insight.occupancy import occupancy, room, shared_room

_LOCAL_SLOT = "L"


def costs(case: Case, others: list[Finding]) -> Iterator[Finding]:
    """The findings of rule 5; the room for a fusion is told where ``others`` ask for some."""
    yield from _spills(case)
    asking = [finding for finding in others if finding.rule in (1, 3, 4)]
    if asking:
        yield from _room(case, asking)


def _spills(case: Case) -> Iterator[Finding]:
    ssa: SSA = case.kernel.fact("ssa")
    places = sorted(ssa.slots)
    if not places:
        return
    addresses: Addresses = case.kernel.fact("addresses")
    walks = case.walks
    parts = []
    for address in addresses:
        if address.instruction in ssa.slots and address.width is not None:
            loop = walks.loops.of[address.block]
            family, parent = ((loop,), walks.loops[loop].parent) if loop >= 0 else ((), loop)
            parts.append(walks.extents.extent([address], family, parent))
    size = 4 * len({found for found in ssa.register if found.file == _LOCAL_SLOT})
    now = occupancy(case.kernel.arch, case.kernel.resources, case.block)
    percent = f"{now.percent} %" if now else "unknown"
    registers = case.kernel.resources.registers
    yield Finding(
        5,
        "registers spilled to local memory",
        case.addresses(places),
        ("fewer resident warps are no loss, where more registers a thread take some away",),
        f"Allow more registers a thread (launch bounds) or keep fewer values alive: {size} bytes"
        f" a thread go through the stack. {registers} registers now, occupancy {percent}.",
        (case.effect("bytes of local memory", Amount(tuple(parts))),),
        motifs=("spill",),
        details={**_numbers(case), "spilled_bytes": size, "accesses": len(places)},
    )


def _room(case: Case, asking: list[Finding]) -> Iterator[Finding]:
    needs = case.kernel.resources
    now = occupancy(case.kernel.arch, needs, case.block)
    if now is None:
        return
    numbers = _numbers(case)
    barriers = case.flow.orders.at.get("barrier", [])
    more, shared = numbers["register_room"], numbers["shared_room"]
    yield Finding(
        5,
        ROOM,
        tuple(sorted({*case.addresses(barriers), *(f.at[0] for f in asking if f.at)})),
        (
            f"blocks have {now.threads} threads" + (" (assumed)" if now.assumed else ""),
            "the launch asks for no dynamic shared memory",
        ),
        f"Keep within {more} more registers a thread ({needs.registers} now) and {shared} more bytes of"
        f" shared memory a block ({needs.shared or 0} now): beyond that fewer than {now.warps} of {now.most}"
        " warps are resident.",
        (),
        MAYBE if now.assumed else CERTAIN,
        "the size of a block is assumed" if now.assumed else "",
        ("sync",) if barriers else (),
        numbers,
    )


def _numbers(case: Case) -> dict[str, object]:
    needs, arch = case.kernel.resources, case.kernel.arch
    now = occupancy(arch, needs, case.block)
    return {
        "registers": needs.registers,
        "register_room": room(arch, needs, case.block),
        "shared": needs.shared,
        "shared_room": shared_room(arch, needs, case.block),
        "occupancy_percent": None if now is None else now.percent,
        "limited_by": None if now is None else now.limit,
        "barriers": len(case.flow.orders.at.get("barrier", [])),
    }
