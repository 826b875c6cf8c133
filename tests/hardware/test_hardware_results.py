# ruff: noqa: RUF001  (minus signs of a printed table)
"""What was measured on hardware: the tables follow from the results, and the page says what they show."""

from __future__ import annotations

import json

import collect
import inputs
import numpy as np
import prepare
import pytest
import table
import traffic
import traffic_runner
import variants


@pytest.fixture(scope="module")
def results():
    return json.loads(table.RESULTS.read_text("utf-8"))


def test_the_page_has_the_tables_of_the_results(results):
    page = table.PAGE.read_text("utf-8")

    assert table.filled(page, results) == page
    for name in table.TABLES:
        assert f"<!-- begin {name} -->" in page
        assert table.TABLES[name](results) in page


def test_every_level_is_confirmed(results):
    said = {}
    for pair in results["pairs"]:
        said.setdefault(pair["level"], []).append(table.confirmed(pair))

    assert said["E0"] == [True] * 17
    assert [x for level in ("E1", "E2", "E3", "E4") for x in said[level]] == [True] * 22
    assert said["not_shown"] == [None] * 8
    assert all(p["bits differ"] for p in results["pairs"] if p["level"] == "not_shown")
    assert 100e6 < sum(p["elements"] for p in results["pairs"] if p["level"] == "E0") < 107e6


def test_other_options_keep_the_bits_where_they_are_said_to(results):
    exact = [g for g in results["variants"] if g["level"] == "E0"]
    close = [g for g in results["variants"] if g["level"] in ("E1", "E2", "E3", "E4")]

    assert sum(g["kernels"] for g in exact) == 350
    assert sum(g["bits differ"] + g["special bits differ"] for g in exact) == 0
    assert max(g["ratio"] or 0 for g in close) <= table.ALLOWED
    assert not any(g["harmed"] for g in results["variants"])


def test_levels_are_those_that_sassql_gives_today(results):
    levels = {(p["a"], p["b"]): p["level"] for p in results["pairs"]}
    kernels = prepare.Kernels().kernels

    for a, b in [("ew_divs", "ew_fdividef"), ("wr_sum_xor", "wr_sum_xor_up"), ("ew_relu", "ew_relu_select")]:
        assert prepare.compare(kernels[a], kernels[b], prepare.LAUNCH).level == levels[a, b]


def test_the_executor_foretells_every_bit_where_it_can(results):
    kernels = results["kernels"]
    exact = [k for k in kernels if not k["unmodelled"]]

    assert (len(kernels), len(exact)) == (149, 110)
    assert sum(k["bits differ"] for k in exact) == 0
    assert max(k["executor"] or 0 for k in kernels) < 1.6e-6
    assert max(k["reference"] or 0 for k in kernels) < 1e-5
    assert not any(k["wrong"] or k["harmed"] for k in kernels)


def test_bytes_of_dram_are_as_foretold(results):
    saves = [c for c in results["traffic"] if c["saved"]["dram"]["foretold"][1] > 0]
    within = [
        c
        for c in results["traffic"]
        if "**" not in table.off(*c["saved"]["dram"].values(), c["totals"]["dram"][0]["measured"])
    ]

    assert len(results["traffic"]) == len(within) == 23
    assert len(saves) >= 14
    for case in results["traffic"]:
        for driver, static in case["fit"]:
            assert driver == static
        assert case["difference"] < 1e-6


def test_a_wrong_level_would_show():
    part = {"measured": 3e-7, "predicted": 1e-7}
    none = {"measured": 0.0, "predicted": 0.0}
    pair = {"level": "E1", "harmed": [], "bits differ": 5, "launch": part, "larger": none}
    exact = {**pair, "level": "E0", "special bits differ": 0}

    assert table.confirmed(pair) is False
    assert table.confirmed({**pair, "launch": {"measured": 1.5e-7, "predicted": 1e-7}}) is True
    assert table.confirmed({**pair, "launch": none}) is False
    assert table.confirmed(exact) is False
    assert table.confirmed({**exact, "bits differ": 0, "special bits differ": 1}) is False
    assert table.confirmed({**exact, "bits differ": 0}) is True


def test_a_number_of_bytes_that_is_off_is_marked():
    assert table.off([1e9, 1e9], 1.05e9, 2e9) == "−4.8 %"
    assert table.off([1e9, 1e9], 2e9, 2e9) == "**−50.0 %**"
    assert table.off([1e9, 3e9], 2e9, 4e9) == "in range"
    assert table.off([1e9, 3e9], 4e9, 4e9) == "**out of range**"
    assert table.off([0, 0], 1e7, 1e9) == "1.0 % of all"
    assert table.off([0, 0], 5e8, 1e9) == "**50.0 % of all**"


