"""Width rules where the text alone is easy to misread: masks, textures, tensor copies, descriptors."""

from __future__ import annotations

import pytest

from sassql.isa.widths import COUNTS
from sassql.reading.shapes import SHAPES


def names(registers) -> set[str]:
    return set(map(str, registers))


@pytest.mark.parametrize(
    ("text", "defs"),
    [
        ("LDG.E.ENL2.256 R8, R4, desc[UR4][R2.64]", "R4 R5 R6 R7 R8 R9 R10 R11"),
        ("LDG.E.ENL2.256 R6, R5, desc[UR4][R2.64], 0x92", "R5 R6 R7"),
        ("LDG.E.ENL2.256 R8, R4, desc[UR4][R2.64], 0xb3", "R4 R5 R8 R9 R10"),
        ("TEX.LL R8, R6, R2, R0, UR4, 2D", "R6 R7 R8 R9"),
        ("TEX.LL R8, R6, R2, R0, UR4, 2D, 0xb", "R6 R7 R8"),
        ("TEX.LL RZ, R6, R2, R0, UR4, 2D, 0x9", "R6 R7"),
        ("TEX.LL RZ, R6, R2, R0, UR4, 2D, 0x4", "R6"),
        ("TEX.SCR.F16.RN.LL R7, R6, R2, R0, 0x0, 0x5c, 2D", "R6 R7"),
        ("LDTM.STAT.x4.MAX.F32 R3, R12, tmem[UR4]", "R3 R12 R13 R14 R15"),
    ],
)
def test_results(text, defs):
    assert names(SHAPES.form(text).defs) == set(defs.split())


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        # coordinates, then level, offsets and reference
        ("TEX.LL.AOFFI.DC R16, R14, R4, R8, UR4, ARRAY_2D", "R4 R5 R6 R8 R9 R10 UR4 UR5"),
        ("TEX.B.LL R16, R14, R4, R8, ARRAY_CUBE", "R4 R5 R6 R7 R8 R9"),
        ("TLD.LZ R16, R14, R4, UR4, 3D", "R4 R5 R6 UR4 UR5"),
        # half of everything in each operand
        ("TEX.SCR.LL R16, R14, R4, R8, 0x0, 0x5c, 2D", "R4 R5 R8"),
        ("TLD.SCR.LZ R16, R14, R4, 0x0, 0x5c, 1D", "R4"),
        # a component B, and a handle B
        ("TLD4.SCR.B R16, R14, R4, R8, 0x0, 0x5c, 2D", "R4 R8"),
        ("TLD4.SCR.B.B R16, R14, R4, R8, 2D", "R4 R5 R8"),
        # derivatives
        ("TXD.AOFFI R16, R14, R4, R8, UR4, 2D", "R4 R5 R6 R8 R9 R10 R11 UR4 UR5"),
        ("SUST.P.2D_ARRAY.STRONG.SM.TRAP [R4], R8, UR4", "R4 R5 R6 R8 R9 R10 R11 UR4"),
        ("SUST.D.BA.1D.64.STRONG.SM.TRAP [R4], R8, UR4", "R4 R8 R9 UR4"),
        # shared address, mbarrier, and a coordinate per dimension or a column and four rows
        ("UTMALDG.3D [UR8], [UR4]", "UR4 UR5 UR8 UR9 UR10 UR11 UR12"),
        ("UTMALDG.2D.GATHER4 [UR8], [UR4]", "UR4 UR5 UR8 UR9 UR10 UR11 UR12 UR13 UR14"),
        ("UTMASTG.3D [UR8], [UR4]", "UR4 UR5 UR8 UR9 UR10 UR11"),
        ("UTMAPF.L2.3D [UR8], [UR4]", "UR4 UR5 UR8 UR9 UR10"),
        ("UBLKCP.G.S [UR8], [UR5], UR4", "UR4 UR5 UR8 UR9"),
        ("UBLKCP.S.G [UR8], [UR12], UR4", "UR4 UR8 UR9 UR12 UR13"),
        # a pair for the descriptor, or half a pair for it and half for the address
        ("LDGSTS.E.64 [R5], desc[UR8][R2.64]", "R2 R3 R5 UR8 UR9"),
        ("LDGSTS.E.64 [R5+UR6], desc[UR7][R2.64]", "R2 R3 R5 UR6 UR7"),
        ("UTCHMMA gdesc[UR14], gdesc[UR6], tmem[UR4], tmem[UR12], idesc[UR13], UR8, UP0",
         "UP0 UR4 UR6 UR7 UR8 UR9 UR10 UR11 UR12 UR13 UR14 UR15"),
    ],
)  # fmt: skip
def test_sources(text, uses):
    assert names(SHAPES.form(text).uses) == set(uses.split())


def test_an_operand_is_as_wide_as_its_mask_says():
    high, low, *_ = SHAPES.form("LDG.E.ENL2.256 R8, R4, desc[UR4][R2.64], 0x73").operands

    assert (high.width, low.width) == (3, 2)
    assert names(high.registers) == {"R8", "R9", "R10"}


@pytest.mark.parametrize("rule", COUNTS)
def test_no_mask_has_more_registers_than_the_operand(rule):
    widest = 4 if rule.startswith("quad") else 2
    counts = [COUNTS[rule](mask) for mask in range(256 if widest == 4 else 16)]

    assert (min(counts), max(counts)) == (0, widest)
