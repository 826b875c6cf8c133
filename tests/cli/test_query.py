from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from sassql.resources import folder

HALVING = """motif halving(%x -> %sum) {
  title "A shuffle and the sum behind it"
  s: SHFL.BFLY %other, %x, #m
  f: FADD %sum, %x, %other
  emit mask = #m
}
"""
DOUBTFUL = """\t.target\tsm_90
//--------------------- .text.doubtful --------------------------
        /*0000*/                   LDC R2, c[0x0][0x28] ;
        /*0010*/                   SHFL.BFLY PT, R3, R2, 0x1, 0x1f ;
        /*0020*/                   FADD R2, R2, R3 ;
        /*0030*/                   BRX R4 -0x40 ;
        /*0040*/                   EXIT ;
"""


@pytest.fixture
def pattern(tmp_path) -> Path:
    path = tmp_path / "halving.sq"
    path.write_text(HALVING)
    return path


@pytest.fixture
def doubtful(tmp_path) -> Path:
    path = tmp_path / "doubtful.sass"
    path.write_text(DOUBTFUL)
    return path


def records(done) -> list[dict]:
    return [json.loads(line) for line in done.out.splitlines()]


def test_rows_with_the_documented_fields(sassql, compiled, pattern):
    source = compiled("sm_90")
    done = sassql("query", pattern, source.path, "--format", "jsonl")
    found = [r for r in records(done) if r["kernel"] == "warp"]

    assert done.code == 0
    assert all(
        list(r) == ["file", "entry", "kernel", "function", "arch", "motif", "status", "columns", "at"]
        for r in found
    )
    assert [r["columns"] for r in found] == [{"mask": m} for m in (16, 8, 4, 2, 1)]
    assert {(r["file"], r["entry"], r["arch"], r["motif"], r["status"]) for r in found} == {
        (str(source.path), "", "sm_90", "halving", "match")
    }
    kernel = next(k for k in source.module.kernels if k.name == "warp")
    for row in found:
        (s,), (f,) = row["at"]["s"], row["at"]["f"]
        assert kernel.at(int(s, 16)).opcode == "SHFL"
        assert kernel.at(int(f, 16)).opcode == "FADD"


def test_the_ladder_of_the_library_is_found_on_every_architecture(sassql, everywhere):
    ladder = folder("patterns") / "warp" / "shuffle_ladder.sq"
    done = sassql("query", ladder, everywhere.path, "--kernel", "warp", "--format", "jsonl")

    assert [(r["kernel"], r["columns"]["rungs"], r["columns"]["mode"]) for r in records(done)] == [
        ("warp", 5, "BFLY")
    ]
    assert done.code == 0


def test_a_table_for_people_and_a_count_on_stderr(sassql, compiled, pattern):
    source = compiled("sm_90")
    done = sassql("query", pattern, source.path, "--kernel", "warp")
    lines = done.out.splitlines()

    assert lines[0].split() == ["file", "kernel", "arch", "motif", "mask", "at"]
    assert len(lines) == 6
    assert done.messages == ["5 rows in 1 kernels of 1 modules"]


def test_csv_has_one_header_whatever_a_row_says(sassql, compiled, pattern, doubtful):
    done = sassql("query", pattern, compiled("sm_90").path, doubtful, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))

    assert done.code == 0
    assert {r["status"] for r in rows} == {"match", "maybe"}
    assert json.loads(rows[0]["columns"]) == {"mask": 16}
    assert rows[-1]["reason"] == "the targets of the branch at 0x30 are not known"
    assert rows[0]["reason"] == ""


def test_an_answer_that_rests_on_something_unknown_says_so(sassql, pattern, doubtful):
    (row,) = records(sassql("query", pattern, doubtful, "--format", "jsonl"))
    table = sassql("query", pattern, doubtful).out

    assert (row["status"], row["reason"]) == ("maybe", "the targets of the branch at 0x30 are not known")
    assert "maybe: the targets of the branch" in table


def test_no_rows_are_one(sassql, compiled, pattern):
    done = sassql("query", pattern, compiled("sm_90").path, "--kernel", "halves", "--format", "jsonl")

    assert (done.code, done.out) == (1, "")
    assert done.messages == ["0 rows in 1 kernels of 1 modules"]


