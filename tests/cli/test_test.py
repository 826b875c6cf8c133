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


LEARNING = """motif m {
  a:  FADD   %r, %x   // as it was written
}
test "two" expect 5 sm_90 {{
   FADD R1, R2, R3 ;
   FADD R4, R2, R5 ;
   EXIT ;
}}
test "one"   expect todo 1 sm_90 {{ FADD R1, R2, R3 ; }}
"""


def test_learning_shows_and_writes_nothing_without_an_answer(sassql, tmp_path):
    path = tmp_path / "m.sq"
    path.write_text(LEARNING)
    done = sassql("test", path, "--learn")

    assert done.code == 1
    assert '-test "two" expect 5 sm_90 {{' in done.out and '+test "two" expect 2 sm_90 {{' in done.out
    assert done.messages[-1] == "nothing was written"
    assert path.read_text() == LEARNING


def test_learning_keeps_everything_else(sassql, tmp_path):
    path = tmp_path / "m.sq"
    path.write_text(LEARNING)
    done = sassql("test", path, "--learn", "--yes")

    assert done.code == 0
    assert path.read_text() == LEARNING.replace("expect 5", "expect 2").replace("expect todo 1", "expect 1")
    assert sassql("test", path).code == 0
    assert sassql("test", path, "--learn").messages == ["nothing to learn"]


def test_what_fails_in_another_way_is_left(sassql, tmp_path):
    path = tmp_path / "m.sq"
    text = 'motif m {\n  a: FADD %r, %x\n  emit op = a.op\n}\ntest "t" expect 1 { op == <max> } sm_90 {{ FADD R1, R2, R3 ; }}\n'
    path.write_text(text)
    done = sassql("test", path, "--learn", "--yes")

    assert done.code == 1
    assert "FAILED" in done.out
    assert done.messages == ["nothing to learn; 1 failed in other ways"]
    assert path.read_text() == text
