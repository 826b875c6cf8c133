"""Fact "constants": values that are known numbers."""

from __future__ import annotations

import struct
from io import BytesIO

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings
from hypothesis import strategies as st

from sassql.isa import signatures
from sassql.isa.folding import table
from sassql.reading.listing import read_listing


def known(listing, text, arch="sm_90"):
    """The numbers that the last instruction before EXIT writes, by unit."""
    probe = listing(text + "\nEXIT ;", arch)
    last = len(probe.kernel.form_ids) - 2
    constants = probe.kernel.fact("constants")
    return [constants[value] for _, _, value in probe.ssa.definitions_of(last)]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("MOV R1, 0xff800000 ;", 0xFF800000),
        ("MOV R1, RZ ;", 0),
        ("UMOV UR4, 0x400 ;", 0x400),
        ("IMAD.MOV.U32 R0, RZ, RZ, -0x800000 ;", 0xFF800000),
        ("IMAD.MOV.U32 R0, RZ, RZ, 0x10 ;", 16),
        ("IMAD.MOV.U32 R0, RZ, RZ, RZ ;", 0),
        ("CS2R.32 R4, SRZ ;", 0),
        ("HFMA2.MMA R4, -RZ, RZ, 0, 0 ;", 0),
        ("HFMA2.MMA R4, -RZ, RZ, 0, 5.9604644775390625e-08 ;", 1),
        ("HFMA2 R4, -RZ, RZ, 1.875, 0 ;", 0x3F800000),
        ("HFMA2 R4, -RZ, RZ, -INF , 0 ;", 0xFC000000),
        ("HFMA2 R4, -RZ, RZ, 0, -0.0 ;", 0x8000),
        ("HFMA2 R4, RZ, RZ, 0, -0.0 ;", 0),
        ("HFMA2.BF16_V2 R4, -RZ, RZ, 1, -2 ;", 0x3F80C000),
        ("IADD3 R1, RZ, -0x2, RZ ;", 0xFFFFFFFE),
        ("MOV R2, 0x5 ;\nIADD3 R1, R2, R2, 0x1 ;", 11),
        ("MOV R2, 0x5 ;\nIADD3 R1, PT, PT, -R2, RZ, RZ ;", 0xFFFFFFFB),
        ("MOV R2, 0x5 ;\nVIADD R1, R2, 0xffffffff ;", 4),
        ("MOV R2, 0x5 ;\nIMAD R1, R2, 0x3, R2 ;", 20),
        ("MOV R2, 0x5 ;\nIMAD.SHL.U32 R1, R2, 0x80, RZ ;", 640),
        ("MOV R2, 0x5 ;\nSHF.L.U32 R1, R2, 0x4, RZ ;", 80),
        ("MOV R2, 0x80000000 ;\nSHF.R.U32.HI R1, RZ, 0x1f, R2 ;", 1),
        ("MOV R2, 0x80000000 ;\nSHF.R.S32.HI R1, RZ, 0x1f, R2 ;", 0xFFFFFFFF),
        ("MOV R2, 0x5 ;\nLEA R1, R2, 0x100, 0x3 ;", 0x128),
        ("MOV R2, 0x5 ;\nLOP3.LUT R1, R2, 0x3, RZ, 0xc0, !PT ;", 1),
        ("MOV R2, 0x5 ;\nLOP3.LUT R1, RZ, R2, RZ, 0x33, !PT ;", 0xFFFFFFFA),
        ("MOV R2, 0x5 ;\nSEL R1, R2, RZ, PT ;", 5),
        ("PLOP3.LUT P0, PT, PT, PT, PT, 0x8, 0x0 ;\nMOV R2, 0x5 ;\nSEL R1, R2, RZ, P0 ;", 0),
        ("PLOP3.LUT P0, PT, PT, PT, PT, 0x8, 0x0 ;\nMOV R2, 0x5 ;\nSEL R1, R2, RZ, !P0 ;", 5),
        ("MOV R2, 0x11223380 ;\nPRMT R1, R2, 0x3201, RZ ;", 0x11228033),
        ("MOV R2, 0x11223380 ;\nPRMT R1, R2, 0x8840, RZ ;", 0xFFFF0080),
        ("MOV R2, 0x5 ;\nR2UR UR4, R2 ;\nUIADD3 UR5, UR4, 0x1, URZ ;", 6),
    ],
)
def test_numbers(listing, text, number):
    assert known(listing, text)[0] == number


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("CS2R R4, SRZ ;", [0, 0]),
        ("MOV.64 R4, 0x1000000000000002 ;", [2, 0x10000000]),
        ("UMOV.64 UR4, 0x400 ;", [0x400, 0]),
        ("MOV R2, 0xffffffff ;\nIMAD.WIDE.U32 R4, R2, 0x2, RZ ;", [0xFFFFFFFE, 1]),
        ("MOV R2, 0xffffffff ;\nIMAD.WIDE R4, R2, 0x2, RZ ;", [0xFFFFFFFE, 0xFFFFFFFF]),
        ("PLOP3.LUT P0, P1, PT, PT, PT, 0x8, 0x80 ;", [0, 1]),
    ],
)
def test_several_registers_at_once(listing, text, numbers):
    assert known(listing, text) == numbers


