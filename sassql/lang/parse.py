"""Text of a `.sq` file to its syntax tree; errors say where, what was expected and what was meant."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from lark import Lark
from lark.exceptions import UnexpectedInput, VisitError
from lark.lexer import PatternStr

from sassql.errors import PatternError, Place, SassqlError
from sassql.lang.ast import PatternFile
from sassql.lang.build import Builder
from sassql.lang.messages import explain
from sassql.lang.newlines import Newlines
from sassql.resources import cache_root, folder


@cache
def grammar() -> Lark:
    """The grammar of patterns, LALR(1) with a contextual lexer; its tables are kept between processes."""
    try:
        kept = cache_root() / "grammars"
        kept.mkdir(parents=True, exist_ok=True)
        return _open(str(kept / "patterns"))
    except OSError:  # a folder that cannot be written: the tables are made anew each time
        return _open(False)


def _open(cache: str | bool) -> Lark:
    return Lark.open(
        str(folder("grammars") / "sq.lark"),
        parser="lalr",
        cache=cache,
        postlex=Newlines(),
        propagate_positions=True,
        maybe_placeholders=True,
    )


@cache
def _spellings() -> dict[str, str]:
    """The words of the language by the name of their terminal."""
    return {t.name: t.pattern.value for t in grammar().terminals if isinstance(t.pattern, PatternStr)}


def parse(text: str, file: str = "<text>") -> PatternFile:
    """The syntax tree of ``text``; names and meaning are checked by `sassql.lang.check`.

    >>> parse("motif m { r: REDUX %r, %x }").motifs[0].name
    'm'

    Raises:
        PatternError: the text does not follow the grammar.
    """
    text = text.replace("\r\n", "\n")
    try:
        tree = grammar().parse(text)
    except UnexpectedInput as error:
        raise explain(error, text, file, _spellings()) from None
    try:
        built: PatternFile = Builder(file, text).transform(tree)
    except VisitError as error:
        if isinstance(error.orig_exc, SassqlError):
            raise error.orig_exc from None
        raise
    return built


def parse_file(path: Path | str) -> PatternFile:
    """The syntax tree of a file.

    Raises:
        PatternError: the file cannot be read as text, or does not follow the grammar.
    """
    try:
        text = Path(path).read_text("utf-8")
    except OSError as error:
        hint = "check the path and its permissions"
        raise PatternError(error.strerror or str(error), place=Place(str(path)), hint=hint) from None
    except UnicodeDecodeError as error:
        message = f"byte {error.start} is not UTF-8: this is no text file"
        raise PatternError(message, place=Place(str(path))) from None
    return parse(text, str(path))
