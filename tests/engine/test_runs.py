"""`for`: ladders and what only looks like one."""

import pytest

LADDER = """
  for (#d = #width / 2; #d >= 1; #d /= 2) {
    s: SHFL.{BFLY|DOWN} %t, %x, #d
    f: <fold>           %x', %x, %t
  }
  where #width in {2, 4, 8, 16, 32}
  where same(f.op) and same(s.mod)
  emit op = f.op, width = #width, mode = s.mod, rungs = count(f)
"""


def ladder(*deltas, register=0, op="FADD R{d}, R{a}, R{t} ;", mode="BFLY"):
    """SASS of a ladder; each rung writes the next register but one."""
    lines, held = [], register
    for delta in deltas:
        shuffled, made = held + 1, held + 2
        lines += [
            f"SHFL.{mode} PT, R{shuffled}, R{held}, {delta:#x}, 0x1f ;",
            op.format(d=made, a=held, t=shuffled),
        ]
        held = made
    return lines


def listing(*parts):
    return "\n".join([*(line for part in parts for line in part), "EXIT ;"])


def columns(rows):
    return [row.columns for row in rows]


@pytest.mark.parametrize("width", [2, 4, 8, 16, 32])
def test_every_width(match, width):
    deltas = [width >> i for i in range(1, width.bit_length())]
    rows = match(LADDER, listing(ladder(*deltas)))
    assert columns(rows) == [{"op": "<add>", "width": width, "mode": "BFLY", "rungs": len(deltas)}]
    assert rows[0].status == "match"
    assert [i.address for i in rows[0].instructions["s"]] == [32 * i for i in range(len(deltas))]


@pytest.mark.parametrize(
    ("deltas", "widths"),
    [
        ((16, 8, 2, 1), [4]),  # only the run that ends at 1
        ((8, 4, 2), []),  # does not end at 1
        ((16, 8, 4, 2, 1, 1), [32, 2]),  # a second ladder behind the first
        ((1, 2, 4), [2]),
        ((3, 1), []),  # 3 / 2 is 1, but no width has 3 as its half
        ((32, 16, 8, 4, 2, 1), []),  # 64 lanes
        ((4, 4, 2, 1), [8]),
    ],
)
def test_deltas(match, deltas, widths):
    assert [row.columns["width"] for row in match(LADDER, listing(ladder(*deltas)))] == widths


def test_sub_ladders_are_not_reported(match):
    fixed = "for (#d = 2; #d >= 1; #d /= 2) { s: SHFL.BFLY %t, %x, #d ; f: <fold> %x', %x, %t }"
    assert match(fixed, listing(ladder(4, 2, 1))) == []
    assert len(match(fixed, listing(ladder(2, 1)))) == 1


def test_interleaved_ladders(match):
    one, other = ladder(2, 1), ladder(2, 1, register=10, op="FMNMX R{d}, R{a}, R{t}, !PT ;")
    mixed = [line for pair in zip(one, other, strict=True) for line in pair]
    assert [row.columns["op"] for row in match(LADDER, listing(mixed))] == ["<add>", "<max>"]


def test_copies_between_rungs(match):
    text = listing(ladder(2), ["MOV R20, R2 ;", "IMAD.MOV.U32 R21, RZ, RZ, R20 ;"], ladder(1, register=21))
    assert [row.columns["width"] for row in match(LADDER, text)] == [4]


def test_commuted_operands(match):
    text = listing(ladder(2, op="FADD R{d}, R{t}, R{a} ;"), ladder(1, register=2))
    assert [row.columns["width"] for row in match(LADDER, text)] == [4]


@pytest.mark.parametrize(
    "op",
    [
        "FADD R{d}, R{a}, -R{t} ;",  # a difference
        "FADD R{d}, -R{a}, R{t} ;",
        "FADD R{d}, |R{a}|, R{t} ;",
        "FADD R{d}, R{a}, R{a} ;",  # not the shuffled value
        "FADD R{d}, R{t}, R{t} ;",
        "FADD R{d}, R30, R{t} ;",  # another value
        "IADD3 R{d}, R{a}, R{t}, R30 ;",  # three addends
        "FMNMX R{d}, R{a}, R{t}, P3 ;",
        "FSEL R{d}, R{a}, R{t}, P3 ;",
    ],
)
def test_no_fold(match, op):
    assert match(LADDER, listing(ladder(2, 1, op=op))) == []


