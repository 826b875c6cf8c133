"""Checks of words: opcodes, classes, modifiers, header words, roles, attributes and functions.

A word that nobody knows is an error: a motif that is misspelt finds nothing and says so never.
Modifiers are the exception, since every release of ptxas brings new ones.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator

from sassql.isa import classes, modifiers, operations, signatures
from sassql.lang.arch import is_arch
from sassql.lang.ast import (
    Attribute,
    Binary,
    Call,
    ClassLiteral,
    ClassUse,
    Header,
    Line,
    Literal,
    Loop,
    Motif,
    Name,
    Opcode,
    Opset,
    PatternFile,
    Position,
    Sigil,
    Symbol,
    Unary,
    Use,
)
from sassql.lang.findings import Severity, Told, check, meant
from sassql.lang.messages import HEADER_WORDS
from sassql.lang.walk import expressions, labels, lines, opcodes, opsets, parts, statements

ATTRIBUTES = (
    "op",
    "opcode",
    "mod",
    "index",
    "address",
    "bytes",
    "shape",
    "value",
    "loop",
    "mbar",
    "dtype",
    "fidelity",
)
"""What may follow a label."""

VALUE_ATTRIBUTES = ("def", "op", "elements")
LOOP_ATTRIBUTES = ("depth", "trips", "kind", "has")
ADDRESS_ATTRIBUTES = (
    *("base", "offset", "space", "bytes", "kind", "stride", "by_thread", "by_block", "by_load"),
    *("axes", "grid_stride", "continues"),
    *("tid_x", "tid_y", "tid_z", "ctaid_x", "ctaid_y", "ctaid_z", "laneid"),
)
KERNEL_ATTRIBUTES = (
    *("name", "demangled", "arch", "instructions"),
    *("loads", "stores", "loops", "calls", "has"),
)
CALL_ATTRIBUTES = ("count", "unresolved")

FUNCTIONS = (
    *("same", "count", "sum", "min", "max", "bound", "overlaps"),
    *("rank", "case", "first", "relation", "pow", "distinct", "twin", "lacks"),
)

SCOPES = ("kernel", "all")


def defined_classes(file: PatternFile) -> frozenset[str]:
    """Classes that a pattern of this file may use."""
    return operations.names() | {definition.name for definition in file.classes}


def matching_opcodes(opcode: Opcode) -> list[str]:
    """The known opcodes that a written one stands for."""
    if "*" in opcode.name:
        return sorted(name for name in signatures.table() if fnmatch.fnmatchcase(name, opcode.name))
    return [opcode.name] if signatures.is_opcode(opcode.name) else []


@check("SQ002", "unknown-opcode")
def unknown_opcode(file: PatternFile) -> Iterator[Told]:
    """Correct the spelling; a new opcode becomes known by a row in sassql/isa/data/signatures.tsv."""
    for opset in opsets(file):
        for place, opcode in enumerate(opset):
            if isinstance(opcode, Opcode) and not matching_opcodes(opcode):
                kind = "no known opcode matches" if "*" in opcode.name else "unknown opcode"
                yield f"{kind} `{opcode.name}`", opcode.at, _opcode_hint(opset, place, opcode)


def _opcode_hint(opset: Opset, place: int, opcode: Opcode) -> str:
    before = opset[place - 1] if place else None
    if isinstance(before, Opcode) and opcode.name in modifiers.seen(before.name) and before.modifiers:
        first = before.modifiers[-1].choices[0]
        return f"modifiers to choose from stand in braces: `{before.name}.{{{first}|{opcode.name}}}`"
    if opcode.name.lower() in operations.names():
        return f"did you mean the class `<{opcode.name.lower()}>`?"
    return meant(opcode.name, signatures.table().keys())


@check("SQ003", "unknown-class")
def unknown_class(file: PatternFile) -> Iterator[Told]:
    """Use a class of sassql/isa/data/classes.tsv, or define one: `class <name> = …`."""
    known = defined_classes(file)
    for opcode in opcodes(file):
        if isinstance(opcode, ClassUse) and opcode.name not in known:
            yield f"unknown class `<{opcode.name}>`", opcode.at, meant(opcode.name, known, "`<{}>`")
    for motif in file.motifs:
        for statement in statements(motif.body):
            for expression in expressions(statement):
                for part in parts(expression):
                    if isinstance(part, ClassLiteral) and part.name not in known:
                        yield f"unknown class `<{part.name}>`", part.at, meant(part.name, known, "`<{}>`")


@check("SQ004", "circular-class")
def circular_class(file: PatternFile) -> Iterator[Told]:
    """Define a class by opcodes and by classes that do not use it."""
    own = {d.name: {o.name for o in d.opset if isinstance(o, ClassUse)} for d in file.classes}
    for definition in file.classes:
        reached, pending = set[str](), list(own[definition.name])
        while pending:
            name = pending.pop()
            if name not in reached and name in own:
                reached.add(name)
                pending += own[name]
        if definition.name in reached:
            yield f"class `<{definition.name}>` is defined by itself", definition.at


@check("SQ005", "unseen-modifier", Severity.REMARK)
def unseen_modifier(file: PatternFile) -> Iterator[Told]:
    """Look at the spelling: no compiler seen so far writes this modifier with this opcode."""
    for opcode in opcodes(file):
        known = modifiers.seen(opcode.name) if isinstance(opcode, Opcode) else frozenset[str]()
        for modifier in opcode.modifiers if known else ():
            for choice in modifier.choices:
                if choice not in known:
                    yield f"`.{choice}` was never seen with {opcode.name}", modifier.at, meant(choice, known)


@check("SQ006", "unknown-header")
def unknown_header(file: PatternFile) -> Iterator[Told]:
    """Header words are title, about, arch, scope, tags and see."""
    for motif in file.motifs:
        for header in motif.headers:
            if header.word not in HEADER_WORDS:
                yield f"unknown header word `{header.word}`", header.at, meant(header.word, HEADER_WORDS)


@check("SQ007", "bad-header")
def bad_header(file: PatternFile) -> Iterator[Told]:
    """Give each header once, with a value of its kind."""
    for motif in file.motifs:
        seen: dict[str, Position] = {}
        for header in motif.headers:
            if header.word in seen:
                hint = f"the first one is in line {seen[header.word].line}"
                yield f"second `{header.word}`", header.at, hint
            seen[header.word] = header.at
            yield from _header_value(header)


def _header_value(header: Header) -> Iterator[Told]:
    value = header.values[0]
    if header.word == "arch" and (len(header.values) > 1 or not is_arch(value)):
        yield f"`{', '.join(header.values)}` is no architecture", header.at, "write `arch sm_90+`"
    if header.word == "scope" and (len(header.values) > 1 or value not in SCOPES):
        yield f"unknown scope `{value}`", header.at, meant(value, SCOPES) or "`kernel` or `all`"


@check("SQ008", "unknown-role")
def unknown_role(file: PatternFile) -> Iterator[Told]:
    """Use a role that the opcode has: sassql/isa/data/signatures.tsv lists them."""
    for motif in file.motifs:
        for line in lines(motif.body):
            roles = {role for opcode in line.opset for role in _roles(opcode, file)}
            for operand in line.operands:
                if operand.role and roles and operand.role not in roles:
                    told = f"no operand of this line has the role `{operand.role}`"
                    listed = f"it has {', '.join(f'`{role}`' for role in sorted(roles))}"
                    close = meant(operand.role, roles)
                    yield told, operand.at, f"{close} {listed}" if close else listed


def _roles(opcode: Opcode | ClassUse, file: PatternFile) -> set[str]:
    if isinstance(opcode, Opcode):
        return {
            item.role
            for name in matching_opcodes(opcode)
            for signature in signatures.table()[name]
            for item in signature.items
        }
    members = next((d.opset for d in file.classes if d.name == opcode.name), None)
    if members is not None:
        return {role for member in members if member != opcode for role in _roles(member, file)}
    known = [Opcode(name, (), opcode.at) for name in sorted(classes.opcodes(opcode.name))]
    return {role for member in known for role in _roles(member, file)}


@check("SQ009", "too-many-operands")
def too_many_operands(file: PatternFile) -> Iterator[Told]:
    """Count the operands: such an instruction does not exist, so the line can never match."""
    for motif in file.motifs:
        for line in lines(motif.body):
            plain = [o for o in line.opset if isinstance(o, Opcode) and "*" not in o.name]
            if len(plain) < len(line.opset) or not all(matching_opcodes(o) for o in plain):
                continue
            most = max(_most_operands(o.name) for o in plain)
            if len(line.operands) > most:
                told = f"{len(line.operands)} operands, but {plain[0].name} has at most {most}"
                yield told, line.operands[most].at


def _most_operands(opcode: str) -> int:
    """Largest number of operands of an opcode; an item that repeats counts as many."""
    found = signatures.table()[opcode]
    return max(sum(8 if item.repeated else 1 for item in signature.items) for signature in found)


@check("SQ010", "unknown-attribute")
def unknown_attribute(file: PatternFile) -> Iterator[Told]:
    """Use an attribute that docs/language.md lists."""
    for motif in file.motifs:
        known_labels = labels(motif)
        used = _others(motif)
        for statement in statements(motif.body):
            for expression in expressions(statement):
                for part in parts(expression):
                    if isinstance(part, Attribute):
                        yield from _attribute(part, known_labels, used)


def _others(motif: Motif) -> dict[str, tuple[str, ...] | None]:
    """Attributes of loops; None for the aliases of `use`, whose columns another motif has."""
    found: dict[str, tuple[str, ...] | None] = {}
    for statement in statements(motif.body):
        match statement:
            case Loop(name=name):
                found[name] = LOOP_ATTRIBUTES
            case Use(alias=alias):
                found[alias] = None
    return found


def _attribute(
    part: Attribute, known_labels: dict[str, Line], others: dict[str, tuple[str, ...] | None]
) -> Iterator[Told]:
    known: tuple[str, ...] | None = None
    shown = ""
    match part.base:
        case Symbol(name="kernel"):
            known, shown = KERNEL_ATTRIBUTES, "kernel."
        case Symbol(name=label) if label in known_labels:
            known, shown = ATTRIBUTES, f"{label}."
            if part.name == "mod" and not _has_choice(known_labels[label]):
                told = f"`{label}.mod` needs a choice of modifiers in line {known_labels[label].at.line}"
                yield told, part.at, "as in `SHFL.{BFLY|DOWN}`"
        case Symbol(name=name) if name in others:
            known, shown = others[name], f"{name}."
        case Name(sigil=Sigil.VALUE) | Attribute(name="value"):
            known, shown = VALUE_ATTRIBUTES, "."
        case Name(sigil=Sigil.ADDRESS):
            known, shown = ADDRESS_ATTRIBUTES, "."
        case Attribute(name="def"):
            known, shown = ATTRIBUTES, "."
        case Attribute(name="loop"):
            known, shown = LOOP_ATTRIBUTES, "."
        case Attribute(name="calls"):
            known, shown = CALL_ATTRIBUTES, "."
        case Literal(value=str()) | ClassLiteral() | Attribute():
            return  # a modifier, as in `kernel.has(MUFU.EX2)`
        case Name() | Literal() | Call() | Binary() | Unary():
            yield f"unknown attribute `.{part.name}`", part.at, "attributes follow a label or `kernel`"
    if known is not None and part.name not in known:
        listed = ", ".join(f"`{name}`" for name in known)
        hint = meant(part.name, known) or f"there is {listed}" if shown[:-1] not in known_labels else ""
        if shown[:-1] in known_labels:
            hint = meant(part.name, known) or f"a label has {listed}"
        yield f"unknown attribute `{shown if shown != '.' else '.'}{part.name}`", part.at, hint


def _has_choice(line: Line) -> bool:
    return any(len(modifier.choices) > 1 for opcode in line.opset for modifier in opcode.modifiers)


@check("SQ011", "unknown-function")
def unknown_function(file: PatternFile) -> Iterator[Told]:
    """Use a function that docs/language.md lists, with the arguments it takes."""
    for motif in file.motifs:
        for part in _expression_parts(motif):
            if not isinstance(part, Call):
                continue
            match part.function:
                case Symbol(name=name) if name in FUNCTIONS:
                    if not part.arguments and name != "count":
                        yield f"`{name}` needs an argument", part.at
                case Symbol(name=name):
                    hint = meant(name, FUNCTIONS) or f"there are {', '.join(f'`{f}`' for f in FUNCTIONS)}"
                    yield f"unknown function `{name}`", part.at, hint


def _expression_parts(motif: Motif) -> Iterator[object]:
    for statement in statements(motif.body):
        for expression in expressions(statement):
            yield from parts(expression)
