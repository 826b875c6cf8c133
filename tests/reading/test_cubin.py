from __future__ import annotations

import re

import numpy as np
import pytest

from sassql.errors import InputError, NoDeviceCodeError, SassqlError, UnsupportedArchError
from sassql.model.instruction import Control
from sassql.model.kernel import Parameter, Source
from sassql.reading import elf, words
from sassql.reading.cubin import read_module, read_modules

SCALE = 'extern "C" __global__ void scale(float *x, float a) { x[threadIdx.x] *= a; }'
OTHER = 'extern "C" __global__ void other(float *x, float a) { x[threadIdx.x] = sqrtf(a) - x[0]; }'
RESOURCES = """
extern "C" __global__ void __launch_bounds__(256) __cluster_dims__(1)
plenty(float *x, const float *y, int n, char c, double d)
{
    __shared__ float tile[100];
    tile[threadIdx.x % 100] = y[n];
    __syncthreads();
    x[c] = tile[(threadIdx.x + 1) % 100] + (float)d;
}
"""


def kernel(module, name):
    return next(k for k in module.kernels if k.name == name)


def as_rows(module):
    return [
        (k.name, i.address, i.text, i.target, i.defs, i.uses, i.control, i.function)
        for k in module.kernels
        for i in k.instructions
    ]


def test_a_module_says_what_it_is(everywhere):
    module = everywhere.module

    assert (module.arch, module.layout) == (everywhere.arch, "new")
    assert module.source == Source(f"{everywhere.arch}.cubin")
    assert module.producer.startswith("ptxas 13.")
    assert {"calls", "choice", "floats", "integers", "halves", "warp", "tensor"} <= {
        k.name for k in module.kernels
    }
    assert module.instructions == sum(len(k.instructions) for k in module.kernels)
    assert all(k.is_entry for k in module.kernels)


def test_every_instruction_of_the_sections_is_there(everywhere):
    sections = {s.name: s for s in elf.read_cubin(everywhere.cubin).sections}

    for found in everywhere.module.kernels:
        assert len(found.instructions) * 16 == len(sections[found.name].code)
        assert [i.address for i in found.instructions] == list(range(0, len(sections[found.name].code), 16))
    assert set(sections) == {k.name for k in everywhere.module.kernels}


def test_every_opcode_and_operand_form_is_known(everywhere):
    unknown = {i.text for k in everywhere.module.kernels for i in k.instructions if not i.known}

    assert unknown == set()


@pytest.mark.parametrize(
    ("high", "expected"),
    [
        # hand-decoded: the bits 41 and up of the high half are reuse, wait mask, read, write, yield, stall
        (0x000FE20000000800, Control(1, False, None, None, 0, 0)),  # 0 000000 111 111 1 0001
        (0x000E6E0000002100, Control(7, False, 1, None, 0, 0)),  # 0 000000 111 001 1 0111
        (0x000EA20000008800, Control(1, False, 2, None, 0, 0)),  # 0 000000 111 010 1 0001
        (0x000FCC0000000A00, Control(6, True, None, None, 0, 0)),  # 0 000000 111 111 0 0110
        (0x002FCA0000000000, Control(5, True, None, None, 0b000010, 0)),  # 0 000010 111 111 0 0101
        (0x0041E80000000000, Control(4, False, None, 0, 0b000100, 0)),  # 0 000100 000 111 1 0100
        (0x084FE40000000000, Control(2, False, None, None, 0b000100, 0b0010)),  # 0010 000100 111 111 1 0010
    ],
)
def test_control_bits_of_a_word(high, expected):
    assert Control.decode(high >> 41 & 0x1FFFFF) == expected


@pytest.mark.parametrize("arch", ["sm_75", "sm_120"])
def test_control_codes_are_those_of_the_encoding_that_nvdisasm_prints(compiled, arch):
    source = compiled(arch)
    listing = source.listing("-hex")
    encodings: dict[tuple[str, int], list[str]] = {}
    section = place = None
    for line in listing.splitlines():
        if found := re.match(r"//-+ \.text\.(\S+)", line):
            section = found[1]
        elif found := re.match(r"\s*/\*([0-9a-f]{4,})\*/", line):
            place = section, int(found[1], 16)
        if found := re.search(r"/\* 0x([0-9a-f]{16}) \*/", line):
            encodings.setdefault(place, []).append(found[1])

    checked = 0
    for found in source.module.kernels:
        for ins in found.instructions:
            _, high = encodings[found.name, ins.address]
            bits = f"{int(high, 16):064b}"  # bit 63 first
            reuse, wait, read, write, no_yield, stall = (
                bits[2:6], bits[6:12], bits[12:15], bits[15:18], bits[18], bits[19:23]
            )  # fmt: skip
            assert ins.control == Control(
                stall=int(stall, 2),
                may_yield=no_yield == "0",
                write_barrier=None if write == "111" else int(write, 2),
                read_barrier=None if read == "111" else int(read, 2),
                wait_mask=int(wait, 2),
                reuse=int(reuse, 2),
            )
            checked += 1
    assert checked == source.module.instructions > 900