@pytest.mark.parametrize(
    "text",
    [
        "HFMA2 R4, -RZ, RZ, +QNAN , 0 ;",
        "HFMA2 R4, R1, RZ, 0, 0 ;",
        "HFMA2 R4, R1, 1, 1, R2 ;",
        "HFMA2.FTZ R4, -RZ, RZ, 0, 5.9604644775390625e-08 ;",
        "CS2R.32 R8, SR_CLOCKLO ;",
        "MOV R1, c[0x0][0x28] ;",
        "MOV R20, 32@lo((kernel + .L_x_0@srel)) ;",
        "MOV R1, R2 ;",
        "MOV R2, 0x5 ;\nIADD3.X R1, R2, RZ, RZ, P0, !PT ;",
        "MOV R2, 0x5 ;\nIMAD.HI.U32 R1, R2, R2, RZ ;",
        "MOV R2, 0x5 ;\nLEA.HI R1, R2, R2, RZ, 0x1 ;",
        "MOV R2, 0x5 ;\nFADD R1, R2, R2 ;",
        "MOV R2, 0x5 ;\nSEL R1, R2, RZ, P0 ;",
        "MOV R1, 0x5 ;\n@P0 MOV R1, 0x6 ;",
        "MOV R2, 0x5 ;\nLDS R2, [R2] ;\nIADD3 R1, R2, 0x1, RZ ;",
    ],
)
def test_what_is_not_known(listing, text):
    assert known(listing, text)[0] is None


def test_a_guarded_move_of_the_same_number(listing):
    assert known(listing, "MOV R1, 0x5 ;\n@P0 IMAD.MOV.U32 R1, RZ, RZ, 0x5 ;") == [5]


def test_a_join_of_equal_numbers_and_one_of_different_ones(listing):
    probe = listing("""
        MOV R1, 0x5 ;
        MOV R2, 0x5 ;
    @P0 BRA `(.L_x_1) ;
        IADD3 R1, RZ, 0x5, RZ ;
        MOV R2, 0x6 ;
.L_x_1:
        IADD3 R3, R1, 0x1, RZ ;
        IADD3 R4, R2, 0x1, RZ ;
        EXIT ;
    """)
    constants = probe.kernel.fact("constants")
    assert constants[probe.ssa.definition(5, 0)] == 6
    assert constants[probe.ssa.definition(6, 0)] is None


def test_a_loop_counter_is_no_constant(listing):
    probe = listing("""
        MOV R1, RZ ;
.L_x_0:
        IADD3 R1, R1, 0x1, RZ ;
    @P0 BRA `(.L_x_0) ;
        EXIT ;
    """)
    constants = probe.kernel.fact("constants")
    assert constants[probe.ssa.use(1, 1)] is None
    assert constants[probe.ssa.definition(1, 0)] is None
    assert constants[probe.ssa.definition(0, 0)] == 0


