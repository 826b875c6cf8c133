"""`flow`, order, `path`, `slice`."""

import pytest

FLOW = """
    LDG.E R1, desc[UR4][R8.64] ;
    FMUL R2, R1, R20 ;
    FADD R3, R2, R21 ;
    MOV R4, R3 ;
    FSEL R5, R4, R22, P0 ;
    @P1 FMUL R5, R5, R23 ;
    STG.E desc[UR4][R10.64], R5 ;
    EXIT ;
"""


def count(rows):
    return [row.status for row in rows]


@pytest.mark.parametrize(
    ("via", "found"),
    [
        ("", 0),
        ("via FMUL", 0),
        ("via FMUL|FADD", 1),
        ("via <fp>", 1),
        ("via FMUL|FADD max 3", 1),
        ("via FMUL|FADD max 2", 1),  # the guarded FMUL may not have happened
        ("via FMUL|FADD max 1", 0),
        ("via any", 1),
        ("via any max 1", 0),
    ],
)
def test_what_a_flow_passes(match, via, found):
    assert len(match(f"l: LDG %x\nst: STG _, %y\nflow %x -> %y {via}", FLOW)) == found


def test_copies_selects_and_guards_cost_nothing(match):
    assert len(match("a: FADD %x\nst: STG _, %y\nflow %x -> %y", FLOW)) == 1
    assert len(match("st: STG _, %y\nflow %y -> %y", FLOW)) == 1


def test_a_flow_follows_conditions_of_selects_but_no_addresses(match):
    text = "FSETP.GT.AND P0, PT, R1, R2, PT ;\n" + FLOW
    assert len(match("p: FSETP %c, _\nst: STG _, %y\nflow %c -> %y", text)) == 1
    assert len(match("p: FSETP _, %v\nst: STG _, %y\nflow %v -> %y via FSETP", text)) == 1
    indirect = "IADD3 R8, R7, R6, RZ ;\n" + FLOW
    assert match("i: IADD3 %i\nst: STG _, %y\nflow %i -> %y via any", indirect) == []


def test_a_flow_may_begin_at_a_parameter(match):
    text = "FMUL R1, R2, c[0x0][0x160] ;\nSTG.E desc[UR4][R10.64], R1 ;\nEXIT ;"
    assert len(match("f: FMUL _, _, %c\nst: STG _, %y\nflow %c -> %y via FMUL", text)) == 1


LOOP = """
        MOV R16, RZ ;
.L_x_1:
        FADD R17, R16, R20 ;
        FMUL R16, R17, R21 ;
        IADD3 R4, R4, 0x1, RZ ;
        ISETP.NE.AND P0, PT, R4, R7, PT ;
    @P0 BRA `(.L_x_1) ;
        STG.E desc[UR4][R10.64], R16 ;
        EXIT ;
"""


def test_inside_of_a_loop_a_flow_does_not_cross_its_header(match):
    body = "a: FMUL %x\nb: FADD %y\nflow %x -> %y via <fp>"
    assert len(match(body, LOOP)) == 1
    assert match(f"loop K {{ {body} }}", LOOP) == []
    assert len(match("loop K { flow %m -> %m' via <fp>\nf: FADD %y, %m }", LOOP)) == 1
    assert match("loop K { flow %m -> %m' via FMUL\nf: FADD %y, %m }", LOOP) == []


def test_a_call_on_the_way_makes_a_maybe(match):
    text = """
        LDG.E R4, desc[UR4][R8.64] ;
        CALL.ABS.NOINC `(elsewhere) ;
        FADD R5, R4, R4 ;
        STG.E desc[UR4][R10.64], R5 ;
        EXIT ;
    """
    rows = match("l: LDG %x\nst: STG _, %y\nflow %x -> %y via FADD", text)
    assert [(row.status, row.reason) for row in rows] == [("maybe", "a flow may go through a call")]


ORDER = """
        FADD R1, R2, R3 ;
        ISETP.NE.AND P0, PT, R4, R7, PT ;
    @P0 BRA `(.L_x_1) ;
        FMUL R5, R1, R1 ;
.L_x_1:
        FFMA R6, R1, R1, R1 ;
        FSETP.GT.AND P1, PT, R6, R1, PT ;
        EXIT ;
"""


@pytest.mark.parametrize(
    ("relation", "found"),
    [
        ("a before m", 1),
        ("m before a", 0),
        ("m before f", 1),
        ("f before m", 0),
        ("a dom m", 1),
        ("a dom f", 1),
        ("m dom f", 0),
        ("f dom p", 1),
        ("p dom f", 0),
        ("f pdom a", 1),
        ("f pdom m", 1),
        ("m pdom a", 0),
        ("p pdom f", 1),
        ("f sameblock p", 1),
        ("a sameblock m", 0),
    ],
)
def test_order(match, relation, found):
    body = "a: FADD %x\nm: FMUL %y, %x\nf: FFMA %z, %x\np: FSETP _, %z\n"
    assert len(match(body + relation, ORDER)) == found


