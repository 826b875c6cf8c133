"""Operand templates: a parsed operand shape that makes typed operands when given numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from lark import Token, Tree

from sassql.isa.signatures import Item
from sassql.model.form import RegisterSlot
from sassql.model.operands import (
    Access,
    AddressTerm,
    ConstantOperand,
    ImmediateOperand,
    KeywordOperand,
    LabelOperand,
    MemoryOperand,
    Operand,
    RegisterOperand,
    RelocatedOperand,
    SetOperand,
)
from sassql.model.register import Register, register
from sassql.reading.shapes import HOLE

_KINDS = {
    "special": "I",
    "number": "I",
    "displacement": "I",
    "word": "K",
    "set": "S",
    "label": "L",
    "destination": "L",
    "reloc": "L",
    "address": "M",
}
_ADDED = re.compile(r"\((.+) \+ (-?)#\)")
_SPECIAL = {"INF": math.inf, "QNAN": math.nan, "SNAN": math.nan}


@dataclass(slots=True)
class AddressPart:
    """A register of an address: ``position`` is its number's place in the statement, -1 for RZ or URZ."""

    file: str
    position: int
    suffix: str
    width: int | None = 1
    descriptor: bool = False

    def term(self, numbers: tuple[str, ...]) -> AddressTerm:
        found = register(self.file, int(numbers[self.position])) if self.position >= 0 else None
        scale = int(self.suffix[1:]) if self.suffix.startswith("X") else 1
        return AddressTerm(register=found, file=self.file, width=self.width, scale=scale, suffix=self.suffix)


@dataclass(slots=True)
class Template:
    """An operand with holes; ``kind`` is the letter of `signatures.tsv`."""

    rule: str
    kind: str
    shape: str
    first: int
    """Place in the statement's numbers of this operand's first one."""
    file: str = ""
    position: int = -1
    signs: frozenset[str] = frozenset()
    absolute: bool = False
    suffixes: tuple[str, ...] = ()
    parts: list[AddressPart] = field(default_factory=list)
    offsets: list[tuple[int, bool]] = field(default_factory=list)
    """Number places and signs: ``[R2+-0x30]`` has one, ``c[0x0][0x28]`` two (bank first)."""
    prefix: str = ""
    word: str = ""
    role: str = ""
    access: Access = Access.USE
    width: int | None = 1
    mask_position: int = -1
    """Place of the number that says how many registers are written, or -1."""
    count: Callable[[int], int] | None = None

    def assign(self, item: Item, words: tuple[str, ...], mask_position: int) -> bool:
        """Take role, access and widths from the signature; False where a width is not known.

        ``words`` are the modifiers of the instruction and the shapes of its operands.
        """
        self.role = item.role
        self.access = item.access if self.kind in "RUP" else Access.USE
        if self.kind in "RU":
            rule = item.register_rule()
            self.width = rule(words, self.suffixes) if rule is not None else 1
            self.count, self.mask_position = item.count(), mask_position
        if self.kind == "M":
            address = item.address_rule()
            for part in self.parts:
                if part.descriptor:
                    part.width = item.descriptor_width(words)
                elif address is not None:
                    part.width = address(words, part.file, part.suffix, self.prefix)
        return self.width is not None and all(part.width is not None for part in self.parts)

    def leave_unknown(self) -> None:
        """The tables do not know the instruction: nobody knows how many registers an operand spans."""
        if self.kind in "RU":
            self.width = None
        for part in self.parts:
            part.width = None

    def slots(self, assigned: bool, operand: int) -> list[RegisterSlot]:
        """Where the operand, number ``operand``, keeps registers.

        Plain ones are uses where the tables do not know the opcode.
        """
        found: list[RegisterSlot] = []
        if self.kind in "RUP" and self.position >= 0:
            access = self.access if assigned else Access.USE
            found.append(
                RegisterSlot(
                    self.file,
                    self.position,
                    self.width,
                    access.defines,
                    access.uses,
                    operand,
                    self.mask_position if self.count else -1,
                    self.count,
                )
            )
        parts: list[AddressPart] = [p for p in self.parts if p.position >= 0]
        return found + [RegisterSlot(p.file, p.position, p.width, False, True, operand) for p in parts]

    def print(self, numbers: tuple[str, ...]) -> str:
        """The operand's text with the numbers of one statement, ``.reuse`` left out."""
        pieces = self.shape.split(HOLE)
        if len(pieces) == 1:
            return self.shape
        if len(pieces) == 2:
            return pieces[0] + numbers[self.first] + pieces[1]
        own = (*numbers[self.first : self.first + len(pieces) - 1], "")
        return "".join(p + n for p, n in zip(pieces, own, strict=True))

    def build(self, numbers: tuple[str, ...]) -> Operand:
        """The typed operand with the numbers of one statement."""
        return _BUILDERS.get(self.rule, _keyword)(self, self.print(numbers), numbers)

    def common(self, text: str) -> dict[str, object]:
        return {
            "text": text,
            "role": self.role,
            "access": self.access,
            "width": self.width if self.kind in "RUP" else None,
            "negated": "-" in self.signs,
            "absolute": self.absolute,
            "inverted": bool(self.signs & {"~", "!"}),
            "suffixes": self.suffixes,
        }


