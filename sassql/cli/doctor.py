"""`sassql doctor`: what sassql needs, where it was found, and a proof that it works."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import click

from sassql import resources
from sassql.cli.output import format_option, write_rows
from sassql.errors import EXIT_INPUT, EXIT_TOOL, SassqlError, ToolFailedError, ToolMissingError
from sassql.reading import compile as compiling
from sassql.reading import tools
from sassql.resources import cache_root

Status = Literal["ok", "missing", "failed", "warning", "optional"]

PROOF_ARCH = "sm_90"
PROOF_CUDA = """\
extern "C" __global__ void scale(float *x, float a) {
    x[threadIdx.x] *= a;
}
"""
PROOF_PTX = """\
.version 8.0
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 x) {
    .reg .u64 %rd<2>;
    ld.param.u64 %rd1, [x];
    st.global.u32 [%rd1], 7;
    ret;
}
"""

_EVERYTHING = "code, life ranges, branch targets, control flow"
_LAYOUTS = {
    "12": (f"cubins made before CUDA 13: {_EVERYTHING}", "cubins of CUDA 13: code only"),
    "13": (f"cubins of CUDA 13: {_EVERYTHING}", "cubins made before CUDA 13: code only"),
}
"""What nvdisasm of a major version reads from the two ELF layouts; measured with 12.8 and 13.5."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that sassql uses."""

    what: str
    status: Status
    version: str = ""
    where: str = ""
    found_by: str = ""
    can: tuple[str, ...] = ()
    advice: str = ""


@click.command()
@format_option
def doctor(format: str) -> None:
    """Show which tools were found and what they can do, and prove it with a small kernel.

    Nothing here needs a GPU. Exit codes: 0 everything works, 3 something that is there fails,
    4 something that is needed is missing.

    \b
    Examples:
      sassql doctor
      sassql doctor --format jsonl | jq 'select(.status != "ok")'
      SASSQL_NVDISASM=/opt/cuda/bin/nvdisasm sassql doctor
    """
    findings = list(examine())
    if format == "table":
        write_rows((line for finding in findings for line in _lines(finding)), format)
    else:
        write_rows(map(asdict, findings), format)
    states = {finding.status for finding in findings}
    if "missing" in states:
        click.get_current_context().exit(EXIT_TOOL)
    if "failed" in states:
        click.get_current_context().exit(EXIT_INPUT)


def examine() -> Iterator[Finding]:
    """Everything that sassql uses, one after the other; a check that fails is a finding."""
    checks: tuple[tuple[str, Callable[[], Finding]], ...] = (
        ("nvdisasm", lambda: _disassembler(tools.find("nvdisasm"))),
        ("cuobjdump", _extractor),
        ("nvdisasm 12.x", _legacy_disassembler),
        ("NVRTC", _compiler),
        ("nvJitLink", _linker),
        ("CUDA headers", _headers),
        ("grammars", lambda: _folder("grammars", "*.lark")),
        ("patterns", lambda: _folder("patterns", "*.sq")),
        ("cache folder", _cache),
        ("proof: CUDA C++", _proof_cuda),
        ("proof: PTX", _proof_ptx),
    )
    for what, check in checks:
        try:
            yield replace(check(), what=what)
        except ToolMissingError as error:
            yield Finding(what, "missing", can=(error.message,), advice=error.hint)
        except SassqlError as error:
            yield Finding(what, "failed", can=(error.message,), advice=error.hint)
        except OSError as error:
            yield Finding(what, "failed", can=(str(error),))


def _disassembler(tool: tools.Tool) -> Finding:
    reads = f"reads {', '.join(tools.architectures(tool))}"
    layouts = _LAYOUTS.get(tool.version.split(".")[0], ("cubins of either layout: not tried by sassql",))
    return _tool(tool, reads, *layouts)


def _legacy_disassembler() -> Finding:
    tool = tools.find_legacy()
    if tool is None:
        advice = f"only for oracles on old cubins: set {tools.LEGACY_VARIABLE} (triton 3.6.0 ships 12.8.55)"
        return Finding("", "optional", advice=advice)
    found = _disassembler(tool)
    if tool.version.startswith("12."):
        return found
    return replace(found, status="warning", advice=f"{tools.LEGACY_VARIABLE} is meant for a 12.x nvdisasm")


