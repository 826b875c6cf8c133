from __future__ import annotations

import re
from importlib import resources

import pytest

from sassql.isa import signatures
from sassql.isa.signatures import SILENT_ROLES, assign, is_opcode, table
from sassql.isa.widths import ADDRESS_RULES, RULES
from sassql.model.operands import Access
from sassql.model.register import Register
from sassql.reading.shapes import SHAPES


def registers(text: str) -> frozenset[Register]:
    """``R4 R5 UP0``, or ``R4-R7`` for consecutive ones."""
    found = set()
    for word in text.split():
        file, first, last = re.fullmatch(r"([A-Z]+)(\d+)(?:-[A-Z]+(\d+))?", word).groups()
        found |= {Register(file, n) for n in range(int(first), int(last or first) + 1)}
    return frozenset(found)


def rows() -> list[tuple[str, str, str]]:
    text = resources.files("sassql.isa").joinpath("data/signatures.tsv").read_text("utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple([*line.split("\t"), "", ""][:3]) for line in lines]


# ---- the table itself -------------------------------------------------------------------------------------


def test_the_table_has_its_header():
    assert rows()[0] == ("opcode", "requires", "signature")


@pytest.mark.parametrize("row", rows()[1:], ids=lambda row: f"{row[0]}-{row[1]}")
def test_every_row_parses(row):
    opcodes, requires, items = row

    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]*", opcode) for opcode in opcodes.split("|"))
    assert all(re.fullmatch(r"\w+", modifier) for modifier in filter(None, requires.split(",")))
    for text in items.split():
        item = signatures._parse_item(text)
        assert item.role
        assert not item.width or item.width in RULES or item.width in ADDRESS_RULES
        assert set(item.kinds) <= set("RUPMICLKBS")


def test_no_row_stands_in_the_shadow_of_an_equal_one():
    seen = set()
    for opcodes, requires, items in rows()[1:]:
        for opcode in opcodes.split("|"):
            key = opcode, requires, items
            assert key not in seen
            seen.add(key)


def test_the_most_specific_row_comes_first():
    for found in table().values():
        sizes = [len(signature.requires) for signature in found]
        assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("text", ["d a", ">", ">d/nothing", "d:RX+", ">>d"])
def test_a_mistake_in_the_table_is_noticed(text):
    if text == "d a":
        assert len([signatures._parse_item(item) for item in text.split()]) == 2
        return
    with pytest.raises(ValueError, match=r"signatures\.tsv"):
        signatures._parse_item(text)


def test_roles_that_patterns_may_leave_out_are_roles_of_the_table():
    used = {item.role for found in table().values() for signature in found for item in signature.items}

    assert used >= SILENT_ROLES


def test_every_width_rule_is_used():
    used = {item.width for found in table().values() for signature in found for item in signature.items}

    assert {name for name in {**RULES, **ADDRESS_RULES} if not name.isdigit()} <= used


# ---- how operands find their items ------------------------------------------------------------------------


def roles(opcode: str, modifiers: tuple[str, ...], kinds: str) -> list[str] | None:
    items = assign(opcode, modifiers, list(kinds))
    return None if items is None else [item.role for item in items]


def test_optional_and_repeated_items():
    assert roles("IADD3", (), "RRRR") == ["d", "a", "b", "c"]
    assert roles("IADD3", (), "RPRRR") == ["d", "p", "a", "b", "c"]
    assert roles("IADD3", ("X",), "RPPRRRPP") == ["d", "p", "p", "a", "b", "c", "ci", "cj"]
    assert roles("LOP3", ("LUT",), "PRRRRIP") == ["p", "d", "a", "b", "c", "lut", "ci"]


def test_modifiers_choose_the_row():
    wide, narrow = assign("IMAD", ("WIDE",), "RRRR"), assign("IMAD", (), "RRRR")

    assert (wide[0].width, narrow[0].width) == ("2", "")
    assert wide[0].access is narrow[0].access is Access.DEF


