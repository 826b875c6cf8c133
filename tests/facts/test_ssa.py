"""Fact "ssa": which value every read reads."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reaching import check

from sassql.facts.ssa import ValueKind
from sassql.reading.listing import read_listing


def test_straight_code(listing):
    probe = listing("""
        FADD R1, R2, R3 ;
        FADD R1, R1, RZ ;
        FMUL R4, R1, R1 ;
        EXIT ;
    """)
    assert probe.read("FADD R1, R2", 1) == "R2 at entry"
    assert probe.read("FADD R1, R1", 1) == "@0"
    assert probe.read("FADD R1, R1", 2) == "nothing"
    assert probe.read("FMUL", 1) == probe.read("FMUL", 2) == "@1"
    assert probe.tell(probe.ssa.definition(2, 0)) == "@2"


def test_a_guarded_definition_keeps_the_old_value(listing):
    probe = listing("""
        MOV R4, RZ ;
   @!P2 LDS R4, [R2] ;
        FADD R5, R4, R4 ;
        EXIT ;
    """)
    assert probe.read("FADD", 1) == "psi(@1, @0)"
    ssa, load = probe.ssa, probe.index("@!P2 LDS")
    assert probe.tell(ssa.definition(load, 0)) == "psi(@1, @0)", "what R4 holds afterwards"
    assert probe.tell(ssa.guard(load)) == "P2 at entry"
    assert ssa.guard(2) is None
    assert (-1, 0, ssa.guard(load)) in ssa.uses_of(load)
    assert ssa.definitions_of(load) == ((0, 0, ssa.definition(load, 0)),)


def test_both_halves_of_an_if_conversion(listing):
    probe = listing("""
    @P0 FADD R4, R1, R2 ;
   @!P0 FMUL R4, R1, R2 ;
        STS [R3], R4 ;
        EXIT ;
    """)
    assert probe.read("STS", 1) == "psi(@1, psi(@0, R4 at entry))"


def test_what_never_runs_defines_and_reads_nothing(listing):
    probe = listing("""
        MOV R4, RZ ;
   @!PT LDS R4, [R4] ;
        FADD R5, R4, R4 ;
        EXIT ;
    """)
    assert probe.read("FADD", 1) == "@0"
    assert probe.ssa.uses_of(1) == ()
    assert probe.ssa.definition(1, 0) is None
    assert probe.ssa.users(probe.ssa.definition(0, 0)) == ((2, 1, 0), (2, 2, 0))


def test_a_join_has_one_input_per_way(listing):
    probe = listing("""
        MOV R1, RZ ;
    @P0 BRA `(.L_x_1) ;
        FADD R1, R2, R3 ;
.L_x_1:
        STS [R5], R1 ;
        EXIT ;
    """)
    assert probe.read("STS", 1) == "phi(@0, @2)"
    value = probe.ssa.use(3, 1)
    assert probe.blocks.predecessors[probe.ssa.block[value]] == (0, 1)


def test_no_join_where_nobody_reads(listing):
    probe = listing("""
        MOV R1, RZ ;
    @P0 BRA `(.L_x_1) ;
        FADD R1, R2, R3 ;
.L_x_1:
        EXIT ;
    """)
    assert ValueKind.PHI not in probe.ssa.kind


def test_no_join_where_the_register_is_written_before_it_is_read(listing):
    probe = listing("""
        MOV R1, RZ ;
    @P0 BRA `(.L_x_1) ;
        FADD R1, R2, R3 ;
.L_x_1:
        MOV R1, R4 ;
        STS [R5], R1 ;
        EXIT ;
    """)
    assert ValueKind.PHI not in probe.ssa.kind


def test_the_old_value_of_a_guarded_definition_is_right_even_if_nobody_reads_it(listing):
    probe = listing("""
        MOV R1, RZ ;
    @P0 BRA `(.L_x_1) ;
        FADD R1, R2, R3 ;
.L_x_1:
    @P1 FADD R1, R2, R2 ;
        EXIT ;
    """)
    assert probe.tell(probe.ssa.definition(3, 0)) == "psi(@3, phi(@0, @2))"


def test_a_loop(listing):
    probe = listing("""
        MOV R1, RZ ;
