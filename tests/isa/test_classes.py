"""The semantic classes: every form that a ladder meets, and what must not be taken for it."""

import itertools

import pytest

from sassql.isa import access, classes, modifiers, signatures
from sassql.reading.table import table


def form(arch, text):
    words = table(arch)
    return words[words.row_of_text(text)]


def operation(arch, text):
    found = form(arch, text)
    return classes.operation(found.opcode, found.modifiers, found.operands)


def read(name, arch, text):
    """Operand texts in semantic order, one list per order that means the same."""
    found = form(arch, text)
    reading = classes.read(name, found.opcode, found.modifiers, found.operands)
    return None if reading is None else [[found.operands[i].text for i in order] for order in reading.orders]


ADDS = [
    ("sm_75", "FADD R3, R3, R0", ["R3", "R3", "R0"]),
    ("sm_75", "FADD.FTZ R3, R3, R0", ["R3", "R3", "R0"]),
    ("sm_75", "IMAD.IADD R0, R2, 0x1, R5", ["R0", "R2", "R5"]),
    ("sm_75", "IADD3 R6, R0, R5, RZ", ["R6", "R0", "R5"]),
    ("sm_80", "IADD3 R6, R0, RZ, R5", ["R6", "R0", "R5"]),
    ("sm_80", "HADD2 R5, R2, R5", ["R5", "R2", "R5"]),
    ("sm_80", "HFMA2.MMA R4, R5, 1, 1, R4", ["R4", "R5", "R4"]),
    ("sm_100", "HFMA2 R7, R2, 1, 1, R7", ["R7", "R2", "R7"]),
    ("sm_90", "VIADD R6, R0, 0x5", ["R6", "R0", "0x5"]),
    ("sm_100", "IADD3 R6, PT, PT, R0, R5, RZ", ["R6", "R0", "R5"]),
    ("sm_100", "IADD3 R6, P0, PT, R0, R5, RZ", ["R6", "R0", "R5"]),
    ("sm_120", "IADD R6, R0, R5", ["R6", "R0", "R5"]),
    ("sm_120", "DADD R4, R2, R4", ["R4", "R2", "R4"]),
    ("sm_90", "UIADD3 UR4, UR4, 0x1, URZ", ["UR4", "UR4", "0x1"]),
    ("sm_90", "FFMA R4, R5, 1, R6", ["R4", "R5", "R6"]),
]


@pytest.mark.parametrize(("arch", "text", "operands"), ADDS)
def test_add(arch, text, operands):
    orders = read("add", arch, text)
    assert orders == [operands, [operands[0], operands[2], operands[1]]]
    assert operation(arch, text) == "add"


@pytest.mark.parametrize(
    ("arch", "text", "name"),
    [
        ("sm_75", "FMNMX R3, R3, R0, !PT", "max"),
        ("sm_75", "FMNMX R3, R3, R0, PT", "min"),
        ("sm_75", "IMNMX R0, R2, R5, !PT", "max"),
        ("sm_80", "IMNMX.U32 R0, R2, R5, PT", "min"),
        ("sm_80", "HMNMX2 R5, R2, R5, !PT", "max"),
        ("sm_90", "VIMNMX R6, R0, R5, !PT", "max"),
        ("sm_100", "VIMNMX R6, PT, PT, R0, R5, !PT", "max"),
        ("sm_120", "VIMNMX.S32 R6, R0, R5, PT", "min"),
        ("sm_80", "LOP3.LUT R0, R1, R2, RZ, 0xc0, !PT", "and"),
        ("sm_80", "LOP3.LUT R0, R1, R2, RZ, 0xfc, !PT", "or"),
        ("sm_80", "LOP3.LUT R0, R1, R2, RZ, 0x3c, !PT", "xor"),
        ("sm_90", "LOP3.LUT P0, R0, R1, R2, RZ, 0xc0, !PT", "and"),
        ("sm_90", "ULOP3.LUT UR4, UR5, UR6, URZ, 0xfc, !UPT", "or"),
        ("sm_80", "FMUL R0, R1, R2", "mul"),
        ("sm_80", "IMAD R0, R1, R2, RZ", "mul"),
        ("sm_80", "FFMA R0, R1, R2, RZ", "mul"),
        ("sm_80", "HFMA2.MMA R0, R1, R2, -RZ", "mul"),
        ("sm_80", "FFMA R0, R1, R2, R3", "fma"),
        ("sm_80", "DFMA R0, R2, R4, R6", "fma"),
    ],
)
def test_other_operations(arch, text, name):
    assert operation(arch, text) == name
    assert read(name, arch, text)


