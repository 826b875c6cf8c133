"""`either`, `opt`, `no`, `every`, `use`."""

import pytest

from sassql.engine.pattern import Pattern
from sassql.reading.listing import read_listing

TEXT = """
    LDG.E R1, desc[UR4][R8.64] ;
    FADD R2, R1, R20 ;
    FMUL R3, R2, R21 ;
    STG.E desc[UR4][R10.64], R3 ;
    STG.E desc[UR4][R10.64+0x4], R2 ;
    EXIT ;
"""


def columns(rows):
    return [row.columns for row in rows]


def test_either(match, places):
    body = "either { f: FADD %x } or { f: FMUL %x }\nst: STG _, %x\nemit o = f.op"
    assert columns(match(body, TEXT)) == [{"o": "<add>"}, {"o": "<mul>"}]
    alone = "l: LDG %v\neither { f: FADD %x, %v } or { g: FADD %y, %v }\nemit f = bound(f)"
    assert columns(match(alone, TEXT)) == [{"f": False}, {"f": True}]


def test_the_first_branch_gives_the_columns_of_a_row(match):
    body = "f: FADD %x\neither { where f.index == 1 } or { where f.index < 9 }\nemit n = f.index\nkey f"
    assert columns(match(body, TEXT)) == [{"n": 1}]


def test_opt(match):
    body = "f: FADD %x\nopt { g: FMUL %y, %x }\nemit b = bound(g), at = g.index"
    assert columns(match(body, TEXT)) == [{"b": True, "at": 2}]
    assert columns(match(body.replace("FMUL", "FFMA"), TEXT)) == [{"b": False, "at": None}]
    (row,) = match(body.replace("FMUL", "FFMA"), TEXT)
    assert row.instructions["g"] == ()


def test_no_line_ranges_over_the_kernel(match):
    assert len(match("f: FADD %x\nno MUFU", TEXT)) == 1
    assert match("f: FADD %x\nno FMUL", TEXT) == []
    assert match("f: FADD %x\nno FMUL _, %x", TEXT) == []
    assert len(match("f: FADD %x\nno FMUL %x", TEXT)) == 1


def test_no_block(match):
    assert match("l: LDG %v\nno { f: FADD %x, %v ; m: FMUL %y, %x }", TEXT) == []
    assert len(match("l: LDG %v\nno { f: FADD %x, %v ; m: FMUL %y, %v }", TEXT)) == 1


def test_what_may_be_there_makes_a_maybe(match):
    body = "st: STG [&A], %v\nwhere st.index == 3\nno LDG _, [&A]"
    assert [row.status for row in match(body, TEXT)] == ["maybe"]
    same = TEXT.replace("[R8.64]", "[R10.64]")
    assert match(body, same) == []
    assert [row.status for row in match(body, same.replace("R10.64]", "R10.64+0x8]", 1))] == ["match"]


LOOP = """
        MUFU.EX2 R9, R9 ;
.L_x_1:
        FADD R16, R16, R20 ;
        ISETP.NE.AND P0, PT, R4, R7, PT ;
    @P0 BRA `(.L_x_1) ;
        STG.E desc[UR4][R10.64], R16 ;
        EXIT ;
"""


def test_the_region_of_no_is_the_loop_around(match):
    assert len(match("loop K { f: FADD %x', %x\nno MUFU }", LOOP)) == 1
    assert match("loop K { f: FADD %x', %x\nno ISETP }", LOOP) == []
    assert match("loop K { f: FADD %x', %x }\nno MUFU", LOOP) == []


def test_every(match):
    stored = "every st: STG _, %v { slice %v : some LDG, no SHFL }\nkey kernel\nemit n = count(st)"
    assert columns(match(stored, TEXT)) == [{"n": 2}]
    spoilt = TEXT.replace("FMUL R3, R2", "SHFL.BFLY PT, R3, R2, 0x1, 0x1f ;\n FMUL R3, R3")
    assert match(stored, spoilt) == []
    assert match(stored.replace("STG", "STS"), TEXT) == []  # at least one
    one = "every st: STG _, %v { f: FADD %v }\nemit n = count(st)"
    assert match(one, TEXT) == []