def test_numbers_through_the_stack(listing):
    probe = listing("""
        MOV R2, 0x7 ;
        STL [R1+0x4], R2 ;
        STL.64 [R1+0x8], RZ ;
        LDL R3, [R1+0x4] ;
        LDL R4, [R1+0xc] ;
        IADD3 R5, R3, R4, RZ ;
        EXIT ;
    """)
    assert probe.kernel.fact("constants")[probe.ssa.definition(5, 0)] == 7


def test_operands(listing):
    probe = listing(
        """
        MOV R2, 0x5 ;
        MOV R3, 0x1 ;
        SHFL.BFLY PT, R4, R9, R2, 0x1f ;
        IADD.64 R6, -R2, R8 ;
        FADD R7, R2, 1.5 ;
    @P0 LOP3.LUT R7, ~R2, 0x3, RZ, 0xc0, !PT ;
        EXIT ;
    """,
        "sm_120",
    )
    operand = probe.kernel.fact("constants").operand
    assert operand(2, 0) == 1, "PT"
    assert [operand(2, place) for place in (2, 3, 4)] == [None, 5, 0x1F]
    assert operand(3, 1) == -0x100000005 & 0xFFFFFFFFFFFFFFFF
    assert operand(4, 2) is None, "a float has no pattern without its instruction"
    assert operand(5, 1) == 0xFFFFFFFA
    assert operand(5, 5) == 0, "!PT"


def test_the_table_names_known_opcodes_only():
    assert [opcode for opcode in table() if not signatures.is_opcode(opcode)] == []


def test_half_precision_constants_are_the_bits_of_the_instruction(compiled):
    """The number stands in the upper half of the instruction's low word."""
    assert sum(agreeing_halves(compiled(arch)) for arch in ("sm_80", "sm_90", "sm_100", "sm_120")) > 3


def agreeing_halves(compiled):
    elf = ELFFile(BytesIO(compiled.cubin))
    checked = 0
    for kernel in compiled.module.kernels:
        code = elf.get_section_by_name(f".text.{kernel.name}").data()
        constants, ssa = kernel.fact("constants"), kernel.fact("ssa")
        for ins in kernel.instructions:
            if ins.opcode == "HFMA2" and "-RZ, RZ, " in ins.text:
                (encoded,) = struct.unpack_from("<I", code, ins.address + 4)
                assert constants[ssa.first[ins.index]] == encoded, ins
                checked += 1
    return checked


WORDS = st.integers(0, 0xFFFFFFFF)
REGISTERS = ("R1", "R2", "R3", "R4")


