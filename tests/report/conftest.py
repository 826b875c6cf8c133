"""Reports of kernels that are compiled here, made once a session."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from sassql.reading import load
from sassql.report.build import Job, build
from sassql.report.document import Document, KernelRecord
from sassql.report.motifs import pattern_files
from sassql.resources import folder

HOSTILE = "<script>alert(1)</script>"
HARMLESS = "hostile_name_of_25_bytes_"


@dataclass(frozen=True)
class Reported:
    """A document with what it was made of."""

    document: Document
    job: Job

    def record(self, name: str, arch: str = "sm_90") -> KernelRecord:
        return next(k for k in self.document.kernels if k.name == name and k.arch == arch)

    def kernel(self, record: KernelRecord):
        """The kernel of a record."""
        modules = load.read(Path(record.file))
        return next(k for module in modules for k in module.kernels if k.name == record.name)


@pytest.fixture(scope="session")
def cubins(compiled, tmp_path_factory) -> list[Path]:
    """`report.cu` for two architectures; one kernel has a name that is HTML."""
    made = tmp_path_factory.mktemp("report")
    paths = []
    for arch in ("sm_80", "sm_90"):
        path = made / f"{arch}.cubin"
        data = compiled(arch, "report.cu", "-maxrregcount=32").cubin
        path.write_bytes(data.replace(HARMLESS.encode(), HOSTILE.encode()))
        paths.append(path)
    return paths


@pytest.fixture(scope="session")
def ladders() -> tuple[Path, ...]:
    return pattern_files(folder("patterns") / "warp" / "shuffle_ladder.sq")


@pytest.fixture(scope="session")
def reported(cubins, ladders) -> Reported:
    """The document of both cubins, with the shuffle ladders."""
    job = Job(cubins, ladders, jobs=1, title="report.cu")
    return Reported(build(job), job)
