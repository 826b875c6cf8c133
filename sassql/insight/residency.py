"""What static occupancy is: plain data, so that documents can hold it."""

from __future__ import annotations

from dataclasses import dataclass

ASSUMED_BLOCK = 256
"""Threads of a block where a kernel does not say how many it has."""


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Resident warps of one multiprocessor: ``warps`` of at most ``most``, in ``blocks`` of ``threads``.

    ``assumed`` is true where the kernel does not say how many threads a block has. ``limit`` is what
    there is too little of: registers, shared memory, blocks or warps.
    """

    warps: int
    most: int
    blocks: int
    threads: int
    assumed: bool
    limit: str

    @property
    def percent(self) -> int:
        return 100 * self.warps // self.most