def template_of(tree: Tree[Token], text: str) -> Template:
    """Compile the parse tree of one operand of the shape ``text``."""
    tokens = list(tree.scan_values(lambda v: isinstance(v, Token)))
    start = min(t.start_pos or 0 for t in tokens)
    end = max(t.end_pos or 0 for t in tokens)
    start, end = _outer(text, start, end)
    if tree.data == "operand":
        signs = frozenset(str(t) for t in tree.children if isinstance(t, Token))
        core = next(c for c in tree.children if isinstance(c, Tree))
    else:
        signs = frozenset(str(t) for t in tree.children if isinstance(t, Token) and t.type == "SIGN")
        core = tree
    made = Template(str(core.data), "K", text[start:end], text.count(HOLE, 0, start), signs=signs)
    if core.data == "absolute":
        made.absolute = True
        made.signs |= {str(t) for t in core.children if isinstance(t, Token) and t.type == "SIGN"}
        outer = _suffixes(core)
        core = next(c for c in core.children if isinstance(c, Tree))
        made.rule, made.suffixes = str(core.data), outer
    _fill(made, core, text)
    return made


def _outer(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a token span over the brackets, bars and braces around it, which the tree leaves out."""
    while start > 0 and text[start - 1] in "[|{`":
        start -= 1
    while start > 0 and text[start - 1] in "-~!+" and text[start - 2 : start - 1] in ("", " ", ","):
        start -= 1
    while end < len(text) and text[end] in "]|}":
        end += 1
    return start, end


def _suffixes(tree: Tree[Token]) -> tuple[str, ...]:
    return tuple(str(t)[1:] for t in tree.children if isinstance(t, Token) and t.type == "SUFFIX")


def _position(token: Token, text: str) -> int:
    return text.count(HOLE, 0, token.start_pos or 0) if HOLE in token else -1


def _fill(made: Template, core: Tree[Token], text: str) -> None:
    rule = str(core.data)
    made.suffixes += _suffixes(core)
    if rule == "register":
        token = next(t for t in core.children if isinstance(t, Token) and t.type == "REGISTER")
        made.file = _file(token)
        made.kind = {"R": "R", "UR": "U", "B": "B"}.get(made.file, "P")
        made.position = _position(token, text)
    elif rule in ("indexed", "address"):
        name = next(
            (str(t) for t in core.children if isinstance(t, Token) and t.type in ("NAME", "WORD")), ""
        )
        made.prefix = name
        made.kind = "C" if name in ("c", "cx") else "M"
        brackets = [c for c in core.children if isinstance(c, Tree)]
        for place, bracket in enumerate(brackets):
            descriptor = (name == "cx" and place == 0) or (name == "desc" and place == 0)
            _bracket(made, bracket, text, descriptor)
    else:
        made.kind = _KINDS[rule]
        leaf = next(t for t in core.scan_values(lambda v: isinstance(v, Token) and v.type != "SIGN"))
        made.word = str(leaf)
        made.offsets = [(_position(leaf, text), False)]


def _bracket(made: Template, bracket: Tree[Token], text: str, descriptor: bool) -> None:
    for term in bracket.children:
        assert isinstance(term, Tree)
        if term.data == "base":
            label = term.children[0]
            assert isinstance(label, Token)
            made.word = str(label)[2:-1]
            if (added := _ADDED.fullmatch(made.word)) is not None:
                made.word = added[1]
                made.offsets.append((_position(label, text), added[2] == "-"))
            continue
        token = next(t for t in term.children if isinstance(t, Token) and t.type in ("REGISTER", "NUMBER"))
        if term.data == "register":
            suffix = "".join(_suffixes(term)[:1])
            made.parts.append(
                AddressPart(_file(token), _position(token, text), suffix, descriptor=descriptor)
            )
        else:
            negative = any(isinstance(t, Token) and t == "-" for t in term.children)
            made.offsets.append((_position(token, text), negative))


def _file(token: Token) -> str:
    return {"RZ": "R", "URZ": "UR", "PT": "P", "UPT": "UP"}.get(str(token), str(token).rstrip("#0123456789"))


def _number(text: str) -> int | float:
    if text.startswith("0x"):
        return int(text, 16)
    return float(text) if "." in text or "e" in text else int(text)


def _register(t: Template, text: str, numbers: tuple[str, ...]) -> Operand:
    index = int(numbers[t.position]) if t.position >= 0 else None
    common = t.common(text)
    if t.count is not None and t.mask_position >= 0:
        common["width"] = t.count(int(numbers[t.mask_position], 16))
    return RegisterOperand(file=t.file, index=index, **common)  # type: ignore[arg-type]


def _immediate(t: Template, text: str, numbers: tuple[str, ...]) -> Operand:
    place = t.offsets[0][0]
    value = _number(numbers[place]) if place >= 0 else _SPECIAL[t.word]
    if "-" in t.signs and not math.isnan(value):  # one object is every NaN, or equal operands would differ
        value = -value
    return ImmediateOperand(value=value, **t.common(text))  # type: ignore[arg-type]


def _signed(t: Template, numbers: tuple[str, ...]) -> list[int]:
    return [int(-_number(numbers[p]) if negative else _number(numbers[p])) for p, negative in t.offsets]


def _address(t: Template, text: str, numbers: tuple[str, ...]) -> Operand:
    terms = tuple(p.term(numbers) for p in t.parts if not p.descriptor)
    held = next((p.term(numbers) for p in t.parts if p.descriptor), None)
    offsets = _signed(t, numbers)
    if t.kind == "M":
        return MemoryOperand(
            prefix=t.prefix,
            descriptor=held,
            terms=terms,
            offset=sum(offsets),
            symbol=t.word,
            **t.common(text),  # type: ignore[arg-type]
        )
    bank: Register | None = held.register if held is not None else None
    return ConstantOperand(
        bank=None if held is not None or t.word or not offsets else offsets[0],
        bank_register=bank,
        base=terms[0] if terms else None,
        offset=sum(offsets if held is not None or t.word else offsets[1:]),
        symbol=t.word,
        **t.common(text),  # type: ignore[arg-type]
    )


def _set(t: Template, text: str, numbers: tuple[str, ...]) -> Operand:
    own = numbers[t.first : t.first + t.shape.count(HOLE)]
    return SetOperand(values=tuple(int(_number(n)) for n in own), **t.common(text))  # type: ignore[arg-type]


def _label(t: Template, text: str, numbers: tuple[str, ...]) -> Operand:
    return LabelOperand(target=None, symbol=text.strip("`()"), **t.common(text))  # type: ignore[arg-type]


def _reloc(t: Template, text: str, numbers: tuple[str, ...]) -> Operand:
    half, _, symbol = text.partition("@")[2].partition("(")
    return RelocatedOperand(half=half, symbol=symbol.strip("()"), **t.common(text))  # type: ignore[arg-type]


def _keyword(t: Template, text: str, numbers: tuple[str, ...]) -> Operand:
    return KeywordOperand(name=text, **t.common(text))  # type: ignore[arg-type]


_BUILDERS = {
    "register": _register,
    "number": _immediate,
    "displacement": _immediate,
    "special": _immediate,
    "indexed": _address,
    "address": _address,
    "set": _set,
    "label": _label,
    "destination": _label,
    "reloc": _reloc,
    "word": _keyword,
}
