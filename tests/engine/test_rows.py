"""Keys, mixed columns, order, status, budget."""

from sassql.engine.pattern import Pattern

SUMS = """
    FMUL R9, R1, R2 ;
    FADD R3, R9, R1 ;
    FADD R4, R9, R2 ;
    FADD R5, R4, R3 ;
    EXIT ;
"""


def columns(rows):
    return [row.columns for row in rows]


def test_a_row_per_key(match):
    body = "m: FMUL %p\na: FADD %s, %p, _\nemit at = a.index"
    assert columns(match(body, SUMS)) == [{"at": 1}, {"at": 2}]
    assert columns(match(body + "\nkey m", SUMS)) == [{"at": "mixed"}]
    assert columns(match(body + "\nkey kernel", SUMS)) == [{"at": "mixed"}]


def test_a_key_may_name_a_label_of_a_block(match):
    text = "SHFL.BFLY PT, R1, R0, 0x1, 0x1f ;\nFADD R2, R0, R1 ;\nFMNMX R3, R0, R1, PT ;\nEXIT ;"
    body = (
        "for (#d = 1; #d >= 1; #d /= 2) { s: SHFL.BFLY %t, %x, #d ; f: <fold> %x', %x, %t }\nemit op = f.op"
    )
    assert columns(match(body, text)) == [{"op": "<add>"}, {"op": "<min>"}]
    assert columns(match(body + "\nkey s", text)) == [{"op": "mixed"}]


def test_lines_without_a_label_make_no_key(match):
    assert len(match("m: FMUL %p\nFADD %s, %p, _", SUMS)) == 1


def test_rows_come_in_the_order_of_addresses(match):
    rows = match("b: FADD %s, %p, _\na: FADD %p", SUMS)
    assert [row.order for row in rows] == sorted(row.order for row in rows)
    assert [row.instructions["a"][0].address for row in rows] == [0x10, 0x20]


def test_motifs_of_a_file_come_one_after_the_other(kernel_of):
    pattern = Pattern.parse("motif b { f: FMUL %x }\nmotif a { f: FADD %x }")
    assert [row.motif for row in pattern.match(kernel_of(SUMS))] == ["b", "a", "a", "a"]
    assert [motif.name for motif in pattern.motifs] == ["b", "a"]


def test_matching_is_repeatable(match):
    body = "m: FMUL %p\na: FADD %s, %p, _"
    first, second = match(body, SUMS), match(body, SUMS)
    assert [row.as_record()["at"] for row in first] == [row.as_record()["at"] for row in second]
    assert first[0].as_record()["at"] == {"m": ["0x0"], "a": ["0x10"]}


def test_an_unknown_condition_makes_a_maybe(match):
    rows = match("m: FMUL %p\nwhere m.bytes == 4", SUMS)
    assert [(row.status, row.reason) for row in rows] == [("maybe", "a condition is unknown")]
    assert match("m: FMUL %p\nwhere m.bytes == 4 and m.index > 5", SUMS) == []


def test_an_unresolved_branch_makes_every_row_a_maybe(match):
    rows = match("m: FMUL %p", "FMUL R9, R1, R2 ;\nBRX R2 -0xe0 ;\nEXIT ;")
    assert [row.status for row in rows] == ["maybe"]
    assert rows[0].reason == "the targets of the branch at 0x10 are not known"


def test_a_column_of_the_kernel_and_of_labels(match):
    (row,) = match(
        "l: LDG %v\nemit k = kernel.arch, n = kernel.instructions, b = l.bytes, o = l.op, a = l.address",
        "LDG.E.128 R4, desc[UR4][R2.64] ;\nEXIT ;",
    )
    assert row.columns == {"k": "sm_90", "n": 2, "b": 16, "o": "LDG", "a": 0}


def test_the_budget_says_where_it_ran_out(match):
    body = "a: FADD %x\nb: FADD %y, %x, _"
    assert [row.status for row in match(body, SUMS)] == ["match", "match"]
    rows = match(body, SUMS, budget=3)
    assert rows[-1].status == "gave_up"
    assert rows[-1].reason.startswith("motif m: the budget of 3 steps ran out at line ")
    assert rows[-1].instructions == {}


def test_the_budget_is_deterministic(match):
    body = "a: FADD %x\nb: FADD %y, %x, _"
    found = [[row.status for row in match(body, SUMS, budget=n)] for n in range(1, 60)]
    assert found == [[row.status for row in match(body, SUMS, budget=n)] for n in range(1, 60)]
    assert found[-1] == ["match", "match"]


def test_rows_found_before_the_budget_ran_out_stay(match):
    body = "a: FADD %x\nb: FADD %y, %x, _"
    counts = [len([r for r in match(body, SUMS, budget=n) if r.status == "match"]) for n in range(1, 60)]
    assert counts == sorted(counts)
    assert 1 in counts


def test_an_empty_kernel(kernel_of):
    assert Pattern.parse("motif m { f: FADD %x }").match(kernel_of("EXIT ;")) == []


def test_only_the_facts_that_a_motif_asks_for_are_computed(match, kernel_of, pattern_of):
    text = "LDG.E R1, desc[UR4][R8.64] ;\nFADD R2, R1, R1 ;\nSTG.E desc[UR4][R10.64], R2 ;\nEXIT ;"
    dear = {"addresses", "meanings", "slices", "memory_flow", "postdominators"}
    kernel = kernel_of(text)
    assert (
        len(pattern_of("l: LDG %x\nf: <add> %y, %x, _\nst: STG _, %y\nflow %x -> %y via <add>").match(kernel))
        == 1
    )
    assert dear.isdisjoint(kernel._facts)
    assert len(pattern_of("st: STG [&A], %y\nslice %y : some LDG").match(kernel)) == 1
    assert {"addresses", "slices"} <= kernel._facts.keys()
    assert "meanings" not in kernel._facts
