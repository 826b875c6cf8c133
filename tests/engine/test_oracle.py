"""The indexed engine finds what the naive one finds, on generated programs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sassql.engine.budget import Budget
from sassql.engine.indexed import INDEXED
from sassql.engine.library import plans_of
from sassql.engine.matching import match_motif
from sassql.engine.naive import NAIVE
from sassql.lang.check import loads
from sassql.reading.listing import read_listing

MOTIFS = [
    "f: FADD %d, %a, %b",
    "m: FMUL %p, %a, %b\nf: <add> %s, %p, %c",
    "f: FADD %x, %a, %b\ng: FADD %y, %x, %c\nh: FMUL %z, %y, %x",
    "f: @%p <add> %x, %a, %b\ng: ISETP _, %u\nwhere not same(%a, %u)\nwhere f.index < g.index",
    "l: LDG %v\nf: <add> _, %v, %w\nemit b = l.bytes, o = f.op",
    "d: DADD %d, %a, %b\nf: <add>|<mul> _, %d, %c",
    """for (#d = #w / 2; #d >= 1; #d /= 2) { s: SHFL.{BFLY|DOWN} %t, %x, #d ; f: <add>|<max> %x', %x, %t }
       where #w in {2, 4, 8}
       emit w = #w, op = f.op, mode = s.mod""",
    """for (#d = 2; #d >= 1; #d /= 2) { s: SHFL %t, %x, #d ; f: <add> %x', %x, %t }
       m: FMUL %y, %x', %k
       emit e = m.index""",
    """for (#d = 1; #d < #w; #d *= 2) { s: SHFL.UP p=%in, %t, %x, #d ; f: @%in <add> %x', %x, %t }""",
    "f: FADD %x, %a, %a\nkey kernel\nemit n = f.index",
    "m: <max> %d, %a, %b\nemit o = m.op",
    "chain 1+ { f: <add> %s', %s, %b }\nemit n = count(f), o = f.op",
    "m: FMUL %s\nchain 1..2 { f: <add>|FMUL %s', %s, %b }\nemit n = count(f)",
    "chain 2+ { f: FADD %s', %s, %k }\nl: LDG %k",
    "chain 1+ { f: FADD %s', %s, %b }\nst: STG _, %s'\nwhere count(f) > 1",
    "chain 1+ { m: FMUL %t, %s, _ ; f: FADD %s', %t, _ }\nemit n = count(m)",
    "loop K { f: <add> %x', %x, %a }\nemit d = K.depth",
    "loop K { chain 1+ { f: <add>|FMUL %x', %x, %a } }\nemit n = count(f)\nemit all = count(), most = max(count(f)) per K",
    "loop K { a: FADD %t\nb: FMUL %u, %t }\nemit d = K.depth",
    "l: FMUL %x\nloop K { f: FADD %x', %x, %a }\ng: FMUL %y, %x'",
    "loop A { loop B { f: FADD %x', %x, %a }\ng: FMUL %y, %x' }",
    "loop K { flow %m -> %m' via <add>|FMUL\nf: FADD %y, %m, _ }",
    "a: FADD %x\nb: FMUL %y\nflow %x -> %y via FADD max 1",
    "a: LDG %x\nst: STG _, %y\nflow %x -> %y via any max 3\nemit n = st.index",
    "a: FADD %x\nflow %x -> %y via FMUL max 1\nst: STG _, %y",
    """for (#d = 2; #d >= 1; #d /= 2) {
         s: SHFL %t, %x, #d ; flow %t -> %x' via <alu> max 2 ; flow %x -> %x' via <alu> max 2 }
       emit n = count(s)""",
    "a: FADD %x\nb: FMUL %y, %x\na before b",
    "a: FADD %x\nb: FADD %y, %x\nb before any a",
    "a: FADD %x, %q\nb: FMUL %y, %q\na dom b\nb pdom a",
    "a: FADD %x\nst: STG _, %x\npath a -> st : no FMUL",
    "a: LDG %x\nst: STG\na before st\npath a -> st : every FADD, some FMUL",
    "st: STG [&A], %v\nl: LDG %w, [&A]\nst before any l\nemit b = l.bytes, o = &A.offset",
    "st: STG [&A], %v\nl: LDG %w, [&B]\nwhere not same(&A, &B)\nemit b = &A.base == &B.base, o = overlaps(&A, &B)",
    "st: STG [&A], %v\nno LDG _, [&A]",
    "st: STG [%p], %v\nl: LDG _, [%p]",
    "f: FADD %x\nslice %x : some LDG, no FMUL",
    "f: <add> %x, %a, %b\nslice %x : every <add>",
    "f: FADD %x\nno { g: FMUL _, %x }",
    "no FMUL\nf: FADD %x, %a, %b",
    "loop K { f: FADD %x', %x, _\nno FMUL }",
    "f: FADD %x\nopt { g: FMUL %y, %x }\nemit b = bound(g)",
    "either { f: FADD %x } or { f: FMUL %x }\nst: STG _, %x\nemit o = f.op",
    "loop K { either { f: FADD %x', %x, _ } or { f: FMUL %x', %x, _\nno IADD3 } }",
    "every st: STG _, %v { f: FADD %v }\nemit n = count(st)",
    "every st: STG [&D], %v { slice %v : some LDG, no SHFL }\nno BAR\nkey kernel\nemit n = count(st)",
    "l: LDG %v\nevery f: FADD _, %v { flow %v -> %w via any max 2 ; st: STG _, %w }\nemit n = count(f)",
    """use other(%x -> %y) as u
       st: STG _, %y
       u before any st
       emit n = u.n""",
    "l: LDG %x\nuse other(%x -> %y) as u\nopt { use other(%y -> %z) as w }\nemit b = bound(w)",
]

