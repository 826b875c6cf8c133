from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pytest
from click.testing import CliRunner

from sassql.cli.corpus import corpus
from sassql.cli.output import FORMATS, write_rows
from sassql.errors import ToolMissingError, UsageError

GOOD = 'extern "C" __global__ void good(float *x) { x[0] *= 2; }\n'
BAD = "__global__ void bad() { nothing; }\n"
MANIFEST = """\
name = "small"
title = "A small corpus"
architectures = ["sm_80", "sm_90"]
[[source]]
file = "good.cu"
subject = "scaling"
kernels = 1
"""


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    path = tmp_path / "small"
    path.mkdir()
    (path / "good.cu").write_text(GOOD)
    (path / "manifest.toml").write_text(MANIFEST)
    return path


def run(*arguments: object):
    return CliRunner().invoke(corpus, list(map(str, arguments)))


def rows(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_build_prints_a_row_for_each_cubin(folder):
    first = run("build", folder, "--format", "jsonl", "--jobs", 2)
    second = run("build", folder, "--format", "jsonl", "--arch", "sm_90, sm_80")

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert [(row["arch"], row["compiled"]) for row in rows(first.stdout)] == [
        ("sm_80", True),
        ("sm_90", True),
    ]
    assert [(row["arch"], row["compiled"]) for row in rows(second.stdout)] == [
        ("sm_90", False),
        ("sm_80", False),
    ]
    assert all(Path(row["cubin"]).is_file() for row in rows(first.stdout))
    assert "2 cubins in " in first.stderr
    assert ": 0 compiled, 2 as they were, 0 problems" in second.stderr


def test_build_reports_what_does_not_compile_and_gives_3(folder):
    (folder / "bad.cu").write_text(BAD)
    (folder / "manifest.toml").write_text(MANIFEST + '[[source]]\nfile = "bad.cu"\nsubject = "nothing"\n')
    result = run("build", folder, "--format", "csv")

    assert result.exit_code == 3
    assert len(list(csv.DictReader(io.StringIO(result.stdout)))) == 2
    expected = f'{folder / "bad.cu"}:1:25: identifier "nothing" is undefined (sm_80, sm_90)'
    assert result.stderr.splitlines()[0] == expected


def test_a_bad_option_in_the_manifest_gives_2(folder):
    (folder / "manifest.toml").write_text(MANIFEST.replace("[[", 'options = ["--nonsense"]\n[[', 1))
    result = run("build", folder)

    assert result.exit_code == 2
    assert "unrecognized option --nonsense" in result.stderr


def test_usage_errors_are_ours(folder):
    for arguments in (
        ["build", folder / "none"],
        ["build", folder, "--arch", "sm_91"],
        ["info", folder / "none"],
    ):
        assert isinstance(run(*arguments).exception, UsageError)
    assert run("build", folder, "--jobs", "0").exit_code == 2


def test_a_missing_compiler(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", None)

    assert isinstance(run("build", folder).exception, ToolMissingError)


def test_info_says_what_is_built(folder):
    before = rows(run("info", folder, "--format", "jsonl").stdout)[0]
    run("build", folder, "--arch", "sm_80,sm_100")
    (folder / "extra.cu").write_text(GOOD)
    after, extra = rows(run("info", folder, "--format", "jsonl").stdout)
    (folder / "good.cu").write_text(GOOD + "//")
    stale = rows(run("info", folder, "--format", "jsonl").stdout)[0]

    assert (before["current"], before["stale"], before["missing"], before["compilers"]) == (0, 0, 2, [])
    assert (after["source"], after["subject"], after["kernels"]) == ("good.cu", "scaling", 1)
    assert after["architectures"] == ["sm_80", "sm_100"]
    assert (after["current"], after["stale"], after["missing"]) == (2, 0, 1)
    assert after["compilers"][0].startswith("NVRTC 13.")
    assert after["cache"].startswith(os.environ["SASSQL_CACHE"])
    assert (extra["source"], extra["listed"], extra["subject"]) == ("extra.cu", False, "not in the manifest")
    assert (stale["current"], stale["stale"], stale["reasons"]) == (0, 2, ["source_sha256 changed"])


def test_info_for_people(folder):
    run("build", folder)
    result = run("info", folder)

    assert result.stdout.splitlines() == [
        "source   subject  kernels  architectures  current  stale  missing  reasons",
        "good.cu  scaling        1  sm_80, sm_90         2      0        0",
    ]
    heading = result.stderr.splitlines()
    assert heading[0] == "small: A small corpus"
    assert heading[1].startswith("cache: ")
    assert heading[2].startswith("built with: NVRTC 13.")


def test_the_help_has_examples():
    for command in ([], ["build"], ["info"]):
        assert "sassql corpus build corpora/lowering" in run(*command, "--help").stdout.replace(
            "info", "build"
        )


# rows, as every command prints them


class Level(Enum):
    E0 = "bitwise"


@dataclass
class Point:
    x: int


ROWS = [
    {"name": "[bold]R2[/]", "count": 1, "list": ["a", "b"], "nested": {"k": 1}, "flag": True, "none": None},
    {"name": "é, \x1b[31m\n", "count": 22, "list": [], "nested": {}, "flag": False, "none": None},
]


def printed(rows, fmt: str, **options) -> str:
    out = io.StringIO()
    assert write_rows(rows, fmt, stream=out, **options) == len(rows)
    return out.getvalue()


def test_json_lines():
    assert rows(printed(ROWS, "jsonl")) == ROWS
    assert rows(printed(ROWS, "jsonl", columns=["count", "other"]))[1] == {"count": 22, "other": None}


def test_csv_has_nested_values_as_json():
    lines = list(csv.reader(io.StringIO(printed(ROWS, "csv"))))

    assert lines[0] == list(ROWS[0])
    assert lines[1] == ["[bold]R2[/]", "1", '["a", "b"]', '{"k": 1}', "true", ""]


def test_csv_does_not_lose_a_column():
    with pytest.raises(ValueError, match="columns that the first row had not: b"):
        write_rows([{"a": 1}, {"b": 2}], "csv", stream=io.StringIO())


def test_a_table_cuts_nothing_and_obeys_nothing_in_its_cells():
    long = {"name": "x" * 500, "count": 3}

    assert printed([*ROWS, long], "table").splitlines()[0].startswith("name" + " " * 498 + "count")
    assert [line.rstrip() for line in printed(ROWS, "table").splitlines()] == [
        "name           count  list  nested    flag  none",
        '[bold]R2[/]        1  a, b  {"k": 1}  yes',
        "é, \\x1b[31m\\n     22        {}        no",
    ]


@pytest.mark.parametrize(("columns", "expected"), [(None, ""), (["a", "b"], "a  b\n")])
def test_a_table_without_rows(columns, expected):
    assert printed([], "table", columns=columns) == expected


def test_values_that_are_no_json():
    row = {"path": Path("a"), "set": frozenset("ba"), "level": Level.E0, "point": Point(1)}

    assert rows(printed([row], "jsonl")) == [
        {"path": "a", "set": ["a", "b"], "level": "bitwise", "point": {"x": 1}}
    ]
    assert printed([row], "csv").splitlines()[1] == 'a,"[""a"", ""b""]",bitwise,"{""x"": 1}"'
    with pytest.raises(TypeError, match="holds a object"):
        write_rows([{"a": object()}], "jsonl", stream=io.StringIO())


def test_a_terminal_gets_a_table_of_its_width(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Terminal()
    write_rows([{"name": "y" * 60, "n": 1}], "table", stream=out)

    assert "\x1b[1m" in out.getvalue()
    assert sum(line.count("y") for line in out.getvalue().splitlines()) == 60
    assert max(len(line) for line in out.getvalue().splitlines()[1:]) <= 40


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_reader_that_closes_the_pipe(fmt):
    code = (
        "import sys; from sassql.cli.output import write_rows\n"
        "count = write_rows(({'a': i, 'b': 'x' * 99} for i in range(20_000)), sys.argv[1])\n"
        "print('done', count == 20_000, file=sys.stderr)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", code, fmt], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read().decode()

    assert process.returncode == 0
    assert errors == f"done {fmt == 'table'}\n"


def test_a_stream_that_cannot_encode(tmp_path):
    path = tmp_path / "out"
    with path.open("w", encoding="ascii") as out:
        write_rows([{"a": "é\udcff"}], "csv", stream=out)
        write_rows([{"a": "é\udcff"}], "table", stream=out)

    assert path.read_text() == "a\n\\xe9\\udcff\na\n\\xe9\\udcff\n"
