"""Checks: each id with a text that it refuses, the message, the place, the hint; and texts that pass."""

import pytest

from sassql.errors import PatternError
from sassql.lang.check import checked, findings, loads
from sassql.lang.findings import CHECKS, Severity
from sassql.lang.parse import parse

LADDER = (
    "for (#d = #w / 2; #d >= 1; #d /= 2) {{ s: SHFL.{{BFLY|DOWN}} %t, %x, #d ; f: <add> %x', %x, %t {} }}"
)


def body(text):
    return f"motif m {{\n{text}\n}}"


REFUSED = [
    # id, text, line, message, hint
    ("SQ001", body("a: BRA `(.L_x_1)"), 2, "``(.L_x_1)` is in the language", "write `_` in its place"),
    ("SQ024", body("a: FADD %x\nuse shufle(%x)"), 3, "no motif `shufle`", "looked for `shufle.sq`"),
    (
        "SQ025",
        "motif m {\nFADD %x\nuse n(%x) }\nmotif n(%a) {\nFADD %a\nuse m() }",
        3,
        "`m` uses itself, through `n`",
        "",
    ),
    (
        "SQ026",
        "motif n(%a -> %r) { FADD %r, %a }\nmotif m {\nFADD %x\nuse n(%x, %x -> %x) }",
        4,
        "2 inputs, but `n` has 1",
        "its inputs: `%a`",
    ),
    (
        "SQ027",
        "motif n(%a) { f: FADD %a\nemit op = f.op }\nmotif m {\nFADD %x\nuse n(%x) as u\nemit o = u.opp }",
        6,
        "`u` has no column `opp`",
        "did you mean `op`?",
    ),
    ("SQ002", body("a: FADX %x"), 2, "unknown opcode `FADX`", "did you mean `FADD`?"),
    ("SQ002", body("a: SHFL.BFLY|DOWN %x"), 2, "unknown opcode `DOWN`", "`SHFL.{BFLY|DOWN}`"),
    ("SQ002", body("a: MAX %x"), 2, "unknown opcode `MAX`", "did you mean the class `<max>`?"),
    ("SQ002", body("a: QQQ* %x"), 2, "no known opcode matches `QQQ*`", ""),
    ("SQ003", body("a: <addd> %x"), 2, "unknown class `<addd>`", "did you mean `<add>`?"),
    ("SQ003", body("a: FADD %x\nwhere a.op == <mx>"), 3, "unknown class `<mx>`", "did you mean `<max>`?"),
    (
        "SQ004",
        "class <p> = <q>\nclass <q> = <p>|FADD\n" + body("FADD %x"),
        1,
        "class `<p>` is defined by itself",
        "",
    ),
    ("SQ006", body('titel "x"\nFADD %x'), 2, "unknown header word `titel`", "did you mean `title`?"),
    ("SQ007", body("arch sm_90\narch sm_80\nFADD %x"), 3, "second `arch`", "the first one is in line 2"),
    ("SQ007", body("scope kernle\nFADD %x"), 2, "unknown scope `kernle`", "did you mean `kernel`?"),
    ("SQ007", body("arch hopper\nFADD %x"), 2, "`hopper` is no architecture", "write `arch sm_90+`"),
    ("SQ008", body("a: FADD e=%x"), 2, "no operand of this line has the role `e`", "`a`, `b`, `d`"),
    ("SQ009", body("a: FMUL %d, %a, %b, _, _"), 2, "5 operands, but FMUL has at most 4", ""),
    ("SQ010", body("a: FADD %x\nemit o = a.opp"), 3, "unknown attribute `a.opp`", "did you mean `op`?"),
    (
        "SQ010",
        body("a: FADD %x\nemit o = kernel.nam"),
        3,
        "unknown attribute `kernel.nam`",
        "did you mean `name`?",
    ),
    (
        "SQ010",
        body("a: SHFL.BFLY %x\nemit o = a.mod"),
        3,
        "`a.mod` needs a choice of modifiers in line 2",
        "as in",
    ),
    ("SQ010", body("a: FADD %x\nemit o = %x.opp"), 3, "unknown attribute `.opp`", "did you mean `op`?"),
    ("SQ010", body("a: FADD #x\nemit o = #x.op"), 3, "unknown attribute `.op`", "attributes follow a label"),
    ("SQ010", body("loop K { a: FADD %x }\nemit o = K.deep"), 3, "unknown attribute `K.deep`", "`depth`"),
    ("SQ010", body("a: STG [&A]\nemit o = &A.bas"), 3, "unknown attribute `.bas`", "did you mean `base`?"),
    ("SQ011", body("a: FADD %x\nemit o = cuont(a)"), 3, "unknown function `cuont`", "did you mean `count`?"),
    ("SQ011", body("a: FADD %x\nwhere same()"), 3, "`same` needs an argument", ""),
    (
        "SQ020",
        body("a: FADD %x") + "\n" + body("a: FADD %x"),
        4,
        "second motif `m`",
        "the first one is in line 1",
    ),
    ("SQ020", body("a: FADD %x\na: FMUL %x"), 3, "second label `a`", "the first one is in line 2"),
    ("SQ020", body("a: FADD %x\nemit c = 1, c = 2"), 3, "second column `c`", ""),
    ("SQ020", "class <f> = FADD\nclass <f> = FMUL\n" + body("FADD %x"), 2, "second class `f`", "in line 1"),
    (
        "SQ021",
        body("a: FADD %x, %acc\nwhere same(%ac, %x)"),
        3,
        "nothing binds `%ac`",
        "did you mean `%acc` (line 2)?",
    ),
    ("SQ021", body("a: FADD %x\nemit n = #n"), 3, "nothing binds `#n`", ""),
    (
        "SQ021",
        "motif m(%x -> %res) { a: FADD %x }",
        1,
        "interface name `%res` is not bound in `m`",
        "such as line 1",
    ),
    ("SQ021", body("a: FADD %x\n%q = %r"), 3, "nothing binds `%q`", ""),
    ("SQ022", body("fold: FADD %x\nemit n = fol.op"), 3, "unknown label `fol`", "did you mean `fold`?"),
    ("SQ022", body("a: FADD %x\nkey b"), 3, "unknown label `b`", ""),
    (
        "SQ023",
        body("a: FADD %x\nemit width = 1") + '\ntest "t" expect 1 { widht == 1 } sm_90 {{ }}',
        5,
        "`m` has no column `widht`",
        "did you mean `width`?",
    ),
    ("SQ023", 'test "t" expect 1 sm_90 {{ }}\n' + body("FADD %x"), 1, "no motif stands above this test", ""),
    ("SQ030", body("a: FADD %x', %x"), 2, "`%x'` outside of a step", "primes belong into"),
    ("SQ031", body(LADDER.format("; g: FMUL %y', %t, _")), 2, "`%y'` has no plain `%y` in this block", ""),
    (
        "SQ032",
        body("for (#d = 4; #d >= 1; #e /= 2) { SHFL %t, %x, #d }"),
        2,
        "the last part changes `#e`",
        "",
    ),
    (
        "SQ032",
        body("for (#d = 4; #w >= 1; #d /= 2) { SHFL %t, %x, #d }"),
        2,
        "does not mention the counter",
        "",
    ),
    (
        "SQ032",
        body("for (#d = 4; #d >= 1; #d /= 2) { SHFL %t, %x }"),
        2,
        "no line of the body has the counter",
        "",
    ),
    ("SQ032", body("for (#d = #a + #b; #d >= 1; #d /= 2) { SHFL %t, %x, #d }"), 2, "one unknown integer", ""),
    (
        "SQ032",
        body("for (#d = 4; #d >= 1; #d /= 1.5) { SHFL %t, %x, #d }"),
        2,
        "the step is a whole number",
        "",
    ),
    ("SQ033", body("for (#d = 1; #d <= 4; #d /= 2) { SHFL %t, %x, #d }"), 2, "this `for` does not end", ""),
    (
        "SQ033",
        body("for (#d = #w / 2; #d >= 0; #d /= 2) { SHFL %t, %x, #d }"),
        2,
        "this `for` does not end",
        "",
    ),
    ("SQ033", body("for (#d = 1; #d < 8; #d *= 1) { SHFL %t, %x, #d }"), 2, "this `for` does not end", ""),
    ("SQ033", body("for (#d = 1; #d >= 1; #d += 1) { SHFL %t, %x, #d }"), 2, "this `for` does not end", ""),
    ("SQ034", body("loop Outer { FADD %x }"), 2, "`Outer` is no loop name", "one capital letter"),
    (
        "SQ035",
        body("for (#d = 4; #d >= 1; #d /= 2) { SHFL %t, %x, #d ; key s }"),
        2,
        "`key` stands outside",
        "",
    ),
    ("SQ035", body('title "nothing"'), 1, "motif `m` has no line", ""),
    (
        "SQ040",
        body("a: FADD %x\nb: FMUL %y"),
        3,
        "the lines 2 and 3 of `m` share no name",
        "or split the motif",
    ),
]


