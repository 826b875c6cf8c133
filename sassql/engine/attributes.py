"""Attributes: what may follow ``f.``, ``%v.``, ``&A.``, ``K.`` and ``kernel.`` in an expression."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sassql.engine.bindings import Matched, Used
from sassql.engine.elements import Elements
from sassql.engine.opsets import resolve
from sassql.engine.things import Calls, Dependent, KernelRef, LoopRef, Many, ValueRef
from sassql.facts.addresses import Address, Addresses, AddressKind
from sassql.facts.blocks import Blocks
from sassql.facts.counters import Counters
from sassql.facts.meanings import Meanings
from sassql.facts.polynomials import AtomKind, counter, mentioned
from sassql.facts.slices import ATOMIC, LOAD
from sassql.facts.values import SSA, ValueKind
from sassql.isa import access
from sassql.isa.sequences import routine
from sassql.lang.ast import Attribute, ClassLiteral, ClassUse, Expression, Literal, Modifier, Opcode, Opset

if TYPE_CHECKING:
    from sassql.engine.values import Unit
    from sassql.engine.view import View

_SHAPE = re.compile(r"\d{3,}|\d+x\d+x\d+")
"""Shapes of tensor-core operations: ``16816``, ``64x256x16``."""
_LOADED = (LOAD, ATOMIC)
_STORED, _RESULT = "value", "d"
_ATOMS = ("tid_x", "tid_y", "tid_z", "ctaid_x", "ctaid_y", "ctaid_z", "laneid")


def _shape(matched: Matched, view: View) -> object:
    return next((m for m in view.form(matched.index).modifiers if _SHAPE.fullmatch(m)), None)


def _bytes(matched: Matched, view: View) -> object:
    found = access.bytes_of(view.form(matched.index))
    if found is not None:
        return found
    addresses: Addresses = view.kernel.fact("addresses")
    address = addresses.of(matched.index)
    return None if address is None else address.width


def _value(matched: Matched, view: View) -> object:
    """What is stored, else what is defined."""
    operands = view.form(matched.index).operands
    for role in (_STORED, _RESULT):
        for place, operand in enumerate(operands):
            if operand.role == role:
                units = view.values.units(matched.index, place)
                return None if units is None else ValueRef((units,))
    return None


def _loop(matched: Matched, view: View) -> object:
    around = view.loops.enclosing(int(view.ways.blocks.of[matched.index]))
    return LoopRef(around[0]) if around else None


def _barrier_of(matched: Matched, view: View) -> object:
    """The barrier on which an asynchronous copy completes: the register behind its destination's."""
    return view.barrier_of(matched.index)


def _dtype(matched: Matched, view: View) -> object:
    """The element type of the result, such as ``f32`` or ``f16x2``; unknown where no table says it."""
    meanings: Meanings = view.kernel.fact("meanings")
    found = [m for m in meanings.at(matched.index) if m.type]
    longer = [m for m in map(meanings.of, (r for m in found for r in m.results)) if m is not None and m.type]
    return (longer or found)[0].type if longer or found else None


def _fidelity(matched: Matched, view: View) -> object:
    """``exact``, ``ordered`` (but for NaN), ``approximate``; unknown where no table says it."""
    meanings: Meanings = view.kernel.fact("meanings")
    found = [meanings.of(r) for m in meanings.at(matched.index) for r in m.results]
    return next((m.fidelity for m in found if m is not None), None)


LABEL: dict[str, Callable[[Matched, View], object]] = {
    "op": lambda matched, view: matched.operation,
    "opcode": lambda matched, view: view.form(matched.index).opcode,
    "mod": lambda matched, view: ".".join(matched.choices) or None,
    "index": lambda matched, view: matched.index,
    "address": lambda matched, view: int(view.kernel.addresses[matched.index]),
    "bytes": _bytes,
    "shape": _shape,
    "value": _value,
    "loop": _loop,
    "mbar": _barrier_of,
    "dtype": _dtype,
    "fidelity": _fidelity,
}


def _defining(unit: Unit, view: View) -> Matched | None:
    ssa: SSA = view.kernel.fact("ssa")
    if not isinstance(unit, int) or ssa.instruction[unit] < 0:
        return None
    index = ssa.instruction[unit]
    return Matched(index, view.operation_at(index, unit), ())


