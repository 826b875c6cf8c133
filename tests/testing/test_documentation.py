"""The pattern in docs/language.md holds what the page says."""

import re
from pathlib import Path

from sassql.engine.pattern import Pattern
from sassql.lang.findings import CHECKS
from sassql.lang.vocabulary import ATTRIBUTES, FUNCTIONS, KERNEL_ATTRIBUTES
from sassql.testing.blocks import Verdict, run

PAGE = Path("docs/language.md").read_text("utf-8")


def test_the_first_pattern_of_the_page_works():
    text = re.search(r"```sq\n(.*?)```", PAGE, re.DOTALL)[1]
    assert [outcome.verdict for outcome in run(Pattern.parse(text))] == [Verdict.PASSED]


def test_the_page_names_every_attribute_function_and_check():
    for name in ATTRIBUTES:
        assert f"`x.{name}`" in PAGE
    for name in (*FUNCTIONS, *KERNEL_ATTRIBUTES):
        assert name in PAGE
    numbers = set()
    for first, last in re.findall(r"SQ(\d{3})(?:[\u2013, ]+SQ(\d{3}))?", PAGE):
        numbers |= set(range(int(first), int(last or first) + 1))
    assert {int(number[2:]) for number in CHECKS} <= numbers
