"""The pattern in docs/language.md holds what the page says."""

import re
from pathlib import Path

import pytest

from sassql.engine.pattern import Pattern
from sassql.lang.findings import CHECKS
from sassql.lang.vocabulary import (
    ADDRESS_ATTRIBUTES,
    ATTRIBUTES,
    FUNCTIONS,
    KERNEL_ATTRIBUTES,
    LOOP_ATTRIBUTES,
    VALUE_ATTRIBUTES,
)
from sassql.testing.blocks import Verdict, run

PAGE = Path("docs/language.md").read_text("utf-8")


EXAMPLES = re.findall(r"```sq\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES, ids=[re.search(r"motif (\w+)", e)[1] for e in EXAMPLES])
def test_every_pattern_of_the_page_works(text):
    verdicts = [outcome.verdict for outcome in run(Pattern.parse(text))]
    assert verdicts
    assert set(verdicts) == {Verdict.PASSED}


def test_the_page_has_examples_with_and_without_rows():
    assert len(EXAMPLES) > 7


def test_the_page_names_every_attribute_function_and_check():
    for name in ATTRIBUTES:
        assert f"`x.{name}`" in PAGE
    for name in (*FUNCTIONS, *KERNEL_ATTRIBUTES):
        assert name in PAGE
    for name in LOOP_ATTRIBUTES:
        assert f"`K.{name}`" in PAGE
    for name in VALUE_ATTRIBUTES:
        assert f"`%v.{name}`" in PAGE
    for name in ("base", "offset", "space", "bytes", "kind", "tid_x", "ctaid_z", "laneid"):
        assert f"`&A.{name}`" in PAGE
        assert name in ADDRESS_ATTRIBUTES
    numbers = set()
    for first, last in re.findall(r"SQ(\d{3})(?:[\u2013, ]+SQ(\d{3}))?", PAGE):
        numbers |= set(range(int(first), int(last or first) + 1))
    assert {int(number[2:]) for number in CHECKS} <= numbers
