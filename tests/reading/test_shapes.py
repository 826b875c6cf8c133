from __future__ import annotations

import math

import pytest

from sassql.model.operands import (
    Access,
    ConstantOperand,
    ImmediateOperand,
    KeywordOperand,
    LabelOperand,
    MemoryOperand,
    RegisterOperand,
    RelocatedOperand,
    SetOperand,
)
from sassql.model.register import register
from sassql.reading import grammar
from sassql.reading.grammar import refusal
from sassql.reading.shapes import SHAPES, ShapeTable, number_holes, strip_reuse


def names(registers) -> list[str]:
    return [str(r) for r in sorted(registers)]


def operand(text: str, place: int = -1):
    return SHAPES.form(text).operands[place]


def test_the_numbers_of_a_statement_become_holes():
    texts = ["@!P0 FADD R5, R2.reuse, -R3", "@UP1 LDG.E.64 R2, desc[UR4][R2.64+-0x40]", "EXIT"]

    assert number_holes(texts) == ["@!P# FADD R#, R#, -R#", "@UP# LDG.E.64 R#, desc[UR#][R#.64+-#]", "EXIT"]


@pytest.mark.parametrize(
    "text",
    [
        "R2P PR, R0.B1, 0x7f",
        "HMMA.16816.F32 R8, R24, R8, RZ",
        "LDSM.16.M88.4 R8, [R0]",
        "F2FP.F16.F32.PACK_AB R0, R1, R2",
        "TEX.LL R6, R4, R4, R6, UR4, 2D",
        "IDP.4A.S8.S8 R0, R1, R2, R3",
    ],
)
def test_digits_of_words_and_modifiers_are_no_numbers(text):
    form = SHAPES.form(text)

    assert form.shape.problem == ""
    assert form.opcode + "".join(f".{m}" for m in form.modifiers) == text.split(" ")[0]
    assert form.operand_texts == tuple(text.split(" ", 1)[1].split(", "))


def test_a_shape_is_parsed_once(monkeypatch):
    parsed = []
    real = grammar.parse_shape
    monkeypatch.setattr(grammar, "parse_shape", lambda text: parsed.append(text) or real(text))
    table = ShapeTable()
    forms = [table.form(f"IADD3 R{i}, R{i + 1}, {hex(i)}, RZ") for i in range(20)]

    assert parsed == ["IADD3 R#, R#, #, RZ"]
    assert len({id(form.shape) for form in forms}) == 1
    assert len(table) == 1
    assert names(forms[7].defs | forms[7].uses) == ["R7", "R8"]


def test_a_refused_text_is_a_shape_with_a_problem():
    shape = SHAPES.form("FADD R0, R1 R2").shape

    assert shape.problem == "unexpected 'R#'"
    assert (shape.opcode, shape.known, shape.slots) == ("", False, ())


@pytest.mark.parametrize(
    ("text", "reason", "column"),
    [
        ("FADD R0, R1 R2", "unexpected 'R2'", 13),
        ("FADD R0, 0x1234, R5 R6", "unexpected 'R6'", 21),
        ("FADD R0,", "unexpected the end of the line", 9),
        ("@P9x FADD R0", "unexpected '@'", 1),
        ("FADD R0, \u00e9", "unexpected '\u00e9'", 10),
        ("LDG.E R0, [R2", "unexpected the end of the line", 14),
    ],
)
def test_a_refusal_names_what_is_there_and_where(text, reason, column):
    assert refusal("statement", text) == (reason, column)


def test_what_the_grammar_takes_is_no_refusal():
    assert refusal("statement", "FADD R0, R1, R2 ;") == ("", 1)
    assert refusal("line", "        .size           k,(.L_x_3 - k)") == ("", 1)


