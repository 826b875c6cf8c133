"""Levels of pairs, what is refused, and what must never be called equal."""

from __future__ import annotations

import json

import numpy as np
import pytest
from running import LAUNCH

import sassql
from sassql.cli.main import main
from sassql.errors import UsageError
from sassql.insight.compare import compare
from sassql.insight.launch import evaluate, parse_argument, read_launch
from sassql.insight.levels import close
from sassql.insight.reference import compare_with_numpy

ROWS = [line.split("\t") for line in (LAUNCH.parent / "pairs.tsv").read_text("utf-8").splitlines()[1:]]
FAST = [
    ("ew_relu", "ew_relu_select", "E0"),
    ("ew_divs", "ew_fdividef", "E3"),
    ("ew_sigmoid", "ew_sigmoid_fast", "E3"),
    ("aff_scalar", "aff_nocontract", "E2"),
    ("rt_barrier_own", "rt_overwrite", "E0"),
    ("rt_barrier_own", "rt_barrier_other", "not_shown"),
    ("wr_sum_xor", "wr_sum_rolled", "E0"),
    ("wr_sum_xor", "wr_sum_xor_up", "E1"),
    ("wr_sum_xor", "dc_fake_ladder", "not_shown"),
    ("wr_sum_xor", "dc_wht", "not_shown"),
    ("gr_pass1", "gr_lastblock", "E1"),
    ("gr_pass1", "gr_atomic_thread", "not_shown"),
    ("sm_block_mat", "sm_block_recompute", "E4"),
    ("gemm_naive", "gemm_tiled16", "E1"),
    ("tr_shared", "tr_padded", "E0"),
    ("wr_isum_xor", "wr_isum_redux", "E0"),
    ("wr_imax_xor", "wr_imax_redux", "E0"),
]


@pytest.mark.parametrize(("a", "b", "level"), FAST)
def test_the_level_of_a_pair(a, b, level, lowering):
    found = compare(lowering(a), lowering(b), LAUNCH)

    assert found.level == level, found.reason
    assert bool(found.reason) == (level != "E0")
    assert found.equivalences["bitwise"] == (level == "E0")
    assert found.equivalences["mathematical"] == (level != "not_shown")


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_every_pair_stands_at_its_level_or_a_stronger_one(arch, lowering):
    order = ["E0", "E1", "E2", "E3", "E4", "not_shown"]
    for a, b, text in ROWS:
        kernels = lowering(a, arch), lowering(b, arch)
        if None in kernels:
            continue
        level = compare(*kernels, LAUNCH).level
        # zeros that pad a tile drop out of a sum, so E1 and not the E4 of the table
        wanted = "E1" if text.startswith("E0 when") else text
        assert order.index(level) <= order.index(wanted), (a, b, level)
        assert (level == "not_shown") == (wanted == "not_shown"), (a, b, level)


def test_padding_is_bitwise_where_there_is_none(lowering):
    shapes = [{"M": 16, "N": 16, "K": 16}, {"M": 17, "N": 20, "K": 112}]

    found = compare(lowering("gemm_naive"), lowering("gemm_tiled16"), LAUNCH, shapes=shapes, coverage=False)

    assert found.level == "E0"


@pytest.mark.parametrize("name", ["ew_divs", "sm_online_warp", "gemm_tiled16", "wr_imax_xor", "scan_block"])
def test_the_same_source_is_bitwise_equal_across_architectures(name, lowering):
    for arch in ("sm_75", "sm_80", "sm_100", "sm_120"):
        found = compare(lowering(name, arch), lowering(name), LAUNCH)

        assert found.level == "E0", (arch, found.reason)


def test_a_launch_that_leaves_blocks_out_is_refused(lowering):
    found = compare(lowering("dot_thread"), lowering("dot_thread"), LAUNCH, shapes=[{"n": 3}])

    assert found.level == "refused"
    assert "ran on no shape" in found.reason


def test_what_is_read_outside_of_a_buffer_is_never_equal(lowering):
    launch = {
        "launch": {"block": 64, "grid": 2, "args": ["x:in:f32[100]", "y:out:f32[128]", "n:i32=128"]},
    }

    found = compare(lowering("ew_relu"), lowering("ew_relu"), launch)

    assert found.level == "not_shown"
    assert "LDG" in found.reason
    assert "of x, which has 400" in found.reason


def test_a_compare_and_swap_of_unknown_data_is_refused(lowering):
    found = compare(lowering("gr_cas_fmax"), lowering("gr_cas_fmax"), LAUNCH)

    assert found.level == "refused"
    assert "ATOMG.E.CAS" in found.reason
    assert " at 0x" in found.reason


