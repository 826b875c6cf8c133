"""Definitions, uses and calls of whole libraries against what nvdisasm marks.

Wheels are looked for in `SASSQL_TEST_WHEELS`. `SASSQL_TEST_LIBRARIES` names more files, all of
which are compared whole: libraries, wheels, cubins, with the path separator between them.
Cubins of the old ELF layout are judged where `SASSQL_NVDISASM_12` names an nvdisasm 12.x.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

WHEELS = Path(os.environ.get("SASSQL_TEST_WHEELS", "/tmp/wheels"))
NAMED = [Path(p) for p in os.environ.get("SASSQL_TEST_LIBRARIES", "").split(os.pathsep) if p]

LIBRARIES = [
    ("torchvision-0.29.1", "torchvision/_C_stable.so", 250_000),
    ("xformers-0.0.35", "xformers/_C.so", 250_000),
    ("bitsandbytes-0.50.2", "bitsandbytes/libbitsandbytes_cuda130.so", 750_000),
]
"""Wheel, library in it, and how many instructions are to be compared at least."""


def unpacked(folder: Path, wheel: str, library: str) -> Path:
    found = next(WHEELS.glob(wheel + "-*.whl"), None)
    if found is None:
        pytest.skip(f"no {wheel} wheel in {WHEELS}; fetch it with: pip download --no-deps")
    with zipfile.ZipFile(found) as archive:
        return Path(archive.extract(library, folder))


def assert_equal(scripts, path: Path, least: int) -> None:
    registers = scripts("oracle_registers")
    scores, unjudged = registers.compare(scripts("life_ranges").cubins(path), registers.Observations())
    for arch, score in scores.items():
        assert score.wrong == {}, (arch, score.examples)
        assert score.unknown == {}, (arch, score.examples)
        assert score.equal + score.known.total() == score.total
        assert score.calls == score.calls_equal
        assert set(score.unmarked) <= {"NOP"}, "padding only"
    judged = sum(score.total + score.calls for score in scores.values())
    if os.environ.get("SASSQL_NVDISASM_12"):
        assert unjudged == {}
    elif unjudged and judged < least:
        pytest.skip(f"{unjudged.total()} instructions of the old layout: name an nvdisasm 12.x")
    assert judged >= least


@pytest.mark.slow
@pytest.mark.parametrize(("wheel", "library", "least"), LIBRARIES, ids=str)
def test_libraries_of_wheels(scripts, tmp_path, wheel, library, least):
    assert_equal(scripts, unpacked(tmp_path, wheel, library), least)


@pytest.mark.slow
@pytest.mark.parametrize("path", NAMED, ids=lambda path: path.name)
def test_libraries_that_the_environment_names(scripts, path):
    assert_equal(scripts, path, 1)
