"""The rules explain what they say and nothing else: a wrong table must not hide behind one."""

from __future__ import annotations

import pytest

from sassql.reading.listing import read_listing


def explained(scripts, arch: str, text: str, defs: str, uses: str) -> str:
    """Name of the rule for an instruction of which nvdisasm marks these registers."""
    modules, problems = read_listing(f"{text} ;\nEXIT ;", arch=arch)
    assert problems == []
    marks = scripts("life_ranges").Marks(at={0: (frozenset(defs.split()), frozenset(uses.split()))})
    return scripts("known_different").rule(modules[0].kernels[0].instructions[0], marks)


@pytest.mark.parametrize(
    ("arch", "text", "defs", "uses", "rule"),
    [
        ("sm_90", "R2P PR, R4, 0x6", "", "R4", "predicates-by-mask"),
        ("sm_90", "@P1 R2P PR, R4, 0x6", "", "P1 R4", "predicates-by-mask"),
        ("sm_90", "@P1 P2R R4, PR, R4, 0x6", "R4", "R4 P1", "predicates-by-mask"),
        ("sm_90", "R2P PR, R4, 0x6", "P1", "R4", ""),  # some of them
        ("sm_90", "R2P PR, R4, 0x6", "P1 P2", "", ""),  # them, and R4 is missing
        ("sm_90", "R2P PR, R4, 0x6", "R4", "", ""),
        ("sm_120", "UIADD3 UR70, UPT, UPT, UR4, UR64, URZ", "", "UR4", "uniform-from-63"),
        ("sm_120", "UIADD3 UR70, UPT, UPT, UR4, UR64, URZ", "", "", ""),
        ("sm_120", "UP2UR UR70, UPR, UR4, 0x3", "", "UR4", "uniform-from-63"),
        ("sm_90", "FADD R4, R5, R6", "", "R4 R5 R6", ""),  # the right registers, the wrong way round
        ("sm_120", "FADD R4, R5, R6", "R5", "R4 R6", ""),
        ("sm_120", "FADD R4, R5, R6", "R4 UR70", "R5 R6", ""),  # nvdisasm marks more
        ("sm_100", "TEX.LL R8, R6, R2, R0, UR4, 2D", "R6 R7 R8", "R2 R3 R0 UR4", "texture-pairs"),
        ("sm_90", "TEX.LL R8, R6, R2, R0, UR4, 2D", "R6 R7 R8", "R2 R3 R0 UR4", ""),
        ("sm_100", "TEX.LL R8, R6, R2, R0, UR4, 2D", "R6 R7", "R2 R3 R0 UR4", ""),
        ("sm_87", "UMOV UR2, 0x1", "", "", "ur2-of-sm_87"),
        ("sm_86", "UMOV UR2, 0x1", "", "", ""),
        ("sm_87", "UMOV UR3, 0x1", "", "", ""),
    ],
)
def test_a_rule_explains_only_what_it_says(scripts, arch, text, defs, uses, rule):
    assert explained(scripts, arch, text, defs, uses) == rule


def test_every_rule_has_a_reason(scripts):
    different = scripts("known_different")

    assert all(different.reason(name) for name in different.RULES)
    text = (scripts("ptx_forms").FORMS.parents[1] / "docs" / "accuracy.md").read_text("utf-8")
    assert all(f"`{name}`" in text for name in different.RULES)