OTHER = """
motif other(%a -> %s) {
  chain 1+ { f: FADD %a', %a, %k }
  %s = %a'
  emit n = count(f)
}
"""

registers = st.integers(0, 5).map(lambda n: f"R{n}")
pairs = st.sampled_from(["R0", "R2", "R4"])
predicates = st.sampled_from(["", "", "", "@P0 ", "@!P1 "])
addresses = st.sampled_from(["R8.64", "R8.64+0x4", "R2.64"])
deltas = st.sampled_from(["0x1", "0x2", "0x4", "R5"])


@st.composite
def instruction(draw):
    r = lambda: draw(registers)  # noqa: E731
    text = draw(
        st.sampled_from(
            [
                lambda: f"FADD {r()}, {r()}, {r()}",
                lambda: f"FADD {r()}, {r()}, -{r()}",
                lambda: f"FMUL {r()}, {r()}, {r()}",
                lambda: f"IADD3 {r()}, {r()}, {r()}, RZ",
                lambda: f"FMNMX {r()}, {r()}, {r()}, !PT",
                lambda: f"MOV {r()}, {r()}",
                lambda: f"MOV {r()}, 0x2",
                lambda: f"DADD {draw(pairs)}, {draw(pairs)}, {draw(pairs)}",
                lambda: f"SHFL.BFLY PT, {r()}, {r()}, {draw(deltas)}, 0x1f",
                lambda: f"SHFL.DOWN PT, {r()}, {r()}, {draw(deltas)}, 0x1f",
                lambda: f"SHFL.UP P0, {r()}, {r()}, {draw(deltas)}, RZ",
                lambda: f"ISETP.GE.AND P0, PT, {r()}, {r()}, PT",
                lambda: f"LDG.E.64 {draw(pairs)}, desc[UR4][R8.64]",
                lambda: f"STG.E desc[UR4][{draw(addresses)}], {r()}",
                lambda: f"LDG.E {r()}, desc[UR4][{draw(addresses)}]",
                lambda: f"FSETP.GT.AND P{draw(st.integers(0, 1))}, PT, {r()}, {r()}, PT",
                lambda: f"FSEL {r()}, {r()}, {r()}, P{draw(st.integers(0, 1))}",
            ]
        )
    )()
    return draw(predicates) + text + " ;"


@st.composite
def program(draw):
    """Straight lines with a forward and a backward branch put in."""
    lines = draw(st.lists(instruction(), min_size=1, max_size=14))
    if draw(st.booleans()):
        place = draw(st.integers(0, len(lines)))
        lines[place:place] = ["@P0 BRA `(.L_x_9) ;"]
        lines.append(".L_x_9:")
        lines.append(draw(instruction()))
    if draw(st.booleans()):
        lines.insert(draw(st.integers(0, len(lines))), ".L_x_8:")
        lines.append("@P1 BRA `(.L_x_8) ;")
    return "\n".join([*lines, "EXIT ;"])


def rows(text, kernel, strategy):
    file = loads(f"motif m {{\n{text}\n}}{OTHER if 'use other' in text else ''}")
    found = match_motif(plans_of(file)[0], kernel, Budget(), strategy)
    assert all(row.status != "gave_up" for row in found)
    return [
        (row.columns, {k: [i.index for i in v] for k, v in row.instructions.items()}, row.status, row.order)
        for row in found
    ]


@settings(max_examples=150, deadline=None)
@given(program(), st.sampled_from(MOTIFS))
def test_both_engines_agree(listing, text):
    kernel = read_listing(listing, arch="sm_90")[0][0].kernels[0]
    assert rows(text, kernel, INDEXED) == rows(text, kernel, NAIVE)


RICH = """
        LDG.E.64 R2, desc[UR4][R8.64] ;
        ISETP.GE.AND P0, PT, R4, R5, PT ;
        @P0 FADD R1, R2, R1 ;
        DADD R2, R2, R2 ;
        FADD R1, R1, R2 ;
        FADD R1, R1, R1 ;
        FADD R3, R1, R0 ;
        FMUL R4, R3, R1 ;
        FADD R5, R4, R4 ;
        SHFL.BFLY PT, R1, R0, 0x2, 0x1f ;
        FADD R2, R0, R1 ;
        SHFL.BFLY PT, R1, R2, 0x1, 0x1f ;
        FADD R2, R2, R1 ;
        FMUL R3, R2, R5 ;
        SHFL.UP P0, R1, R0, 0x1, RZ ;
        @P0 FADD R0, R0, R1 ;
        ISETP.GE.AND P1, PT, R3, R5, PT ;
        EXIT ;
"""


@pytest.mark.parametrize("text", MOTIFS[:10])
def test_every_motif_of_the_comparison_finds_something(text):
    """Otherwise the comparison proves nothing."""
    kernel = read_listing(RICH, arch="sm_90")[0][0].kernels[0]
    found = rows(text, kernel, INDEXED)
    assert found
    assert found == rows(text, kernel, NAIVE)
