from __future__ import annotations

import json
import re

import pytest

from sassql.cli import source_text
from sassql.reading.compile import compile_cuda

LADDER = """motif halving(%x -> %sum) {
  title "A shuffle and the sum behind it"
  s: SHFL.BFLY %other, %x, #m
  f: FADD %sum, %x, %other
  emit mask = #m
}
"""


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    """Where tests run in parallel their environment says 80 columns."""
    monkeypatch.delenv("COLUMNS", raising=False)


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


LINE = re.compile(
    r"^[│╰ ]*  (0x[0-9a-f]{4})  (?:[ \d]\d [Y-] (?:W\d|-) (?:R\d|-) (?:wait \d+)?)? *(\S.*)$", re.M
)


def test_every_instruction_has_its_line(sassql, compiled):
    source = compiled("sm_90")
    shown = LINE.findall(sassql("show", source.path, "--padding").out)
    instructions = [i for k in source.module.kernels for i in k.instructions]

    assert [int(address, 16) for address, _ in shown] == [i.address for i in instructions]
    assert all(text.startswith(i.text) for (_, text), i in zip(shown, instructions, strict=True))


def test_padding_is_one_line(sassql, compiled):
    source = compiled("sm_90")
    kernel = next(k for k in source.module.kernels if k.name == "warp")
    padding = [i for i in kernel.instructions if "padding" in kernel.fact("tags").get(i.index, ())]
    out = sassql("show", source.path, "--kernel", "warp").out
    shown = re.findall(r"^  (0x\w+)-(0x\w+)  padding: 1 BRA, (\d+) NOP$", out, re.M)

    assert len(padding) > 1
    assert [(int(a, 16), int(b, 16)) for a, b, _ in shown] == [(padding[0].address, padding[-1].address)]
    assert int(shown[0][2]) + 1 == len(padding)


def test_blocks_with_their_edges(sassql, compiled):
    source = compiled("sm_90")
    graph = next(k for k in source.module.kernels if k.name == "floats").cfg
    done = sassql("show", source.path, "--kernel", "floats", "--padding", "--no-values")
    shown = dict(re.findall(r"^[│╭╰ ]*block (0x[0-9a-f]+)(.*)$", done.out, re.M))

    assert {int(start, 16) for start in shown} == set(graph.nodes)
    for start, edges in shown.items():
        to = re.search(r"to (.*)$", edges)
        successors = {int(a, 16) for a in re.findall(r"0x\w+", to[1])} if to else set()
        assert successors == set(graph.successors(int(start, 16)))


def test_loops_are_named_and_drawn(sassql, compiled):
    done = sassql("show", compiled("sm_90", "small.cu").path, "--kernel", "total")
    kernel = next(k for k in compiled("sm_90", "small.cu").module.kernels if k.name == "total")
    loops, blocks = kernel.fact("loops"), kernel.fact("blocks")
    inside = {
        int(kernel.addresses[i])
        for loop in loops.loops
        for b in loop.blocks
        for i in range(blocks.start[b], blocks.end[b])
    }
    barred = {int(a, 16) for a in re.findall(r"^[│╰]+ *  (0x\w{4})  ", done.out, re.M)}

    assert inside and barred == inside
    assert re.search(r"^  loop 0  0x\w{4}-0x\w{4}  counted  .*R\d+ from .* by ", done.out, re.M)
    assert re.search(r"^╭+block 0x\w+  loop \d header  from .*\(back\).*to .*\(back\)", done.out, re.M)


def test_values_name_their_definitions(sassql, compiled):
    out = sassql("show", compiled("sm_90", "small.cu").path, "--kernel", "total").out

    assert re.search(r"FADD R\d+, R\d+, R\d+ .*R\d+ <- 0x\w+  R\d+ <- φ\(0x\w+, 0x\w+\)", out)
    assert re.search(r"R\d+ <- 0x\w+ = tid\.x", out)
    assert re.search(r"c\[0x0\]\[0x\w+\] = param\d", out)
    assert re.search(r"^ *block .* where tid\.x < param2$", out, re.M)
    assert " <- " not in sassql("show", compiled("sm_90", "small.cu").path, "--no-values").out


def test_addresses_are_sums(sassql, compiled):
    path = compiled("sm_90", "small.cu").path

    assert "global: param0 + 4*tid.x" in sassql("show", path, "--kernel", "scale").out
    assert "global:" not in sassql("show", path, "--kernel", "scale", "--no-addresses").out


@pytest.mark.parametrize("width", [80, 120, 160])
def test_lines_keep_to_the_width(sassql, compiled, width):
    out = sassql("show", compiled("sm_90", "small.cu").path, "--kernel", "total", "--width", width).out
    lines = out.splitlines()[2:]

    assert len(lines) > 50 and max(map(len, lines)) <= width


def test_one_block_one_loop_and_one_slice(sassql, compiled):
    path = compiled("sm_90", "small.cu").path
    kernel = next(k for k in compiled("sm_90", "small.cu").module.kernels if k.name == "total")
    loops, blocks = kernel.fact("loops"), kernel.fact("blocks")

    def shown(*arguments):
        done = sassql("show", path, "--kernel", "total", "--padding", *arguments)
        assert done.code == 0
        found = [int(a, 16) for a, _ in LINE.findall(done.out)]
        left_out = sum(map(int, re.findall(r"^  \.\.\. (\d+) instruction", done.out, re.M)))
        assert len(found) + left_out == len(kernel.instructions)
        return set(found)

    def addresses(numbers):
        return {
            int(kernel.addresses[i]) for b in numbers for i in range(int(blocks.start[b]), int(blocks.end[b]))
        }

    header = loops[0].header
    first = int(kernel.addresses[blocks.start[header]])
    assert shown("--block", hex(first)) == shown("--at", hex(first)) == addresses([header])
    assert shown("--loop", 0) == addresses(loops[0].blocks)
    store = next(i for i in kernel.instructions if i.opcode == "STG")
    cut = shown("--slice", hex(store.address))
    assert store.address in cut and len(cut) < len(kernel.instructions)
    folds = [i.address for i in kernel.instructions if i.opcode == "FADD"]
    assert set(folds) <= cut


