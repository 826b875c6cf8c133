"""Static occupancy agrees with NVIDIA's own calculation, which is a C header of the toolkit."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from importlib.metadata import files

import pytest

from sassql.insight.occupancy import occupancy
from sassql.isa.multiprocessors import multiprocessor
from sassql.model.kernel import Resources

ARCHITECTURES = ["75", "80", "86", "87", "89", "90", "100", "103", "110", "120", "121"]

PROGRAM = r"""
#include <cuda_occupancy.h>
#include <stdio.h>
#include <string.h>
int main(void) {
  int major, minor, warps, shared, block_shared, kept, registers, bytes, threads;
  while (scanf("%d %d %d %d %d %d %d %d %d", &major, &minor, &warps, &shared, &block_shared, &kept, &registers,
               &bytes, &threads) == 9) {
    cudaOccDeviceProp p; memset(&p, 0, sizeof p);
    p.computeMajor = major; p.computeMinor = minor; p.maxThreadsPerBlock = 1024;
    p.maxThreadsPerMultiprocessor = 32 * warps; p.regsPerBlock = 65536; p.regsPerMultiprocessor = 65536;
    p.warpSize = 32; p.sharedMemPerBlock = block_shared; p.sharedMemPerMultiprocessor = shared;
    p.sharedMemPerBlockOptin = block_shared; p.reservedSharedMemPerBlock = kept; p.numSms = 1;
    cudaOccFuncAttributes f; memset(&f, 0, sizeof f);
    f.maxThreadsPerBlock = 1024; f.numRegs = registers; f.sharedSizeBytes = bytes;
    f.maxDynamicSharedSizeBytes = 0; f.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    cudaOccDeviceState s; memset(&s, 0, sizeof s);
    s.carveoutConfig = 100;
    cudaOccResult r; memset(&r, 0, sizeof r);
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &f, &s, threads, 0)) printf("-1\n");
    else printf("%d\n", r.activeBlocksPerMultiprocessor);
  }
}
"""


@pytest.fixture(scope="module")
def oracle(tmp_path_factory):
    """The header's answer for many kernels at once."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    header = next((f for f in files("nvidia-cuda-runtime") or () if f.name == "cuda_occupancy.h"), None)
    if compiler is None or header is None:
        pytest.skip("no C compiler, or no cuda_occupancy.h in the wheel nvidia-cuda-runtime")
    made = tmp_path_factory.mktemp("oracle")
    (made / "oracle.c").write_text(PROGRAM)
    include = str(header.locate().parent)
    subprocess.run([compiler, "-w", f"-I{include}", "oracle.c", "-o", "oracle"], cwd=made, check=True)

    def ask(lines):
        text = "\n".join(" ".join(map(str, line)) for line in lines)
        done = subprocess.run([made / "oracle"], input=text, capture_output=True, text=True, check=True)
        return [int(word) for word in done.stdout.split()]

    return ask


def test_blocks_agree_with_the_header(oracle):
    cases, ours = [], []
    for arch in ARCHITECTURES:
        limits = multiprocessor(f"sm_{arch}")
        for registers, shared, threads in itertools.product(
            (16, 32, 40, 63, 64, 65, 96, 128, 168, 200, 255),
            (0, 1024, 5000, 16384, 49152),
            (32, 96, 128, 256, 512, 1024),
        ):
            found = occupancy(f"sm_{arch}", Resources(registers=registers, shared=shared), threads)
            assert found is not None
            ours.append(found.blocks)
            major, minor = divmod(int(arch), 10)
            cases.append(
                (
                    major,
                    minor,
                    limits.warps,
                    limits.shared,
                    limits.block_shared,
                    limits.kept,
                    registers,
                    shared,
                    threads,
                )
            )
    theirs = oracle(cases)
    differing = [(c, o, t) for c, o, t in zip(cases, ours, theirs, strict=True) if o != t]

    assert len(theirs) == len(cases) == 11 * 11 * 5 * 6
    assert differing == []


def test_what_a_kernel_says_of_its_block_is_used():
    bound = occupancy("sm_90", Resources(registers=32, max_threads=128))
    fixed = occupancy("sm_90", Resources(registers=32, required_block=(8, 8, 8)))
    open_ = occupancy("sm_90", Resources(registers=32))

    assert bound is not None and fixed is not None and open_ is not None
    assert (bound.threads, bound.assumed) == (128, False)
    assert (fixed.threads, fixed.assumed) == (512, False)
    assert (open_.threads, open_.assumed) == (256, True)


def test_an_unknown_architecture_has_no_occupancy():
    assert occupancy("sm_88", Resources(registers=32)) is None
    assert occupancy("sm_999", Resources(registers=32)) is None
    assert occupancy("sm_90", Resources()) is None
