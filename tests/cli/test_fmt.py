from __future__ import annotations

import io

UGLY = "motif m{a:FADD %x ,%y // sum\nemit op=a.op}\n"
PRETTY = "motif m {\n  a: FADD  %x, %y  // sum\n  emit op = a.op\n}\n"


def test_files_are_written(sassql, tmp_path):
    path = tmp_path / "m.sq"
    path.write_text(UGLY)
    done = sassql("fmt", tmp_path)

    assert (done.code, done.out) == (0, f"formatted {path}\n")
    assert done.messages == ["1 of 1 files formatted"]
    assert path.read_text() == PRETTY
    assert sassql("fmt", path).out == ""


def test_check_writes_nothing(sassql, tmp_path):
    path = tmp_path / "m.sq"
    path.write_text(UGLY)
    done = sassql("fmt", "--check", path)

    assert (done.code, done.out) == (1, f"would change {path}\n")
    assert path.read_text() == UGLY
    path.write_text(PRETTY)
    assert sassql("fmt", "--check", path).code == 0


def test_diff(sassql, tmp_path):
    path = tmp_path / "m.sq"
    path.write_text(UGLY)
    done = sassql("fmt", "--diff", path)

    assert done.code == 1
    assert "-motif m{a:FADD %x ,%y // sum" in done.out and "+  a: FADD  %x, %y  // sum" in done.out
    assert path.read_text() == UGLY


def test_a_file_that_does_not_parse_leaves_the_others(sassql, tmp_path):
    (tmp_path / "bad.sq").write_text("motif m { a: FADD %x }}")
    (tmp_path / "good.sq").write_text(UGLY)
    done = sassql("fmt", tmp_path)

    assert done.code == 2
    assert done.messages[0].startswith(f"error: {tmp_path / 'bad.sq'}:1:23: unexpected `}}`")
    assert done.messages[-1] == "1 of 2 files formatted, 1 with errors"
    assert (tmp_path / "good.sq").read_text() == PRETTY


def test_standard_input(sassql, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(UGLY))

    assert sassql("fmt", "-").out == PRETTY


def test_what_is_no_text(sassql, tmp_path):
    (tmp_path / "x.sq").write_bytes(b"\xff\xfe")
    done = sassql("fmt", tmp_path / "x.sq")

    assert done.code == 2 and "is not UTF-8" in done.messages[0]
    assert sassql("fmt", tmp_path / "none.sq").code == 2
