"""Pygments lexers: ``sq`` for patterns, ``sass`` for listings of nvdisasm and cuobjdump.

They are registered as entry points, so that Pygments, Sphinx and rich know them by name:

    >>> from pygments.lexers import get_lexer_by_name    # doctest: +SKIP
    >>> get_lexer_by_name("sass")                        # doctest: +SKIP
    <pygments.lexers.SassLexer>
"""

from __future__ import annotations

from pygments.lexer import RegexLexer, bygroups, default, include, using, words
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
    Whitespace,
)

from sassql.highlight.words import HEADER_WORDS, KEYWORDS, OPERATOR_WORDS

_REGISTER = r"(?:UR|UP|R|P|B)\d+(?!\w)|(?:URZ|RZ|UPT|PT)(?!\w)"
_FLOAT = r"\d+\.\d+(?:e[+-]?\d+)?|\d+e[+-]?\d+"


class SassLexer(RegexLexer):
    """NVIDIA machine code as nvdisasm and cuobjdump print it; any text gets colours, none an error."""

    name = "SASS"
    url = "https://docs.nvidia.com/cuda/cuda-binary-utilities/"
    aliases = ["sass", "nvdisasm"]  # noqa: RUF012
    filenames = ["*.sass"]  # noqa: RUF012
    version_added = ""

    tokens = {  # noqa: RUF012  (as Pygments wants it)
        "root": [
            (r"[ \t]+", Whitespace),
            (r"\n", Whitespace),
            (r"(\.[$\w][^\s:]*|[$\w][^\s:]*)(:)(?=[ \t]*(?:$|\n))", bygroups(Name.Label, Punctuation)),
            (r"\.[A-Za-z_][^\n:;]*", Keyword.Pseudo),
            include("comments"),
            (r"(?=@!?U?P(?:\d+|T)(?!\w)|[A-Z][A-Z0-9_]*\b)", Whitespace, "statement"),
            (r"[^\n]+", Text),
        ],
        "comments": [
            (r"/\*[0-9a-f]{4,}\*/", Number.Hex),
            (r"/\*.*?\*/", Comment.Multiline),
            (r"//[^\n]*", Comment.Single),
        ],
        "statement": [
            (r"[ \t]+", Whitespace),
            (rf"(@)(!?)({_REGISTER})", bygroups(Keyword, Operator, Name.Variable)),
            (r"([A-Z][A-Z0-9_]*)((?:\.\w+)*)", bygroups(Name.Function, Name.Decorator), ("#pop", "operands")),
            default("#pop"),
        ],
        "operands": [
            (r"\n", Whitespace, "#pop"),
            (r";", Punctuation, "#pop"),
            include("operand"),
            (r".", Text),
        ],
        "operand": [
            (r"[ \t]+", Whitespace),
            include("comments"),
            (r"\(\*.*?\*\)", Comment.Special),
            (r"[&?][a-zA-Z]\w*(?:=\S+)?", Comment.Preproc),
            (r"\d+@(?:lo|hi)\((?:[^()]|\([^()]*\))*\)", Name.Label),
            (r"`\((?:[^()`]|\([^()`]*\))*\)", Name.Label),
            (rf"({_REGISTER})((?:\.\w+)*)", bygroups(Name.Variable, Name.Decorator)),
            (r"SR_\w+(?:\.\w+)*", Name.Builtin),
            (r"(?:cx?|desc|gdesc|idesc|tmem)(?=\[)", Keyword.Type),
            (r"[-+]?(?:INF|[QS]NAN)(?!\w)", Number.Float),
            (_FLOAT, Number.Float),
            (r"0x[0-9a-f]+", Number.Hex),
            (r"\d+(?!\w)", Number.Integer),
            (r"[A-Za-z_]\w*|\d+[A-Z]\w*", Name.Constant),
            (r"\.\w+", Name.Decorator),
            (r"[-+~!|]", Operator),
            (r"[\[\]{},()=:]", Punctuation),
        ],
    }


class SqLexer(RegexLexer):
    """Patterns of sassql."""

    name = "sassql pattern"
    url = "docs/language.md"
    aliases = ["sq", "sassql"]  # noqa: RUF012
    filenames = ["*.sq"]  # noqa: RUF012
    version_added = ""

    tokens = {  # noqa: RUF012  (as Pygments wants it)
        "root": [
            (r"\s+", Whitespace),
            (r"//[^\n]*", Comment.Single),
            (r"/\*[\s\S]*?\*/", Comment.Multiline),
            (r'"(?:[^"\\\n]|\\.)*"', String.Double),
            (r"(\{\{)((?:.|\n)*?)(\}\})", bygroups(Punctuation, using(SassLexer), Punctuation)),
            (r"(motif|classify)(\s+)([a-z_]\w*)", bygroups(Keyword.Declaration, Whitespace, Name.Class)),
            (r"(use)(\s+)([a-z_]\w*)", bygroups(Keyword, Whitespace, Name.Class)),
            (r"(matches)(\s+)(/(?:[^/\\\n]|\\.)+/)", bygroups(Operator.Word, Whitespace, String.Regex)),
            (r"sm_\d+[a-z]?\+?(?!\w)", Name.Constant),
            (r"<[a-z]\w*>", Keyword.Type),
            (r"%[A-Za-z_]\w*'?", Name.Variable),
            (r"#[A-Za-z_]\w*'?", Name.Variable.Instance),
            (r"&[A-Za-z_]\w*'?", Name.Variable.Global),
            (r"([a-z]\w*)(\s*=)(?=[-~!|%#&_A-Z0-9\[]|desc|gdesc)(?!=)", bygroups(Name.Attribute, Operator)),
            (r"([a-z_]\w*)(:)(?=\s)", bygroups(Name.Label, Punctuation)),
            (words(OPERATOR_WORDS, prefix=r"(?<![\w.])", suffix=r"(?!\w)"), Operator.Word),
            (words(HEADER_WORDS, prefix=r"(?<![\w.])", suffix=r"(?=\s+[\"\w])"), Name.Tag),
            (words(KEYWORDS, prefix=r"(?<![\w.])", suffix=r"(?!\w)"), Keyword),
            (r"(@)(!?)", bygroups(Keyword, Operator)),
            (rf"{_REGISTER}", Name.Builtin),
            (r"SR_\w+(?:\.\w+)*", Name.Builtin),
            (r"(?:cx?|desc|gdesc|idesc|tmem)(?=\[)", Keyword.Type),
            (r"[A-Z]\d*(?!\w)", Name.Label),
            (r"[A-Z][A-Z0-9_]*\*?[A-Z0-9_]*|[A-Z]\*[A-Z0-9_]*", Name.Function),
            (r"(\.\{)([^}]*)(\})", bygroups(Punctuation, Name.Decorator, Punctuation)),
            (r"\.!?[A-Z0-9]\w*", Name.Decorator),
            (r"\.[a-z_]\w*", Name.Attribute),
            (r"`\((?:[^()`]|\([^()`]*\))*\)", Name.Label),
            (r"\d+@(?:lo|hi)\((?:[^()]|\([^()]*\))*\)", Name.Label),
            (_FLOAT, Number.Float),
            (r"0x[0-9a-f]+", Number.Hex),
            (r"\d+(?=\.\.)|\d+(?![\w.])|\d+", Number.Integer),
            (r"->|\.\.|[-+*/]=|==|!=|<=|>=|[-+*/<>=|~!]", Operator),
            (r"_(?!\w)", Keyword.Constant),
            (r"[a-z_]\w*", Name),
            (r"[\[\](){},;:]", Punctuation),
        ],
    }


__all__ = ["SassLexer", "SqLexer"]
