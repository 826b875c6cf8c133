"""Named width rules of `signatures.tsv`: how many 32-bit registers an operand spans.

Rules look at the words of a statement: its modifiers, then the shapes of its operands. A
register rule also takes the suffixes of the operand; an address rule takes the file of one
register of the address, its suffix, and the word before the bracket. All of them were
measured with ``nvdisasm --print-life-ranges``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from sassql.isa import textures
from sassql.isa.lines import table_lines

Rule = Callable[[tuple[str, ...], tuple[str, ...]], int | None]
AddressRule = Callable[[tuple[str, ...], str, str, str], int | None]
Count = Callable[[int], int]
"""How many of an operand's registers are there, from the mask that the statement prints."""

_SIZE = {"64": 2, "96": 3, "128": 4, "256": 8, "U64": 2, "S64": 2, "F64": 2}
DESCRIPTOR_WIDTH = 2
_UNIFORM_ADDRESS = re.compile(r"\[(R\S*\+)?UR#\S*\]")
_MMA_SHAPE = re.compile(r"\d+|\d+x\d+x\d+")
_WIDE_TYPES = frozenset({"64", "S64", "U64", "F64"})
_FORMATS = ("F16", "F32", "F64", "BF16", "TF32", "E4M3", "E5M2")


def _data(modifiers: tuple[str, ...], _: tuple[str, ...]) -> int:
    return next((_SIZE[m] for m in modifiers if m in _SIZE), 1)