@pytest.mark.parametrize(
    ("stream", "resident", "fit", "wanted"),
    [
        ({"load": "x"}, 1000, 8, ["dram"]),
        ({"load": "x", "again": "64"}, 1000, 8, ["l1"]),
        ({"store": "x", "again": "64"}, 1000, 8, ["l2"]),
        ({"load": "x", "again": "16384"}, 1000, 8, ["l2", "l1"]),
        ({"load": "x", "again": "4*n"}, 1000, 64, ["dram", "l2"]),
        ({"load": "x", "again": "8*n"}, 1000, 64, ["dram"]),
    ],
)
def test_where_a_stream_stops(stream, resident, fit, wanted):
    assert traffic.stops(stream, {"n": 12000}, resident, fit, 0) == wanted


def test_what_goes_to_dram_is_counted_at_every_level():
    streams = [{"load": "x", "bytes": "4*n"}, {"load": "x again", "bytes": "8*n", "stops": ["l1", "l2"]}]

    found = traffic.prediction(streams, {"n": 10}, 1, 1, 0)["bytes"]

    assert found == {"dram": [40, 40], "l2": [40, 120], "l1": [120, 120]}


def test_a_formula_of_advise_is_a_number():
    arguments = [{"direction": "in"}, {"direction": "", "value": 100}]
    record = {"arguments": arguments, "block": [64, 2, 1], "grid": [3, 1, 1]}

    assert traffic.number_of("4*min(param1, nctaid.x*ntid.x)", record) == 400
    assert traffic.number_of("4*blocks*param1*(1 - 1/ntid.y) + warps", record) == 600 + 12


def test_the_cases_can_be_prepared(tmp_path):
    cases = traffic.write(tmp_path)
    by_name = {case["name"]: case for case in cases}

    assert len(cases) == 23
    assert len({case["name"] for case in cases}) == 23
    round_trip = by_name["round trip through global memory, barrier between"]
    assert traffic.saved(round_trip, "dram") == (2**30, 2**30)
    assert round_trip["advised"]["bytes"] == 2**31
    assert (tmp_path / round_trip["after"]["cubin"]).exists()


def test_a_kernel_is_compared_with_its_other_machine_code(tmp_path):
    pairs = variants.write(tmp_path, {"aff_scalar"})
    levels = {pair["b"]: pair["verdicts"]["launch"]["level"] for pair in pairs}

    assert set(variants.OPTIONS) == set(table.OPTIONS)
    assert levels == {
        "aff_scalar O0": "E0",
        "aff_scalar registers": "E0",
        "aff_scalar nofma": "E2",
        "aff_scalar fast": "E3",
    }
    for pair in pairs:
        assert (tmp_path / pair["runs"][0]["b"]["cubin"]).exists()


def test_the_profilers_table_is_read():
    names = [f"{name}.sum" for names in collect.COUNTERS.values() for name in names]
    header = ",".join(f'"{name}"' for name in ["ID", "Kernel Name", *names])
    row = ",".join(f'"{v}"' for v in ["0", "k(float *)", "1,000", "24", "1", "2", "3", "4"])
    text = "\n".join(["==PROF== Connected", header, ",".join('"byte"' for _ in range(8)), row])

    assert collect.profiled(text) == [{"kernel": "k", "dram": 1024.0, "l2": 3.0, "l1": 7.0}]


def test_a_big_buffer_is_filled_with_copies_of_what_was_drawn():
    class Gpu:
        def __init__(self):
            self.memory = np.zeros(0, np.uint8)

        def allocate(self, size):
            self.memory = np.zeros(size, np.uint8)
            return 0

        def upload(self, address, data):
            self.memory[: data.nbytes] = data.view(np.uint8)

        def copy(self, target, source, size):
            self.memory[target : target + size] = self.memory[source : source + size]

    gpu, count = Gpu(), 2 * traffic_runner.PATTERN + 1000
    argument = {"name": "x", "own": "x", "direction": "in", "type": "f32", "count": count}
    traffic_runner.Memory(gpu, {"arguments": [argument]})
    drawn = inputs.draw("x", "f32", traffic_runner.PATTERN, 0)

    assert (gpu.memory.view(np.float32) == np.resize(drawn, count)).all()
