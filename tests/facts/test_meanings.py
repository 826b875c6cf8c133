"""Fact "meanings": what values compute, by single instructions and by forms of several."""

from __future__ import annotations

import functools
import re

import pytest

import sassql.facts.meanings  # noqa: F401  (registers the analysis)
from sassql.facts.operations import Meaning, Meanings
from sassql.facts.values import ValueKind
from sassql.isa import signatures
from sassql.isa.meanings import roles_of, table
from sassql.isa.sequences import names_in, parse, routine
from sassql.isa.sequences import table as sequences
from sassql.model.kernel import Source
from sassql.reading.compile import compile_cuda
from sassql.reading.cubin import read_module

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")


@pytest.fixture
def told(listing):
    """``told(text)``: the meaning of what the last instruction before EXIT stores, in words."""

    def tell(text: str, *, single: bool = False) -> str:
        probe = listing(text + "\n STS [R99], R50 ;\n EXIT ;")
        found: Meanings = probe.kernel.fact("meanings")
        value = probe.ssa.use(probe.index("STS [R99]"), 1)
        meaning = found.single(found.copies.root(value)) if single else found.of(value)
        return words(probe, meaning)

    return tell


def words(probe, meaning: Meaning | None) -> str:
    """``max.f32(R1, R2) ordered``: values by the register that holds them."""
    if meaning is None:
        return "unknown"
    operands = [term_words(probe, term) for term in meaning.operands]
    head = ".".join(filter(None, (meaning.operation, meaning.type, meaning.detail, *sorted(meaning.flags))))
    return f"{head}({', '.join(operands)})" + ("" if meaning.exact else f" {meaning.fidelity}")


def term_words(probe, term) -> str:
    if term.number is not None:
        text = f"{term.number:#x}"
    elif term.values:
        text = ":".join(str(probe.ssa.register[v]) for v in term.values)
    elif term.constant:
        text = f"c[{term.constant[0]:#x}][{term.constant[1]:#x}]"
    else:
        text = term.text
    text = f"|{text}|" if term.absolute else text
    return "-" * term.negated + "~" * term.inverted + ".".join((text, *term.selector))


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("FADD R50, R1, R2 ;", "add.f32(R1, R2)"),
        ("FADD.FTZ R50, -R1, R2 ;", "sub.f32.FTZ(R2, R1)"),
        ("FADD R50, -R1, -R2 ;", "add.f32(-R1, -R2)"),
        ("FADD R50, |R1|, -1.5 ;", "add.f32(|R1|, 0xbfc00000)"),
        ("HFMA2 R50, R1, 1, 1, R2 ;", "add.f16x2(R1, R2)"),
        ("HFMA2.BF16_V2 R50, R1, R3, R2 ;", "fma.bf16x2(R1, R3, R2)"),
        ("HFMA2 R50, -RZ, RZ, 1.875, 0 ;", "constant(0x3f800000)"),
        ("HADD2.F32 R50, -RZ, R1.H1_H1 ;", "convert.f32(R1.H1_H1)"),
        ("F2FP.BF16.F32.PACK_AB R50, R2, R1 ;", "convert_pack.bf16x2(R2, R1)"),
        ("IMAD.IADD R50, R1, 0x1, R2 ;", "add.i32(R1, R2)"),
        ("IMAD.IADD R50, R1, 0x1, -R2 ;", "sub.i32(R1, R2)"),
        ("IADD3 R50, -R1, RZ, RZ ;", "neg.i32(R1)"),
        ("IMAD.MOV R50, RZ, RZ, -R7 ;", "neg.i32(R7)"),
        ("IADD3 R50, R1, R2, R3 ;", "add.i32(R1, R2, R3)"),
        ("VIADD R50, R1, 0xffffffff ;", "add.i32(R1, 0xffffffff)"),
        ("IMAD.SHL.U32 R50, R1, 0x8, RZ ;", "shift_left.b32(R1, 0x3)"),
        ("LEA R50, R1, RZ, 0x3 ;", "shift_left.b32(R1, 0x3)"),
        ("LEA R50, R1, R2, 0x3 ;", "shift_add.i32(R1, 0x3, R2)"),
        ("IMAD R50, R1, 0x8, R2 ;", "shift_add.i32(R1, 0x3, R2)"),
        ("IMAD R50, R1, R3, R2 ;", "mad.i32(R1, R3, R2)"),
        ("SHF.R.S32.HI R50, RZ, 0x1f, R1 ;", "shift_right.s32(R1, 0x1f)"),
        ("LOP3.LUT R50, R1, R2, RZ, 0x3c, !PT ;", "xor.b32(R1, R2)"),
        ("LOP3.LUT R50, RZ, R1, RZ, 0x33, !PT ;", "not.b32(R1)"),
        ("LOP3.LUT R50, R1, R2, R3, 0xb8, !PT ;", "logic.b32(R1, R2, R3, 0xb8)"),
        ("FMNMX R50, R1, R2, !PT ;", "max.f32(R1, R2)"),
        ("FMNMX3 R50, R1, R2, R3, PT ;", "min.f32(R1, R2, R3)"),
        ("VIMNMX.U32 R50, PT, PT, R1, R2, PT, PT ;", "min.u32(R1, R2)"),
        ("MUFU.EX2 R50, -R1 ;", "exp2.f32(-R1) approximate"),
        ("MUFU.RSQ R50, R1 ;", "rsq.f32(R1) approximate"),
        ("I2F.U32.RP R50, R1 ;", "convert.f32.RP(R1)"),
        ("FSEL R50, R1, R2, !P0 ;", "select.f32(P0, R2, R1)"),
        ("MOV R50, R1 ;\n @P0 FMUL R50, R50, 0.5 ;", "select.b32(P0, R50, R1)"),
        ("SHFL.BFLY PT, R50, R1, 0x10, 0x1f ;", "shuffle.b32.BFLY(R1, 0x10, 0x1f)"),
        ("REDUX.SUM.S32 UR4, R1 ;\n MOV R50, UR4 ;", "reduce.s32.SUM(R1)"),
        ("S2R R50, SR_TID.X ;", "special.b32.SR_TID.X()"),
        ("LDS R50, [R1+0x10] ;", "load.b32.shared(R1)"),
        ("ULDC UR4, c[0x0][0x210] ;\n MOV R50, UR4 ;", "constant(c[0x0][0x210])"),
        ("IMAD.MOV.U32 R50, RZ, RZ, c[0x0][0x160] ;", "constant(c[0x0][0x160])"),
        ("MOV R3, 0x3f800000 ;\n FADD R50, R1, -R3 ;", "add.f32(R1, 0xbf800000)"),
        ("QMUL4 R50, R1, R2 ;", "unknown"),
    ],
)
def test_single_instructions(told, text, meaning):
    assert told(text, single=True) == meaning


