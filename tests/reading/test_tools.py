from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sassql.errors import InputError, ToolFailedError, ToolMissingError, UnsupportedArchError, UsageError
from sassql.reading import tools
from sassql.reading.compile import compile_cuda

SCALE = 'extern "C" __global__ void scale(float *x, float a) { x[threadIdx.x] *= a; }'
EXIT_WORD = bytes.fromhex("4d790000000000000000800300ea0f00")
"""EXIT as sm_80 and sm_90 encode it."""


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    monkeypatch.setattr(tools, "_found", {})
    monkeypatch.setattr(tools, "_descriptions", {})
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path / "cache"))
    for name in (*tools.VARIABLES.values(), *tools.TOOLKIT_VARIABLES, tools.LEGACY_VARIABLE):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """An environment in which no tool can be found."""
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(tools, "DEFAULT_TOOLKIT", tools.Toolkit(tmp_path / "no_toolkit", "/usr/local/cuda"))


@pytest.fixture(scope="module")
def cubin(tmp_path_factory):
    path = tmp_path_factory.mktemp("cubin") / "-scale, it.cubin"
    path.write_bytes(compile_cuda(SCALE, name="scale.cu", arch="sm_90").cubin)
    return path


def program(folder: Path, name: str, text: str = "exit 0") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_the_wheel_is_found_first(monkeypatch, tmp_path):
    program(tmp_path / "bin", "nvdisasm")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    tool = tools.find("nvdisasm")

    assert tool.source == "wheel nvidia-cuda-nvdisasm"
    assert tool.path.parts[-4:-2] == ("nvidia", "cu13")
    assert tool.version.startswith("13.")


def test_a_variable_is_stronger_than_the_wheel(monkeypatch, tmp_path):
    path = program(tmp_path, "mine")
    monkeypatch.setenv("SASSQL_NVDISASM", str(path))

    assert tools.find("nvdisasm") == tools.Tool("nvdisasm", path, "SASSQL_NVDISASM")


def test_a_variable_may_name_the_folder(monkeypatch, tmp_path):
    path = program(tmp_path, "cuobjdump")
    monkeypatch.setenv("SASSQL_CUOBJDUMP", str(tmp_path))

    assert tools.find("cuobjdump").path == path


def test_a_variable_that_names_nothing_is_an_error_though_there_is_a_wheel(monkeypatch, tmp_path):
    monkeypatch.setenv("SASSQL_NVDISASM", str(tmp_path / "none"))

    with pytest.raises(ToolMissingError, match=r"SASSQL_NVDISASM names .*none"):
        tools.find("nvdisasm")


def test_a_file_that_cannot_be_run_is_not_a_tool(monkeypatch, tmp_path):
    path = program(tmp_path, "nvdisasm")
    path.chmod(0o644)
    monkeypatch.setenv("SASSQL_NVDISASM", str(path))

    with pytest.raises(ToolMissingError):
        tools.find("nvdisasm")


@pytest.mark.usefixtures("bare")
def test_a_missing_tool_says_how_to_install_it():
    with pytest.raises(ToolMissingError) as caught:
        tools.find("nvdisasm")

    assert caught.value.exit_code == 4
    assert caught.value.hint == "pip install nvidia-cuda-nvdisasm, or set SASSQL_NVDISASM to its path"


@pytest.mark.usefixtures("bare")
def test_the_order_without_wheels(monkeypatch, tmp_path):
    folders = {"CUDA_HOME": tmp_path / "home", "CUDA_PATH": tmp_path / "path", "PATH": tmp_path / "shell"}
    program(tmp_path / "default" / "bin", "nvdisasm")
    monkeypatch.setattr(tools, "DEFAULT_TOOLKIT", tools.Toolkit(tmp_path / "default", "/usr/local/cuda"))
    found = [tools.find("nvdisasm").source]
    for name in ("PATH", "CUDA_PATH", "CUDA_HOME"):
        folder = folders[name] if name == "PATH" else folders[name] / "bin"
        program(folder, "nvdisasm")
        monkeypatch.setenv(name, str(folders[name]))
        found.append(tools.find("nvdisasm").source)

    assert found == ["/usr/local/cuda", "PATH", "CUDA_PATH", "CUDA_HOME"]


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("layouts", "expected"),
    [
        (["cu12", "cu13"], "cu13"),
        (["cu9", "cu13", "cu101"], "cu101"),
        (["cuda_nvdisasm"], "cuda_nvdisasm"),
        (["cuda_nvdisasm", "cu13"], "cu13"),
    ],
)
def test_the_newest_wheel_layout_wins(monkeypatch, tmp_path, layouts, expected):
    for layout in layouts:
        program(tmp_path / "nvidia" / layout / "bin", "nvdisasm")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "absent"), str(tmp_path)])

    assert tools.find("nvdisasm").path == tmp_path / "nvidia" / expected / "bin" / "nvdisasm"


