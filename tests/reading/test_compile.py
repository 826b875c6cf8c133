from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from sassql.errors import CompileError, Place, ToolMissingError, UsageError
from sassql.reading import compile as compiling
from sassql.reading import tools
from sassql.reading.compile import compile_cuda, compile_ptx, cuda_headers, library, supported_architectures

SCALE = 'extern "C" __global__ void scale(float *x, float a) {\n    x[threadIdx.x] *= a;\n}\n'
HALF = '#include <cuda_fp16.h>\nextern "C" __global__ void half_add(__half *x) { x[0] = __hadd(x[0], x[1]); }'
PTX = """\
.version 9.0
.target sm_75
.address_size 64
.visible .entry seven(.param .u64 x) {
    .reg .u64 %rd<2>;
    ld.param.u64 %rd1, [x];
    st.global.u32 [%rd1], 7;
    ret;
}
"""
ARCHITECTURES = (75, 80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121)


def elf_arch(cubin: bytes) -> int:
    """The architecture number in the ELF header of a cubin of CUDA 13."""
    assert cubin[:4] == b"\x7fELF"
    assert cubin[7] == 0x41
    return cubin[0x31]


def test_cuda_becomes_a_cubin():
    done = compile_cuda(SCALE, name="scale.cu", arch="sm_90")

    assert elf_arch(done.cubin) == 90
    assert (done.arch, done.log) == ("sm_90", "")
    assert done.options[:2] == ("--gpu-architecture=sm_90", "--std=c++17")
    assert done.compiler.startswith("NVRTC 13.")


def test_the_same_source_gives_the_same_bytes_under_any_name():
    one = compile_cuda(SCALE, name="one.cu", arch="sm_80")
    two = compile_cuda(SCALE, name="/elsewhere/two.cu", arch="sm_80")

    assert one.cubin == two.cubin


def test_warnings_are_kept():
    done = compile_cuda("__global__ void k() { int unused; }", name="k.cu", arch="sm_90")

    assert done.log.startswith('k.cu(1): warning #177-D: variable "unused"')


def test_a_standard_may_be_chosen():
    source = "__global__ void k(int *x) { auto f = []<class T>(T a) { return a; }; *x = f(1); }"
    done = compile_cuda(source, name="k.cu", arch="sm_90", options=["--std=c++20"])

    assert [option for option in done.options if "std" in option] == ["--std=c++20"]


def test_cuda_headers_are_found_without_a_toolkit(monkeypatch):
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    headers = cuda_headers()

    assert headers.source == "wheel nvidia-cuda-runtime"
    assert headers.version.startswith("13.")
    assert compile_cuda(HALF, name="half.cu", arch="sm_75").log == ""


def test_a_named_toolkit_is_searched_after_the_wheels(monkeypatch, tmp_path):
    include = tmp_path / "include"
    (include / "cccl").mkdir(parents=True)
    (include / "cuda_fp16.h").write_text("")
    (include / "cuda_runtime_api.h").write_text("#define CUDART_VERSION  12080\n")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))
    headers = cuda_headers()

    assert headers.folders[-2:] == (include, include / "cccl")
    assert headers.version.split(", ")[1:] == ["12.8"]

    monkeypatch.setattr(sys, "path", [])
    assert cuda_headers() == compiling.Headers((include, include / "cccl"), "CUDA_HOME", "12.8")


def test_local_headers_are_found_beside_the_name_and_in_include_folders(tmp_path):
    (tmp_path / "beside.cuh").write_text("#define BESIDE 1\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/named.cuh").write_text("#define NAMED 2\n")
    source = '#include "beside.cuh"\n#include <named.cuh>\n__global__ void k(int *x) { *x = BESIDE + NAMED; }'

    compile_cuda(source, name=str(tmp_path / "k.cu"), arch="sm_90", include=[tmp_path / "sub"])


def test_an_error_has_its_place_and_a_caret():
    source = "// é漢\n__global__ void k(float *x) {\n\t/* é漢 */ x[0] = y; z; }"
    with pytest.raises(CompileError) as caught:
        compile_cuda(source, name="my folder/k.cu", arch="sm_90")

    error = caught.value
    assert error.place == Place("my folder/k.cu", 3, 18)
    assert str(error) == 'my folder/k.cu:3:18: identifier "y" is undefined'
    assert error.source_line[17] == "y"
    assert error.exit_code == 3


