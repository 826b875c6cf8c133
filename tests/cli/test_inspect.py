from __future__ import annotations

import csv
import io
import json
import zipfile

import pytest

from sassql.cli.records import COLUMNS

ADDRESS = {"address", "target", "block"}
BAD = "\t.target\tsm_90\n/*0000*/ FADD R0, R1 R2 ;\n/*0010*/ EXIT ;\n"


def records(done) -> list[dict]:
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.fixture(scope="module")
def listing(tmp_path_factory, compiled):
    path = tmp_path_factory.mktemp("listing") / "kernels.sass"
    path.write_text(compiled("sm_90").listing(), "utf-8")
    return path


def test_every_instruction_is_a_record_with_the_documented_fields(sassql, compiled):
    source = compiled("sm_90")
    done = sassql("inspect", source.path, "--format", "jsonl")
    found = records(done)

    assert (done.code, done.err) == (0, "")
    assert len(found) == source.module.instructions
    assert all(tuple(r) == COLUMNS for r in found)
    assert {r["file"] for r in found} == {str(source.path)}
    assert {r["arch"] for r in found} == {"sm_90"}


def test_a_record_says_what_the_instruction_says(sassql, compiled):
    source = compiled("sm_80")
    by_place = {
        (r["kernel"], r["address"]): r for r in records(sassql("inspect", source.path, "--format", "jsonl"))
    }

    for kernel in source.module.kernels:
        blocks = kernel.cfg
        for ins in kernel.instructions:
            record = by_place.pop((kernel.name, f"{ins.address:#x}"))
            control = ins.control
            assert record["text"] == ins.text
            assert (record["opcode"], tuple(record["modifiers"])) == (ins.opcode, ins.modifiers)
            assert record["guard"] == (None if ins.guard is None else str(ins.guard))
            assert record["operands"] == [str(o) for o in ins.operands]
            assert record["defs"] == sorted(map(str, ins.defs))
            assert record["uses"] == sorted(map(str, ins.uses))
            assert record["target"] == (None if ins.target is None else f"{ins.target:#x}")
            assert record["function"] == ins.function
            assert int(record["block"], 16) in blocks
            assert int(record["block"], 16) <= ins.address
            assert (record["stall"], record["yield"]) == (control.stall, control.may_yield)
            assert (record["read_barrier"], record["write_barrier"]) == (
                control.read_barrier,
                control.write_barrier,
            )
            assert record["wait_mask"] == control.wait_mask
            assert sum(1 << slot for slot in record["reuse"]) == control.reuse
    assert by_place == {}


def test_tags_of_padding_filler_and_slow_paths(sassql, compiled):
    found = records(sassql("inspect", compiled("sm_90").path, "--format", "jsonl"))
    tags = {tag for r in found for tag in r["tags"]}

    assert {"padding", "slowpath"} <= tags <= {"padding", "slowpath", "filler", "div_copy"}
    last = {r["kernel"]: r for r in found}
    assert all(r["opcode"] == "NOP" and "padding" in r["tags"] for r in last.values())
    assert all("padding" not in r["tags"] for r in found if r["opcode"] == "EXIT")
    assert all("__cuda_sm" in r["function"] for r in found if "slowpath" in r["tags"])


def test_csv_has_the_same_columns_and_values(sassql, compiled):
    path = compiled("sm_75").path
    rows = list(csv.DictReader(io.StringIO(sassql("inspect", path, "--format", "csv").out)))
    found = records(sassql("inspect", path, "--format", "jsonl"))

    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == len(found)
    for row, record in zip(rows, found, strict=True):
        assert row["text"] == record["text"]
        assert json.loads(row["operands"]) == record["operands"]
        assert row["target"] == (record["target"] or "")


def test_a_table_for_people(sassql, compiled):
    done = sassql("inspect", compiled("sm_75").path, "--kernel", "warp")
    header, first, *_ = done.out.splitlines()

    assert tuple(header.split()) == COLUMNS
    assert "warp" in first


