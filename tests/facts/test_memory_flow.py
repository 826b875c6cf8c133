"""Fact "memory_flow": which loads read which stores, and what orders them."""

from __future__ import annotations

import pytest

import sassql.facts.memory_flow  # noqa: F401  (registers the analysis)
from sassql.facts.memory_flow import MemoryFlow
from sassql.isa import signatures, sync
from sassql.model.kernel import Source
from sassql.reading.compile import compile_cuda
from sassql.reading.cubin import read_module


@pytest.fixture
def edges(listing):
    """``edges(text)``: (store, load, certainty, same thread, strongest synchronisation) of every edge."""

    def found(text: str):
        flow: MemoryFlow = listing(text).kernel.fact("memory_flow")
        assert flow.incomplete == ()
        return [(e.store, e.load, e.certainty, e.same_thread, e.strongest) for e in flow]

    return found


GLOBAL = """
        LDC.64 R2, c[0x0][0x210] ;
        S2R R0, SR_TID.X ;
        IMAD.WIDE R4, R0, 0x4, R2 ;
        STG.E desc[UR4][R4.64], R7 ;
        {between}
        LDG.E R8, desc[UR4][{address}] ;
        STS [R20], R8 ;
        EXIT ;
"""


@pytest.mark.parametrize(
    ("between", "address", "edge"),
    [
        ("NOP ;", "R4.64", ("must", True, "none")),
        ("BAR.SYNC.DEFER_BLOCKING 0x0 ;", "R4.64", ("must", True, "barrier")),
        ("MEMBAR.SC.GPU ;", "R4.64", ("must", True, "fence")),
        ("WARPSYNC.ALL ;", "R4.64", ("must", True, "warp")),
        ("BAR.SYNC.DEFER_BLOCKING 0x0 ;", "R4.64+0x4", ("may", None, "barrier")),
        ("NOP ;", "R4.64+0x4", ("unknown", None, "none")),
        ("@P0 BAR.SYNC.DEFER_BLOCKING 0x0 ;", "R4.64+0x4", ("unknown", None, "none")),
        ("BAR.ARV 0x1, 0x40 ;", "R4.64+0x4", ("unknown", None, "none")),
        ("BAR.SYNC.DEFER_BLOCKING 0x0 ;", "R4.64+0x2", ("may", None, "barrier")),
    ],
)
def test_a_round_trip_through_global_memory(edges, between, address, edge):
    assert edges(GLOBAL.format(between=between, address=address)) == [(3, 5, *edge)]


def test_different_bytes_of_one_thread_are_apart(edges):
    text = GLOBAL.format(between="NOP ;", address="R4.64").replace("0x4, R2", "0x8, R2")
    assert edges(text.replace("LDG.E R8, desc[UR4][R4.64]", "LDG.E R8, desc[UR4][R4.64+0x4]")) == []


def test_the_last_store_wins_and_an_unknown_one_spoils(edges):
    again = GLOBAL.format(between="STG.E desc[UR4][R4.64], R9 ;", address="R4.64")
    assert edges(again)[0] == (4, 5, "must", True, "none")
    assert all(e[0] != 3 or e[2] != "must" for e in edges(again))
    other = GLOBAL.format(between="STG.E desc[UR4][R12.64], R9 ;", address="R4.64")
    assert (3, 5, "may", True, "none") in edges(other), "R12 may point anywhere"
    elsewhere = GLOBAL.format(between="STS [R12], R9 ;", address="R4.64")
    assert edges(elsewhere) == [(3, 5, "must", True, "none")]


def test_a_guarded_store(edges):
    text = GLOBAL.format(between="NOP ;", address="R4.64")
    guarded = text.replace("STG.E", "@P0 STG.E")
    assert edges(guarded) == [(3, 5, "may", True, "none")]
    assert edges(guarded.replace("LDG.E", "@P0 LDG.E")) == [(3, 5, "must", True, "none")]
    assert edges(guarded.replace("LDG.E", "@!P0 LDG.E")) == [(3, 5, "may", True, "none")]


BOTH_UNDER_A_CONDITION = """
        LDC.64 R2, c[0x0][0x210] ;
    @P0 BRA `(.L_x_1) ;
        STG.E desc[UR4][R2.64], R7 ;
.L_x_1:
        BAR.SYNC.DEFER_BLOCKING 0x0 ;
    @{guard} EXIT ;
        LDG.E R8, desc[UR4][R2.64] ;
        STS [R20], R8 ;
        EXIT ;
"""


def test_a_way_that_cannot_have_been_taken_does_not_count(edges):
    assert edges(BOTH_UNDER_A_CONDITION.format(guard="P0")) == [(2, 5, "must", True, "barrier")]
    assert edges(BOTH_UNDER_A_CONDITION.format(guard="!P0"))[0][2] != "must"
    assert edges(BOTH_UNDER_A_CONDITION.format(guard="P1"))[0][2:4] == ("may", True)


