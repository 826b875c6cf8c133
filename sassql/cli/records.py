"""Instructions as records with the field names of `--format jsonl`, made from shared forms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from sassql.facts.blocks import Blocks
from sassql.model.form import TARGET_HOLE, Form
from sassql.model.instruction import Control
from sassql.model.kernel import Kernel

COLUMNS = (
    "file",
    "entry",
    "arch",
    "kernel",
    "function",
    "address",
    "text",
    "opcode",
    "modifiers",
    "guard",
    "operands",
    "defs",
    "uses",
    "target",
    "block",
    "stall",
    "yield",
    "read_barrier",
    "write_barrier",
    "wait_mask",
    "reuse",
    "tags",
)
_CONTROL = ("stall", "yield", "read_barrier", "write_barrier", "wait_mask", "reuse")


_SHARED: dict[int, dict[int, str]] = {}
"""Rendered forms by word table and row: tables live as long as the process."""


def instruction_records(kernel: Kernel) -> Iterator[dict[str, Any]]:
    """One record per instruction, none left out."""
    for line in instruction_lines(kernel):
        yield json.loads(line)


def instruction_lines(kernel: Kernel) -> Iterator[str]:
    """The same as JSON lines. What equal instructions share is rendered once."""
    count = len(kernel.form_ids)
    shared = _SHARED.setdefault(id(kernel.forms), {})
    for row in np.unique(kernel.form_ids).tolist():
        if row not in shared:
            shared[row] = _shared(kernel.forms[row])
    controls: dict[int | None, str] = {}
    split: Blocks = kernel.fact("blocks")
    blocks = kernel.addresses[split.start[split.of]].tolist()
    tags = kernel.fact("tags")
    same = {
        "file": kernel.source.file,
        "entry": kernel.source.entry,
        "arch": kernel.arch,
        "kernel": kernel.name,
    }
    head = json.dumps(same)[:-1]
    names = {f.name: json.dumps(f.name) for f in kernel.functions}
    local = [f for f in kernel.functions if not f.entry]
    bits = kernel.control.tolist() if kernel.control is not None else [None] * count
    addresses, targets = kernel.addresses.tolist(), kernel.targets.tolist()
    for index, row in enumerate(kernel.form_ids.tolist()):
        body = shared[row]
        target = targets[index]
        if TARGET_HOLE in body:
            name = kernel.symbols.get(index, "") if target < 0 else f"{target:#x}"
            body = body.replace(TARGET_HOLE, json.dumps(f"`({name})")[1:-1])
        control = bits[index]
        if control not in controls:
            controls[control] = _control(control)
        function = kernel.function_at(addresses[index]) if local else kernel.name
        name = names.get(function) or json.dumps(function)
        place = f'"{target:#x}"' if target >= 0 else "null"
        found = tags.get(index)
        yield (
            f'{head}, "function": {name}, "address": "{addresses[index]:#x}", {body}, "target": {place}, '
            f'"block": "{blocks[index]:#x}", {controls[control]}, '
            f'"tags": {json.dumps(found) if found else "[]"}}}\n'
        )


def _shared(form: Form) -> str:
    fields = {
        "text": form.text,
        "opcode": form.opcode,
        "modifiers": list(form.modifiers),
        "guard": None if form.guard is None else str(form.guard),
        "operands": list(form.operand_texts),
        "defs": sorted(map(str, form.defs)),
        "uses": sorted(map(str, form.uses)),
    }
    return json.dumps(fields)[1:-1]


def _control(bits: int | None) -> str:
    if bits is None:
        return json.dumps(dict.fromkeys(_CONTROL))[1:-1]
    control = Control.decode(bits)
    values = (
        control.stall,
        control.may_yield,
        control.read_barrier,
        control.write_barrier,
        control.wait_mask,
        [slot for slot in range(4) if control.reuse >> slot & 1],
    )
    return json.dumps(dict(zip(_CONTROL, values, strict=True)))[1:-1]