def test_a_number_for_each_half_belongs_to_the_operand_before_it():
    """`HFMA2 d, a, hi, lo, c`, and `HFMA2 d, a, b, hi, lo`, the way to write a constant."""
    assert roles("HFMA2", (), "RRIIR") == ["d", "a", "b", "b2", "c"]
    assert roles("HFMA2", (), "RRRII") == ["d", "a", "b", "c", "c2"]
    assert roles("HFMA2", (), "RRRR") == ["d", "a", "b", "c"]
    assert roles("HADD2", (), "RRII") == ["d", "a", "b", "b2"]


def test_unknown_opcodes_and_operands_that_do_not_fit():
    assert assign("FROB", (), "RR") is None
    assert assign("FADD", (), "R") is None
    assert assign("FADD", (), "RRRRR") is None
    assert assign("LDG", ("E",), "RR") is None
    assert is_opcode("FADD") and not is_opcode("FROB") and not is_opcode("fadd")


# ---- definitions and uses, item by item of `sass_facts` ---------------------------------------------------

PITFALLS = [
    # hidden or several registers
    ("LDG.E R2, desc[UR4][R2.64]", "R2", "R2-R3 UR4-UR5"),
    ("LDG.E R8, [R8]", "R8", "R8-R9"),
    ("ATOMG.E.CAS.64.STRONG.GPU PT, RZ, [R10], R4, R6", "", "R4-R7 R10-R11"),
    ("HMMA.16816.F32 R8, R24, R8, RZ", "R8-R11", "R8-R9 R24-R27"),
    ("HMMA.1688.F32 R4, R8, R10, R4", "R4-R7", "R4-R10"),
    ("DMMA.884 R4, R4, R6, R8", "R4-R7", "R4-R11"),
    ("DMMA.8x8x4 R4, R4, R6, R8", "R4-R7", "R4-R11"),
    ("DMMA.16x8x16 R8, R16, R32, R8", "R8-R15", "R8-R39"),
    ("HGMMA.64x8x16.F32 R24, gdesc[UR8], R24, UP0", "R24-R27", "R24-R27 UR8-UR11 UP0"),
    ("HGMMA.64x256x16.F32 R24, gdesc[UR8], R24", "R24-R151", "R24-R151 UR8-UR11"),
    ("HGMMA.64x8x16.F16 RZ, gdesc[URZ], RZ, !UPT, gsb0", "", ""),
    ("LDSM.16.M88.4 R8, [R0]", "R8-R11", "R0"),
    ("STSM.16.M88.2 [R0], R8", "", "R0 R8-R9"),
    ("LDSM.16.MT88.4 R8, [R0+0x100]", "R8-R11", "R0"),
    ("IMAD.WIDE R2, R0, R3, R4", "R2-R3", "R0 R3-R5"),
    ("IMAD.HI.U32 R29, P1, R57, R29, R54", "R29 P1", "R29 R54-R55 R57"),
    ("CS2R R4, SRZ", "R4-R5", ""),
    ("CS2R.32 R4, SR_CLOCKLO", "R4", ""),
    ("F2F.F32.F64 R9, R6", "R9", "R6-R7"),
    ("F2F.F64.F32 R8, R6", "R8-R9", "R6"),
    ("I2F.F64.S64 R10, R10", "R10-R11", "R10-R11"),
    ("I2F.F64 R10, R12", "R10-R11", "R12"),
    ("F2I.S64.F64.TRUNC R14, R14", "R14-R15", "R14-R15"),
    ("F2I.F64.TRUNC R14, R16", "R14", "R16-R17"),
    ("ISETP.GE.S64.AND P0, PT, R4, R12, PT", "P0", "R4-R5 R12-R13"),
    ("REDG.E.ADD.F64.RN.STRONG.GPU desc[UR6][R2.64], R8", "", "UR6-UR7 R2-R3 R8-R9"),
    ("LDTM.x8 R4, tmem[UR6]", "R4-R11", "UR6"),
    ("STTM.16dp128bit.x2 tmem[UR6], R16", "", "UR6 R16-R19"),
    ("UTCHMMA gdesc[UR12], gdesc[UR14], tmem[UR6], tmem[UR4], idesc[UR5], UPT", "", "UR4-UR6 UR12-UR15"),
    ("UTCBAR [UR4], URZ", "", "UR4"),
    ("SYNCS.EXCH.64 URZ, [UR9], UR4", "", "UR4-UR5 UR9"),
    ("UTCATOMSWS.FIND_AND_SET.ALIGN UP0, UR6, UR6", "UP0 UR6", "UR6"),
    (
        "FFMA2 R12, R6.F32x2.HI_LO, R8.F32x2.HI_LO, R12.F32x2.HI_LO",
        "R12-R13",
        "R6-R9 R12-R13",
    ),
    ("BRX R2 -0xe0", "", "R2-R3"),
    ("BRXU UR4 -0xe0", "", "UR4-UR5"),
    ("RET.REL.NODEC R8 `(_Z3dblPdii)", "", "R8-R9"),
    ("CALL.ABS.NOINC R8", "", "R8-R9"),
    ("LEPC R20", "R20-R21", ""),
    ("UREDGR.E.ADD.NA.64.MMIO.SYS [UR4], UR6", "", "UR4-UR7"),
    ("LDG.E.128 R4, [R2.64+0x10]", "R4-R7", "R2-R3"),
    ("LDS.64 R4, [R0+UR4+0x8]", "R4-R5", "R0 UR4"),
    ("STG.E.U8 desc[UR4][R2.64], R9", "", "UR4-UR5 R2-R3 R9"),
    ("LDC.64 R2, c[0x0][R9+0x210]", "R2-R3", "R9"),
    ("DADD R2, R4, -R6", "R2-R3", "R4-R7"),
    ("DFMA R2, R4, R6, c[0x0][0x168]", "R2-R3", "R4-R7"),
    # results that look like sources, and the other way round
    ("IADD3 R6, P0, P1, R2, R3, R4", "R6 P0 P1", "R2-R4"),
    ("IADD3 R6, PT, PT, R2, R3, R4", "R6", "R2-R4"),
    ("@!P0 IADD3.X R2, P1, R2, R15, RZ, P1, !PT", "R2 P1", "P0 P1 R2 R15"),
    ("PLOP3.LUT P0, PT, P0, P1, PT, 0xf8, 0x8f", "P0", "P0 P1"),
    ("FCHK P0, R17, R8", "P0", "R8 R17"),
    ("ELECT P1, URZ, PT", "P1", ""),
    ("WARPSYNC R0", "", "R0"),
    ("REDUX.SUM UR4, R12", "UR4", "R12"),
    ("CREDUX.MAX.F32 UR6, R3", "UR6", "R3"),
    ("SHFL.BFLY PT, R5, R4, 0x1, 0x1f", "R5", "R4"),
    ("SHFL.IDX P2, R5, R4, R7, R8", "P2 R5", "R4 R7-R8"),
    ("@P0 LDG.E R4, [R2.64]", "R4", "P0 R2-R3"),
    ("@UP0 BRA `(.L_x_1)", "", "UP0"),
    ("BRA.U !UP1, `(.L_x_3)", "", "UP1"),
    ("BRA.DIV UR6, `(.L_x_1284)", "", "UR6"),
    ("R2UR UR4, R3", "UR4", "R3"),
    ("VOTE.ANY R4, P1, P0", "R4 P1", "P0"),
    ("SEL R4, R5, R6, !P3", "R4", "R5-R6 P3"),
    ("ISETP.GE.U32.AND.EX P2, P3, R3, RZ, PT, P1", "P2-P3", "R3 P1"),
    ("BAR.SYNC.DEFER_BLOCKING 0x0", "", ""),
    ("BSSY B0, `(.L_x_2)", "", ""),
    ("EXIT", "", ""),
]


@pytest.mark.parametrize(("text", "defs", "uses"), PITFALLS)
def test_definitions_and_uses(text, defs, uses):
    form = SHAPES.form(text)
    barriers = {Register("B", n) for n in range(16)}

    assert form.shape.known
    assert (form.defs - barriers, form.uses - barriers) == (registers(defs), registers(uses))


@pytest.mark.parametrize("row", range(2), ids=["defs", "uses"])
def test_zero_registers_are_never_among_them(row):
    form = SHAPES.form("IADD3 RZ, PT, PT, RZ, RZ, RZ")

    assert (form.defs, form.uses)[row] == frozenset()
