"""Operand signatures: which operand has which role, access and width, from `data/signatures.tsv`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from sassql.isa.lines import table_lines
from sassql.isa.widths import (
    ADDRESS_RULES,
    COUNTS,
    DESCRIPTOR_RULES,
    DESCRIPTOR_WIDTH,
    RULES,
    AddressRule,
    Count,
    Rule,
)
from sassql.model.operands import Access

SILENT_ROLES = frozenset({"p", "q", "ci", "cj", "ck", "ci2", "rest", "lut", "lut2"})
"""Operands that a pattern may leave out in the middle: predicates beside the result, lookup tables."""

_PREDICATE_ROLES = frozenset({"p", "q", "ci", "cj", "ck", "ci2"})
_ITEM = re.compile(
    r"(?P<access>[>=]?)(?P<role>\w+)(?::(?P<kinds>[A-Z]+))?(?:/(?P<width>\w+))?(?P<count>[?*]?)"
)
_ACCESS = {"": Access.USE, ">": Access.DEF, "=": Access.BOTH}


@dataclass(frozen=True, slots=True)
class Item:
    """One operand of a signature. ``kinds`` are the operand kinds it takes, ``*`` any but P and M."""

    role: str
    access: Access
    kinds: str
    width: str
    optional: bool
    repeated: bool

    def takes(self, kind: str) -> bool:
        if self.kinds:
            return kind in self.kinds
        if self.role in _PREDICATE_ROLES:
            return kind == "P"
        return kind not in "PM"

    def register_rule(self) -> Rule | None:
        """How many registers the operand spans, or None where an address rule or nothing applies."""
        return RULES.get(self.width)

    def address_rule(self) -> AddressRule | None:
        return ADDRESS_RULES.get(self.width or "1")

    def descriptor_width(self, words: tuple[str, ...]) -> int:
        """Registers of the memory descriptor before an address, ``desc[UR4]``."""
        rule = DESCRIPTOR_RULES.get(self.width)
        return DESCRIPTOR_WIDTH if rule is None else rule(words)

    def count(self) -> Count | None:
        """How many of the registers are there, from the number with the role ``mask``; None for all."""
        return COUNTS.get(self.width)

    def masks(self, kind: str) -> bool:
        """True for the number, an operand of this kind, that says how many registers are there."""
        return self.role == "mask" and kind == "I"


@dataclass(frozen=True, slots=True)
class Signature:
    """A row of the table: the operands of an opcode that has the ``requires`` modifiers."""

    requires: frozenset[str]
    items: tuple[Item, ...]

    def match(self, kinds: Sequence[str]) -> tuple[Item, ...] | None:
        """One item per operand kind, or None where the operands do not fit."""
        return _match(self.items, tuple(kinds))


def _match(items: tuple[Item, ...], kinds: tuple[str, ...]) -> tuple[Item, ...] | None:
    if not items:
        return None if kinds else ()
    head, rest = items[0], items[1:]
    if kinds and head.takes(kinds[0]):
        following = _match(items if head.repeated else rest, kinds[1:])
        if following is not None:
            return (head, *following)
    return _match(rest, kinds) if head.optional else None


def _parse_item(text: str) -> Item:
    found = _ITEM.fullmatch(text)
    if found is None:
        raise ValueError(f"signatures.tsv: {text!r} is not an operand item")
    width = found["width"] or ""
    if width and width not in RULES and width not in ADDRESS_RULES:
        raise ValueError(f"signatures.tsv: {text!r} names no width rule of sassql/isa/widths.py")
    return Item(
        role=found["role"],
        access=_ACCESS[found["access"]],
        kinds=found["kinds"] or "",
        width=width,
        optional=found["count"] in ("?", "*"),
        repeated=found["count"] == "*",
    )


@cache
def table() -> dict[str, tuple[Signature, ...]]:
    """Signatures by opcode, most specific first."""
    rows: dict[str, list[Signature]] = {}
    lines = table_lines("signatures.tsv")
    for line in lines:
        opcodes, requires, items, *_ = *line.split("\t"), "", ""
        signature = Signature(
            frozenset(filter(None, requires.split(","))),
            tuple(_parse_item(item) for item in items.split()),
        )
        for opcode in opcodes.split("|"):
            rows.setdefault(opcode, []).append(signature)
    return {op: tuple(sorted(found, key=lambda s: -len(s.requires))) for op, found in rows.items()}


def is_opcode(name: str) -> bool:
    """True for an opcode that the tables have."""
    return name in table()


def assign(opcode: str, modifiers: Sequence[str], kinds: Sequence[str]) -> tuple[Item, ...] | None:
    """The signature items of an instruction's operands, or None where the tables do not know it.

    ``kinds`` has one letter per operand: R U P M I C L K B S.
    """
    present = set(modifiers)
    for signature in table().get(opcode, ()):
        if signature.requires <= present and (items := signature.match(kinds)) is not None:
            return items
    return None
