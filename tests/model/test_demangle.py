from __future__ import annotations

import pytest

from sassql.model import demangle as module
from sassql.model.demangle import demangle


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("_Z4loopPfi", "loop(float*, int)"),
        ("_ZN3cub11EmptyKernelIvEEvv", "void cub::EmptyKernel<void>()"),
        ("saxpy", "saxpy"),
        ("", ""),
        ("_Z", "_Z"),
        ("_Znonsense!", "_Znonsense!"),
        ("$_Z3dblPdii$_Z4slowd", "$_Z3dblPdii$_Z4slowd"),
    ],
)
def test_names(name, expected):
    assert demangle(name) == expected


def test_names_stay_as_they_are_without_a_runtime(monkeypatch):
    monkeypatch.setattr(module, "_runtime", lambda: None)
    demangle.cache_clear()
    try:
        assert demangle("_Z4loopPfi") == "_Z4loopPfi"
    finally:
        demangle.cache_clear()