def test_other_shuffles(match):
    assert match(LADDER, listing(ladder(2, 1, mode="UP"))) == []
    assert match(LADDER, listing(ladder(2, 1, mode="IDX"))) == []
    assert [row.columns["mode"] for row in match(LADDER, listing(ladder(2, 1, mode="DOWN")))] == ["DOWN"]


def test_conditions_over_rungs(match):
    two_modes = listing(ladder(2), ladder(1, register=2, mode="DOWN"))
    assert match(LADDER, two_modes) == []
    lax = LADDER.replace("where same(f.op) and same(s.mod)", "")
    assert columns(match(lax, two_modes)) == [{"op": "<add>", "width": 4, "mode": "mixed", "rungs": 2}]


def test_operations_alternate(match):
    text = listing(
        ladder(4, op="IMAD.IADD R{d}, R{a}, 0x1, R{t} ;"),
        ladder(2, 1, register=2, op="IADD3 R{d}, R{a}, R{t}, RZ ;"),
    )
    assert [row.columns["op"] for row in match(LADDER, text, "sm_75")] == ["<add>"]


def test_guarded_rungs(match):
    """A guarded fold makes the value after it, whichever way the guard went."""
    rung = ["SHFL.UP P0, R1, R0, {:#x}, RZ ;", "@P0 FADD R0, R0, R1 ;"]
    text = listing([line.format(1) for line in rung], [line.format(2) for line in rung])
    body = """
      for (#d = 1; #d < #w; #d *= 2) { s: SHFL.UP p=%in, %t, %x, #d ; f: @%in <fold> %x', %x, %t }
      where #w in {2, 4, 8}
      emit w = #w
    """
    assert columns(match(body, text)) == [{"w": 4}]
    assert match(body, text.replace("@P0", "@!P0")) == []
    assert match(body, text.replace("@P0", "@P1")) == []


def test_the_counter_may_sit_in_a_register(match):
    text = listing(
        ["MOV R40, 0x2 ;", "SHFL.BFLY PT, R1, R0, R40, 0x1f ;", "FADD R2, R0, R1 ;"], ladder(1, register=2)
    )
    assert [row.columns["width"] for row in match(LADDER, text)] == [4]


def test_a_ladder_across_a_branch(match):
    text = "\n".join(
        [*ladder(2), "SHFL.BFLY PT, R3, R2, 0x1, 0x1f ;", "@P0 EXIT ;", "FADD R4, R2, R3 ;", "EXIT ;"]
    )
    assert [row.columns["width"] for row in match(LADDER, text)] == [4]


def test_a_loop_is_no_ladder(match):
    """The delta of a rolled ladder is a phi: no constant, hence no rung."""
    text = """
        MOV R5, 0x10 ;
    .L_x_1:
        SHFL.BFLY PT, R1, R0, R5, 0x1f ;
        FADD R0, R0, R1 ;
        SHF.R.U32.HI R5, RZ, 0x1, R5 ;
        ISETP.NE.AND P0, PT, R5, RZ, PT ;
        @P0 BRA `(.L_x_1) ;
        EXIT ;
    """.replace("    .L", ".L")
    assert match(LADDER, text) == []


def test_double_precision_is_one_row(match):
    rung = [
        "SHFL.BFLY PT, R{h}, R{b}, {d:#x}, 0x1f ;",
        "SHFL.BFLY PT, R{l}, R{a}, {d:#x}, 0x1f ;",
        "DADD R{l}, R{a}, R{l} ;",
    ]
    one = [line.format(a=0, b=1, l=2, h=3, d=2) for line in rung]
    two = [line.format(a=2, b=3, l=4, h=5, d=1) for line in rung]
    rows = match(LADDER, listing(one, two))
    assert columns(rows) == [{"op": "<add>", "width": 4, "mode": "BFLY", "rungs": 2}]
    assert [i.address for i in rows[0].instructions["f"]] == [0x20, 0x50]