def test_reuse_is_kept_apart_by_operand():
    text = "@P0 FFMA R1, R2.reuse, |R3|.reuse, R4"
    form = SHAPES.form(text)

    assert strip_reuse(text) == ("@P0 FFMA R1, R2, |R3|, R4", (1, 2))
    assert form.reuse == (1, 2)
    assert [o.reuse for o in form.operands] == [False, True, True, False]
    assert [o.text for o in form.operands] == ["R1", "R2", "|R3|", "R4"]
    assert form.text == text


def test_reuse_does_not_change_the_shape():
    assert SHAPES.form("FADD R1, R2.reuse, R3").shape is SHAPES.form("FADD R1, R2, R3").shape


@pytest.mark.parametrize(
    ("text", "printed", "register_name", "never"),
    [
        ("@P0 EXIT", "@P0", "P0", False),
        ("@!P6 EXIT", "@!P6", "P6", False),
        ("@!UP0 ULEA UR4, UR5, UR6, 0x2", "@!UP0", "UP0", False),
        ("@!PT LDS RZ, [RZ]", "@!PT", None, True),
        ("@!UPT UIADD3 URZ, UPT, UPT, URZ, URZ, URZ", "@!UPT", None, True),
    ],
)
def test_guards(text, printed, register_name, never):
    form = SHAPES.form(text)
    guard = form.guard

    assert str(guard) == printed
    assert (guard.register and str(guard.register)) == register_name
    assert guard.never is never
    assert (register_name in names(form.uses)) is (register_name is not None)


def test_no_guard():
    assert SHAPES.form("EXIT").guard is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-|R4|", {"negated": True, "absolute": True, "index": 4, "file": "R"}),
        ("~R3", {"inverted": True, "index": 3, "negated": False}),
        ("!P2", {"inverted": True, "file": "P", "index": 2}),
        ("!UPT", {"inverted": True, "file": "UP", "index": None, "is_zero": True}),
        ("-URZ", {"negated": True, "file": "UR", "index": None}),
        ("R0.H0_H0", {"suffixes": ("H0_H0",), "index": 0}),
        ("|R6|.H0_H0", {"suffixes": ("H0_H0",), "absolute": True}),
        ("R4.F32x2.HI_LO", {"suffixes": ("F32x2", "HI_LO")}),
        ("B6", {"file": "B", "index": 6}),
    ],
)
def test_register_operands(text, expected):
    found = operand(f"OP R0, {text}")

    assert isinstance(found, RegisterOperand)
    assert found.text == text
    assert {name: getattr(found, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x10", 16),
        ("-0x10", -16),
        ("7", 7),
        ("-1.5", -1.5),
        ("1.4285714626312255859", 1.4285714626312255859),
        ("9.9999997473787516356e-05", 9.9999997473787516356e-05),
        ("2.3283064365386962891e+09", 2.3283064365386962891e09),
        ("+INF", math.inf),
        ("-INF", -math.inf),
    ],
)
def test_immediate_operands(text, value):
    found = operand(f"OP R0, {text}")

    assert isinstance(found, ImmediateOperand)
    assert (found.value, type(found.value)) == (value, type(value))
    assert found.text == text


def test_a_float_may_be_no_number_and_zero_keeps_its_sign():
    assert math.isnan(operand("FSETP.NEU.AND P0, PT, R1, +QNAN , PT", 3).value)
    assert math.copysign(1, operand("FADD R0, R1, -0.0").value) == -1
    assert operand("FSETP.NEU.AND P0, PT, R1, -QNAN , PT", 3).text == "-QNAN"