def test_before_stays_in_one_iteration(match):
    body = "a: FMUL %x\nb: FADD %y, _\nwhere a.index > b.index\n"
    assert match(body + "a before b", LOOP) == []
    assert len(match(body + "a before any b", LOOP)) == 1
    assert len(match("a: FADD %x\nb: FMUL %y, %x\na before b", LOOP)) == 1
    assert len(match("a: FMUL %x\nst: STG _, %x\na before st", LOOP)) == 1


PATH = """
        STS [R1], R2 ;
        ISETP.NE.AND P0, PT, R4, R7, PT ;
    @P0 BRA `(.L_x_1) ;
        BAR.SYNC.DEFER_BLOCKING 0x0 ;
        FADD R9, R9, R9 ;
.L_x_1:
        LDS R3, [R5] ;
        STG.E desc[UR4][R10.64], R3 ;
        EXIT ;
"""


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        ("some BAR", 1),
        ("no BAR", 0),
        ("every BAR", 0),
        ("no MEMBAR", 1),
        ("some FADD, some BAR", 1),
        ("some bar", 1),
        ("every ISETP", 1),
        ("no STS", 1),
    ],
)
def test_path(match, claim, found):
    body = f"st: STS\nbar: BAR\nld: LDS\nst before ld\npath st -> ld : {claim}\nwhere st.index < bar.index"
    assert len(match(body, PATH.replace("MOV", "MOV"))) == found


def test_every_path(match):
    body = "st: STS\nld: LDS\nst before ld\npath st -> ld : every BAR"
    both = PATH.replace("    @P0 BRA", "        BAR.SYNC.DEFER_BLOCKING 0x0 ;\n    @P0 BRA")
    assert match(body, PATH) == []
    assert count(match(body, both)) == ["match"]
    guarded = both.replace(
        "        BAR.SYNC.DEFER_BLOCKING 0x0 ;\n    @P0", "   @P3 BAR.SYNC.DEFER_BLOCKING 0x0 ;\n    @P0"
    )
    assert count(match(body, guarded)) == ["maybe"]


def test_a_path_needs_a_way(match):
    assert match("st: STG\nld: LDS\npath st -> ld : no BAR\nwhere st.index > ld.index", PATH) == []


def test_a_path_round_a_loop(match):
    text = """
.L_x_1:
        LDS R3, [R5] ;
        FADD R16, R3, R16 ;
        STS [R5], R16 ;
        BAR.SYNC.DEFER_BLOCKING 0x0 ;
        ISETP.NE.AND P0, PT, R4, R7, PT ;
    @P0 BRA `(.L_x_1) ;
        EXIT ;
    """
    body = "st: STS\nld: LDS\nst before any ld\n"
    assert len(match(body + "path st -> ld : every BAR", text)) == 1
    assert match(body + "path ld -> st : some BAR", text) == []


def test_slices(match):
    text = "FSETP.GT.AND P1, PT, R24, R25, PT ;\nSHFL.BFLY PT, R22, R26, 0x1, 0x1f ;\n" + FLOW
    for claim, found in [
        ("some LDG", 1),
        ("some SHFL", 1),  # through FSEL
        ("some FSETP", 1),  # the guard
        ("no SHFL", 0),
        ("no MUFU", 1),
        ("some LDG, no MUFU", 1),
        ("every <fp>|<select>", 0),  # SHFL
        ("every <fp>|<select>|SHFL|<compare>", 1),
    ]:
        assert len(match(f"st: STG _, %v\nslice %v : {claim}", text)) == found, claim


def test_a_slice_with_addresses(match):
    text = "IADD3 R8, R7, R6, RZ ;\n" + FLOW
    assert match("st: STG _, %v\nslice %v : some IADD3", text) == []
    assert len(match("st: STG _, %v\nslice %v addr : some IADD3", text)) == 1


def test_an_incomplete_slice_makes_a_maybe(match):
    text = "CALL.ABS.NOINC `(elsewhere) ;\nFADD R5, R4, R4 ;\nSTG.E desc[UR4][R10.64], R5 ;\nEXIT ;"
    assert count(match("st: STG _, %v\nslice %v : no SHFL", text)) == ["maybe"]
    assert count(match("st: STG _, %v\nslice %v : some SHFL", text)) == ["maybe"]
    assert count(match("st: STG _, %v\nslice %v : some FADD", text)) == ["match"]
    assert match("st: STG _, %v\nslice %v : no FADD", text) == []
