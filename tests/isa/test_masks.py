"""Numbers that say how many registers are written: every mask, against what nvdisasm marks."""

from __future__ import annotations

import re

import pytest

from sassql.facts.accesses import access_of, register_of
from sassql.model.kernel import Source
from sassql.reading.cubin import read_module

HEAD = """.version 8.8
.target {arch}
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in)
{{
.reg .b64 %to, %from; .reg .b32 %v<8>;
ld.param.u64 %to, [out];
ld.param.u64 %from, [in];
"""
WIDE = "ld.global.v8.b32 {{{all}}}, [%from+{place}];"
TEXTURE = "tex.level.2d.v4.f32.f32 {{{some}}}, [%from, {{{level}, {level}}}], {level};"


def kernel(instruction: str, count: int, arch: str) -> str:
    """One instruction for each mask of ``count`` results; the results of the mask are stored."""
    lines = [HEAD.format(arch=arch)]
    for mask in range(1, 1 << count):
        chosen = [i for i in range(count) if mask >> i & 1]
        sunk = ", ".join(f"%v{i}" if i in chosen else "_" for i in range(count))
        every = ", ".join(f"%v{i}" for i in range(count))
        level = f"0f{0x3F800000 + mask:08x}"
        lines.append(instruction.format(all=sunk, some=every, place=32 * mask, level=level))
        lines += [f"st.global.b32 [%to+{32 * mask + 4 * i}], %v{i};" for i in chosen]
    return "\n".join([*lines, "ret;", "}"])


@pytest.mark.parametrize(
    ("opcode", "instruction", "count", "arch"),
    [
        ("LDG", WIDE, 8, "sm_100"),
        ("LDG", WIDE, 8, "sm_120"),
        ("TEX", TEXTURE, 4, "sm_75"),
        ("TEX", TEXTURE, 4, "sm_90"),
    ],
    ids=lambda value: value if value in ("LDG", "TEX") or "sm_" in str(value) else "",
)
def test_every_mask_writes_the_registers_that_nvdisasm_marks(scripts, opcode, instruction, count, arch):
    cubin, log = scripts("ptx_forms").linked_here(kernel(instruction, count, arch), arch)
    assert cubin, log
    marks = scripts("life_ranges").oracle(cubin)["k"].at
    module, _ = read_module(cubin, Source("masks"))
    masks = set()
    for ins in module.kernels[0].instructions:
        if ins.opcode == opcode:
            written = marks[ins.address][0]
            assert set(map(str, ins.defs)) == written, ins.text
            assert {str(register_of(n)) for n in access_of(ins.form).defs} == written, ins.text
            printed = re.search(r", (0x[0-9a-f]+)$", ins.text)
            masks.add(int(printed[1], 16) if printed else (1 << count) - 1)

    assert masks == set(range(1, 1 << count))
