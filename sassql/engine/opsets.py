"""Opsets with user classes resolved: what one line of a motif may lie on, judged by the instruction alone."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sassql.isa import classes, signatures
from sassql.lang.ast import ClassDefinition, ClassUse, Modifier, Opcode, Opset
from sassql.model.form import Form


@dataclass(frozen=True)
class Alternative:
    """A plain opcode, or a class of the ISA table, with every modifier that the pattern asks for."""

    name: str
    is_class: bool
    modifiers: tuple[Modifier, ...]

    @cached_property
    def opcodes(self) -> frozenset[str]:
        """Opcodes that this can stand for."""
        if self.is_class:
            return classes.opcodes(self.name)
        if "*" in self.name:
            return frozenset(name for name in signatures.table() if fnmatch.fnmatchcase(name, self.name))
        return frozenset({self.name})

    def takes(self, opcode: str, modifiers: Sequence[str]) -> bool:
        """True where opcode and modifiers fit; a class may ask for operands besides."""
        return opcode in self.opcodes and all(allows(wanted, modifiers) for wanted in self.modifiers)

    def choices(self, modifiers: Sequence[str]) -> tuple[str, ...]:
        """Which of the alternatives in braces an instruction has, in the order of the pattern."""
        return tuple(
            next(choice for choice in wanted.choices if choice in modifiers)
            for wanted in self.modifiers
            if len(wanted.choices) > 1
        )


def allows(wanted: Modifier, modifiers: Sequence[str]) -> bool:
    """True where an instruction with ``modifiers`` fulfils ``wanted``; others do not matter."""
    found = any(choice in modifiers for choice in wanted.choices)
    return found != wanted.absent


def resolve(opset: Opset, own: Mapping[str, ClassDefinition]) -> tuple[Alternative, ...]:
    """The alternatives of an opset; classes of the file are replaced by what they stand for."""
    found: list[Alternative] = []
    for item in opset:
        match item:
            case Opcode(name=name, modifiers=modifiers):
                found.append(Alternative(name, False, modifiers))
            case ClassUse(name=name, modifiers=modifiers) if name in own:
                inner = resolve(own[name].opset, own)
                found += [Alternative(a.name, a.is_class, (*a.modifiers, *modifiers)) for a in inner]
            case ClassUse(name=name, modifiers=modifiers):
                found.append(Alternative(name, True, modifiers))
    return tuple(dict.fromkeys(found))


def operation_of(form: Form) -> str:
    """What ``x.op`` says of an instruction: ``<add>`` where it is an operation, else its opcode."""
    found = classes.operation(form.opcode, form.modifiers, form.operands)
    return f"<{found}>" if found else form.opcode
