"""Attributes of labels and kernels: what may follow ``f.`` and ``kernel.`` in an expression."""

from __future__ import annotations

import re
from collections.abc import Callable

from sassql.engine.bindings import Matched
from sassql.isa import access
from sassql.model.instruction import Instruction
from sassql.model.kernel import Kernel

_SHAPE = re.compile(r"\d{3,}|\d+x\d+x\d+")
"""Shapes of tensor-core operations: ``16816``, ``64x256x16``."""


def _shape(instruction: Instruction, _: Matched) -> str | None:
    return next((m for m in instruction.modifiers if _SHAPE.fullmatch(m)), None)


def _bytes(instruction: Instruction, _: Matched) -> int | None:
    return access.bytes_of(instruction.form)


_LABEL: dict[str, Callable[[Instruction, Matched], object]] = {
    "op": lambda instruction, matched: matched.operation,
    "opcode": lambda instruction, matched: instruction.opcode,
    "mod": lambda instruction, matched: ".".join(matched.choices) or None,
    "index": lambda instruction, matched: matched.index,
    "address": lambda instruction, matched: instruction.address,
    "bytes": _bytes,
    "shape": _shape,
}

_KERNEL: dict[str, Callable[[Kernel], object]] = {
    "name": lambda kernel: kernel.name,
    "demangled": lambda kernel: kernel.demangled,
    "arch": lambda kernel: kernel.arch,
    "instructions": lambda kernel: len(kernel.form_ids),
}


def label_attribute(kernel: Kernel, matched: object, name: str) -> object:
    """Attribute ``name`` of a matched instruction; None where it has none."""
    if not isinstance(matched, Matched):
        return None
    return _LABEL[name](Instruction(kernel, matched.index), matched)


def kernel_attribute(kernel: Kernel, name: str) -> object:
    """Attribute ``name`` of the kernel."""
    return _KERNEL[name](kernel)