def test_predicted_errors_tell_one_pass_from_two(lowering):
    launch = read_launch(LAUNCH, "ln_twopass", "ln_onepass_warp")
    sides = []
    for side in (launch.a, launch.b):
        arguments = tuple(
            parse_argument("x:in:f32[rows*n]=29..31") if a.name == "x" else a for a in side.arguments
        )
        sides.append(type(side)(side.block, side.grid, side.shared, arguments))

    far = type(launch)(sides[0], sides[1], launch.shapes)
    found = compare(lowering("ln_twopass"), lowering("ln_onepass_warp"), far)

    assert found.level == "E4"
    assert found.error_b > 10 * found.error_a
    assert found.equivalences["semantic"]


def test_a_kernel_against_numpy(lowering):
    def right(x, n):
        x = x.reshape(-1, n)
        return np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)

    def wrong(x, n):
        return right(x, n) * (1 + 1e-6)

    assert compare_with_numpy(lowering("sm_online_warp"), right, LAUNCH).level == "E4"
    assert compare_with_numpy(lowering("sm_online_warp"), wrong, LAUNCH).level == "not_shown"


def test_reals_are_close_only_where_they_are():
    one = np.array([[1.0, 2.0], [1.0, 2.0], [np.nan, np.nan], [0.0, 1e-30]])
    other = np.array([[1.0, 2.0 + 1e-12], [1.0, 2.0 + 1e-6], [np.nan, np.nan], [0.0, -1e-30]])

    assert close(one, other).tolist() == [True, False, False, True]


# --- launch descriptions


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x:in:f99[n]", "the unknown type 'f99'"),
        ("x in f32", "is no argument"),
        ("x:into:f32[n]", "is no argument"),
    ],
)
def test_a_wrong_argument_is_said_in_a_line(text, message):
    with pytest.raises(UsageError, match=message):
        parse_argument(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n +", "cannot evaluate"),
        ("m", "the shape has no 'm'"),
        ("open('x')", "no arithmetic"),
        ("n / 0", "cannot evaluate"),
    ],
)
def test_a_wrong_size_is_said_in_a_line(text, message):
    with pytest.raises(UsageError, match=message):
        evaluate(text, {"n": 3})


def test_a_launch_must_fit_the_kernel(lowering):
    kernel = lowering("ew_relu")

    with pytest.raises(UsageError, match="has 3 parameters, and the launch gives 1"):
        compare(kernel, kernel, {"launch": {"block": 32, "grid": 1, "args": ["n:i32=1"]}})
    with pytest.raises(UsageError, match=r"\[kernel.ew_nothing\]"):
        read_launch(LAUNCH, "ew_nothing")
    with pytest.raises(UsageError, match="cannot read the launch file"):
        compare(kernel, kernel, "no_such.toml")


# --- the command


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as done:
        main(["compare", *arguments])
    return done.value.code, capsys.readouterr()


def test_the_command_prints_a_row(capsys):
    source = str(LAUNCH.parent / "warp_reduction.cu")

    code, out = run(
        capsys,
        f"{source}:wr_sum_xor",
        f"{source}:wr_sum_xor_up",
        "--launch",
        str(LAUNCH),
        "--format",
        "jsonl",
    )
    row = json.loads(out.out)

    assert code == 0
    assert row["level"] == "E1"
    assert row["outputs"] == {"y": "E1"}
    assert row["equivalences"] == {
        "bitwise": False,
        "numerical": True,
        "mathematical": True,
        "semantic": True,
    }
    assert 0 < row["error_a"] < 1e-6


def test_the_command_has_exit_codes(capsys, tmp_path):
    source = str(LAUNCH.parent / "warp_reduction.cu")
    decoys = str(LAUNCH.parent / "decoys.cu")
    launch = ["--launch", str(LAUNCH)]

    assert run(capsys, f"{source}:wr_sum_xor", f"{decoys}:dc_wht", *launch)[0] == 1
    assert run(capsys, f"{source}:wr_sum_xor", *launch)[0] == 2
    assert run(capsys, f"{source}:no_such", f"{source}:wr_sum_xor", *launch)[0] == 2
    assert run(capsys, str(tmp_path / "none.cubin"), f"{source}:wr_sum_xor", *launch)[0] == 2
    assert run(capsys, f"{source}:wr_sum_rolled", f"{source}:wr_sum_xor", *launch, "--shape", "B=x")[0] == 2
    grid = str(LAUNCH.parent / "grid_reduction.cu")
    assert run(capsys, f"{grid}:gr_cas_fmax", f"{grid}:gr_cas_fmax", *launch)[0] == 3


def test_the_command_takes_a_reference(capsys, tmp_path):
    reference = tmp_path / "ref.py"
    reference.write_text("import numpy as np\n\ndef relu(x):\n    return np.maximum(x, 0)\n", "utf-8")
    source = str(LAUNCH.parent / "elementwise.cu")

    code, out = run(capsys, f"{source}:ew_relu", "--numpy", f"{reference}:relu", "--launch", str(LAUNCH))

    assert code == 0
    assert "E4" in out.out


def test_the_public_name():
    assert sassql.compare is compare
