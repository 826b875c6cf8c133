"""`sassql lint --over`: rules that overlap, and rules that never win, on kernels of the corpus."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sassql.engine.overlap import Overlaps
from sassql.lang.parse import parse
from sassql.reading.listing import read_listing

PAGE = (Path(__file__).parents[2] / "docs" / "lint.md").read_text("utf-8")
BOTH = "        MUFU.EX2 R5, R4 ;\n        STG.E desc[UR4][R2.64], R5 ;\n        EXIT ;\n"
STORE = "        STG.E desc[UR4][R2.64], R5 ;\n        EXIT ;\n"


def kernels(*texts):
    return [read_listing(text, arch="sm_90")[0][0].kernels[0] for text in texts]


def found(rules, *texts):
    overlaps = Overlaps(parse(rules, "classes.sq"))
    overlaps.add(kernels(*texts))
    return [(f.id, f.at.line, f.message) for f in overlaps.findings()]


@pytest.mark.parametrize("number", ["SQ047", "SQ048"])
def test_the_examples_of_the_page(number):
    example = re.search(rf"^## {number} .*?```sq\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)[1]
    assert number in {n for n, _, _ in found(example, BOTH)}


def test_two_rules_on_one_kernel():
    rules = "classify a priority 3 when kernel.has(MUFU.EX2)\nclassify b priority 3 when kernel.has(STG)\n"
    assert found(rules, BOTH, BOTH)[0] == (
        "SQ047",
        2,
        "`b` and `a` both hold on kernel and 1 more, with priority 3",
    )
    assert found(rules, STORE) == []
    assert (
        found(
            rules.replace("priority 3 when kernel.has(STG)", "priority 2 when kernel.has(STG)"), BOTH, STORE
        )
        == []
    )


def test_a_rule_that_never_wins():
    rules = "classify a priority 3 when kernel.has(STG)\nclassify b priority 2 when kernel.has(MUFU.EX2)\n"
    assert found(rules, BOTH, STORE) == [
        (
            "SQ048",
            2,
            "`b` holds on 1 kernel and names none: a rule with more priority always holds, too",
        )
    ]
    assert found(rules, STORE) == []  # it holds nowhere: nothing is known