def _definition(value: ValueRef, view: View) -> object:
    return _defining(value.occurrences[-1][-1], view)


def _operation(value: ValueRef, view: View) -> object:
    """What the value's instruction does; ``phi``, ``entry`` or ``constant`` where there is none."""
    ssa: SSA = view.kernel.fact("ssa")
    unit = value.occurrences[-1][-1]
    if not isinstance(unit, int):
        return "constant"
    longer = view.longer_at(unit)
    if longer:
        return longer
    if ssa.kind[unit] in (ValueKind.PHI, ValueKind.ENTRY, ValueKind.CALL):
        return ssa.kind[unit].value
    found = _defining(unit, view)
    return None if found is None else found.operation


def _elements(value: ValueRef, view: View) -> object:
    """From how many elements of one array it is computed, at most."""
    found: Elements = view.kernel.fact("elements")
    return found.of(value.occurrences[-1])


VALUE: dict[str, Callable[[ValueRef, View], object]] = {
    "def": _definition,
    "op": _operation,
    "elements": _elements,
}


def _coefficient(name: str) -> Callable[[Address, View], object]:
    atom = name.replace("_", ".")

    def of(address: Address, view: View) -> object:
        if address.kind is AddressKind.OPAQUE:
            return None
        found = address.coefficient(atom)
        return Dependent(str(address.polynomial)) if found is None else found

    return of


def _depends_on(address: Address, prefixes: tuple[str, ...]) -> bool | None:
    if address.kind.value == "opaque":
        return None
    return any(a.name.startswith(prefixes) for a in mentioned(address.polynomial))


def _by_thread(address: Address, view: View) -> object:
    """Whether threads of a block have different addresses."""
    return _depends_on(address, ("tid.", "laneid"))


def _by_block(address: Address, view: View) -> object:
    """Whether blocks have different addresses."""
    return _depends_on(address, ("ctaid.",))


def _axes(address: Address, view: View) -> object:
    """The thread numbers that an address depends on, as a text: ``tid.x,tid.y``."""
    if address.kind.value == "opaque":
        return None
    names = {a.name for a in mentioned(address.polynomial) if a.name.startswith(("tid.", "laneid"))}
    return ",".join(sorted(names))


def _grid_stride(address: Address, view: View) -> object:
    """Whether a loop moves the address by a multiple of the number of blocks."""
    if address.kind.value == "opaque":
        return None
    terms = [monomial for monomial, _ in address.polynomial.terms]
    return any(
        any(a.kind is AtomKind.COUNTER for a in term) and any(a.name.startswith("nctaid.") for a in term)
        for term in terms
    )


def _continues(address: Address, view: View) -> object:
    """Whether an address goes on from where a loop ended, as the rest of an unrolled loop does."""
    if address.kind.value == "opaque":
        return None
    return any(atom.scope is not None for atom in mentioned(address.polynomial))


def _by_load(address: Address, view: View) -> object:
    """Whether a loaded value decides the place; also where nobody knows all of the place."""
    if address.kind in (AddressKind.PURE, AddressKind.STRUCTURAL):
        return False
    ssa: SSA = view.kernel.fact("ssa")
    values = ssa.address_uses(address.instruction, address.operand)
    found = [view.slices.backward(value) for value in values]
    if any(end.kind in _LOADED for part in found for end in part.ends):
        return True
    return False if all(part.certain for part in found) else None


ADDRESS: dict[str, Callable[[Address, View], object]] = {
    "base": lambda address, view: address.base,
    "offset": lambda address, view: address.offset,
    "space": lambda address, view: address.space.value,
    "bytes": lambda address, view: address.width,
    "kind": lambda address, view: address.kind.value,
    "by_thread": _by_thread,
    "by_block": _by_block,
    "axes": _axes,
    "grid_stride": _grid_stride,
    "continues": _continues,
    "by_load": _by_load,
    **{name: _coefficient(name) for name in _ATOMS},
}


def _trips(loop: LoopRef, view: View) -> object:
    counters: Counters = view.kernel.fact("counters")
    return counters[loop.number].trips