def test_the_legacy_tool_is_optional_and_checked(monkeypatch, tmp_path):
    assert tools.find_legacy() is None

    monkeypatch.setenv("SASSQL_NVDISASM_12", str(program(tmp_path, "nvdisasm")))
    assert tools.find_legacy() == tools.Tool("nvdisasm", tmp_path / "nvdisasm", "SASSQL_NVDISASM_12")

    monkeypatch.setenv("SASSQL_NVDISASM_12", str(tmp_path / "none"))
    with pytest.raises(ToolMissingError):
        tools.find_legacy()


def test_finding_takes_less_than_two_milliseconds():
    times = []
    for _ in range(5):
        tools._found.clear()
        started = time.perf_counter()
        tools.find("nvdisasm")
        times.append(time.perf_counter() - started)

    assert min(times) < 0.002


def test_finding_imports_nothing_heavy():
    # a bare package in place of sassql, whose own imports are not the matter here
    code = (
        "import sys, types; package = types.ModuleType('sassql'); package.__path__ = sys.argv[1:];"
        "sys.modules['sassql'] = package; from sassql.reading import tools; tools.find('nvdisasm');"
        "print([m for m in ('subprocess', 'json', 'tempfile', 'platformdirs', 'cuda') if m in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    folder = str(Path(tools.__file__).parents[1])

    done = subprocess.run(
        [sys.executable, "-S", "-c", code, folder],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )

    assert done.stdout == "[]\n"


def test_the_version_is_asked_once_and_remembered_on_disk(monkeypatch, tmp_path):
    calls = tmp_path / "calls"
    text = (
        f"echo \"$1\" >> {calls}; echo \"V13.2.51 Allowed values for this option:  'SM90a','SM75','SM90'.\""
    )
    monkeypatch.setenv("SASSQL_NVDISASM", str(program(tmp_path, "nvdisasm", text)))
    for _ in range(3):
        tools._descriptions.clear()
        assert tools.find("nvdisasm").version == "13.2.51"
        assert tools.architectures(tools.find("nvdisasm")) == ("sm_75", "sm_90", "sm_90a")

    assert calls.read_text().split() == ["--version", "--help"]
    assert list(json.loads((tmp_path / "cache/tools.json").read_bytes())) == [str(tmp_path / "nvdisasm")]


def test_another_tool_at_the_same_path_is_asked_again(monkeypatch, tmp_path):
    monkeypatch.setenv("SASSQL_NVDISASM", str(program(tmp_path, "nvdisasm", "echo V13.2.51")))
    assert tools.find("nvdisasm").version == "13.2.51"

    program(tmp_path, "nvdisasm", "echo V13.5.37  # longer")

    assert tools.find("nvdisasm").version == "13.5.37"


@pytest.mark.parametrize("damage", ["{", "[]", '{"PATH": 3}', '{"PATH": {"version": 1}}', "\udcff"])
def test_a_damaged_cache_is_ignored_and_mended(monkeypatch, tmp_path, damage):
    path = program(tmp_path, "nvdisasm", "echo V13.2.51")
    monkeypatch.setenv("SASSQL_NVDISASM", str(path))
    (tmp_path / "cache").mkdir()
    memory = tmp_path / "cache/tools.json"
    memory.write_bytes(damage.replace("PATH", str(path)).encode("utf-8", "surrogateescape"))

    assert tools.find("nvdisasm").version == "13.2.51"
    assert json.loads(memory.read_bytes())[str(path)]["version"] == "13.2.51"


def test_a_cache_that_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path / "file"))
    monkeypatch.setenv("SASSQL_NVDISASM", str(program(tmp_path, "nvdisasm", "echo something")))

    assert tools.find("nvdisasm").version == "unknown"


def test_the_real_nvdisasm_reads_what_sassql_supports():
    archs = tools.architectures(tools.find("nvdisasm"))

    assert {"sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_120"} <= set(archs)
    assert archs == tuple(sorted(archs, key=tools.sort_key))
    assert "sm_90" in tools.architectures(tools.find("cuobjdump"))


