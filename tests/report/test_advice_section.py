"""Advice on the page of a kernel, with its premises and links into the listing."""

from __future__ import annotations

import re
from pathlib import Path

CORPUS = Path(__file__).parents[2] / "corpora" / "lowering"


def page(sassql, folder, file, kernel):
    done = sassql("report", CORPUS / file, "--arch", "sm_90", "--kernel", kernel, "-o", f"{folder}/out/")
    assert done.code == 0, done.err
    (found,) = (folder / "out" / "kernels").glob("*.html")
    return found.read_text("utf-8")


def test_advice_stands_with_its_premises(sassql, tmp_path):
    text = page(sassql, tmp_path, "softmax.cu", "sm_block_mat")
    section = text[text.index("-advice") : text.index("Control flow</summary>")]

    assert "passes that a running state merges" in section
    assert "if param1 is not read outside of the kernel" in section
    assert "<code>4*blocks*param2</code> bytes that loads ask for" in section
    links = set(re.findall(r'href="#([^"]+)"', section))
    assert links <= set(re.findall(r'id="([^"]+)"', text))


def test_a_kernel_without_findings_has_no_section(sassql, tmp_path):
    assert "-advice" not in page(sassql, tmp_path, "decoys.cu", "dc_exp")
