"""The classes of the kernels of `corpora/blocks` that a rule was made or changed for."""

from __future__ import annotations

from pathlib import Path

import pytest

import sassql
from sassql.insight.classify import rules

BLOCKS = Path(__file__).parents[2] / "corpora" / "blocks"

CLASSES = {
    "exchange.cu": {
        "momentum_exchange": "elementwise",
        "pairs_exchange": "other",
        "window_max": "reduction",
    },
    "bins.cu": {
        "bins_weighted": "histogram",
        "bins_searched": "histogram",
        "bins_wide": "histogram",
        "bins_runs": "histogram",
        "spread": "gather_scatter",
    },
    "running.cu": {
        "column_sums": "scan",
        "column_peaks": "scan",
        "sweep_products": "scan",
        "sweep_peaks": "scan",
        "tree_share": "reduction",
    },
    "sorting.cu": {"sort_pairs": "sort"},
    "softmax_small.cu": {
        "softmax_double": "softmax",
        "softmax_pairs": "softmax",
        "range_pairs": "other",
    },
}


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("file", CLASSES)
def test_classes(file, arch):
    program = sassql.load(BLOCKS / file, arch=arch)
    assert {k.name: rules().class_of(k)[0] for k in program.kernels} == CLASSES[file]
