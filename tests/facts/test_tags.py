"""What the compiler adds of its own is tagged, on compiled kernels; nothing else is."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

import sassql.facts  # noqa: F401  (registers the analyses)
from sassql.model.kernel import Kernel, Source
from sassql.reading.compile import compile_cuda
from sassql.reading.cubin import read_module

ROOT = Path(__file__).parents[2]
OWN = Path(__file__).with_name("tags.cu")
LOWERING = ROOT / "corpora" / "lowering"
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")


@functools.cache
def kernels(path: Path, arch: str) -> dict[str, Kernel]:
    made = compile_cuda(path.read_text("utf-8"), name=str(path), arch=arch)
    module, problems = read_module(made.cubin, Source(path.name))
    assert problems == []
    return {kernel.name: kernel for kernel in module.kernels}


def tagged(kernel: Kernel, tag: str) -> list[int]:
    return [index for index, names in kernel.fact("tags").items() if tag in names]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_slow_paths_are_whole_routines(arch):
    kernel = kernels(OWN, arch)["divides"]
    names = {kernel.instructions[i].function for i in tagged(kernel, "slowpath")}
    for part in ("div_rn_noftz_f32", "div_rn_f64", "sqrt_rn_f64"):
        assert any(part in name for name in names), (part, names)
    assert kernel.name not in names
    inside = [ins.index for ins in kernel.instructions if ins.function != kernel.name]
    assert sorted(tagged(kernel, "slowpath")) == inside


def test_argument_reduction_is_a_slow_path():
    kernel = kernels(OWN, "sm_90")["rounds"]
    names = {kernel.instructions[i].function for i in tagged(kernel, "slowpath")}
    assert any("trig_reduction" in name for name in names)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_waiting_is_not_searching(arch):
    made = kernels(OWN, arch)
    assert made["waits"].fact("loop_tags") == ("spin",)
    assert "spin" in made["swaps"].fact("loop_tags")
    assert set(made["searches"].fact("loop_tags")) == {""}
    assert set(made["folds"].fact("loop_tags")) == {""}


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_branch_to_itself_is_padding(arch):
    kernel = kernels(OWN, arch)["hangs"]
    assert kernel.fact("loop_tags") == ("padding",)
    last = tagged(kernel, "padding")
    assert {kernel.instructions[i].opcode for i in last} <= {"NOP", "BRA"}


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_copies_for_diverged_warps(arch):
    kernel = kernels(LOWERING / "grid_reduction.cu", arch)["gr_lastblock"]
    copies = set(tagged(kernel, "div_copy"))
    branches = [i for i in kernel.instructions if i.opcode == "BRA" and "DIV" in i.modifiers]
    assert branches
    for branch in branches:
        assert kernel.at(branch.target).index in copies
        assert branch.index not in copies
    own = [i for i in kernel.instructions if i.opcode == "SHFL" and i.index not in kernel.fact("tags")]
    assert len(own) == 21  # four ladders and a broadcast: the main way has them all


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_what_never_runs_is_filler_or_padding(arch):
    never = 0
    for kernel in kernels(LOWERING / "gemm.cu", arch).values():
        tags = kernel.fact("tags")
        for ins in kernel.instructions:
            found = tags.get(ins.index, ())
            assert not {"slowpath", "div_copy"} & set(found)
            if ins.guard is not None and ins.guard.never:
                never += 1
                assert "filler" in found
            elif ins.opcode != "NOP" and ins.opcode != "BRA":
                assert found == ()
            if ins.opcode == "NOP":
                assert {"filler", "padding"} & set(found)
    assert never or arch != "sm_80"  # cp.async is followed by them there
