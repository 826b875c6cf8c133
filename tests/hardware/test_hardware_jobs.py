"""Jobs for a GPU, prepared and run without one."""

from __future__ import annotations

import json

import device_runner
import inputs
import numpy as np
import prepare
import pytest

from sassql.insight.launch import read_launch
from sassql.insight.launching import stage
from sassql.insight.sampling import Draws

ONLY = {
    "ew_scale/ew_scale_gs",
    "br_sum_warp/gr_pass1",
    "wr_sum_xor/dc_wht",
    "ew_sin",
    "gr_atomic_int",
    "dot_half2",
    "gr_lastblock",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("job")
    prepare.write(path, ONLY)
    return path


@pytest.fixture
def changed(folder, stand_in):
    """The results of a stand-in that changes what kernels write."""

    def run(change=lambda kernel, name, part: None):
        found = device_runner.run_job(stand_in(change), folder, seeds=2, big_seeds=1)
        return {f"{p['a']}/{p['b']}": p["runs"] for p in found["pairs"]}, found["singles"]

    return run


@pytest.mark.parametrize(
    "name", ["ew_divs", "ewh_axpb", "ewh_relu_bf16", "wr_dsum_xor", "dc_chase", "scatter_perm", "hist_shared",
             "gr_cas_fmax", "xent_warp", "dc_lcg", "dc_recurrence", "rms_warp", "gr_lastblock"]
)  # fmt: skip
def test_the_data_are_those_of_the_executor(name, lowering_kernels):
    launch = read_launch(prepare.LAUNCH, name)
    shape = launch.shapes[0]
    draws = Draws.of(launch, shape)
    staged = stage(lowering_kernels[name], launch.a, shape, True, draws)
    record = prepare.side_record(name, "", launch.a, shape)
    image = inputs.Image.of(record["arguments"], 0)
    base = lowering_kernels[name].resources.parameters

    for argument, parameter in zip(record["arguments"], base, strict=True):
        if argument["direction"]:
            wanted = staged.buffers[argument["name"]].known
            assert image.part(argument["name"]).tobytes() == np.ascontiguousarray(wanted).tobytes()
        else:
            raw = inputs.number(argument, 0)
            assert len(raw) == parameter.size
            if argument["type"] == "f32" and "value" not in argument:
                assert raw == draws.numbers(argument["name"], "f32", 1).tobytes()


@pytest.fixture(scope="module")
def lowering_kernels():
    return prepare.Kernels().kernels


def test_every_pair_has_shapes_beyond_the_launch_file():
    rows = (prepare.LOWERING / "pairs.tsv").read_text("utf-8").splitlines()[1:]

    for row in rows:
        a, b, _level = row.split("\t")
        launch = read_launch(prepare.LAUNCH, a, b)
        for shape in prepare.more_shapes(a, b).values():
            for kernel, side in ((a, launch.a), (b, launch.b)):
                assert prepare.side_record(kernel, "", side, shape)["arguments"]


def test_a_job_has_what_it_needs(folder):
    job = json.loads((folder / "job.json").read_text("utf-8"))

    assert {p["verdicts"]["launch"]["level"] for p in job["pairs"]} == {"E0", "E1", "not_shown"}
    for run in job["pairs"][0]["runs"]:
        assert (folder / run["a"]["cubin"]).exists()
    assert [r["kind"] for r in job["pairs"][0]["runs"]] == ["launch", "launch", "larger", "big"]


def test_equal_kernels_are_equal(changed):
    pairs, singles = changed()

    for run in pairs["ew_scale/ew_scale_gs"]:
        assert run["bits differ"] == 0
        assert run["elements"] == run["seeds"] * run["shape"]["n"]
        assert run["between"] == 0
        assert run["harmed"] == []
    assert pairs["br_sum_warp/gr_pass1"][0]["error_a"] < 1e-7
    assert pairs["wr_sum_xor/dc_wht"][0]["between"] > 0.1
    assert {s["kernel"] for s in singles} == {"ew_sin", "gr_atomic_int", "dot_half2", "gr_lastblock"}
    for single in singles:
        if single["kernel"] != "gr_lastblock":  # the stand-in leaves its scratch buffers alone
            assert (single["executor"] or 0) <= 1e-5, single
        assert (single["reference"] or 0) <= 1e-5, single
        assert single["harmed"] == []
    assert all(s["bits differ"] == 0 for s in singles if s["kernel"] == "gr_atomic_int")


def test_one_changed_bit_is_seen(changed):
    def change(kernel, name, part):
        if kernel == "ew_scale_gs":
            part[4] ^= 1

    pairs, _ = changed(change)

    assert [r["bits differ"] for r in pairs["ew_scale/ew_scale_gs"]] == [2, 2, 2, 1]


def test_an_undefined_value_is_seen(changed):
    def change(kernel, name, part):
        if kernel == "ew_scale_gs":
            part[:4] = 0xFF

    pairs, _ = changed(change)

    assert pairs["ew_scale/ew_scale_gs"][0]["only one is finite"] == 2
    assert pairs["ew_scale/ew_scale_gs"][0]["between"] == 0


def test_a_store_outside_of_the_buffers_is_seen(folder, stand_in):
    class Careless(stand_in):
        def run(self, side, image, seed):
            after = super().run(side, image, seed)
            after[image.places["y"][0] + image.places["y"][1]] ^= 1
            return after

    job = json.loads((folder / "job.json").read_text("utf-8"))
    run = job["pairs"][0]["runs"][0]

    assert "byte" in device_runner.pair_on_shape(Careless(), run, 1)["harmed"][0]
