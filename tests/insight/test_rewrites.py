"""Rewrites of level E0: equal hashes mean equal bits, on graphs made at random, and what they must recognise."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from running import LAUNCH

from sassql.insight.compare import compare
from sassql.insight.dag import Dag
from sassql.insight.evaluation import rounded
from sassql.insight.exact import Exact
from sassql.insight.exhaustive import Exhaustive
from sassql.insight.hashing import equal
from sassql.insight.recognising import joined, low_of_extreme, narrowed

NUMBERS = [0, 1, 2, 5, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF]
FLOATS = [0, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x00000001, 0x80000003]
HALVES = [0, 0x8000, 1, 0x8001, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFE00]


class Few:
    """Samples out of a few values, in all kinds of combinations."""

    def __init__(self, values, count=600, seed=0):
        self.values, self.count, self.seed = np.array(values, np.uint64), count, seed

    def bits(self, name, kind, count):
        rng = np.random.default_rng(self.seed)
        return self.values[rng.integers(0, len(self.values), (64, self.count))][:count]


class Builder:
    """A graph, one node at a time."""

    def __init__(self):
        self.dag = Dag()
        self.x = self.dag.leaves("x", "i32", 5).tolist()
        self.true = self.dag.constant(1, 1)
        self.false = self.dag.constant(0, 1)

    def node(self, name, *arguments, parameters=(), result=0):
        number = self.dag.number(name, parameters, result)
        return int(self.dag.add(number, tuple(arguments), 1)[0])

    def sel(self, p, a, b):
        return self.node("sel", a, b, p)

    def compare(self, how, a, b, joined=None, *more):
        return self.node("icompare", a, b, joined or self.true, parameters=(how, *more, "AND"))

    def flip(self, p):
        return self.node("inot", p, parameters=("1",))

    def least(self, a, b, largest=False, *more):
        return self.node("imnmx", a, b, self.false if largest else self.true, parameters=more)

    def table(self, lut, p, q, r):
        number = self.dag.constant(lut, 32)
        return self.node("plop3", p, q, r, number, number)

    def same(self, a, b):
        exact = Exact(self.dag, np.array([a, b], np.int32))
        return bool(equal(exact.of(np.array([a])), exact.of(np.array([b])))[0])


def random_graph(seed):
    """Integers and predicates of a few operations over five unknowns."""
    rng, made = np.random.default_rng(seed), Builder()
    integers = [*made.x, *(made.dag.constant(n, 32) for n in (0, 1))]
    predicates = [made.true]

    def some(pool):
        return pool[int(rng.integers(max(0, len(pool) - 12), len(pool)))]

    for _ in range(250):
        a, b, c, p, q = some(integers), some(integers), some(integers), some(predicates), some(predicates)
        sign = ("U32",) if rng.integers(2) else ()
        match int(rng.integers(8)):
            case 0 | 1 | 2:
                integers.append(made.sel(p, a, b))
            case 3:
                integers.append(made.least(a, b, bool(rng.integers(2)), *sign))
            case 4:
                how = ["LT", "LE", "GT", "GE", "EQ", "NE"][int(rng.integers(6))]
                predicates.append(made.compare(how, a, b, some([made.true, p]), *sign))
            case 5:
                predicates.append(made.flip(p))
            case 6:
                predicates.append(made.table(int(rng.integers(256)), p, q, some(predicates)))
            case 7:
                lut = made.dag.constant([0xC0, 0xFC, 0x3C, 0x96][int(rng.integers(4))], 32)
                integers.append(made.node("lop3", a, b, c, lut, made.false))
                predicates.append(made.node("lop3", a, b, c, lut, p, result=1))
    return made, integers, predicates


@pytest.mark.parametrize("seed", range(40))
def test_equal_hashes_are_equal_values(seed):
    made, integers, predicates = random_graph(seed)
    for pool in (integers, predicates):
        wanted = np.unique(np.array(pool[-100:], np.int32))
        exact = Exact(made.dag, wanted)
        values = rounded(made.dag, wanted, Few(NUMBERS))
        groups = defaultdict(list)
        for place, node in enumerate(wanted.tolist()):
            groups[bool(exact.integer[node]), exact.hashes[node].tobytes()].append(place)
        assert any(len(group) > 1 for group in groups.values())
        for group in groups.values():
            assert (values[group] == values[group[0]]).all(), [int(wanted[n]) for n in group]


def test_selects_with_a_common_value_are_one():
    made = Builder()
    a, b, c, d, e = made.x
    p, q = made.compare("LT", c, d), made.compare("EQ", d, e)
    both = made.table(0x80, p, q, made.true)
    either = made.table(0xFC, p, q, made.true)

    assert made.same(made.sel(p, made.sel(q, a, b), b), made.sel(both, a, b))
    assert made.same(made.sel(p, a, made.sel(q, a, b)), made.sel(either, a, b))
    assert made.same(made.sel(p, made.sel(p, a, b), c), made.sel(p, a, c))
    assert not made.same(made.sel(p, made.sel(q, a, b), b), made.sel(either, a, b))
    assert not made.same(made.sel(p, made.sel(q, a, b), c), made.sel(both, a, c))


def test_a_select_of_a_minimum_is_a_select_by_a_comparison():
    made = Builder()
    a, b, c, d, _ = made.x
    p = made.compare("EQ", c, d)

    def by_comparison(how, *more):
        return made.sel(made.table(0x80, p, made.compare(how, a, b, None, *more), made.true), a, b)

    assert made.same(made.sel(p, made.least(a, b), b), by_comparison("LT"))
    assert made.same(made.sel(p, made.least(a, b, True), b), by_comparison("GT"))
    assert made.same(made.sel(p, made.least(a, b, True, "U32"), b), by_comparison("GT", "U32"))
    assert not made.same(made.sel(p, made.least(a, b), b), by_comparison("GT"))
    assert not made.same(made.sel(p, made.least(a, b), b), by_comparison("LT", "U32"))


def test_what_flushes_denormal_numbers_is_not_its_operand():
    made = Builder()
    a, b = made.x[:2]
    p = made.compare("EQ", a, b)

    assert not made.same(made.node("fselect", a, a, p, parameters=("FTZ",)), a)
    assert not made.same(made.node("fmnmx", a, a, made.true, parameters=("FTZ",)), a)
    assert made.same(made.node("fmnmx", a, a, made.true), a)


@pytest.mark.parametrize("how", ["GT", "GE", "LT", "LE"])
@pytest.mark.parametrize("sign", [(), ("U32",)])
@pytest.mark.parametrize("known", [None, (3, 7), (7, 3), (3, 3)])
def test_words_picked_by_a_comparison_of_pairs(how, sign, known):
    """The low word of the extreme, or nothing: never another value."""
    made = Builder()
    dag = made.dag
    low = made.x[:2] if known is None else [dag.constant(n, 32) for n in known]
    high = made.x[2:4]
    for says in (made.compare(how, *low, None, "U32"), made.true, made.false, made.compare(how, *low)):
        whole = made.node("icompare_ex", *high, made.true, says, parameters=(how, *sign, "AND"))
        a, b, p = (np.array([n], np.int32) for n in (*low, whole))
        found = low_of_extreme(dag, a, b, p)
        picked = [made.sel(whole, *low), made.sel(whole, *high)]
        if not found[0]:
            assert says != made.compare(how, *low, None, "U32")
            continue
        again = joined(dag, found, np.array([picked[1]], np.int32))
        assert dag.name(int(again[0])) == "imnmx64"
        upper = dag.word(again, 1)
        values = rounded(dag, np.array([*found, *upper, *picked], np.int32), Few(NUMBERS))
        assert (values[0] == values[2]).all()
        assert (values[1] == values[3]).all()


@pytest.mark.parametrize("most", [0, 1])
@pytest.mark.parametrize("parameters", [(), ("NAN",)])
def test_halves_through_32_bit_floats(most, parameters):
    made = Builder()
    dag = made.dag
    halves = dag.leaves("h", "f16", 2)
    minus, plus = dag.constant(0x8000, 16), dag.constant(0, 16)
    wide = [made.node("hadd_f32", h, minus) for h in halves]
    extreme = made.node("fmnmx", *wide, dag.constant(most, 1), parameters=parameters)
    plain = dag.add(dag.number("narrow"), (np.array([extreme]),), 1)

    found = narrowed(dag, (), np.array([extreme], np.int32))

    assert dag.name(int(found[0])) == "hmnmx"
    values = rounded(dag, np.array([*found, *plain], np.int32), Few(HALVES))
    nan = (values & 0x7FFF) > 0x7C00
    assert ((values[0] == values[1]) | nan.all(axis=0)).all()
    other = made.node("fmnmx", wide[0], made.node("hadd_f32", halves[1], plus), dag.constant(most, 1))
    assert dag.name(int(narrowed(dag, (), np.array([other], np.int32))[0])) == "narrow"
    flushed = made.node("fmnmx", *wide, dag.constant(most, 1), parameters=("FTZ",))
    assert dag.name(int(narrowed(dag, (), np.array([flushed], np.int32))[0])) == "narrow"


def test_all_values_of_one_unknown():
    made = Builder()
    dag = made.dag
    x, y = dag.leaves("h", "bf16", 2).tolist()
    zero, nothing = dag.constant(0, 16), dag.constant(0, 32)
    greatest = made.node("bmnmx", x, zero, made.false)

    def picked(how, value, other=None):
        words = [made.node("pack", v, other or zero) for v in (value, zero)]
        p = made.node("fcompare", made.node("pack", zero, value), nothing, made.true, parameters=(how, "AND"))
        return made.node("low_half", made.sel(p, *words))

    def same(a, b):
        return bool(Exhaustive(dag).same(np.array([a]), np.array([b]), "bf16")[0])

    assert same(greatest, picked("GT", x))
    assert not same(greatest, picked("GE", x))  # -0, and nothing else, differs
    assert not same(greatest, picked("GTU", x))  # a NaN
    assert not same(greatest, picked("GT", y))
    assert same(greatest, picked("GT", x, y))  # the other half does not count
    rounds = made.node("bmul", x, dag.constant(0x3F80, 16))
    assert not same(made.node("bmnmx", rounds, zero, made.false), greatest)


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("argmax_packed", "sm_120"),
        ("argmax_warp", "sm_75"),
        ("argmax_warp", "sm_100"),
        ("ew_gelu_erf", "sm_75"),
        ("ew_gelu_erf", "sm_100"),
        ("ew_sin", "sm_120"),
        ("ewh_relu", "sm_75"),
        ("ewh_relu_bf16", "sm_75"),
        ("wr_hmax2_xor", "sm_75"),
    ],
)
def test_an_architecture_that_emulates_an_instruction_gets_its_bits(name, arch, lowering):
    found = compare(lowering(name, "sm_80"), lowering(name, arch), LAUNCH, coverage=False)

    assert found.level == "E0", found.reason
