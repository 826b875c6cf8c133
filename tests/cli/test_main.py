from __future__ import annotations

import re

import pytest

from sassql import __version__
from sassql.cli import main as module
from sassql.cli.main import COMMANDS, main
from sassql.errors import PatternError, Place, ToolMissingError


def fail_with(monkeypatch, error):
    def invoke(*_, **__):
        raise error

    monkeypatch.setattr(module.cli, "main", invoke)


def test_help_names_every_command_and_teaches_by_example(sassql):
    done = sassql("--help")

    assert done.code == 0
    assert all(
        re.search(rf"^  {name}\s+{re.escape(text[:20])}", done.out, re.M) for name, text in COMMANDS.items()
    )
    assert "sassql query patterns/warp/shuffle_ladder.sq corpora/lowering" in done.out
    assert sassql("-h").out == done.out
    assert "Exit codes:" in done.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples_and_exit_codes(sassql, command):
    done = sassql(command, "--help")

    assert done.code == 0
    assert done.out.startswith(f"Usage: sassql {command} ")
    if command != "corpus":  # its sub-commands have them
        assert f"sassql {command}" in done.out.split("Examples:", 1)[1]
        assert "Exit codes:" in done.out


def test_the_version(sassql):
    done = sassql("--version")

    assert (done.code, done.out) == (0, f"sassql, version {__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("frobnicate",), "No such command 'frobnicate'"),
        (("inspect",), "Missing argument 'PATHS...'"),
        (("inspect", "--format", "xml", "x"), "'xml' is not one of"),
        (("inspect", "--nonsense", "x"), "No such option"),
    ],
)
def test_wrong_usage_is_two(sassql, arguments, message):
    done = sassql(*arguments)

    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert "Traceback" not in done.err


def test_without_arguments_the_help_is_shown(sassql):
    done = sassql()

    assert "Commands:" in done.out + done.err


def test_an_error_is_one_line_and_its_source_line_with_a_caret(sassql, monkeypatch):
    error = PatternError("unexpected `}`", place=Place("m.sq", 2, 5), hint="close it", source_line="  a: }")
    fail_with(monkeypatch, error)
    done = sassql("query")

    assert done.code == 2
    assert done.messages == ["error: m.sq:2:5: unexpected `}`; close it", "      a: }", "        ^"]


def test_a_missing_tool_is_four(sassql, monkeypatch):
    fail_with(monkeypatch, ToolMissingError("no nvdisasm", hint="pip install it"))
    done = sassql("inspect", "x")

    assert (done.code, done.messages) == (4, ["error: no nvdisasm; pip install it"])


def test_an_interrupt_is_no_traceback(sassql, monkeypatch):
    fail_with(monkeypatch, KeyboardInterrupt())
    done = sassql("inspect", "x")

    assert (done.code, done.err) == (130, "interrupted\n")


def test_what_a_command_returns_is_the_exit_code(monkeypatch):
    for value, code in ((3, 3), (0, 0), (None, 0)):
        monkeypatch.setattr(module.cli, "main", lambda *_, value=value, **__: value)
        with pytest.raises(SystemExit) as left:
            main([])
        assert left.value.code == code


@pytest.mark.parametrize(
    "arguments",
    ["inspect --format jsonl", "inspect --format csv", "show"],
)
def test_a_reader_that_has_seen_enough_is_no_error(shell, compiled, tmp_path, arguments):
    done = shell(f"sassql {arguments} {compiled('sm_90').path} | head -1", tmp_path)

    assert done.stdout.count(b"\n") == 1
    assert (done.returncode, done.stderr) == (0, b"")