def _extractor() -> Finding:
    tool = tools.find("cuobjdump")
    return _tool(tool, f"takes cubins out of files for {', '.join(tools.architectures(tool))}")


def _tool(tool: tools.Tool, *can: str) -> Finding:
    return Finding("", "ok", tool.version, str(tool.path), tool.source, can)


def _compiler() -> Finding:
    return _library("NVRTC", f"compiles for {', '.join(compiling.supported_architectures())}")


def _linker() -> Finding:
    return _library("nvJitLink", "assembles PTX for the same architectures")


def _library(name: compiling.LibraryName, can: str) -> Finding:
    found = compiling.library(name)
    wheel = compiling.LIBRARY_WHEELS[name]
    source = f"wheel {wheel}" if tools.wheel_version(found.path, wheel) else "cuda-pathfinder"
    return Finding("", "ok", found.version, str(found.path), source, (can,))


def _headers() -> Finding:
    headers = compiling.cuda_headers()
    absent = [
        wheel
        for file, wheel in compiling.HEADER_WHEELS.items()
        if not any((folder / file).is_file() for folder in headers.folders)
    ]
    where = ", ".join(map(str, headers.folders))
    if absent:
        advice = f"pip install {' '.join(absent)}"
        return Finding("", "missing", headers.version, where, headers.source, advice=advice)
    cccl = any((folder / "nv/target").is_file() for folder in headers.folders)
    can = "half, bfloat16 and tensor core headers" + (", libcu++ and CUB" if cccl else "")
    advice = "" if cccl else f"pip install {compiling.CCCL_WHEEL} for libcu++, CUB and cooperative groups"
    return Finding("", "ok", headers.version, where, headers.source, (can,), advice)


def _folder(name: str, pattern: str) -> Finding:
    try:
        folder = resources.folder(name)
    except FileNotFoundError as error:
        return Finding("", "missing", can=(str(error),), advice="install sassql again")
    return Finding("", "ok", where=str(folder), can=(f"{sum(1 for _ in folder.rglob(pattern))} files",))


def _cache() -> Finding:
    folder = cache_root()
    found_by = "SASSQL_CACHE" if os.environ.get("SASSQL_CACHE") else "platformdirs"
    probe = folder / ".doctor"
    try:
        tools.write_atomically(probe, b"")
        probe.unlink()
    except OSError as error:
        can = (f"cannot be written: {error.strerror}",)
        advice = "set SASSQL_CACHE to a folder that can; without it everything is worked out anew"
        return Finding("", "warning", "", str(folder), found_by, can, advice)
    return Finding("", "ok", "", str(folder), found_by, ("can be written",))


def _proof_cuda() -> Finding:
    """Compiles, then asks nvdisasm for all that sassql wants to know about the result."""
    done = compiling.compile_cuda(PROOF_CUDA, name="proof.cu", arch=PROOF_ARCH)
    listing, blocks = _disassembled(done.cubin, "-plr"), _disassembled(done.cubin, "-bbcfg")
    if "EXIT" not in listing or "digraph" not in blocks:
        raise ToolFailedError("the kernel was compiled, and nvdisasm printed something else")
    count = listing.count(" ;")
    can = f"{count} instructions for {PROOF_ARCH}, with life ranges and control flow"
    return Finding("", "ok", done.compiler, can=(can,))


def _proof_ptx() -> Finding:
    done = compiling.compile_ptx(PROOF_PTX, name="proof.ptx", arch=PROOF_ARCH)
    if "EXIT" not in _disassembled(done.cubin):
        raise ToolFailedError("the PTX was assembled, and nvdisasm printed something else")
    return Finding("", "ok", done.compiler, can=(f"PTX to instructions for {PROOF_ARCH}",))


def _disassembled(cubin: bytes, *options: str) -> str:
    with tempfile.NamedTemporaryFile(prefix="sassql-", suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        return tools.disassemble_elf(Path(file.name), *options)


def _lines(finding: Finding) -> Iterator[dict[str, object]]:
    """A finding in narrow columns: what it can do stands below it."""
    where = f"{finding.where} ({finding.found_by})" if finding.found_by else finding.where
    details = [text for text in (where, *finding.can, finding.advice) if text]
    first, *rest = details or [""]
    yield {"status": finding.status, "what": finding.what, "version": finding.version, "details": first}
    for text in rest:
        yield {"status": "", "what": "", "version": "", "details": text}