def test_cuobjdump_gets_the_nvdisasm_that_we_use(monkeypatch, tmp_path):
    monkeypatch.setenv("SASSQL_NVDISASM", str(program(tmp_path / "a", "nvdisasm")))
    monkeypatch.setenv("SASSQL_CUOBJDUMP", str(program(tmp_path / "b", "cuobjdump", 'echo "$NVDISASM_PATH"')))

    assert tools.run(tools.find("cuobjdump")) == f"{tmp_path / 'a'}\n"


def test_disassembling_a_file_with_an_awkward_name(monkeypatch, cubin):
    monkeypatch.chdir(cubin.parent)

    listing = tools.disassemble_elf(Path(cubin.name), "-plr")

    assert "\t.target\tsm_90\n" in listing
    assert "EXIT" in listing
    assert "GPR" in listing


def test_a_refused_file_gives_the_tools_own_line(tmp_path):
    path = tmp_path / "text.cubin"
    path.write_text("no cubin " * 100)

    with pytest.raises(ToolFailedError) as caught:
        tools.disassemble_elf(path)

    assert str(caught.value) == f"{path}: nvdisasm: File {path} does not appear to be an Elf file"


def test_the_error_line_is_taken_and_not_the_warnings_before_it(monkeypatch, tmp_path):
    text = "echo 'nvdisasm warning : one' >&2; echo 'nvdisasm error   : two' >&2; exit 1"
    monkeypatch.setenv("SASSQL_NVDISASM", str(program(tmp_path, "nvdisasm", text)))

    with pytest.raises(ToolFailedError, match=r"^x\.cubin: nvdisasm: two$"):
        tools.disassemble_elf(Path("x.cubin"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kill -SEGV $$", "nvdisasm was stopped by signal 11"),
        ("exit 7", "nvdisasm stopped with exit code 7"),
        ("echo something odd >&2; exit 1", "nvdisasm: something odd"),
    ],
)
def test_other_ways_to_fail(monkeypatch, tmp_path, text, message):
    monkeypatch.setenv("SASSQL_NVDISASM", str(program(tmp_path, "nvdisasm", text)))

    with pytest.raises(ToolFailedError) as caught:
        tools.run(tools.find("nvdisasm"))

    assert caught.value.message == message


def test_a_tool_of_another_machine(monkeypatch, tmp_path):
    path = program(tmp_path, "nvdisasm")
    path.write_bytes(b"\x7fELF of another kind")
    monkeypatch.setenv("SASSQL_NVDISASM", str(path))

    with pytest.raises(ToolFailedError, match="cannot be started"):
        tools.run(tools.find("nvdisasm"))


def test_a_tool_that_went_away(monkeypatch, tmp_path):
    path = program(tmp_path, "nvdisasm")
    monkeypatch.setenv("SASSQL_NVDISASM", str(path))
    tool = tools.find("nvdisasm")
    path.unlink()

    with pytest.raises(ToolMissingError):
        tools.run(tool)
    with pytest.raises(ToolMissingError):
        _ = tool.version


def test_words_are_disassembled_from_their_base():
    lines = tools.disassemble_words(EXIT_WORD * 2, "sm_90a", base=0x100).splitlines()

    assert [line.split() for line in lines[-2:]] == [["/*0100*/", "EXIT", ";"], ["/*0110*/", "EXIT", ";"]]


def test_no_words_are_no_text():
    assert tools.disassemble_words(b"", "sm_90") == ""


@pytest.mark.parametrize(
    ("words", "arch", "error", "message"),
    [
        (EXIT_WORD, "90", UsageError, "'90' is not an architecture"),
        (EXIT_WORD, "sm_60", UnsupportedArchError, "does not read sm_60"),
        (EXIT_WORD[:15], "sm_90", InputError, "15 bytes are not a whole number"),
        (EXIT_WORD + b"\xff" * 16, "sm_90", ToolFailedError, "address 0x00000010"),
    ],
    ids=["spelling", "too old", "cut", "no instruction"],
)
def test_words_that_are_refused(words, arch, error, message):
    with pytest.raises(error, match=message):
        tools.disassemble_words(words, arch)


def test_an_atomic_write_leaves_nothing_else(tmp_path):
    path = tmp_path / "a/b.json"
    tools.write_atomically(path, b"1")
    tools.write_atomically(path, b"2")

    assert (path.read_bytes(), list(path.parent.iterdir())) == (b"2", [path])


def test_a_write_that_fails_leaves_no_draft(tmp_path):
    (tmp_path / "taken").mkdir()

    with pytest.raises(OSError, match="taken"):
        tools.write_atomically(tmp_path / "taken", b"1")

    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