def test_every_in_a_loop(match):
    body = "loop K { every f: FADD %y, %x { i: ISETP } }\nemit n = count(f)"
    text = "FADD R1, R2, R3 ;\n" + LOOP
    assert columns(match(body, text)) == [{"n": 1}]


def test_lists_of_every(match):
    (row,) = match("every st: STG [&D], %v { FADD %x }\nemit b = max(st.bytes), w = st.op", TEXT)
    assert row.columns == {"b": 4, "w": "STG"}


USE = """
motif link(%a -> %s, #n) {
  f: FADD %s, %a, _
  i: IADD3 _, _, #n
  where #n > 0
  where f.index < 100 or i.index == f.index
  emit op = f.op, at = f.index
}
motif stored {
  l: LDG %v
  use link(%v -> %s, #n) as u
  st: STG _, %s
  u before st
  emit op = u.op, at = u.at, n = #n
}
"""


def _match(text, listing):
    kernel = read_listing(listing, arch="sm_90")[0][0].kernels[0]
    pattern = Pattern.parse(text)
    return [row for row in pattern.match(kernel) if row.motif == pattern.motifs[-1].name]


def test_use():
    listing = "IADD3 R30, R31, 0x7, RZ ;\n" + TEXT
    assert columns(_match(USE, listing)) == [{"op": "<add>", "at": 2, "n": 7}]
    assert _match(USE, listing.replace("FADD R2, R1", "FADD R2, R19")) == []


def test_a_used_motif_is_found_in_the_library():
    text = """
    motif stored_sum {
      use shuffle_ladder(%x -> %r) as red
      st: STG _, %r
      emit op = red.op, width = red.width
    }
    """
    listing = """
        SHFL.BFLY PT, R1, R0, 0x2, 0x1f ;
        FADD R2, R0, R1 ;
        SHFL.BFLY PT, R3, R2, 0x1, 0x1f ;
        FADD R4, R2, R3 ;
        STG.E desc[UR4][R10.64], R4 ;
        EXIT ;
    """
    assert columns(_match(text, listing)) == [{"op": "<add>", "width": 4}]
    only = text.replace("-> %r)", "-> %r, #w)").replace("emit", "where #w == 8\nemit")
    assert _match(only.replace("#w)", ")").replace(", ) as", ") as").replace("where #w == 8\n", ""), listing)


def test_a_motif_for_another_architecture_is_used_in_vain():
    text = USE.replace("motif link(%a -> %s, #n) {", "motif link(%a -> %s, #n) {\n arch sm_100+")
    assert _match(text, "IADD3 R30, R31, 0x7, RZ ;\n" + TEXT) == []


def test_a_used_motif_that_gives_up_says_so():
    kernel = read_listing("IADD3 R30, R31, 0x7, RZ ;\n" + TEXT, arch="sm_90")[0][0].kernels[0]
    rows = Pattern.parse(USE, budget=9).match(kernel)
    assert [row.status for row in rows] == ["gave_up", "gave_up"]
    assert rows[1].reason.startswith("motif link: the budget of 9 steps ran out")


def test_too_many_rows_are_cut_and_said(kernel_of, monkeypatch):
    from sassql.engine import matching
    from sassql.engine.budget import Budget
    from sassql.engine.library import plans_of
    from sassql.lang.check import loads

    plan = plans_of(loads("motif m { st: STG }"))[0]
    rows = matching.match_motif(plan, kernel_of(TEXT), Budget(rows=1))
    assert [row.status for row in rows] == ["match", "gave_up"]
    assert "the budget of 1 rows ran out" in rows[1].reason


@pytest.mark.parametrize("body", ["a: FADD %x\nb: FADD %y\nwhere a.index < b.index", "no FADD\nl: LDG %x"])
def test_negative_lines_do_not_select(match, body):
    assert match(body, "LDG.E R1, desc[UR4][R8.64] ;\nEXIT ;") == [] or "no" in body