def test_a_sum_does_not_lose_the_sign_of_zero(told):
    assert told("FADD R50, R1, -RZ ;") == "add.f32(R1, 0x80000000)"
    assert told("FFMA R50, R1, R2, RZ ;", single=True) == "fma.f32(R1, R2, 0x0)"
    assert told("FFMA R50, R1, R2, RZ ;") == "mul.f32(R1, R2) ordered"
    assert told("FFMA R50, R1, R2, -RZ ;") == "mul.f32(R1, R2)"


@pytest.mark.parametrize(
    ("compare", "select", "meaning"),
    [
        ("FSETP.GT.AND P0, PT, R1, R2, PT", "FSEL R50, R1, R2, P0", "max.f32(R1, R2) ordered"),
        ("FSETP.GEU.AND P0, PT, R1, R2, PT", "FSEL R50, R1, R2, !P0", "min.f32(R1, R2) ordered"),
        ("FSETP.LT.AND P0, PT, R1, R2, PT", "FSEL R50, R2, R1, P0", "max.f32(R1, R2) ordered"),
        ("FSETP.LTU.AND P0, PT, R1, R2, PT", "FSEL R50, R1, R2, P0", "min.f32(R1, R2) ordered"),
        ("ISETP.GT.U32.AND P0, PT, R1, R2, PT", "SEL R50, R1, R2, P0", "max.u32(R1, R2)"),
        ("ISETP.GT.AND P0, PT, R1, 0xc, PT", "SEL R50, R1, 0xc, P0", "max.s32(R1, 0xc)"),
        ("FSETP.GT.AND P0, PT, |R1|, R2, PT", "FSEL R50, |R1|, R2, P0", "max.f32(|R1|, R2) ordered"),
        # none of these is a maximum
        ("FSETP.GT.AND P0, PT, |R1|, R2, PT", "FSEL R50, R1, R2, P0", "select.f32(P0, R1, R2)"),
        ("FSETP.GT.AND P0, PT, R1, R3, PT", "FSEL R50, R1, R2, P0", "select.f32(P0, R1, R2)"),
        ("FSETP.NEU.AND P0, PT, R1, R2, PT", "FSEL R50, R1, R2, P0", "select.f32(P0, R1, R2)"),
        ("FSETP.GT.AND P0, PT, R1, R2, P1", "FSEL R50, R1, R2, P0", "select.f32(P0, R1, R2)"),
        ("FSETP.GT.AND P0, PT, R1, R2, PT", "FSEL R50, R1, -R2, P0", "select.f32(P0, R1, -R2)"),
    ],
)
def test_maximum_by_comparison(told, compare, select, meaning):
    assert told(f"{compare} ;\n {select} ;") == meaning


