"""Explanations: each kind of statement, made to fail on real SASS; the place, and the reason in words."""

from __future__ import annotations

import pytest

from sassql.engine.explain import explain
from sassql.engine.pattern import Pattern
from sassql.engine.planned import planned
from sassql.reading.listing import read_listing

CODE = """
        S2R R6, SR_TID.X ;
        LDG.E R0, desc[UR4][R2.64] ;
        LDG.E R9, desc[UR4][R2.64+0x10] ;
        SHFL.BFLY PT, R3, R0, 0x10, 0x1f ;
        FADD R3, R3, R0 ;
        SHFL.BFLY PT, R4, R3, 0x4, 0x1f ;
        FMUL R4, R4, R9 ;
        BAR.SYNC.DEFER_BLOCKING 0x0 ;
        MUFU.EX2 R5, R4 ;
        STG.E desc[UR4][R2.64], R5 ;
        EXIT ;
"""
LOOP = """
.L_1:
        LDG.E R0, desc[UR4][R2.64] ;
        FADD R7, R7, R0 ;
        IADD3 R2, R2, 0x4, RZ ;
        ISETP.LT.AND P0, PT, R2, R10, PT ;
        @P0 BRA `(.L_1) ;
        FMUL R8, R7, R7 ;
        STG.E desc[UR4][R4.64], R8 ;
        EXIT ;
"""


def kernel(text=CODE, arch="sm_90"):
    modules, problems = read_listing(text, arch=arch)
    assert problems == []
    return modules[0].kernels[0]


def told(body, text=CODE, header="", at=None):
    pattern = Pattern.parse(f"motif m{header} {{\n{body}\n}}")
    return explain(pattern, kernel(text), "m", at=at)


FAILING = [
    (
        "the kernel has no such opcode",
        "a: SHFL %t, %x\nb: DADD %r, %t, %x",
        CODE,
        3,
        "the kernel has no such opcode",
    ),
    (
        "other modifiers",
        "a: SHFL.UP %t, %x",
        CODE,
        2,
        "no instruction has these modifiers; there are SHFL.BFLY (2)",
    ),
    (
        "operands that do not fit",
        "a: FADD %x, -%y",
        CODE,
        2,
        "operand 2 of the line does not fit: 0x0040 FADD R3, R3, R0",
    ),
    ("a guard", "a: @%p STG [_], %x", CODE, 2, "the guard does not fit: 0x0090 STG.E desc[UR4][R2.64], R5"),
    (
        "another value",
        "a: SHFL %t, %x, 16\nb: FMUL %r, %t, %x",
        CODE,
        3,
        "0x0060 FMUL R4, R4, R9: `%t` is what SHFL makes at 0x0030, but `R4` is what SHFL makes at 0x0050",
    ),
    (
        "another value, and several candidates",
        "a: SHFL %t, %x, 16\nb: FMUL|MUFU %r, %t",
        CODE,
        3,
        "none of the 2 instructions that could be this line has `%t`, what SHFL makes at 0x0030; it is read by 0x0040 FADD R3, R3, R0",
    ),
    (
        "a number",
        "a: SHFL %t, %x, 8",
        CODE,
        2,
        "operand 3 of the line does not fit: 0x0030 SHFL.BFLY PT, R3, R0, 0x10, 0x1f",
    ),
    ("an integer", "a: SHFL %t, %x, #n\nb: SHFL %u, %y, #n", CODE, 3, "`#n` is 16, here stands 4"),
    ("the same instruction", "a: FADD %x, %y\nb: FADD %x, %z", CODE, 3, "this instruction is `a` already"),
    (
        "an address",
        "a: LDG %x, [&A]\nb: STG [&A], %x",
        CODE,
        2,
        "`%x` is what MUFU makes at 0x0080, but `R0` is what LDG makes at 0x0010",
    ),
    (
        "a condition",
        "a: FADD %r, %x\nwhere a.op == <max>",
        CODE,
        3,
        "`a.op == <max>` is not so: a.op is <add>",
    ),
    (
        "an order",
        "a: SHFL %t, %x, 4\nb: FADD %r, _\na before b",
        CODE,
        4,
        "it is not so that `a` (0x0050) comes before `b` (0x0040)",
    ),
    (
        "a flow",
        "a: SHFL %t, %x, 16\nb: STG [_], %v\nflow %t -> %v via FADD",
        CODE,
        4,
        "what SHFL makes at 0x0030 does not reach what MUFU makes at 0x0080 through FADD (at most 64)",
    ),
    (
        "a way",
        "a: SHFL %t, %x, 16\nb: STG [_], %v\npath a -> b : no BAR",
        CODE,
        4,
        "0x0070 BAR.SYNC.DEFER_BLOCKING 0x0 lies on the way",
    ),
    (
        "a slice",
        "st: STG [_], %v\nslice %v : no SHFL",
        CODE,
        3,
        "it depends on 0x0030 SHFL.BFLY PT, R3, R0, 0x10, 0x1f",
    ),
    (
        "a negation",
        "a: FADD %r, %x\nno { b: SHFL _, %r }",
        CODE,
        3,
        "it is there: 0x0050 SHFL.BFLY PT, R4, R3",
    ),
    (
        "every",
        "every s: SHFL %t, %x { f: FADD _, %t, %x }",
        CODE,
        2,
        "it does not hold for 0x0050 SHFL.BFLY PT, R4, R3, 0x4, 0x1f; line 2: 0x0040 FADD R3, R3, R0: `%t` is what SHFL makes at 0x0050, but `R3` is what SHFL makes at 0x0030",
    ),
    (
        "a step",
        "for (#d = 16; #d >= 1; #d /= 2) { s: SHFL %t, %x, #d ; f: DADD %x', %x, %t }",
        CODE,
        2,
        "the kernel has no such opcode",
    ),
    (
        "a run",
        "for (#d = 8; #d >= 1; #d /= 2) { s: SHFL %t, %x, #d ; f: FADD %x', %x, %t }",
        CODE,
        2,
        "1 step fit, but no run of them goes from the first value of the header to the last one",
    ),
    (
        "a chain",
        "chain 2+ { f: FADD %x', %x, %y }",
        CODE,
        2,
        "fit, but no chain of them is long enough",
    ),
    ("no loop", "loop K { a: FADD %r, %x }", CODE, 2, "there is no loop"),
    ("a loop", "loop K { a: FMUL %r, %x }", LOOP, 2, "none of the 1 loops of the kernel can be K"),
    (
        "what a loop carries",
        "loop K { f: FADD %acc', %a, %b\nl: LDG %acc, [_] }",
        LOOP,
        2,
        "is not what comes back to the head of the loop as `%acc`",
    ),
]


