"""SQ051: listings of tests follow the listing grammar, the same one that reads nvdisasm's output."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from lark import Lark
from lark.exceptions import UnexpectedInput

from sassql.lang.ast import PatternFile, Position, Test
from sassql.lang.findings import Severity, Told, lint_check
from sassql.resources import cache_root, folder

_BARE = re.compile(r"\s*(?:@!?U?P\w+\s+)?[A-Z][\w.]*(?!\S*:\s*$)")


@cache
def grammar() -> Lark:
    """The listing grammar: ``line`` is any line, ``statement`` an instruction without address."""
    try:
        kept = cache_root() / "grammars"
        kept.mkdir(parents=True, exist_ok=True)
        return _open(str(kept / "listings-of-tests"))
    except OSError:
        return _open(False)


def _open(cache: str | bool) -> Lark:
    path = folder("grammars") / "listing.lark"
    return Lark.open(
        str(path), parser="lalr", start=["line", "statement"], maybe_placeholders=False, cache=cache
    )


@lint_check("SQ051", "bad-listing", Severity.ERROR)
def bad_listing(file: PatternFile) -> Iterator[Told]:
    """Paste the lines as nvdisasm prints them; addresses and encodings may stay or go."""
    for test in file.tests:
        yield from _lines(test)


def _lines(test: Test) -> Iterator[Told]:
    for number, line in enumerate(test.listing.splitlines()):
        if not line.strip():
            continue
        start = "statement" if _BARE.match(line) else "line"
        try:
            grammar().parse(line, start=start)
        except UnexpectedInput as error:
            column = max(1, getattr(error, "column", 1) or 1)
            place = Position(test.listing_line + number, column)
            rest = line[column - 1 :].split()
            told = f"unexpected `{rest[0]}` in the listing" if rest else "unexpected end of the line"
            yield told, place, "as nvdisasm prints it: `@!P0 FADD R3, R2, -R1 ;`"