def test_the_barrier_behind_a_join_lies_on_every_way(listing):
    flow = listing(BOTH_UNDER_A_CONDITION.format(guard="P0")).kernel.fact("memory_flow")
    (edge,) = flow.into(5)
    assert edge.sync == ("barrier",)
    assert flow.synchronisation(edge) == (3,)
    assert flow.out_of(2) == (edge,) and flow.source(5) == edge


LOOP = """
        LDC.64 R2, c[0x0][0x210] ;
        MOV R9, RZ ;
.L_x_1:
        LDG.E R8, desc[UR4][R2.64] ;
        STG.E desc[UR4][R2.64], R7 ;
        {step}
        IADD3 R9, R9, 0x1, RZ ;
        ISETP.NE.AND P0, PT, R9, 0x10, PT ;
    @P0 BRA `(.L_x_1) ;
        EXIT ;
"""


def test_round_a_loop(edges):
    assert edges(LOOP.format(step="NOP ;"))[0] == (3, 2, "may", True, "loop"), (
        "the first time nothing was stored"
    )
    moving = edges(LOOP.format(step="IADD3 R2, R2, 0x4, RZ ;"))
    assert all(e[2] == "unknown" for e in moving), "another iteration's element"


def test_the_second_loop_reads_what_the_first_wrote(edges):
    found = edges("""
        LDC.64 R2, c[0x0][0x210] ;
        MOV R9, RZ ;
        MOV R10, RZ ;
.L_x_1:
        IMAD.WIDE R4, R9, 0x4, R2 ;
        STG.E desc[UR4][R4.64], R7 ;
        IADD3 R9, R9, 0x1, RZ ;
        ISETP.NE.AND P0, PT, R9, 0x10, PT ;
    @P0 BRA `(.L_x_1) ;
.L_x_2:
        IMAD.WIDE R4, R10, 0x4, R2 ;
        LDG.E R8, desc[UR4][R4.64] ;
        IADD3 R10, R10, 0x1, RZ ;
        ISETP.NE.AND P0, PT, R10, 0x10, PT ;
    @P0 BRA `(.L_x_2) ;
        STS [R20], R8 ;
        EXIT ;
    """)
    assert found == [(4, 9, "may", True, "loop")]


def test_the_stack_and_asynchronous_copies(edges):
    stack = """
        STL [R1+0x10], R7 ;
        STL [R1+0x14], R8 ;
        LDL R9, [R1+0x10] ;
        STS [R20], R9 ;
        EXIT ;
    """
    assert edges(stack) == [(0, 2, "must", True, "none")]
    copies = """
        S2R R0, SR_TID.X ;
        IMAD.SHL.U32 R3, R0, 0x4, RZ ;
        LDGSTS.E [R3], desc[UR4][R4.64] ;
        LDGDEPBAR ;
        DEPBAR.LE SB0, 0x0 ;
        BAR.SYNC.DEFER_BLOCKING 0x0 ;
        LDS R9, [R3+0x4] ;
        STG.E desc[UR4][R8.64], R9 ;
        EXIT ;
    """
    assert (2, 6) in [e[:2] for e in edges(copies)]


def test_what_orders_is_an_opcode_that_exists():
    assert set(sync._table()) <= set(signatures.table())
    assert {row.order for rows in sync._table().values() for row in rows} <= set(sync.ORDERS)


KERNELS = r"""
extern "C" __global__ void own(const float* x, float* t, float* y) {
  int i = threadIdx.x; t[i] = x[i] * 2.0f; __syncthreads(); y[i] = t[i] + 1.0f; }
extern "C" __global__ void other(const float* x, float* t, float* y) {
  int i = threadIdx.x; t[i] = x[i] * 2.0f; __syncthreads(); y[i] = t[(i + 1) & 31] + 1.0f; }
extern "C" __global__ void shared_own(const float* x, float* y) {
  __shared__ float s[64]; int i = threadIdx.x; s[i] = x[i]; __syncthreads(); y[i] = s[i]; }
extern "C" __global__ void shared_other(const float* x, float* y) {
  __shared__ float s[64]; int i = threadIdx.x; s[i] = x[i]; __syncthreads(); y[i] = s[63 - i]; }
extern "C" __global__ void fused(const float* x, float* y) { int i = threadIdx.x; y[i] = x[i] + 1.0f; }
"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_what_the_compiler_leaves(arch):
    module, _ = read_module(compile_cuda(KERNELS, name="k.cu", arch=arch).cubin, Source("k.cubin"))
    found = {}
    for kernel in module.kernels:
        flow: MemoryFlow = kernel.fact("memory_flow")
        found[kernel.name] = [(e.space, e.certainty, e.same_thread, e.strongest) for e in flow]
    assert found["own"] == [("global", "must", True, "barrier")]
    assert found["other"] == [("global", "may", None, "barrier")]
    assert found["shared_own"] == [("shared", "must", True, "barrier")]
    assert found["shared_other"] == [("shared", "may", None, "barrier")]
    assert found["fused"] == []
