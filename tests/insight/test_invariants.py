"""Invariants of kernels of corpora/lowering: what the CUDA source says is what is said of the machine code."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from sassql.insight.invariants import invariants

ARCHITECTURES = ("sm_75", "sm_90", "sm_120")
LOWERING = Path(__file__).resolve().parents[2] / "corpora" / "lowering"


@pytest.fixture
def found(lowering):
    """The invariants of a kernel of the corpus."""
    return lambda name, arch="sm_90", **options: invariants(lowering(name, arch), **options)


def factors(reduction):
    return [(f.over, f.extent) for f in reduction.factors]


# --- dependency


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(
    "name",
    [
        "aff_scalar",
        "aff_saxpy",
        "ew_scale_gs",
        "ew_relu_f4",
        "ew_bias",
        "dc_horner_loop",
        "dc_recurrence",
        "gr_consume",
        "rt_barrier_own",
        "rt_smem_sync",
        "rt_two_loops",
        "copy_shared",
        "rope_fast",
    ],
)
def test_elementwise_kernels_are_proven(found, name, arch):
    result = found(name, arch)

    assert result.independence == "proven", result.why
    assert all(output.independence == "proven" for output in result.outputs)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("stencil3", "neighbour"),
        ("tr_naive", "axes exchanged"),
        ("reverse1d", "other end"),
        ("embed_gather", "loaded data choose"),
        ("scatter_perm", "loaded data choose"),
        ("dot_thread", "axis that the output lacks"),
        ("dc_smem_stencil", "shared memory"),
        ("rt_barrier_other", "global memory"),
        ("dc_bcast_input", "other lanes"),
        ("wr_sum_xor", "other lanes"),
        ("gr_atomic_thread", "atomic"),
    ],
)
def test_what_needs_other_elements_is_refuted(found, name, reason, arch):
    result = found(name, arch)

    assert result.independence == "refuted"
    assert reason in result.why
    assert any(output.because for output in result.outputs)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_sources_say_how_an_output_depends_on_them(found, arch):
    (output,) = found("aff_scalar", arch).outputs

    by = {source.name: (source.kind, source.by, source.relation) for source in output.sources}
    assert by["param0"] == ("load", ("value",), "own")
    assert by["param2"] == ("parameter", ("value",), "")  # a
    assert by["param3"] == ("parameter", ("value",), "")  # b
    assert by["param4"] == ("parameter", ("control",), "")  # n, the guard
    assert by["tid.x"][0] == "thread" and set(by["tid.x"][1]) == {"address", "control"}
    assert "param0" in output.premise


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_broadcast_input_is_one(found, arch):
    (output,) = found("ew_bias", arch).outputs

    relations = {s.name: s.relation for s in output.sources if s.kind == "load"}
    assert relations == {"param0": "own", "param1": "broadcast"}


OWN = """
extern "C" __global__ void lanes_share(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float s[32];
  int i = blockIdx.x * 256 + threadIdx.x;
  s[threadIdx.x % 32] = x[i];
  __syncthreads();
  y[i] = s[threadIdx.x % 32];
}
extern "C" __global__ void each_its_own(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float s[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  s[threadIdx.x] = x[i];
  __syncthreads();
  y[i] = s[threadIdx.x];
}
extern "C" __global__ void running_sum(const float* __restrict__ x, float* __restrict__ y, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k++) {
    sum += x[row * n + k];
    y[row * n + k] = sum;
  }
}
extern "C" __global__ void each_by_itself(const float* __restrict__ x, float* __restrict__ y, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < n; k++) {
    y[row * n + k] = x[row * n + k] * 2.f;
  }
}
extern "C" __global__ void next_of_four(const float* __restrict__ x, float* __restrict__ y) {
  int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  for (int k = 0; k < 4; k++) {
    y[i + k] = x[i + k + 1];
  }
}
extern "C" __global__ void turned_of_four(const float* __restrict__ x, float* __restrict__ y) {
  int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  for (int k = 0; k < 4; k++) {
    y[i + k] = x[i + 3 - k];
  }
}
extern "C" __global__ void chosen(const float* __restrict__ x, const int* __restrict__ m, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (m[i + 1] > 0) {
    y[i] = x[i];
  }
}
"""


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_kernels_that_differ_in_one_thing(arch):
    import sassql
    from sassql.reading.compile import compile_cuda

    cubin = compile_cuda(OWN, name="own.cu", arch=arch).cubin
    found = {k.name: invariants(k) for k in sassql.load(cubin).kernels}

    assert {name: result.independence for name, result in found.items()} == {
        "lanes_share": "unknown",
        "each_its_own": "proven",
        "running_sum": "refuted",
        "each_by_itself": "proven",
        "next_of_four": "refuted",
        "turned_of_four": "proven",
        "chosen": "refuted",
    }
    assert "several threads" in found["lanes_share"].why
    assert "earlier iterations" in found["running_sum"].why
    (source,) = (s for s in found["chosen"].outputs[0].sources if s.name == "param1")
    assert (source.by, source.relation) == (("control",), "shifted")


def test_a_barrier_hands_values_on_and_an_atomic_combines(found):
    counted = {s.name: s.by for s in found("br_count").outputs[0].sources}
    summed = {s.name: (s.by, s.relation) for s in found("gr_atomic_thread").outputs[0].sources}

    assert "value" in counted["param0"] and "value" in counted["param2"]
    assert summed["param1"] == (("value",), "own")


@pytest.mark.parametrize("arch", ["sm_90", "sm_120"])
def test_asynchronous_copies_are_loads(found, arch):
    (output,) = found("gemm_cpasync", arch).outputs

    assert {s.name for s in output.sources if s.kind == "load" and "value" in s.by} == {"param0", "param1"}


def test_a_place_that_is_not_known_leaves_it_open(found):
    result = found("ew_bias_mod")

    assert result.independence == "unknown"
    assert "not known" in result.why


# --- reductions


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(
    ("name", "width", "offsets"),
    [
        ("wr_sum_xor", 32, (16, 8, 4, 2, 1)),
        ("wr_sum_w8", 8, (4, 2, 1)),
        ("wr_sum_w16_down", 16, (8, 4, 2, 1)),
        ("dc_partial_ladder", 4, (16, 8)),
        ("wr_sum_rolled", 32, (16, 8, 4, 2, 1)),
    ],
)
def test_lanes_by_their_rank(found, name, width, offsets, arch):
    (reduction,) = found(name, arch).reductions

    (factor,) = reduction.factors
    assert (factor.over, factor.extent, factor.offsets) == ("lanes", str(width), offsets)
    assert 2**factor.rank == width


def test_a_width_that_is_a_parameter_stays_open(found):
    (reduction,) = found("wr_sum_paramwidth").reductions

    assert factors(reduction) == [("lanes", "?")]
    assert reduction.factors[0].rank is None


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_strides_tell_contiguous_from_strided(found, arch):
    (partial,) = found("dc_partial_ladder", arch).reductions
    (whole,) = found("wr_sum_xor", arch).reductions

    assert [(s.bytes, s.kind) for s in partial.factors[0].strides] == [("32", "strided")]
    assert [(s.bytes, s.kind) for s in whole.factors[0].strides] == [("4", "contiguous")]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_grid_reduction_is_a_product_of_four(found, arch):
    (reduction,) = found("dot_block_atomic", arch).reductions

    assert [f.over for f in reduction.factors] == ["loop", "lanes", "warps", "blocks"]
    loop, lanes, warps, blocks = reduction.factors
    assert loop.step == "nctaid.x*ntid.x" and loop.bound == "< param3"
    assert (lanes.extent, warps.extent, blocks.extent) == ("32", "ntid.x / 32", "nctaid.x")
    assert blocks.via == "atomic"
    assert {s.kind for s in lanes.strides} == {"contiguous"}
    assert {s.kind for s in loop.strides} == {"strided"}
    assert reduction.op == "sum_of_products" and reduction.order == "nondeterministic"


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(
    ("name", "over"),
    [
        ("br_sum_warp", ["lanes", "warps"]),
        ("br_sum_serial2", ["lanes", "warps"]),
        ("br_sum_tree", ["threads"]),
        ("gr_pass1", ["loop", "lanes", "warps", "blocks"]),
        ("gr_pass2", ["loop", "lanes"]),
        ("gr_lastblock", ["loop", "lanes", "warps", "blocks"]),
        ("dot_thread", ["loop"]),
        ("dot_warp", ["loop", "lanes"]),
        ("sm_thread_row", ["loop"]),
        ("br_count", ["threads"]),
    ],
)
def test_domains(found, name, over, arch):
    reductions = found(name, arch).reductions

    assert over in [[f.over for f in r.factors] for r in reductions], [r.text for r in reductions]


def test_a_tree_of_256_threads_says_so(found):
    (reduction,) = found("br_sum_tree256").reductions

    assert factors(reduction) == [("threads", "256")]


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(
    ("name", "op", "order"),
    [
        ("wr_sum_xor", "sum", "reassociable"),
        ("wr_max_xor", "max", "exact"),
        ("wr_isum_xor", "sum", "exact"),
        ("wr_imax_xor", "max", "exact"),
        ("wr_hsum2_xor", "sum", "reassociable"),
        ("br_any", "or", "exact"),
        ("gr_atomic_thread", "sum", "nondeterministic"),
        ("gr_atomic_int", "sum", "exact"),
        ("hist_global", "sum", "exact"),
        ("embed_scatter_add", "sum", "nondeterministic"),
        ("dc_recurrence", "recurrence", "fixed"),
        ("dc_horner_loop", "horner", "fixed"),
        ("sm_online_warp", "online", "reassociable"),
        ("ln_welford_warp", "welford", "reassociable"),
        ("scan_warp", "scan of sum", "reassociable"),
    ],
)
def test_order(found, name, op, order, arch):
    reductions = found(name, arch).reductions

    assert {(r.op, r.order) for r in reductions} == {(op, order)}


@pytest.mark.parametrize(
    "name", ["dc_bitonic", "dc_wht", "dc_fake_ladder", "dc_rotate", "dc_lcg", "dc_chase"]
)
def test_decoys_reduce_nothing(found, name):
    assert found(name).reductions == ()


# --- observability


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(
    ("name", "same", "sync"),
    [
        ("rt_barrier_own", True, ("barrier",)),
        ("rt_fence", True, ("fence",)),
        ("rt_volatile", True, ()),
        ("rt_two_loops", True, ("loop",)),
        ("rt_alias_between", True, ()),
        ("rt_barrier_other", False, ("barrier",)),
    ],
)
def test_round_trips(found, name, same, sync, arch):
    stores = found(name, arch).stores

    trip = next(s for s in stores if s.buffer == "param1")
    assert trip.fate == "round trip"
    (reader,) = trip.readers
    assert reader.same_thread is same
    assert reader.sync == sync
    assert "param1 is not read outside" in trip.removable
    assert ("register" in trip.removable) is same
    assert trip.premise
    assert {s.fate for s in stores if s.buffer != "param1"} == {"output"}


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_an_overwritten_store_is_dead_at_the_end(found, arch):
    first, last = found("rt_overwrite", arch).stores

    assert (first.fate, last.fate) == ("overwritten", "output")
    assert first.at < last.at
    assert "while the kernel runs" in first.removable


@pytest.mark.parametrize("name", ["rt_same_addr", "rt_reload_alias", "dc_store_then_load_other", "aff_saxpy"])
def test_stores_that_nobody_here_reads_are_outputs(found, name):
    assert {s.fate for s in found(name).stores} == {"output"}


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_shared_store_that_nobody_reads(found, arch):
    (dead,) = (s for s in found("rt_smem_nosync", arch).stores if s.fate == "never read")

    assert dead.buffer == "shared" and dead.removable
    assert not [s for s in found("rt_smem_sync", arch).stores if s.fate == "never read"]


# --- reuse


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_shared_tile_is_shared_along_an_axis(found, arch):
    reuse = found("gemm_tiled16", arch).reuse

    assert {r.count for r in reuse if r.kind == "shared"} == {"ntid.x", "ntid.y"}
    assert not [r for r in reuse if r.kind == "invariant"]  # the tile is filled anew


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_reload_names_the_store_that_forces_it(found, arch):
    (reload,) = (r for r in found("rt_reload_alias", arch).reuse if r.kind == "reload")

    assert reload.count == "2" and len(reload.at) == 2
    assert "param1" in reload.premise


def test_the_restricted_form_uses_the_register(found):
    reuse = found("rt_reload_restrict").reuse

    assert [(r.kind, r.count) for r in reuse] == [("register", "2")]


# --- numerics


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(
    ("name", "value"),
    [("aff_scalar", "contracted"), ("aff_nocontract", "separate"), ("aff_product_escapes", "separate")],
)
def test_contraction(found, name, value, arch):
    (statement,) = (n for n in found(name, arch).numerics if n.topic == "contraction")

    assert statement.value == value


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_functions(found, arch):
    def functions(name):
        return {n.value for n in found(name, arch).numerics if n.topic == "approximation"}

    assert functions("ew_divs") == {"division: exact"}
    assert functions("ew_fdividef") == {"division: approximate"}
    assert functions("dc_exp") == {"exponential: approximate"}
    assert functions("dc_intdiv") == set()


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_tensor_cores_accumulate_in_single_precision(found, arch):
    told = [n for n in found("gemm_wmma", arch).numerics if n.topic == "accumulation" and n.premise]

    assert {n.value for n in told} == {"f32"}


def test_flush_to_zero_is_an_option_of_the_compiler(tmp_path):
    import sassql
    from sassql.reading.compile import compile_cuda

    source = (LOWERING / "affine.cu").read_text("utf-8")
    values = []
    for options in ((), ("-ftz=true",)):
        cubin = compile_cuda(source, name="affine.cu", arch="sm_90", options=options).cubin
        kernel = next(k for k in sassql.load(cubin).kernels if k.name == "aff_scalar")
        (statement,) = (n for n in invariants(kernel).numerics if n.topic == "flush_to_zero")
        values.append(statement.value)

    assert values == ["none", "all"]


# --- all of it


def test_the_record_is_plain(found):
    record = found("gr_lastblock").as_record()

    assert json.loads(json.dumps(record)) == record
    assert list(record)[:6] == ["file", "entry", "kernel", "arch", "independence", "why"]
    for section in ("dependency", "reduction", "observability", "reuse", "numerics"):
        assert record[section], section
        for statement in record[section]:
            assert statement["text"]
            assert all(address.startswith("0x") for address in statement["at"])


def test_a_small_budget_gives_unknown_and_says_so(found):
    result = found("attn_flash_tile", budget=50)

    assert result.independence in ("unknown", "refuted")
    assert any("budget" in reason for reason in result.open)
    assert not any(output.independence == "proven" for output in result.outputs)


def test_what_memory_flow_left_out_is_never_a_proof(lowering, monkeypatch):
    from sassql.facts import memory_flow

    kernel = lowering("rt_barrier_own")
    kernel.forget()
    monkeypatch.setattr(memory_flow, "MOST_STEPS", 0)
    result = invariants(kernel)
    kernel.forget()

    assert result.independence != "proven"
    assert any("too many steps" in reason for reason in result.open)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_elementwise_classes_are_proven_and_no_others(lowering, arch):
    """The truth of the whole corpus: classes of names.tsv, and elementwise kernels of other classes."""
    with (LOWERING / "names.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    wrong = []
    for row in rows:
        kernel = lowering(row["kernel"], arch)
        if kernel is None:
            continue
        classes = {row["class"], *row["also"].split(",")}
        said = invariants(kernel).independence
        if said == "proven" and "elementwise" not in classes:
            wrong.append((row["kernel"], said))
        if said != "proven" and row["class"] == "elementwise":
            wrong.append((row["kernel"], said))

    assert wrong == [("ew_bias_mod", "unknown")]


# --- the page


PAGE = (LOWERING.parents[1] / "docs" / "invariants.md").read_text("utf-8")
COMMANDS = re.findall(r"^    \$ sassql (.+)\n((?:(?:    .*)?\n)+)", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[c.split()[3] for c, _ in COMMANDS])
def test_the_examples_of_the_page(sassql, monkeypatch, command, shown):
    monkeypatch.chdir(LOWERING.parents[1])
    done = sassql(*command.split(), "--jobs", "1")

    assert done.code == 0
    printed = [line.rstrip() for line in done.out.strip().splitlines()]
    for line, said in zip(printed, shown.strip("\n").splitlines(), strict=True):
        wanted = said.removeprefix("    ").rstrip()
        if wanted.endswith("…"):
            assert line.startswith(wanted.removesuffix("…").rstrip())
        else:
            assert line == wanted


def test_the_program_of_the_page(found, capsys, monkeypatch, tmp_path):
    from sassql.reading.compile import compile_cuda

    source = (LOWERING / "affine.cu").read_text("utf-8")
    (tmp_path / "kernel.cubin").write_bytes(compile_cuda(source, name="affine.cu", arch="sm_90").cubin)
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    exec(program, {})
