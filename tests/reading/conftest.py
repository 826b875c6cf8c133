"""Cubins that NVRTC makes on the spot, and writers for the files that carry them."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from dataclasses import dataclass

import lz4.block
import pytest
import zstandard

KERNELS = """
__device__ int counter;
extern "C" __global__ void __launch_bounds__(256) scale(float *x, const float *y, int n, char c, double d)
{
    __shared__ float tile[100];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x % 100] = y[i];
    __syncthreads();
    if (i < n) x[i] = tile[(threadIdx.x + 1) % 100] + (float)d / c;
    counter = n;
}
extern "C" __global__ void plain(int *x) { x[threadIdx.x] += 1; }
"""


@functools.cache
def _compile(arch: str, source: str, options: tuple[str, ...]) -> bytes:
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc")

    def check(results):
        assert int(results[0]) == 0, results[0]
        return results[1] if len(results) > 1 else None

    program = check(nvrtc.nvrtcCreateProgram(source.encode(), b"test.cu", 0, [], []))
    flags = [f"--gpu-architecture={arch}".encode(), *(option.encode() for option in options)]
    check(nvrtc.nvrtcCompileProgram(program, len(flags), flags))
    buffer = bytearray(check(nvrtc.nvrtcGetCUBINSize(program)))
    check(nvrtc.nvrtcGetCUBIN(program, buffer))
    return bytes(buffer)


@pytest.fixture(scope="session")
def cubin() -> Callable[..., bytes]:
    """``cubin("sm_90a")`` or ``cubin("sm_90", source, "-G")``: bytes of a cubin."""
    return lambda arch, source=KERNELS, *options: _compile(arch, source, options)


@dataclass(frozen=True)
class Part:
    """A section for `Build.elf`."""

    name: str
    content: bytes = b""
    type: int = 1
    flags: int = 2
    link: int = 0
    info: int = 0
    size: int | None = None


class Build:
    """Writes small ELF files, fat binaries and archives, by the published layouts."""

    Part = Part

    @staticmethod
    def elf(parts, *, machine=62, kind=3, os_abi=0, version=1, flags=0) -> bytes:
        names = b"\0" + b"".join(part.name.encode() + b"\0" for part in parts) + b".shstrtab\0"
        body, rows = b"", [bytes(64)]
        for part in [*parts, Part(".shstrtab", names, 3)]:
            start = names.find(b"\0" + part.name.encode() + b"\0") + 1
            size = len(part.content) if part.size is None else part.size
            fields = start, part.type, part.flags, 0, 64 + len(body), size, part.link, part.info, 1, 0
            rows.append(struct.pack("<IIQQQQIIQQ", *fields))
            body += part.content + bytes(-len(part.content) % 8)
        ident = b"\x7fELF\x02\x01\x01" + bytes([os_abi]) + bytes(8)
        sizes = (64, 0, 0, 64, len(rows), len(rows) - 1)
        header = struct.pack(
            "<16sHHIQQQI6H", ident, kind, machine, version, 0, 0, 64 + len(body), flags, *sizes
        )
        return header + body + b"".join(rows)

    @classmethod
    def old_cubin(cls, flags: int, *, section_flags=6, registers=24) -> bytes:
        """A cubin in the layout of CUDA 12.8 with one kernel ``k`` of two words."""
        strings = b"\0k\0$k$helper\0"
        symbols = bytes(24)
        symbols += struct.pack("<IBBHQQ", 1, 0x12, 0x10, 1, 0, 32)
        symbols += struct.pack("<IBBHQQ", 3, 0x22, 0, 1, 16, 16)
        relocations = struct.pack("<QQ", 16, 2 << 32 | 56)
        parts = [
            Part(".text.k", bytes(range(32)), 1, section_flags, 2, registers << 24 | 1),
            Part(".symtab", symbols, 2, 0, 3),
            Part(".strtab", strings, 3, 0),
            Part(".rel.text.k", relocations, 9, 0, 2, 1),
            Part(".nv.shared.k", b"", 8, 3, 0, 1, size=400),
            Part(".nv.info.k", bytes.fromhex("04100c00800000000200000001000000"), 0x70000000, 0),
        ]
        return cls.elf(parts, machine=190, kind=2, os_abi=0x33, version=128, flags=flags)

    @staticmethod
    def packed(data: bytes, sm: int, *, kind=2, how="", suffix="", claim=None) -> bytes:
        """One entry of a fat binary; `claim` overrides the size that it says it unpacks to."""
        flags = 0x11 | {"": 0, "lz4": 0x2000, "zstd": 0x8000}[how] | {"": 0, "a": 1, "f": 2}[suffix] << 20
        payload = data
        if how == "lz4":
            payload = lz4.block.compress(data, store_size=False)
        elif how == "zstd":
            payload = zstandard.ZstdCompressor().compress(data)
        padded = payload + bytes(-len(payload) % 8)
        unpacked = (len(data) if claim is None else claim) if how else 0
        packed = len(payload) if how else 0
        header = (kind, 0x101, 64, len(padded), packed, 0, 8, 1, sm, 0, 0, flags, 0, unpacked)
        return struct.pack("<HHIQIIHHIIIQQQ", *header) + padded

    @staticmethod
    def fatbin(*packed: bytes) -> bytes:
        body = b"".join(packed)
        return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body

    @staticmethod
    def ar(*members: tuple[str, bytes]) -> bytes:
        """A GNU archive; names of more than 15 characters go into its name table."""
        table, out = b"", b""
        for name, data in members:
            short = f"{name}/"
            if len(short) > 16:
                short = f"/{len(table)}"
                table += f"{name}/\n".encode()
            out += (
                f"{short:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode()
                + data
                + b"\n" * (len(data) % 2)
            )
        names = f"{'//':<48}{len(table):<10}`\n".encode() + table + b"\n" * (len(table) % 2) if table else b""
        return (
            b"!<arch>\n" + f"{'/':<16}{0:<12}{0:<6}{0:<6}{0:<8}{4:<10}`\n".encode() + bytes(4) + names + out
        )


@pytest.fixture(scope="session")
def build() -> type[Build]:
    return Build