def test_an_error_at_the_end_of_the_source():
    with pytest.raises(CompileError, match=r'^k.cu:2: expected a "}" at the end of the source'):
        compile_cuda("__global__ void k() {\n  int a = 1;", name="k.cu", arch="sm_90")


def test_an_error_in_a_header_names_the_header(tmp_path):
    header = tmp_path / "bad.cuh"
    header.write_text("\nint f( { }\n")
    with pytest.raises(CompileError) as caught:
        compile_cuda('#include "bad.cuh"\n', name="k.cu", arch="sm_90", include=[tmp_path])

    assert (caught.value.place.file, caught.value.place.line) == (str(header), 2)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("#include <vector>", "NVRTC has no host headers: guard the line with #ifndef __CUDACC_RTC__"),
        ("#include <stdio.h>", "NVRTC has no host headers: guard the line with #ifndef __CUDACC_RTC__"),
        ("#include <cub/nothing_like_it.cuh>", "pip install nvidia-cuda-cccl"),
        ('#include "mine.cuh"', "name its folder as an include folder"),
        ('__global__ void k() { asm("wgmma.fence.sync.aligned;"); }',
         "ask for a later architecture or its a or f variant"),
        ("__device__ int f(); __global__ void k(int *x) { *x = f(); }",
         "define the function here, or compile with -rdc=true"),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(line, hint):
    with pytest.raises(CompileError) as caught:
        compile_cuda(line, name="k.cu", arch="sm_90")

    assert caught.value.hint == hint
    assert "\n" not in str(caught.value)


def test_missing_cuda_headers_say_which_wheels(monkeypatch):
    monkeypatch.setattr(compiling, "cuda_headers", lambda: compiling.Headers((), "", ""))
    with pytest.raises(CompileError) as caught:
        compile_cuda(HALF, name="half.cu", arch="sm_90")

    assert caught.value.hint == "pip install nvidia-cuda-runtime nvidia-cuda-crt"


def test_a_nul_does_not_cut_the_source():
    with pytest.raises(CompileError, match=r"^k\.cu:2: the source has a NUL"):
        compile_cuda("//\n\0__global__ void k() {}", name="k.cu", arch="sm_90")


@pytest.mark.parametrize(
    "option", ["--gpu-architecture=sm_80", "-arch=sm_80", "-arch", "--nonsense", "-std=c++99"]
)
def test_bad_options_are_usage_errors(option):
    with pytest.raises(UsageError):
        compile_cuda(SCALE, name="k.cu", arch="sm_90", options=[option])


def test_no_machine_code_is_an_error():
    with pytest.raises(CompileError, match="no machine code came out"):
        compile_cuda(SCALE, name="k.cu", arch="sm_90", options=["-dlto"])


@pytest.mark.parametrize(
    ("arch", "guess"), [("sm_90b", "sm_90"), ("compute_80", "sm_80"), ("SM100", "sm_100"), ("banana", "")]
)
def test_an_unknown_architecture_lists_the_legal_ones(arch, guess):
    with pytest.raises(UsageError) as caught:
        compile_cuda(SCALE, name="k.cu", arch=arch)

    assert caught.value.exit_code == 2
    assert caught.value.hint.startswith(
        f"did you mean {guess}? legal: sm_75, " if guess else "legal: sm_75, "
    )


def test_the_architectures_of_nvrtc():
    archs = supported_architectures()

    assert {f"sm_{number}" for number in ARCHITECTURES} <= set(archs)
    assert [arch for arch in archs if not arch[-1].isdigit()][:3] == ["sm_90a", "sm_100a", "sm_100f"]
    assert archs == tuple(sorted(archs, key=tools.sort_key))


@pytest.mark.parametrize("arch", supported_architectures())
def test_every_architecture_compiles_from_both_languages(arch):
    number = int(arch.strip("sm_af"))

    assert elf_arch(compile_cuda(SCALE, name="scale.cu", arch=arch).cubin) == number
    assert elf_arch(compile_ptx(PTX, name="seven.ptx", arch=arch).cubin) == number


