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


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_a_convolution_whose_window_is_a_parameter(arch):
    kernels = {
        k.name: k for k in sassql.load(str(CORPUS.parent / "blocks" / "convolution.cu"), arch=arch).kernels
    }
    found = {name: rules().class_of(kernel)[0] for name, kernel in kernels.items()}

    assert found["depthwise_padded"] == "convolution_like"
    assert found["mean_padded"] != "convolution_like", "nothing is weighted"
