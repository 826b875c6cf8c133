"""Fact "slices": what a value depends on, over data, guards, branches and memory."""

from __future__ import annotations

import pytest

import sassql.facts.slices  # noqa: F401  (registers the analysis)
from sassql.facts.slices import Slice, Slices
from sassql.model.kernel import Source
from sassql.reading.compile import compile_cuda
from sassql.reading.cubin import read_module


@pytest.fixture
def sliced(listing):
    """``sliced(text, **options)``: the slice of what the store to [R99] stores."""

    def make(text: str, **options) -> Slice:
        probe = listing(text)
        store = probe.index("STS [R99]")
        found: Slices = probe.kernel.fact("slices")
        return found.backward(probe.ssa.use(store, 1), **options)

    return make


def ends(found: Slice) -> set[str]:
    return {f"{end.kind} {end.detail or end.index}" for end in found.ends}


STRAIGHT = """
        LDG.E R4, desc[UR4][R2.64] ;
        S2R R5, SR_TID.X ;
        FADD R9, R9, R9 ;
        I2FP.F32.S32 R6, R5 ;
        MOV R7, R6 ;
        FFMA R8, R4, R7, c[0x0][0x160] ;
        STS [R99], R8 ;
        EXIT ;
"""


def test_data_back_to_loads_parameters_and_special_registers(sliced):
    found = sliced(STRAIGHT)
    assert found.instructions == {0, 1, 3, 4, 5}, "not the FADD, which nobody asked for"
    assert ends(found) == {"load 0", "special SR_TID.X", "constant c[0x0][0x160]"}
    assert found.certain and found.incomplete == ""


def test_the_address_of_a_load_is_left_out_unless_asked_for(sliced):
    assert "entry R2" not in ends(sliced(STRAIGHT))
    assert {"entry R2", "entry R3", "entry UR4"} <= ends(sliced(STRAIGHT, address=True))


BRANCHES = """
        LDS R1, [R30] ;
        ISETP.GT.AND P0, PT, R1, 0x4, PT ;
        MOV R8, RZ ;
    @P0 BRA `(.L_x_1) ;
        LDS R8, [R31] ;
.L_x_1:
        ISETP.GT.AND P1, PT, R20, 0x4, PT ;
   @P1 FADD R9, R8, R8 ;
        STS [R99], R9 ;
        EXIT ;
"""


def test_guards_and_deciding_branches(sliced):
    found = sliced(BRANCHES)
    assert found.instructions == {0, 1, 2, 3, 4, 5, 6}
    assert {"load 0", "load 4", "entry R20", "entry R9"} <= ends(found)
    plain = sliced(BRANCHES, control=False)
    assert plain.instructions == {2, 4, 6}
    assert ends(plain) == {"load 4", "entry R9"}


def test_a_guarded_exit_decides_what_follows(sliced):
    text = """
        ISETP.GT.AND P0, PT, R1, 0x4, PT ;
    @P0 EXIT ;
        FADD R8, R2, R3 ;
        STS [R99], R8 ;
        EXIT ;
    """
    assert sliced(text).instructions == {0, 1, 2}
    assert sliced(text, control=False).instructions == {2}


def test_a_loop_ends(sliced):
    found = sliced("""
        MOV R8, RZ ;
        MOV R1, RZ ;
.L_x_1:
        LDS R2, [R1] ;
        FADD R8, R8, R2 ;
        IADD3 R1, R1, 0x4, RZ ;
        ISETP.NE.AND P0, PT, R1, 0x40, PT ;
    @P0 BRA `(.L_x_1) ;
        STS [R99], R8 ;
        EXIT ;
    """)
    assert found.instructions == {0, 1, 2, 3, 4, 5, 6}, "the counter decides how often"
    assert ends(found) == {"load 2"}


