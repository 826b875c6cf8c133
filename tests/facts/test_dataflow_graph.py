"""Fact "dataflow": definitions to uses as a graph for people."""

from __future__ import annotations

from hypothesis import given, settings
from reaching import reaching_definitions
from test_ssa import programs

from sassql.facts.accesses import register_of
from sassql.reading.listing import read_listing


def edges(kernel):
    return {
        (source, target, data["register"], data["operand"], data["guarded"])
        for source, target, data in kernel.dataflow.edges(data=True)
    }


def test_edges_go_from_definition_to_use(listing):
    kernel = listing("""
        LDS.64 R2, [R9] ;
        FSETP.GT.AND P0, PT, R2, RZ, PT ;
    @P0 FADD R3, R2, R2 ;
        STG.E desc[UR4][R2.64], R3 ;
        EXIT ;
    """).kernel
    assert edges(kernel) == {
        (0x00, 0x10, "R2", 2, False),
        (0x10, 0x20, "P0", -1, False),
        (0x00, 0x20, "R2", 1, False),
        (0x00, 0x20, "R2", 2, False),
        (0x00, 0x30, "R2", 0, False),
        (0x00, 0x30, "R3", 0, False),
        (0x20, 0x30, "R3", 0, True),
        (0x00, 0x30, "R3", 1, False),
        (0x20, 0x30, "R3", 1, True),
    }


def test_joins_are_taken_apart_round_loops(listing):
    kernel = listing("""
        MOV R1, RZ ;
.L_x_0:
        MOV R3, R1 ;
.L_x_1:
        FADD R3, R3, R2 ;
    @P1 BRA `(.L_x_1) ;
    @P2 FADD R1, R3, R3 ;
    @P0 BRA `(.L_x_0) ;
        EXIT ;
    """).kernel
    found = {
        name: {(s, t) for s, t, register, *_ in edges(kernel) if register == name} for name in ("R1", "R3")
    }
    assert found["R1"] == {(0x00, 0x10), (0x40, 0x10)}
    assert found["R3"] == {(0x10, 0x20), (0x20, 0x20), (0x20, 0x40)}


def test_a_call_is_a_definition_that_may_not_happen(listing):
    kernel = listing("""
        MOV R5, RZ ;
        CALL.ABS.NOINC `(elsewhere) ;
        STS [R16], R5 ;
        EXIT ;
    """).kernel
    assert edges(kernel) == {(0x10, 0x20, "R5", 1, True)}


def test_every_instruction_is_a_node(listing):
    kernel = listing("NOP ;\nMOV R1, R2 ;\nEXIT ;").kernel
    assert sorted(kernel.dataflow.nodes) == [0x00, 0x10, 0x20]
    assert kernel.dataflow.number_of_edges() == 0, "what is there at the beginning has no definition"


def expected_edges(kernel):
    of, addresses = kernel.fact("accesses").of, kernel.addresses.tolist()
    found = set()
    for (index, key), definitions in reaching_definitions(kernel).items():
        register = str(register_of(of[index].uses[of[index].use_keys.index(key)]))
        found |= {
            (addresses[source], addresses[index], register, key[0], kind == "call" or of[source].guarded)
            for kind, source in definitions
            if kind != "entry"
        }
    return found


@settings(max_examples=200, deadline=None)
@given(programs())
def test_edges_equal_reaching_definitions(text):
    modules, problems = read_listing(text, arch="sm_90")
    assert problems == []
    kernel = modules[0].kernels[0]
    assert edges(kernel) == expected_edges(kernel)


def test_edges_equal_reaching_definitions_on_compiled_kernels(everywhere):
    for kernel in everywhere.module.kernels:
        assert edges(kernel) == expected_edges(kernel), kernel