def test_reuse_bits_and_reuse_text_agree(everywhere):
    texts = [i for k in everywhere.module.kernels for i in k.instructions]

    assert any(i.control.reuse for i in texts)
    assert [i.text for i in texts if bool(i.control.reuse) != (".reuse" in i.text)] == []
    assert all(bool(i.form.reuse) == any(o.reuse for o in i.operands) for i in texts)


def test_the_resources_come_from_the_elf(cubin):
    module, problems = read_module(cubin("sm_90", RESOURCES), Source("plenty.cubin"))
    (found,) = module.kernels
    resources = found.resources

    assert problems == []
    assert 10 < resources.registers <= 255
    assert resources.shared == 400 + 1024
    assert (resources.local, resources.barriers, resources.max_threads) == (0, 1, 256)
    assert resources.parameter_base == 0x210
    assert resources.parameters == (
        Parameter(0, 0, 8),
        Parameter(1, 8, 8),
        Parameter(2, 16, 4),
        Parameter(3, 20, 1),
        Parameter(4, 24, 8),
    )


def test_local_functions_belong_to_the_section_of_their_kernel(everywhere):
    found = kernel(everywhere.module, "floats")
    local = [f for f in found.functions if not f.entry]
    end = len(found.instructions) * 16

    assert [f.name for f in found.functions if f.entry] == ["floats"]
    assert any("div" in f.name and f.name.startswith("$") for f in local)
    assert all(0 < f.start < f.start + f.size <= end for f in local)
    for function in local:
        assert {
            i.function
            for i in found.instructions
            if function.start <= i.address < function.start + function.size
        } == {function.name}
    assert found.at(0).function == "floats"
    assert sum(i.function != "floats" for i in found.instructions) == sum(f.size // 16 for f in local)


def test_calls_name_the_start_of_a_local_function(everywhere):
    found = kernel(everywhere.module, "floats")
    starts = {f.start for f in found.functions if not f.entry}
    targets = {i.target for i in found.instructions if i.opcode == "CALL"}

    assert targets
    assert targets <= starts


def test_targets_of_indirect_branches(everywhere):
    found = kernel(everywhere.module, "choice")
    branches = [i for i in found.instructions if i.opcode in ("BRX", "BRXU")]

    assert branches
    assert [i.address for i in branches] == sorted(found.indirect_targets)
    for targets in found.indirect_targets.values():
        assert len(targets) >= 3
        assert all(found.at(target) for target in targets)


def test_branch_targets_are_instructions_of_the_section(everywhere):
    for found in everywhere.module.kernels:
        for ins in found.instructions:
            if ins.opcode in ("BRA", "BSSY"):
                assert found.at(ins.target).address == ins.target
                assert ins.text.endswith(f"`({ins.target:#x})")


def test_a_batch_equals_single_reads(compiled, cubin):
    several = [
        (compiled("sm_90").cubin, Source("a")),
        (b"\x7fELF broken", Source("b", "2.sm_90.cubin")),
        (cubin("sm_90", SCALE), Source("c")),
        (cubin("sm_80", SCALE), Source("d")),
        (compiled("sm_90").cubin, Source("e")),
    ]
    batch = list(read_modules(several))

    assert len(batch) == len(several)
    assert isinstance(batch[1], InputError)
    assert str(batch[1].place) == "b[2.sm_90.cubin]"
    for (data, source), result in zip(several, batch, strict=True):
        if isinstance(result, SassqlError):
            continue
        single, problems = read_module(data, source)
        assert (result[0].source, result[0].arch, result[1]) == (source, single.arch, problems)
        assert as_rows(result[0]) == as_rows(single)
        assert result[0].distinct_words == single.distinct_words


def test_words_are_new_once(monkeypatch, tmp_path, cubin):
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path))
    one, other = cubin("sm_90", SCALE), cubin("sm_90", OTHER)
    first, second, third = (
        result[0] for result in read_modules([(one, Source("1")), (other, Source("2")), (one, Source("3"))])
    )
    fourth, _ = read_module(other, Source("4"))

    assert first.new_words == first.distinct_words > 10
    assert 0 < second.new_words < second.distinct_words
    assert (third.new_words, third.distinct_words) == (0, first.distinct_words)
    assert (fourth.new_words, fourth.distinct_words) == (0, second.distinct_words)
    assert len(set(as_rows(first)) & set(as_rows(third))) == first.instructions


def damaged(data: bytes, pairs, start: int = 2) -> bytes:
    """The cubin with words from number ``start`` of its first code section on replaced."""
    code = elf.read_cubin(data).sections[0].code
    where = data.index(code) + 16 * start
    content = np.array(pairs, "<u8").tobytes()
    return data[:where] + content + data[where + len(content) :]


