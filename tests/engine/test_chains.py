"""`chain`: maximal, one row per last link; `loop`: what goes round."""

import pytest

from sassql.engine.pattern import Pattern


def columns(rows):
    return [row.columns for row in rows]


SUM = """
    LDG.E R1, desc[UR4][R8.64] ;
    FADD R2, R1, R20 ;
    FADD R3, R2, R21 ;
    FADD R4, R3, R22 ;
    FADD R5, R3, R23 ;
    STG.E desc[UR4][R10.64], R4 ;
    EXIT ;
"""

# dot product: four links an iteration, registers change at each link
LOOP = """
        MOV R16, RZ ;
.L_x_1:
        LDG.E R1, desc[UR4][R8.64] ;
        LDG.E R2, desc[UR4][R8.64+0x4] ;
        FFMA R17, R1, R2, R16 ;
        FFMA R18, R2, R2, R17 ;
        FFMA R19, R1, R1, R18 ;
        FFMA R16, R1, R20, R19 ;
        FFMA R30, R16, R20, R18 ;
        IADD3 R4, R4, 0x1, RZ ;
        ISETP.NE.AND P0, PT, R4, 0x10, PT ;
    @P0 BRA `(.L_x_1) ;
        STG.E desc[UR4][R10.64], R16 ;
        STG.E desc[UR4][R10.64+0x4], R30 ;
        EXIT ;
"""


def test_a_chain_is_maximal_and_has_one_row_per_last_link(match, places):
    rows = match("chain 1+ { f: FADD %s', %s, %b }\nemit n = count(f), op = f.op", SUM)
    assert columns(rows) == [{"n": 3, "op": "<add>"}] * 2
    assert [row["f"] for row in places(rows)] == [[0x10, 0x20, 0x30], [0x10, 0x20, 0x40]]


@pytest.mark.parametrize(
    ("bounds", "count"), [("1+", 2), ("3+", 2), ("4+", 0), ("1..3", 2), ("1..2", 0), ("3", 2), ("2", 0)]
)
def test_bounds_speak_of_the_whole_chain(match, bounds, count):
    assert len(match(f"chain {bounds} {{ f: FADD %s', %s, %b }}", SUM)) == count


def test_what_stands_around_a_chain_decides_which_links_it_has(match, places):
    stored = match("chain 1+ { f: FADD %s', %s, %b }\nst: STG _, %s'", SUM)
    assert [row["f"] for row in places(stored)] == [[0x10, 0x20, 0x30]]
    behind = match("l: FADD %s, %a\nchain 1+ { f: FADD %s', %s, %b }\nwhere l.index == 1", SUM)
    assert [row["f"] for row in places(behind)] == [[0x20, 0x30], [0x20, 0x40]]


def test_of_a_tree_the_longest_path_counts(match, places):
    tree = """
        FADD R1, R10, R11 ;
        FADD R2, R1, R12 ;
        FADD R3, R13, R14 ;
        FADD R4, R3, R2 ;
        EXIT ;
    """
    rows = match("chain 1+ { f: FADD %s', %s, %b }\nemit n = count(f)", tree)
    assert [row["f"] for row in places(rows)] == [[0x0, 0x10, 0x30]]


def test_a_condition_on_the_whole_chain_comes_last(match):
    body = "chain 1+ { f: FADD|FMUL %s', %s, %b }\nwhere same(f.opcode)"
    assert len(match(body, SUM)) == 2
    assert match(body, SUM.replace("FADD R2, R1", "FMUL R2, R1")) == []


def test_a_condition_inside_is_about_each_link(match, places):
    body = "chain 1+ { f: FADD %s', %s, %b\nslice %b : no <load> }"
    text = SUM.replace("R3, R22", "R3, R1")
    assert [row["f"] for row in places(match(body, text))] == [[0x10, 0x20, 0x40]]
    rows = match(body.replace("no", "some"), text)
    assert [row["f"] for row in places(rows)] == [[0x10], [0x20, 0x30], [0x40]]  # sources commute


