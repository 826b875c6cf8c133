"""Three truth values, lists, functions."""

import pytest

from sassql.engine.expressions import MIXED, ColumnScope, Many, evaluate, single, truth
from sassql.lang.parse import parse

COLUMNS = {
    "a": 1,
    "b": 2,
    "u": None,
    "t": True,
    "f": False,
    "w": "word",
    "many": Many((1, 1)),
    "mix": Many((1, 2)),
}


def expression(text):
    return parse(f"motif m {{ where {text} }}").motifs[0].body[0].condition


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("rank(1, 2, 4)", 3),
        ("rank(16, 17, 1)", 2),  # 16 ^ 17 is 1
        ("rank(many, 3)", 2),
        ("rank(a, u)", None),
        ('case(a, 2, "two", 1, "one")', "one"),
        ('case(a, 2, "two", "else")', "else"),
        ('case(a, 2, "two")', None),
        ('case(u, 2, "two", "else")', None),
        ("first(u, b, a)", 2),
        ("first(u)", None),
        ("pow(2, 5)", 32),
        ("pow(2, u)", None),
        ("distinct(a, b, many)", 2),
        ("distinct(a, u)", None),
        ("relation(a, b)", None),
        ("lacks(a, b)", None),
    ],
)
def test_functions(text, value):
    assert single(evaluate(expression(f"{text} == 0").left, ColumnScope(COLUMNS))) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a == 1", True),
        ("a != 1", False),
        ("a < b", True),
        ("a >= b", False),
        ("u == 1", None),
        ("not u == 1", None),
        ("not a == 1", False),
        ("t and f", False),
        ("t and u == 1", None),
        ("f and u == 1", False),
        ("t or u == 1", True),
        ("f or u == 1", None),
        ("a in {1, 2}", True),
        ("a in {2, 3}", False),
        ("u in {1}", None),
        ("w == word", None),  # a symbol without meaning is unknown
        ('w == "word"', True),
        ("w matches /^wo/", True),
        ("w matches /x/", False),
        ("a matches /x/", None),
        ("w < 3", None),
        ("w == 3", False),
        ("many == 1", True),
        ("mix == 1", False),
        ("same(many)", True),
        ("same(mix)", False),
        ("same(a, many)", True),
        ("same(a, u)", None),
        ("same(a, b, u)", False),
        ("<add> == <add>", True),
        ("not (a == 1 and b == 2)", False),
    ],
)
def test_truth(text, value):
    assert truth(expression(text), ColumnScope(COLUMNS)) is value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a + b * 2", 5),
        ("(a + b) * 2", 6),
        ("b - a - 1", 0),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("7 / 2.0", 3.5),
        ("a / 0", None),
        ("-b", -2),
        ("u + 1", None),
        ("w + 1", None),
        ("count(mix)", 2),
        ("count(u)", 0),
        ("sum(mix)", 3),
        ("max(mix, b)", 2),
        ("min(mix)", 1),
        ("sum(w)", None),
        ("<add>", "<add>"),
        ("MUFU", "MUFU"),
    ],
)
def test_values(text, value):
    assert evaluate(expression(text), ColumnScope(COLUMNS)) == value


def test_a_list_stands_for_its_common_value():
    assert single(Many((3, 3))) == 3
    assert single(Many((3, 4))) is MIXED
    assert single(Many(())) is None


def test_the_language_and_the_engine_know_the_same_functions_and_attributes():
    from sassql.engine import attributes
    from sassql.engine.expressions import FUNCTIONS
    from sassql.lang import vocabulary

    assert set(FUNCTIONS) == set(vocabulary.FUNCTIONS)
    assert set(attributes.LABEL) == set(vocabulary.ATTRIBUTES)
    assert set(attributes.VALUE) == set(vocabulary.VALUE_ATTRIBUTES)
    assert set(attributes.LOOP) | {"has"} == set(vocabulary.LOOP_ATTRIBUTES)
    assert {*attributes.ADDRESS, "stride"} == set(vocabulary.ADDRESS_ATTRIBUTES)
    assert {*attributes.KERNEL, "has"} == set(vocabulary.KERNEL_ATTRIBUTES)
