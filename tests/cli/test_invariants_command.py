"""`sassql invariants` as a user calls it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[2] / "corpora" / "lowering"
SOURCE = CORPUS / "grid_reduction.cu"


def test_people_get_a_paragraph_for_each_section(sassql):
    done = sassql("invariants", SOURCE, "--kernel", "gr_pass1", "--arch", "sm_90", "--jobs", "1")

    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "gr_pass1  sm_90"
    assert "elements are independent: refuted" in lines[1]
    heads = [line.split("  ")[0] for line in lines if line and not line.startswith(" ")][2:]
    assert heads == ["dependency", "reduction", "observability", "reuse", "numerics"]
    assert "    x    32 lanes (xor of 16, 8, 4, 2, 1) [param0: 4 bytes, contiguous]" in lines
    assert "    x    nctaid.x blocks (partials)" in lines
    assert done.messages[-1] == "1 kernels: independence 1 refuted"


def test_programs_get_one_object_a_kernel(sassql):
    arguments = ("--kernel", "gr_*", "--arch", "sm_90,sm_120", "--jobs", "1", "--format", "jsonl")
    done = sassql("invariants", SOURCE, *arguments)

    records = [json.loads(line) for line in done.out.splitlines()]
    assert len(records) == 16
    assert {r["arch"] for r in records} == {"sm_90", "sm_120"}
    by_name = {r["kernel"]: r for r in records}
    assert by_name["gr_consume"]["independence"] == "proven"
    (reduction,) = by_name["gr_atomic_thread"]["reduction"]
    assert reduction["order"] == "nondeterministic"
    assert [f["over"] for f in reduction["factors"]] == ["threads", "blocks"]


def test_csv_has_a_line_for_each_statement(sassql):
    arguments = ("--kernel", "gr_pass2", "--jobs", "1", "--format", "csv", "--section", "reduction")
    done = sassql("invariants", SOURCE, *arguments)

    (row,) = csv.DictReader(io.StringIO(done.out))
    assert (row["section"], row["subject"], row["verdict"]) == ("reduction", "sum", "reassociable")
    assert row["at"].startswith("0x")


def test_only_some_sections(sassql):
    arguments = ("--kernel", "gr_pass2", "--jobs", "1", "--section", "numerics", "--format", "jsonl")
    record = json.loads(sassql("invariants", SOURCE, *arguments).out)

    assert "numerics" in record and "dependency" not in record


def test_no_kernel_of_that_name(sassql):
    done = sassql("invariants", SOURCE, "--kernel", "nothing", "--jobs", "1")

    assert (done.code, done.out) == (1, "")


@pytest.mark.parametrize("format", ["table", "jsonl", "csv"])
def test_what_cannot_be_read_is_one_line(sassql, tmp_path, format):
    bad = tmp_path / "bad.cubin"
    bad.write_bytes(b"\x7fELF nothing")
    done = sassql("invariants", bad, "--format", format, "--jobs", "1")

    assert done.code == 3
    assert len([m for m in done.messages if m.startswith("error: ")]) == 1
    assert "Traceback" not in done.err
    rows = {
        "table": lambda text: [],
        "jsonl": lambda text: [json.loads(line) for line in text.splitlines()],
        "csv": lambda text: list(csv.DictReader(io.StringIO(text))),
    }[format](done.out)
    assert all(row["file"] == str(bad) and not row["kernel"] for row in rows)
    assert len(rows) == (format != "table")


def test_a_section_that_does_not_exist(sassql):
    done = sassql("invariants", SOURCE, "--section", "colour")

    assert done.code == 2
    assert "colour" in done.err
