"""What `read_cubin` says about cubins of several architectures, and what it refuses."""

from __future__ import annotations

import io
import struct

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sassql.errors import InputError, UnsupportedArchError
from sassql.model.kernel import Parameter
from sassql.reading.elf import cubin_arch, read_cubin

ARCHES = ["sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_120"]
PARAMETER_BASE = {"sm_75": 0x160, "sm_80": 0x160, "sm_90": 0x210, "sm_100": 0x380, "sm_120": 0x380}

SWITCH = """
extern "C" __global__ void pick(int *o, int k)
{
    switch (k) {
    case 0: o[0] = o[3] * 4; break;
    case 1: o[1] = o[2] / 3; __syncthreads(); break;
    case 2: o[5] = atomicAdd(o, 3); break;
    case 3: o[9] = __shfl_sync(~0u, o[1], 3); break;
    case 4: o[7] = clock(); break;
    case 5: o[8] = __float_as_int(__sinf(k)); break;
    case 6: o[17] = o[3] ^ 4; break;
    case 7: o[4] = __popc(o[3]); break;
    }
}
"""
LINKED_LATER = """
extern __device__ int elsewhere(int);
extern "C" __global__ void call(int *x) { *x = elsewhere(*x); }
"""
STACK = """
extern "C" __global__ void spill(float *o, int k)
{
    float a[64];
    for (int i = 0; i < 64; i++) a[i] = o[i * k];
    for (int i = 0; i < 64; i++) o[i] = a[(i * k) & 63];
}
struct Block { char bytes[20000]; int n[100]; };
extern "C" __global__ void large(float *o, const __grid_constant__ Block b, int k)
{
    o[0] = b.n[k] + b.bytes[k];
}
"""


def section(read, name):
    return next(section for section in read.sections if section.name == name)


@pytest.mark.parametrize("arch", ARCHES)
def test_architecture_and_kernels(cubin, arch):
    data = cubin(arch)

    read = read_cubin(data)

    assert read.arch == arch == cubin_arch(data)
    assert read.layout == "new"
    assert read.producer.startswith("ptxas 1")
    assert {"scale", "plain"} == {section.name for section in read.sections}


@pytest.mark.parametrize("arch", ARCHES)
def test_code_and_symbols_are_those_that_pyelftools_finds(cubin, arch):
    data = cubin(arch)
    elf = ELFFile(io.BytesIO(data))

    for found in read_cubin(data).sections:
        assert elf.get_section_by_name(".text." + found.name).data() == found.code
        assert elf.get_section_by_name(".symtab").get_symbol(found.symbol_index).name == found.name
        entry = next(function for function in found.functions if function.entry)
        assert (found.name, 0) == (entry.name, entry.start)
        assert all(function.start + function.size <= len(found.code) for function in found.functions)


@pytest.mark.parametrize("arch", PARAMETER_BASE)
def test_resources_of_a_kernel(cubin, arch):
    resources = section(read_cubin(cubin(arch)), "scale").resources

    expected = tuple(map(Parameter, range(5), (0, 8, 16, 20, 24), (8, 8, 4, 1, 8)))
    assert expected == resources.parameters
    assert PARAMETER_BASE[arch] == resources.parameter_base
    assert resources.barriers == 1
    assert resources.max_threads == 256
    assert resources.required_block is None
    # from sm_90 on the section has room for the 1,024 bytes that belong to the driver
    assert (400 if arch in ("sm_75", "sm_80") else 1424) == resources.shared
    assert resources.local == 0
    assert 4 <= resources.registers <= 255


def test_a_kernel_without_barriers_has_none(cubin):
    assert section(read_cubin(cubin("sm_75")), "plain").resources.barriers == 0


def test_stack_and_parameters_beyond_four_kilobytes(cubin):
    read = read_cubin(cubin("sm_90", STACK))

    assert section(read, "spill").resources.local == 256
    expected = (Parameter(0, 0, 8), Parameter(1, 8, 20400), Parameter(2, 20408, 4))
    assert expected == section(read, "large").resources.parameters


@pytest.mark.parametrize("arch", ["sm_90", "sm_120"])
def test_targets_of_a_jump_table(cubin, arch):
    found = section(read_cubin(cubin(arch, SWITCH)), "pick")

    assert found.indirect_targets
    for branch, targets in found.indirect_targets.items():
        assert len(targets) == len(set(targets)) > 1
        assert all(offset % 16 == 0 and offset < len(found.code) for offset in (branch, *targets))


