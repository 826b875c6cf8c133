"""Statements as text: cut from a line, label operands replaced by a hole, targets remembered."""

from __future__ import annotations

import re
from functools import cache

from sassql.isa import targets
from sassql.model.form import TARGET_HOLE

RELATIVE, ABSOLUTE = "relative", "absolute"
_LABEL = re.compile(r"`\(([^`]*)\)")
_SCHEDULE = re.compile(r"\s+[&?][a-zA-Z0-9_].*")  # what nvdisasm 12.8 adds for sm_120
_LAST_NUMBER = re.compile(r"(?:(?<=, )|(?<= ))(-?0x[0-9a-f]+)(?=\s*$)")


@cache
def _target_line() -> re.Pattern[str]:
    names = "|".join(sorted(targets.opcodes()))
    return re.compile(rf"(?:@!?U?P[0-9T]\S* )?((?:{names})(?:\.\w+)*)(?= |$)")


def names_place(text: str) -> str:
    """``relative`` or ``absolute`` for a statement whose last operand is a place in code, else empty."""
    head = _target_line().match(text)
    if head is None:
        return ""
    opcode, *modifiers = head[1].split(".")
    return targets.target_kind(opcode, modifiers)


def tidy(text: str) -> str:
    """A statement without terminator, annotations and trailing blanks; nvdisasm's own spelling otherwise."""
    if "(*" in text:
        text = text[: text.index("(*")]
    if "&" in text or "?" in text:
        text = _SCHEDULE.sub("", text)
    return text.rstrip().removesuffix(";").rstrip()


def split_label(text: str) -> tuple[str, str]:
    """A statement with its label operand replaced by the hole, and the label's name (empty without one).

    >>> split_label("@P0 BRA `(.L_x_3)")
    ('@P0 BRA `(@)', '.L_x_3')
    """
    if "`(" not in text or not names_place(text):
        return text, ""
    found = _LABEL.search(text)
    if found is None:
        return text, ""
    return text[: found.start()] + TARGET_HOLE + text[found.end() :], found[1]


def split_number(text: str) -> tuple[str, int | None, str]:
    """The same for text that prints places as numbers: statement, the number, ``relative`` or ``absolute``.

    >>> split_number("@P0 BRA P3, 0x1930")
    ('@P0 BRA P3, `(@)', 6448, 'relative')
    """
    kind = names_place(text)
    found = _LAST_NUMBER.search(text) if kind else None
    if found is None:
        return text, None, ""
    return text[: found.start()] + TARGET_HOLE + text[found.end() :], int(found[1], 16), kind
