"""Kernels of corpora/lowering, compiled once a session and an architecture."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import running

import sassql


@functools.cache
def _kernels(file: str, arch: str):
    return {kernel.name: kernel for kernel in sassql.load(running.LOWERING / file, arch=arch).kernels}


@functools.cache
def _file_of(name: str) -> str:
    for path in sorted(running.LOWERING.glob("*.cu")):
        if f" {name}(" in path.read_text("utf-8"):
            return path.name
    raise KeyError(name)


@pytest.fixture
def lowering():
    """A kernel of the corpus by name and architecture; None where it does not exist there."""
    return lambda name, arch="sm_90": _kernels(_file_of(name), arch).get(name)
