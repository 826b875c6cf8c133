"""An opcode that the tables lack: unknown widths, named to people, and nothing certain behind it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sassql.engine.pattern import Pattern
from sassql.facts.accesses import number_of
from sassql.facts.clobbers import written_by_unknown
from sassql.facts.values import ValueKind
from sassql.model.register import register
from sassql.reading.listing import read_listing
from sassql.reading.shapes import SHAPES

CHAIN = """
FADD R4, R2, R3 ;
FROB R4, R8 ;
FMUL R5, R4, R3 ;
STG.E desc[UR4][R6.64], R5 ;
EXIT ;
"""


def kernel(text: str):
    modules, problems = read_listing(text, arch="sm_90")
    assert problems == []
    return modules[0].kernels[0]


def written(text: str) -> set[str]:
    mask = written_by_unknown(SHAPES.form(text))
    files = {"R": 255, "UR": 256, "P": 7, "UP": 7}
    return {f"{f}{i}" for f, n in files.items() for i in range(n) if mask >> number_of(register(f, i)) & 1}


def test_nobody_knows_how_wide_its_operands_are():
    operands = SHAPES.form("FROB R4, [R2.64], UP3, R8").operands

    assert [o.width for o in operands] == [None, None, 1, None]
    assert operands[1].terms[0].width is None


@pytest.mark.parametrize(
    ("text", "some", "none"),
    [
        ("FROB R8, R10, UR4", "R8 R9 R254 UR4 UR5", "R7 R1 UR3 P0 UP0"),
        ("FROB P1, PT, [R2.64+UR4], 0x4", "P1", "P0 P2 R2 R3 UR4"),
        ("FROB PR, R20", "P0 P6 UP0 R20 R21", "R19 UR0"),
        ("@!PT FROB R8, R10", "", "R8 R10"),
        ("FADD R8, R9, R10, R11, R12", "R8 R9 R12", "R7"),  # a known opcode, operands that no row has
    ],
)
def test_what_it_may_write(text, some, none):
    found = written(text)

    assert set(some.split()) <= found and not set(none.split()) & found


def test_what_follows_reads_no_older_value():
    ssa = kernel(CHAIN).fact("ssa")
    a, b = ssa.use(2, 1), ssa.use(2, 2)

    assert (ssa.kind[a], ssa.instruction[a]) == (ValueKind.CALL, 1)
    assert ssa.kind[b] is ValueKind.ENTRY, "R3 stands below R4"


def test_its_result_means_nothing_and_ends_a_slice():
    found = kernel(CHAIN)
    value = found.fact("ssa").use(2, 1)

    assert found.fact("meanings").of(value) is None
    ends = found.fact("slices").backward(value)
    assert not ends.certain and "FROB is not in the tables" in str(ends)


def test_a_function_that_has_one_may_write_as_much():
    text = """
//--------------------- .text.k --------------------------
        .other k,@"STO_CUDA_ENTRY STV_DEFAULT"
        .size k,(.L_x_9 - k)
        .size $k$f,(.L_x_9 - $k$f)
k:
        MOV R20, 0x30 ;
        CALL.REL.NOINC `($k$f) ;
        FADD R5, R4, R3 ;
        EXIT ;
$k$f:
        FROB R4 ;
        RET.REL.NODEC R20 `(k) ;
.L_x_9:
    """
    ssa = kernel(text).fact("ssa")
    a, b = ssa.use(2, 1), ssa.use(2, 2)

    assert ssa.kind[a] is ValueKind.CALL and ssa.kind[b] is ValueKind.ENTRY


def test_rows_of_its_kernel_are_no_certain_matches():
    pattern = Pattern.parse("motif m {\nFADD %x, _, _\n}")
    certain = pattern.match(kernel(CHAIN.replace("FROB R4, R8", "MOV R4, R8")))
    rows = pattern.match(kernel(CHAIN))

    assert [row.status for row in certain] == ["match"]
    assert [(row.status, row.reason) for row in rows] == [("maybe", "FROB at 0x10 is not in the tables")]


def test_people_read_its_name(sassql, tmp_path):
    path = tmp_path / "k.sass"
    path.write_text("\t.target\tsm_90\n" + CHAIN, "utf-8")
    done = sassql("inspect", path, "--summary")

    assert "not in the tables" in done.err and "FROB (1)" in done.err
    assert "FROB" not in sassql("inspect", path, "--summary", "--kernel", "nothing").out


def test_an_opcode_that_is_taken_out_of_the_tables_is_named_for_a_cubin(compiled):
    """The whole command line in a process of its own, where the tables lack MUFU."""
    code = (
        "from sassql.isa import signatures; del signatures.table()['MUFU'];"
        "from sassql.cli.main import main; main()"
    )
    path = str(compiled("sm_90").path)
    done = subprocess.run(
        [sys.executable, "-c", code, "inspect", path, "--summary"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0
    assert "MUFU (" in done.stderr
