"""Test blocks of pattern files: verdicts and what a failure says."""

from pathlib import Path

import pytest

from sassql.engine.pattern import Pattern
from sassql.errors import PatternError
from sassql.testing.blocks import Verdict, run, run_file

MOTIF = """
motif sums {
  a: <add> %s, %x, %y
  emit op = a.op, code = a.opcode
}
"""


def outcome(test):
    (found,) = run(Pattern.parse(MOTIF + test, "m.sq"))
    return found


def test_a_test_that_holds():
    found = outcome('test "t" expect 1 { op == <add>, code == FADD } sm_90 {{\nFADD R1, R2, R3 ;\nEXIT ;\n}}')
    assert (found.verdict, found.details, len(found.rows)) == (Verdict.PASSED, (), 1)
    assert found.place == "m.sq:6"


def test_addresses_of_a_pasted_listing_are_kept():
    found = outcome('test "t" expect 1 sm_90 {{\n  /*0040*/  FADD R1, R2, R3 ;\n  /*0050*/ EXIT ;\n}}')
    assert [i.address for i in found.rows[0].instructions["a"]] == [0x40]


def test_a_wrong_number_of_rows():
    found = outcome('test "t" expect 2 { op == <add> } sm_90 {{\nFADD R1, R2, R3 ;\nEXIT ;\n}}')
    assert found.verdict is Verdict.FAILED
    assert found.details == (
        "- expected 2 rows with op == <add>",
        "+ found    1 row",
        "  row 1: op=<add> code=FADD  a@0x0",
    )


def test_a_wrong_column():
    found = outcome('test "t" expect 1 { code == IADD3 } sm_90 {{\nFADD R1, R2, R3 ;\nEXIT ;\n}}')
    assert found.details == (
        "- row 1: code == IADD3",
        "+ row 1: code == FADD",
        "  row 1: op=<add> code=FADD  a@0x0",
    )


def test_a_missing_row_names_the_line_that_nothing_fits():
    found = outcome('test "t" expect 1 sm_90 {{\nFMUL R1, R2, R3 ;\nEXIT ;\n}}')
    assert found.details[-1] == "  no instruction of kernel fits line 3 (a)"


def test_todo_never_fails():
    found = outcome('test "t" expect todo 1 sm_90 {{\nFMUL R1, R2, R3 ;\nEXIT ;\n}}')
    assert found.verdict is Verdict.TODO
    found = outcome('test "t" expect todo 1 sm_90 {{\nFADD R1, R2, R3 ;\nEXIT ;\n}}')
    assert found.details == ("it holds now: `todo` can go",)


def test_a_line_that_is_no_instruction_fails_at_its_place():
    found = outcome('test "t" expect 1 sm_90 {{\nFADD R1, R2, R3 ;\nFADD R1,, R3 ;\n}}')
    assert found.verdict is Verdict.FAILED
    assert found.details[0].startswith("m.sq:8:")


def test_another_architecture_fails():
    text = 'motif m { arch sm_90+ ; a: FADD %x }\ntest "t" expect 0 sm_80 {{\nFADD R1, R2, R3 ;\n}}'
    (found,) = run(Pattern.parse(text))
    assert found.details == ("m is for sm_90+, this test is for sm_80",)


def test_a_maybe_does_not_count():
    found = outcome('test "t" expect 1 sm_90 {{\nFADD R1, R2, R3 ;\nBRX R2 -0xe0 ;\n}}')
    assert found.details[:2] == ("- expected 1 row", "+ found    0 rows")
    assert "[maybe: the targets of the branch" in found.details[2]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('"lowering/none.cu:k"', "no file lowering/none.cu"),
        ('"lowering"', "names no kernel"),
    ],
)
def test_a_source_that_is_not_there(source, message):
    assert message in outcome(f'test "t" expect 1 from {source} sm_90').details[0]


def test_a_test_belongs_to_one_motif():
    motifs = "motif other { f: FADD %d }\nmotif m { f: FMUL %d }\n"
    text = motifs + 'test "t" expect 0 sm_90 {{\nFADD R1, R2, R3 ;\n}}'
    assert [o.verdict for o in run(Pattern.parse(text))] == [Verdict.PASSED]


def test_a_bad_file_is_an_error(tmp_path):
    (tmp_path / "bad.sq").write_text("motif m { FADDD %x }")
    with pytest.raises(PatternError, match="unknown opcode"):
        list(run_file(tmp_path / "bad.sq"))


def test_listings_of_the_pattern_library_hold():
    """Every test that needs no compiler."""
    failed = []
    for path in sorted(Path("patterns").rglob("*.sq")):
        pattern = Pattern.load(path)
        # a modifier that no binary of the census has is a remark: RED.XOR and ATOMS.CAS exist all the same
        unexpected = [finding for finding in pattern.findings if finding.id != "SQ005"]
        assert not unexpected, unexpected
        outcomes = run(Pattern(_without_sources(pattern.file)))
        failed += [(o.place, o.test.title, o.details) for o in outcomes if o.verdict is Verdict.FAILED]
    assert failed == []


def _without_sources(file):
    from dataclasses import replace

    return replace(file, tests=tuple(test for test in file.tests if test.listing))
