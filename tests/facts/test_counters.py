"""Fact "counters": what loops count, and how often they go round."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sassql.facts.counters  # noqa: F401  (registers the analysis)
from sassql.facts.bounds import first_failure
from sassql.facts.counters import LoopKind
from sassql.model.kernel import Source
from sassql.reading.compile import compile_cuda
from sassql.reading.cubin import read_module

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")

SOURCE = r"""
#define GLOBAL extern "C" __global__ void
GLOBAL counted(const float* __restrict__ x, float* y) { float s = 0;
#pragma unroll 1
  for (int i = 0; i < 24; ++i) s += x[i * 128 + threadIdx.x];
  y[threadIdx.x] = s; }
GLOBAL limited(const float* x, float* y, int n) {
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += 96) y[i] = x[i]; }
GLOBAL halving(float* y) { __shared__ float s[256]; s[threadIdx.x] = y[threadIdx.x]; __syncthreads();
#pragma unroll 1
  for (int o = 128; o > 0; o >>= 1) { if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o]; __syncthreads(); }
  y[threadIdx.x] = s[0]; }
GLOBAL waiting(volatile int* f, int* y) { while (*f == 0) {} *y = 1; }
GLOBAL swapping(double* f, double v) { auto p = (unsigned long long*)f; unsigned long long o = *p, a;
  do { a = o; o = atomicCAS(p, a, __double_as_longlong(v * __longlong_as_double(a))); } while (a != o); }