@pytest.mark.parametrize(
    ("text", "terms", "offset", "prefix", "descriptor"),
    [
        ("[R2]", ["R2"], 0, "", None),
        ("[R2+0x8]", ["R2"], 8, "", None),
        ("[R211+-0x4000]", ["R211"], -0x4000, "", None),
        ("[R2.64+UR4+0x8]", ["R2", "UR4"], 8, "", None),
        ("[R3+URZ+0xd8]", ["R3", None], 0xD8, "", None),
        ("[0x220]", [], 0x220, "", None),
        ("[RZ]", [None], 0, "", None),
        ("desc[UR4][R2.64+-0x40]", ["R2"], -0x40, "desc", "UR4"),
        ("desc[URZ][R2.64]", ["R2"], 0, "desc", None),
        ("gdesc[UR8]", ["UR8"], 0, "gdesc", None),
        ("gdesc[UR12].tnspA.tnspB", ["UR12"], 0, "gdesc", None),
        ("idesc[UR35]", ["UR35"], 0, "idesc", None),
        ("tmem[UR4+0x40]", ["UR4"], 0x40, "tmem", None),
        ("tmem[UR4+-0x100]", ["UR4"], -0x100, "tmem", None),
    ],
)
def test_memory_operands(text, terms, offset, prefix, descriptor):
    found = operand(f"OP R0, {text}")

    assert isinstance(found, MemoryOperand)
    assert [term.register and str(term.register) for term in found.terms] == terms
    assert (found.offset, found.prefix, found.text) == (offset, prefix, text)
    held = found.descriptor
    assert (held and held.register and str(held.register)) == descriptor


def test_the_scale_of_an_address_term():
    found = operand("LDS R0, [R2.X16+UR4+0x8]")

    assert [(str(t.register), t.scale) for t in found.terms] == [("R2", 16), ("UR4", 1)]


def test_a_bare_descriptor_is_an_operand_with_a_descriptor():
    found = operand("UTMASTG.2D [UR8], [UR4], desc[UR6]")

    assert (found.prefix, found.descriptor.register, found.terms) == ("desc", register("UR", 6), ())


@pytest.mark.parametrize(
    ("text", "bank", "bank_register", "base", "offset", "symbol"),
    [
        ("c[0x0][0x160]", 0, None, None, 0x160, ""),
        ("c[0x0] [0x178].H0_H0", 0, None, None, 0x178, ""),
        ("-c[0x3][0x10]", 3, None, None, 0x10, ""),
        ("|c[0x3][0x10]|", 3, None, None, 0x10, ""),
        ("~c[0x0][0x10]", 0, None, None, 0x10, ""),
        ("c[0x3][R2]", 3, None, "R2", 0, ""),
        ("c[0x2][R9+0xc]", 2, None, "R9", 12, ""),
        ("c[0x0][UR4+0x2b0]", 0, None, "UR4", 0x2B0, ""),
        ("c[0x4][URZ]", 4, None, None, 0, ""),
        ("cx[UR2][0x248]", None, "UR2", None, 0x248, ""),
        ("cx[UR2][R4+0x8]", None, "UR2", "R4", 8, ""),
        ("c[`(table)]", None, None, None, 0, "table"),
        ("c[`((table + 0x8))]", None, None, None, 8, "table"),
    ],
)
def test_constant_operands(text, bank, bank_register, base, offset, symbol):
    found = operand(f"OP R0, {text}")

    assert isinstance(found, ConstantOperand)
    assert found.text == text
    assert (found.bank, found.offset, found.symbol) == (bank, offset, symbol)
    assert (found.bank_register and str(found.bank_register)) == bank_register
    assert (found.base and found.base.register and str(found.base.register)) == base


@pytest.mark.parametrize(
    "word", ["SR_TID.X", "SRZ", "SB0", "gsb0", "PR", "2D", "ARRAY_2D", "SR_CgaCtaId", "Rpc.LO"]
)
def test_keyword_operands(word):
    found = operand(f"OP R0, {word}")

    assert isinstance(found, KeywordOperand)
    assert (found.text, found.name) == (word, word)