def test_a_link_of_several_lines(match, places):
    text = """
        FMUL R1, R10, R20 ;
        FADD R2, R1, R21 ;
        FMUL R3, R2, R22 ;
        FADD R4, R3, R23 ;
        FMUL R5, R4, R24 ;
        EXIT ;
    """
    rows = match("chain 1+ { m: FMUL %t, %x, %a ; f: FADD %x', %t, %b }\nemit n = count(m)", text)
    assert columns(rows) == [{"n": 2}]
    assert places(rows) == [{"m": [0x0, 0x20], "f": [0x10, 0x30]}]


def test_a_name_that_stands_outside_is_the_same_on_every_link(match, places):
    text = """
        LDG.E R9, desc[UR4][R30.64] ;
        FFMA R1, R10, R9, R20 ;
        FFMA R2, R11, R9, R1 ;
        FFMA R3, R12, R8, R2 ;
        EXIT ;
    """
    rows = match("l: LDG %k\nchain 1+ { f: FFMA %s', %a, %k, %s }", text)
    assert [row["f"] for row in places(rows)] == [[0x10, 0x20]]


def test_a_chain_closes_over_a_loop(match, places):
    """The link behind the accumulator, which goes nowhere, does not make the chain longer."""
    body = """
      loop K { chain 1+ { f: FFMA %acc', %a, %b, %acc } }
      emit n = count(f), depth = K.depth, trips = K.trips
    """
    (row,) = match(body, LOOP)
    assert row.columns == {"n": 4, "depth": 1, "trips": None}
    assert places([row])[0]["f"] == [0x30, 0x40, 0x50, 0x60]


def test_only_what_goes_round_is_carried(match):
    one = "loop K { f: FFMA %acc', %a, %b, %acc }"
    assert match(one, LOOP) == []
    single = LOOP.replace("FFMA R17, R1, R2, R16", "FMUL R17, R1, R2").replace("R20, R19", "R20, R16")
    assert len(match(one, single)) == 1
    assert match("loop K { f: FADD %x', %x }", SUM) == []


def test_lines_of_a_loop_lie_in_it(match, places):
    assert [row["f"] for row in places(match("loop K { f: FFMA %x }", LOOP))] == [
        [a] for a in (0x30, 0x40, 0x50, 0x60, 0x70)
    ]
    assert match("loop K { st: STG }", LOOP) == []


def test_a_copy_on_the_back_edge(match):
    text = LOOP.replace("R16, R1, R20, R19", "R40, R1, R20, R19").replace("R30, R16", "R30, R40")
    text = text.replace("IADD3", "MOV R16, R40 ;\n        IADD3")
    body = "loop K { chain 1+ { f: FFMA %acc', %a, %b, %acc } }\nemit n = count(f)"
    assert columns(match(body, text)) == [{"n": 4}]


def test_values_that_go_into_a_loop_and_come_out(match):
    body = "loop K { chain 1+ { f: FFMA %acc', %a, %b, %acc } }\nst: STG _, %acc'\nemit at = st.index"
    assert columns(match(body, LOOP)) == [{"at": 11}]
    entered = LOOP.replace("MOV R16, RZ", "LDG.E R16, desc[UR4][R12.64]")
    body = "l: LDG %acc\nloop K { chain 1+ { f: FFMA %acc', %a, %b, %acc } }\nemit at = l.index"
    assert columns(match(body, entered)) == [{"at": 0}]
    assert match(body, LOOP) == []


NESTED = """
        MOV R16, RZ ;
.L_x_1:
        MOV R5, RZ ;
.L_x_2:
        FADD R16, R16, R20 ;
        IADD3 R5, R5, 0x1, RZ ;
        ISETP.NE.AND P1, PT, R5, 0x8, PT ;
    @P1 BRA `(.L_x_2) ;
        IADD3 R4, R4, 0x1, RZ ;
        ISETP.NE.AND P0, PT, R4, R7, PT ;
    @P0 BRA `(.L_x_1) ;
        STG.E desc[UR4][R10.64], R16 ;
        EXIT ;
"""


