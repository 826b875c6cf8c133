"""Fact "origins": where what an instruction reads comes from, in words."""

from __future__ import annotations

import pytest
from reaching import reaching_definitions

from sassql.facts.accesses import register_of


def told(probe, text, occurrence=0):
    origins = probe.kernel.fact("origins")
    return {
        o.text: (o.kind, *map(hex, o.addresses), *(["entry"] if o.entry else []))
        for o in origins.of(probe.index(text, occurrence))
    }


def values(probe, text):
    return {o.text: o.value for o in probe.kernel.fact("origins").of(probe.index(text))}


def test_definitions_merges_and_what_was_there(listing):
    probe = listing("""
        LDS R2, [R9] ;
        ISETP.GT.AND P0, PT, R2, RZ, PT ;
        @P0 BRA `(.L_1) ;
        LDS R2, [R9+0x4] ;
.L_1:
        FADD R3, R2, R7 ;
        EXIT ;
    """)
    assert told(probe, "FADD") == {"R2": ("phi", "0x0", "0x30"), "R7": ("entry", "entry")}


def test_a_guarded_definition_is_one_of_two(listing):
    probe = listing("""
        LDS R2, [R9] ;
        FSETP.GT.AND P0, PT, R2, RZ, PT ;
        @P0 FADD R2, R2, R2 ;
        FADD R4, R2, R2 ;
        @P0 FADD R5, R2, R2 ;
        @!P0 FADD R6, R2, R2 ;
        EXIT ;
    """)
    assert told(probe, "FADD R4") == {"R2": ("psi", "0x20", "0x0")}
    assert told(probe, "@P0 FADD R5")["R2"] == ("def", "0x20")  # the same guard: only the new one is read
    assert told(probe, "@!P0 FADD R6")["R2"] == ("def", "0x0")


def test_a_branch_above_decides_a_guard_too(listing):
    probe = listing("""
        LDS R2, [R9] ;
        FSETP.GT.AND P0, PT, R2, RZ, PT ;
        @P0 FADD R2, R2, R2 ;
        @!P0 EXIT ;
        FADD R4, R2, R2 ;
        EXIT ;
    """)
    assert told(probe, "FADD R4") == {"R2": ("def", "0x20")}


def test_wide_operands_are_one_origin_where_they_have_one_definition(listing):
    probe = listing("""
        LDS.64 R2, [R9] ;
        LDS R4, [R9+0x8] ;
        LDS R5, [R9+0xc] ;
        DADD R6, R2, R4 ;
        EXIT ;
    """)
    assert told(probe, "DADD") == {"R2:R3": ("def", "0x0"), "R4": ("def", "0x10"), "R5": ("def", "0x20")}


def test_values_in_words(compiled):
    kernel = next(k for k in compiled("sm_90", "small.cu").module.kernels)
    origins = kernel.fact("origins")
    found = {o.value for i in kernel.instructions for o in origins.of(i.index)}

    assert {"tid.x", "param0"} <= found
    assert not any("#" in value or "phi" in value for value in found)


def test_conditions_of_blocks(listing):
    probe = listing("""
        S2R R2, SR_TID.X ;
        ISETP.GE.AND P0, PT, R2, 0x20, PT ;
        @P0 EXIT ;
        FSETP.GT.AND P1, PT, R2, RZ, PT ;
        @!P1 BRA `(.L_1) ;
        STS [RZ], R2 ;
.L_1:
        EXIT ;
    """)
    origins = probe.kernel.fact("origins")

    assert origins.where(probe.block("S2R")) == ()
    assert origins.where(probe.block("FSETP")) == ("tid.x < 0x20",)
    assert origins.where(probe.block("STS")) == ("tid.x < 0x20", "P1 (0x0030)")
    assert origins.where(probe.index("EXIT") and probe.block("EXIT")) == ("tid.x < 0x20",)


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_origins_are_reaching_definitions(compiled, arch):
    """What may have been written reaches; and where no predicate is decided it is all that reaches."""
    compared = 0
    for kernel in compiled(arch).module.kernels:
        origins, accesses = kernel.fact("origins"), kernel.fact("accesses").of
        control, blocks = kernel.fact("control"), kernel.fact("blocks")
        reaching, addresses = reaching_definitions(kernel), kernel.addresses.tolist()
        for ins in kernel.instructions:
            if not blocks.reachable[int(blocks.of[ins.index])]:
                continue
            access = accesses[ins.index]
            decided = ins.guard is not None or control.known(int(blocks.of[ins.index]))
            for origin in origins.of(ins.index):
                for register in origin.registers:
                    key = next(
                        key
                        for key, number in zip(access.use_keys, access.uses, strict=True)
                        if key[0] == origin.operand and register_of(number) == register
                    )
                    possible = {addresses[at] for kind, at in reaching[ins.index, key] if kind != "entry"}
                    assert set(origin.addresses) <= possible, (ins, origin)
                    assert origin.addresses or origin.entry
                    assert decided or set(origin.addresses) == possible, (ins, origin)
                    compared += not decided
    assert compared > 200
