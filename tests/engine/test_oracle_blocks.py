"""The two engines agree on every listing of a test block, of the library and of the specification."""

from pathlib import Path

import pytest

from sassql.engine.budget import Budget
from sassql.engine.indexed import INDEXED
from sassql.engine.library import plans_of
from sassql.engine.matching import match_motif
from sassql.engine.naive import NAIVE
from sassql.lang.check import load
from sassql.reading.listing import read_listing

FILES = sorted([*Path("patterns").rglob("*.sq"), *Path("tests/lang/language").glob("*.sq")])
STEPS = 300_000


def rows(plan, kernel, strategy):
    return [
        (row.columns, {k: [i.index for i in v] for k, v in row.instructions.items()}, row.status, row.order)
        for row in match_motif(plan, kernel, Budget(STEPS), strategy)
    ]


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_both_engines_agree_on_every_test_block(path):
    file = load(path)
    plans = {plan.motif.name: plan for plan in plans_of(file)}
    for test in file.tests:
        if not test.listing:
            continue
        modules, _ = read_listing(test.listing, arch=test.arch)
        for kernel in (kernel for module in modules for kernel in module.kernels):
            fast, slow = (rows(plans[test.motif], kernel, strategy) for strategy in (INDEXED, NAIVE))
            if "gave_up" not in {row[2] for row in (*fast, *slow)}:
                assert fast == slow, f"{path}: {test.title}"