@pytest.mark.parametrize(("name", "body", "text", "line", "reason"), FAILING, ids=[f[0] for f in FAILING])
def test_reasons(name, body, text, line, reason):
    found = told(body, text)

    assert found.rows == ()
    assert reason in found.reason, found.reason
    assert found.line == line
    assert 0 <= found.satisfied < found.statements


def test_the_deepest_match_has_its_instructions():
    found = told("a: SHFL %t, %x, 16\nf: FADD %r, %t, %x\nm: DMUL %q, %r")

    assert [(m.line, m.label, [i.text for i in m.instructions]) for m in found.matched] == [
        (2, "a", ["SHFL.BFLY PT, R3, R0, 0x10, 0x1f"]),
        (3, "f", ["FADD R3, R3, R0"]),
    ]
    assert (found.line, found.reason) == (4, "the kernel has no such opcode")
    assert (found.satisfied, found.statements) == (2, 3)


def test_rows_need_no_explanation():
    found = told("a: FADD %r, %x")
    assert len(found.rows) == 1 and found.reason == "" and found.matched == ()


def test_a_place_that_was_asked_for():
    body = "a: SHFL %t, %x\nb: FADD %r, %t, %x"
    assert len(told(body, at=0x30).rows) == 1
    found = told(body, at=0x50)
    assert found.rows == ()
    assert [i.address for m in found.matched for i in m.instructions] == [0x50]
    assert "`%t` is what SHFL makes at 0x0050" in found.reason
    with pytest.raises(KeyError, match="no instruction at 0x55"):
        told(body, at=0x55)
    assert "nothing fits through" in told("b: FADD %r, %t, %x\nc: DADD %r", at=0x80).reason


def test_the_motif_that_is_used_is_explained():
    text = "motif ladder(%x -> %r) {\ns: SHFL %t, %x\nf: FMNMX %r, %t, %x\n}\nmotif m {\na: STG [_], %v\nuse ladder(%y -> %v)\n}"
    found = explain(Pattern.parse(text), kernel(), "m")

    assert (found.line, found.reason) == (7, "`ladder` is not in this kernel")
    assert (found.inside.motif, found.inside.line) == ("ladder", 3)
    assert found.inside.reason == "the kernel has no such opcode"


def test_another_architecture():
    found = told("arch sm_100+\na: FADD %r, %x")
    assert found.reason == "the motif is for sm_100+, the kernel is sm_90"