def _atom(modifiers: tuple[str, ...], _: tuple[str, ...]) -> int:
    for modifier in modifiers:
        if modifier in _SIZE:
            return _SIZE[modifier]
        if match := re.fullmatch(r"(\w+)x(\d+)", modifier):
            bits = {"F32": 32, "F16": 16, "BF16": 16}.get(match[1], 8)
            return max(1, int(match[2]) * bits // 32)
    return 1


def _w64(modifiers: tuple[str, ...], _: tuple[str, ...]) -> int:
    return 2 if _WIDE_TYPES & set(modifiers) else 1


def _int64(modifiers: tuple[str, ...], _: tuple[str, ...]) -> int:
    return 2 if {"S64", "U64"} & set(modifiers) else 1


def _float64(modifiers: tuple[str, ...], _: tuple[str, ...]) -> int:
    return 2 if "F64" in modifiers else 1


def _formats(modifiers: tuple[str, ...]) -> list[str]:
    return [m for m in modifiers if m in _FORMATS]


def _dst_type(modifiers: tuple[str, ...], _: tuple[str, ...]) -> int:
    return 2 if _formats(modifiers)[:1] == ["F64"] else 1


def _src_type(modifiers: tuple[str, ...], _: tuple[str, ...]) -> int:
    return 2 if _formats(modifiers)[1:2] == ["F64"] else 1


def _f32x2(_: tuple[str, ...], suffixes: tuple[str, ...]) -> int:
    return 2 if "F32x2" in suffixes else 1


def _matrices(modifiers: tuple[str, ...], _: tuple[str, ...]) -> int:
    """8x8 matrices of 16-bit elements, a register each; 16x16 ones of bytes have two."""
    count = next((int(m) for m in modifiers if m in ("2", "4")), 1)
    return 2 * count if "MT1616" in modifiers else count


def _movm(modifiers: tuple[str, ...], _: tuple[str, ...]) -> int:
    return 2 if "M832" in modifiers else 1


def _ldtm(modifiers: tuple[str, ...], _: tuple[str, ...]) -> int | None:
    """Registers of a tensor-memory access: repetitions times 32-bit columns of the shape."""
    count = next((int(m[1:]) for m in modifiers if re.fullmatch(r"x\d+", m)), 1)
    shape = next((m for m in modifiers if "dp" in m), "32dp32bit")
    match = re.match(r"(\d+)dp(\d+)bit(_t\d+_t\d+)?", shape)
    if match is None:
        return None
    halves = 2 if match[3] else 1  # 16 lanes twice, from two places
    return max(1, count * halves * int(match[1]) * int(match[2]) // 1024)


def _gmma_d(modifiers: tuple[str, ...], _: tuple[str, ...]) -> int | None:
    """Accumulator of a warp-group MMA: 64 x N elements over 128 threads, packed in pairs for F16."""
    shape = next((re.fullmatch(r"64x(\d+)x\d+", m) for m in modifiers if m.startswith("64x")), None)
    if shape is None:
        return None
    after = [m for m in modifiers if m in ("F16", "F32", "S32", "BF16")]
    return int(shape[1]) // (4 if after[:1] == ["F16"] else 2)


@cache
def _mma_table() -> dict[str, list[tuple[frozenset[str], tuple[int, ...]]]]:
    """Widths by shape and the modifiers that they ask for, most modifiers first."""
    lines = table_lines("mma.tsv")
    found: dict[str, list[tuple[frozenset[str], tuple[int, ...]]]] = {}
    for shape, requires, *widths in (line.split("\t") for line in lines):
        asked = frozenset(filter(None, requires.split(",")))
        found.setdefault(shape, []).append((asked, tuple(map(int, widths))))
    return {shape: sorted(rows, key=lambda row: -len(row[0])) for shape, rows in found.items()}


def _mma(operand: int, kind: str = "") -> Rule:
    """Width of operand d, a, b or c (0 to 3) of a warp MMA: the row whose shape and types fit best."""

    def rule(modifiers: tuple[str, ...], _: tuple[str, ...]) -> int | None:
        shape = next((m for m in modifiers if _MMA_SHAPE.fullmatch(m)), "")
        present = {kind, *modifiers}
        rows = _mma_table().get(shape, ())
        return next((widths[operand] for asked, widths in rows if asked <= present), None)

    return rule


def _global(modifiers: tuple[str, ...], file: str, suffix: str, _: str) -> int:
    """A generic or global address: 64 bits, unless it says U32 or the access has no ``.E``."""
    if file == "UR" or suffix == "64":
        return 2
    return 2 if "E" in modifiers and suffix != "U32" else 1


def _coordinates(modifiers: tuple[str, ...]) -> int:
    """Coordinates of a tensor copy: one per dimension, or a column and four rows."""
    if {"GATHER4", "SCATTER4"} & set(modifiers):
        return 5
    return next((int(m[0]) for m in modifiers if re.fullmatch(r"[1-5]D", m)), 1)


def _utma(modifiers: tuple[str, ...], *_: str) -> int:
    """Shared address, mbarrier and coordinates in consecutive registers."""
    return 2 + _coordinates(modifiers)


def _utma_store(modifiers: tuple[str, ...], *_: str) -> int:
    """Shared address and coordinates: a store completes without an mbarrier."""
    return 1 + _coordinates(modifiers)


def _utma_prefetch(modifiers: tuple[str, ...], *_: str) -> int:
    return _coordinates(modifiers)


def _bulk_source(modifiers: tuple[str, ...], *_: str) -> int:
    """What a bulk copy reads, ``G.S`` from shared memory: a 32-bit address there, else 64 bits."""
    spaces = [m for m in modifiers if m in ("S", "G")]
    return 1 if spaces[-1:] == ["S"] else 2


def _lanes(modifiers: tuple[str, ...], _: tuple[str, ...]) -> int:
    """Mask of the lanes of tensor memory that keep their value, 128 bits a block; with WS, of 64 columns."""
    if "WS" in modifiers:
        return 2
    return 8 if "2CTA" in modifiers else 4


def _copy_descriptor(words: tuple[str, ...]) -> int:
    """A copy to ``[R5+UR6]`` has half a pair for each: UR6 for the address, UR7 for the descriptor."""
    return 1 if any(map(_UNIFORM_ADDRESS.fullmatch, words)) else DESCRIPTOR_WIDTH


def _utc(_: tuple[str, ...], __: str, ___: str, prefix: str) -> int:
    return 2 if prefix == "gdesc" else 1


def _fixed(width: int) -> Rule:
    return lambda modifiers, suffixes: width


def _fixed_address(width: int) -> AddressRule:
    return lambda modifiers, file, suffix, prefix: width


RULES: dict[str, Rule] = {
    "data": _data,
    "atom": _atom,
    "w64": _w64,
    "int64": _int64,
    "float64": _float64,
    "dst_type": _dst_type,
    "src_type": _src_type,
    "f32x2": _f32x2,
    "matrices": _matrices,
    "movm": _movm,
    "lanes": _lanes,
    "ldtm": _ldtm,
    "gmma_d": _gmma_d,
    "gmma_a": _fixed(4),
    **{f"mma_{name}": _mma(i) for i, name in enumerate("dabc")},
    **{f"dmma_{name}": _mma(i, "F64") for i, name in enumerate("dabc")},
    "quad_low": _fixed(4),
    "quad_high": _fixed(4),
    "tex_low": textures.pair,
    "tex_high": textures.pair,
    "tex_a": textures.coordinates(),
    "tex_b": textures.others(),
    "tld4_a": textures.coordinates(gather=True),
    "tld4_b": textures.others(gather=True),
    "txd_a": textures.gradient_coordinates,
    "txd_b": textures.gradients,
    "txq": textures.query,
    "surface_data": textures.surface_data,
    **{str(n): _fixed(n) for n in (1, 2, 3, 4)},
}

ADDRESS_RULES: dict[str, AddressRule] = {
    "global": _global,
    "copy": _global,
    "utma": _utma,
    "utma_store": _utma_store,
    "utma_prefetch": _utma_prefetch,
    "bulk_source": _bulk_source,
    "surface": textures.surface_address,
    "utc": _utc,
    **{str(n): _fixed_address(n) for n in (1, 2, 3, 4)},
}

DESCRIPTOR_RULES: dict[str, Callable[[tuple[str, ...]], int]] = {"copy": _copy_descriptor}

COUNTS: dict[str, Count] = {
    "quad_low": lambda mask: (mask & 15).bit_count(),
    "quad_high": lambda mask: (mask >> 4).bit_count(),
    "tex_low": textures.low_count,
    "tex_high": textures.high_count,
}
