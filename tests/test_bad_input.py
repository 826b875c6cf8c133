"""Bad input: one line with place and remedy, the documented exit code, and the good files are answered."""

from __future__ import annotations

import ctypes.util
import importlib.util
import json
import os
import random
import re
import sys
from pathlib import Path

import pytest

from sassql.errors import SassqlError
from sassql.model.kernel import Source
from sassql.reading import elf, table, tools
from sassql.reading.cubin import read_module

COMMANDS = (("inspect", "--format", "jsonl"), ("inspect", "--summary"), ("show",), ("query",))
PATTERN = "motif add { f: FADD|FMUL %d, %a, %b }\n"


def host_library() -> Path:
    """A library of this machine that has no GPU code in it."""
    name = ctypes.util.find_library("c") or ctypes.util.find_library("m") or ""
    for folder in ("/lib/x86_64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib", "/lib/aarch64-linux-gnu"):
        if name and (path := Path(folder) / name).exists():
            return path
    return Path(os.path.realpath(sys.executable))


@pytest.fixture(scope="module")
def build():
    """The writers of containers that the tests of the readers use."""
    place = Path(__file__).parent / "reading" / "conftest.py"
    spec = importlib.util.spec_from_file_location("writers_of_containers", place)
    writers = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = writers  # dataclasses look their module up
    spec.loader.exec_module(writers)
    return writers.Build


@pytest.fixture
def pattern(tmp_path) -> Path:
    path = tmp_path / "add.sq"
    path.write_text(PATTERN)
    return path


@pytest.fixture
def good(compiled) -> Path:
    return compiled("sm_90", "small.cu").path


@pytest.fixture
def bad(tmp_path, compiled, build):
    """Writes a bad file of a kind."""
    small = compiled("sm_90", "small.cu")
    contents = {
        "truncated": ("truncated.cubin", small.cubin[: len(small.cubin) // 2]),
        "header": ("header.cubin", small.cubin[:64]),
        "magic": ("magic.cubin", b"\x7fELF"),
        "empty": ("empty.cubin", b""),
        "random": ("random.cubin", random.Random(1).randbytes(5000)),
        "zeros": ("zeros.cubin", bytes(5000)),
        "text": ("text.cubin", b"hello world\nthis is no cubin\n"),
        "old": ("old.cubin", build.old_cubin(0x3C053C)),
        "unknown": ("unknown.cubin", build.old_cubin(0x630563)),
        "source": ("broken.cu", b'extern "C" __global__ void k(float *x) {\n    x[0] = nonsense;\n}\n'),
        "ptx": ("broken.ptx", b".version 9.0\n.target sm_75\n.address_size 64\n.entry k() { frob; }\n"),
        "listing": ("noarch.sass", b"/*0000*/ FADD R0, R1, R2 ;\n/*0010*/ EXIT ;\n"),
        "prose": ("prose.sass", b"Dear reader,\nthere is no listing here.\n"),
        "fatbin": ("fat.fatbin", build.fatbin(build.packed(small.cubin, 90))[:200]),
        "archive": ("host.a", build.ar(("k.o", build.elf([build.Part(".text", b"\x90")])))),
        "library": ("host.so", build.elf([build.Part(".text", b"\x90" * 32)])),
    }

    def write(kind: str) -> Path:
        name, content = contents[kind]
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


KINDS = {
    "truncated": r"truncated or corrupt; build or copy it again",
    "header": r".+; .+",
    "magic": r".+; .+",
    "empty": r"the file is empty; build or copy it again",
    "random": r"no known kind of file in a file named \.cubin; expected a cubin, fat binary",
    "zeros": r"no known kind of file in a file named \.cubin; expected a cubin, fat binary",
    "text": r"text without a SASS instruction in a file named \.cubin; expected a cubin",
    "old": r"sm_60 code is not supported; .*sm_75 and newer",
    "unknown": r"sm_99",
    "source": r":2:12: identifier \"nonsense\" is undefined",
    "ptx": r".+",
    "listing": r":1: the listing does not say its architecture; name it with --arch, such as sm_90",
    "prose": r"no SASS instruction found; expected `nvdisasm -c` or `cuobjdump -sass` output",
    "fatbin": r".+; .+",
    "archive": r"holds no GPU code; give the library or object that its kernels are in",
    "library": r"holds no GPU code; give the library or object that its kernels are in",
}


def arguments(command, pattern):
    return [command[0], *([pattern] if command[0] == "query" else command[1:])]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_bad_file_alone(sassql, bad, kind):
    path = bad(kind)
    done = sassql("inspect", path, "--format", "jsonl")

    assert (done.code, done.out) == (3, "")
    assert len(done.messages) == (2 if kind == "fatbin" else 1)  # its container and its entry end too early
    for message in done.messages:
        assert re.match(rf"error: {re.escape(str(path))}[\[:]", message)
        assert re.search(KINDS[kind], message.removeprefix(f"error: {path}"))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[-1])
def test_every_kind_among_good_files(sassql, bad, good, pattern, tmp_path, command):
    other = tmp_path / "other.cubin"
    other.write_bytes(good.read_bytes())
    paths = [bad(kind) for kind in KINDS]
    alone = sassql(*arguments(command, pattern), good, other)
    done = sassql(*arguments(command, pattern), good, *paths, other)
    errors = [m for m in done.messages if m.startswith("error: ")]

    assert alone.code == 0
    assert (done.code, re.sub(" +", " ", done.out)) == (3, re.sub(" +", " ", alone.out))
    assert len(errors) == len(KINDS) + 1  # two about the fat binary
    assert {next(str(p) for p in paths if m.startswith(f"error: {p}")) for m in errors} == set(
        map(str, paths)
    )
    assert "Traceback" not in done.err


def test_a_library_of_this_machine(sassql, good):
    library = host_library()
    done = sassql("inspect", library, good, "--summary", "--format", "jsonl")

    assert done.code == 3
    assert done.messages == [
        f"error: {library}: holds no GPU code; give the library or object that its kernels are in"
    ]
    assert [json.loads(line)["file"] for line in done.out.splitlines()] == [str(good)]


def test_a_path_that_is_not_there_is_wrong_usage_and_the_rest_is_read(sassql, good, tmp_path):
    done = sassql("inspect", tmp_path / "none.cubin", good, "--summary", "--format", "jsonl")

    assert done.code == 2
    assert done.messages == [f"error: {tmp_path / 'none.cubin'}: no such file or folder"]
    assert len(done.out.splitlines()) == 1


def test_a_name_that_is_too_long_is_wrong_usage(sassql):
    done = sassql("inspect", "a" * 5000)

    assert (done.code, done.messages) == (2, [f"error: {'a' * 5000}: File name too long; check the path"])


def test_many_problems_are_counted(sassql, tmp_path):
    for n in range(30):
        (tmp_path / f"{n:02}.cubin").write_bytes(b"")
    done = sassql("inspect", *sorted(tmp_path.iterdir()), "--summary")

    assert done.code == 3
    assert len(done.messages) == 21
    assert done.messages[-1] == "… and 10 more"


@pytest.fixture
def no_tools(monkeypatch, tmp_path):
    """An environment in which no CUDA tool can be found."""
    monkeypatch.setattr(tools, "_found", {})
    monkeypatch.setattr(tools, "_descriptions", {})
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(tools, "DEFAULT_TOOLKIT", tools.Toolkit(tmp_path / "no_toolkit", "/usr/local/cuda"))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path / "cache"))
    for name in (*tools.VARIABLES.values(), *tools.TOOLKIT_VARIABLES):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_tools")