def test_a_place_that_is_not_there(sassql, compiled):
    path = compiled("sm_90", "small.cu").path

    done = sassql("show", path, "--kernel", "total", "--block", "0x9999")
    assert done.code == 2 and "total has no instruction at 0x9999" in done.messages[0]
    done = sassql("show", path, "--kernel", "scale", "--loop", 3)
    assert done.code == 2 and done.messages == ["error: scale has no loop 3; it has no loop"]
    assert sassql("show", path, "--at", "here").code == 2


def test_records_say_what_the_listing_says(sassql, compiled):
    done = sassql(
        "show", compiled("sm_90", "small.cu").path, "--kernel", "total", "--loop", "0", "--format", "jsonl"
    )
    records = [json.loads(line) for line in done.out.splitlines()]
    load = next(r for r in records if r["opcode"] == "LDG")

    assert all(r["loops"] == [0] for r in records)
    assert load["addresses"][0].startswith("global: param1")
    assert all(
        source["from"] or source["entry"] or source["kind"] == "constant" for source in load["sources"]
    )
    merged = [s for r in records for s in r["sources"] if s["kind"] == "phi"]
    assert merged and all(len(s["from"]) >= 2 for s in merged)


def test_a_terminal_without_utf8(shell, compiled, tmp_path):
    path = compiled("sm_90", "small.cu").path
    done = shell(f"sassql show {path} --kernel total", tmp_path, PYTHONIOENCODING="ascii", PYTHONUTF8="0")

    assert done.returncode == 0
    assert b"<- phi(0x" in done.stdout and b"\n|  0x" in done.stdout


def test_control_bits_stand_beside_the_instruction(sassql, compiled):
    done = sassql("show", compiled("sm_90").path, "--kernel", "warp")

    assert re.search(r"^ *0x0000   1 - - - +LDC R1, c\[0x0\]\[0x28\] ", done.out, re.M)
    assert re.search(r" Y ", done.out) and re.search(r" W\d ", done.out) and re.search(r" R\d ", done.out)
    assert re.search(r" wait \d", done.out)


def test_local_functions_are_named(sassql, compiled):
    done = sassql("show", compiled("sm_90").path, "--kernel", "calls")

    assert re.search(r"^\$calls\$_Z4slowf:$", done.out, re.M)


def test_registers_on_request(sassql, compiled):
    path = compiled("sm_90").path
    plain = ("show", path, "--kernel", "warp", "--no-values", "--no-addresses")

    assert " <- " not in sassql(*plain).out
    line = next(text for text in sassql(*plain, "--registers").out.splitlines() if "LDG.E" in text)
    assert re.search(r"LDG\.E R8, desc\[UR4\]\[R8\.64\]\s+R8 <- R8 R9 UR4 UR5$", line)


def test_source_lines_on_request(sassql, tmp_path):
    path = tmp_path / "k.cu"
    path.write_text('extern "C" __global__ void k(float *x)\n{\n    x[0] = 1;\n}\n')
    done = sassql("show", path, "--lines")

    assert done.code == 0
    assert "(no source line)" not in done.out  # the binary has no line table: nothing to say


def test_source_lines_with_their_text(sassql, tmp_path):
    path = tmp_path / "k.cu"
    text = 'extern "C" __global__ void k(float *x)\n{\n    x[threadIdx.x] = 1;\n}\n'
    path.write_text(text)
    cubin = compile_cuda(text, name=str(path), arch="sm_90", options=("-lineinfo",)).cubin
    (tmp_path / "k.cubin").write_bytes(cubin)

    shown = sassql("show", tmp_path / "k.cubin").out
    assert f"  {path}:3  x[threadIdx.x] = 1;" in shown.splitlines()
    path.unlink()
    source_text._lines.cache_clear()
    assert f"  {path}:3" in sassql("show", tmp_path / "k.cubin").out.splitlines()
    assert f"{path}:3" not in sassql("show", tmp_path / "k.cubin", "--no-lines").out


def test_matched_motifs_are_marked(sassql, compiled, pattern):
    done = sassql("show", compiled("sm_90").path, "--kernel", "warp", "--motif", pattern)
    marked = re.findall(r"^[│╰ ]*  0x[0-9a-f]+ .*?(SHFL|FADD)\S* .*?  (halving#\d+\.[sf])\b", done.out, re.M)

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
        "  0x0000  @!PT LDS RZ, [RZ]  filler",
        "  0x0010  EXIT",
    ]


def test_colours_of_statements(shell, compiled, tmp_path):
    path = compiled("sm_90", "small.cu").path
    plain = shell(f"sassql show {path} --kernel scale --width 120", tmp_path)
    colored = shell(
        f"sassql show {path} --kernel scale --width 120", tmp_path, FORCE_COLOR="1", PYTHONUTF8="1"
    )
    text = colored.stdout.decode()

    assert b"\x1b" not in plain.stdout
    assert re.search(r"\x1b\[1mLDG\x1b\[0m", text)
    assert re.sub(r"\x1b\[[0-9;]*m", "", text) == plain.stdout.decode()
