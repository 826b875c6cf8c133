"""Reaching definitions the slow and obvious way, to check SSA form against."""

from __future__ import annotations

from sassql.facts.accesses import REGISTERS
from sassql.facts.ssa import ValueKind

EVERYTHING_ELSE = -1


def reaching_definitions(kernel):
    """{(instruction, key): {("def", i) | ("call", i) | ("entry", block)}} for everything read."""
    blocks, of, clobbers = kernel.fact("blocks"), kernel.fact("accesses").of, kernel.fact("clobbers")
    leaving, roots = [None] * len(blocks), set(blocks.roots)
    found = {}
    changed = True
    while changed:
        changed = False
        for block in range(len(blocks)):
            ways = [leaving[p] for p in blocks.predecessors[block] if leaving[p] is not None]
            if block in roots:
                ways.append({EVERYTHING_ELSE: frozenset({("entry", block)})})
            if not ways:
                continue
            state = {
                r: frozenset().union(*(way.get(r, way[EVERYTHING_ELSE]) for way in ways))
                for r in set().union(*ways)
            }
            for index in range(blocks.start[block], blocks.end[block]):
                access = of[index]
                for key, register in zip(access.use_keys, access.uses, strict=True):
                    found[index, key] = state.get(register, state[EVERYTHING_ELSE])
                for register in access.defs:
                    old = state.get(register, state[EVERYTHING_ELSE]) if access.guarded else frozenset()
                    state[register] = old | {("def", index)}
                for register in range(len(REGISTERS)) if index in clobbers else ():
                    if clobbers[index] >> register & 1:
                        state[register] = frozenset({("call", index)})
            if state != leaving[block]:
                leaving[block] = state
                changed = True
    return found


def sources(ssa, value):
    """The same set for an SSA value: φ and ψ taken apart."""
    seen, found, pending = set(), set(), [value]
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        match ssa.kind[value]:
            case ValueKind.DEF:
                found.add(("def", ssa.instruction[value]))
            case ValueKind.CALL:
                found.add(("call", ssa.instruction[value]))
            case ValueKind.ENTRY:
                found.add(("entry", ssa.block[value]))
            case _:
                pending += ssa.inputs[value]
    return frozenset(found)


def check(kernel):
    """Compare both on every read; returns how many there were."""
    ssa = kernel.fact("ssa")
    expected = reaching_definitions(kernel)
    for (index, key), definitions in expected.items():
        value = ssa.use(index, *key)
        assert sources(ssa, value) == definitions, (kernel.instructions[index], key)
    assert all(-1 not in inputs for inputs in ssa.inputs), "a φ lacks an input"
    return len(expected)
