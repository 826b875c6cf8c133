"""Fact "addresses": what is read out of kernels whose index expressions are known."""

from __future__ import annotations

import functools

import pytest

import sassql.facts.addresses  # noqa: F401  (registers the analysis)
from sassql.facts.addresses import AddressKind
from sassql.facts.alias import Answer, must_equal
from sassql.facts.polynomials import Polynomial
from sassql.isa.spaces import Space
from sassql.model.kernel import Parameter, Resources, Source
from sassql.reading.compile import compile_cuda
from sassql.reading.cubin import read_module

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")

SOURCE = r"""
#define GLOBAL extern "C" __global__ void
typedef const float* __restrict__ In;
GLOBAL saxpy(int n, float a, In x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a * x[i] + y[i]; }
GLOBAL transpose_naive(In x, float* y, int w, int h) {
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y; y[c * h + r] = x[r * w + c]; }
template <int PITCH> __device__ void transpose(In x, float* y, int w, int h) {
  __shared__ float t[32][PITCH]; int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  t[threadIdx.y][threadIdx.x] = x[r * w + c]; __syncthreads();
  y[(blockIdx.x * 32 + threadIdx.y) * h + blockIdx.y * 32 + threadIdx.x] = t[threadIdx.x][threadIdx.y]; }
GLOBAL transpose_shared(In x, float* y, int w, int h) { transpose<32>(x, y, w, h); }
GLOBAL transpose_padded(In x, float* y, int w, int h) { transpose<33>(x, y, w, h); }
GLOBAL grid_stride(In x, float* y, int n) { float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i];
  y[threadIdx.x] = s; }
GLOBAL unrolled(In x, float* y, int n) { float s = 0; for (int i = 0; i < n; ++i) s += x[i]; y[threadIdx.x] = s; }
GLOBAL bumped(const float* x, float* y, int n) { const float* p = x + threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < n; ++i) { y[i * 32 + threadIdx.x] = *p; p += 32; } }
GLOBAL nested(In x, float* y, int n) { float s = 0; const float* p = x;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
#pragma unroll 1
    for (int j = 0; j < 10; ++j) { s += *p; p += 3; }
    y[i] = s; } }
GLOBAL gather(const int* __restrict__ k, In x, float* y) { y[threadIdx.x] = x[k[threadIdx.x]]; }
GLOBAL bytes(const unsigned char* __restrict__ x, unsigned char* y, int n) {
  y[n + threadIdx.x] = x[threadIdx.x / 8 * 100 + threadIdx.x % 8]; }
GLOBAL vectors(const float4* __restrict__ x, float4* y) { y[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x]; }
GLOBAL buffers(const float* x, float* y, int n) { __shared__ float b[2][128];
#pragma unroll 1
  for (int i = 0; i < n; ++i) { b[i & 1][threadIdx.x] = x[i * 128 + threadIdx.x]; __syncthreads();
    y[i * 128 + threadIdx.x] = b[i & 1][127 - threadIdx.x]; } }
struct Pair { float* x; float* y; };
GLOBAL structure(int n, Pair p) { p.y[threadIdx.x] = p.x[n]; }
GLOBAL either(const float* a, const float* b, float* y, int n) {
  const float* p = n > 3 ? a : b; y[threadIdx.x] = p[threadIdx.x]; }
__constant__ float table[64];
GLOBAL constants(float* y) { y[threadIdx.x] = table[threadIdx.x & 31]; }
GLOBAL stack(const int* x, int* y, int n) { int a[64];
#pragma unroll 1
  for (int i = 0; i < n; ++i) a[i] = x[i];
#pragma unroll 1
  for (int i = 0; i < n; ++i) y[i] = a[n - i]; }
"""


@functools.cache
def kernels(arch: str):
    cubin = compile_cuda(SOURCE, name="known.cu", arch=arch).cubin
    module, problems = read_module(cubin, Source("known.cubin"))
    assert problems == []
    return {kernel.name: kernel for kernel in module.kernels}


@pytest.fixture(params=ARCHITECTURES)
def known(request):
    """``known("saxpy")``: the addresses of a kernel, loads first, as text without doubles."""

    def addresses_of(name: str):
        return kernels(request.param)[name].fact("addresses")

    addresses_of.arch = request.param
    return addresses_of


def told(found, access: str, space: Space | None = None) -> list[str]:
    return list(
        dict.fromkeys(str(a) for a in found if a.access == access and (space is None or a.space is space))
    )


def test_saxpy(known):
    index = "4*ctaid.x*ntid.x + 4*tid.x"
    assert told(known("saxpy"), "load") == [f"global: param2 + {index}", f"global: param3 + {index}"]
    assert told(known("saxpy"), "store") == [f"global: param3 + {index}"]
    assert {a.width for a in known("saxpy")} == {4}
    assert {a.base.offset for a in known("saxpy")} == {8, 16}