@st.composite
def arithmetic(draw):
    """(text, what it computes of four registers): straight lines of moves and integer arithmetic."""
    d, a, b, c = (draw(st.integers(0, 3)) for _ in range(4))
    n, shift, lut = draw(WORDS), draw(st.integers(0, 40)), draw(st.integers(0, 255))
    selector = draw(st.integers(0, 0xFFFF))
    r = REGISTERS

    def bits(v):
        places = [4 * (v[a] >> i & 1) + 2 * (v[b] >> i & 1) + (v[c] >> i & 1) for i in range(32)]
        return sum((lut >> place & 1) << i for i, place in enumerate(places))

    def bytes_(v):
        both = struct.pack("<II", v[a], v[c])
        chosen = []
        for i in range(4):
            code = selector >> 4 * i & 15
            byte = both[code & 7]
            chosen.append((255 if byte > 127 else 0) if code > 7 else byte)
        return int.from_bytes(bytes(chosen), "little")

    def signed(x):
        return struct.unpack("<i", struct.pack("<I", x))[0]

    text, compute = draw(
        st.sampled_from(
            [
                (f"MOV {r[d]}, {n:#x}", lambda v: n),
                (f"MOV {r[d]}, {r[a]}", lambda v: v[a]),
                (f"IMAD.MOV.U32 {r[d]}, RZ, RZ, {r[a]}", lambda v: v[a]),
                (f"IADD3 {r[d]}, {r[a]}, RZ, RZ", lambda v: v[a]),
                (f"IADD3 {r[d]}, {r[a]}, -{r[b]}, {r[c]}", lambda v: v[a] - v[b] + v[c]),
                (f"IMAD {r[d]}, {r[a]}, {r[b]}, {r[c]}", lambda v: v[a] * v[b] + v[c]),
                (f"SHF.L.U32 {r[d]}, {r[a]}, {shift:#x}, RZ", lambda v: v[a] << shift),
                (f"SHF.R.U32.HI {r[d]}, RZ, {shift:#x}, {r[a]}", lambda v: v[a] >> shift),
                (f"SHF.R.S32.HI {r[d]}, RZ, {shift:#x}, {r[a]}", lambda v: signed(v[a]) >> shift),
                (f"LEA {r[d]}, {r[a]}, {r[b]}, {shift % 32:#x}", lambda v: (v[a] << shift % 32) + v[b]),
                (f"LOP3.LUT {r[d]}, {r[a]}, {r[b]}, {r[c]}, {lut:#x}, !PT", bits),
                (f"PRMT {r[d]}, {r[a]}, {selector:#x}, {r[c]}", bytes_),
                (f"SEL {r[d]}, {r[a]}, {r[b]}, PT", lambda v: v[a]),
                (f"SEL {r[d]}, {r[a]}, {r[b]}, !PT", lambda v: v[b]),
            ]
        )
    )
    return text, d, compute


@settings(max_examples=200, deadline=None)
@given(st.lists(WORDS, min_size=4, max_size=4), st.lists(arithmetic(), min_size=1, max_size=12))
def test_known_numbers_and_copies_are_what_is_computed(start, program):
    """Run next to a machine of four registers: numbers are right, and values of one class are equal."""
    opening = [f"MOV {r}, {n:#x}" for r, n in zip(REGISTERS, start, strict=True)]
    text = "\n".join(f"{line} ;" for line in [*opening, *(line for line, _, _ in program), "EXIT"])
    modules, problems = read_listing(text, arch="sm_90")
    assert problems == []
    kernel = modules[0].kernels[0]
    ssa, constants, copies = (kernel.fact(name) for name in ("ssa", "constants", "copies"))
    machine, by_class = list(start), {}
    for index, (line, d, compute) in enumerate(program, 4):
        machine[d] = compute(machine) & 0xFFFFFFFF
        value = ssa.definition(index, 0)
        assert constants[value] == machine[d], line
        assert by_class.setdefault(copies.root(value), machine[d]) == machine[d], line


@settings(max_examples=200, deadline=None)
@given(st.lists(WORDS, min_size=4, max_size=4), st.lists(arithmetic(), min_size=1, max_size=12))
def test_copies_of_unknown_values_are_equal(start, program):
    """The same where the registers come from memory, so that nothing folds unless it is a constant."""
    opening = [f"LDS {r}, [R9+{4 * i:#x}]" for i, r in enumerate(REGISTERS)]
    text = "\n".join(f"{line} ;" for line in [*opening, *(line for line, _, _ in program), "EXIT"])
    modules, _ = read_listing(text, arch="sm_90")
    kernel = modules[0].kernels[0]
    ssa, constants, copies = (kernel.fact(name) for name in ("ssa", "constants", "copies"))
    machine = list(start)
    by_class = {ssa.definition(i, 0): number for i, number in enumerate(start)}
    for index, (line, d, compute) in enumerate(program, 4):
        machine[d] = compute(machine) & 0xFFFFFFFF
        value = ssa.definition(index, 0)
        assert constants[value] in (None, machine[d]), line
        assert by_class.setdefault(copies.root(value), machine[d]) == machine[d], line
