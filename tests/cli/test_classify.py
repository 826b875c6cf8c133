"""`sassql classify` and `sassql accuracy` as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sassql as package

CORPUS = Path(__file__).parents[2] / "corpora" / "lowering"
CLASSES = {
    "elementwise.cu": {"ew_relu": "elementwise", "ew_bias": "elementwise", "ew_relu_f4": "elementwise"},
    "softmax.cu": {"sm_warp_row128": "softmax", "sm_k2_exp": "elementwise"},
    "layout.cu": {"tr_padded": "transpose", "copy_shared": "copy"},
    "warp_reduction.cu": {"wr_sum_xor": "reduction", "wr_isum_redux": "reduction"},
    "normalization.cu": {"rms_residual_reg128": "normalization"},
    "scan.cu": {"scan_warp": "scan"},
    "decoys.cu": {"dc_wht": "other", "dc_bitonic": "sort", "dc_rotate": "other"},
    "histogram.cu": {"hist_shared": "histogram"},
    "gemm.cu": {"gemm_tiled16": "gemm"},
}


def records(done):
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.mark.parametrize("file", CLASSES)
def test_classes_of_kernels_that_say_what_they_are(sassql, file):
    done = sassql("classify", CORPUS / file, "--arch", "sm_90", "--format", "jsonl", "--jobs", "1")
    found = {r["kernel"]: r for r in records(done)}

    assert done.code == 0
    assert {name: found[name]["class"] for name in CLASSES[file]} == CLASSES[file]
    for name in CLASSES[file]:
        assert found[name]["status"] in ("match", "maybe")


def test_motifs_come_with_columns_and_addresses(sassql):
    done = sassql(
        *("classify", CORPUS / "warp_reduction.cu", "--kernel", "wr_sum_w8"),
        *("--arch", "sm_80", "--format", "jsonl", "--jobs", "1"),
    )
    (record,) = records(done)
    (ladder,) = [m for m in record["motifs"] if m["motif"] == "warp_reduce"]

    assert (record["class"], record["arch"]) == ("reduction", "sm_80")
    assert {k: ladder[k] for k in ("op", "dtype", "width", "steps", "dir", "status", "count")} == {
        "op": "sum", "dtype": "f32", "width": 8, "steps": 3, "dir": "xor", "status": "match", "count": 1,
    }  # fmt: skip
    assert len(ladder["at"]) == 6
    assert "1 kernels: 1 reduction" in done.err


def test_what_cannot_be_read_is_a_row_with_its_reason(sassql, tmp_path, compiled):
    bad = tmp_path / "bad.cubin"
    bad.write_bytes(compiled("sm_90").cubin[:900])
    done = sassql(
        "classify", bad, compiled("sm_90").path, "--kernel", "choice", "--format", "jsonl", "--jobs", "1"
    )
    (error,) = [r for r in records(done) if r["status"] == "error"]
    (answer,) = [r for r in records(done) if r["status"] != "error"]

    assert done.code == 3
    assert error["class"] == "unknown"
    assert "bad.cubin" in error["reason"]
    assert answer["kernel"] == "choice"


def test_classify_of_a_kernel_in_a_script():
    kernel = next(k for k in package.load(CORPUS / "scan.cu", arch="sm_90") if k.name == "scan_block")
    record = package.classify(kernel)

    assert record["class"] == "scan"
    assert "scan" in {m["motif"] for m in record["motifs"]}


def test_accuracy_of_given_records(sassql, tmp_path):
    found = tmp_path / "found.jsonl"
    row = {"kernel": "wr_sum_xor", "arch": "sm_90", "class": "reduction", "status": "match", "opcodes": {}}
    row["motifs"] = [{"motif": "warp_reduce", "op": "max", "width": 32, "status": "match", "at": []}]
    found.write_text(json.dumps(row) + "\n")
    done = sassql("accuracy", CORPUS, "--records", found, "--format", "jsonl")
    rows = {(r["part"], r["what"]): r for r in records(done)}
    wrong = sassql("accuracy", CORPUS, "--records", found, "--mistakes", "--format", "jsonl")

    assert done.code == 0
    assert rows["all", "warp_reduce"]["right"] == 1
    assert rows["all", "classes"]["right"] == 1
    assert ("missed", "broadcast") in {(r["what"], r["motif"]) for r in records(wrong)}