def test_a_naive_transpose_swaps_the_coefficients(known):
    (load,) = [a for a in known("transpose_naive") if a.access == "load"]
    (store,) = [a for a in known("transpose_naive") if a.access == "store"]
    assert str(load.coefficient("tid.x")) == str(store.coefficient("tid.y")) == "0x4"
    assert str(load.coefficient("tid.y")) == "4*param2"
    assert str(store.coefficient("tid.x")) == "4*param3"
    assert str(load.coefficient("laneid")) == "0x0"


@pytest.mark.parametrize(("name", "pitch"), [("transpose_shared", 128), ("transpose_padded", 132)])
def test_transposes_through_shared_memory(known, name, pitch):
    found = known(name)
    assert told(found, "store", Space.SHARED) == [f"shared: shared + 4*tid.x + {pitch}*tid.y"]
    assert told(found, "load", Space.SHARED) == [f"shared: shared + {pitch}*tid.x + 4*tid.y"]
    (load,) = told(found, "load", Space.GLOBAL)
    assert load == "global: param0 + 128*ctaid.x + 128*ctaid.y*param2 + 4*param2*tid.y + 4*tid.x"
    assert all(a.kind is AddressKind.PURE for a in found)


def test_a_grid_stride_loop(known):
    (load,) = [a for a in known("grid_stride") if a.access == "load"]
    assert str(load) == "global: param0 + 4*ctaid.x*ntid.x + 4*k0*nctaid.x*ntid.x + 4*tid.x"
    assert str(load.stride(0)) == "4*nctaid.x*ntid.x"


def test_an_unrolled_loop_counts_in_steps_of_its_copies(known):
    found = [a for a in known("unrolled") if a.access == "load"]
    main = [a for a in found if a.kind is AddressKind.PURE]
    assert {str(a.base) for a in found} == {"param0"}
    assert {str(a.stride(0)) for a in main} == {"0x40"}
    assert sorted(a.offset for a in main) == list(range(0, 64, 4)), "16 copies"
    rest = [a for a in found if a.kind is not AddressKind.PURE]
    assert rest
    assert {a.kind for a in rest} == {AddressKind.STRUCTURAL}, "they begin where the loop before ended"
    assert all("last" in str(a) for a in rest)


def test_an_index_and_a_bumped_pointer_agree(known):
    load, store = known("bumped")
    assert str(load) == "global: param0 + 128*k0 + 4*tid.x"
    assert str(store) == "global: param1 + 128*k0 + 4*tid.x"
    assert load.polynomial == store.polynomial


def test_a_pointer_that_an_inner_loop_moves(known):
    load = next(a for a in known("nested") if a.access == "load")
    store = next(a for a in known("nested") if a.access == "store")
    assert str(load) == "global: param0 + 120*k0 + 12*k1"
    assert str(store) == "global: param1 + 4*k0"
    assert (load.stride(0), load.stride(1)) == (Polynomial.number(120), Polynomial.number(12))


def test_gathers_depend_on_data(known):
    first, second = (a for a in known("gather") if a.access == "load")
    assert first.kind is AddressKind.PURE
    assert second.kind is AddressKind.DATA
    assert str(second).startswith("global: param1 + 4*load@")


def test_bytes_and_an_index_that_looks_like_a_base(known):
    load, store = known("bytes")
    assert str(store) == "global: param1 + param2 + tid.x"
    assert str(store.base) == "param1", "a parameter of four bytes is no pointer"
    assert store.width == load.width == 1
    assert str(load.base) == "param0"
    assert load.kind is AddressKind.STRUCTURAL
    assert str(load.polynomial) in ("100*(tid.x / 8) + (tid.x % 8)", "92*(tid.x / 8) + tid.x")


def test_widths_are_in_bytes(known):
    load, store = known("vectors")
    assert (load.width, store.width) == (16, 16)
    assert str(load) == "global: param0 + 4096*ctaid.x + 16*tid.x"


def test_double_buffers(known):
    found = known("buffers")
    assert told(found, "store", Space.SHARED) == ["shared: shared + 512*(k0 % 2) + 4*tid.x"]
    assert told(found, "load", Space.SHARED) == ["shared: shared + 512*(k0 % 2) - 4*tid.x + 0x1fc"]


def test_pointers_inside_of_a_structure(known):
    found = known("structure")
    assert told(found, "load") == ["global: param1 + 4*param0"]
    assert told(found, "store") == ["global: param1+0x8 + 4*tid.x"]


def test_one_of_two_pointers_is_no_base(known):
    load = next(a for a in known("either") if a.access == "load" and a.space is Space.GLOBAL)
    assert load.base.kind in ("none", "table")  # sm_100 reads the one or the other by an index
    assert load.kind in (AddressKind.STRUCTURAL, AddressKind.PURE)


