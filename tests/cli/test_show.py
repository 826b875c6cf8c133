from __future__ import annotations

import json
import re

import pytest

LADDER = """motif halving(%x -> %sum) {
  title "A shuffle and the sum behind it"
  s: SHFL.BFLY %other, %x, #m
  f: FADD %sum, %x, %other
  emit mask = #m
}
"""


@pytest.fixture
def pattern(tmp_path):
    path = tmp_path / "halving.sq"
    path.write_text(LADDER)
    return path


def test_the_heading_of_a_kernel(sassql, compiled):
    source = compiled("sm_90")
    done = sassql("show", source.path, "--kernel", "warp")
    kernel = next(k for k in source.module.kernels if k.name == "warp")
    first, second, *_ = done.out.splitlines()

    assert done.code == 0
    assert first == f"warp   sm_90, {len(kernel.instructions)} instructions"
    assert second.startswith(str(source.path))
    assert f"registers {kernel.resources.registers}, shared bytes" in second
    assert "parameters 3" in second


def test_every_instruction_has_its_line(sassql, compiled):
    source = compiled("sm_90")
    shown = re.findall(r"^  (0x[0-9a-f]{4})  .{24}(\S.*)$", sassql("show", source.path).out, re.M)
    instructions = [i for k in source.module.kernels for i in k.instructions]

    assert [int(address, 16) for address, _ in shown] == [i.address for i in instructions]
    assert all(text.startswith(i.text) for (_, text), i in zip(shown, instructions, strict=True))


def test_blocks_with_their_edges(sassql, compiled):
    source = compiled("sm_90")
    graph = next(k for k in source.module.kernels if k.name == "floats").cfg
    done = sassql("show", source.path, "--kernel", "floats")
    shown = dict(re.findall(r"^block (0x[0-9a-f]+)(.*)$", done.out, re.M))

    assert {int(start, 16) for start in shown} == set(graph.nodes)
    for start, edges in shown.items():
        to = re.search(r"to (.*)$", edges)
        successors = {int(a, 16) for a in to[1].split(", ")} if to else set()
        assert successors == set(graph.successors(int(start, 16)))


def test_control_bits_stand_beside_the_instruction(sassql, compiled):
    done = sassql("show", compiled("sm_90").path, "--kernel", "warp")

    assert re.search(r"^  0x0000   1 - - -\s+LDC R1, c\[0x0\]\[0x28\]$", done.out, re.M)
    assert re.search(r" Y ", done.out) and re.search(r" W\d ", done.out) and re.search(r" R\d ", done.out)
    assert re.search(r" wait \d", done.out)


def test_local_functions_are_named(sassql, compiled):
    done = sassql("show", compiled("sm_90").path, "--kernel", "calls")

    assert re.search(r"^\$calls\$_Z4slowf:$", done.out, re.M)


def test_registers_on_request(sassql, compiled):
    path = compiled("sm_90").path

    assert " <- " not in sassql("show", path, "--kernel", "warp").out
    line = next(
        text
        for text in sassql("show", path, "--kernel", "warp", "--registers").out.splitlines()
        if "LDG.E" in text
    )
    assert re.search(r"LDG\.E R8, desc\[UR4\]\[R8\.64\]\s+R8 <- R8 R9 UR4 UR5$", line)


def test_source_lines_on_request(sassql, tmp_path):
    path = tmp_path / "k.cu"
    path.write_text('extern "C" __global__ void k(float *x)\n{\n    x[0] = 1;\n}\n')
    done = sassql("show", path, "--lines")

    assert done.code == 0
    assert "(no source line)" not in done.out  # the binary has no line table: nothing to say


def test_matched_motifs_are_marked(sassql, compiled, pattern):
    done = sassql("show", compiled("sm_90").path, "--kernel", "warp", "--motif", pattern)
    marked = re.findall(r"^  0x[0-9a-f]+ .*?(SHFL|FADD)\S* .*  (halving#\d+\.[sf])$", done.out, re.M)

    assert [opcode for opcode, _ in marked] == ["SHFL", "FADD"] * 5
    assert len({name.split(".")[0] for _, name in marked}) == 5


def test_marks_in_records(sassql, compiled, pattern):
    done = sassql("show", compiled("sm_90").path, "--kernel", "warp", "--motif", pattern, "--format", "jsonl")
    found = [json.loads(line) for line in done.out.splitlines()]

    assert sum(len(r["motifs"]) for r in found) == 10
    assert {r["opcode"] for r in found if r["motifs"]} == {"SHFL", "FADD"}


def test_a_motif_for_other_architectures_marks_nothing(sassql, compiled, tmp_path):
    path = tmp_path / "old.sq"
    path.write_text(LADDER.replace("  title", "  arch sm_75\n  title", 1))
    done = sassql("show", compiled("sm_90").path, "--kernel", "warp", "--motif", path)

    assert done.code == 0
    assert "halving" not in done.out


def test_a_bad_pattern_is_two_before_anything_is_read(sassql, compiled, tmp_path):
    path = tmp_path / "bad.sq"
    path.write_text("motif m { r: FADD %d, %x }}")
    done = sassql("show", compiled("sm_90").path, "--motif", path)

    assert (done.code, done.out) == (2, "")
    assert done.messages[0].startswith(f"error: {path}:1:27: ")


def test_nothing_to_show_is_one(sassql, compiled):
    done = sassql("show", compiled("sm_90").path, "--kernel", "nothing*")

    assert (done.code, done.out) == (1, "")
    assert done.messages == ["note: no kernel of 8 is named 'nothing*'"]


def test_a_listing_without_encodings_has_no_control_column(sassql, tmp_path):
    path = tmp_path / "x.sass"
    path.write_text("\t.target\tsm_90\n/*0000*/ @!PT LDS RZ, [RZ] ;\n/*0010*/ EXIT ;\n")
    done = sassql("show", path)

    assert done.out.splitlines()[3:5] == [
        f"  0x0000  {'':24}{'@!PT LDS RZ, [RZ]':<52}  filler",
        f"  0x0010  {'':24}EXIT",
    ]
