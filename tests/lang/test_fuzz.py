"""Whatever the text is: a syntax tree or a PatternError, nothing else."""

import string

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sassql.errors import PatternError
from sassql.lang.check import findings, loads
from sassql.lang.parse import parse

WORDS = [
    *(
        "motif",
        "class",
        "test",
        "expect",
        "for",
        "where",
        "emit",
        "key",
        "loop",
        "chain",
        "either",
        "or",
        "no",
    ),
    *(
        "flow",
        "via",
        "max",
        "path",
        "arch",
        "title",
        "scope",
        "in",
        "matches",
        "not",
        "and",
        "per",
        "any",
        "use",
    ),
    *(
        "%x",
        "%x'",
        "#d",
        "&A",
        "<add>",
        "<fold>",
        "FADD",
        "SHFL",
        "UTC*",
        ".BFLY",
        ".{A|B}",
        ".!M",
        "R4",
        "RZ",
        "PT",
    ),
    *(
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "|",
        ",",
        ";",
        ":",
        "=",
        "==",
        "/=",
        "->",
        "@",
        "!",
        "-",
        "+",
        "*",
        "/",
        "_",
    ),
    *(
        "0x10",
        "1.5",
        "7",
        '"text"',
        "sm_90+",
        "{{",
        "}}",
        "\n",
        "//",
        "/*",
        "*/",
        "K",
        "a",
        "f.op",
        "c[0x0][0x10]",
    ),
]
ALPHABET = string.ascii_letters + string.digits + "%#&@!.,;:|+-*/=<>()[]{}'\"_ \n\t\\$`~é\x00"


def holds(text):
    try:
        parsed = parse(text)
    except PatternError as error:
        assert error.message
        assert error.place.line is not None
        error.caret()
        return
    for finding in findings(parsed):
        assert finding.message
        assert finding.at.line >= 1
    try:
        loads(text)
    except PatternError as error:
        assert error.message


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join))
@example("motif m { for ( #d = #d ; #d ; #d /= 2 ) { s : SHFL %x , #d } }")
@example("motif m { for ( #d = 1 ; #d / #d ; #d /= 0 ) { s : SHFL %x , #d } }")
def test_random_words(text):
    holds(text)


@settings(max_examples=300, deadline=None)
@given(st.text(ALPHABET, max_size=60))
def test_random_characters(text):
    holds(text)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join))
def test_random_statements(text):
    holds(f"motif m {{ s: SHFL %t, %x, #d\n {text} }}")


BASE = """
motif m(%x -> %r, #w) {
  arch sm_70+
  for (#d = #w / 2; #d >= 1; #d /= 2) {
    s: SHFL.{BFLY|DOWN} %t, %x, #d
    f: <add> %x', %x, %t
  }
  %r = %x'
  where #w in {2, 4}
  emit op = f.op, n = count(f)
}
test "t" expect 1 { op == <add> } sm_90 {{ EXIT ; }}
"""


@settings(max_examples=400, deadline=None)
@given(st.integers(0, len(BASE)), st.integers(0, 12), st.text(ALPHABET, max_size=4))
def test_damaged_motif(start, length, text):
    holds(BASE[:start] + text + BASE[start + length :])
