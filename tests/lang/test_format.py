"""The formatter: the same meaning, comments and listings kept, and a second run changes nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from test_fuzz import WORDS
from test_parse import EVERYTHING

from sassql.errors import PatternError
from sassql.lang.format import formatted, meaning
from sassql.lang.format.pieces import pieces
from sassql.lang.format.spacing import blank, roles
from sassql.lang.parse import parse
from sassql.resources import folder

HERE = Path(__file__).parent
FILES = [*sorted((HERE / "language").glob("*.sq")), *sorted(folder("patterns").rglob("*.sq"))]
TEXTS = [path.read_text("utf-8") for path in FILES] + [EVERYTHING]
COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|\{\{.*?\}\}|(//[^\n]*|/\*[\s\S]*?\*/)', re.DOTALL)


def comments(text):
    return [m[1].rstrip() for m in COMMENT.finditer(text) if m[1]]


def check(text):
    """Everything that has to hold for any text that parses; the formatted text."""
    once = formatted(text)
    assert formatted(once) == once
    assert meaning(parse(once)) == meaning(parse(text))
    assert comments(once) == comments(text)
    assert [t.listing for t in parse(once).tests] == [t.listing for t in parse(text).tests]
    outside = re.sub(r"\{\{.*?\}\}|/\*.*?\*/", "X", once, flags=re.DOTALL)
    assert not re.search(r"[ \t]+$|\n\n\n|\{\n\n|\A\n|\t", outside, re.MULTILINE), repr(once)
    assert once == "" or (once.endswith("\n") and not once.endswith("\n\n"))
    return once


@pytest.mark.parametrize("path", FILES, ids=[p.name for p in FILES])
def test_every_pattern(path):
    check(path.read_text("utf-8"))


def test_the_whole_language():
    check(EVERYTHING)


@pytest.mark.parametrize("path", sorted(folder("patterns").rglob("*.sq")), ids=lambda p: p.name)
def test_the_library_is_formatted(path):
    text = path.read_text("utf-8")
    assert formatted(text) == text, f"run `sassql fmt {path}`"


WANTED = {
    "signs and blanks": (
        "motif m{a:FADD %x ,- %y,|  R3 |.H0 ;emit op=a.op,n = -1+ 2*count( a )}",
        "motif m { a: FADD %x, -%y, |R3|.H0 ; emit op = a.op, n = -1 + 2 * count(a) }\n",
    ),
    "columns of lines": (
        "motif m {\na: FADD %x, %y\nlong: SHFL.{ BFLY | DOWN } %t, %x\nb: BAR\n\nc: FMUL %y\n}",
        "motif m {\n  a:    FADD              %x, %y\n  long: SHFL.{BFLY|DOWN}  %t, %x\n  b:    BAR\n\n"
        "  c: FMUL  %y\n}\n",
    ),
    "headers": (
        'motif m {\ntitle "x"\narch sm_90+\ntags a,b\na: FADD %x\n}',
        'motif m {\n  title "x"\n  arch  sm_90+\n  tags  a, b\n  a: FADD  %x\n}\n',
    ),
    "a block is on one line, or has lines of its own": (
        "motif m { opt { a: FADD %x\nb: FADD %x }\n\n\n\nopt {c: FADD %x;d: FADD %x} }",
        "motif m {\n  opt {\n    a: FADD  %x\n    b: FADD  %x\n  }\n\n  opt { c: FADD %x ; d: FADD %x }\n}\n",
    ),
    "or stands behind the brace": (
        "motif m {\neither { a: FADD %x }\nor {\na: FMUL %x } }",
        "motif m {\n  either { a: FADD %x } or {\n    a: FMUL  %x\n  }\n}\n",
    ),
    "comments": (
        "// first\n\n\nmotif m { // behind\n// own\na: FADD %x // one\nlonger: FADD %x, %y /* two */\n// last\n}\n// end",
        "// first\n\nmotif m {  // behind\n  // own\n  a:      FADD  %x      // one\n  longer: FADD  %x, %y  /* two */\n"
        "  // last\n}\n// end\n",
    ),
    "continued lines": (
        'test "t"\nexpect 1 { n==2,op == <add> }\nsm_90 {{ EXIT ;\n}}\nmotif m {\na: FADD %x,\n%y\nwhere same(a.op)\nor a.op == <add>\n}',
        'test "t"\n  expect 1 { n == 2, op == <add> }\n  sm_90 {{ EXIT ;\n}}\nmotif m {\n  a: FADD  %x,\n      %y\n'
        "  where same(a.op)\n      or a.op == <add>\n}\n",
    ),
    "classes and memory": (
        "class <a>=<b>|FMUL\nmotif m(%x->%y){a: STG desc [UR4][ %x+ 0x10], %y;where #n in { 1,2 }\nb: DEPBAR.LE SB0, { 4 ,3 }}",
        "class <a> = <b> | FMUL\n"
        "motif m(%x -> %y) {\n  a: STG desc[UR4][%x+0x10], %y ; where #n in {1, 2}\n  b: DEPBAR.LE  SB0, {4,3}\n}\n",
    ),
    "semicolons at the end of pasted lines": (
        "motif m {\na: FADD %x, R3 ;\nb: FADD %x, R4 ;\n}",
        "motif m {\n  a: FADD  %x, R3\n  b: FADD  %x, R4\n}\n",
    ),
}


@pytest.mark.parametrize("name", WANTED)
def test_layout(name):
    text, wanted = WANTED[name]
    if name == "classes and memory":
        text = text.replace("desc [", "desc[")  # `desc` is a word of its own only in front of its bracket
    assert check(text) == wanted


def test_what_does_not_parse_is_an_error():
    with pytest.raises(PatternError, match="unexpected"):
        formatted("motif m { a: FADD %x }}")


def test_windows_line_ends_and_a_byte_order_mark():
    assert formatted("\ufeffmotif m {\r\n  a: FADD %x\r\n}\r\n") == "motif m {\n  a: FADD  %x\n}\n"


def test_an_empty_file():
    assert formatted("") == formatted("\n\n") == ""
    assert formatted("// only this") == "// only this\n"


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_blanks_do_not_matter(data):
    """However the tokens are spaced, the result is the same."""
    text = data.draw(st.sampled_from(TEXTS))
    found = pieces(text)
    signs = roles(found)
    choice = st.integers(0, 3)
    made = ""
    place = 0
    for number, piece in enumerate(found):
        gap = text[place : (start := text.index(piece.text, place) if piece.text else len(text))]
        place = start + len(piece.text)
        if gap.strip(" \t") == "" and number:
            least = blank(found[number - 1], signs[number - 1], piece, signs[number])
            room = gap == "" and not least
            gap = " " * (data.draw(choice) if not room and least else 0)
            gap = gap or (" " if least else "")
        made += gap + piece.text
    assert formatted(made) == formatted(text)


separators = st.sampled_from(
    [
        " ",
        " ",
        "  ",
        "\n",
        "\n\n",
        " // c\n",
        "\n// own\n",
        " /* x */ ",
        "/* x\n y */",
        "\n\n\n/* z */\n",
        " ; ",
        ";\n",
    ]
)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_line_breaks_and_comments_anywhere(data):
    """Breaks and comments between tokens: where the text still parses, all that must hold holds."""
    text = data.draw(st.sampled_from(TEXTS))
    found = pieces(text)[:-1]
    first = data.draw(st.integers(0, len(found) - 1))
    last = data.draw(st.integers(first, min(first + 40, len(found) - 1)))
    made, place = "", 0
    for number, piece in enumerate(found):
        start = text.index(piece.text, place)
        gap = text[place:start]
        if first <= number <= last and gap:
            gap = data.draw(separators)
        made += gap + piece.text
        place = start + len(piece.text)
    made += text[place:]
    try:
        parse(made)
    except PatternError:
        assume(False)
    check(made)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@example(["motif", "m", "{", "FADD", "|", "%x", "|", "\n", "FADD", "%x", "}"])
@given(words=st.lists(st.sampled_from(WORDS), max_size=14))
def test_texts_of_any_words(words):
    text = "motif m { a: FADD %x, %y\n" + " ".join(words) + "\n}"
    try:
        parse(text)
    except PatternError:
        assume(False)
    check(text)
