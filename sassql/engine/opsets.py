"""Opsets with user classes resolved: what one line of a motif may lie on, judged by the instruction alone."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sassql.isa import classes, operations, signatures
from sassql.isa.meanings import templates
from sassql.lang.ast import ClassDefinition, ClassUse, Modifier, Opcode, Opset, Position
from sassql.model.form import Form

NOWHERE = Position(0, 0)
"""The position of what stands at several places."""


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
            return operations.opcodes(self.name)
        if "*" in self.name:
            return frozenset(name for name in signatures.table() if fnmatch.fnmatchcase(name, self.name))
        return frozenset({self.name})

    @cached_property
    def is_operation(self) -> bool:
        """True for a class that is one operation, not a set of opcodes."""
        return self.is_class and operations.is_operation(self.name)

    def takes(self, opcode: str, modifiers: Sequence[str]) -> bool:
        """True where opcode and modifiers fit; a class may ask for operands besides."""
        return opcode in self.opcodes and all(allows(wanted, modifiers) for wanted in self.modifiers)

    def fits(self, form: Form) -> bool:
        """True where an instruction is one of these, whatever its operands are called."""
        if not self.takes(form.opcode, form.modifiers):
            return False
        if self.is_class and operations.only_by_meaning(self.name):
            return any(template.operation == self.name for template in templates(form))
        return not self.is_class or classes.belongs(self.name, form.opcode, form.modifiers, form.operands)

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
    """The alternatives of an opset; classes of the file are replaced by what they stand for.

    Equal for opsets that say the same, wherever they stand.
    """
    found: list[Alternative] = []
    for item in opset:
        match item:
            case Opcode(name=name, modifiers=modifiers):
                found.append(Alternative(name, False, _anywhere(modifiers)))
            case ClassUse(name=name, modifiers=modifiers) if name in own:
                inner = resolve(own[name].opset, own)
                found += [
                    Alternative(a.name, a.is_class, (*a.modifiers, *_anywhere(modifiers))) for a in inner
                ]
            case ClassUse(name=name, modifiers=modifiers):
                found.append(Alternative(name, True, _anywhere(modifiers)))
    return tuple(dict.fromkeys(found))


def _anywhere(modifiers: Sequence[Modifier]) -> tuple[Modifier, ...]:
    return tuple(replace(modifier, at=NOWHERE) for modifier in modifiers)


def operation_of(form: Form) -> str:
    """What ``x.op`` says of an instruction: ``<add>`` where it is an operation, else its opcode."""
    found = classes.operation(form.opcode, form.modifiers, form.operands)
    return f"<{found}>" if found else form.opcode
