"""The invariants on the page of a kernel: tables with links into the listing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[2] / "corpora" / "lowering"


@pytest.fixture
def page(sassql, tmp_path):
    def made(file, kernel):
        done = sassql(
            "report", CORPUS / file, "--arch", "sm_90", "--kernel", kernel, "-o", f"{tmp_path}/out/"
        )
        assert done.code == 0, done.err
        (found,) = (tmp_path / "out" / "kernels").glob("*.html")
        return found.read_text("utf-8")

    return made


def test_every_section_is_a_table_with_links(page):
    text = page("softmax.cu", "sm_block_mat")
    section = text[text.index("-invariants") : text.index("-advice")]

    heads = re.findall(r"<h3>(.+?)</h3>", section)
    assert heads == ["Dependency", "Reductions", "Observability", "Reuse", "Numerics"]
    assert '<b class="verdict refuted">refuted</b>' in section
    assert "32 lanes (xor of 16, 8, 4, 2, 1)" in section
    assert "removable if param1 is not read outside" in section
    links = set(re.findall(r'href="#([^"]+)"', section))
    assert len(links) > 20
    assert links <= set(re.findall(r'id="([^"]+)"', text))


def test_names_are_escaped(page):
    assert "&lt; param2" in page("grid_reduction.cu", "gr_pass1")
