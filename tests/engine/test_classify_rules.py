"""`classify`: priorities, unknown answers, what rules may say of motifs."""

from sassql.engine.classes import Rules
from sassql.lang.parse import parse
from sassql.reading.listing import read_listing

MOTIFS = """
motif sums { f: FADD %x, %a, %b
 emit at = f.index }
motif products { f: FMUL %x }
motif stored { st: STG _, %v
 slice %v : no SHFL }
"""


def classify(rules, listing):
    kernel = read_listing(listing, arch="sm_90")[0][0].kernels[0]
    return Rules([parse(MOTIFS + rules)]).classify(kernel)


TWO = "classify two priority 20 when sums and products\nclassify one priority 10 when sums or products\n"


def test_the_highest_priority_that_holds():
    assert classify(TWO, "FADD R1, R2, R3 ;\nFMUL R4, R1, R1 ;\nEXIT ;").name == "two"
    assert classify(TWO, "FMUL R4, R1, R1 ;\nEXIT ;").name == "one"
    found = classify(TWO, "MUFU.EX2 R4, R1 ;\nEXIT ;")
    assert (found.name, found.status) == ("other", "match")
    assert [(a.name, a.priority, a.holds) for a in found.answers] == [("two", 20, False), ("one", 10, False)]


def test_what_is_not_known():
    rule = "classify lanewise priority 30 when stored\n" + TWO
    call = "CALL.ABS.NOINC `(elsewhere) ;\nSTG.E desc[UR4][R10.64], R5 ;\n"
    unknown = classify(rule, call + "EXIT ;")
    assert (unknown.name, unknown.status) == ("unknown", "unknown")
    maybe = classify(rule, call + "FADD R1, R2, R3 ;\nEXIT ;")
    assert (maybe.name, maybe.status) == ("one", "maybe")
    assert maybe.answers[0].holds is None
    assert classify("classify not_so when not stored", call + "EXIT ;").name == "unknown"


def test_rules_speak_of_columns_counts_and_the_kernel():
    text = "FADD R1, R2, R3 ;\nFADD R4, R1, R1 ;\nEXIT ;"
    assert classify("classify c when count(sums) == 2 and max(sums.at) == 1", text).name == "c"
    assert classify("classify c when count(sums) > 2", text).name == "other"
    assert classify("classify c when kernel.has(FADD) and kernel.instructions == 3", text).name == "c"


def test_the_rows_are_the_evidence():
    found = classify(TWO, "FADD R1, R2, R3 ;\nFMUL R4, R1, R1 ;\nEXIT ;")
    assert {name: len(rows) for name, rows in found.rows.items()} == {"sums": 1, "products": 1}
    assert found.answers[0].motifs == ("sums", "products")
