"""Static occupancy: how many warps of a kernel fit on a multiprocessor at the same time.

The model of `cuda_occupancy.h`: registers are handed out by warp and sub-partition, shared memory by block.
What the launch decides is not in a binary: dynamic shared memory counts as none, and the size of a
block is the kernel's own (`__launch_bounds__`, `reqntid`) or an assumed one, which the answer names.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from sassql.insight.residency import ASSUMED_BLOCK, Occupancy
from sassql.isa.multiprocessors import Multiprocessor, multiprocessor
from sassql.model.kernel import Resources

WARP = 32


def occupancy(arch: str, needs: Resources, block: int | None = None) -> Occupancy | None:
    """The occupancy with blocks of ``block`` threads; None where architecture or registers are unknown."""
    limits = multiprocessor(arch)
    if limits is None or not needs.registers:
        return None
    threads, assumed = _block(needs, block)
    warps = -(-threads // WARP)
    by = {
        "warps": limits.warps // warps,
        "blocks": limits.blocks,
        "registers": _by_registers(limits, needs.registers, warps),
    }
    if needs.shared:
        by["shared memory"] = limits.shared // _up(needs.shared + limits.kept, limits.shared_unit)
    blocks = min(by.values())
    limit = next(name for name in ("registers", "shared memory", "blocks", "warps") if by.get(name) == blocks)
    return Occupancy(blocks * warps, limits.warps, blocks, threads, assumed, limit)


MOST_REGISTERS = 255
"""Registers that a thread can have."""


def room(arch: str, needs: Resources, block: int | None = None) -> int | None:
    """Registers that a thread could use more, with as many resident warps; None where that is unknown."""
    now = occupancy(arch, needs, block)
    if now is None or needs.registers is None:
        return None
    more = needs.registers
    while more < MOST_REGISTERS:
        then = occupancy(arch, replace(needs, registers=more + 1), block)
        if then is None or then.warps < now.warps:
            break
        more += 1
    return more - needs.registers


def shared_room(arch: str, needs: Resources, block: int | None = None) -> int | None:
    """Bytes of shared memory that a block could use more, with as many resident warps."""
    now, limits = occupancy(arch, needs, block), multiprocessor(arch)
    if now is None or limits is None or not now.blocks:
        return None
    each = limits.shared // now.blocks // limits.shared_unit * limits.shared_unit - limits.kept
    return max(min(each, limits.block_shared) - (needs.shared or 0), 0)


def _block(needs: Resources, block: int | None) -> tuple[int, bool]:
    """Threads of a block, and whether they are an assumption."""
    if block is not None:
        return block, False
    if needs.required_block:
        return prod(needs.required_block), False
    if needs.max_threads:
        return min(needs.max_threads, 1024), False
    return ASSUMED_BLOCK, True


def _by_registers(limits: Multiprocessor, registers: int, warps: int) -> int:
    """Blocks whose warps find registers: each sub-partition has its own."""
    one = _up(registers * WARP, limits.register_unit)
    return limits.registers // limits.partitions // one * limits.partitions // warps


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
