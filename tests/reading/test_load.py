"""Every kind of input, by path and by content; what a file is decides its content."""

from __future__ import annotations

from pathlib import Path

import pytest

import sassql
from sassql.errors import (
    CompileError,
    InputError,
    ListingError,
    NoDeviceCodeError,
    Problem,
    UnsupportedArchError,
    UsageError,
)
from sassql.model.program import Module
from sassql.reading import load
from sassql.reading.load import Options, files_of

SOURCE = (Path(__file__).parents[1] / "kernels" / "small.cu").read_text()
PTX = """\
.version 9.0
.target sm_75
.address_size 64
.visible .entry seven(.param .u64 x) {
    .reg .u64 %rd<2>;
    ld.param.u64 %rd1, [x];
    st.global.u32 [%rd1], 7;
    ret;
}
"""


@pytest.fixture(scope="module")
def inputs(compiled, build):
    """Content by kind, with the architecture that it should be read as."""
    small, other = compiled("sm_90", "small.cu"), compiled("sm_80", "small.cu")
    fatbin = build.fatbin(build.packed(small.cubin, 90, how="zstd"), build.packed(other.cubin, 80, how="lz4"))
    library = build.elf([build.Part(".nv_fatbin", fatbin)])
    return {
        ".cubin": (small.cubin, ["sm_90"]),
        ".fatbin": (fatbin, ["sm_90", "sm_80"]),
        ".so": (library, ["sm_90", "sm_80"]),
        ".a": (build.ar(("k.o", library)), ["sm_90", "sm_80"]),
        ".sass": (small.listing().encode(), ["sm_90"]),
        ".txt": (small.cuobjdump.encode(), ["sm_90"]),
        ".cu": (SOURCE.encode(), ["sm_90"]),
        ".ptx": (PTX.encode(), ["sm_90"]),
    }


KINDS = [".cubin", ".fatbin", ".so", ".a", ".sass", ".txt", ".cu", ".ptx"]


def names(program) -> list[tuple[str, str]]:
    return [(k.arch, k.name) for k in program.kernels]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_each_kind(inputs, tmp_path, kind):
    content, architectures = inputs[kind]
    path = tmp_path / f"input{kind}"
    path.write_bytes(content)
    program = sassql.load(path)
    expected = ["seven"] if kind == ".ptx" else ["scale", "total"]

    assert [m.arch for m in program.modules] == architectures
    assert {k.name for k in program.kernels} == set(expected)
    assert {k.source.file for k in program.kernels} == {str(path)}
    assert program.problems == ()
    assert sassql.load(str(path)).source == str(path)


