"""`isa/data/flow.tsv`: where an instruction can send a thread."""

from __future__ import annotations

import pytest

from sassql.isa import signatures
from sassql.isa.flow import NOTHING, Flow, FlowKind, flow_of, table
from sassql.reading.shapes import SHAPES


def flow(text: str) -> tuple[str, bool]:
    found = flow_of(SHAPES.form(text))
    return found.kind.value, found.conditional


@pytest.mark.parametrize(
    ("text", "kind", "conditional"),
    [
        ("BRA `(@)", "branch", False),
        ("@P0 BRA `(@)", "branch", True),
        ("@!UP0 BRA `(@)", "branch", True),
        ("BRA P1, `(@)", "branch", True),
        ("BRA PT, `(@)", "branch", False),
        ("BRA.U UP0, `(@)", "branch", True),
        ("BRA.U !UP1, `(@)", "branch", True),
        ("BRA.U `(@)", "branch", False),
        ("BRA.U.ANY `(@)", "branch", True),
        ("BRA.DIV UR4, `(@)", "branch", True),
        ("BRA.DIV ~URZ, `(@)", "branch", True),
        ("BRA.DIV `(@)", "branch", True),
        ("BRA.CONV ~URZ, `(@)", "branch", True),
        ("JMP `(@)", "branch", False),
        ("BRX R2 -0xe0", "indirect", False),
        ("@P0 BRX R2 -0xe0", "indirect", True),
        ("BRXU UR4 -0xe0", "indirect", False),
        ("CALL.REL.NOINC `(@)", "call", False),
        ("RET.REL.NODEC R8 `(@)", "return", False),
        ("@P0 RET.REL.NODEC R8 `(@)", "return", True),
        ("EXIT", "exit", False),
        ("EXIT P1", "exit", True),
        ("@P0 EXIT", "exit", True),
        ("KILL", "exit", False),
        ("BSSY B0, `(@)", "hint", False),
        ("BSSY.RECONVERGENT B0, `(@)", "hint", False),
        ("WARPSYNC.COLLECTIVE R8, `(@)", "hint", False),
        ("LEPC R20, `(@)", "hint", False),
        ("BSYNC B0", "none", False),
        ("@P0 BREAK P1, B0", "none", False),
        ("YIELD", "none", False),
        ("BPT.TRAP 0x1", "none", False),
        ("FADD R1, R2, R3", "none", False),
    ],
)
def test_kinds(text, kind, conditional):
    assert flow(text) == (kind, conditional)


NEVER = ["@!PT BRA `(@)", "@!PT EXIT", "BRA !PT, `(@)", "EXIT !PT", "@!UPT BRA `(@)"]


@pytest.mark.parametrize("text", NEVER)
def test_what_never_happens_is_nothing(text):
    assert flow_of(SHAPES.form(text)) == NOTHING


def test_a_call_through_a_register_ignores_its_label():
    assert flow_of(SHAPES.form("CALL.REL.NOINC R6 `(@)")) == Flow(FlowKind.CALL, computed=True)
    assert flow_of(SHAPES.form("CALL.ABS.NOINC R8")).computed
    assert not flow_of(SHAPES.form("CALL.ABS.NOINC `(@)")).computed


def test_an_unknown_opcode_with_a_place_in_code_is_unknown():
    assert flow("FOO R1, `(@)") == ("unknown", True)
    assert flow("FOO R1, R2") == ("none", False)


def test_a_statement_that_does_not_parse_is_unknown():
    form = SHAPES.form("BRA ]]")
    assert form.shape.problem
    assert flow_of(form).kind is FlowKind.UNKNOWN


def test_calls_and_hints_do_not_end_a_block():
    ending = {kind for kind in FlowKind if Flow(kind).ends_block}
    assert ending == {
        FlowKind.BRANCH,
        FlowKind.INDIRECT,
        FlowKind.RETURN,
        FlowKind.EXIT,
        FlowKind.UNKNOWN,
    }


def test_every_opcode_that_can_name_a_place_has_a_row():
    naming = {
        opcode
        for opcode, rows in signatures.table().items()
        for row in rows
        for item in row.items
        if "L" in item.kinds and "B" not in item.kinds and item.role == "target"
    }
    assert naming, "the signatures name targets"
    assert naming <= set(table())
