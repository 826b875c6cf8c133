"""Named width rules of `signatures.tsv`: how many 32-bit registers an operand spans, from its modifiers.

A register rule takes the modifiers of the instruction and the suffixes of the operand; an
address rule takes the modifiers, the file of one register of the address, its suffix, and
the word before the bracket. All of them were measured with ``nvdisasm --print-life-ranges``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import resources

Rule = Callable[[tuple[str, ...], tuple[str, ...]], int | None]
AddressRule = Callable[[tuple[str, ...], str, str, str], int | None]

_SIZE = {"64": 2, "96": 3, "128": 4, "256": 8, "U64": 2, "S64": 2, "F64": 2}
_MMA_SHAPE = re.compile(r"\d+|\d+x\d+x\d+")
_WIDE_TYPES = frozenset({"64", "S64", "U64", "F64"})
_FORMATS = ("F16", "F32", "F64", "BF16", "TF32", "E4M3", "E5M2")


def _data(modifiers: tuple[str, ...], _: tuple[str, ...]) -> int:
    return next((_SIZE[m] for m in modifiers if m in _SIZE), 1)


def _atom(modifiers: tuple[str, ...], _: tuple[str, ...]) -> int:
    for modifier in modifiers:
        if modifier in _SIZE:
            return _SIZE[modifier]
        if match := re.fullmatch(r"(F16|BF16|F32)x(\d+)", modifier):
            return max(1, int(match[2]) // (1 if match[1] == "F32" else 2))
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


def _ldsm(modifiers: tuple[str, ...], _: tuple[str, ...]) -> int:
    return int(modifiers[-1]) if modifiers and modifiers[-1] in ("1", "2", "4") else 1


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
def _mma_table() -> dict[tuple[str, str], tuple[int, int, int, int]]:
    text = resources.files("sassql.isa").joinpath("data/mma.tsv").read_text("utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")][1:]
    return {(row[0], row[1]): (int(row[2]), int(row[3]), int(row[4]), int(row[5])) for row in rows}


def _mma(operand: int, kind: str = "") -> Rule:
    """Width of operand d, a, b or c (0 to 3) of a warp MMA: the row whose shape and types fit best."""

    def rule(modifiers: tuple[str, ...], _: tuple[str, ...]) -> int | None:
        shape = next((m for m in modifiers if _MMA_SHAPE.fullmatch(m)), "")
        for wanted in (kind or shape, *modifiers, ""):
            if (row := _mma_table().get((shape, wanted))) is not None:
                return row[operand]
        return None

    return rule


def _global(modifiers: tuple[str, ...], file: str, suffix: str, _: str) -> int:
    """A generic or global address: 64 bits, unless it says U32 or the access has no ``.E``."""
    if file == "UR" or suffix == "64":
        return 2
    return 2 if "E" in modifiers and suffix != "U32" else 1


def _dimensions(modifiers: tuple[str, ...]) -> int:
    return next((int(m[0]) for m in modifiers if re.fullmatch(r"[1-5]D", m)), 1)


def _utma(modifiers: tuple[str, ...], *_: str) -> int:
    """Shared address, mbarrier and one coordinate per dimension in consecutive registers."""
    return 2 + _dimensions(modifiers)


def _utma_store(modifiers: tuple[str, ...], *_: str) -> int:
    """Shared address and one coordinate per dimension: a store completes without an mbarrier."""
    return 1 + _dimensions(modifiers)


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
    "ldsm": _ldsm,
    "ldtm": _ldtm,
    "gmma_d": _gmma_d,
    "gmma_a": _fixed(4),
    **{f"mma_{name}": _mma(i) for i, name in enumerate("dabc")},
    **{f"dmma_{name}": _mma(i, "F64") for i, name in enumerate("dabc")},
    "enl2": _fixed(4),
    **{str(n): _fixed(n) for n in (1, 2, 3, 4)},
}

ADDRESS_RULES: dict[str, AddressRule] = {
    "global": _global,
    "utma": _utma,
    "utma_store": _utma_store,
    "utc": _utc,
    **{str(n): _fixed_address(n) for n in (1, 2, 3, 4)},
}