def test_maximum_by_a_guarded_move(told):
    assert told("MOV R50, R1 ;\n ISETP.GT.AND P0, PT, R2, R50, PT ;\n @P0 MOV R50, R2 ;") == "max.s32(R2, R1)"


def test_a_form_is_labelled_by_its_last_instruction(listing):
    probe = listing("""
        FSETP.GT.AND P0, PT, R1, R2, PT ;
        FADD R9, R1, R2 ;
        FSEL R3, R1, R2, P0 ;
        STS [R4], R3 ;
        EXIT ;
    """)
    found: Meanings = probe.kernel.fact("meanings")
    longer, own = found.forms_at(2)
    assert (longer.operation, longer.index, longer.covers) == ("max", 2, (0, 2))
    assert (own.operation, own.covers) == ("select", (2,))
    assert [m.operation for m in found.forms_at(0)] == ["compare"]


EXP = """
        FMUL R3, R1, 1.4426950216293334961 ;
        FSETP.GEU.AND P0, PT, R3, -126, PT ;
   @!P0 FMUL R3, R3, 0.5 ;
        MUFU.EX2 R50, R3 ;
   @!P0 FMUL R50, R50, R50 ;
"""


@pytest.mark.parametrize(
    ("old", "new", "meaning"),
    [
        ("", "", "exp.f32(R1) approximate"),
        ("1.4426950216293334961", "1.5", "exp2.f32(R3) approximate"),
        ("@!P0 FMUL R50", "@P0 FMUL R50", "select.b32(P0, R50, R50)"),
        ("0.5", "0.25", "select.b32(P0, R50, R50)"),
        ("FMUL R50, R50, R50", "FMUL R50, R50, R3", "select.b32(P0, R50, R50)"),
        ("-126", "-125", "select.b32(P0, R50, R50)"),
    ],
)
def test_exponential_with_its_denormal_arm(told, old, new, meaning):
    assert told(EXP.replace(old, new, 1) if old else EXP) == meaning


def test_64_bits_in_two_halves(listing):
    probe = listing("""
        IADD3 R8, P0, R2, -R4, RZ ;
        IADD3.X R9, R3, ~R5, RZ, P0, !PT ;
        ISETP.GT.U32.AND P1, PT, R2, R4, PT ;
        ISETP.GT.AND.EX P1, PT, R3, R5, PT, P1 ;
        SEL R10, R2, R4, P1 ;
        SEL R11, R3, R5, P1 ;
        STS.64 [R20], R8 ;
        STS.64 [R20+0x8], R10 ;
        EXIT ;
    """)
    found: Meanings = probe.kernel.fact("meanings")
    difference = found.of(probe.ssa.use(6, 1))
    assert words(probe, difference) == "sub.i64(R2:R3, R4:R5)"
    assert difference is found.of(probe.ssa.use(6, 1, 1)), "both halves are one value"
    assert difference.index == 1
    greatest = found.of(probe.ssa.use(7, 1))
    assert words(probe, greatest) == "max.s64(R2:R3, R4:R5)"
    assert (greatest.index, greatest.covers) == (5, (2, 3, 4, 5))


@pytest.mark.parametrize(
    ("old", "new"),
    [("IADD3.X R9, R3, R5", "IADD3.X R9, R3, ~R5"), ("RZ, P0, !PT", "RZ, P1, !PT"), (", P0, R2", ", PT, R2")],
)
def test_halves_that_do_not_belong_together(listing, old, new):
    text = "IADD3 R8, P0, R2, R4, RZ ;\n IADD3.X R9, R3, R5, RZ, P0, !PT ;\n STS.64 [R20], R8 ;\n EXIT ;"
    assert old in text
    probe = listing(text.replace(old, new))
    found: Meanings = probe.kernel.fact("meanings")
    assert found.of(probe.ssa.use(2, 1, 1)).operation == "add_carry"
    assert found.of(probe.ssa.use(2, 1, 0)).operation == "add"


KERNELS = r"""
extern "C" {
#define ONE(name, T, value) __global__ void name(const T* a, T* c) { int i = threadIdx.x; T x = a[i]; c[i] = value; }
#define TWO(name, T, value) __global__ void name(const T* a, const T* b, T* c) { int i = threadIdx.x; T x = a[i]; T y = b[i]; c[i] = value; }
TWO(k_fdiv_f32_exact, float, x / y)           ONE(k_rcp_f32_exact, float, 1.0f / x)
ONE(k_sqrt_f32_exact, float, sqrtf(x))        ONE(k_rsq_f32_approximate, float, rsqrtf(x))
TWO(k_fdiv_f32_approximate, float, __fdividef(x, y))
ONE(k_exp_f32_approximate, float, __expf(x))  ONE(k_exp_f32_approximate_b, float, expf(x))
ONE(k_exp2_f32_approximate, float, exp2f(x))  ONE(k_log_f32_approximate, float, __logf(x))
TWO(k_udiv_u32_exact, unsigned, x / y)        TWO(k_umod_u32_exact, unsigned, x % y)
TWO(k_sdiv_s32_exact, int, x / y)             TWO(k_smod_s32_exact, int, x % y)
TWO(k_add_i64_exact, long long, x + y)        TWO(k_sub_i64_exact, long long, x - y)
TWO(k_max_f32_ordered, float, x > y ? x : y)  TWO(k_min_f32_ordered, float, x < y ? x : y)
TWO(k_max_f32_exact, float, fmaxf(x, y))
TWO(k_fdiv_f64_exact, double, x / y)          ONE(k_sqrt_f64_exact, double, sqrt(x))
}
"""


