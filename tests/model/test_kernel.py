from __future__ import annotations

import networkx
import numpy as np
import pytest

import sassql.facts  # noqa: F401  (registers the analyses)
from sassql.model import kernel as module
from sassql.model.instruction import Control, Instruction
from sassql.model.kernel import FACTS, Function, Kernel, Resources, Source, SourceLine, provides
from sassql.reading.listing import read_listing

LOOP = """\t.target\tsm_90
//--------------------- .text._Z4loopPfi --------------------------
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_0:
        /*0010*/                   IADD3 R2, R2, 0x1, RZ ;
        /*0020*/                   ISETP.GE.AND P0, PT, R2, R3, PT ;
        /*0030*/              @!P0 BRA `(.L_x_0) ;
        /*0040*/                   EXIT ;
"""


@pytest.fixture
def loop() -> Kernel:
    (found,), problems = read_listing(LOOP, file="loop.sass", entry="e")
    assert problems == []
    return found.kernels[0]


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(module, "FACTS", dict(FACTS))
    return module.FACTS


def test_instructions_are_a_sequence(loop):
    found = loop.instructions

    assert len(found) == 5
    assert [i.opcode for i in found] == ["LDC", "IADD3", "ISETP", "BRA", "EXIT"]
    assert found[-1].opcode == "EXIT"
    assert [i.address for i in found[1:4]] == [0x10, 0x20, 0x30]
    assert [i.address for i in found[::-2]] == [0x40, 0x20, 0]
    assert found[np.int64(2)].opcode == "ISETP"
    assert found[1] in found
    assert next(reversed(found)) == found[4]


@pytest.mark.parametrize("index", [5, -6, 100])
def test_an_index_outside_is_an_error(loop, index):
    with pytest.raises(IndexError):
        loop.instructions[index]


def test_an_instruction_by_its_address(loop):
    assert loop.at(0x30).text == "@!P0 BRA `(0x10)"
    assert loop.at(0x30) == loop.instructions[3]
    for address in (0x8, 0x50, -16):
        with pytest.raises(KeyError, match="has no instruction at"):
            loop.at(address)


def test_instructions_are_light_views_that_compare_by_place(loop):
    one, other = loop.instructions[1], loop.instructions[1]

    assert one is not other
    assert one == other and hash(one) == hash(other)
    assert one != loop.instructions[2]
    assert one != "IADD3"
    assert not hasattr(one, "__dict__")
    assert (str(one), repr(one)) == ("IADD3 R2, R2, 0x1, RZ", "<Instruction 0x0010 IADD3 R2, R2, 0x1, RZ>")


def test_what_an_instruction_answers(loop):
    branch = loop.instructions[3]

    assert (branch.opcode, branch.modifiers, str(branch.guard)) == ("BRA", (), "@!P0")
    assert (branch.target, branch.operands[0].target, branch.operands[0].text) == (0x10, 0x10, "`(0x10)")
    assert ([str(r) for r in branch.uses], branch.defs) == (["P0"], frozenset())
    assert (branch.control, branch.source_line, branch.known, branch.function) == (
        None,
        None,
        True,
        "_Z4loopPfi",
    )
    assert loop.instructions[0].target is None


def test_names(loop):
    assert (loop.name, loop.demangled, loop.arch) == ("_Z4loopPfi", "loop(float*, int)", "sm_90")
    assert repr(loop) == "<Kernel loop(float*, int) sm_90, 5 instructions>"
    assert (str(loop.source), str(Source("a.cubin"))) == ("loop.sass[e]", "a.cubin")
    assert str(SourceLine("a.cu", 3)) == "a.cu:3"
    assert loop.resources == Resources()


def test_local_functions_win_over_the_entry(loop):
    loop.functions = (Function("_Z4loopPfi", 0, 0x50, True), Function("$helper", 0x30, 0x20))

    assert [i.function for i in loop.instructions] == ["_Z4loopPfi"] * 3 + ["$helper"] * 2
    assert loop.function_at(0x4F) == "$helper"
    assert loop.function_at(0x50) == "_Z4loopPfi"


def test_a_fact_is_computed_once_and_only_when_asked_for(loop, registry):
    calls = []

    @provides("counted")
    def counted(kernel):
        calls.append(kernel)
        return len(kernel.instructions)

    assert registry["counted"] is counted
    assert calls == []
    assert (loop.fact("counted"), loop.fact("counted")) == (5, 5)
    assert calls == [loop]


def test_a_fact_may_be_none_and_is_still_computed_once(loop, registry):
    calls = []
    registry["nothing"] = lambda kernel: calls.append(1)

    assert loop.fact("nothing") is None and loop.fact("nothing") is None
    assert calls == [1]


def test_facts_belong_to_their_kernel(loop, registry):
    (other,), _ = read_listing(LOOP)
    registry["self"] = id

    assert loop.fact("self") != other.kernels[0].fact("self")


def test_a_fact_that_nobody_provides(loop):
    with pytest.raises(KeyError, match="frobnication"):
        loop.fact("frobnication")


def test_control_flow_of_a_loop(loop):
    graph = loop.cfg

    assert isinstance(graph, networkx.DiGraph)
    assert {n: (d["start"], d["end"]) for n, d in graph.nodes(data=True)} == {
        0x00: (0x00, 0x00),
        0x10: (0x10, 0x30),
        0x40: (0x40, 0x40),
    }
    assert set(graph.edges) == {(0x00, 0x10), (0x10, 0x10), (0x10, 0x40)}


def test_a_control_of_a_word():
    assert Control.decode(0) == Control(0, True, 0, 0, 0, 0)
    assert Control.decode((1 << 21) - 1) == Control(15, False, None, None, 63, 15)
    assert Control.decode(5 << 5 | 2 << 8) == Control(0, True, 5, 2, 0, 0)


def test_the_public_views_have_slots():
    assert "__slots__" in vars(Instruction)
    assert "__slots__" in vars(Kernel)