def test_kernels_outside_of_the_motifs_architectures_are_counted(sassql, compiled, tmp_path):
    path = tmp_path / "old.sq"
    path.write_text(HALVING.replace("  title", "  arch sm_75\n  title", 1))
    done = sassql("query", path, compiled("sm_90").path, compiled("sm_75").path, "--format", "jsonl")

    assert {r["arch"] for r in records(done)} == {"sm_75"}
    assert done.messages[-1].endswith(", 8 outside the motif's architectures")


def test_several_paths_and_a_folder(sassql, compiled, pattern, tmp_path):
    (tmp_path / "build").mkdir()
    for arch in ("sm_80", "sm_90"):
        (tmp_path / "build" / f"{arch}.cubin").write_bytes(compiled(arch).cubin)
    done = sassql("query", pattern, tmp_path / "build", compiled("sm_75").path, "--format", "jsonl")

    assert {r["arch"] for r in records(done)} == {"sm_75", "sm_80", "sm_90"}


def test_a_source_is_compiled_for_the_architecture_asked_for(sassql, pattern, tmp_path):
    path = tmp_path / "k.cu"
    path.write_text((Path(__file__).parents[1] / "kernels" / "small.cu").read_text())
    default = records(sassql("query", pattern, path, "--format", "jsonl"))
    asked = records(sassql("query", pattern, path, "--arch", "sm_80,sm_120", "--format", "jsonl"))

    assert {r["arch"] for r in default} == {"sm_90"}
    assert {(r["arch"], r["entry"]) for r in asked} == {("sm_80", "sm_80"), ("sm_120", "sm_120")}


def test_a_corpus_is_compiled_and_asked(sassql, pattern, tmp_path, monkeypatch):
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path / "cache"))
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "small.cu").write_text((Path(__file__).parents[1] / "kernels" / "small.cu").read_text())
    done = sassql("query", pattern, corpus, "--arch", "sm_90", "--format", "jsonl")

    assert done.code == 0
    assert {(Path(r["file"]).name, r["kernel"], r["arch"]) for r in records(done)} == {
        ("small.cu", "total", "sm_90")
    }


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("motif m { r: FADD %d, %x }}", ":1:27: "),
        ("motif m {\n  s: SHFL %d, %x\n  emitt a = 1\n}\n", ":3:"),
        ("motif m {\n  s: SHFL %d, %x\n  emit a = #nothing\n}\n", ":3:"),
    ],
)
def test_a_bad_pattern_is_two_with_its_place(sassql, compiled, tmp_path, text, place):
    path = tmp_path / "bad.sq"
    path.write_text(text)
    done = sassql("query", path, compiled("sm_90").path)

    assert (done.code, done.out) == (2, "")
    assert done.messages[0].startswith(f"error: {path}{place}")


def test_a_pattern_that_is_not_there(sassql, compiled, tmp_path):
    done = sassql("query", tmp_path / "none.sq", compiled("sm_90").path)

    assert done.code == 2
    assert len(done.messages) == 1 and str(tmp_path / "none.sq") in done.messages[0]


def test_a_bad_file_among_good_ones_is_three_and_the_rows_are_there(sassql, compiled, pattern, tmp_path):
    bad = tmp_path / "bad.cubin"
    bad.write_bytes(compiled("sm_90").cubin[:900])
    alone = records(sassql("query", pattern, compiled("sm_90").path, "--format", "jsonl"))
    done = sassql("query", pattern, bad, compiled("sm_90").path, "--format", "jsonl")

    assert (done.code, records(done)) == (3, alone)
    assert done.messages[0].startswith(f"error: {bad}: ")


def test_a_path_that_is_not_there_is_two(sassql, compiled, pattern, tmp_path):
    done = sassql("query", pattern, tmp_path / "none", compiled("sm_90").path, "--format", "jsonl")

    assert done.code == 2
    assert records(done) != []
    assert f"error: {tmp_path / 'none'}: no such file or folder" in done.messages