@pytest.mark.parametrize(("number", "text", "line", "message", "hint"), REFUSED)
def test_refused(number, text, line, message, hint):
    found = [f for f in findings(parse(text, "m.sq")) if f.id == number]
    assert any(message in f.message and hint in f.hint and f.at.line == line for f in found), found
    with pytest.raises(PatternError) as caught:
        loads(text, "m.sq")
    assert "[SQ" in str(caught.value)
    assert caught.value.caret()


def test_every_check_has_a_case_and_a_recommendation():
    tried = {number for number, *_ in REFUSED}
    errors = {number for number, run in CHECKS.items() if number != "SQ005"}
    assert tried == errors
    assert all(run.__doc__ for run in CHECKS.values())


def test_an_unseen_modifier_is_a_remark():
    file = parse(body("a: SHFL.BFYL %t, %x"))
    (finding,) = findings(file)
    assert (finding.id, finding.severity) == ("SQ005", Severity.REMARK)
    assert finding.message == "`.BFYL` was never seen with SHFL"
    assert finding.hint == "did you mean `BFLY`?"
    assert checked(file) is file


PASSES = [
    body(
        LADDER.format("")
        + "\n%r = %x'\nwhere #w in {2} and same(f.op)\nemit n = count(f), d = max(#d), m = s.mod"
    ),
    body("a: FADD %x, %y\nb: FMUL _, %x"),
    body("a: FADD %x\nb: FMUL %y\nwhere same(%x, %y)"),
    body("a: FADD %x\nb: FMUL %y\nwhere a.index < b.index"),
    body("r: REDUX|CREDUX %r, %x\nemit op = r.opcode, k = kernel.name, a = kernel.arch"),
    body("for (#d = 1; #d < #w; #d *= 2) { s: SHFL.UP %t, %x, #d ; f: @%p <add> %x', %x, %t }"),
    body("for (#d = 16; #d != 0; #d /= 2) { s: SHFL %t, %x, #d ; f: <add> %x', %x, %t }"),
    body("for (#d = 0; #d < 4; #d += 1) { s: SHFL %t, %x, #d ; f: <add> %x', %x, %t }"),
    "class <fold> = <add>|FMNMX\n" + body("f: <fold> %r, %x, %x\nwhere f.op == <add>\nkey kernel"),
    body("m: HMMA d=%d, c=%c"),
    body("m: <mma> d=%d, c=%c\nemit s = m.shape"),
    body("a: UTC*MMA gdesc[_], _"),
]


@pytest.mark.parametrize("text", PASSES)
def test_passes(text):
    assert findings(parse(text)) == ()
    loads(text)


def test_errors_come_in_the_order_of_the_text():
    with pytest.raises(PatternError, match="unknown opcode `FADX`"):
        loads(body("a: FADX %x\nb: FADD %x\nloop K { FADD %x }"))
