"""Checks of what a good motif has: a title, tests both ways, no name for nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from sassql.lang.ast import (
    Equal,
    Flow,
    Motif,
    Name,
    PatternFile,
    Sigil,
    Slice,
    Statement,
    Use,
    Word,
)
from sassql.lang.findings import Severity, Told, lint_check
from sassql.lang.walk import (
    claims,
    expression_names,
    expressions,
    line_names,
    lines,
    operand_names,
    statements,
)

_LISTED = re.compile(r"gsb\d+")
"""Words in lower case that nvdisasm prints as operands."""


@lint_check("SQ050", "untested")
def untested(file: PatternFile) -> Iterator[Told]:
    """Write a test that the motif must find, and one that it must not: `expect 0` on similar code."""
    for motif in file.motifs:
        tests = [test for test in file.tests if test.motif == motif.name]
        finds = any(test.expected > 0 for test in tests)
        refuses = any(test.expected == 0 for test in tests)
        if not (finds and refuses):
            missing = [
                *(["one that it must find"] if not finds else []),
                *(["one with `expect 0`"] if not refuses else []),
            ]
            yield f"`{motif.name}` lacks a test: {' and '.join(missing)}", motif.at


@lint_check("SQ053", "untitled", Severity.REMARK)
def untitled(file: PatternFile) -> Iterator[Told]:
    """Say in one line what the motif finds: `title "…"`; reports and listings show it."""
    for motif in file.motifs:
        if not motif.header("title"):
            yield f"`{motif.name}` has no title", motif.at


@lint_check("SQ052", "named-once", Severity.REMARK)
def named_once(file: PatternFile) -> Iterator[Told]:
    """Write `_` where a value does not matter: a name that occurs once ties nothing together."""
    for motif in file.motifs:
        count = Counter(name.plain for name in _all_names(motif))
        outside = {name.plain for name in (*motif.inputs, *motif.outputs)}
        for line in lines(motif.body):
            for name in operand_names(line.operands):  # a guard cannot be `_`
                if count[name.plain] == 1 and name.plain not in outside:
                    instead = "[_]" if name.sigil is Sigil.ADDRESS else "_"
                    yield f"`{name}` occurs once", name.at, f"write `{instead}`"


@lint_check("SQ013", "unknown-word")
def unknown_word(file: PatternFile) -> Iterator[Told]:
    """Write `%x` for a value: listings have hardly any words in lower case, so the line will fit nothing."""
    for motif in file.motifs:
        for line in lines(motif.body):
            for operand in line.operands:
                match operand.core:
                    case Word(text=name) if name.islower() and not _LISTED.fullmatch(name):
                        yield f"`{name}` is no word of a listing", operand.at, f"a value is written `%{name}`"


def _all_names(motif: Motif) -> Iterator[Name]:
    for statement in statements(motif.body):
        yield from _names(statement)


def _names(statement: Statement) -> Iterator[Name]:
    yield from (name for line in lines((statement,)) if line is statement for name in line_names(line))
    match statement:
        case Equal(left=one, right=other) | Flow(source=one, target=other):
            yield from (one, other)
        case Slice(value=value):
            yield value
        case Use(outputs=outputs):
            yield from outputs
    for claim in claims(statement):
        yield from operand_names(claim.operands)
    for expression in expressions(statement):
        yield from expression_names(expression)
