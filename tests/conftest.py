"""What tests of several packages share: kernels that are compiled once a session, and the command line."""

from __future__ import annotations

import functools
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from sassql.cli.main import main
from sassql.model.kernel import Source
from sassql.model.program import Module
from sassql.reading import tools
from sassql.reading.compile import compile_cuda
from sassql.reading.cubin import read_module

KERNELS = Path(__file__).parent / "kernels"
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_session(tmp_path_factory):
    """Nothing that the tests keep ends up in the cache of whoever runs them."""
    Compiled.folder = tmp_path_factory.mktemp("compiled")
    before = os.environ.get("SASSQL_CACHE")
    os.environ["SASSQL_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["SASSQL_CACHE"]
    else:
        os.environ["SASSQL_CACHE"] = before


@functools.cache
def _cubin(arch: str, name: str, options: tuple[str, ...]) -> bytes:
    path = KERNELS / name
    return compile_cuda(path.read_text("utf-8"), name=str(path), arch=arch, options=options).cubin


@functools.cache
def _module(arch: str, name: str, options: tuple[str, ...]) -> Module:
    module, problems = read_module(_cubin(arch, name, options), Source(f"{arch}.cubin"))
    assert problems == []
    return module


@dataclass(frozen=True)
class Compiled:
    """The kernels of one file of ``tests/kernels`` for one architecture, in every form that is read."""

    folder: ClassVar[Path]
    arch: str
    name: str
    options: tuple[str, ...] = ()

    @property
    def cubin(self) -> bytes:
        return _cubin(self.arch, self.name, self.options)

    @property
    def path(self) -> Path:
        """A file with the cubin."""
        path = self.folder / f"{self.arch}-{Path(self.name).stem}.cubin"
        path.write_bytes(self.cubin)
        return path

    @property
    def module(self) -> Module:
        return _module(self.arch, self.name, self.options)

    def listing(self, *arguments: str) -> str:
        """What ``nvdisasm -c`` prints, with further options."""
        return _listing(self, arguments)

    @property
    def cuobjdump(self) -> str:
        """What ``cuobjdump -sass`` prints."""
        return _listing(self, ("cuobjdump",))


@functools.cache
def _listing(compiled: Compiled, arguments: tuple[str, ...]) -> str:
    if arguments == ("cuobjdump",):
        return tools.run(tools.find("cuobjdump"), "-sass", str(compiled.path))
    return tools.disassemble_elf(compiled.path, *arguments)


@pytest.fixture(scope="session")
def compiled():
    """``compiled("sm_90")`` or ``compiled("sm_90", "relocations.cu", "-rdc=true")``: a `Compiled`."""
    return lambda arch, name="operands.cu", *options: Compiled(arch, name, options)


@pytest.fixture(scope="session", params=ARCHITECTURES)
def everywhere(request):
    """``operands.cu`` compiled for each of five architectures: a test that asks for it runs five times."""
    return Compiled(request.param, "operands.cu")


@dataclass(frozen=True)
class Done:
    """One call of the command line."""

    code: int
    out: str
    err: str

    @property
    def messages(self) -> list[str]:
        """The lines on stderr, without the colours."""
        return re.sub(r"\x1b\[[0-9;]*m", "", self.err).splitlines()


@pytest.fixture
def sassql(capsys):
    """``sassql("inspect", path, "--summary")``: the command line in this process."""

    def run(*arguments: object) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Done(left.value.code, out, err)

    return run


@pytest.fixture(scope="session")
def shell():
    """``shell("sassql inspect x | head -1")``: a command line in a shell of its own, with bytes as output."""
    import sys

    def run(command: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
        environment = {**os.environ, **variables}
        prelude = f'set -o pipefail; sassql() {{ "{sys.executable}" -m sassql "$@"; }}; '
        return subprocess.run(
            ["bash", "-c", prelude + command], capture_output=True, cwd=cwd, env=environment, check=False
        )

    return run
