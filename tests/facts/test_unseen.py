"""Facts "decided", "stale" and "halves", by what they leave out of slices; fact "callees"."""

from __future__ import annotations

import pytest

from sassql.model.kernel import Source
from sassql.reading.compile import compile_cuda
from sassql.reading.cubin import read_module


@pytest.fixture
def loads(listing):
    """``loads(text)``: the numbers of the loads that the value stored to [R99] depends on."""

    def found(text: str) -> set[int]:
        probe = listing(text)
        store = next(i for i, form in enumerate(probe.kernel.fact("forms").of) if "[R99]" in form.text)
        inside = probe.kernel.fact("slices").backward(probe.ssa.use(store, 1), control=False)
        return {end.index for end in inside.ends if end.kind == "load"}

    return found


def test_what_was_there_before_a_guarded_load(loads):
    text = """
        LDG.E R4, desc[UR4][R2.64] ;
        STG.E desc[UR4][R6.64], R4 ;
    @P0 LDG.E R4, desc[UR4][R2.64+0x80] ;
        FADD R5, R4, R4 ;
    {} STS [R99], R5 ;
        EXIT ;
"""
    assert loads(text.replace("{}", "@P0")) == {2}
    assert loads(text.replace("{}", "@P1")) == {0, 2}
    assert loads(text.replace("{}", "   ")) == {0, 2}


def test_two_comparisons_of_equal_numbers(loads):
    text = """
        LDG.E R4, desc[UR4][R2.64] ;
        STG.E desc[UR4][R6.64], R4 ;
        ISETP.GE.AND P0, PT, R10, R11, PT ;
   @!P0 LDG.E R4, desc[UR4][R2.64+0x80] ;
        FADD R5, R4, R4 ;
        MOV R12, R10 ;
        ISETP.GE.AND P1, PT, R12, {}, PT ;
    @P1 EXIT ;
        STS [R99], R5 ;
        EXIT ;
"""
    assert loads(text.replace("{}", "R11")) == {3}
    assert loads(text.replace("{}", "R13")) == {0, 3}


def test_both_ways_of_a_predicate(loads):
    text = """
        LDG.E R4, desc[UR4][R2.64] ;
        STG.E desc[UR4][R6.64], R4 ;
        LDG.E R8, desc[UR4][R2.64+0x80] ;
    @P0 FADD R4, R8, 1 ;
   {} FMUL R4, R8, 2 ;
        STS [R99], R4 ;
        EXIT ;
"""
    assert loads(text.replace("{}", "@!P0")) == {2}
    assert loads(text.replace("{}", "@!P1")) == {0, 2}


def test_another_iteration_is_another_time(loads):
    text = """
        LDG.E R4, desc[UR4][R2.64] ;
.L_x_1:
    @P0 STS [R99], R4 ;
        ISETP.GE.AND P0, PT, R10, R11, PT ;
    @P0 LDG.E R4, desc[UR4][R2.64+0x80] ;
        IADD3 R10, R10, 0x1, RZ ;
        ISETP.NE.AND P1, PT, R10, 0x20, PT ;
    @P1 BRA `(.L_x_1) ;
        EXIT ;
"""
    assert loads(text) == {0, 3}


def test_the_upper_half_of_a_register(loads):
    text = """
        LDG.E.U16 R4, desc[UR4][R2.64] ;
        LDG.E.U16 R5, desc[UR4][R2.64+0x80] ;
        PRMT R4, R5, 0x7610, R4 ;
        STS{} [R99], R4 ;
        EXIT ;
"""
    assert loads(text.replace("{}", ".U16")) == {1}
    assert loads(text.replace("{}", "")) == {0, 1}


ASSERTS = """
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
extern "C" __global__ void checked(int* x, int n) {
    if (n <= 3) __assertfail("n > 3", "file", 1, "checked", 1);
    x[threadIdx.x] = n;
}
"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_functions_of_the_runtime_have_names(arch):
    cubin = compile_cuda(ASSERTS, name="checked.cu", arch=arch).cubin
    module, _ = read_module(cubin, Source("checked.cu"))
    (kernel,) = [k for k in module.kernels if k.name == "checked"]
    assert set(kernel.fact("callees").values()) == {"__assertfail"}
