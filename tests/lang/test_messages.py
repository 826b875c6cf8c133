"""Parse errors in words: message, place, caret, hint."""

import pytest

from sassql.errors import EXIT_USAGE, PatternError
from sassql.lang.check import loads
from sassql.lang.parse import parse

ERRORS = [
    # text, column, message, hint
    ("motif m { SHFL.BFLY %t, %x #d }", 28, "unexpected `#d`; expected `,`, `}`", ""),
    (
        "motif m { fadd %x, %y }",
        16,
        "unexpected `%x`; expected `:` behind a label",
        "opcodes are written in upper case: `FADD`",
    ),
    ("motif m { wher #a == 1 }", 16, "unexpected `#a`", "did you mean `where` instead of `wher`?"),
    ("motif m { where #a = 1 }", 20, "unexpected `=`; expected an operator", "equality is `==`"),
    ("motif m { where #a && #b }", 20, "unexpected `&`", "write `and`, `or`"),
    ("motif m { tag a b c }", 17, "unexpected `b`", "did you mean `tags` instead of `tag`?"),
    ("motif m { a befor b }", 19, "unexpected `b`", "did you mean `before` instead of `befor`?"),
    ("motif m { flow %a -> %b vai FADD }", 25, "unexpected `vai`", "did you mean `via`?"),
    ("motif m { s: SHFL.{BFLY %x }", 25, "unexpected `%x`; expected `}` or `|`", ""),
    ("motif m(x) { }", 9, "unexpected `x`", "values are written `%x`, integers `#x`"),
    ("motif m { FADD %x'', %y }", 19, "unexpected `'`", "one prime: the value on the next rung"),
    ("motif m { FADD %x, # }", 20, "`#` is not a number", "name it, as in `#n`"),
    ("motif m { FADD R#, %x }", 16, "`R#` is not a number", "name it, as in `#n`"),
    ("motif m { for (#d = 1; #d < 2) { } }", 30, "unexpected `)`; expected", ""),
    (
        "motif m {",
        10,
        "unexpected end of file; expected a statement or `}`",
        "the `{` of line 1 is not closed",
    ),
    ("motif m { } }", 13, "unexpected `}`; expected the next item", ""),
    ("motiff m { }", 1, "unexpected `motiff`", "did you mean `motif`?"),
    ('test "a" expct 1 sm_90 {{ }}', 10, "unexpected `expct`; expected `expect`", "did you mean `expect`?"),
    ('test "a" expect 1 sm_90 {{ FADD', 25, "unexpected", ""),
    ("class <x> =", 12, "unexpected end of file; expected a class (`<add>`) or an opcode", ""),
    ("motif m { loop { } }", 16, "unexpected `{`; expected", ""),
    ("motif m { emit a f.op }", 18, "unexpected `f`; expected `=`", ""),
    ("$", 1, "unexpected `$`; expected", ""),
    ("motif m { where f.op matches gemm }", 30, "unexpected `gemm`; expected a regular expression", ""),
]


@pytest.mark.parametrize(("text", "column", "message", "hint"), ERRORS)
def test_error(text, column, message, hint):
    with pytest.raises(PatternError) as caught:
        parse(text, "m.sq")
    error = caught.value
    assert message in error.message
    assert error.hint == hint
    assert (error.place.file, error.place.line, error.place.column) == ("m.sq", 1, column)
    assert error.exit_code == EXIT_USAGE


def test_the_caret_stands_under_the_error():
    with pytest.raises(PatternError) as caught:
        parse("motif m {\n\tFADD %x %y\n}")
    assert caught.value.caret() == "    \tFADD %x %y\n    \t        ^"
    assert str(caught.value).startswith("<text>:2:10: unexpected `%y`")


def test_a_message_stays_readable():
    """No error lists more than a handful of continuations, and none shows a terminal's inner name."""
    for text, *_ in ERRORS:
        with pytest.raises(PatternError) as caught:
            parse(text)
        assert len(caught.value.message) < 200
        assert "__ANON" not in caught.value.message
        assert "_SEP" not in caught.value.message


def test_an_unclosed_brace_is_named_by_its_line():
    with pytest.raises(PatternError) as caught:
        parse('motif m {\n  title "a {"\n  loop K {\n  FADD %x // {\n}\n')
    assert caught.value.hint == "the `{` of line 1 is not closed"


@pytest.mark.parametrize("text", ["", "\n\n", "// nothing\n"])
def test_a_file_without_a_motif(text):
    with pytest.raises(PatternError, match="no motif"):
        loads(text)