def test_loops_in_loops(match):
    rows = match("loop K { f: FADD %x', %x, %a }\nemit d = K.depth, t = K.trips, k = K.kind", NESTED)
    assert columns(rows) == [{"d": 2, "t": 8, "k": "counted"}]
    both = match("loop A { loop B { f: FADD %x', %x, %a } }\nemit a = A.depth, b = B.depth", NESTED)
    assert columns(both) == [{"a": 1, "b": 2}]
    around = match("loop A { loop B { f: FADD %y } }", NESTED)
    assert len(around) == 1
    assert [r.columns["d"] for r in match("loop K { f: FADD %y }\nemit d = K.depth", NESTED)] == [1, 2]


def test_an_inner_loop_ties_its_own_names_only(match):
    """What an inner loop starts anew in each iteration is carried by the inner one alone."""
    text = NESTED.replace("MOV R5, RZ", "MOV R5, RZ ;\n        MOV R16, RZ")
    assert len(match("loop A { loop B { f: FADD %x', %x, %a } }", text)) == 1


def test_columns_over_the_rows_of_a_loop(match):
    text = LOOP.replace("FFMA R30, R16, R20, R18", "FFMA R31, R1, R2, R31 ;\n        FFMA R31, R2, R2, R31")
    body = """
      loop K { chain 1+ { f: FFMA %acc', %a, %b, %acc } }
      emit n = count(f)
      emit rows = count(), all = sum(count(f)), most = max(count(f)) per K
    """
    rows = match(body, text)
    assert columns(rows) == [
        {"n": 4, "rows": 2, "all": 6, "most": 4},
        {"n": 2, "rows": 2, "all": 6, "most": 4},
    ]


def test_wide_accumulators(match):
    text = LOOP.replace("FFMA R17, R1, R2, R16", "DFMA R16, R12, R14, R16")
    for line in ("FFMA R18, R2, R2, R17", "FFMA R19, R1, R1, R18", "FFMA R16, R1, R20, R19"):
        text = text.replace(f"        {line} ;\n", "")
    body = "loop K { f: DFMA %acc', %a, %b, %acc }"
    assert len(match(body, text)) == 1


def test_a_for_inside_of_a_loop(match):
    text = """
        MOV R0, RZ ;
.L_x_1:
        SHFL.BFLY PT, R1, R0, 0x2, 0x1f ;
        FADD R2, R0, R1 ;
        SHFL.BFLY PT, R1, R2, 0x1, 0x1f ;
        FADD R0, R2, R1 ;
        IADD3 R4, R4, 0x1, RZ ;
        ISETP.NE.AND P0, PT, R4, 0x10, PT ;
    @P0 BRA `(.L_x_1) ;
        STG.E desc[UR4][R10.64], R0 ;
        EXIT ;
    """
    ladder = "for (#d = 2; #d >= 1; #d /= 2) { s: SHFL %t, %x, #d ; f: FADD %x', %x, %t }"
    assert len(match(f"loop K {{ {ladder} }}", text)) == 1
    assert match(f"loop K {{ {ladder} }}", text.replace("FADD R0, R2, R1", "FADD R3, R2, R1")) == []


def test_maximal_chains_in_a_block_that_the_budget_ends(kernel_of):
    pattern = Pattern.parse("motif m { chain 1+ { f: FADD %s', %s, %b } }", budget=5)
    rows = pattern.match(kernel_of(SUM))
    assert [row.status for row in rows] == ["gave_up"]


def test_a_chain_of_thousands_of_links(match):
    links = "\n".join(f"FFMA R{1 - n % 2}, R10, R11, R{n % 2} ;" for n in range(3000))
    (row,) = match("chain 2+ { f: FFMA %s', %a, %b, %s }\nemit n = count(f)", links + "\nEXIT ;")
    assert row.columns == {"n": 3000}


def test_a_long_chain_whose_every_end_is_tried(match):
    links = "\n".join(f"FADD R{1 - n % 2}, R10, R{n % 2} ;" for n in range(150))
    text = links + "\nSTG.E desc[UR4][R20.64], R0 ;\nEXIT ;"
    (row,) = match("chain 2+ { f: FADD %s', %b, %s }\nflow %s' -> %v\nst: STG _, %v\nemit n = count(f)", text)
    assert row.columns == {"n": 150}