def test_relocation_against_a_function_of_another_object(cubin):
    found = section(read_cubin(cubin("sm_90", LINKED_LATER, "--relocatable-device-code=true")), "call")

    assert "_Z9elsewherei" in {relocation.symbol for relocation in found.relocations}
    offsets = [relocation.offset for relocation in found.relocations]
    assert sorted(offsets) == offsets
    assert all(offset < len(found.code) for offset in offsets)


def test_local_function_of_a_kernel(cubin):
    found = section(read_cubin(cubin("sm_90")), "scale")

    local = [function for function in found.functions if not function.entry]
    assert local, "the division has a slow path with a symbol of its own"
    assert all(function.start for function in local)


def test_line_information(cubin):
    source = 'extern "C" __global__ void k(int *x) { *x = 1; }'
    assert read_cubin(cubin("sm_90", source)).lines is None
    assert read_cubin(cubin("sm_90", source, "--generate-line-info")).lines is not None


def test_a_cubin_without_code(cubin):
    assert read_cubin(cubin("sm_90", "__device__ int x;")).sections == ()


def test_the_accelerator_bit_of_cuda_12(cubin):
    data = bytearray(cubin("sm_100"))
    data[48] |= 0x8

    assert read_cubin(bytes(data)).arch == "sm_100a"


def test_the_command_line_alone_makes_no_accelerated_architecture(cubin):
    data = cubin("sm_100").replace(b"-arch sm_100 ", b"-arch sm_100a")

    assert read_cubin(data).arch == "sm_100"


def test_old_layout(build):
    read = read_cubin(build.old_cubin(0x5A0D5A, section_flags=6 | 3 << 20))

    assert (read.arch, read.layout, read.producer) == ("sm_90a", "old", "CUDA 12.8")
    (kernel,) = read.sections
    assert ("k", 1, bytes(range(32))) == (kernel.name, kernel.symbol_index, kernel.code)
    assert [(f.name, f.start, f.size, f.entry) for f in kernel.functions] == [
        ("k", 0, 32, True),
        ("$k$helper", 16, 16, False),
    ]
    assert [(r.offset, r.type, r.symbol, r.addend) for r in kernel.relocations] == [(16, 56, "$k$helper", 0)]
    resources = kernel.resources
    assert (resources.registers, resources.shared, resources.local, resources.barriers) == (24, 400, None, 3)
    assert resources.required_block == (128, 2, 1)


def test_an_architecture_that_is_too_old(build):
    data = build.old_cubin(0x460546)

    with pytest.raises(UnsupportedArchError, match=r"x\.cubin: sm_70 .* nvdisasm 13 reads sm_75 and newer"):
        read_cubin(data, file="x.cubin")
    assert cubin_arch(data) == "sm_70"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x7fELF",
        b"not a cubin at all\n" * 9,
        bytes(range(256)),
        b"\x7fELF\x01\x01\x01" + bytes(100),
        b"\x50\xed\x55\xba" + bytes(100),
    ],
)
def test_what_is_no_cubin_is_refused_in_one_line_with_a_hint(data):
    with pytest.raises(InputError) as caught:
        read_cubin(data, file="x.cubin", entry="3.sm_90.cubin")

    assert str(caught.value).startswith("x.cubin[3.sm_90.cubin]: ")
    assert "\n" not in str(caught.value)
    assert caught.value.hint


def test_a_host_library_is_no_cubin(build):
    with pytest.raises(InputError, match="machine 62"):
        read_cubin(build.elf([]))


@pytest.mark.parametrize("arch", ["sm_75", "sm_100a"])
def test_truncation_is_an_input_error(cubin, arch):
    data = cubin(arch)

    for size in [*range(0, 200), *range(200, len(data), 101)]:
        with pytest.raises(InputError):
            read_cubin(data[:size])


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_flipped_bytes_never_give_another_error(cubin, build, data):
    whole = bytearray(
        data.draw(st.sampled_from([cubin("sm_90"), cubin("sm_100a"), build.old_cubin(0x5A055A)]))
    )
    (table,) = struct.unpack_from("<Q", whole, 40)
    place = st.one_of(st.integers(0, 63), st.integers(0, len(whole) - 1), st.integers(table, len(whole) - 1))
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(place)] = data.draw(
            st.sampled_from([0, 1, 8, 0x7F, 0x80, 0xFF]) | st.integers(0, 255)
        )

    try:
        read_cubin(bytes(whole), file="x")
    except InputError as error:
        assert "\n" not in str(error)


@given(st.binary(max_size=200))
def test_random_bytes_never_give_another_error(tail):
    for head in (b"", b"\x7fELF\x02\x01\x01\x41" + bytes(8) + b"\x02\x00\xbe\x00"):
        with pytest.raises(InputError):
            read_cubin(head + tail)
