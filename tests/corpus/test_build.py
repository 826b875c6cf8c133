from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sassql.corpus import build as building
from sassql.corpus.build import build, built_architectures, states
from sassql.corpus.manifest import load_manifest
from sassql.errors import ToolMissingError, UsageError

ONE = '#include "one.cuh"\nextern "C" __global__ void one(float *x) { x[0] = ONE; }\n'
TWO = 'extern "C" __global__ void two(float *x) { x[0] *= 2; }\n'
BAD = "__global__ void bad() { nothing; }\n"
PTX = ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry three() { ret; }\n"


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A corpus of two sources, one with a header, and an empty cache."""
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path / "cache"))
    # a process takes longer to start than these sources to compile; tests of processes say jobs=2
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    corpus = tmp_path / "small"
    (corpus / "sub").mkdir(parents=True)
    (corpus / "sub/one.cu").write_text(ONE)
    (corpus / "sub/one.cuh").write_text("#define ONE 1\n")
    (corpus / "two.cu").write_text(TWO)
    return corpus


def fresh(result) -> dict[str, bool]:
    return {f"{cubin.source.name} {cubin.arch}": cubin.fresh for cubin in result.cubins}


def write_manifest(folder: Path, *files: str, extra: str = "") -> None:
    sources = "".join(f'[[source]]\nfile = "{file}"\nsubject = "x"\n' for file in files)
    (folder / "manifest.toml").write_text(f'name = "small"\ntitle = "t"\n{extra}\n{sources}')


def files_of(result) -> set[str]:
    return {
        str(path.relative_to(result.folder)) for path in result.folder.rglob("*.*") if path.name != ".lock"
    }


def test_a_build_and_one_more(folder, tmp_path):
    first = build(folder)
    second = build(folder)

    assert first.problems == ()
    assert fresh(first) == {"one.cu sm_90": True, "two.cu sm_90": True}
    assert fresh(second) == {"one.cu sm_90": False, "two.cu sm_90": False}
    assert first.folder.parent == tmp_path / "cache/corpora"
    assert first.cubins[0].path == first.folder / "sm_90/sub/one.cubin"
    assert first.cubins[0].path.read_bytes()[:4] == b"\x7fELF"
    assert [cubin.provenance for cubin in first.cubins] == [cubin.provenance for cubin in second.cubins]


def test_the_provenance_is_told(folder):
    one = build(folder).cubins[0]
    told = json.loads(one.path.with_suffix(".json").read_bytes())

    assert set(told) == {"inputs", "cubin_sha256", "seconds", "log", "built"}
    inputs = told["inputs"]
    assert (inputs["source"], inputs["arch"], inputs["options"]) == ("sub/one.cu", "sm_90", [])
    assert list(inputs["headers"]) == ["sub/one.cuh"]
    assert inputs["compiler"].startswith("NVRTC 13.")
    assert inputs["cuda_headers"].startswith("13.")
    assert told["seconds"] > 0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda folder: (folder / "sub/one.cu").write_text(ONE + "//"), "source_sha256 changed"),
        (lambda folder: (folder / "sub/one.cuh").write_text("#define ONE 2\n"), "headers changed"),
        (lambda folder: cubin_of(folder).write_bytes(b"\x7fELF"), "cubin damaged"),
        (lambda folder: cubin_of(folder).with_suffix(".json").write_text("{"), "no provenance"),
    ],
)
def test_only_what_changed_is_compiled(folder, change, reason):
    build(folder)
    change(folder)

    assert [state.reason for state in states(load_manifest(folder), ["sm_90"])] == [reason, ""]
    assert fresh(build(folder)) == {"one.cu sm_90": True, "two.cu sm_90": False}
    assert [state.state for state in states(load_manifest(folder), ["sm_90"])] == ["current", "current"]


def cubin_of(folder: Path) -> Path:
    return load_manifest(folder).built / "sm_90/sub/one.cubin"


def test_times_of_files_play_no_role(folder):
    build(folder)
    os.utime(folder / "two.cu", (1, 1))

    assert not any(fresh(build(folder)).values())


def test_options_and_versions_count(folder, monkeypatch):
    write_manifest(folder, "two.cu")
    build(folder)
    write_manifest(folder, "two.cu", extra='options = ["--fmad=false"]')
    assert states(load_manifest(folder), ["sm_90"])[0].reason == "options changed"

    assert fresh(build(folder)) == {"two.cu sm_90": True}

    monkeypatch.setattr(building, "BUILD_FORMAT", building.BUILD_FORMAT + 1)
    assert states(load_manifest(folder), ["sm_90"])[0].reason == "format changed"


def test_stale_cubins_are_removed_for_every_architecture(folder):
    result = build(folder, ["sm_80", "sm_90"])
    assert "sm_80/two.cubin" in files_of(result)

    (folder / "two.cu").write_text(TWO + "//")
    result = build(folder, ["sm_90"])
    expected = {"sm_80/sub/one", "sm_90/sub/one", "sm_90/two"}
    assert files_of(result) == {name + suffix for name in expected for suffix in (".cubin", ".json")}
    assert built_architectures(load_manifest(folder)) == ("sm_80", "sm_90")

    (folder / "two.cu").unlink()
    assert files_of(build(folder)) == {
        name + s for name in expected - {"sm_90/two"} for s in (".cubin", ".json")
    }


def test_drafts_of_killed_builds_are_removed_when_they_are_old(folder):
    result = build(folder)
    for name, age in (("old", 10_000), ("young", 0)):
        draft = result.folder / f"sm_90/.{name}.cubin.1-ab.tmp"
        draft.write_bytes(b"")
        os.utime(draft, (draft.stat().st_mtime - age,) * 2)

    assert {name for name in files_of(build(folder)) if "tmp" in name} == {"sm_90/.young.cubin.1-ab.tmp"}


def test_a_bad_source_is_one_problem_and_the_rest_goes_on(folder):
    (folder / "bad.cu").write_text(BAD)
    result = build(folder, ["sm_80", "sm_90"], jobs=2)

    assert len(result.cubins) == 4
    assert [str(problem) for problem in result.problems] == [
        f'{folder / "bad.cu"}:1:25: identifier "nothing" is undefined (sm_80, sm_90)'
    ]
    assert (result.problems[0].kind, result.problems[0].exit_code) == ("compile", 3)


def test_a_source_that_went_bad_loses_its_cubin(folder):
    build(folder)
    (folder / "two.cu").write_text(BAD)
    result = build(folder)

    assert [cubin.source.name for cubin in result.cubins] == ["one.cu"]
    assert files_of(result) == {"sm_90/sub/one.cubin", "sm_90/sub/one.json"}


@pytest.mark.parametrize(
    ("death", "how"), [("os._exit(9)", "with exit code 9"), ("os.abort()", "by signal 6")]
)
def test_a_crash_of_the_compiler_costs_one_source(folder, monkeypatch, death, how):
    for name in ("a.cu", "z.cu"):
        (folder / name).write_text(TWO)
    code = (
        "import json, os, sys; sys.path[:] = json.loads(sys.argv[1]); from sassql.corpus import build\n"
        "real = build.compile_task\n"
        f"build.compile_task = lambda task: {death} if task['name'] == 'two.cu' else real(task)\n"
        "build.serve()"
    )
    monkeypatch.setattr(building, "_START", code)
    result = build(folder, jobs=1)

    assert [cubin.source.name for cubin in result.cubins] == ["a.cu", "one.cu", "z.cu"]
    assert [problem.message for problem in result.problems] == [f"the compiler was stopped {how} (sm_90)"]


def test_ptx_is_a_source_too(folder):
    (folder / "three.ptx").write_text(PTX)
    write_manifest(folder, "two.cu", "three.ptx")
    result = build(folder)

    assert {name for name in files_of(result) if name.endswith("cubin")} == {
        "sm_90/two.cubin",
        "sm_90/three.ptx.cubin",
    }
    assert result.cubins[1].provenance.inputs.compiler.startswith("nvJitLink 13.")


def test_the_cubin_does_not_depend_on_where_the_corpus_or_the_caller_is(folder, monkeypatch, tmp_path):
    (folder / "two.cu").write_text('extern "C" __global__ void two(const char **x) { *x = __FILE__; }\n')
    other = tmp_path / "elsewhere"
    folder.rename(other)
    one = build(other).cubins[1].path.read_bytes()
    other.rename(folder)
    monkeypatch.chdir(folder.parent)
    # a header of the same name where the caller is must not be taken
    (folder.parent / "one.cuh").write_text("#error wrong header\n")
    result = build(Path(folder.name))

    assert result.problems == ()
    assert result.cubins[1].path.read_bytes() == one
    assert b"two.cu" in one


def test_the_architectures_of_a_build(folder):
    write_manifest(
        folder, "two.cu", extra='architectures = ["sm_80"]\nall_architectures = ["sm_75", "sm_999"]'
    )

    assert list(fresh(build(folder))) == ["two.cu sm_80"]
    result = build(folder, ["all"])
    assert list(fresh(result)) == ["two.cu sm_75"]
    assert [problem.message for problem in result.problems] == ["this NVRTC does not compile for sm_999"]
    with pytest.raises(UsageError, match="did you mean sm_90"):
        build(folder, ["sm_90", "sm_90x"])


def test_all_means_every_plain_architecture_without_a_manifest(folder):
    archs = building.wanted_architectures(load_manifest(folder), ["all"])

    assert {"sm_75", "sm_90", "sm_121"} <= set(archs)
    assert "sm_90a" not in archs


def test_progress_is_reported(folder):
    calls = []
    build(folder, ["sm_80", "sm_90"], jobs=2, progress=lambda *call: calls.append(call))

    assert [call[:2] for call in calls] == [(done, 4) for done in range(5)]
    assert {call[2] for call in calls[1:]} == {
        f"{file} {arch}" for file in ("sub/one.cu", "two.cu") for arch in ("sm_80", "sm_90")
    }


def test_two_builds_at_once_compile_everything_once(folder):
    results = []
    threads = [threading.Thread(target=lambda: results.append(build(folder, jobs=1))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(sum(fresh(result).values()) for result in results) == [0, 2]
    assert all(cubin.path.is_file() for result in results for cubin in result.cubins)


def test_a_build_works_in_a_script_without_a_main_guard(folder, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys; from pathlib import Path; from sassql.corpus.build import build\n"
        "print('once', len(build(Path(sys.argv[1])).cubins))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, str(script), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )

    assert (done.stdout, done.stderr) == ("once 2\n", "")


def test_an_interrupted_build_stops_its_processes_and_can_go_on(folder):
    def interrupt(done, total, label):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(folder, jobs=2, progress=interrupt)

    assert len(build(folder).cubins) == 2


def test_a_source_that_cannot_be_read(folder, monkeypatch):
    manifest = load_manifest(folder)
    (folder / "two.cu").unlink()

    with pytest.raises(UsageError, match=r"two\.cu: cannot be read"):
        states(manifest, ["sm_90"])


def test_no_compiler(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", None)

    with pytest.raises(ToolMissingError, match="pip install cuda-python"):
        build(folder)
