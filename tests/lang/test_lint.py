"""Every check has a page that is true: its example is found, its severity and recommendation are those of the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sassql.errors import PatternError
from sassql.isa import signatures
from sassql.isa.seen import _table as seen_table
from sassql.lang.findings import CHECKS, LINT_CHECKS, Severity
from sassql.lang.lint import all_checks, lint
from sassql.lang.parse import parse, parse_file
from sassql.resources import folder

PAGE = (Path(__file__).parents[2] / "docs" / "lint.md").read_text("utf-8")
SECTIONS = {
    number: (name, severity, recommendation, example)
    for number, name, severity, recommendation, example in re.findall(
        r"^## (SQ\d{3}) ([\w-]+)\n\n(\w+)\. (.*?)\n\n```sq\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL
    )
}


OVER_KERNELS = ("SQ047", "SQ048")


def ids(text):
    return [f.id for f in lint(parse(text, "m.sq"))]


def body(text):
    return f"motif m {{\n{text}\n}}"


def test_the_page_has_every_check_and_no_other():
    assert set(SECTIONS) == {"SQ000", *(check.id for check in all_checks())}
    assert not set(CHECKS) & set(LINT_CHECKS)


@pytest.mark.parametrize("check", all_checks(), ids=lambda c: c.id)
def test_the_page_says_what_the_code_says(check):
    name, severity, recommendation, example = SECTIONS[check.id]

    assert (name, severity) == (check.name, check.severity.value)
    assert recommendation == check.recommendation
    assert f"## {check.id} {check.name}".lower().replace(" ", "-") == f"##-{check.anchor}"
    if check.id in OVER_KERNELS:  # tests/engine/test_overlap.py runs their examples
        parse(example)
    else:
        assert check.id in ids(example)


def test_the_example_of_syntax_does_not_parse():
    with pytest.raises(PatternError):
        parse(SECTIONS["SQ000"][3])


@pytest.mark.parametrize("path", sorted(folder("patterns").rglob("*.sq")), ids=lambda p: p.name)
def test_the_library_has_no_error(path):
    assert [f for f in lint(parse_file(path)) if f.severity is Severity.ERROR] == []


def test_findings_come_in_the_order_of_the_text():
    found = lint(parse(body('a: FADX %x\nb: FADD %y, %z\ntitel "x"'), "m.sq"))
    assert [f.at for f in found] == sorted(f.at for f in found)


# --- what misspelt words are taken for


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a: SHFFL %t, %x", "did you mean `SHFL`?"),
        ("a: LGD %t, [_]", "did you mean `LDG`?"),
        ("a: SHFL.BFYL %t, %x", "did you mean `BFLY`?"),
        ("a: LDG.CONSTNT %t, [_]", "did you mean `CONSTANT`?"),
        ("a: STG valeu=%x", "did you mean `value`?"),
        ("a: FFMA cc=%x", "did you mean `c`?"),
        ("a: <maxx> %t, %x", "did you mean `<max>`?"),
        ("a: FADD %t, %x\nscoop all", "did you mean `scope`?"),
        ("a: FADD %t, %x\nemit n = a.indx", "did you mean `index`?"),
    ],
)
def test_suggestions(text, hint):
    assert any(hint in f.hint for f in lint(parse(body(text), "m.sq"))), lint(parse(body(text), "m.sq"))


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("motif m { a: FADD %x, }", "a value (`%x`) or `|`", ""),
        ("motif m { a FADD %x }", "expected `:` behind a label", ""),
        ("motif m { a: fadd %x }", "", "upper case: `FADD`"),
        ("motif m { a: FADD %x\nwhere a.op = <add> }", "", "equality is `==`"),
        ("motif m { a: FADD %x\nflow %x => %y }", "expected `->`", ""),
        ("motf m { a: FADD %x }", "", "did you mean `motif`?"),
        ("motif m { a: FADD %x", "unexpected end of file", "the `{` of line 1 is not closed"),
    ],
)
def test_parse_errors_say_what_may_stand_there(text, message, hint):
    with pytest.raises(PatternError) as caught:
        parse(text, "m.sq")
    assert message in caught.value.message and hint in caught.value.hint
    source, caret = caught.value.caret().splitlines()
    assert caret.index("^") == 4 + caught.value.place.column - 1
    assert source[4:] == text.splitlines()[caught.value.place.line - 1]


# --- the checks that only lint has


def test_a_motif_with_both_kinds_of_tests_is_tested():
    text = body('title "x"\nr: REDUX %r, %r') + "\n"
    found = 'test "a" expect 1 sm_80 {{ REDUX UR4, R2 ; }}\n'
    assert ids(text) == ["SQ050"]
    assert ids(text + found) == ["SQ050"]
    assert ids(text + found + found.replace("expect 1", "expect 0")) == []
    assert (
        ids(text + found.replace("expect 1", "expect todo 2") + found.replace("expect 1", "expect 0")) == []
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: FADD %x, %y", ["x", "y"]),
        ("a: FADD %x, %y\nb: FMUL %x, %y", []),
        ("a: FADD %x, %y\nwhere same(%x, %y)", []),
        ("a: @%p FADD %x, %x", []),
        ("a: STG [&A], %x\nb: LDG %x, [&A]", []),
        ("a: STG [&A], %x\nb: LDG %x, [_]", ["A"]),
        ("a: FADD %x, %y\nslice %y : some LDG %z, [_]\nflow %x -> %z", []),
        ("for (#d = 16; #d >= 1; #d /= 2) { s: SHFL %t, %x, #d ; f: <add> %x', %x, %t }", []),
    ],
)
def test_names_that_occur_once(text, expected):
    found = [f for f in lint(parse(body(text), "m.sq")) if f.id == "SQ052"]
    assert [re.search(r"`[%#&](\w+)`", f.message)[1] for f in found] == expected


def test_interface_names_tie_to_the_outside():
    assert "SQ052" not in ids("motif m(%x -> %r) { a: FADD %r, %x }")


@pytest.mark.parametrize(
    ("text", "common"),
    [
        ("a: IMAD %x, %y", True),
        ("a: IMAD|IADD3 %x, %y", True),
        ("a: <add> %x, %y", True),
        ("a: IMAD %x, %y\nb: SHFL %y, %x", False),
        ("a: IMAD %x, %y\nopt { b: SHFL %y, %x }", True),
        ("a: IMAD %x, %y\nno SHFL", True),
        ("loop K { a: IMAD %x, %y\nb: MUFU.EX2 %y, %x }", False),
        ("a: FFMA %x, %y", False),
        ("a: IMAD %x, %y, 1", True),
        ("a: IMAD %x, %y, #k\nwhere #k in {7, 9}", False),
        ("a: IMAD %x, %y, #k\nwhere #k > 1", True),
        ("a: IMAD %x, %y, 0xd2511f53", False),
    ],
)
def test_selectivity(text, common):
    assert ("SQ041" in ids(body(text))) is common


@pytest.mark.parametrize(
    ("text", "vacuous"),
    [
        ("every st: STG [_], %v { slice %v : no LDG }", True),
        ("every st: STG [_], %v { slice %v : some LDG, no <atomic> }", False),
        ("every st: STG [_], %v { a: FADD %v, %x }", False),
        ("every st: STG [_], %v { no { a: FADD %v, %x } }", True),
        ("a: FADD %v, %x\nslice %v : every FADD", True),
        ("a: FADD %v, %x\nslice %v : every FADD, some LDG", False),
        ("a: FADD %v, %x\nslice %v : no LDG", False),
    ],
)
def test_vacuous_claims(text, vacuous):
    assert ("SQ043" in ids(body(text))) is vacuous


def test_opcodes_of_newer_chips():
    hgmma = "h: HGMMA %d, gdesc[_]"
    assert "SQ012" in ids(body("arch sm_80\n" + hgmma))
    assert "SQ012" not in ids(body("arch sm_90a\n" + hgmma))
    assert "SQ012" not in ids(body("arch sm_70+\n" + hgmma))
    assert "SQ012" not in ids(body("arch sm_70\na: FADD %x, %y"))


def test_what_was_seen_is_known():
    assert {o for o in seen_table() if not signatures.is_opcode(o)} == set()
    assert 0.5 < sum(row.share for row in seen_table().values()) <= 1.01


@pytest.mark.parametrize("arch", ["", "// comment"])
def test_listings_of_nvdisasm_are_fine(arch):
    text = body("r: REDUX %r, %r") + (
        'test "t" expect 0 sm_90 {{\n.text.k:\n.L_x_1:\n        /*0000*/                   MOV R1, c[0x0][0x28] ;'
        " /* 0x00000a0000017a02 */\n                       /* 0x000fe20000000f00 */\n\n   @!P0 BRA `(.L_x_1) ;\n"
        "        EXIT ;\n  .align 128\n//-----\n}}"
    )
    assert "SQ051" not in ids(text)


def test_a_listing_that_no_tool_prints():
    found = [f for f in lint(parse(SECTIONS["SQ051"][3], "m.sq")) if f.id == "SQ051"]
    assert [(f.at.line, f.at.column) for f in found] == [(5, 3)]
    assert found[0].message == "unexpected `redux.sum` in the listing"


# --- suppressions


def test_suppressions():
    line = "a: FADD %x, %y"
    assert ids(body(line)).count("SQ052") == 2
    assert "SQ052" not in ids(body(line + "  // suppress: SQ052"))
    assert "SQ052" not in ids(body("// suppress: named-once\n// why not\n\n" + line))
    assert ids("// suppress: SQ050, SQ053\n" + body("a: FADD %x, %x")) == []
    assert ids(body('title "// suppress: SQ052"\na: FADD %x, %y')).count("SQ052") == 2


def test_suppressions_that_are_wrong():
    found = lint(parse(body("a: FADD %x, %x  // suppress: SQ052, SQ9, SQ002"), "m.sq"))
    told = {f.id: f for f in found if f.id in ("SQ060", "SQ061")}
    messages = [f.message for f in found if f.id == "SQ060"]

    assert sorted(messages) == ["SQ002 is an error, which cannot be suppressed", "there is no check `SQ9`"]
    assert told["SQ061"].message == "SQ052 finds nothing in line 2"


def test_an_error_stays_an_error():
    assert "SQ002" in ids(body("a: FADX %x, %x  // suppress: SQ002"))


def test_start_up_needs_no_arrays_and_no_reader():
    """Parsing, formatting and linting work without what reads binaries, and begin fast."""
    program = (
        "import sys; from sassql.lang.lint import lint; from sassql.lang.format import formatted\n"
        "from sassql.lang.parse import parse\n"
        "text = 'motif m { a: FADD %x, %y }'; lint(parse(text)); formatted(text)\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('numpy', 'pandas', 'networkx', 'rich')"
        " or m.startswith(('sassql.reading', 'sassql.facts', 'sassql.engine'))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
