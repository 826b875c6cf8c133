"""Advice about the kernels of corpora/lowering: each finding has its truth in the CUDA source."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest
import running

import sassql
from sassql.errors import UsageError
from sassql.insight import advice_evaluate
from sassql.insight.advice import advise, group_advice
from sassql.insight.advice_evaluate import count, figures_of
from sassql.insight.advice_records import RULES
from sassql.insight.advice_walks import Walks

ARCHITECTURES = ("sm_75", "sm_90", "sm_120")
LAUNCH = running.LOWERING / "launch.toml"
DECOYS = re.findall(r"__global__ void (dc_\w+)\(", (running.LOWERING / "decoys.cu").read_text("utf-8"))

FLAT2, FLAT3, FLAT4 = (f"8*min(param{n}, nctaid.x*ntid.x)" for n in (2, 3, 4))
ROUND_TRIPS = {
    "rt_barrier_own": ["global", "thread", FLAT3],
    "rt_fence": ["global", "thread", FLAT3],
    "rt_volatile": ["global", "thread", FLAT3],
    "rt_alias_between": ["global", "thread", FLAT4],
    "rt_overwrite": ["global", "thread", FLAT2],
    "rt_syncwarp": ["global", "thread", "8*blocks*threads"],
    "rt_barrier_other": ["global", "block", "8*blocks*threads"],
    "rt_two_loops": ["global", "thread", "8*blocks*param3"],
    "rt_smem_sync": ["shared", "thread", "8*blocks*threads"],
    "copy_shared": ["shared", "thread", "8*blocks*threads"],
    "rms_residual_block": ["global", "thread", "8*blocks*param5"],
    "sm_block_mat": ["global", "thread", "8*blocks*param2"],
}
AFTER = (
    "rt_same_addr",
    "rt_same_addr_restrict",
    "rt_smem_nosync",
    "rt_fused",
    "rms_residual_reg128",
    "sm_online_warp",
    "attn_online_warp",
    "attn_flash_tile",
    "attn_smem_probs",
    "gemm_tiled16",
)
MERGED = {
    "sm_block_mat": "maximum and sum of exponentials",
    "sm_block_recompute": "maximum and sum of exponentials",
    "sm_block_smem_row": "maximum and sum of exponentials",
    "sm_thread_row": "maximum and sum of exponentials",
    "xent_warp": "maximum and sum of exponentials",
    "attn_naive_mat": "maximum, sum of exponentials and weighted sum",
    "attn_smem_probs": "maximum, sum of exponentials and weighted sum",
    "ln_twopass": "count, mean and sum of squared deviations (Welford)",
}
ONE_PASS = (
    "sm_online_warp",
    "sm_warp_row128",
    "attn_online_warp",
    "attn_flash_tile",
    "ln_onepass_warp",
    "ln_welford_warp",
    "rms_warp",
    "br_max_row_sub",
    "gemm_naive",
)
AGAIN = {
    "sm_block_recompute": (3, "8*blocks*param2"),
    "sm_block_mat": (2, "4*blocks*param2"),
    "sm_thread_row": (3, "8*min(param2, nctaid.x*ntid.x)*param3"),
    "sm_online_warp": (2, "4*warps*param2"),
    "ln_twopass": (3, "8*blocks*param4"),
    "ln_onepass_warp": (2, "4*warps*param4"),
    "rms_warp": (2, "4*warps*param3"),
    "xent_warp": (2, "4*warps*param3"),
    "rt_reload_alias": (2, "4*min(param3, nctaid.x*ntid.x)"),
}
LOADED_ONCE = ("rt_reload_restrict", "sm_warp_row128", "rms_residual_reg128", "gemm_tiled16", "ew_relu")
PLACES = {
    "br_sum_serial2": ("shared scalar", 2),
    "br_sum_tree": ("shared memory", 1),
    "br_sum_tree256": ("shared memory", 8),
    "br_max_row_sub": ("register of each thread", 1),
    "wr_sum_down_bcast": ("register of one lane", 0),
}


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_a_round_trip_and_the_bytes_that_it_costs(lowering, name, arch):
    (found,) = sassql.advise(lowering(name, arch), rules=[1]).findings
    space, scope, formula = ROUND_TRIPS[name]

    assert (found.rule, found.details["scope"]) == (1, scope)
    assert (found.effects[0].unit, found.effects[0].formula) == (f"bytes of {space} memory", formula)
    assert found.conditions and found.action
    assert found.at == tuple(sorted(found.at)) and len(found.at) >= 2


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", AFTER)
def test_no_round_trip_where_the_source_has_none_or_the_compiler_removed_it(lowering, name, arch):
    assert sassql.advise(lowering(name, arch), rules=[1]).findings == ()


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_probabilities_in_global_memory_are_two_round_trips(lowering, arch):
    scores, probabilities = sassql.advise(lowering("attn_naive_mat", arch), rules=[1]).findings

    assert (scores.details["scope"], scores.details["overwritten"]) == ("thread", True)
    assert scores.effects[0].formula == "8*blocks*param5"
    assert (probabilities.details["scope"], probabilities.status) == ("block", "maybe")
    assert probabilities.details["bytes_per_block"] == "4*param5"
    assert probabilities.effects[0].parts == {
        "read back": "4*nctaid.x*min(64, ntid.x)*param5",
        "written": "4*blocks*param5",
    }


def test_premises_name_what_the_binary_does_not_show(lowering):
    def premises(name):
        (found,) = sassql.advise(lowering(name), rules=[1]).findings
        return " / ".join(found.conditions)

    assert "param1 is not read outside of the kernel" in premises("rt_barrier_own")
    assert "param1 and param2 do not overlap" in premises("rt_alias_between")
    assert "volatile" in premises("rt_volatile")
    assert "fence" in premises("rt_fence")
    assert "no block reads the part" in premises("rt_barrier_other")
    assert "overwritten at 0x160" in premises("rt_overwrite")
    assert "outside of the kernel" not in premises("rt_overwrite")


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", MERGED)
def test_passes_that_a_running_state_merges(lowering, name, arch):
    (found,) = sassql.advise(lowering(name, arch), rules=[4]).findings

    assert (found.details["state"], found.details["level"]) == (MERGED[name], "E4")
    assert "level E4" in found.conditions[0]
    assert found.details["monoid"].startswith("(")


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", ONE_PASS)
def test_nothing_to_merge(lowering, name, arch):
    assert sassql.advise(lowering(name, arch), rules=[4]).findings == ()


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", AGAIN)
def test_data_that_are_loaded_again(lowering, name, arch):
    (found,) = sassql.advise(lowering(name, arch), rules=[3]).findings
    times, formula = AGAIN[name]

    assert (found.details["times"], found.effects[0].formula) == (times, formula)
    assert found.conditions


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", LOADED_ONCE)
def test_data_that_are_loaded_once(lowering, name, arch):
    assert sassql.advise(lowering(name, arch), rules=[3]).findings == ()


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_matrix_product_without_tiles_loads_rows_again_for_each_thread(lowering, arch):
    found = sassql.advise(lowering("gemm_naive", arch), rules=[3]).findings
    product = "4*min(param4, nctaid.x*ntid.x)*min(param3, nctaid.y*ntid.y)*param5"

    assert {f.details["buffer"]: f.effects[0].formula for f in found} == {
        "param0": f"{product}*(1 - 1/ntid.x)",
        "param1": f"{product}*(1 - 1/ntid.y)",
    }


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", PLACES)
def test_where_a_result_lives(lowering, name, arch):
    (found,) = sassql.advise(lowering(name, arch), rules=[2]).findings
    place, barriers = PLACES[name]

    assert (found.details["place"], found.details["barriers"]) == (place, barriers)


def test_integers_of_a_warp_are_folded_by_one_instruction_where_there_is_one(lowering):
    (found,) = sassql.advise(lowering("wr_isum_xor", "sm_80"), rules=[2]).findings

    assert "__reduce_add_sync" in found.action
    assert sassql.advise(lowering("wr_isum_xor", "sm_75"), rules=[2]).findings == ()
    assert sassql.advise(lowering("wr_isum_redux", "sm_80"), rules=[2]).findings == ()


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", DECOYS)
def test_decoys_get_no_advice(lowering, name, arch):
    assert sassql.advise(lowering(name, arch)).findings == ()


def test_a_fusion_has_its_price(lowering):
    advice = sassql.advise(lowering("sm_block_mat"), launch=LAUNCH)
    (price,) = advice.of_rule(5)

    assert price.kind == "room for a fusion"
    assert (
        price.details["registers"] + price.details["register_room"] == 32
    )  # 2,048 threads and 65,536 registers
    assert "64 threads" in price.conditions[0] and "assumed" not in price.conditions[0]
    (assumed,) = sassql.advise(lowering("sm_block_mat")).of_rule(5)
    assert (assumed.status, assumed.why) == ("maybe", "the size of a block is assumed")


SPILLING = """
extern "C" __global__ void __launch_bounds__(1024, 2) spilling(const float* x, float* y, int n) {
  float v[64];
  for (int j = 0; j < 64; j++) v[j] = x[threadIdx.x * 64 + j];
  __syncthreads();
  for (int k = 0; k < n; k++)
    for (int j = 0; j < 64; j++) v[j] = v[j] * v[(j + 7) % 64] + 1.f;
  for (int j = 0; j < 64; j++) y[threadIdx.x * 64 + j] = v[j];
}
"""


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_spills(tmp_path, arch):
    path = tmp_path / "spilling.cu"
    path.write_text(SPILLING)
    (kernel,) = sassql.load(path, arch=arch).kernels
    (found,) = [f for f in sassql.advise(kernel).of_rule(5) if "spilled" in f.kind]

    assert found.details["spilled_bytes"] > 0
    assert found.effects[0].unit == "bytes of local memory"
    assert found.effects[0].formula != "0"


def test_numbers_of_a_launch(lowering):
    (found,) = sassql.advise(lowering("rt_barrier_own"), launch=LAUNCH, rules=[1]).findings

    assert [(dict(shape), value) for shape, value in found.effects[0].values] == [
        ({"n": 100}, 800),
        ({"n": 128}, 1024),
    ]


@pytest.mark.parametrize("n", [10_000_001, 400_000_003])
def test_a_large_launch(lowering, n):
    launch = {
        "launch": {"block": 256, "grid": "ceil(n / 256)", "args": ["x:in:f32[n]", "T:out:f32[n]", "y:out:f32[n]", "n:i32"]},
        "shape": [{"n": n}],
    }  # fmt: skip
    (found,) = sassql.advise(lowering("rt_barrier_own"), launch=launch, rules=[1]).findings

    assert [value for _, value in found.effects[0].values] == [8 * n]


def test_a_launch_of_any_size_is_counted_like_a_small_one(lowering, monkeypatch):
    """Closed sums against one thread after the other, wherever both have an answer."""
    both = 0
    for name in ("ew_relu", "ew_scale_gs", "gemm_naive", "aff_channel", "sm_thread_row", "rt_reload_alias"):
        kernel = lowering(name)
        for figures in figures_of(kernel, LAUNCH):
            for walk in Walks(kernel):
                one_by_one = count(walk.extent, figures)
                with monkeypatch.context() as limited:
                    limited.setattr(advice_evaluate, "MOST_THREADS", 0)
                    closed = count(walk.extent, figures)
                if closed is not None:
                    assert closed == one_by_one, (name, figures.shape, walk.at)
                    both += 1
    assert both >= 20


def test_a_launch_that_does_not_fit_is_refused(lowering):
    launch = {"launch": {"block": 64, "grid": 1, "args": ["n:i32=1"]}}
    with pytest.raises(UsageError, match="has 4 parameters, and the launch gives 1"):
        sassql.advise(lowering("rt_barrier_own"), launch=launch)


def test_findings_are_frozen_and_plain(lowering):
    advice = sassql.advise(lowering("attn_naive_mat"), launch=LAUNCH)
    with pytest.raises(dataclasses.FrozenInstanceError):
        advice.findings[0].rule = 2
    record = json.loads(json.dumps(advice.as_record()))

    assert [f["rule"] for f in record["findings"]] == sorted(f["rule"] for f in record["findings"])
    for finding in record["findings"]:
        assert finding["conditions"] and finding["action"] and finding["at"]
        assert finding["status"] == "certain" or finding["why"]
        assert all(re.fullmatch(r"0x[0-9a-f]+", place) for place in finding["at"])


def test_the_same_finding_in_kernels_of_different_layers(lowering):
    names = ("sm_block_mat", "xent_warp", "attn_naive_mat", "ln_twopass", "rms_residual_block", "ew_relu")
    groups = group_advice(advise(lowering(name), rules=[1, 4]) for name in names)
    found = {(group.rule, group.kind): group.kernels for group in groups}

    assert found[(4, "passes that a running state merges")] == (
        "attn_naive_mat", "ln_twopass", "sm_block_mat", "xent_warp",
    )  # fmt: skip
    assert found[(1, "round trip of one thread")] == ("attn_naive_mat", "rms_residual_block", "sm_block_mat")
    assert all(group.as_record()["rule"] == 6 for group in groups)
    assert set(RULES) == {1, 2, 3, 4, 5, 6}