def test_constant_banks_at_a_computed_offset(known):
    assert told(known("constants"), "load") == ["constant: c[0x3] + 4*(tid.x % 32)"]


def test_arrays_on_the_stack(known):
    store = next(a for a in known("stack") if a.space is Space.LOCAL and a.access == "store")
    load = next(a for a in known("stack") if a.space is Space.LOCAL and a.access == "load")
    assert store.base.kind == load.base.kind == "frame"
    assert str(store).startswith("local: frame + 4*k0")
    assert [str(load.stride(loop)) for loop in range(2)] == ["0x0", "-0x4"]


def test_the_same_address_on_every_architecture():
    """Shared base, parameter base, descriptors and three ways of adding: all gone."""
    names = ("saxpy", "transpose_padded", "bumped", "buffers", "nested")
    for name in names:
        texts = {tuple(sorted(map(str, kernels(arch)[name].fact("addresses")))) for arch in ARCHITECTURES}
        assert len(texts) == 1, texts


# --- listings


def addresses_in(listing, text: str, arch: str = "sm_90"):
    return listing(text, arch).kernel.fact("addresses")


def test_shapes_of_address_operands(listing):
    found = addresses_in(
        listing,
        """
        S2R R0, SR_TID.X ;
        ULDC.64 UR4, c[0x0][0x160] ;
        IMAD.WIDE R2, R0, 0x8, c[0x0][0x168] ;
        LDS R4, [R0.X4+0x10] ;
        LDS R4, [R0.X4+UR4+-0x4] ;
        LDG.E R4, [R2.64+0x20] ;
        LDG.E R4, [R2.64+UR4] ;
        LDG.E R4, [UR4+0x8] ;
        LDG.E R4, [R0.U32+UR4] ;
        LDS R4, [0x40] ;
        EXIT ;
        """,
        "sm_80",
    )
    assert [str(a) for a in found] == [
        "shared: shared + 4*tid.x + 0x10",
        "shared: shared + param[0x0] + 4*tid.x - 0x4",
        "global: param[0x8] + 8*tid.x + 0x20",
        "global: param[0x0] + param[0x8] + 8*tid.x",
        "global: param[0x0] + 0x8",
        "global: param[0x0] + tid.x",
        "shared: shared + 0x40",
    ]
    assert found.of(6).base.kind == "none", "two words could be the pointer"


def test_a_descriptor_is_no_part_of_the_address(listing):
    found = addresses_in(
        listing,
        """
        ULDC.64 UR4, c[0x0][0x208] ;
        S2R R0, SR_TID.X ;
        LDC.64 R2, c[0x0][0x218] ;
        IMAD.WIDE R2, R0, 0x4, R2 ;
        LDG.E R4, desc[UR4][R2.64+0x4] ;
        EXIT ;
        """,
    )
    assert [str(a) for a in found] == ["global: param[0x8] + 4*tid.x + 0x4"]


def test_the_shared_window_of_a_cluster(listing):
    text = """
        S2UR UR5, SR_CgaCtaId ;
        UMOV UR4, 0x400 ;
        UIADD3 UR4, UR4, 0x80, URZ ;
        ULEA UR4, UR5, UR4, 0x18 ;
        LDS R4, [UR4+0x10] ;
        EXIT ;
    """
    (address,) = addresses_in(listing, text)
    assert str(address) == "shared: shared + 0x90"
    (without,) = addresses_in(listing, text.replace("SR_CgaCtaId", "SR_LANEID"))
    assert without.base.kind == "none"


def test_a_pointer_inside_of_a_function_makes_the_base_doubtful(listing):
    text = """
        LDC R2, c[0x0][0x218] ;
        LOP3.LUT R2, R2, 0xffff, RZ, 0xc0, !PT ;
        IADD3 R2, R2, c[0x0][0x210], RZ ;
        LDG.E R4, [R2.64] ;
        EXIT ;
    """
    bases = []
    for size in (4, 8):
        kernel = listing(text).kernel
        kernel.resources = Resources(parameters=(Parameter(0, 0, 8), Parameter(1, 8, size)))
        bases += [str(a.base) for a in kernel.fact("addresses")]
    assert bases == ["param0", ""]


def test_a_guard_says_nothing_of_the_iteration_before(listing):
    (_, guarded) = addresses_in(
        listing,
        """
        MOV R2, 0x100 ;
.L_x_1:
        LDS R5, [RZ] ;
        ISETP.NE.AND P0, PT, R5, RZ, PT ;
    @P0 STS [R2], RZ ;
        SEL R2, R8, R9, P0 ;
        ISETP.NE.AND P1, PT, R5, 0x7, PT ;
    @P1 BRA `(.L_x_1) ;
        EXIT ;
    """,
    )
    assert "select" in str(guarded), "P0 chose R2 one iteration ago"


