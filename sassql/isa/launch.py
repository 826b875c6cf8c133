"""What a kernel is told about its launch, from `data/launch.tsv`: thread numbers, sizes, parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from sassql.isa.lines import table_lines

_NUMBER = re.compile(r"sm_(\d+)")


@dataclass(frozen=True, slots=True)
class Launch:
    """The rows for one architecture.

    ``special`` has atom names by special register, ``constants`` by offset in constant bank
    0. ``parameter_base`` is the offset of parameter 0, in bytes. A shared address is
    ``shared_base``, plus ``cluster`` shifted left by ``cluster_shift`` where that is not
    empty, plus an offset among the block's own variables. ``literal_banks`` are constant
    banks with numbers of the compiler's: no pointers. None and empty for an architecture that
    the table does not have.
    """

    special: dict[str, str]
    constants: dict[int, str]
    parameter_base: int | None
    shared_base: int | None
    cluster: str
    cluster_shift: int
    literal_banks: frozenset[int]


@cache
def launch(arch: str) -> Launch:
    """The rows that hold for ``arch``.

    >>> launch("sm_90a").parameter_base, launch("sm_75").constants[4]
    (528, 'ntid.y')
    """
    match = _NUMBER.match(arch)
    number = int(match[1]) if match else -1
    found = Launch({}, {}, None, None, "", 0, frozenset())
    parameter, shared, cluster, shift, banks = None, None, "", 0, set[int]()
    for kind, place, first, last, name in _rows():
        if not int(first) <= number <= int(last or number):
            continue
        match kind:
            case "special":
                found.special[place] = name
            case "constant":
                found.constants[int(place, 16)] = name
            case "parameter":
                parameter = int(place, 16)
            case "shared":
                shared = int(place, 16)
            case "literals":
                banks.add(int(place, 16))
            case _:
                cluster, shift = place, int(name)
    return Launch(found.special, found.constants, parameter, shared, cluster, shift, frozenset(banks))


def _rows() -> list[list[str]]:
    return [line.split("\t") for line in table_lines("launch.tsv")]
