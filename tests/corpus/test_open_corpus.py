"""`sassql.Corpus`, and how a path that people name becomes modules."""

from __future__ import annotations

from pathlib import Path

import pytest

import sassql
from sassql.corpus import ingest
from sassql.errors import UsageError
from sassql.model.program import Module
from sassql.reading.load import Options

SMALL = (Path(__file__).parents[1] / "kernels" / "small.cu").read_text()
HALVING = """motif halving(%x -> %sum) {
  title "A shuffle and the sum behind it"
  s: SHFL.BFLY %other, %x, #m
  f: FADD %sum, %x, %other
  emit mask = #m
}
"""


@pytest.fixture
def sources(tmp_path, monkeypatch) -> Path:
    """A folder with nothing but CUDA sources: a corpus without a manifest."""
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "small.cu").write_text(SMALL)
    return folder


@pytest.fixture
def binaries(tmp_path, compiled) -> Path:
    folder = tmp_path / "binaries"
    folder.mkdir()
    for arch in ("sm_80", "sm_90"):
        (folder / f"{arch}.cubin").write_bytes(compiled(arch, "small.cu").cubin)
    return folder


def test_what_is_a_corpus(sources, binaries, tmp_path):
    assert ingest.is_corpus(sources)
    assert not ingest.is_corpus(binaries)
    assert not ingest.is_corpus(sources / "small.cu")
    assert not ingest.is_corpus(tmp_path / "none")
    (sources / "extra.cubin").write_bytes(b"something built beside it")
    assert not ingest.is_corpus(sources)
    (binaries / "manifest.toml").write_text("")
    assert ingest.is_corpus(binaries)


def test_the_kernels_of_a_corpus_are_compiled_first(sources):
    calls = []
    found = list(ingest.read(sources, Options(("sm_80", "sm_90")), progress=lambda *a: calls.append(a)))

    assert all(isinstance(m, Module) for m in found)
    assert [(Path(m.source.file).name, m.source.entry, m.arch) for m in found] == [
        ("small.cu", "sm_80.cubin", "sm_80"),
        ("small.cu", "sm_90.cubin", "sm_90"),
    ]
    assert calls


def test_a_source_that_does_not_compile_is_a_problem(sources):
    (sources / "broken.cu").write_text("__global__ void k( {")
    program = sassql.load(sources, arch="sm_90")

    assert [Path(m.source.file).name for m in program.modules] == ["small.cu"]
    (problem,) = program.problems
    assert Path(problem.place.file).name == "broken.cu"
    assert problem.exit_code == 3


def test_opening_reads_nothing(sources, tmp_path):
    corpus = sassql.Corpus.open(sources)

    assert repr(corpus) == f"<Corpus {sources}>"
    assert not (tmp_path / "cache").exists()


def test_opening_what_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="no such file or folder"):
        sassql.Corpus.open(tmp_path / "none")
    with pytest.raises(UsageError, match="is not an architecture"):
        sassql.Corpus.open(tmp_path, arch="hopper")


def test_kernels_module_by_module(binaries):
    corpus = sassql.Corpus.open(binaries)

    assert [m.arch for m in corpus.modules()] == ["sm_80", "sm_90"]
    assert [(k.arch, k.name) for k in corpus.kernels()] == [
        (k.arch, k.name) for k in sassql.load(binaries).kernels
    ]
    assert {k.arch for k in sassql.Corpus.open(binaries, arch="sm_90").kernels()} == {"sm_90"}


def test_rows_as_a_table(binaries):
    table = sassql.Corpus.open(binaries).query(sassql.Pattern.parse(HALVING))

    assert list(table.columns) == [
        "file", "entry", "kernel", "function", "arch", "motif", "status", "mask", "at"
    ]  # fmt: skip
    assert sorted(set(table["arch"])) == ["sm_80", "sm_90"]
    assert table[table["arch"] == "sm_90"]["mask"].tolist() == [16, 8, 4, 2, 1]
    assert set(table["kernel"]) == {"total"}
    assert set(table.iloc[0]["at"]) == {"s", "f"}


def test_no_rows_are_a_table_with_columns(binaries):
    table = sassql.Corpus.open(binaries).query(sassql.Pattern.parse("motif m { r: REDUX %r, %x }"))

    assert len(table) == 0
    assert list(table.columns) == ["file", "entry", "kernel", "function", "arch", "motif", "status", "at"]


def test_what_could_not_be_read_is_warned_of_and_kept(binaries):
    (binaries / "broken.cubin").write_bytes(b"\x7fELF")
    corpus = sassql.Corpus.open(binaries)
    with pytest.warns(UserWarning, match=r"1 entries could not be read; see corpus\.problems"):
        table = corpus.query(sassql.Pattern.parse(HALVING))

    assert len(table) == 10
    assert [Path(p.place.file).name for p in corpus.problems] == ["broken.cubin"]
    (binaries / "broken.cubin").unlink()
    assert len(list(corpus.kernels())) == 4
    assert corpus.problems == []
