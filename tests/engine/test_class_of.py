"""The class alone is the class that all motifs give."""

from __future__ import annotations

from pathlib import Path

import pytest

import sassql
from sassql.insight.classify import rules

CORPUS = Path(__file__).parents[2] / "corpora" / "lowering"


@pytest.mark.parametrize("file", ["softmax.cu", "layout.cu", "histogram.cu"])
def test_the_class_alone(file):
    for kernel in sassql.load(str(CORPUS / file)).kernels:
        whole = rules().classify(kernel)
        assert rules().class_of(kernel) == (whole.name, whole.status)
