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
]

registers = st.integers(0, 5).map(lambda n: f"R{n}")
pairs = st.sampled_from(["R0", "R2", "R4"])
predicates = st.sampled_from(["", "", "", "@P0 ", "@!P1 "])
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
                lambda: f"STG.E desc[UR4][R8.64], {r()}",
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
    file = loads(f"motif m {{\n{text}\n}}")
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


@pytest.mark.parametrize("text", MOTIFS)
def test_every_motif_of_the_comparison_finds_something(text):
    """Otherwise the comparison proves nothing."""
    listing = """
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
    kernel = read_listing(listing, arch="sm_90")[0][0].kernels[0]
    found = rows(text, kernel, INDEXED)
    assert found
    assert found == rows(text, kernel, NAIVE)
