"""Commands and programs of the pages about reports run as they stand there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """A folder like a checkout where files may be written, and `sassql` on the PATH."""
    folder = tmp_path_factory.mktemp("pages")
    for name in ("patterns", "corpora"):
        shutil.copytree(ROOT / name, folder / name)
    binaries = tmp_path_factory.mktemp("bin")
    launcher = binaries / "sassql"
    launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sassql "$@"\n')
    launcher.chmod(0o755)
    return folder, {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


def blocks(page: str) -> list[tuple[str, str]]:
    text = (ROOT / "docs" / page).read_text("utf-8")
    return re.findall(r"^```(sh|python)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["report.md", "cookbook.md"])
def test_every_block_runs(page, place):
    folder, environment = place
    found = blocks(page)
    assert len(found) >= 3
    for language, text in found:
        command = (
            ["bash", "-euo", "pipefail", "-c", text] if language == "sh" else [sys.executable, "-c", text]
        )
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{text}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def test_every_kind_of_finding_is_explained():
    """The words of findings are stable, and stand in the table of the page."""
    page = (ROOT / "docs" / "report.md").read_text("utf-8")
    source = (ROOT / "sassql" / "report" / "findings.py").read_text("utf-8")
    kinds = set(re.findall(r'yield\s+\(?\s*f?"([a-z {}]+)",', source))
    kinds = {kind.replace("{access}", access) for kind in kinds for access in ("load", "store")}

    assert len(kinds) >= 8
    assert [kind for kind in kinds if f"`{kind}`" not in page] == []