def _kind(loop: LoopRef, view: View) -> object:
    counters: Counters = view.kernel.fact("counters")
    return counters[loop.number].kind.value


LOOP: dict[str, Callable[[LoopRef, View], object]] = {
    "depth": lambda loop, view: view.loops[loop.number].depth,
    "trips": _trips,
    "kind": _kind,
}


def _all_of(name: str) -> Callable[[View], object]:
    def found(view: View) -> object:
        return Many(tuple(view.every_of_class(name)))

    return found


def _calls(view: View) -> Calls:
    blocks: Blocks = view.kernel.fact("blocks")
    callees: dict[int, str] = view.kernel.fact("callees")
    unknown = [call for call in blocks.calls if call.entry is None and not routine(callees[call.index])]
    return Calls(len(blocks.calls), len(unknown) + len(blocks.unresolved))


KERNEL: dict[str, Callable[[View], object]] = {
    "name": lambda view: view.kernel.name,
    "demangled": lambda view: view.kernel.demangled,
    "arch": lambda view: view.kernel.arch,
    "instructions": lambda view: len(view.kernel.form_ids),
    "loads": _all_of("load"),
    "stores": _all_of("store"),
    "loops": lambda view: Many(tuple(LoopRef(n) for n in range(len(view.loops)))),
    "calls": _calls,
}

_CALLS = ("count", "unresolved")


def _of_address(address: Address, name: str, view: View) -> object:
    """An attribute of an address, found once: some are texts made from formulas."""
    if name not in ADDRESS:
        return None
    known = view.session.attributes
    key = id(address), name
    if key not in known:
        known[key] = address, ADDRESS[name](address, view)
    return known[key][1]


def attribute_of(base: object, name: str, view: View) -> object:
    """Attribute ``name`` of anything; None where it has none."""
    match base:
        case Matched():
            return LABEL[name](base, view) if name in LABEL else None
        case ValueRef():
            return VALUE[name](base, view) if name in VALUE else None
        case Address():
            return _of_address(base, name, view)
        case LoopRef():
            return LOOP[name](base, view) if name in LOOP else None
        case KernelRef():
            return KERNEL[name](view) if name in KERNEL else None
        case Calls() if name in _CALLS:
            return base.count if name == "count" else base.unresolved
        case Used():
            return base.columns.get(name)
    return None


def method_of(
    base: object, name: str, arguments: Sequence[object], written: Sequence[Expression], view: View
) -> object:
    """``&A.stride(K)``, ``K.has(x)`` and ``kernel.has(MUFU.EX2)``."""
    match base:
        case Address() if name == "stride" and arguments and isinstance(arguments[0], LoopRef):
            return _stride(base, arguments[0].number, view)
        case LoopRef() if name == "has" and arguments and isinstance(arguments[0], Matched):
            return int(view.ways.blocks.of[arguments[0].index]) in view.loops[base.number].blocks
        case KernelRef() if name == "has":
            return view.session.has(resolve(tuple(part for e in written for part in opset_of(e)), {}))
    return None


def _stride(address: Address, loop: int, view: View) -> object:
    """Bytes that each iteration adds; not zero, but no number, where a function of the counter decides."""
    found = address.stride(loop)
    if found is not None or address.kind is AddressKind.OPAQUE:
        return found
    inside = view.loops[loop].blocks
    moving = [atom for atom in mentioned(address.polynomial) if atom.home in inside]
    counts = counter(loop, view.loops[loop].header)
    if counts in moving and all(atom.args or atom.kind is AtomKind.COUNTER for atom in moving):
        return Dependent(str(address.polynomial))
    return None


def opset_of(expression: Expression) -> Opset:
    """``MUFU.EX2`` or ``<mma>`` in an expression as what a line would ask for."""
    modifiers: tuple[Modifier, ...] = ()
    while isinstance(expression, Attribute):
        modifiers = (Modifier((expression.name,), False, expression.at), *modifiers)
        expression = expression.base
    match expression:
        case Literal(value=str() as name, at=at):
            return (Opcode(name, modifiers, at),)
        case ClassLiteral(name=name, at=at):
            return (ClassUse(name, modifiers, at),)
    return ()