def test_a_listing_has_no_control_bits(sassql, listing):
    found = records(sassql("inspect", listing, "--format", "jsonl"))

    assert {r["stall"] for r in found} == {None}
    assert {r["yield"] for r in found} == {None}
    assert {r["reuse"] for r in found} == {None}


def test_the_two_readers_print_the_same(sassql, compiled):
    path = compiled("sm_120").path

    words = sassql("inspect", path, "--format", "jsonl")
    text = sassql("inspect", path, "--format", "jsonl", "--reader", "text")

    assert words == text
    assert len(words.out) > 100_000


def test_a_summary_is_one_row_a_file(sassql, compiled, listing):
    paths = [compiled("sm_90").path, listing, compiled("sm_80").path]
    done = sassql("inspect", *paths, "--summary", "--format", "jsonl")
    first, second, third = records(done)

    assert done.code == 0
    assert [r["file"] for r in (first, second, third)] == [str(p) for p in paths]
    assert (first["arch"], first["entries"], first["kernels"]) == (
        "sm_90",
        1,
        len(compiled("sm_90").module.kernels),
    )
    assert first["instructions"] == sum(first["opcodes"].values()) == compiled("sm_90").module.instructions
    assert first["distinct_words"] == compiled("sm_90").module.distinct_words
    assert second["opcodes"] == first["opcodes"]
    assert (second["distinct_words"], second["new_words"]) == (None, None)
    assert list(first["opcodes"].values()) == sorted(first["opcodes"].values(), reverse=True)


def test_new_words_are_new_once(sassql, compiled, monkeypatch, tmp_path):
    path = compiled("sm_90").path
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path))
    first, again = (records(sassql("inspect", path, "--summary", "--format", "jsonl"))[0] for _ in range(2))

    assert first["new_words"] == first["distinct_words"] > 500
    assert (again["new_words"], again["distinct_words"]) == (0, first["distinct_words"])


def test_a_word_of_two_entries_of_a_file_is_one_word(sassql, compiled, monkeypatch, tmp_path):
    """An archive with the same cubin twice, and the part of it that --kernel selects."""
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path / "cache"))
    path = compiled("sm_90").path
    twice = tmp_path / "twice.zip"
    with zipfile.ZipFile(twice, "w") as archive:
        archive.write(path, "a.cubin")
        archive.write(path, "b.cubin")
    one, both, warp = (
        records(sassql("inspect", *which, "--summary", "--format", "jsonl"))[0]
        for which in ([path], [twice], [twice, "--kernel", "warp"])
    )

    assert both["entries"] == 2
    assert both["instructions"] == 2 * one["instructions"]
    assert both["distinct_words"] == one["distinct_words"] == one["new_words"]
    assert 0 < warp["distinct_words"] < one["distinct_words"]
    assert (both["new_words"], warp["new_words"]) == (0, 0)


def test_a_summary_for_people_names_the_most_frequent_opcodes(sassql, compiled):
    done = sassql("inspect", compiled("sm_90").path, "--summary")

    assert done.out.splitlines()[0].split() == [
        "file", "arch", "entries", "kernels", "instructions", "distinct_words", "new_words", "opcodes"
    ]  # fmt: skip
    assert "IMAD:" in done.out and "more" in done.out


@pytest.mark.parametrize(
    ("glob", "kernels"),
    [
        ("warp", {"warp"}),
        ("ca*", {"calls"}),
        ("*", None),
        ("[ch]*", {"calls", "choice", "copies", "halves"}),
        ("WARP", set()),
    ],
)
def test_kernels_are_chosen_by_a_glob(sassql, compiled, glob, kernels):
    source = compiled("sm_90")
    done = sassql("inspect", source.path, "--format", "jsonl", "--kernel", glob)
    expected = {k.name for k in source.module.kernels} if kernels is None else kernels

    assert {r["kernel"] for r in records(done)} == expected
    assert done.code == (0 if expected else 1)
    if not expected:
        assert done.messages == [f"note: no kernel of {len(source.module.kernels)} is named 'WARP'"]


