from __future__ import annotations

from pathlib import Path

import pytest

from sassql import resources
from sassql.corpus.manifest import Manifest, Source, cache_folder, load_manifest, local_headers, locked
from sassql.errors import UsageError

TEXT = """\
name = "small"
title = "Two kernels"
about = "\\nThey are short.\\n"
architectures = ["sm_80", "sm_90"]
all_architectures = ["sm_75", "sm_80", "sm_90"]
options = ["--std=c++17"]

[[source]]
file = "one.cu"
subject = "addition"
kernels = 1
headers = false

[[source]]
file = "sub/two.cu"
subject = "multiplication"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "one.cu").write_text("")
    (tmp_path / "sub/two.cu").write_text("")
    (tmp_path / "manifest.toml").write_text(TEXT)
    return tmp_path


def test_a_manifest_is_read(folder):
    (folder / "forgotten.cu").write_text("")

    assert load_manifest(folder) == Manifest(
        folder=folder,
        name="small",
        sources=(Source("one.cu", "addition", 1, False), Source("sub/two.cu", "multiplication")),
        title="Two kernels",
        about="They are short.",
        architectures=("sm_80", "sm_90"),
        all_architectures=("sm_75", "sm_80", "sm_90"),
        options=("--std=c++17",),
        unlisted=("forgotten.cu",),
    )


def test_most_keys_may_be_left_out(folder):
    (folder / "manifest.toml").write_text('name="a"\ntitle="b"\n[[source]]\nfile="one.cu"\nsubject="c"\n')
    manifest = load_manifest(folder)

    assert manifest.architectures == ("sm_90",)
    assert (manifest.all_architectures, manifest.options) == ((), ())


def test_the_corpora_that_ship_are_in_order():
    for path in sorted(resources.folder("corpora").glob("*/manifest.toml")):
        manifest = load_manifest(path.parent)

        assert manifest.name == path.parent.name
        assert manifest.unlisted == ()


def test_a_folder_without_a_manifest(tmp_path):
    corpus = tmp_path / "my kernels"
    (corpus / "b/.hidden").mkdir(parents=True)
    for name in ("b/z.cu", "a.cu", "b/.hidden/no.cu", "a.txt"):
        (corpus / name).write_text("")
    manifest = load_manifest(corpus)

    assert manifest == Manifest(corpus, "my_kernels", (Source("a.cu"), Source("b/z.cu")))
    assert manifest.architectures == ("sm_90",)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('name = "small"', 'name = "small', 1, "bad TOML: Illegal character '\\n'"),
        ('name = "small"', "", 1, "missing key 'name'"),
        ('name = "small"', 'name = "../x"', 1, "name '../x' may have letters"),
        ('title = "Two kernels"', "title = 2", 2, "title must be a text"),
        ('"sm_80", "sm_90"]', '"sm_80", "90"]', 4, "architectures: '90' is not an architecture"),
        ('options = ["--std=c++17"]', "options = [1]", 6, "options must be a list of texts"),
        ('options = ["--std=c++17"]', "flags = []", 6, "unknown key 'flags'"),
        ('subject = "addition"', "", 8, "missing key 'subject'"),
        ('file = "one.cu"', 'file = "none.cu"', 9, "file 'none.cu' does not exist"),
        ('file = "one.cu"', 'file = "manifest.toml"', 9, "file 'manifest.toml' is neither .cu nor .ptx"),
        ('file = "one.cu"', 'file = "sub/two.cu"', 15, "file 'sub/two.cu' is listed twice"),
        ('file = "sub/two.cu"', 'file = "../two.cu"', 15, "file '../two.cu' is outside the corpus folder"),
        ("kernels = 1", "kernels = true", 11, "kernels must be a number"),
        ("headers = false", 'header = "no"', 12, "unknown key 'header'"),
        ('subject = "multiplication"', "subject = [", 16, "bad TOML: "),
    ],
)
def test_errors_have_the_line(folder, old, new, line, message):
    (folder / "manifest.toml").write_text(TEXT.replace(old, new))
    with pytest.raises(UsageError) as caught:
        load_manifest(folder)

    assert caught.value.place.file == str(folder / "manifest.toml")
    assert caught.value.place.line == line
    assert caught.value.message.startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("sources", ["", "source = []", "source = [1]", "source = 3"])
def test_sources_are_needed(folder, sources):
    (folder / "manifest.toml").write_text(f'name = "a"\ntitle = "b"\n{sources}\n')
    with pytest.raises(UsageError, match="source"):
        load_manifest(folder)


def test_a_manifest_that_is_no_text(folder):
    (folder / "manifest.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read"):
        load_manifest(folder)


def test_folders_that_are_no_corpus(tmp_path):
    with pytest.raises(UsageError, match="no such folder"):
        load_manifest(tmp_path / "none")
    with pytest.raises(UsageError, match=r"no manifest.toml and no \.cu files"):
        load_manifest(tmp_path)


def test_the_cache_lies_where_the_variable_says(monkeypatch, tmp_path):
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path))

    assert cache_folder() == tmp_path / "corpora"

    monkeypatch.delenv("SASSQL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))

    assert cache_folder() == tmp_path / "xdg/sassql/corpora"


def test_corpora_of_one_name_do_not_share_a_folder(tmp_path):
    built = {Manifest(tmp_path / name / "kernels", "kernels", ()).built for name in "ab"}

    assert len(built) == 2
    assert {path.name[:8] for path in built} == {"kernels-"}


def test_include_folders_are_relative_to_the_corpus(tmp_path):
    options = ("-I", "a", "-Ib", "-I=c", "--include-path=/d", "--fmad=false")
    manifest = Manifest(tmp_path, "x", (), options=options)

    assert manifest.compiler_options == (
        *(f"--include-path={tmp_path / name}" for name in "abc"),
        "--include-path=/d",
        "--fmad=false",
    )
    folders = manifest.include_folders(Source("sub/k.cu"))
    assert folders == (tmp_path / "sub", tmp_path, *(tmp_path / name for name in "abc"), Path("/d"))


def test_local_headers_are_found_at_any_depth(tmp_path):
    files = {
        "k.cu": '#include "one.cuh"\n  #  include <named.cuh>\n#include <cuda_fp16.h>\n// "not.cuh"\n',
        "one.cuh": '#include "sub/two.cuh"\n',
        "sub/two.cuh": '#include "three.cuh"\n#include "../one.cuh"\n',
        "sub/three.cuh": '#include "missing.cuh"\n',
        "named/named.cuh": "",
        "not.cuh": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    found = local_headers(tmp_path / "k.cu", [tmp_path / "named"])

    expected = ["named/named.cuh", "one.cuh", "sub/three.cuh", "sub/two.cuh"]
    assert [str(path.relative_to(tmp_path)) for path in found] == expected


def test_a_second_lock_waits_for_the_first(tmp_path):
    import threading

    order = []
    with locked(tmp_path / "c", lambda: order.append("first waits")):
        waits = threading.Event()

        def second():
            with locked(tmp_path / "c", waits.set):
                order.append("second")

        thread = threading.Thread(target=second)
        thread.start()
        assert waits.wait(10)
        order.append("first")
    thread.join()

    assert order == ["first", "second"]


def test_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")

    with (
        pytest.raises(UsageError, match="the cache cannot be written"),
        locked(tmp_path / "file/c", lambda: None),
    ):
        raise AssertionError
