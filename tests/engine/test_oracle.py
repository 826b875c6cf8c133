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
    "chain 1+ { f: FADD %s', %s, %b }\nflow %s' -> %v via FMUL max 1\nst: STG _, %v\nemit n = count(f)",
    "chain 1+ { f: <add> %s', %s, %b }\nno { st: STG _, %s' }\nemit n = count(f)",
    "l: LDG %x\nchain 1+ { f: FADD %s', %s, %b }\nflow %x -> %s via FMUL max 1\nemit n = count(f)",
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

registers = st.integers(0, 3).map(lambda n: f"R{n}")
pairs = st.sampled_from(["R0", "R2"])
predicates = st.sampled_from(["", "", "", "", "@P0 ", "@!P1 "])
flags = st.sampled_from(["P0", "P1"])
addresses = st.sampled_from(["R8.64", "R8.64+0x4", "R2.64"])
deltas = st.sampled_from(["0x1", "0x2", "0x4", "R5"])

FORMS = {
    "FADD": ["FADD {r}, {r}, {r}", "FADD {r}, {r}, {r}", "FADD {r}, {r}, -{r}"],
    "FMUL": ["FMUL {r}, {r}, {r}"],
    "IADD3": ["IADD3 {r}, {r}, {r}, RZ"],
    "<max>": ["FMNMX {r}, {r}, {r}, !PT", "FSEL {r}, {r}, {r}, {p}", "FSETP.GT.AND {p}, PT, {r}, {r}, PT"],
    "MOV": ["MOV {r}, {r}", "MOV {r}, 0x2"],
    "DADD": ["DADD {d}, {d}, {d}"],
    "SHFL": ["SHFL.BFLY PT, {r}, {r}, {n}, 0x1f", "SHFL.DOWN PT, {r}, {r}, {n}, 0x1f"],
    "SHFL.UP": ["SHFL.UP P0, {r}, {r}, {n}, RZ"],
    "ISETP": ["ISETP.GE.AND {p}, PT, {r}, {r}, PT"],
    "LDG": ["LDG.E.64 {d}, desc[UR4][R8.64]", "LDG.E {r}, desc[UR4][{a}]"],
    "STG": ["STG.E desc[UR4][{a}], {r}"],
}
CLASSES = {"<add>": "FADD IADD3", "<fold>": "FADD", "<alu>": "FADD FMUL", "use other": "FADD"}


@st.composite
def instruction(draw, wanted):
    """One instruction; those that the motif speaks of come more often."""
    form = draw(st.sampled_from(wanted))
    text = ""
    for piece in form.split("{"):
        head, closed, rest = piece.partition("}")
        if not closed:
            text += piece
            continue
        made = {"r": registers, "d": pairs, "p": flags, "n": deltas, "a": addresses}[head]
        text += draw(made) + rest
    return draw(predicates) + text + " ;"


@st.composite
def program(draw, motif):
    """Straight lines with a forward branch and up to two backward branches put in."""
    spoken = motif + "".join(opcodes for name, opcodes in CLASSES.items() if name in motif)
    likely = [form for name, forms in FORMS.items() if name in spoken for form in forms]
    wanted = [*likely * 4, *(form for forms in FORMS.values() for form in forms)]
    lines = draw(st.lists(instruction(wanted), min_size=3, max_size=16))
    if draw(st.booleans()):
        place = draw(st.integers(0, len(lines)))
        lines[place:place] = ["@P0 BRA `(.L_x_9) ;"]
        lines.append(".L_x_9:")
        lines.append(draw(instruction(wanted)))
    for label in ("8", "7")[
        : draw(st.sampled_from([0, 1, 1, 2]) if "loop" not in motif else st.integers(1, 2))
    ]:
        start = draw(st.integers(0, len(lines)))
        lines.insert(start, f".L_x_{label}:")
        lines.insert(draw(st.integers(start + 1, len(lines))), f"@P1 BRA `(.L_x_{label}) ;")
    return "\n".join([*lines, draw(instruction(wanted)), "EXIT ;"])


@st.composite
def question(draw):
    """A motif and a program that may have it."""
    motif = draw(st.sampled_from(MOTIFS))
    return motif, draw(program(motif))


def rows(text, kernel, strategy):
    file = loads(f"motif m {{\n{text}\n}}{OTHER if 'use other' in text else ''}")
    found = match_motif(plans_of(file)[0], kernel, Budget(), strategy)
    assert all(row.status != "gave_up" for row in found)
    return [
        (row.columns, {k: [i.index for i in v] for k, v in row.instructions.items()}, row.status, row.order)
        for row in found
    ]


@settings(max_examples=150, deadline=None)
@given(question())
def test_both_engines_agree(asked):
    text, listing = asked
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