@pytest.mark.parametrize("kind", KINDS)
def test_the_content_of_each_kind(inputs, kind):
    content, architectures = inputs[kind]

    assert [m.arch for m in sassql.load(content).modules] == architectures
    assert names(sassql.load(bytearray(content))) == names(sassql.load(memoryview(content)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["something", "input.bin", "listing.cubin"])
def test_the_name_does_not_matter(inputs, tmp_path, kind, name):
    content, architectures = inputs[kind]
    path = tmp_path / name
    path.write_bytes(content)

    assert [m.arch for m in sassql.load(path).modules] == architectures


def test_entries_of_a_container_are_named(inputs, tmp_path):
    path = tmp_path / "lib.so"
    path.write_bytes(inputs[".so"][0])

    assert [str(m.source) for m in sassql.load(path).modules] == [
        f"{path}[1.sm_90.cubin]",
        f"{path}[2.sm_80.cubin]",
    ]


@pytest.mark.parametrize(
    ("arch", "expected"), [("sm_80", ["sm_80"]), (["sm_80", "sm_90"], ["sm_90", "sm_80"])]
)
def test_architectures_are_chosen(inputs, arch, expected):
    assert [m.arch for m in sassql.load(inputs[".fatbin"][0], arch=arch).modules] == expected


def test_a_list_of_architectures_may_have_blanks(inputs):
    assert [m.arch for m in sassql.load(inputs[".fatbin"][0], arch=" sm_80 ,sm_75").modules] == ["sm_80"]


def test_an_architecture_that_is_not_there(inputs):
    with pytest.raises(InputError, match="has nothing for the architectures asked for"):
        sassql.load(inputs[".fatbin"][0], arch="sm_75")


@pytest.mark.parametrize("arch", ["hopper", "90", ["sm_90", "sm_x"]])
def test_a_name_that_is_no_architecture(inputs, arch):
    with pytest.raises(UsageError, match="is not an architecture"):
        sassql.load(inputs[".cubin"][0], arch=arch)


def test_sources_are_compiled_for_every_architecture_asked_for(tmp_path):
    path = tmp_path / "k.cu"
    path.write_text(SOURCE)
    program = sassql.load(path, arch=["sm_80", "sm_120"])

    assert [(m.arch, m.source.entry) for m in program.modules] == [("sm_80", "sm_80"), ("sm_120", "sm_120")]


def test_an_architecture_that_the_compiler_lacks_leaves_the_others(tmp_path):
    path = tmp_path / "k.cu"
    path.write_text(SOURCE)
    program = sassql.load(path, arch=["sm_80", "sm_60"])

    assert [m.arch for m in program.modules] == ["sm_80"]
    (problem,) = program.problems
    assert problem.message == "unknown architecture 'sm_60'"
    assert (problem.place.file, problem.exit_code) == (str(path), 2)


def test_a_piece_of_a_listing_takes_the_architecture_asked_for(tmp_path):
    path = tmp_path / "loop.sass"
    path.write_text("FADD R0, R1, R2 ;\nEXIT ;\n")

    assert names(sassql.load(path, arch="sm_80")) == [("sm_80", "kernel")]
    with pytest.raises(ListingError, match="does not say its architecture"):
        sassql.load(path)


def test_a_folder_is_read_file_by_file_in_order(inputs, tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name in ("a.cubin", "b/c.fatbin", "b/d.cubin", "e.sass", ".hidden/f.cubin", "notes.txt", "lib.so.1"):
        kind = Path(name).suffix if Path(name).suffix in inputs and name != "notes.txt" else ".so"
        (tmp_path / name).write_bytes(inputs[kind][0])
    program = sassql.load(tmp_path)

    assert [Path(m.source.file).relative_to(tmp_path).as_posix() for m in program.modules] == [
        "a.cubin", "b/c.fatbin", "b/c.fatbin", "b/d.cubin", "e.sass", "lib.so.1", "lib.so.1"
    ]  # fmt: skip
    assert program.problems == ()
    assert [p.name for p in files_of(tmp_path)] == ["a.cubin", "c.fatbin", "d.cubin", "e.sass", "lib.so.1"]


def test_a_folder_without_anything_to_read(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")

    with pytest.raises(InputError, match="the folder has nothing to read"):
        sassql.load(tmp_path)


def test_an_empty_path_is_not_the_current_folder():
    with pytest.raises(UsageError, match="the path is empty"):
        sassql.load("")


def test_libraries_of_host_code_in_a_folder_are_one_note(build, inputs, tmp_path):
    host = build.elf([build.Part(".text", b"x" * 100)])
    for name in ("a.so", "b.so"):
        (tmp_path / name).write_bytes(host)
    alone, _ = list(load.read(tmp_path)), (tmp_path / "c.cubin").write_bytes(inputs[".cubin"][0])
    program = sassql.load(tmp_path)

    assert [(p.kind, p.exit_code) for p in alone] == [("nodevicecode", 3)] * 2
    assert len(program.modules) == 1
    assert [(str(p), p.exit_code) for p in program.problems] == [
        (f"{tmp_path}: 2 files hold no GPU code: a.so, b.so", 0)
    ]


def test_one_bad_file_of_a_folder_is_a_problem(inputs, tmp_path):
    (tmp_path / "a.cubin").write_bytes(inputs[".cubin"][0])
    (tmp_path / "b.cubin").write_bytes(inputs[".cubin"][0][:1000])
    (tmp_path / "c.cubin").write_bytes(b"")
    (tmp_path / "d.cubin").write_bytes(inputs[".cubin"][0])
    program = sassql.load(tmp_path)

    assert [Path(m.source.file).name for m in program.modules] == ["a.cubin", "d.cubin"]
    assert [Path(p.place.file).name for p in program.problems] == ["b.cubin", "c.cubin"]


def test_one_bad_entry_of_a_container_is_a_problem(compiled, build):
    good = compiled("sm_90", "small.cu").cubin
    fatbin = build.fatbin(
        build.packed(good[:1000], 90), build.packed(good, 90), build.packed(build.old_cubin(0x3C053C), 60)
    )
    program = sassql.load(fatbin)

    assert [str(m.source) for m in program.modules] == ["<bytes>[2.sm_90.cubin]"]
    assert [(p.place.entry, p.kind) for p in program.problems] == [
        ("3.sm_60.cubin", "unsupportedarch"),
        ("1.sm_90.cubin", "input"),
    ]


def test_ptx_in_a_container_is_a_note(compiled, build):
    fatbin = build.fatbin(
        build.packed(PTX.encode(), 75, kind=1), build.packed(compiled("sm_90", "small.cu").cubin, 90)
    )
    (note,) = sassql.load(fatbin).problems

    assert (note.kind, note.exit_code) == ("note", 0)
    assert note.message == "1 PTX entries are no machine code and were not read"


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"", InputError, "no bytes at all"),
        (b"hello world\n", InputError, "text without a SASS instruction"),
        (bytes(range(256)) * 8, InputError, "no known kind of file"),
        (b"\x7fELF\x02\x01\x01A", InputError, None),
        (b"__global__ void k( {", CompileError, None),
        (b".version 9.0\n.target sm_75\n.entry k { frob; }", CompileError, None),
        ("FADD R0, R1 ;".encode("utf-16"), InputError, None),
    ],
)
def test_content_that_cannot_be_read(content, error, message):
    with pytest.raises(error, match=message):
        sassql.load(content)


def test_a_library_without_device_code(build, tmp_path):
    path = tmp_path / "lib.so"
    path.write_bytes(build.elf([build.Part(".text", b"\x90" * 64)]))

    with pytest.raises(NoDeviceCodeError, match="holds no GPU code"):
        sassql.load(path)


def test_code_that_is_too_old(build):
    with pytest.raises(UnsupportedArchError, match="sm_60 code is not supported"):
        sassql.load(build.old_cubin(0x3C053C))


def test_a_path_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="no such file or folder"):
        sassql.load(tmp_path / "none.cubin")
    with pytest.raises(UsageError):
        sassql.load("a" * 5000)


def test_modules_come_as_they_are_read(inputs, tmp_path):
    """A reader can stop after the first module: nothing behind it is touched."""
    (tmp_path / "a.sass").write_bytes(inputs[".sass"][0])
    (tmp_path / "b.cu").write_text("__global__ void broken( {")
    found = load.read(tmp_path, Options())

    assert isinstance(next(found), Module)
    assert isinstance(next(found), Problem)
    assert next(found, None) is None