def test_entry_and_exit_values_are_visible_outside(match, places):
    text = listing(["LDG.E R0, desc[UR4][R30.64] ;"], ladder(2, 1), ["STG.E desc[UR4][R32.64], R4 ;"])
    body = LADDER + "ld: LDG %x, _\nst: STG _, %r\n%r = %x'\nemit near = st.index - ld.index"
    rows = match(body, text)
    assert [row.columns["near"] for row in rows] == [5]
    assert places(rows)[0]["ld"] == [0]
    assert match(body, text.replace("R32.64], R4", "R32.64], R2")) == []


def test_a_name_that_stands_outside_is_the_same_on_every_rung(match):
    body = """
      for (#d = 2; #d >= 1; #d /= 2) { s: SHFL.BFLY %t, %x, #d ; f: FFMA %x', %t, %k, %x }
      ld: LDG %k, _
    """
    text = ["LDG.E R9, desc[UR4][R30.64] ;", *ladder(2, 1, op="FFMA R{d}, R{t}, R9, R{a} ;")]
    assert len(match(body, listing(text))) == 1
    text[-1] = text[-1].replace("R9", "R10")
    assert match(body, listing(text)) == []


def test_lists_of_names(match):
    body = LADDER + "emit widest = max(#d), total = sum(#d), first = s.index"
    (row,) = match(body, listing(ladder(4, 2, 1)))
    assert (row.columns["widest"], row.columns["total"], row.columns["first"]) == (4, 7, "mixed")


def test_an_integer_of_the_header_that_a_line_knows(match):
    body = """
      for (#d = #n / 2; #d >= 1; #d /= 2) { s: SHFL.BFLY %t, %x, #d ; f: <fold> %x', %x, %t }
      m: FADD %y, %x', _
      c: IADD3 %i, %j, #n
      where c.index < m.index
    """
    text = ["IADD3 R50, R51, {}, RZ ;", *ladder(2, 1), "FADD R6, R4, R9 ;"]
    assert len(match(body, listing(text).format("0x4"))) == 1
    assert match(body, listing(text).format("0x8")) == []
    far = body.replace("#n / 2", "#n - 1000")
    assert len(match(far, listing(text).format("0x3ea"))) == 1


def test_the_smallest_integer_that_solves_the_header(match):
    body = "for (#d = 1; #d < #w; #d *= 2) { s: SHFL.UP %t, %x, #d ; f: <fold> %x', %x, %t }\nemit w = #w"
    assert columns(match(body, listing(ladder(1, 2, 4, mode="UP")))) == [{"w": 5}]
    body = (
        "for (#d = #w / 2; #d >= 1; #d /= 2) { s: SHFL.BFLY %t, %x, #d ; f: <fold> %x', %x, %t }\nemit w = #w"
    )
    assert columns(match(body, listing(ladder(4, 2, 1)))) == [{"w": 8}]


def test_counters_that_count_up(match):
    body = "for (#i = 0; #i < 3; #i += 1) { s: SHFL.IDX %t, %x, #i ; f: <fold> %x', %x, %t }"
    assert len(match(body, listing(ladder(0, 1, 2, mode="IDX")))) == 1
    assert match(body, listing(ladder(0, 1, mode="IDX"))) == []
    assert match(body, listing(ladder(0, 1, 2, 3, mode="IDX"))) == []


def test_two_carried_values(match):
    """A ladder of pairs: both values go on, rung by rung."""
    rung = [
        *("SHFL.BFLY PT, R{p}, R{a}, {d:#x}, 0x1f ;", "SHFL.BFLY PT, R{q}, R{b}, {d:#x}, 0x1f ;"),
        *("FADD R{c}, R{a}, R{p} ;", "FMNMX R{e}, R{b}, R{q}, !PT ;"),
    ]
    one = [line.format(a=0, b=1, p=2, q=3, c=4, e=5, d=2) for line in rung]
    two = [line.format(a=4, b=5, p=6, q=7, c=8, e=9, d=1) for line in rung]
    body = """
      for (#d = 2; #d >= 1; #d /= 2) {
        s: SHFL.BFLY %t, %x, #d
        u: SHFL.BFLY %v, %y, #d
        f: <add> %x', %x, %t
        g: <max> %y', %y, %v
        where s.index < u.index
      }
    """
    assert len(match(body, listing(one, two))) == 1
    crossed = [line.format(a=4, b=0, p=6, q=7, c=8, e=9, d=1) for line in rung]
    assert match(body, listing(one, crossed)) == []