@pytest.mark.slow
@pytest.mark.parametrize("arch", supported_architectures())
def test_every_architecture_is_disassembled(arch, tmp_path):
    for done in (compile_cuda(HALF, name="half.cu", arch=arch), compile_ptx(PTX, name="s.ptx", arch=arch)):
        path = tmp_path / "k.cubin"
        path.write_bytes(done.cubin)
        listing = tools.disassemble_elf(path, "-plr")

        assert f".target\t{arch.removesuffix('f')}\n" in listing
        assert "GPR" in listing


@pytest.mark.parametrize("text", [PTX, PTX.encode(), PTX.encode() + b"\0"])
def test_ptx_becomes_a_cubin(text):
    done = compile_ptx(text, name="seven.ptx", arch="sm_100a", options=["-lineinfo"])

    assert elf_arch(done.cubin) == 100
    assert done.options == ("-arch=sm_100a", "-lineinfo")
    assert done.compiler.startswith("nvJitLink 13.")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (PTX.replace("ret", "banana"), "seven.ptx:8: Not a name of any known instruction: 'banana'", ""),
        (PTX.replace("sm_75", "sm_90a"), "seven.ptx: PTX with .target 'sm_90a' cannot be compiled for "
         "architecture 'sm_90'", "ask for the architecture that .target names"),
        (PTX.replace("9.0", "99.0"), "seven.ptx:1: Unsupported .version 99.0",
         "pip install --upgrade nvidia-nvjitlink"),
        (PTX.replace(".visible", ".extern .func f();\n.visible").replace("ret;", "call f;\nret;"),
         "seven.ptx: Undefined reference to 'f'", "define the function here, or compile with -rdc=true"),
        ("no PTX at all", "seven.ptx: bad input", "the file holds no PTX text"),
        (" \n", "seven.ptx: the PTX text is empty", ""),
    ],
)  # fmt: skip
def test_ptx_that_is_refused(text, message, hint):
    with pytest.raises(CompileError) as caught:
        compile_ptx(text, name="seven.ptx", arch="sm_90")

    assert str(caught.value).startswith(message)
    assert caught.value.hint == hint


def test_ptx_usage_errors():
    with pytest.raises(UsageError, match="did you mean sm_90"):
        compile_ptx(PTX, name="seven.ptx", arch="sm_90z")
    with pytest.raises(UsageError, match="refuses one of the options -arch=sm_90 --nonsense"):
        compile_ptx(PTX, name="seven.ptx", arch="sm_90", options=["--nonsense"])


def test_ptx_needs_no_nvrtc(monkeypatch):
    hide(monkeypatch, "cuda.bindings.nvrtc")

    assert elf_arch(compile_ptx(PTX, name="seven.ptx", arch="sm_90").cubin) == 90
    with pytest.raises(UsageError, match="does not know sm_60"):
        compile_ptx(PTX, name="seven.ptx", arch="sm_60")


def test_a_missing_binding(monkeypatch):
    hide(monkeypatch, "cuda.bindings.nvrtc")
    with pytest.raises(ToolMissingError) as caught:
        compile_cuda(SCALE, name="k.cu", arch="sm_90")

    assert caught.value.hint == "pip install cuda-python nvidia-cuda-nvrtc"
    assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    ("module", "call", "wheel"),
    [
        ("cuda.bindings.nvrtc", lambda: compile_cuda(SCALE, name="k", arch="sm_90"), "nvidia-cuda-nvrtc"),
        ("cuda.bindings.nvjitlink", lambda: compile_ptx(PTX, name="k", arch="sm_90"), "nvidia-nvjitlink"),
    ],
)
def test_a_missing_library(monkeypatch, module, call, wheel):
    def absent():
        raise RuntimeError("Failure finding library\n in many\n lines")

    stub = types.SimpleNamespace(nvrtcVersion=absent, version=absent)
    monkeypatch.setitem(sys.modules, module, stub)
    with pytest.raises(ToolMissingError) as caught:
        call()

    assert caught.value.hint == f"pip install {wheel}"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["NVRTC", "nvJitLink"])
def test_a_library_knows_its_file_and_full_version(name):
    found = library(name)

    assert found.path.is_file()
    assert found.version.count(".") == 2
    assert Path(found.path).name.startswith(f"lib{name.lower() if name == 'NVRTC' else name}.so")


def hide(monkeypatch, module: str) -> None:
    """Makes the import of a module fail."""
    monkeypatch.setitem(sys.modules, module, None)