def test_kernels_are_chosen_by_the_name_that_the_source_has(sassql, tmp_path):
    path = tmp_path / "k.cu"
    path.write_text(
        "template <class T> __global__ void fill(T *x) { *x = 1; }\ntemplate __global__ void fill(int *);"
    )
    done = sassql("inspect", path, "--format", "jsonl", "--kernel", "*fill<int>*", "--arch", "sm_75")

    assert {(r["kernel"], r["arch"]) for r in records(done)} == {("_Z4fillIiEvPT_", "sm_75")}


@pytest.mark.parametrize(("arch", "code"), [("sm_90", 0), ("sm_80, sm_90", 0), ("sm_80", 1), ("sm_90a", 1)])
def test_architectures_are_chosen(sassql, compiled, arch, code):
    done = sassql("inspect", compiled("sm_90").path, "--summary", "--format", "jsonl", "--arch", arch)

    assert done.code == code
    assert len(records(done)) == (code == 0)
    assert done.messages == ([] if code == 0 else [f"note: nothing for the architectures {arch}"])


@pytest.mark.parametrize("arch", ["hopper", "90", "sm90", "sm_90x", "sm_80,bogus"])
def test_a_name_that_is_no_architecture_is_wrong_usage(sassql, compiled, arch):
    done = sassql("inspect", compiled("sm_90").path, "--arch", arch)
    wrong = arch.split(",")[-1]

    assert (done.code, done.messages) == (
        2,
        [f"error: '{wrong}' is not an architecture; write it like sm_90 or sm_90a"],
    )


def test_a_refused_line_is_still_a_record(sassql, tmp_path):
    path = tmp_path / "bad.sass"
    path.write_text(BAD)
    done = sassql("inspect", path, "--format", "jsonl")
    first, second = records(done)

    assert done.code == 3
    assert (first["text"], first["opcode"], first["operands"]) == ("FADD R0, R1 R2", "", [])
    assert second["opcode"] == "EXIT"
    assert done.messages == [
        f"error: {path}:2:22: unexpected 'R2' in 'FADD R0, R1 R2'; the other lines are read"
    ]


def test_sources_that_hold_no_kernel_say_so(sassql, tmp_path):
    path = tmp_path / "none.cu"
    path.write_text("__device__ int counter;\n")
    done = sassql("inspect", path, "--format", "jsonl")

    assert (done.code, done.out, done.messages) == (1, "", ["note: what was read holds no kernel"])


def test_names_that_are_no_utf8(shell, compiled, tmp_path):
    source = compiled("sm_90", "small.cu").path
    script = f"cp {source} $'b\\xff.cubin'; sassql inspect $'b\\xff.cubin' --format "
    lines = shell(script + "jsonl", tmp_path).stdout.decode("ascii").splitlines()
    table = shell(script + "csv", tmp_path)

    assert {json.loads(line)["file"] for line in lines} == {"b\udcff.cubin"}
    assert (table.returncode, table.stderr) == (0, b"")
    assert b"b\\udcff.cubin" in table.stdout


def test_an_ascii_terminal(shell, compiled, tmp_path):
    done = shell(
        f"sassql inspect {compiled('sm_90', 'small.cu').path} --summary", tmp_path, PYTHONIOENCODING="ascii"
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert b"IMAD" in done.stdout or b"FADD" in done.stdout


def test_a_name_that_looks_like_markup(shell, compiled, tmp_path):
    source = compiled("sm_90", "small.cu").path
    script = f"cp {source} '[red]x.cubin'; sassql inspect '[red]x.cubin' --summary"
    done = shell(script, tmp_path, FORCE_COLOR="1")

    assert done.returncode == 0
    assert b"[red]x.cubin" in done.stdout
    assert b"reading [red]x.cubin" in done.stderr


def test_a_pipe_is_read_like_a_file(shell, compiled, tmp_path):
    source = compiled("sm_90", "small.cu")
    listing = tmp_path / "listing.txt"
    listing.write_text(source.listing())
    command = "cat {} | sassql inspect /dev/stdin --summary --format jsonl"
    text, code = (json.loads(shell(command.format(p), tmp_path).stdout) for p in (listing, source.path))

    assert text["opcodes"] == code["opcodes"]
    assert text["file"] == "/dev/stdin"
