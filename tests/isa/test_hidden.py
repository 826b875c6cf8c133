from __future__ import annotations

import pytest

from sassql.isa.hidden import hidden_registers


def word(bit: int, number: int) -> tuple[int, int]:
    whole = number << bit
    return whole & (1 << 64) - 1, whole >> 64


def names(found) -> list[str]:
    return [str(register) for register in found]


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_87", "sm_88", "sm_89"])
@pytest.mark.parametrize(
    ("text", "bit"),
    [
        ("LDG.E R12, [R4.64]", 32),
        ("@!P0 LDG.E.128.CONSTANT R12, [R4.64+-0x30]", 32),
        ("STG.E [R4.64], R9", 64),
        ("RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R4.64+0x8], R9", 64),
        ("ATOMG.E.ADD.STRONG.GPU PT, R3, [R4.64], R9", 64),
    ],
)
def test_the_memory_descriptor_of_ampere_and_ada(arch, text, bit):
    assert names(hidden_registers(arch, text, word(bit, 10))) == ["UR10", "UR11"]


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_90a", "sm_100", "sm_120"])
def test_other_architectures_print_it_or_have_none(arch):
    assert hidden_registers(arch, "LDG.E R12, [R4.64]", word(32, 10)) == ()


@pytest.mark.parametrize(
    "text",
    [
        "LDG.E R12, [R4.64+UR6]",
        "LDS R12, [R4]",
        "LDG.E R12, [R4]",
        "FADD R0, R1, R2",
        "LDC R0, c[0x0][0x160]",
    ],
)
def test_accesses_that_hide_nothing(text):
    assert hidden_registers("sm_80", text, word(32, 10)) == ()


def test_no_register_where_the_word_has_the_zero_register():
    assert hidden_registers("sm_80", "LDG.E R12, [R4.64]", word(32, 63)) == ()


def test_nothing_is_guessed_without_the_word():
    assert hidden_registers("sm_80", "LDG.E R12, [R4.64]", None) == ()


def test_a_variant_is_its_architecture():
    assert hidden_registers("sm_89", "LDG.E R12, [R4.64]", word(32, 4)) == hidden_registers(
        "sm_89a", "LDG.E R12, [R4.64]", word(32, 4)
    )


def test_every_global_access_of_compiled_code_names_the_descriptor_that_was_loaded(compiled):
    """sm_80 loads the descriptor from c[0x0][0x118] into a uniform pair, and all accesses read that."""
    checked = 0
    for kernel in compiled("sm_80").module.kernels:
        loaded = {
            str(r) for i in kernel.instructions if i.text.endswith("c[0x0][0x118]") for r in sorted(i.defs)
        }
        for ins in kernel.instructions:
            if ".64]" in ins.text or ".64+" in ins.text:
                hidden = {str(r) for r in ins.form.hidden}
                assert hidden and hidden <= loaded, (kernel.name, ins)
                checked += 1
    assert checked > 30