"""


@functools.cache
def kernels(arch: str):
    cubin = compile_cuda(SOURCE, name="loops.cu", arch=arch).cubin
    return {k.name: k for k in read_module(cubin, Source("loops.cubin"))[0].kernels}


@pytest.fixture(params=ARCHITECTURES)
def loops(request):
    """``loops("counted")``: the counters of a kernel."""
    return lambda name: kernels(request.param)[name].fact("counters")


def test_a_constant_number_of_rounds(loops):
    (loop,) = loops("counted")
    assert loop.kind is LoopKind.COUNTED
    assert loop.trips == 24
    assert {(str(c.init), str(c.step)) for c in loop.counters} & {("0x0", "0x1")}


def test_a_limit_that_is_a_parameter(loops):
    (loop,) = loops("limited")
    assert loop.kind is LoopKind.COUNTED
    assert loop.trips is None
    assert "0x60" in {str(c.step) for c in loop.counters}
    (bound,) = loop.bounds
    assert (str(bound.left), bound.operator, str(bound.right)) == ("96*k0 + tid.x + 0x60", "<", "param2")
    assert bound.is_signed
    assert bound.exact


def test_a_distance_that_is_halved(loops):
    (loop,) = loops("halving")
    assert loop.trips == 8
    assert loop.counters == ()


@pytest.mark.parametrize("name", ["waiting", "swapping"])
def test_spin_loops(loops, name):
    found = loops(name)
    (loop,) = (one for one in found.of_loop if found.loops[one.loop].depth == 1)  # sm_75 gathers lanes inside
    assert loop.kind is LoopKind.SPIN
    assert loop.bounds == ()


# --- listings


def counters_in(listing, text: str, arch: str = "sm_90"):
    return listing(text, arch).kernel.fact("counters")


def loop_of(listing, *body: str, before: tuple[str, ...] = ()):
    lines = [*before, ".L_x_1:", *body]
    text = "".join(
        f"{line}\n" if line.startswith(".") else f"        {line} ;\n" for line in [*lines, "EXIT"]
    )
    (loop,) = counters_in(listing, text)
    return loop


def test_a_64_bit_pointer_is_its_low_word(listing):
    loop = loop_of(
        listing,
        "LDG.E R5, [R2.64]",
        "IADD3 R2, P1, R2, 0x40, RZ",
        "IADD3.X R3, RZ, R3, RZ, P1, !PT",
        "IADD3 R0, R0, -0x1, RZ",
        "ISETP.GT.AND P0, PT, R0, RZ, PT",
        "@P0 BRA `(.L_x_1)",
        before=("MOV R2, c[0x0][0x210]", "MOV R3, c[0x0][0x214]", "MOV R0, 0x7"),
    )
    told = {str(c.register): (str(c.init), str(c.step)) for c in loop.counters}
    assert told == {"R0": ("0x7", "-0x1"), "R2": ("param[0x0]", "0x40")}
    assert loop.trips == 7
    assert len(loop.open) == 1, "the high word counts nothing"


@pytest.mark.parametrize(
    ("statement", "step"),
    [
        ("VIADD R0, R0, 0x3", "0x3"),
        ("IMAD.IADD R0, R0, 0x1, R9", "param[0x4]"),
        ("LEA R0, R9, R0, 0x2", "4*param[0x4]"),
        ("IADD3 R0, R0, R9, R9", "2*param[0x4]"),
    ],
)
def test_ways_to_count(listing, statement, step):
    loop = loop_of(
        listing,
        "STS [R0], RZ",
        statement,
        "ISETP.LT.AND P0, PT, R0, c[0x0][0x218], PT",
        "@P0 BRA `(.L_x_1)",
        before=("MOV R0, c[0x0][0x210]", "MOV R9, c[0x0][0x214]"),
    )
    assert [(str(c.init), str(c.step)) for c in loop.counters] == [("param[0x0]", step)]


def test_a_copy_in_the_loop_does_not_hide_the_counter(listing):
    loop = loop_of(
        listing,
        "VIADD R4, R0, 0x8",
        "MOV R0, R4",
        "ISETP.NE.AND P0, PT, R4, 0x50, PT",
        "@P0 BRA `(.L_x_1)",
        before=("MOV R0, RZ",),
    )
    assert loop.trips == 10


def test_a_step_under_a_guard_counts_nothing(listing):
    loop = loop_of(
        listing,
        "LDS R4, [R0]",
        "ISETP.NE.AND P1, PT, R4, RZ, PT",
        "@P1 VIADD R0, R0, 0x8",
        "ISETP.NE.AND P0, PT, R0, 0x50, PT",
        "@P0 BRA `(.L_x_1)",
        before=("MOV R0, RZ",),
    )
    assert loop.counters == ()
    assert loop.bounds == ()
    assert loop.kind is not LoopKind.COUNTED


def test_a_guard_that_the_loop_does_not_change_decides_the_step(listing):
    loop = loop_of(
        listing,
        "@P1 VIADD R0, R0, 0x8",
        "ISETP.NE.AND P0, PT, R0, 0x50, PT",
        "@P0 BRA `(.L_x_1)",
        before=("ISETP.NE.AND P1, PT, R9, RZ, PT", "MOV R0, RZ"),
    )
    (counter,) = loop.counters
    assert "select" in str(counter.step)
    assert loop.trips is None


def test_a_step_that_the_loop_changes_counts_nothing(listing):
    loop = loop_of(
        listing,
        "LDS R4, [R0]",
        "IADD3 R0, R0, R4, RZ",
        "ISETP.NE.AND P0, PT, R0, 0x50, PT",
        "@P0 BRA `(.L_x_1)",
        before=("MOV R0, RZ",),
    )
    assert loop.counters == ()


def test_a_second_condition_makes_a_bound_inexact(listing):
    loop = loop_of(
        listing,
        "VIADD R0, R0, 0x1",
        "ISETP.NE.AND P0, PT, R0, 0x50, P2",
        "@P0 BRA `(.L_x_1)",
        before=("MOV R0, RZ",),
    )
    (bound,) = loop.bounds
    assert not bound.exact
    assert loop.trips is None


def test_a_second_way_out_makes_the_number_of_rounds_unknown(listing):
    counted = counters_in(
        listing,
        """
        MOV R0, RZ ;
.L_x_1:
        VIADD R0, R0, 0x1 ;
    @P3 BRA `(.L_x_2) ;
        ISETP.NE.AND P0, PT, R0, 0x50, PT ;
    @P0 BRA `(.L_x_1) ;
.L_x_2:
        EXIT ;
    """,
    )
    assert counted[0].bounds != ()
    assert counted[0].trips is None


def test_a_branch_that_leaves_says_the_opposite(listing):
    counted = counters_in(
        listing,
        """
        MOV R0, RZ ;
