"""The listing grammar at work: statements to shapes, and what is wrong with text that it refuses."""

from __future__ import annotations

from functools import cache

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from sassql.isa import signatures
from sassql.isa.registers import group_of
from sassql.model.form import GUARD_OPERAND, TARGET_HOLE, Guard, RegisterSlot, Shape
from sassql.reading.shapes import HOLE, grammar_digest
from sassql.reading.templates import Template, template_of
from sassql.resources import cache_root, folder


@cache
def grammar(start: str) -> Lark:
    """The listing grammar, LALR(1), for the start rule ``statement`` or ``line``."""
    try:
        kept = cache_root() / "grammars"
        kept.mkdir(parents=True, exist_ok=True)
        return _open(start, str(kept / f"listing-{start}-{grammar_digest()}"))
    except OSError:  # a folder that cannot be written: the tables are made anew each time
        return _open(start, cache=False)


def _open(start: str, cache: str | bool) -> Lark:
    return Lark.open(
        str(folder("grammars") / "listing.lark"),
        parser="lalr",
        start=start,
        cache=cache,
        maybe_placeholders=False,
        propagate_positions=False,
    )


def explain(error: UnexpectedInput) -> str:
    """What a parse error says to a person: what was there."""
    if isinstance(error, UnexpectedToken):
        found = "the end of the line" if error.token.type == "$END" else repr(str(error.token))
        return f"unexpected {found}"
    if isinstance(error, UnexpectedCharacters):
        return f"unexpected {error.char!r}"
    return "unexpected end of the line"


def refusal(start: str, text: str) -> tuple[str, int]:
    """Why the grammar refuses a statement or a line, and the column from 1; no reason where it takes it."""
    if start == "statement" and HOLE in text:  # a shape would have it
        return f"unexpected {HOLE!r}", text.index(HOLE) + 1
    try:
        grammar(start).parse(text)
    except UnexpectedInput as error:
        at_end = isinstance(error, UnexpectedToken) and error.token.type == "$END"
        return explain(error), len(text.rstrip()) + 1 if at_end else max(1, error.column)
    return "", 1


def parse_shape(text: str) -> Shape:
    """The shape of a statement whose numbers are holes; its ``problem`` says why the grammar refuses it."""
    try:
        tree = grammar("statement").parse(text)
    except UnexpectedInput as error:
        return Shape(text, problem=explain(error), column=max(1, getattr(error, "column", 1)))
    guard, guard_position = None, -1
    mnemonic = ""
    templates: list[Template] = []
    for child in tree.children:
        if isinstance(child, Token) and child.type == "MNEMONIC":
            mnemonic = str(child)
        elif isinstance(child, Tree) and child.data == "guard":
            guard, guard_position = _guard(child.children[0], text)
        elif isinstance(child, Tree) and child.data == "operands":
            templates = [
                template_of(operand, text) for operand in child.children if isinstance(operand, Tree)
            ]
    opcode, *modifiers = mnemonic.split(".")
    return _with_roles(text, opcode, tuple(modifiers), guard, guard_position, templates)


def _guard(token: object, text: str) -> tuple[Guard, int]:
    assert isinstance(token, Token)
    file = "UP" if "UP" in token else "P"
    if HOLE in token:
        return Guard(file, 0, "!" in token), text.count(HOLE, 0, token.start_pos or 0)
    return Guard(file, None, "!" in token), -1


def _with_roles(
    text: str,
    opcode: str,
    modifiers: tuple[str, ...],
    guard: Guard | None,
    guard_position: int,
    templates: list[Template],
) -> Shape:
    words = (*modifiers, *(t.shape for t in templates))
    items = signatures.assign(opcode, modifiers, [t.kind for t in templates])
    slots: list[RegisterSlot] = []
    if guard is not None and guard_position >= 0:
        slots.append(RegisterSlot(guard.file, guard_position, 1, False, True, GUARD_OPERAND))
    known, group = items is not None, None
    if items is not None:
        mask = next((t.offsets[0][0] for t, i in zip(templates, items, strict=True) if i.masks(t.kind)), -1)
        for template, item in zip(templates, items, strict=True):
            known &= template.assign(item, words, mask)
        group = group_of(opcode, [item.role for item in items], mask)
    else:
        for template in templates:
            template.leave_unknown()
    for operand, template in enumerate(templates):
        slots += template.slots(items is not None, operand)
    target = next((i for i, t in enumerate(templates) if t.shape == TARGET_HOLE), -1)
    return Shape(
        text=text,
        opcode=opcode,
        modifiers=modifiers,
        guard=guard,
        guard_position=guard_position,
        builders=tuple(t.build for t in templates),
        printers=tuple(t.print for t in templates),
        slots=tuple(slots),
        group=group,
        known=known,
        target_operand=target,
    )
