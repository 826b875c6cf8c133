"""Class lines that only a meaning can lie on: several instructions as one operation."""

from sassql.lang.parse import parse
from sassql.lang.vocabulary import defined_classes


def columns(rows):
    return [row.columns for row in rows]


SELECT = """
    LDG.E R1, desc[UR4][R8.64] ;
    LDG.E R2, desc[UR4][R8.64+0x4] ;
    FSETP.GT.AND P0, PT, R1, R2, PT ;
    FSEL R3, R1, R2, P0 ;
    STG.E desc[UR4][R10.64], R3 ;
    EXIT ;
"""


def test_compare_and_select_is_a_maximum(match, places):
    rows = match("m: <max> %d, %a, %b\nl: LDG %a\nst: STG _, %d\nemit op = m.op", SELECT)
    assert columns(rows) == [{"op": "<max>"}] * 2
    assert {tuple(p["m"]) for p in places(rows)} == {(0x30,)}  # its last instruction
    assert match("m: <min> %d, %a, %b", SELECT) == []
    assert len(match("m: <min> %d, %a, %b", SELECT.replace("R1, R2, P0", "R2, R1, P0"))) == 1
    assert match("m: <max> %d, %a, %b", SELECT.replace("R1, R2, P0", "R1, R4, P0")) == []


def test_a_guarded_move_is_a_maximum_too(match):
    text = SELECT.replace("FSEL R3, R1, R2, P0", "MOV R3, R2 ;\n    @P0 MOV R3, R1")
    assert len(match("m: <max> %d, %a, %b\nst: STG _, %d", text)) == 1


def test_a_ladder_of_compare_and_select(match):
    rung = """
        SHFL.BFLY PT, R{t}, R{x}, {d:#x}, 0x1f ;
        FSETP.GT.AND P0, PT, R{x}, R{t}, PT ;
        FSEL R{y}, R{x}, R{t}, P0 ;
    """
    text = rung.format(t=1, x=0, y=2, d=2) + rung.format(t=3, x=2, y=4, d=1) + "EXIT ;"
    body = """
      for (#d = #w / 2; #d >= 1; #d /= 2) { s: SHFL.BFLY %t, %x, #d ; f: <max> %x', %x, %t }
      where #w in {2, 4, 8}
      emit w = #w, op = f.op
    """
    assert columns(match(body, text)) == [{"w": 4, "op": "<max>"}]


def test_two_halves_are_one_sum(match, places):
    text = """
        LDG.E.64 R2, desc[UR4][R8.64] ;
        IADD3 R4, P0, R2, R6, RZ ;
        IADD3.X R5, R3, R7, RZ, P0, !PT ;
        STG.E.64 desc[UR4][R10.64], R4 ;
        EXIT ;
    """
    rows = match("l: LDG %a\nf: <add> %d, %a, %b\nst: STG _, %d", text)
    assert places(rows) == [{"l": [0x0], "f": [0x20], "st": [0x30]}]


def test_a_division_is_one_operation(match):
    rows = match(
        "d: <fdiv> %q, %a, %b\nst: STG _, %q\nemit op = d.op",
        """
        LDG.E R4, desc[UR4][R8.64] ;
        LDG.E R5, desc[UR4][R8.64+0x4] ;
        FSETP.GEU.AND P0, PT, |R5|, 1.175494350822287508e-38, PT ;
        @!P0 FMUL R5, R5, 16777216 ;
        @!P0 FMUL R4, R4, 16777216 ;
        MUFU.RCP R6, R5 ;
        FMUL R7, R6, R4 ;
        STG.E desc[UR4][R10.64], R7 ;
        EXIT ;
        """,
    )
    assert columns(rows) == [{"op": "<fdiv>"}]


def test_operations_of_single_instructions_that_are_no_class(match):
    text = "MUFU.EX2 R1, R2 ;\nMUFU.RCP R3, R1 ;\nSTG.E desc[UR4][R10.64], R3 ;\nEXIT ;"
    assert columns(match("e: <exp2> %y, %x\nr: <rcp> %z, %y\nemit a = e.op, b = r.op", text)) == [
        {"a": "<exp2>", "b": "<rcp>"}
    ]
    assert match("e: <log2> %y", text) == []


def test_signs_of_a_longer_form_are_strict(match):
    text = SELECT.replace("R1, R2, PT", "R1, -R2, PT").replace("R1, R2, P0", "R1, -R2, P0")
    assert match("m: <max> %d, %a, %b", text) == []
    assert len(match("m: <max> %d, %a, -%b", text)) == 1


def test_roles_and_guards_of_a_longer_form(match):
    assert len(match("m: <max> d=%d, a=%a\nl: LDG %a\nwhere l.index == 0", SELECT)) == 1
    assert match("m: @%p <max> %d", SELECT) == []


def test_values_say_what_made_them(match):
    body = "st: STG _, %v\nemit op = %v.op, d = %v.def, i = %v.def.index, o = st.value.op"
    (row,) = match(body, SELECT)
    assert (row.columns["op"], row.columns["i"], row.columns["o"]) == ("<max>", 3, "<max>")
    text = "STG.E desc[UR4][R10.64], R3 ;\nEXIT ;"
    assert columns(match("st: STG _, %v\nemit o = %v.op, d = bound(%v.def)", text)) == [
        {"o": "entry", "d": False}
    ]


def test_the_vocabulary_has_every_operation():
    known = defined_classes(parse("motif m { f: FADD %x }"))
    assert {"add", "max", "fdiv", "exp", "exp2", "rcp", "load", "shift_left"} <= known


def test_no_meaning_is_computed_where_the_opcodes_rule_it_out(kernel_of, pattern_of, monkeypatch):
    from sassql.model.kernel import FACTS

    def refuse(_):
        raise AssertionError("meanings were asked for")

    monkeypatch.setitem(FACTS, "meanings", refuse)
    assert len(pattern_of("f: <add> %x, %a, %b").match(kernel_of("FADD R1, R2, R3 ;\nEXIT ;"))) == 1


def test_kernel_attributes(match):
    body = "st: STG\nemit l = count(kernel.loads), s = count(kernel.stores), c = kernel.calls.unresolved, n = kernel.calls.count"
    text = SELECT.replace("EXIT", "CALL.ABS.NOINC `(elsewhere) ;\n EXIT")
    (row,) = match(body, text)
    assert row.columns == {"l": 2, "s": 1, "c": 1, "n": 1}
    assert len(match("st: STG\nwhere kernel.has(FSETP.GT) and not kernel.has(MUFU)", SELECT)) == 1
    assert match("st: STG\nwhere kernel.has(<mma>)", SELECT) == []
