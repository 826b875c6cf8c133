"""`sassql test` on the command line."""

import json

import pytest
from click.testing import CliRunner

from sassql.cli.main import cli
from sassql.errors import PatternError, UsageError

GOOD = """motif m { a: FADD %x ; emit op = a.op }
test "one" expect 1 { op == <add> } sm_90 {{
  FADD R1, R2, R3 ;
}}
"""
BAD = (
    GOOD
    + 'test "two" expect 2 sm_90 {{\n  FADD R1, R2, R3 ;\n}}\n'
    + 'test "gap" expect todo 2 sm_90 {{\n FADD R1, R2, R3 ;\n}}\n'
)


@pytest.fixture
def call(tmp_path):
    def run(text, *arguments, name="m.sq"):
        path = tmp_path / name
        path.write_text(text)
        return CliRunner().invoke(cli, ["test", str(path), *arguments], catch_exceptions=True)

    return run


def test_all_pass(call, tmp_path):
    result = call(GOOD)
    assert result.exit_code == 0
    assert result.output.splitlines() == [f"passed  {tmp_path}/m.sq:2  one", "1 passed, 0 failed, 0 todo"]


def test_a_failure_shows_the_difference(call, tmp_path):
    result = call(BAD)
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert lines[1:5] == [
        f"FAILED  {tmp_path}/m.sq:5  two",
        "        - expected 2 rows",
        "        + found    1 row",
        "          row 1: op=<add>  a@0x0",
    ]
    assert lines[-1] == "1 passed, 1 failed, 1 todo"


def test_json_lines(call):
    result = call(BAD, "--format", "jsonl")
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [record["verdict"] for record in records] == ["passed", "failed", "todo"]
    assert records[1]["details"][0] == "- expected 2 rows"
    assert result.stderr.splitlines()[-1] == "1 passed, 1 failed, 1 todo"


def test_csv(call):
    result = call(GOOD, "--format", "csv")
    assert result.stdout.splitlines()[0] == "file,line,motif,test,verdict,expected,rows,details"


def test_a_folder(call, tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "n.sq").write_text(GOOD)
    call(GOOD)
    result = CliRunner().invoke(cli, ["test", str(tmp_path)])
    assert result.output.splitlines()[-1] == "2 passed, 0 failed, 0 todo"


def test_a_bad_pattern(call):
    result = call("motif m { FADDD %x }")
    assert isinstance(result.exception, PatternError)
    assert result.exception.exit_code == 2


def test_no_such_path(tmp_path):
    result = CliRunner().invoke(cli, ["test", str(tmp_path / "none")])
    assert isinstance(result.exception, UsageError)
    result = CliRunner().invoke(cli, ["test", str(tmp_path)])
    assert isinstance(result.exception, UsageError)
