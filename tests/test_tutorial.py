"""The tutorial does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "tutorial.md").read_text("utf-8")
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(command: str) -> str:
    """What the page says that a command prints."""
    lines = PAGE.split(f"    $ {command}\n")[1].splitlines()
    printed = []
    for line in lines:
        if not line.startswith("    "):
            break
        printed.append(line.strip())
    return "\n".join(printed)


@pytest.mark.parametrize("file", ["rung.sq", "lane_max.sq"])
def test_the_tables_of_the_tutorial(sassql, folder, file):
    done = sassql("query", file, "scale.cu")
    said = [re.split(r"\s{2,}", line) for line in shown(f"sassql query {file} scale.cu").splitlines()]

    assert done.code == 0
    assert [re.split(r"\s{2,}", line.strip()) for line in done.out.splitlines()] == said


def test_the_listing_of_the_tutorial(sassql, folder):
    listing = sassql("show", "scale.cu").out
    for line in re.findall(r"^    0x\d+  (\S.*)$", PAGE, re.MULTILINE):
        assert line in listing


def test_the_other_commands_of_the_tutorial(sassql, folder):
    every = sassql("query", "lane_max.sq", "scale.cu", "--arch", "sm_75,sm_80,sm_90,sm_100,sm_120")

    assert every.out.count("scaled_by_max") == 5
    assert sassql("test", "lane_max.sq").code == 0
    assert sassql("query", "wrong.sq", "scale.cu").code == 1
    assert "the operands do not fit" in sassql("explain", "wrong.sq", "scale.cu").out
    assert sassql("fmt", "--check", "lane_max.sq").code == 0
