from __future__ import annotations

from sassql.errors import Problem
from sassql.model.kernel import Source
from sassql.model.program import Module, Program
from sassql.reading.listing import read_listing


def module(arch: str, *names: str) -> Module:
    body = "".join(f"\tFunction : {name}\n/*0000*/ NOP ;\n/*0010*/ EXIT ;\n" for name in names)
    (found,), _ = read_listing(f"\tcode for {arch}\n{body}")
    return found


def test_the_kernels_of_a_program_in_the_order_of_the_file():
    program = Program("lib.so", (module("sm_90", "b", "a"), module("sm_80", "c")))

    assert [k.name for k in program.kernels] == ["b", "a", "c"]
    assert list(program) == list(program.kernels)
    assert [m.instructions for m in program.modules] == [4, 2]


def test_a_program_shows_what_it_is():
    program = Program("lib.so", (module("sm_90", "a"),), (Problem("broken"),))

    assert repr(program) == "<Program lib.so: 1 modules, 1 kernels, 1 problems>"


def test_an_empty_module():
    assert Module(Source("x"), "sm_90", (), "new").instructions == 0
    assert Program("x").kernels == ()