@functools.cache
def compiled_kernels(arch: str):
    module, problems = read_module(compile_cuda(KERNELS, name="k.cu", arch=arch).cubin, Source("k.cubin"))
    assert problems == []
    return {kernel.name: kernel for kernel in module.kernels}


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", re.findall(r"k_\w+", KERNELS))
def test_what_the_compiler_makes_of_an_operation(arch, name):
    _, operation, kind, fidelity, *_ = name.split("_")
    kernel = compiled_kernels(arch)[name]
    found: Meanings = kernel.fact("meanings")
    ssa = found.ssa
    (store,) = [i for i in kernel.instructions if i.opcode == "STG"]
    place = next(n for n, o in enumerate(store.operands) if o.role == "value")
    meaning = found.of(ssa.use(store.index, place))
    loads = [i for i in kernel.instructions if i.opcode == "LDG"]
    loaded = {ssa.first[i.index] for i in loads}
    assert (meaning.operation, meaning.type, meaning.fidelity) == (operation, kind, fidelity)
    assert {term.values[0] for term in meaning.operands} == loaded
    if operation in ("fdiv", "sub", "sdiv", "smod", "udiv", "umod"):
        a, _ = meaning.operands
        assert found.single(a.values[0]).operands[0].values != ()
        first = parameter_of(kernel, found, a.values[0])
        assert first == 0, "the dividend comes from the first pointer"


def parameter_of(kernel, found: Meanings, loaded: int) -> int:
    """The number of the pointer parameter that a load goes through."""
    address = kernel.fact("addresses").of(found.ssa.instruction[loaded])
    return address.base.offset // 8


def test_a_wrong_refinement_is_no_division():
    kernel = compiled_kernels("sm_90")["k_fdiv_f32_exact"]
    found: Meanings = kernel.fact("meanings")
    (form,) = [m for m in set(found.longer.values()) if m.operation == "fdiv"]
    call = next(i for i in kernel.instructions if i.opcode == "CALL")
    assert call.index in form.covers, "the slow path's call is part of the form"
    assert kernel.instructions[form.index].opcode == "FFMA", "the label is on the fast path"


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_most_values_have_a_meaning(arch):
    for kernel in compiled_kernels(arch).values():
        known = [meaning is not None for _, meaning in kernel.fact("meanings")]
        assert sum(known) >= 0.97 * len(known)


def test_rows_name_roles_that_the_signatures_have():
    for opcode, rows in table().items():
        roles = {item.role for signature in signatures.table()[opcode] for item in signature.items}
        for row in rows:
            assert set(roles_of(row)) <= roles, (opcode, row.operation)


def test_sequences_bind_the_names_that_they_use():
    for row in sequences():
        bound = set(names_in(row.pattern))
        for name, right in row.equations:
            assert name in bound, (row.operation, name)
            bound |= set(names_in(right))
        assert set(row.operands) <= bound, row.operation
        assert row.fidelity in ("exact", "ordered", "approximate")


def test_patterns_say_what_they_say():
    assert parse("f(a, -b)") == parse("f( a,-b )")
    assert parse("f(#1.0)") == parse("f(#0x3f800000)") != parse("f(#1)")
    assert routine("__cuda_sm70_shflsync_bfly_p") == "shuffle"
    assert routine("$__internal_3_$__cuda_sm20_dblrcp_rn_slowpath_v3") == "rcp_f64"
    assert routine("my_div_rn_f32") == ""


def test_phi_psi_entries_and_calls(listing):
    probe = listing("""
    @P0 BRA `(.L_x_1) ;
        FADD R1, R2, R3 ;
.L_x_1:
        STS [R5], R1 ;
        EXIT ;
    """)
    found: Meanings = probe.kernel.fact("meanings")
    merged = found.of(probe.ssa.use(2, 1))
    assert merged.operation == "phi" and merged.index == -1
    assert {found.of(t.values[0]).operation for t in merged.operands} == {"add", "entry"}
    assert ValueKind.PHI in probe.ssa.kind