def test_what_a_counted_loop_leaves_behind_is_a_number(listing):
    found = addresses_in(
        listing,
        """
        MOV R2, RZ ;
        MOV R6, RZ ;
.L_x_0:
        MOV R4, RZ ;
.L_x_1:
        LDS R5, [R2] ;
        VIADD R2, R2, 0xc ;
        VIADD R4, R4, 0x1 ;
        ISETP.NE.AND P0, PT, R4, 0xa, PT ;
    @P0 BRA `(.L_x_1) ;
        STS [R4], RZ ;
        VIADD R6, R6, 0x1 ;
        ISETP.NE.AND P0, PT, R6, c[0x0][0x210], PT ;
    @P0 BRA `(.L_x_0) ;
        EXIT ;
    """,
    )
    assert [str(a) for a in found] == ["shared: 120*k0 + 12*k1", "shared: 0xa"]


def test_both_sides_of_an_asynchronous_copy(listing):
    found = addresses_in(
        listing,
        """
        S2R R0, SR_TID.X ;
        IMAD.WIDE R2, R0, 0x10, c[0x0][0x160] ;
        IMAD.SHL.U32 R0, R0, 0x10, RZ ;
        LDGSTS.E.BYPASS.128 [R0+0x100], [R2.64] ;
        EXIT ;
        """,
        "sm_80",
    )
    target, source = found
    assert (str(target), target.access, target.width) == ("shared: shared + 16*tid.x + 0x100", "store", 16)
    assert (str(source), source.access, source.width) == ("global: param[0x0] + 16*tid.x", "load", 16)
    assert found.of(3) is target
    assert found.of(3, 1) is source
    assert found.of(0) is None


def test_a_guard_decides_its_own_selects(listing):
    found = addresses_in(
        listing,
        """
        S2R R0, SR_TID.X ;
        ISETP.GE.AND P0, PT, R0, c[0x0][0x210], PT ;
        MOV R2, c[0x0][0x214] ;
   @!P0 LEA R2, R0, 0x8, 0x2 ;
   @!P0 STS [R2], RZ ;
    @P0 STS [R2], RZ ;
        STS [R2], RZ ;
        EXIT ;
        """,
    )
    inside, outside, both = (a.polynomial for a in found)
    assert str(inside) == "4*tid.x"
    assert str(outside) == "param[0x4]"
    assert "select" in str(both)


def test_what_is_unknown_says_why(listing):
    found = addresses_in(
        listing,
        """
        S2R R0, SR_CLOCKLO ;
        SHFL.IDX PT, R2, R5, RZ, 0x1f ;
        LDG.E R3, [R4.64] ;
        STS [R0], RZ ;
        STS [R2], RZ ;
        STS [R3], RZ ;
        STS [R9], RZ ;
        EXIT ;
        """,
        "sm_80",
    )
    kinds = [(a.kind, a.reason) for a in found]
    assert kinds == [
        (AddressKind.OPAQUE, "entry value"),
        (AddressKind.OPAQUE, "result of S2R"),
        (AddressKind.OPAQUE, "other threads' values, SHFL"),
        (AddressKind.DATA, ""),
        (AddressKind.OPAQUE, "entry value"),
    ]


def test_two_reads_of_a_clock_are_two_values(listing):
    one, two = addresses_in(
        listing,
        """
        CS2R.32 R0, SR_CLOCKLO ;
        CS2R.32 R2, SR_CLOCKLO ;
        STS [R0], RZ ;
        STS [R2], RZ ;
        EXIT ;
    """,
    )
    assert must_equal(one, two).answer is Answer.UNKNOWN


def test_an_address_behind_a_loop_is_not_the_one_inside(listing):
    found = addresses_in(
        listing,
        """
        MOV R2, RZ ;
.L_x_1:
        STS [R2], RZ ;
        IADD3 R2, R2, 0x4, RZ ;
        ISETP.NE.AND P0, PT, R2, c[0x0][0x210], PT ;
    @P0 BRA `(.L_x_1) ;
        STS [R2], RZ ;
        EXIT ;
    """,
    )
    inside, behind = found
    assert str(inside) == "shared: 4*k0"
    assert str(behind) == "shared: 4*k0.last + 0x4"
    assert must_equal(inside, behind).answer is Answer.UNKNOWN


def test_what_never_runs_has_no_address(listing):
    assert len(addresses_in(listing, "   @!PT LDS RZ, [RZ] ;\n        LDS R0, [RZ] ;\n        EXIT ;\n")) == 1


def test_an_operand_that_no_table_has_is_opaque(listing):
    (address,) = addresses_in(listing, "        FOO R0, [R2+0x4] ;\n        EXIT ;\n")
    assert address.space is Space.UNKNOWN
    assert address.kind is AddressKind.OPAQUE