.L_x_0:
        FADD R1, R1, R2 ;
    @P0 BRA `(.L_x_0) ;
        STS [R3], R1 ;
        EXIT ;
    """)
    assert probe.read("FADD", 1) == "phi(@0, @1)"
    assert probe.read("FADD", 2) == "R2 at entry"
    assert probe.read("STS", 1) == "@1"
    phi, sum_ = probe.ssa.use(1, 1), probe.ssa.definition(1, 0)
    assert probe.ssa.merges(sum_) == (phi,)
    assert probe.ssa.users(sum_) == ((3, 1, 0),)


def test_a_function_that_begins_with_a_loop_has_what_was_there_as_last_input(listing):
    probe = listing("""
.L_x_0:
        FADD R1, R1, R2 ;
    @P0 BRA `(.L_x_0) ;
        EXIT ;
    """)
    assert probe.read("FADD", 1) == "phi(@0, R1 at entry)"


def test_units_of_wide_operands(listing):
    probe = listing("""
        LDG.E.128 R4, desc[UR6][R2.64+0x10] ;
        FADD R8, R6, R7 ;
        MOV R5, RZ ;
        STG.E.128 desc[UR6][R2.64+UR8], R4 ;
        EXIT ;
    """)
    ssa = probe.ssa
    assert [probe.tell(v) for v in ssa.address_uses(0, 1)] == [
        "UR6 at entry",
        "UR7 at entry",
        "R2 at entry",
        "R3 at entry",
    ]
    assert ssa.use(1, 1) == ssa.definition(0, 0, 2)
    assert ssa.use(1, 2) == ssa.definition(0, 0, 3)
    assert [probe.tell(ssa.use(3, 1, unit)) for unit in range(4)] == ["@0", "@2", "@0", "@0"]
    assert [str(ssa.register[v]) for v in ssa.address_uses(3, 0)] == ["UR6", "UR7", "R2", "R3", "UR8", "UR9"]
    assert ssa.use(0, 0) is None, "a destination is not read"


def test_predicates_behind_pr(listing):
    probe = listing("""
        R2P PR, R0, 0x6 ;
    @P1 FADD R1, R1, R1 ;
    @P0 FADD R2, R2, R2 ;
        P2R R3, PR, RZ, 0x2 ;
        EXIT ;
    """)
    ssa = probe.ssa
    assert probe.tell(ssa.guard(1)) == "@0"
    assert probe.tell(ssa.guard(2)) == "P0 at entry"
    assert [(operand, unit, probe.tell(v)) for operand, unit, v in ssa.uses_of(3)] == [(1, 1, "@0")]
    assert ssa.definition(0, 0, 1) == ssa.guard(1)


def test_a_carry_that_is_written_and_read(listing):
    probe = listing("""
        IADD3 R4, P1, R2, R15, RZ ;
   @!P0 IADD3.X R5, P1, R3, R16, RZ, P1, !PT ;
        EXIT ;
    """)
    assert probe.read("@!P0 IADD3.X", 5) == "@0"
    assert probe.tell(probe.ssa.definition(1, 1)) == "psi(@1, @0)"


CALLS = """
//--------------------- .text.k --------------------------
        .other k,@"STO_CUDA_ENTRY STV_DEFAULT"
        .size k,(.L_x_9 - k)
        .size $k$f,(.L_x_8 - $k$f)
        .size $k$g,(.L_x_9 - $k$g)
k:
        MOV R1, c[0x0][0x28] ;
        MOV R5, RZ ;
        MOV R6, RZ ;
        MOV R7, RZ ;
        {call} ;
        STS [R1], R5 ;
        STS [R1], R6 ;
        STS [R1], R7 ;
        STS [R1], R16 ;
        EXIT ;
$k$f:
        IADD3 R1, R1, -0x8, RZ ;
    @P0 FADD R5, R5, R5 ;
        CALL.REL.NOINC `($k$g) ;
        IADD3 R1, R1, 0x8, RZ ;
        RET.REL.NODEC R20 `(k) ;