def test_sets_labels_and_relocations():
    scoreboards = operand("DEPBAR.LE SB0, 0x1, {4,3}")
    label = operand("RET.REL.NODEC R8 `(_Z3dblPdii)")
    nested = operand("CALL.REL.NOINC R2, `($_Z3dblPdii$_Z4slowd)")
    half = operand("MOV R20, 32@lo((_Z1kPf + .L_x_0@srel))")

    assert (type(scoreboards), scoreboards.values) == (SetOperand, (4, 3))
    assert (type(label), label.symbol, label.target) == (LabelOperand, "_Z3dblPdii", None)
    assert nested.symbol == "$_Z3dblPdii$_Z4slowd"
    assert (type(half), half.half, half.symbol) == (RelocatedOperand, "lo", "_Z1kPf + .L_x_0@srel")


@pytest.mark.parametrize("text", ["[R2+010]", "[R2+1.5]", "c[010][0x8]", "c[R2]", "{0x4}"])
def test_numbers_that_nvdisasm_never_writes_do_no_harm(text):
    assert operand(f"OP R0, {text}").text == text


def test_a_hole_in_the_text_itself_is_refused():
    form = SHAPES.form("FADD R0, R#, R2")

    assert (form.shape.problem, form.operands, form.numbers) == ("unexpected '#'", (), ())
    assert refusal("statement", "FADD R0, R#, R2") == ("unexpected '#'", 11)
    assert SHAPES.form("FADD R0, R1, R2").shape.problem == ""


def test_reuse_in_a_refused_text_does_no_harm():
    form = SHAPES.form("FADD R0, R1.reuse R2, R3.reuse")

    assert form.shape.problem != ""
    assert (form.operands, form.defs, form.uses) == ((), frozenset(), frozenset())


def test_a_blank_in_place_of_a_comma():
    form = SHAPES.form("BRX R2 -0xe0")

    assert form.operand_texts == ("R2", "-0xe0")
    assert form.operands[1].value == -0xE0
    assert names(form.uses) == ["R2", "R3"]


def test_roles_and_access_of_the_operands():
    form = SHAPES.form("IADD3 R6, P0, PT, R2, R3, c[0x0][0x10]")

    assert [(o.role, o.access) for o in form.operands] == [
        ("d", Access.DEF),
        ("p", Access.DEF),
        ("p", Access.DEF),
        ("a", Access.USE),
        ("b", Access.USE),
        ("c", Access.USE),
    ]
    assert names(form.defs) == ["P0", "R6"]
    assert names(form.uses) == ["R2", "R3"]


def test_an_opcode_that_the_tables_lack_is_unknown_and_its_registers_are_uses():
    form = SHAPES.form("@P1 FROBNICATE.FAST R0, [R2.64+UR4], UP3, c[0x0][R7]")

    assert not form.shape.known
    assert form.defs == frozenset()
    assert names(form.uses) == ["P1", "R0", "R2", "R7", "UP3", "UR4"]
    assert {o.role for o in form.operands} == {""}


def test_operands_that_fit_no_row_make_a_known_opcode_unknown():
    assert SHAPES.form("FADD R0, R1, R2").shape.known
    assert not SHAPES.form("FADD R0, R1, R2, R3, R4").shape.known


def test_wide_operands_span_consecutive_registers():
    form = SHAPES.form("IMAD.WIDE R2, R0, R3, R4")

    assert [o.width for o in form.operands] == [2, 1, 1, 2]
    assert [str(r) for r in form.operands[3].registers] == ["R4", "R5"]
    assert (names(form.defs), names(form.uses)) == (["R2", "R3"], ["R0", "R3", "R4", "R5"])


def test_hidden_registers_are_uses():
    hidden = (register("UR", 10), register("UR", 11))

    form = SHAPES.form("LDG.E R12, [R4.64]", hidden)

    assert names(form.uses) == ["R4", "R5", "UR10", "UR11"]


def test_the_branch_operand_is_marked():
    assert SHAPES.form("@P0 BRA P3, `(@)").shape.target_operand == 1
    assert SHAPES.form("BRA 0x10").shape.target_operand == -1
    assert SHAPES.form("MOV R20, 32@lo(k)").shape.target_operand == -1
