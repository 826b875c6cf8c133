"""Entries out of every kind of file that carries GPU code, sound and damaged."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sassql.errors import EXIT_FOUND, InputError, NoDeviceCodeError, Problem
from sassql.reading.containers import Entry, entries, looks_like_container

PTX = b".version 8.0\n.target sm_90a\n.address_size 64\n"
WHEELS = Path(os.environ.get("SASSQL_TEST_WHEELS", "/tmp/wheels"))


def read(data, **options):
    return list(entries(data, file="lib.so", **options))


def names(found):
    return [entry.name if isinstance(entry, Entry) else entry.place.entry for entry in found]


@pytest.fixture(scope="module")
def code(cubin):
    """A small cubin for sm_90."""
    return cubin("sm_90", 'extern "C" __global__ void k(int *x) { *x = 1; }')


@pytest.mark.parametrize("how", ["", "lz4", "zstd"])
def test_a_fat_binary_gives_back_what_was_put_in(build, code, how):
    ptx = build.packed(PTX, 90, kind=1, how=how)

    found = read(build.fatbin(build.packed(code, 90, how=how), ptx))

    assert [
        Entry("1.sm_90.cubin", "cubin", "sm_90", code),
        Entry("1.sm_90.ptx", "ptx", "sm_90", PTX),
    ] == found


def test_architectures_with_a_letter(build, code):
    packed = [build.packed(code, sm, suffix=suffix) for sm, suffix in ((90, "a"), (100, "f"), (120, ""))]

    assert names(read(build.fatbin(*packed))) == ["1.sm_90a.cubin", "2.sm_100f.cubin", "3.sm_120.cubin"]


def test_containers_one_after_another_with_padding(build, code):
    one = build.fatbin(build.packed(code, 80), build.packed(PTX, 80, kind=1))
    two = build.fatbin(build.packed(code, 90, how="zstd"))

    found = read(one + bytes(56) + build.fatbin() + two + bytes(8))

    assert names(found) == ["1.sm_80.cubin", "1.sm_80.ptx", "2.sm_90.cubin"]


def test_an_old_architecture_is_a_problem_and_the_rest_goes_on(build, code):
    found = read(build.fatbin(build.packed(code, 70), build.packed(code, 90)))

    assert names(found) == ["1.sm_70.cubin", "2.sm_90.cubin"]
    assert found[0].kind == "unsupportedarch"
    assert (
        str(found[0])
        == "lib.so[1.sm_70.cubin]: sm_70 code is not supported; nvdisasm 13 reads sm_75 and newer"
    )


@pytest.mark.parametrize("how", ["lz4", "zstd"])
def test_an_entry_that_does_not_decompress_is_a_problem_and_the_rest_goes_on(build, code, how):
    bad = bytearray(build.packed(code, 80, how=how))
    bad[64:96] = b"\xff" * 32

    found = read(build.fatbin(bytes(bad), build.packed(code, 90, how=how)))

    assert isinstance(found[0], Problem)
    assert found[0].place.entry == "1.sm_80.cubin"
    assert Entry("2.sm_90.cubin", "cubin", "sm_90", code) == found[1]


@pytest.mark.parametrize("how", ["lz4", "zstd"])
@pytest.mark.parametrize("claim", [0, 8, 1 << 20, 1 << 30, 1 << 40, (1 << 64) - 1])
def test_a_wrong_size_is_a_problem_and_takes_no_memory(build, code, how, claim):
    (found,) = read(build.fatbin(build.packed(code, 90, how=how, claim=claim)))

    assert isinstance(found, Problem)


def test_an_entry_that_is_no_elf_is_a_problem(build):
    (found,) = read(build.fatbin(build.packed(b"something else here", 90)))

    assert "no cubin" in found.message


@pytest.mark.parametrize("place", [2, 4, 15])
def test_a_damaged_entry_header_hides_only_its_own_entry(build, code, place):
    bad = bytearray(build.packed(code, 80))
    bad[place] = 0xEE

    found = read(build.fatbin(build.packed(code, 75), bytes(bad), build.packed(code, 90)))

    assert names(found) == ["1.sm_75.cubin", "1.entry.damaged", "2.sm_90.cubin"]


def test_a_damaged_container_header_does_not_hide_the_next_container(build, code):
    bad = bytearray(build.fatbin(build.packed(code, 80)))
    bad[4] = 0xEE

    found = read(bytes(bad) + build.fatbin(build.packed(code, 90)))

    assert isinstance(found[0], Problem)
    assert Entry("1.sm_90.cubin", "cubin", "sm_90", code) == found[-1]


def test_a_truncated_fat_binary_gives_what_is_whole(build, code):
    whole = build.fatbin(build.packed(code, 80), build.packed(code, 90))

    found = read(whole[:-100])

    assert Entry("1.sm_80.cubin", "cubin", "sm_80", code) == next(e for e in found if isinstance(e, Entry))
    assert any(isinstance(entry, Problem) for entry in found)


def test_intermediate_code_is_noted_and_is_no_failure(build):
    (found,) = read(build.fatbin(build.packed(b"\x97\x66\xf8\xfb", 75, kind=8)))

    assert (found.place.entry, found.kind, found.exit_code) == ("1.sm_75.ltoir", "intermediate", EXIT_FOUND)


def test_a_kind_that_is_not_known_is_a_problem(build):
    (found,) = read(build.fatbin(build.packed(b"12345678", 90, kind=77)))

    assert "unknown kind 77" in found.message


def test_entries_are_made_one_at_a_time(build, code):
    bad = build.packed(code, 90, how="lz4", claim=3)
    iterator = entries(build.fatbin(build.packed(code, 80), bad))

    assert next(iterator).name == "1.sm_80.cubin"
    assert isinstance(next(iterator), Problem)


def test_what_is_not_selected_is_not_decompressed(build, code):
    bad = build.packed(code, 80, how="lz4", claim=3)
    asked = []

    def select(name, kind, arch):
        asked.append((name, kind, arch))
        return arch == "sm_90"

    found = read(build.fatbin(bad, build.packed(code, 90)), select=select)

    assert names(found) == ["2.sm_90.cubin"]
    assert asked == [("1.sm_80.cubin", "cubin", "sm_80"), ("2.sm_90.cubin", "cubin", "sm_90")]
    assert read(build.fatbin(bad), select=select) == []


def test_a_library(build, code):
    library = build.elf([build.Part(".text"), build.Part(".nv_fatbin", build.fatbin(build.packed(code, 90)))])

    assert [Entry("1.sm_90.cubin", "cubin", "sm_90", code)] == read(library)


def test_a_linked_library_is_read_once(build, code):
    linked = build.Part(".nv_fatbin", build.fatbin(build.packed(code, 90)))
    parts = build.Part("__nv_relfatbin", build.fatbin(build.packed(code, 75)))

    assert names(read(build.elf([parts, linked]))) == ["1.sm_90.cubin"]
    assert names(read(build.elf([parts]))) == ["1.sm_75.cubin"]


def test_an_object_is_read_whole(build, code):
    whole = build.Part(".nv_fatbin", build.fatbin(build.packed(code, 90)))
    later = build.Part("__nv_relfatbin", build.fatbin(build.packed(code, 75)))

    assert names(read(build.elf([later, whole], kind=1))) == ["1.sm_90.cubin", "2.sm_75.cubin"]


def test_a_cubin(code):
    assert [Entry("1.sm_90.cubin", "cubin", "sm_90", code)] == read(code)


def test_a_cubin_of_an_old_architecture(build):
    (found,) = read(build.old_cubin(0x460546))

    assert found.kind == "unsupportedarch"


def test_code_without_a_section_of_its_own(build, code):
    fat = build.fatbin(build.packed(code, 80))
    plain = b"MZ" + bytes(100) + fat + b"something\x7fELF\x02\x01\x01\x41" + code + b"\x50\xed\x55\xba"

    found = read(plain)

    assert [
        Entry("1.sm_80.cubin", "cubin", "sm_80", code),
        Entry("2.sm_90.cubin", "cubin", "sm_90", code),
    ] == found
    assert names(found) == names(read(build.elf([build.Part(".rodata", plain[2:])])))


@pytest.mark.parametrize("kind", ["library", "archive", "wheel", "dll"])
def test_a_file_without_gpu_code_is_told_apart(build, kind):
    library = build.elf([build.Part(".text", b"x" * 100)])
    files = {
        "library": library,
        "archive": build.ar(("a.o", library)),
        "wheel": wheel({"pkg/a.so": library, "pkg/__init__.py": b""}),
        "dll": b"MZ" + bytes(1000),
    }

    with pytest.raises(NoDeviceCodeError, match=r"lib\.so: holds no GPU code"):
        read(files[kind])


@pytest.mark.parametrize("data", [b"", b"x", b"plain text, as in a source file\n", PTX])
def test_what_is_no_container_is_refused_in_one_line_with_a_hint(data):
    with pytest.raises(InputError) as caught:
        read(data)

    assert "\n" not in str(caught.value)
    assert caught.value.hint
    assert not looks_like_container(data)


def test_a_truncated_library_is_an_input_error(build, code):
    library = build.elf([build.Part(".nv_fatbin", build.fatbin(build.packed(code, 90)))])

    with pytest.raises(InputError, match="section table"):
        read(library[:-200])


def wheel(files):
    with zipfile.ZipFile(out := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def test_a_static_library_with_long_and_repeated_names(build, code):
    member = build.elf([build.Part(".nv_fatbin", build.fatbin(build.packed(code, 90)))], kind=1)
    archive = build.ar(
        ("a.o", member), ("a_rather_long_object_name.o", member), ("a.o", member), ("t.txt", b"odd")
    )

    expected = [f"{name}/1.sm_90.cubin" for name in ("a.o", "a_rather_long_object_name.o", "a.o#2")]
    assert expected == names(read(archive))


def test_a_damaged_member_does_not_hide_the_others(build, code):
    member = build.elf([build.Part(".nv_fatbin", build.fatbin(build.packed(code, 90)))], kind=1)

    found = read(build.ar(("a.o", member[:-200]), ("b.o", member)))

    assert names(found) == ["a.o", "b.o/1.sm_90.cubin"]
    assert "lib.so[a.o]: " in str(found[0])


def test_a_truncated_archive_gives_what_is_whole(build, code):
    member = build.elf([build.Part(".nv_fatbin", build.fatbin(build.packed(code, 90)))], kind=1)

    found = read(build.ar(("a.o", member), ("b.o", member))[:-50])

    assert found[0].name == "a.o/1.sm_90.cubin"
    assert isinstance(found[1], Problem)


def test_a_name_reference_that_is_no_number(build, code):
    archive = build.ar(("k.cubin", code)).replace(b"k.cubin/", b"/\xb33     ")

    assert [entry.data for entry in read(archive)] == [code]


def test_archives_inside_archives_have_an_end(build, code):
    archive = build.ar(("k.cubin", code))
    assert names(read(wheel({"lib.a": archive}))) == ["lib.a/k.cubin"]
    for _ in range(1500):
        archive = build.ar(("a.a", archive))

    with pytest.raises(NoDeviceCodeError):
        read(archive)


def test_a_thin_archive_is_refused():
    with pytest.raises(InputError, match="thin archive"):
        read(b"!<thin>\n" + bytes(60))


def test_a_wheel(build, code):
    library = build.elf([build.Part(".nv_fatbin", build.fatbin(build.packed(code, 90)))])
    files = {
        "pkg/__init__.py": b"import this\n",
        "pkg/k.cubin": code,
        "pkg/lib.so.1": library,
        "pkg/k.ptx": PTX,
    }

    found = read(wheel(files))

    assert names(found) == ["pkg/k.cubin", "pkg/lib.so.1/1.sm_90.cubin", "pkg/k.ptx"]
    assert [entry.arch for entry in found] == ["sm_90", "sm_90", "sm_90a"]
    assert [code, code, PTX] == [entry.data for entry in found]


def test_a_wheel_with_a_damaged_member(build, code):
    data = bytearray(wheel({"a.cubin": code, "b.cubin": code}))
    data[200:220] = bytes(20)

    found = read(bytes(data))

    assert names(found) == ["a.cubin", "b.cubin"]
    assert isinstance(found[0], Problem)
    assert code == found[1].data


def harmless(data):
    try:
        for entry in entries(data, file="x"):
            assert "\n" not in (entry.name if isinstance(entry, Entry) else str(entry))
    except InputError as error:
        assert "\n" not in str(error)


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_random_bytes_give_input_errors_only(tail):
    fat = b"\x50\xed\x55\xba\x01\0\x10\0"
    for head in (b"", b"\x7fELF\x02\x01\x01", b"!<arch>\n", b"PK\x03\x04", b"MZ", b"\x50\xed\x55\xba", fat):
        harmless(head + tail)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_gives_input_errors_and_problems_only(build, data):
    code = build.old_cubin(0x5A055A)
    fat = build.fatbin(
        build.packed(code, 80), build.packed(code, 90, how="lz4"), build.packed(PTX, 90, kind=1)
    )
    fat += build.fatbin(build.packed(code, 90, how="zstd"))
    library = build.elf([build.Part(".nv_fatbin", fat)])
    files = [
        fat,
        library,
        build.ar(("a.o", library), ("another_long_name.o", library)),
        wheel({"a.so": library}),
    ]
    whole = bytearray(data.draw(st.sampled_from([*files, b"MZ" + fat + code])))
    for _ in range(data.draw(st.integers(0, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))

    harmless(bytes(whole[: data.draw(st.integers(0, len(whole)))]))
    harmless(bytes(whole))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wheel_name", "library", "cubins", "ptx"),
    [
        ("xformers-0.0.35", "xformers/_C.so", 33, 11),
        ("torchvision-0.29.1", "torchvision/_C_stable.so", 42, 7),
        ("bitsandbytes-0.50.2", "bitsandbytes/libbitsandbytes_cuda130.so", 7, 0),
        ("bitsandbytes-0.50.2", "bitsandbytes/libbitsandbytes_cuda121.so", 5, 0),
    ],
)
def test_a_real_library_equals_what_cuobjdump_extracts(tmp_path, wheel_name, library, cubins, ptx):
    found = next(WHEELS.glob(wheel_name + "-*.whl"), None)
    if found is None:
        pytest.skip(f"no {wheel_name} wheel in {WHEELS}; fetch it with: pip download --no-deps")
    with zipfile.ZipFile(found) as archive:
        data = archive.read(library)
    made = [entry for entry in entries(data) if isinstance(entry, Entry)]
    assert {"cubin": cubins, "ptx": ptx} == {k: sum(e.kind == k for e in made) for k in ("cubin", "ptx")}

    path = tmp_path / "lib.so"
    path.write_bytes(data)
    theirs = extracted_by_cuobjdump(path)
    if theirs is not None:
        assert theirs == {"lib." + entry.name: hashlib.sha256(entry.data).hexdigest() for entry in made}


def extracted_by_cuobjdump(path):
    """Digests by file name, or None where there is no cuobjdump or it stops on the library."""
    tool = shutil.which("cuobjdump")
    if tool is None:
        return None
    out = path.parent / "out"
    out.mkdir()
    for option in ("-xelf", "-xptx"):
        done = subprocess.run([tool, option, "all", path], cwd=out, capture_output=True, check=False)
        if done.returncode:
            return None
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in out.iterdir()}