.L_x_8:
$k$g:
        FADD R6, R6, R6 ;
        RET.REL.NODEC R22 `(k) ;
.L_x_9:
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("CALL.REL.NOINC `($k$f)", ["call 4", "call 4", "@3", "R16 at entry"]),
        ("CALL.REL.NOINC `($k$g)", ["@1", "call 4", "@3", "R16 at entry"]),
        ("@P0 CALL.REL.NOINC `($k$g)", ["@1", "call 4", "@3", "R16 at entry"]),
        ("CALL.ABS.NOINC `(elsewhere)", ["call 4", "call 4", "call 4", "R16 at entry"]),
        ("CALL.ABS.NOINC R12", ["call 4", "call 4", "call 4", "R16 at entry"]),
        ("@!PT CALL.ABS.NOINC `(elsewhere)", ["@1", "@2", "@3", "R16 at entry"]),
    ],
)
def test_what_calls_may_write(listing, call, expected):
    """A local function writes what it and its callees write, but R1; others what the convention allows."""
    probe = listing(CALLS.replace("{call}", call))
    stores = [probe.index("STS", n) for n in range(4)]
    assert [probe.tell(probe.ssa.use(i, 1)) for i in stores] == expected
    assert {probe.tell(probe.ssa.address_uses(i, 0)[0]) for i in stores} == {"@0"}


def test_a_callee_finds_its_registers_at_entry(listing):
    probe = listing(CALLS.replace("{call}", "CALL.REL.NOINC `($k$f)"))
    assert probe.read("@P0 FADD", 1) == "R5 at entry"
    assert probe.read("FADD R6", 1) == "R6 at entry"


def test_a_callee_that_calls_itself(listing):
    itself = CALLS.replace("CALL.REL.NOINC `($k$g)", "CALL.REL.NOINC `($k$f)")
    probe = listing(itself.replace("{call}", "CALL.REL.NOINC `($k$f)"))
    assert probe.tell(probe.ssa.use(probe.index("STS"), 1)) == "call 4"
    assert probe.tell(probe.ssa.use(probe.index("STS", 1), 1)) == "@2"


def test_a_callee_that_calls_outside(listing):
    outside = CALLS.replace("CALL.REL.NOINC `($k$g)", "CALL.ABS.NOINC `(elsewhere)")
    probe = listing(outside.replace("{call}", "CALL.REL.NOINC `($k$f)"))
    stores = [probe.tell(probe.ssa.use(probe.index("STS", n), 1)) for n in range(4)]
    assert stores == ["call 4", "call 4", "call 4", "R16 at entry"]


@st.composite
def programs(draw):
    """Listings of up to 16 lines with branches anywhere, guards, and calls."""
    count = draw(st.integers(2, 16))
    lines = []
    for _ in range(count):
        guard = draw(st.sampled_from(["", "", "@P0 ", "@!P1 ", "@!PT "]))
        a, b, c = (draw(st.sampled_from(["R1", "R2", "R3"])) for _ in range(3))
        body = draw(
            st.sampled_from(
                [
                    f"FADD {a}, {b}, {c}",
                    f"FADD {a}, {b}, {c}",
                    f"FSETP.GT.AND P{draw(st.integers(0, 1))}, PT, {a}, {b}, PT",
                    f"LDG.E.64 R2, [{a}.64]",
                    f"BRA `(.L_x_{draw(st.integers(0, count - 1))})",
                    f"BRA.U UP0, `(.L_x_{draw(st.integers(0, count - 1))})",
                    "EXIT",
                    "CALL.ABS.NOINC `(elsewhere)",
                ]
            )
        )
        lines.append(f"{guard}{body} ;")
    return "\n".join(f".L_x_{i}:\n{line}" for i, line in enumerate(lines))


@settings(max_examples=300, deadline=None)
@given(programs())
def test_ssa_equals_reaching_definitions(text):
    modules, problems = read_listing(text, arch="sm_90")
    assert problems == []
    check(modules[0].kernels[0])


def test_ssa_equals_reaching_definitions_on_compiled_kernels(everywhere):
    assert sum(check(kernel) for kernel in everywhere.module.kernels) > 500
