from __future__ import annotations

import json
import re

MOTIF = """motif broken(%x -> %r) {
  title "a shuffle of 16 lanes, and a product that is not there"
  s: SHFL.BFLY  %t, %x, 16  // the shuffle
  f: FMUL       %r, %t, %x
}
"""


def test_the_motif_with_its_instructions_beside_it(sassql, compiled, tmp_path):
    path = tmp_path / "broken.sq"
    path.write_text(MOTIF)
    done = sassql("explain", path, compiled("sm_90", "small.cu").path, "--kernel", "total")
    lines = done.out.splitlines()

    assert done.code == 1
    assert lines[0] == (
        "broken in total (sm_90): no row; 1 of 2 statements hold in the deepest partial match"
    )
    assert re.fullmatch(
        r" {5}3    s: SHFL\.BFLY  %t, %x, 16 +0x\w{4}  SHFL\.BFLY PT, R\d+, R\d+, 0x10, 0x1f", lines[3]
    )
    assert lines[4].startswith(">    4    f: FMUL       %r, %t, %x")
    assert lines[5].strip() == "the kernel has no such opcode"


def test_rows(sassql, compiled, tmp_path):
    path = tmp_path / "good.sq"
    path.write_text(MOTIF.replace("FMUL ", "FADD "))
    done = sassql("explain", path, compiled("sm_90", "small.cu").path, "--kernel", "total")

    assert (done.code, done.out) == (0, "broken in total (sm_90): 1 row, nothing to explain\n")


def test_records_and_a_place(sassql, compiled, tmp_path):
    path = tmp_path / "good.sq"
    path.write_text(MOTIF.replace("FMUL ", "FADD "))
    cubin = compiled("sm_90", "small.cu")
    kernel = next(k for k in cubin.module.kernels if k.name == "total")
    load = next(i for i in kernel.instructions if i.opcode == "SHFL" and ", 0x8," in i.text)
    done = sassql(
        "explain", path, cubin.path, "--kernel", "total", "--at", hex(load.address), "--format", "jsonl"
    )
    (record,) = [json.loads(line) for line in done.out.splitlines()]

    assert done.code == 1
    assert record["rows"] == 0 and record["motif"] == "broken" and record["kernel"] == "total"
    assert record["reason"].startswith("nothing fits through <Instruction")
    assert sassql("explain", path, cubin.path, "--kernel", "total", "--at", "0x9999").code == 2


def test_names_that_are_not_there(sassql, compiled, tmp_path):
    path = tmp_path / "good.sq"
    path.write_text(MOTIF)
    cubin = compiled("sm_90", "small.cu").path

    assert sassql("explain", path, cubin, "--motif", "x").code == 2
    assert sassql("explain", path, cubin, "--kernel", "x").code == 1


def test_a_plan_of_a_kernel(sassql, compiled, tmp_path):
    path = tmp_path / "m.sq"
    path.write_text(MOTIF.replace("FMUL ", "FADD "))
    done = sassql("plan", path, compiled("sm_90", "small.cu").path, "--kernel", "total", "--format", "jsonl")
    records = [json.loads(line) for line in done.out.splitlines()]

    assert done.code == 0
    assert [r["place"] for r in records] == [1, 2]
    assert records[0]["text"] == "s: SHFL.BFLY  %t, %x, 16" and records[0]["candidates"] == 1
    assert records[-1]["ways"] == 1
    shown = sassql("plan", path, compiled("sm_90", "small.cu").path, "--kernel", "total").out.splitlines()
    assert re.fullmatch(r"broken in total \(sm_90\): \d+ steps of 2,000,000", shown[0])
    assert shown[1].split() == ["#", "line", "kind", "statement", "binds", "candidates", "expected", "ways"]


def test_a_plan_without_a_kernel(sassql, tmp_path):
    path = tmp_path / "m.sq"
    path.write_text(MOTIF)
    done = sassql("plan", path)

    assert done.code == 0
    assert [line.split()[1] for line in done.out.splitlines()[2:4]] == ["3", "4"]