@pytest.mark.parametrize(
    ("arch", "text"),
    [
        ("sm_80", "FMNMX R3, R3, R0, P0"),  # the predicate chooses
        ("sm_80", "IADD3 R6, R0, R5, R7"),  # three addends
        ("sm_80", "IADD3.X R6, R0, R5, RZ, P0, !PT"),  # the high half of a wide sum
        ("sm_80", "IMAD.MOV.U32 R0, RZ, RZ, R5"),  # a copy
        ("sm_80", "IMAD.SHL.U32 R0, R1, 0x4, RZ"),
        ("sm_80", "IMAD.WIDE R0, R2, 0x1, R4"),
        ("sm_80", "HFMA2.MMA R9, -RZ, RZ, 0, 2.384185791015625e-07"),  # a constant
        ("sm_80", "HADD2.F32 R5, -RZ, R2.H0_H0"),  # a conversion
        ("sm_80", "LOP3.LUT R0, R1, R2, R3, 0xca, !PT"),
        ("sm_80", "LOP3.LUT R0, R1, R2, RZ, 0x30, !PT"),  # a & ~b
        ("sm_90", "LDG.E R0, desc[UR4][R2.64]"),
        ("sm_90", "MUFU.RCP R0, R1"),
    ],
)
def test_no_operation(arch, text):
    assert operation(arch, text) == ""


def test_a_subtraction_is_an_add_with_a_sign():
    """The table names the operation; that `%x` does not match `-R0` is the engine's rule."""
    assert read("add", "sm_80", "FADD R3, R3, -R0")[0] == ["R3", "R3", "-R0"]


def test_three_sources():
    assert len(read("max", "sm_100", "FMNMX3 R1, R2, R3, R4, !PT")) == 6
    assert read("max", "sm_100", "FMNMX3 R1, R2, R3, R4, PT") is None
    assert read("and", "sm_80", "LOP3.LUT R0, R1, R2, R3, 0x80, !PT")[0] == ["R0", "R1", "R2", "R3"]


def test_fma_commutes_in_its_product_only():
    assert read("fma", "sm_80", "FFMA R0, R1, R2, R3") == [["R0", "R1", "R2", "R3"], ["R0", "R2", "R1", "R3"]]


def test_a_pair_of_halves_does_not_commute():
    """`HFMA2 a, x, y, c`: x and y are the two halves of one source."""
    assert read("fma", "sm_80", "HFMA2 R0, R1, 0.5, 0.25, R3") == [["R0", "R1", "0.5", "R3"]]


@pytest.mark.parametrize(
    ("name", "arch", "text"),
    [
        ("load", "sm_90", "LDG.E R0, desc[UR4][R2.64]"),
        ("load", "sm_80", "LDSM.16.M88.4 R8, [R0]"),
        ("store", "sm_80", "STS [R2], R5"),
        ("atomic", "sm_90", "REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R2.64], R5"),
        ("barrier", "sm_90", "BAR.SYNC.DEFER_BLOCKING 0x0"),
        ("mma", "sm_80", "HMMA.16816.F32 R8, R24, R8, RZ"),
        ("mma", "sm_90a", "HGMMA.64x64x16.F32.BF16 R24, gdesc[UR12], R24"),
        ("fp", "sm_80", "FFMA R0, R1, R2, R3"),
        ("convert", "sm_80", "HADD2.F32 R5, -RZ, R2.H0_H0"),
        ("select", "sm_80", "FSEL R0, R1, R2, P0"),
        ("alu", "sm_80", "FFMA R0, R1, R2, R3"),
        ("alu", "sm_80", "LOP3.LUT R0, R1, R2, RZ, 0xc0, !PT"),
        ("lanes", "sm_80", "REDUX.SUM UR4, R12"),
    ],
)
def test_sets(name, arch, text):
    found = form(arch, text)
    assert classes.belongs(name, found.opcode, found.modifiers, found.operands)
    assert classes.read(name, found.opcode, found.modifiers, found.operands) is None


def test_constants_are_no_arithmetic():
    found = form("sm_80", "HFMA2.MMA R9, -RZ, RZ, 0, 2.384185791015625e-07")
    assert not classes.belongs("fp", found.opcode, found.modifiers, found.operands)
    found = form("sm_80", "LDC R1, c[0x0][0x28]")
    assert not classes.belongs("load", found.opcode, found.modifiers, found.operands)