def test_a_word_that_is_no_instruction_is_a_problem_and_the_rest_is_read(cubin):
    good = cubin("sm_90", SCALE)
    module, problems = read_module(damaged(good, [(0, 0), (0, 0)]), Source("bad.cubin"))
    whole, _ = read_module(good, Source("bad.cubin"))
    texts = [i.text for i in module.kernels[0].instructions]

    assert texts[2:4] == ["ILLEGAL 0x0, 0x0"] * 2
    assert texts[:2] + texts[4:] == [
        i.text for i in whole.kernels[0].instructions if i.address not in (32, 48)
    ]
    assert [str(p) for p in problems] == [
        f"bad.cubin: scale at 0x20, 0x30: {'0' * 32} is no instruction of sm_90 (2 instructions); "
        "the other instructions are read"
    ]
    assert problems[0].exit_code == 3
    assert module.kernels[0].at(0x20).known is False


def test_one_damaged_cubin_of_a_batch_loses_only_what_is_damaged(monkeypatch, cubin):
    monkeypatch.setattr(words, "MOST_REFUSED", 0)
    good = cubin("sm_90", SCALE)
    bad = damaged(good, [(n << 12 | 0xFFF, 5) for n in range(4)], start=3)
    batch = list(read_modules([(good, Source("1")), (bad, Source("2")), (good, Source("3"))]))
    (first, none), (second, problems), (third, _) = batch

    assert none == []
    assert as_rows(first) == as_rows(third) != []
    assert [i.text for i in second.kernels[0].instructions[:3]] == [
        i.text for i in first.kernels[0].instructions[:3]
    ]
    reasons = " / ".join(p.message for p in problems)
    assert "is no instruction of sm_90" in reasons
    assert "not decoded: nvdisasm refused 1 words before it" in reasons


def test_many_damaged_words_of_a_kernel_are_one_problem(cubin):
    good = cubin("sm_90", SCALE)
    module, problems = read_module(damaged(good, [(0, n) for n in range(9)]), Source("bad.cubin"))

    assert len(problems) == 1
    assert problems[0].message.startswith(
        "scale at 0x20, 0x30, 0x40 …: 9 different words are not decoded, first "
    )
    assert len(module.kernels[0].instructions) == len(module.kernels[0].form_ids)


def test_relocated_operands_name_what_the_linker_fills_in(compiled):
    module = compiled("sm_80", "relocations.cu", "-rdc=true").module
    linked, inside = kernel(module, "linked"), kernel(module, "_Z6insidef")
    texts = [i.text for i in (*linked.instructions, *inside.instructions)]

    assert {"UMOV UR4, 32@lo($str)", "STS [R6.X4+`(tile)], R17", "CALL.ABS.NOINC `(vprintf)"} <= set(texts)
    assert any("c[`((factors + 0x8))]" in text for text in texts)
    assert not inside.is_entry
    assert linked.is_entry
    store = next(i for i in linked.instructions if "`(tile)" in i.text)
    assert (store.operands[0].symbol, store.operands[0].offset) == ("tile", 0)
    factors = next(o for i in inside.instructions for o in i.operands if "factors" in o.text)
    assert (factors.symbol, factors.offset, factors.bank) == ("factors", 8, None)
    call = next(i for i in linked.instructions if i.opcode == "CALL")
    assert (call.target, call.operands[-1].symbol, str(call.operands[-1])) == (None, "vprintf", "`(vprintf)")


def test_source_lines_where_the_binary_has_them(cubin):
    source = 'extern "C" __global__ void k(float *x)\n{\n    x[0] = 1;\n    x[1] = sqrtf(x[2]);\n}\n'
    with_lines, _ = read_module(cubin("sm_90", source, "-lineinfo"), Source("k"))
    without, _ = read_module(cubin("sm_90", source), Source("k"))
    lines = {i.source_line.line for i in with_lines.kernels[0].instructions if i.source_line}

    assert {3, 4} <= lines <= {1, 2, 3, 4, 5}
    assert {i.source_line for i in without.kernels[0].instructions} == {None}


def test_the_old_layout_is_read(build):
    module, problems = read_module(build.old_cubin(0x5A055A), Source("old.cubin"))

    assert (module.arch, module.layout) == ("sm_90", "old")
    assert [k.name for k in module.kernels] == ["k"]
    assert len(module.kernels[0].instructions) == 2
    assert [p.kind for p in problems] == ["instruction"]  # bytes 0 to 15 are none, 16 to 31 happen to be one


def test_an_architecture_that_is_too_old(build):
    with pytest.raises(UnsupportedArchError, match="sm_60 code is not supported"):
        read_module(build.old_cubin(0x3C053C), Source("old.cubin"))


def test_no_cubin_at_all():
    with pytest.raises(InputError):
        read_module(b"not an ELF", Source("x.cubin"))


def test_a_cubin_without_code_is_an_empty_module(cubin):
    module, problems = read_module(cubin("sm_90", "__device__ int counter;"), Source("x.cubin"))

    assert (module.kernels, problems, module.distinct_words) == ((), [], 0)
    assert not issubclass(NoDeviceCodeError, UnsupportedArchError)