def test_a_missing_tool_is_four_and_listings_are_still_read(sassql, good, tmp_path):
    listing = tmp_path / "x.sass"
    listing.write_text("\t.target\tsm_90\n/*0000*/ EXIT ;\n")
    done = sassql("inspect", good, listing, "--summary", "--format", "jsonl")

    assert done.code == 4
    assert [json.loads(line)["file"] for line in done.out.splitlines()] == [str(listing)]
    assert done.messages == [
        f"error: {good}: nvdisasm was not found; "
        "pip install nvidia-cuda-nvdisasm, or set SASSQL_NVDISASM to its path"
    ]


def test_a_tool_that_does_not_work(sassql, good, monkeypatch, tmp_path):
    tool = tmp_path / "nvdisasm"
    tool.write_text(
        '#!/bin/sh\ncase "$1" in --version) echo V13.5.37;;\n'
        "--help) echo \"Allowed values for this option:  'SM90'.\";;\n"
        '*) echo "nvdisasm fatal   : out of luck" >&2; exit 1;; esac\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("SASSQL_NVDISASM", str(tool))
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path / "cache"))
    done = sassql("inspect", good, good, "--format", "jsonl")

    assert (done.code, done.out) == (3, "")
    assert done.messages == [f"error: {good}: nvdisasm: out of luck"] * 2


def test_a_cache_that_cannot_be_written(sassql, good, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path / "file"))
    done = sassql("inspect", good, "--summary", "--format", "jsonl")

    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["new_words"] > 0


def test_a_damaged_cache(sassql, good, monkeypatch, tmp_path):
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path))
    first = sassql("inspect", good, "--format", "jsonl")
    for path in tmp_path.rglob("*.npy"):
        path.write_bytes(path.read_bytes()[:-3])
    monkeypatch.setattr(table, "_TABLES", {})

    assert sassql("inspect", good, "--format", "jsonl") == first


def test_damaged_cubins_are_errors_and_never_something_else(compiled):
    """Bytes of the ELF header, and of all that is not code, changed one at a time."""
    data = compiled("sm_90", "small.cu").cubin
    code = [(data.index(s.code), len(s.code)) for s in elf.read_cubin(data).sections]
    rest = [n for n in range(64, len(data)) if not any(start <= n < start + size for start, size in code)]
    chance = random.Random(7)
    read = 0
    for place in [*range(48), *range(52, 64), *chance.sample(rest, 400)]:  # 48 to 51 say the architecture
        changed = bytearray(data)
        changed[place] ^= chance.randrange(1, 256)
        try:
            module, _ = read_module(bytes(changed), Source("changed"))
        except SassqlError as error:
            assert "\n" not in str(error)
            continue
        for kernel in module.kernels:
            assert [i for i in kernel.instructions if i.control is None or not i.text] == []
            assert len(kernel.cfg) > 0 or len(kernel.instructions) == 0
        read += 1
    assert read > 100


def test_cut_cubins_are_errors_and_never_something_else(compiled):
    data = compiled("sm_90", "small.cu").cubin

    for length in range(0, len(data), 97):
        with pytest.raises(SassqlError) as caught:
            read_module(data[:length], Source("cut"))
        assert "\n" not in str(caught.value)
