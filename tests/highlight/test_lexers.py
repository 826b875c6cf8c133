"""Lexers and TextMate grammars: every pattern of the library, every word of the grammar, real listings."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark.lexer import PatternStr
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, String, Text, Whitespace
from textmate import FILES, FOLDER, expressions, tokens

from sassql.highlight.lexers import SassLexer, SqLexer
from sassql.highlight.words import HEADER_WORDS, KEYWORDS
from sassql.lang.parse import grammar, parse
from sassql.resources import folder

PATTERNS = sorted(folder("patterns").rglob("*.sq"))
ROOT = Path(__file__).parents[2]
WORDS = sorted(
    t.pattern.value
    for t in grammar().terminals
    if isinstance(t.pattern, PatternStr) and t.pattern.value.isalpha()
)


def lexed(lexer, text):
    return list(lexer(stripnl=False, ensurenl=False).get_tokens(text))


def test_keywords_are_those_of_the_grammar():
    assert sorted(KEYWORDS) == WORDS


@pytest.mark.parametrize("path", PATTERNS, ids=lambda p: p.name)
def test_every_token_of_every_pattern(path):
    text = path.read_text("utf-8")
    found = lexed(SqLexer, text)

    assert "".join(value for _, value in found) == text
    assert [value for kind, value in found if kind in Error or kind is Text] == []


@pytest.mark.parametrize("path", PATTERNS, ids=lambda p: p.name)
def test_tokens_are_what_the_parser_says(path):
    """Values, opcodes, strings and comments of the lexer are those of the syntax tree."""
    text = path.read_text("utf-8")
    file = parse(text)
    kinds = {}
    for place, kind, value in SqLexer(stripnl=False).get_tokens_unprocessed(text):
        kinds[place] = (kind, value)
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    from sassql.lang.walk import line_names, opcodes, statements
    from sassql.lang.walk import lines as motif_lines

    for opcode in opcodes(file):
        kind, value = kinds[lines[opcode.at.line - 1] + opcode.at.column - 1]
        assert kind in (Name.Function, Keyword.Type), value
    for motif in file.motifs:
        for line in motif_lines(motif.body):
            for name in line_names(line):
                kind, value = kinds[lines[name.at.line - 1] + name.at.column - 1]
                assert kind in Name.Variable and value == str(name)
        for header in motif.headers:
            kind, value = kinds[lines[header.at.line - 1] + header.at.column - 1]
            assert (kind, value) == (Name.Tag, header.word)
        assert list(statements(motif.body))


@pytest.mark.parametrize("word", WORDS)
def test_every_word_is_coloured(word):
    kinds = {value: kind for kind, value in lexed(SqLexer, f" {word} x ")}
    assert kinds[word] in Keyword or kinds[word] in Operator.Word
    names = dict(tokens("source.sq", f" {word} x"))
    assert names[word].startswith("keyword.")


def test_headers_are_words_only_where_they_are_headers():
    assert (Name.Tag, "title") in lexed(SqLexer, 'title "x"')
    assert all((Name.Tag, word) in lexed(SqLexer, f"{word} x") for word in HEADER_WORDS)


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_real_listings(compiled, arch):
    """What nvdisasm and cuobjdump print: opcodes, registers, numbers and labels get their colours."""
    for text in (
        compiled(arch).listing("-c"),
        compiled(arch).listing("-c", "-hex"),
        compiled(arch).cuobjdump,
    ):
        found = lexed(SassLexer, text)
        assert "".join(value for _, value in found) == text
        assert not [v for k, v in found if k in Error]
        assert {v for k, v in found if k is Name.Variable} >= {"R1", "RZ", "PT"}
    kernel = compiled(arch).module.kernels[0]
    for ins in kernel.instructions:
        found = lexed(SassLexer, f"        /*{ins.address:04x}*/  {ins.text} ;\n")
        assert [v for k, v in found if k is Name.Function] == [ins.opcode]
        assert [v for k, v in found if k is Text] == [], ins.text
        names = [
            (v, n) for v, n in tokens("source.sass-nvidia", f"        /*{ins.address:04x}*/  {ins.text} ;")
        ]
        assert [v for v, n in names if n == "support.function.opcode.sass-nvidia"] == [ins.opcode], names
        assert not [v for v, n in names if n.startswith("text.") or (v.strip() and not n)], (ins.text, names)


def test_a_listing_inside_a_test_is_sass():
    text = 'test "t" expect 1 sm_90 {{\n  .L_x_1:\n  @!P0 FADD R1, R2, -0.5 ;  // x\n}}'
    found = [(k, v) for k, v in lexed(SqLexer, text) if k not in Whitespace]

    assert (Name.Function, "FADD") in found and (Name.Variable, "R1") in found
    assert (Number.Float, "0.5") in found and (Name.Label, ".L_x_1") in found
    assert (String.Double, '"t"') in found and (Comment.Single, "// x") in found


@pytest.mark.parametrize("scope", FILES)
def test_textmate_expressions_compile(scope):
    found = list(expressions(scope))
    assert len(found) > 15
    for expression in found:
        re.compile(expression)


@pytest.mark.parametrize("path", PATTERNS, ids=lambda p: p.name)
def test_textmate_covers_every_pattern(path):
    text = path.read_text("utf-8")
    found = list(tokens("source.sq", text))

    assert "".join(value for value, _ in found) == text
    bare = [value for value, name in found if value.strip() and not name]
    assert bare == []
    opcodes = {value for value, name in found if name.startswith("support.function.opcode")}
    lexed_opcodes = {v for k, v in lexed(SqLexer, text) if k is Name.Function}
    assert opcodes == lexed_opcodes


def test_textmate_keywords_are_those_of_the_grammar():
    text = (FOLDER / FILES["source.sq"]).read_text("utf-8")
    written = set()
    for group in re.findall(r"\(\?:([a-z|]+)\)\(\?!", text):
        written |= set(group.split("|"))
    assert set(WORDS) <= written


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_lexed_completely(text):
    for lexer in (SassLexer, SqLexer):
        clean = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
        assert "".join(v for _, v in lexed(lexer, text)) == clean


def test_entry_points():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    points = project["entry-points"]["pygments.lexers"]

    assert points == {
        "sq": "sassql.highlight.lexers:SqLexer",
        "sass": "sassql.highlight.lexers:SassLexer",
    }
    assert any(d.startswith("pygments") for d in project["dependencies"])
    for value in points.values():
        assert importlib.metadata.EntryPoint("x", value, "pygments.lexers").load().aliases