def test_memory_is_gone_through_where_the_store_is_certain(sliced):
    text = """
        LDS R1, [R30+0x40] ;
        FMUL R2, R1, R1 ;
        STG.E desc[UR4][R4.64], R2 ;
        {}
        LDG.E R8, desc[UR4][R4.64] ;
        STS [R99], R8 ;
        EXIT ;
    """
    certain = sliced(text.format("NOP ;"))
    assert certain.instructions == {0, 1, 2, 4}
    assert ends(certain) == {"load 0"}
    doubtful = sliced(text.format("STG.E desc[UR4][R10.64], R3 ;"))
    assert doubtful.instructions == {4}
    assert ends(doubtful) == {"load 4"}


def test_spills_are_seen_through(sliced):
    found = sliced("""
        FADD R5, R6, R7 ;
        STL [R1+0x10], R5 ;
        LDL R8, [R1+0x10] ;
        STS [R99], R8 ;
        EXIT ;
    """)
    assert {0, 2} <= found.instructions
    assert ends(found) == {"entry R6", "entry R7"}


def test_bounded_and_honest_about_it(sliced):
    chain = "".join(f"FADD R8, R8, R{20 + i % 8} ;\n" for i in range(100)) + "STS [R99], R8 ;\n EXIT ;"
    found = sliced(chain, max=50)
    assert found.incomplete == "more than 50 values" and not found.certain
    assert sliced(chain).certain
    assert len(sliced(chain).instructions) == 100


def test_a_call_and_an_unknown_instruction_are_no_proof_of_absence(sliced):
    called = sliced("""
        CALL.ABS.NOINC `(elsewhere) ;
        STS [R99], R4 ;
        EXIT ;
    """)
    assert not called.certain and ends(called) == {"call what a call, or a store that may, left behind"}
    unknown = sliced("WHATEVER R4, R5 ;\n STS [R99], R4 ;\n EXIT ;")
    assert not unknown.certain


def test_the_slow_path_of_a_division_adds_nothing():
    text = (
        'extern "C" __global__ void d(const float* a, const float* b, float* c) {'
        " int i = threadIdx.x; c[i] = a[i] / b[i]; }"
    )
    module, _ = read_module(compile_cuda(text, name="d.cu", arch="sm_90").cubin, Source("d.cubin"))
    (kernel,) = module.kernels
    (store,) = [i for i in kernel.instructions if i.opcode == "STG"]
    whole: Slice = kernel.fact("slices").of_instruction(store.index)
    assert [end.detail for end in whole.ends if end.kind == "routine"] == ["div_f32"]
    assert whole.certain and [end.kind for end in whole.ends].count("load") == 2


def test_of_an_instruction_and_memoised(listing):
    probe = listing(STRAIGHT)
    found: Slices = probe.kernel.fact("slices")
    store = probe.index("STS [R99]")
    value = probe.ssa.use(store, 1)
    assert found.backward(value) is found.backward(value)
    assert found.of_instruction(store).instructions == found.backward(value).instructions


KERNELS = r"""
extern "C" __global__ void elementwise(const float* x, float* y, float s, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] * s; }
extern "C" __global__ void neighbour(const float* x, float* y) {
  float v = x[threadIdx.x]; y[threadIdx.x] = v + __shfl_xor_sync(~0u, v, 1); }
"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_what_the_compiler_makes(arch):
    module, _ = read_module(compile_cuda(KERNELS, name="k.cu", arch=arch).cubin, Source("k.cubin"))
    for kernel in module.kernels:
        found: Slices = kernel.fact("slices")
        (store,) = [i for i in kernel.instructions if i.opcode == "STG"]
        whole = found.of_instruction(store.index)
        opcodes = {kernel.instructions[i].opcode for i in whole.instructions}
        assert whole.certain
        assert [e.kind for e in whole.ends].count("load") == 1
        assert ("SHFL" in opcodes) == (kernel.name == "neighbour")
        if kernel.name == "elementwise":
            assert "ISETP" in opcodes, "whether i < n decides"
            data = found.of_instruction(store.index, control=False)
            assert "ISETP" not in {kernel.instructions[i].opcode for i in data.instructions}