def orders(arch, text):
    found = form(arch, text)
    return [
        [found.operands[i].text for i in order]
        for order in classes.orders(found.opcode, found.modifiers, found.operands)
    ]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("FADD R0, R1, R2", 2),
        ("FFMA R0, R1, R2, R3", 2),
        ("FMNMX R0, R1, R2, P0", 2),
        ("IADD3 R0, R1, R2, R3", 6),
        ("IMAD R0, R1, R2, R3", 2),
        ("LOP3.LUT R0, R1, R2, RZ, 0xc0, !PT", 2),
        ("LOP3.LUT R0, R1, R2, R3, 0x96, !PT", 6),
        ("LOP3.LUT R0, R1, R2, R3, 0xca, !PT", 1),
        ("ISETP.EQ.AND P0, PT, R0, R1, PT", 2),
        ("ISETP.GE.AND P0, PT, R0, R1, PT", 1),
        ("HFMA2 R0, R1, 1, 1, R3", 1),
        ("SHFL.BFLY PT, R0, R1, 0x1, 0x1f", 1),
        ("SEL R0, R1, R2, P0", 1),
        ("MOV R0, R1", 1),
    ],
)
def test_plain_opcodes_commute(text, count):
    found = orders("sm_80", text)
    assert len(found) == count
    assert all(sorted(order) == sorted(found[0]) for order in found)


def test_lookup_tables_agree_with_brute_force():
    for table_value in range(256):
        for permuted in itertools.permutations(range(3)):
            swapped = 0
            for a, b, c in itertools.product((0, 1), repeat=3):
                source = (a, b, c)
                moved = tuple(source[i] for i in permuted)
                bit = table_value >> (moved[0] * 4 + moved[1] * 2 + moved[2]) & 1
                swapped |= bit << (a * 4 + b * 2 + c)
            assert classes.keeps_table(table_value, permuted) == (swapped == table_value)


def test_the_tables_name_known_opcodes_and_roles():
    for name in classes.names():
        for opcode in classes.opcodes(name):
            assert signatures.is_opcode(opcode), opcode
    roles = {
        opcode: {item.role for signature in found for item in signature.items}
        for opcode, found in signatures.table().items()
    }
    for tables in (classes._classes(), classes._commuting()):
        for opcode, rows in tables.items():
            for row in rows:
                wanted = {role for group in row.roles for role in group} - {"lut"}
                wanted |= {condition.role for condition in row.conditions}
                assert wanted <= roles[opcode] | {"b2", "c2"}, (opcode, row)


def test_single_precision_numbers():
    assert classes.same_number(1.4426950216, 1.4426950216293335)
    assert not classes.same_number(1.0, 1.0000002)
    assert classes.same_number(0, -0.0)
    assert classes.as_single(1e300) == 1e300


@pytest.mark.parametrize(
    ("arch", "text", "count"),
    [
        ("sm_90", "LDG.E.128.CONSTANT R12, desc[UR4][R2.64]", 16),
        ("sm_90", "STG.E.U8 desc[UR4][R2.64], R5", 1),
        ("sm_80", "LDS.U16 R0, [R2]", 2),
        ("sm_80", "STS.64 [R2], R4", 8),
        ("sm_80", "LDSM.16.M88.4 R8, [R0]", 16),
        ("sm_80", "LDGSTS.E.BYPASS.128 [R2], [R4.64]", 16),
        ("sm_80", "FADD R0, R1, R2", None),
        ("sm_100", "LDG.E.ENL2.256 R8, R4, desc[UR4][R2.64]", 32),
        ("sm_100", "LDG.E.ENL2.256 R8, R4, desc[UR4][R2.64], 0x73", 20),
        ("sm_100", "STG.E.ENL2.256 desc[UR4][R2.64], R4, R8", 32),
        ("sm_90", "SUST.D.BA.1D.64.STRONG.SM.TRAP [R4], R8, UR4", 8),
        ("sm_90", "SUST.P.2D.STRONG.SM.TRAP [R4], R8, UR4", None),
        ("sm_100", "LDTM.STAT.x4.MAX.F32 R3, R12, tmem[UR4]", 16),
    ],
)
def test_bytes_of_an_access(arch, text, count):
    assert access.bytes_of(form(arch, text)) == count


def test_modifiers_seen():
    assert "BFLY" in modifiers.seen("SHFL")
    assert modifiers.seen("NONE") == frozenset()
