"""The commands and programs of the documentation run as they stand there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
QUICKSTART = ROOT / "docs" / "quickstart.md"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place like a checkout, where the page's files may be written."""
    place = tmp_path_factory.mktemp("quickstart")
    for name in ("patterns", "corpora"):
        shutil.copytree(ROOT / name, place / name)
    return place


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """`sassql` on the PATH, whether or not it is installed."""
    binaries = tmp_path_factory.mktemp("bin")
    launcher = binaries / "sassql"
    launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sassql "$@"\n')
    launcher.chmod(0o755)
    return {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


def test_quickstart_runs_from_top_to_bottom(folder: Path, environment: dict[str, str]) -> None:
    shell = blocks(QUICKSTART, "sh")
    assert len(shell) >= 6
    for block in shell:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
    python = blocks(QUICKSTART, "python")
    assert len(python) == 1
    done = subprocess.run(
        [sys.executable, "-c", python[0]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "'width': 32" in done.stdout


def test_every_command_of_the_readme_exists() -> None:
    from sassql.cli.main import COMMANDS

    named = set(
        re.findall(r"^(?:\S+ && )*sassql (\w+)", "\n".join(blocks(ROOT / "README.md", "sh")), re.MULTILINE)
    )
    assert named
    assert named <= set(COMMANDS)


def test_readme_has_the_two_commands_that_ci_runs() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    for mark in ("first", "second"):
        found = re.search(rf"^<!-- {mark} -->\n```sh\n(.+?)\n```\n<!-- end -->$", text, re.MULTILINE)
        assert found is not None
        assert "\n" not in found[1], "one command, one line"


def test_links_of_the_pages_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            place = page.parent / target
            made = place.with_suffix(
                ".ipynb"
            )  # the site makes a page of each notebook, and the motif catalogue
            assert place.exists() or made.exists() or target.startswith("motifs/"), f"{page.name}: {target}"