.L_x_1:
        ISETP.GE.AND P0, PT, R0, 0xa, PT ;
    @P0 BRA `(.L_x_2) ;
        VIADD R0, R0, 0x2 ;
        BRA `(.L_x_1) ;
.L_x_2:
        STS [R0], RZ ;
        EXIT ;
    """,
    )
    (bound,) = counted[0].bounds
    assert str(bound) == "2*k0 < 0xa"
    assert counted[0].trips == 6, "the header runs once more than the body"


def test_a_64_bit_comparison(listing):
    loop = loop_of(
        listing,
        "VIADD R0, R0, 0x1",
        "ISETP.GE.U32.AND P0, PT, R0, c[0x0][0x210], PT",
        "ISETP.GE.U32.AND.EX P0, PT, RZ, c[0x0][0x214], PT, P0",
        "@!P0 BRA `(.L_x_1)",
        before=("MOV R0, RZ",),
    )
    (bound,) = loop.bounds
    assert bound.wide
    assert str(bound) == "k0 + 0x1 < param[0x0]"


def test_buffers_that_alternate(listing):
    probe = listing("""
        MOV R0, RZ ;
        MOV R2, 0x20 ;
.L_x_1:
        STS [R2], RZ ;
        LOP3.LUT R2, R2, 0x40, RZ, 0x3c, !PT ;
        VIADD R0, R0, 0x1 ;
        ISETP.NE.AND P0, PT, R0, 0xa, PT ;
    @P0 BRA `(.L_x_1) ;
        EXIT ;
    """)
    value = probe.ssa.use(probe.index("STS"), 0)
    assert str(probe.kernel.fact("counters").of(value)) == "64*(k0 % 2) + 0x20"


def test_padding(listing):
    counted = counters_in(listing, "        EXIT ;\n.L_x_1:\n        BRA `(.L_x_1) ;\n")
    assert len(counted) == 0
    assert len(counted.padding) == 1
    trap = counters_in(listing, "        STS [RZ], RZ ;\n.L_x_1:\n        BRA `(.L_x_1) ;\n")
    assert trap[0].kind is LoopKind.PADDING


@given(
    start=st.integers(0, 0xFFFFFFFF),
    step=st.one_of(st.integers(-9, 9), st.sampled_from([1 << 20, -(1 << 20), 1 << 31])),
    operator=st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
    distance=st.integers(-300, 300),
    is_signed=st.booleans(),
)
def test_the_first_failure_is_the_first(start, step, operator, distance, is_signed):
    word = 1 << 32
    limit = (start + distance) % word

    def number(value: int) -> int:
        value %= word
        return value - word if is_signed and value >> 31 else value

    holds = {
        "<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__, "==": int.__eq__, "!=": int.__ne__,
    }[operator]  # fmt: skip
    tried = next((k for k in range(1000) if not holds(number(start + step * k), number(limit))), None)
    found = first_failure(start, step % word, operator, limit, is_signed=is_signed)
    if found is not None and found < 1000:
        assert found == tried
    if (
        tried is not None
        and abs(step) < 10
        and abs(number(start)) < 1 << 30
        and operator in "<=>=!="
        and step
    ):
        towards = (operator in ("<", "<=") and step > 0) or (operator in (">", ">=") and step < 0)
        assert found == tried or not (towards or operator == "==" or tried == 0)


def test_a_cycle_with_two_ways_in_ends(listing):
    """No compiler writes such a cycle; what is solved by itself stays what it is."""
    kernel = listing(
        """
        @P0 BRA `(.L_x_9) ;
        LDG.E.64 R0, desc[UR4][R8.64] ;
.L_x_7:
        @P0 LDG.E.64 R0, desc[UR4][R8.64] ;
.L_x_8:
.L_x_9:
        @P1 BRA `(.L_x_7) ;
        @P1 BRA `(.L_x_8) ;
        STG.E desc[UR4][R8.64], R0 ;
        EXIT ;
        """
    ).kernel
    assert kernel.fact("loops").irreducible
    assert len(kernel.fact("addresses")) == 3
