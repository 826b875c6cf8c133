"""`sassql report`: formats, exit codes, sides of a comparison."""

from __future__ import annotations

import json

import pytest

PATTERNS = "patterns/warp/shuffle_ladder.sq"


@pytest.fixture(scope="module")
def cubin(compiled):
    return compiled("sm_90", "report.cu").path


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch, request):
    monkeypatch.chdir(request.config.rootpath)


def test_one_file(sassql, cubin, tmp_path):
    path = tmp_path / "made" / "report.html"
    done = sassql("report", cubin, "-o", path, "--patterns", PATTERNS)

    assert done.code == 0
    assert done.out == ""
    assert done.messages[0].startswith("4 kernels, ")
    assert path.read_text("utf-8").startswith("<!DOCTYPE html>")


def test_a_folder(sassql, cubin, tmp_path):
    done = sassql("report", cubin, "-o", f"{tmp_path}/all/", "--patterns", PATTERNS, "--kernel", "row_*")

    assert done.code == 0
    assert [p.name for p in (tmp_path / "all" / "kernels").iterdir()] == ["k1.html"]


def test_markdown_on_standard_output(sassql, cubin):
    done = sassql("report", cubin, "--patterns", PATTERNS)

    assert done.code == 0
    assert "| shuffle\\_ladder | 1 (25 %) |" in done.out


def test_json(sassql, cubin, tmp_path):
    path = tmp_path / "report.json"
    assert sassql("report", cubin, "-o", path, "--patterns", PATTERNS, "--title", "mine").code == 0
    made = json.loads(path.read_text("utf-8"))

    assert (made["title"], made["schema"]) == ("mine", "sassql.report/1")


def test_unreadable_input_is_in_the_report_and_in_the_exit_code(sassql, cubin, tmp_path):
    broken = tmp_path / "broken.cubin"
    broken.write_bytes(cubin.read_bytes()[:600])
    done = sassql("report", cubin, broken, "--patterns", PATTERNS)

    assert done.code == 3
    assert "## Failures" in done.out


def test_no_kernel(sassql, cubin):
    assert sassql("report", cubin, "--kernel", "nobody", "--patterns", PATTERNS).code == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "report.pdf"], "the ending says no format"),
        (["--format", "html"], "no output"),
        (["-o", "folder/", "--format", "json"], "a folder is written as HTML"),
        (["--compare"], "a comparison has two sides, not 1"),
        (["--compare", "-o", "folder/"], "a comparison is one file"),
        (["-o", "/proc/nowhere/report.md"], "cannot be written"),
    ],
)
def test_bad_usage_is_one_line(sassql, cubin, arguments, message):
    done = sassql("report", cubin, "--patterns", PATTERNS, *arguments)

    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_nothing_to_report_on(sassql):
    assert sassql("report").code == 2


def test_kernels_of_one_file_are_compared(sassql, cubin):
    done = sassql(
        "report", "--compare", f"{cubin}:row_softmax", f"{cubin}:side_by_side", "--patterns", PATTERNS
    )

    assert done.code == 0
    assert "## row\\_softmax and side\\_by\\_side" in done.out
    assert "* lost: shuffle\\_ladder" in done.out
    assert done.messages[0] == "1 pairs of kernels, 1 differ"


def test_architectures_are_compared(sassql, tmp_path):
    path = tmp_path / "changes.html"
    done = sassql(
        "report",
        "--compare",
        "tests/kernels/small.cu",
        "--arch",
        "sm_80,sm_90",
        "-o",
        path,
        "--patterns",
        PATTERNS,
    )

    assert done.code == 0
    assert "sm_80, sm_90" in path.read_text("utf-8")


def test_accuracy_stands_in_the_report_of_a_corpus_with_truth(sassql, tmp_path):
    """Only with the whole library: what was not looked for is not missed."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "sum.cu").write_text(
        'extern "C" __global__ void sum(float *y, const float *x) { float s = x[threadIdx.x];\n'
        "for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o); y[threadIdx.x] = s; }\n"
    )
    (corpus / "truth.tsv").write_text(
        "file\tkernel\tminarch\tmotif\targs\nsum.cu\tsum\t\twarp_reduce\top=sum width=32\n"
    )
    whole = tmp_path / "whole.json"
    assert sassql("report", corpus, "-o", whole).code == 0
    part = tmp_path / "part.json"
    assert sassql("report", corpus, "-o", part, "--patterns", PATTERNS).code == 0

    rows = {row["name"]: row for row in json.loads(whole.read_text("utf-8"))["accuracy"]["motifs"]}
    assert (rows["warp_reduce"]["right"], rows["warp_reduce"]["missed"]) == (1, 0)
    assert json.loads(part.read_text("utf-8"))["accuracy"] is None
