"""Text to syntax tree: the whole language parses, and what it parses to."""

from pathlib import Path

import pytest

from sassql.errors import PatternError
from sassql.lang import ast
from sassql.lang.parse import grammar, parse, parse_file
from sassql.lang.walk import lines, statements

EVERYTHING = """
class <fold> = <add> | FMNMX.FTZ
classify gemm priority 30 when mma_accumulator or (kernel.has(MUFU.EX2) and not reduction)

motif everything(%x, &A -> %r, #n) {
  title "a title" ; about "with \\"quotes\\""
  arch sm_90+
  scope all
  tags one, two

  loop K {
    chain 2..4 { f: FFMA|FFMA2.FTZ %acc', %a, -%b, |%acc| }
    chain 1+ { m: <mma> d=%c', c=%c }
  }
  either { cp: LDGSTS.128.!BYPASS [&S], [&G] } or { @!%p UTC* _, gdesc[UR4], 0x10, 1.5 }
  or { SHFL.{BFLY | DOWN} PT, %t, %x, #d }
  opt { b: <barrier>|<fence> ; st before any b }
  no STS [&B+0x10]
  no { l: LDG %e, desc[UR4][%base.64+%off+0x8] }
  every st: STG [&D], %v { slice %v addr : some LDG, no <atomic> [&D], %w, every st }
  flow %a -> %b via any max 3
  flow %a -> %b
  path st -> ld : every bar, no STG [&A]
  st dom ld
  use other(%x -> %r) as u
  %r = %x'
  where same(&S, &T) and &S.stride(K) != 0
     or kernel.name matches /gemm|conv/
  where #n in {1, 2,
               3}
  emit op = f.op, total = sum(count(f)) / 2 - 1 per K
  key f, K
}

test "pasted" expect todo 2 { op == <add>, total >= 2 } sm_90a {{
        /*0000*/  FADD R0, R1, R2 ;
}}
test "named" expect 0 from "lowering/softmax.cu:k" sm_90
"""


def one(text):
    return parse(f"motif m {{\n{text}\n}}").motifs[0].body[0]


def test_every_construct_parses():
    file = parse(EVERYTHING)
    kinds = {type(s).__name__ for s in statements(file.motifs[0].body)}
    assert kinds == {
        *("Header", "Line", "Loop", "Chain", "Either", "Opt", "No", "Every", "Flow", "Slice", "Path"),
        *("Order", "Equal", "Use", "Where", "Emit", "Key"),
    }
    assert [t.todo for t in file.tests] == [True, False]
    assert file.classifies[0].priority == 30


def test_the_grammar_has_no_conflicts(caplog):
    from lark import Lark

    from sassql.lang.newlines import Newlines
    from sassql.resources import folder

    path = str(folder("grammars") / "sq.lark")
    with caplog.at_level("DEBUG", logger="lark"):
        Lark.open(path, parser="lalr", postlex=Newlines(), debug=True)
    assert "Conflict" not in caplog.text
    assert grammar() is grammar()


def test_motifs_of_the_pattern_library_parse():
    files = sorted(Path("patterns").rglob("*.sq"))
    assert files
    for file in files:
        parsed = parse_file(file)
        assert parsed.motifs or parsed.classifies


def test_a_line_with_everything():
    line = one(
        "f: @!%p FADD.FTZ.!SAT.{A|B} %d, -|%a.H0_H0|, R4, PT, _, 0x1f, c[0x0][0x160], SR_TID.X, role=#n"
    )
    assert isinstance(line, ast.Line)
    assert line.label == "f"
    assert line.guard is not None
    assert (line.guard.inverted, str(line.guard.predicate)) == (True, "%p")
    opcode = line.opset[0]
    assert [(m.choices, m.absent) for m in opcode.modifiers] == [
        (("FTZ",), False),
        (("SAT",), True),
        (("A", "B"), False),
    ]
    cores = [operand.core for operand in line.operands]
    assert (line.operands[1].negated, line.operands[1].absolute) == (True, True)
    assert cores[1].suffixes == ("H0_H0",)
    assert cores[2:8] == [
        ast.RegisterName("R", 4),
        ast.RegisterName("P", None),
        ast.Anything(),
        ast.NumberOperand(31),
        ast.ConstantBank(0, 0x160),
        ast.Word("SR_TID.X"),
    ]
    assert line.operands[8].role == "role"


def test_a_number_takes_its_sign():
    line = one("IADD3 %d, %a, -0x1, -1.5")
    assert [o.core for o in line.operands[2:]] == [ast.NumberOperand(-1), ast.NumberOperand(-1.5)]
    assert not any(o.negated for o in line.operands)


def test_an_opset_keeps_its_order():
    line = one("FADD|<max>.FTZ|DADD |%a|")
    assert [o.name for o in line.opset] == ["FADD", "max", "DADD"]
    assert line.operands[0].absolute


def test_a_for_header():
    block = one("for (#d = #w / 2; #d >= 1; #d /= 2) { SHFL %t, %x, #d }")
    assert isinstance(block, ast.For)
    assert (str(block.counter), block.operator, block.step.value) == ("#d", "/", 2)
    assert block.init.operator == "/"


def test_newlines_end_statements_and_semicolons_do():
    body = parse("motif m {\n a: FADD %x, %y ; b: FADD %y, %z ;\n\n ; where #n ==\n  1\n}").motifs[0].body
    assert [type(s).__name__ for s in body] == ["Line", "Line", "Where"]


def test_a_test_belongs_to_the_motif_above_it():
    file = parse(
        'motif a { FADD %x }\ntest "1" expect 0 sm_90 {{ }}\n'
        'motif b { FADD %x }\ntest "2" expect 1 sm_80 {{ }}'
    )
    assert [(t.title, t.motif, t.arch) for t in file.tests] == [("1", "a", "sm_90"), ("2", "b", "sm_80")]


def test_the_listing_of_a_test_keeps_its_lines():
    test = parse('motif a { FADD %x }\n\ntest "t" expect 0\n  sm_90 {{\n        EXIT ;\n}}').tests[0]
    assert test.listing == "\n        EXIT ;\n"
    assert test.listing_line == 4


def test_comments_vanish_wherever_they_stand():
    text = "motif m { // one\n /*0310*/ FADD /* 0x0000 */ %x, // two\n %y\n // three\n }"
    assert len(list(lines(parse(text).motifs[0].body))) == 1


def test_positions_count_from_one():
    line = next(lines(parse("motif m {\n  s: FADD %x\n}").motifs[0].body))
    assert (line.at, line.operands[0].at) == (ast.Position(2, 3), ast.Position(2, 11))


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_line_endings_do_not_matter(ending):
    assert len(parse(f"motif m {{{ending} FADD %x{ending} FMUL %x{ending}}}").motifs[0].body) == 2


def test_motifs_of_later_versions_parse():
    """`language/` has motifs that use the whole language; the engine refuses most of them today."""
    files = sorted(Path("tests/lang/language").glob("*.sq"))
    assert len(files) == 12
    for file in files:
        parsed = parse_file(file)
        assert parsed.motifs or parsed.classifies


def test_a_missing_file_is_a_pattern_error(tmp_path):
    with pytest.raises(PatternError, match="No such file"):
        parse_file(tmp_path / "none.sq")
    (tmp_path / "bad.sq").write_bytes(b"\xff\xfe")
    with pytest.raises(PatternError, match="not UTF-8"):
        parse_file(tmp_path / "bad.sq")
