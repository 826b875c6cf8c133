"""`sassql advise` as a user calls it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[2] / "corpora" / "lowering"
LAUNCH = CORPUS / "launch.toml"
PAGE = CORPUS.parents[1] / "docs" / "advise.md"
ONE = ("--arch", "sm_90", "--jobs", "1")


def records(done):
    return [json.loads(line) for line in done.out.splitlines()]


def test_people_see_where_what_if_and_how_much(sassql):
    done = sassql("advise", CORPUS / "round_trip.cu", "--kernel", "rt_overwrite", "--launch", LAUNCH, *ONE)

    assert done.code == 0
    assert "rule 1 round trip of one thread" in done.out
    assert (
        "if nobody outside reads param1 while the kernel runs (the value is overwritten at 0x160)" in done.out
    )
    assert "saves 8*min(param2, nctaid.x*ntid.x) bytes of global memory" in done.out
    assert "800 at n=100, 1,024 at n=128" in done.out
    assert "at 0x100, 0x120, 0x140" in done.out
    assert "1 kernels, 2 findings: 1 of rule 1, 1 of rule 5" in done.err


def test_one_object_a_finding(sassql):
    done = sassql(
        "advise", CORPUS / "softmax.cu", "--kernel", "sm_block_*", "--rule", 4, "--format", "jsonl", *ONE
    )
    found = records(done)

    assert {r["kernel"] for r in found} == {"sm_block_mat", "sm_block_recompute", "sm_block_smem_row"}
    assert {(r["rule"], r["arch"], r["details"]["level"]) for r in found} == {(4, "sm_90", "E4")}
    assert all(r["at"] and r["conditions"] and r["file"].endswith("softmax.cu") for r in found)


def test_what_several_kernels_share_is_rule_6(sassql):
    done = sassql("advise", CORPUS / "softmax.cu", "--rule", 6, "--format", "jsonl", *ONE)
    found = {(r["of_rule"], r["kind"]): r["kernels"] for r in records(done)}

    assert all(r["rule"] == 6 for r in records(done))
    assert found[(4, "passes that a running state merges")] == [
        "sm_block_mat", "sm_block_recompute", "sm_block_smem_row", "sm_thread_row",
    ]  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(
        sassql("advise", CORPUS / "softmax.cu", "--rule", 6, "--format", "csv", *ONE).out
    )))  # fmt: skip
    assert {(int(r["of_rule"]), r["kind"]): json.loads(r["kernels"]) for r in rows} == found
    table = sassql("advise", CORPUS / "softmax.cu", "--rule", 6, *ONE)
    assert "The same finding in several kernels" in table.out


def test_csv_has_one_row_a_finding(sassql):
    done = sassql(
        "advise", CORPUS / "normalization.cu", "--kernel", "ln_twopass", "--format", "csv", "--rule", 3, *ONE
    )
    (row,) = csv.DictReader(io.StringIO(done.out))

    assert (row["kernel"], row["rule"], row["kind"]) == (
        "ln_twopass",
        "3",
        "several passes over the same data",
    )
    assert json.loads(row["effects"])[0]["formula"] == "8*blocks*param4"


def test_nothing_found_is_exit_code_1(sassql):
    done = sassql("advise", CORPUS / "decoys.cu", *ONE)

    assert (done.code, done.out) == (1, "")
    assert "14 kernels, 0 findings" in done.err


def test_a_launch_file_that_does_not_fit_a_kernel_is_a_note(sassql, tmp_path):
    path = tmp_path / "launch.toml"
    path.write_text('[launch]\nblock = 64\ngrid = 1\nargs = ["n:i32=1"]\n')
    done = sassql("advise", CORPUS / "round_trip.cu", "--kernel", "rt_fence", "--launch", path, *ONE)

    assert done.code == 0
    assert "no numbers: rt_fence has 4 parameters, and the launch gives 1 arguments" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--launch", "/nowhere.toml"], 2, "cannot read the launch file /nowhere.toml"),
        (["--rule", "7"], 2, "7 is not in the range"),
    ],
)
def test_bad_usage(sassql, arguments, code, text):
    done = sassql("advise", CORPUS / "round_trip.cu", *arguments, *ONE)

    assert done.code == code
    assert text in done.err
    assert "Traceback" not in done.err


def test_what_cannot_be_read_is_exit_code_3(sassql, tmp_path, compiled):
    bad = tmp_path / "bad.cubin"
    bad.write_bytes(compiled("sm_90").cubin[:900])
    done = sassql("advise", bad, CORPUS / "round_trip.cu", "--kernel", "rt_fence", *ONE)

    assert done.code == 3
    assert "rule 1" in done.out
    assert "bad.cubin" in done.err


def test_bad_toml_is_one_line(sassql, tmp_path):
    path = tmp_path / "launch.toml"
    path.write_text("[launch\n")
    done = sassql("advise", CORPUS / "round_trip.cu", "--launch", path, *ONE)

    assert done.code == 2
    assert len(done.messages) == 1


def test_the_examples_of_the_page_print_what_it_says(sassql, monkeypatch):
    monkeypatch.chdir(CORPUS.parents[1])
    text = PAGE.read_text("utf-8")
    shown = re.findall(
        r"^    \$ sassql (advise [^\n]+)\n\n```text\n(.+?)^```$", text, re.MULTILINE | re.DOTALL
    )
    assert len(shown) == 2
    for command, output in shown:
        done = sassql(*command.split(), *ONE)
        assert done.out == output


def test_the_program_of_the_page_runs(monkeypatch, capsys):
    monkeypatch.chdir(CORPUS.parents[1])
    (program,) = re.findall(r"^```python\n(.+?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    exec(compile(program, str(PAGE), "exec"), {})  # the page's own program
    assert "sm_block_mat round trip of one thread 8*blocks*param2" in capsys.readouterr().out


def test_a_saved_listing_is_advised_like_its_cubin(sassql, compiled, tmp_path):
    path = tmp_path / "report.sass"
    path.write_text(compiled("sm_90", "report.cu").listing("-c"))
    from_text = records(sassql("advise", path, "--format", "jsonl", "--rule", 1, "--rule", 3, "--jobs", "1"))
    cubin = compiled("sm_90", "report.cu").path
    from_words = records(
        sassql("advise", cubin, "--format", "jsonl", "--rule", 1, "--rule", 3, "--jobs", "1")
    )

    assert from_words
    assert [(r["kernel"], r["kind"], r["at"]) for r in from_text] == [
        (r["kernel"], r["kind"], r["at"]) for r in from_words
    ]