def test_a_search_without_end_says_so():
    pattern = Pattern.parse(
        "motif m {\na: <load> %x, [_]\nb: FADD %y, _\nflow %x -> %z via any max 9\nflow %y -> %z via any max 9\nc: DADD %z\n}"
    )
    found = explain(pattern, kernel(), "m", steps=20)
    assert found.gave_up and found.reason


def test_records():
    record = told("a: SHFL.UP %t, %x").as_record()
    assert record["rows"] == 0 and record["line"] == 2 and record["reason"].startswith("no instruction has")


# --- plans


def steps(body, text=CODE):
    (plan,) = Pattern.parse(f"motif m {{\n{body}\n}}").plans
    return planned(plan, kernel(text), 2_000_000)


def test_the_seed_is_the_rarest_line():
    body = "a: <fp> %r, %x\nb: SHFL %t, %x, 16\nc: FADD %q, %t, %x"
    found = steps(body)

    assert [s.place for s in found.steps] == [1, 2, 3]
    assert found.steps[0].line in (3, 4) and found.steps[0].candidates <= 2
    assert found.steps[-1].ways == len(Pattern.parse(f"motif m {{\n{body}\n}}").match(kernel()))
    assert found.spent > 0 and found.note == ""


def test_ways_are_what_each_statement_leaves():
    found = steps("a: SHFL %t, %x\nb: FADD %r, %t, %x")
    by_line = {s.line: s for s in found.steps}

    assert (by_line[2].candidates, by_line[3].candidates) == (2, 1)
    assert found.steps[0].ways >= found.steps[1].ways == 1
    assert set(by_line[3].binds) | set(by_line[2].binds) == {"%t", "%x", "%r", "a", "b"}


def test_blocks_have_steps_of_their_own():
    found = steps("for (#d = 16; #d >= 1; #d /= 2) { s: SHFL %t, %x, #d\nf: FADD %x', %x, %t }")
    inner = [s for s in found.steps if s.block]

    assert [s.kind for s in found.steps if not s.block] == ["for"]
    assert {s.line for s in inner} == {2, 3} and all(s.block == 2 for s in inner)
    assert inner[-1].ways == 1


def test_what_the_opcodes_rule_out_is_not_searched():
    found = steps("a: SHFL %t, %x\nb: DADD %r, %t")
    assert "nothing is searched" in found.note and found.spent == 0
    assert all(s.ways == 0 for s in found.steps)


def test_without_a_kernel_the_order_is_that_of_the_text():
    (plan,) = Pattern.parse("motif m {\na: SHFL %t, %x\nb: FADD %r, %t, %x\nwhere same(%r, %x)\n}").plans
    found = planned(plan, None, 10)
    assert [(s.line, s.kind, s.candidates, s.ways) for s in found.steps] == [
        (2, "line", None, None),
        (3, "line", None, None),
        (4, "where", None, None),
    ]


def test_a_budget_that_runs_out():
    (plan,) = Pattern.parse("motif m {\na: SHFL %t, %x\nb: FADD %r, %t, %x\n}").plans
    assert planned(plan, kernel(), 6).note == "6 steps ran out at line 3"


# --- suspects


@pytest.mark.parametrize(
    ("body", "text", "lines"),
    [
        ("a: SHFL %t, %x, 16\nf: FADD %r, %t, %x\nm: DMUL %q, %r", CODE, [4]),
        ("a: SHFL %t, %x, 16\nf: FADD %r, %t, %x\nm: DMUL %q, %r\nd: DADD %s, %q", CODE, []),
        ("a: SHFL %t, %x, 16\nf: FADD %r, %t, %x\nwhere f.op == <max>", CODE, [4]),
        ("a: SHFL %t, %x, 16\nf: FADD %r, %t, %x\nno { b: BAR }", CODE, [4]),
        ("a: SHFL %t, %x, 4\nb: FADD %r, _\na before b", CODE, [4]),
        ("loop K { f: FADD %acc', %acc, %v\nl: LDG %v, [_]\ns: FMUL %q, %acc' }", LOOP, [4]),
    ],
)
def test_the_statement_that_alone_is_to_blame(body, text, lines):
    found = told(body, text)
    assert [s.line for s in found.suspects] == lines
    kept = body.splitlines()
    for line in lines:
        fewer = [other for number, other in enumerate(kept, 2) if number != line]
        if "loop" in body or "before" in body:
            continue
        assert Pattern.parse("motif m {\n" + "\n".join(fewer) + "\n}").match(kernel(text))
