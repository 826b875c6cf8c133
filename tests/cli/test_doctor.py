from __future__ import annotations

import csv
import json
import sys

import pytest
from click.testing import CliRunner

from sassql.cli import doctor as doctoring
from sassql.cli.doctor import doctor
from sassql.reading import compile as compiling
from sassql.reading import tools


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    monkeypatch.setattr(tools, "_found", {})
    monkeypatch.setattr(tools, "_descriptions", {})
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path / "cache"))
    for name in (*tools.VARIABLES.values(), *tools.TOOLKIT_VARIABLES, tools.LEGACY_VARIABLE):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def no_proof(monkeypatch):
    """The proofs start nvdisasm, which is slow, and are tried by one test."""
    for name in ("_proof_cuda", "_proof_ptx"):
        monkeypatch.setattr(doctoring, name, lambda: doctoring.Finding("", "ok"))


def findings(*arguments: str):
    result = CliRunner().invoke(doctor, [*arguments, "--format", "jsonl"])
    return result.exit_code, {row["what"]: row for row in map(json.loads, result.stdout.splitlines())}


def test_everything_is_there_and_proved():
    code, found = findings()

    assert code == 0
    assert {what: row["status"] for what, row in found.items() if row["status"] != "ok"} == {
        "nvdisasm 12.x": "optional"
    }
    assert found["nvdisasm"]["found_by"] == "wheel nvidia-cuda-nvdisasm"
    assert "cubins of CUDA 13: code, life ranges, branch targets, control flow" in found["nvdisasm"]["can"]
    assert "cubins made before CUDA 13: code only" in found["nvdisasm"]["can"]
    assert found["NVRTC"]["version"].startswith("13.")
    assert "sm_90a" in found["NVRTC"]["can"][0]
    assert "instructions for sm_90, with life ranges and control flow" in found["proof: CUDA C++"]["can"][0]
    assert found["proof: PTX"]["version"].startswith("nvJitLink 13.")


@pytest.mark.usefixtures("no_proof")
def test_the_table_and_csv_have_the_same_findings():
    table = CliRunner().invoke(doctor).stdout
    rows = list(csv.DictReader(CliRunner().invoke(doctor, ["--format", "csv"]).stdout.splitlines()))

    assert table.splitlines()[0].split() == ["status", "what", "version", "details"]
    assert [row["what"] for row in rows][:3] == ["nvdisasm", "cuobjdump", "nvdisasm 12.x"]
    for row in rows:
        assert row["what"] in table
        assert row["where"] in table
        assert all(text in table for text in json.loads(row["can"]))


@pytest.mark.usefixtures("no_proof")
def test_a_missing_tool_gives_4_and_the_command_that_helps(monkeypatch, tmp_path):
    monkeypatch.setattr(tools, "environment_folders", list)
    monkeypatch.setattr(tools, "DEFAULT_TOOLKIT", tools.Toolkit(tmp_path, "/usr/local/cuda"))
    monkeypatch.setenv("PATH", "")
    code, found = findings()

    assert code == 4
    for what, wheel in (
        ("nvdisasm", "nvidia-cuda-nvdisasm"),
        ("cuobjdump", "nvidia-cuda-cuobjdump"),
        ("CUDA headers", "nvidia-cuda-runtime nvidia-cuda-crt"),
    ):
        assert found[what]["status"] == "missing"
        assert found[what]["advice"].startswith(f"pip install {wheel}")
    assert found["NVRTC"]["status"] == "ok"


@pytest.mark.usefixtures("no_proof")
def test_missing_libraries(monkeypatch):
    for name in ("nvrtc", "nvjitlink"):
        monkeypatch.setitem(sys.modules, f"cuda.bindings.{name}", None)
    code, found = findings()

    assert code == 4
    assert found["NVRTC"]["advice"] == "pip install cuda-python nvidia-cuda-nvrtc"
    assert found["nvJitLink"]["advice"] == "pip install cuda-python nvidia-nvjitlink"


def test_a_tool_that_does_not_do_its_work_gives_3(monkeypatch, tmp_path):
    path = tmp_path / "nvdisasm"
    path.write_text("#!/bin/sh\necho V99.1.2\n")
    path.chmod(0o755)
    monkeypatch.setenv("SASSQL_NVDISASM", str(path))
    code, found = findings()

    assert code == 3
    assert found["nvdisasm"]["can"][-1] == "cubins of either layout: not tried by sassql"
    assert found["proof: CUDA C++"]["status"] == found["proof: PTX"]["status"] == "failed"


@pytest.mark.usefixtures("no_proof")
@pytest.mark.parametrize(("version", "status"), [("12.8.55", "ok"), ("13.1.80", "warning")])
def test_the_legacy_tool(monkeypatch, tmp_path, version, status):
    path = tmp_path / "old"
    path.write_text(f"#!/bin/sh\necho V{version}\n")
    path.chmod(0o755)
    monkeypatch.setenv("SASSQL_NVDISASM_12", str(path))
    code, found = findings()

    assert code == 0
    legacy = found["nvdisasm 12.x"]
    assert (legacy["status"], legacy["version"], legacy["where"]) == (status, version, str(path))


@pytest.mark.usefixtures("no_proof")
def test_a_cache_that_cannot_be_written_is_a_warning(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path / "file"))
    code, found = findings()

    assert code == 0
    assert found["cache folder"]["status"] == "warning"
    assert "SASSQL_CACHE" in found["cache folder"]["advice"]


def test_cooperative_groups_need_one_more_wheel(monkeypatch, tmp_path):
    for file in compiling.HEADER_WHEELS:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("")
    monkeypatch.setattr(
        compiling, "cuda_headers", lambda: compiling.Headers((tmp_path,), "CUDA_HOME", "13.1")
    )

    assert doctoring._headers().advice.startswith("pip install nvidia-cuda-cccl")


def test_the_help_has_examples():
    assert "sassql doctor --format jsonl" in CliRunner().invoke(doctor, ["--help"]).stdout
