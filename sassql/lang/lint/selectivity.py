"""Checks of what a motif asks too little: lines that fit everywhere, claims that hold of nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sassql.isa import operations
from sassql.isa.seen import seen
from sassql.lang.ast import (
    Binary,
    Chain,
    Claim,
    ClassUse,
    Every,
    Flow,
    For,
    IntegerOperand,
    Line,
    Loop,
    Membership,
    Motif,
    Name,
    No,
    NumberOperand,
    Opcode,
    PatternFile,
    Slice,
    Statement,
    Use,
    Where,
)
from sassql.lang.findings import Severity, Told, lint_check
from sassql.lang.vocabulary import matching_opcodes
from sassql.lang.walk import lines, parts, statements

COMMON = 0.1
"""Part of all instructions from which on an opset is no good place to begin."""
_PLAIN_NUMBERS = frozenset({0, 1, 2, 4, -1})
_EXACT_ARCH = re.compile(r"sm_(\d+)[a-z]?")
_OLDEST = 75


@lint_check("SQ012", "opcode-of-another-arch", Severity.REMARK)
def opcode_of_another_arch(file: PatternFile) -> Iterator[Told]:
    """Look at the `arch` header: the opcode was only ever seen on newer chips than the motif is for."""
    for motif in file.motifs:
        arch = _EXACT_ARCH.fullmatch(motif.header("arch"))
        if arch is None:
            continue
        for line in lines(motif.body):
            for opcode in line.opset:
                known = seen(opcode.name) if isinstance(opcode, Opcode) else None
                if known is not None and known.first > max(int(arch[1]), _OLDEST):
                    told = f"{opcode.name} was never seen before sm_{known.first}"
                    yield told, opcode.at, f"the motif is for {arch[0]}"


@lint_check("SQ041", "unselective")
def unselective(file: PatternFile) -> Iterator[Told]:
    """Add a line with a rarer opcode: what begins at every tenth instruction is slow and meets chance."""
    for motif in file.motifs:
        positive = list(_positive_lines(motif.body))
        if not positive or any(isinstance(s, Use) for s in statements(motif.body)):
            continue
        limited = _limited(motif)
        shares = [_line_share(line, file, limited) for line in positive]
        if min(shares) >= COMMON:
            best = positive[shares.index(min(shares))]
            told = f"every line of `{motif.name}` fits more than {COMMON:.0%} of all instructions"
            yield told, motif.at, f"the rarest is line {best.at.line}, {min(shares):.0%}"


def _positive_lines(body: tuple[Statement, ...]) -> Iterator[Line]:
    """Lines that a match must have: a negation or an option never selects."""
    for statement in body:
        match statement:
            case Line():
                yield statement
            case Every(line=line):
                yield line
            case For(body=inner) | Loop(body=inner) | Chain(body=inner):
                yield from _positive_lines(inner)


def _limited(motif: Motif) -> frozenset[str]:
    """Integers for which a condition allows some numbers only."""
    conditions = (s.condition for s in statements(motif.body) if isinstance(s, Where))
    found = [part for condition in conditions for part in parts(condition)]
    compared = [part.left for part in found if isinstance(part, Binary) and part.operator == "=="]
    compared += [part.item for part in found if isinstance(part, Membership)]
    return frozenset(name.key for name in compared if isinstance(name, Name))


def _line_share(line: Line, file: PatternFile, limited: frozenset[str]) -> float:
    """The part of all instructions that a line fits, by its opcodes; a number that it asks for is rare."""
    for operand in line.operands:
        match operand.core:
            case NumberOperand(value=value) if value not in _PLAIN_NUMBERS:
                return 0.0
            case IntegerOperand(name=name) if name.key in limited:
                return 0.0
    return sum(_share(opcode, file) for opcode in line.opset)


def _share(opcode: Opcode | ClassUse, file: PatternFile) -> float:
    if isinstance(opcode, Opcode):
        known = [seen(name) for name in matching_opcodes(opcode)]
        return sum(found.share for found in known if found is not None)
    own = next((d.opset for d in file.classes if d.name == opcode.name), None)
    if own is not None:
        return sum(_share(member, file) for member in own if member != opcode)
    known = (
        [seen(name) for name in operations.opcodes(opcode.name)] if opcode.name in operations.names() else []
    )
    return sum(found.share for found in known if found is not None)


@lint_check("SQ042", "unbounded-flow")
def unbounded_flow(file: PatternFile) -> Iterator[Told]:
    """Write `max N`: through any operation nearly every value of a kernel reaches every other."""
    for motif in file.motifs:
        for statement in statements(motif.body):
            if isinstance(statement, Flow) and statement.anything and statement.limit is None:
                yield "`via any` without `max`", statement.at


@lint_check("SQ043", "vacuous")
def vacuous(file: PatternFile) -> Iterator[Told]:
    """Add a `some`: what only says that something is not there holds where there is nothing."""
    for motif in file.motifs:
        yield from _vacuous(motif)


def _vacuous(motif: Motif) -> Iterator[Told]:
    for statement in statements(motif.body):
        match statement:
            case Every(body=body) if body and not any(_says_something(s) for s in body):
                yield "this `every` only says what is not there", statement.at, "add `some …`"
            case Slice(claims=told) if _only_universal(told):
                yield "`every` of a slice without a `some` holds of an empty slice", statement.at


def _says_something(statement: Statement) -> bool:
    match statement:
        case No():
            return False
        case Slice(claims=told):
            return any(claim.quantifier != "no" for claim in told)
    return True


def _only_universal(told: tuple[Claim, ...]) -> bool:
    quantifiers = {claim.quantifier for claim in told}
    return "every" in quantifiers and "some" not in quantifiers
