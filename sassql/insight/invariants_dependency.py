"""Data dependency: what each stored location depends on, and whether its elements are independent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from sassql.facts.addresses import Address, AddressKind
from sassql.facts.choices import expand
from sassql.facts.index_relation import Relation, relation
from sassql.facts.memory_flow import MUST
from sassql.facts.polynomials import mentioned, special
from sassql.facts.values import ValueKind
from sassql.insight.invariants_flow import OUTSIDE, Flow, Walk
from sassql.insight.invariants_statements import PROVEN, REFUTED, UNKNOWN, Output, Source
from sassql.isa.spaces import Space

MOST_OUTPUTS = 256
"""Stores and atomics of a kernel that are looked at one by one."""
THREADS = ("tid.", "ctaid.", "laneid", "lanemask")
_ZERO, _POINTER = "SRZ", 8
_LAUNCH = ("ntid.", "nctaid.")
_OWN = (Relation.OWN, Relation.BROADCAST, Relation.STRIDED)
_PRIVATE = frozenset(r.value for r in _OWN)
GROUP = "group"
"""A relation of ours: the element lies under another one that the same thread stores."""
_REASONS = {
    Relation.SWAPPED: "the element with the axes exchanged",
    Relation.SHIFTED: "a neighbour's element",
    Relation.DISPLACED: "an element a fixed distance away",
    Relation.REVERSED: "an element counted from the other end",
    Relation.GATHERED: "an element that loaded data choose",
    Relation.OTHER: "elements along an axis that the output lacks",
}


@dataclass(slots=True)
class Verdict:
    """Collects what speaks against the independence of one output."""

    against: list[tuple[str, int]] = field(default_factory=list)
    open: list[tuple[str, int]] = field(default_factory=list)
    others: set[str] = field(default_factory=set)
    """Buffers that are read beside the one that is written."""
    grouped: bool = False
    """Whether it takes the thread's other outputs to call its loads its own."""

    @property
    def answer(self) -> tuple[str, str, set[int]]:
        """The answer, its reason, and the instructions that are the reason."""
        for word, found in ((REFUTED, self.against), (UNKNOWN, self.open)):
            if found:
                reasons = dict.fromkeys(reason for reason, _ in found)
                return word, "; ".join(list(reasons)[:3]), {index for _, index in found if index >= 0}
        own = "one of the elements that the thread stores" if self.grouped else "the element that is stored"
        return PROVEN, f"every load lies under {own}, or is shared by several of them", set()


def by_thread(address: Address) -> bool:
    """Whether threads of a block, or blocks, have different addresses."""
    return any(a.name.startswith(THREADS) for a in mentioned(address.polynomial))


def place_of(address: Address) -> str:
    """The address in words without its space where that is global; a long one is cut."""
    text = str(address).removeprefix(f"{Space.GLOBAL.value}: ")
    return text if len(text) <= 120 else f"{address.base or address.space.value} + …"


_Reasons = tuple[list[tuple[str, int]], list[tuple[str, int]]]
"""Reasons with their instructions: against independence, and against knowing."""


@dataclass(slots=True)
class _Met:
    """A source: how it was met, and where."""

    by: dict[str, None] = field(default_factory=dict)
    at: set[int] = field(default_factory=set)
    place: str = ""

    def add(self, by: str, at: Iterable[int]) -> None:
        self.by[by] = None
        self.at.update(at)


@dataclass(slots=True)
class _Of:
    """What was found for one store."""

    address: Address
    value: Walk
    place: Walk
    control: Walk


class Dependencies:
    """The outputs of one kernel."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.left_out = 0
        sizes = flow.kernel.resources.parameters
        self._pointers = {f"param{p.ordinal}" for p in sizes if p.size == _POINTER}
        self._relations: dict[tuple[int, int], Relation] = {}
        self._places: dict[int, str] = {}
        self._elsewhere: dict[int, bool] = {}
        self._crossings: dict[int, _Reasons] = {}
        self._backs: dict[int, Walk] = {}

    def outputs(self) -> Iterator[Output]:
        """A statement for each stored location: stores with one base and one formula are one."""
        groups: dict[tuple[object, ...], list[Address]] = {}
        found = self.flow.outputs
        self.left_out = max(0, len(found) - MOST_OUTPUTS)
        for address in found[:MOST_OUTPUTS]:
            key = address.access, address.space, address.base, address.polynomial
            groups.setdefault(key, []).append(address)
        for addresses in groups.values():
            yield self._output(addresses)

    def _output(self, addresses: list[Address]) -> Output:
        flow = self.flow
        found = [self._of(address) for address in addresses]
        verdict = Verdict()
        for one in found:
            self._judge(one, verdict)
        answer, why, because = verdict.answer
        first = addresses[0]
        others = ", ".join(sorted(verdict.others - {str(first.base)}))
        premise = ""
        if answer == PROVEN and others:
            premise = f"{first.base or 'what is written'} and {others} do not overlap"
        exchanges = set().union(*(one.value.exchanges for one in found))
        return Output(
            place=place_of(first),
            buffer=str(first.base) or "?",
            access=first.access,
            count=len(addresses),
            independence=answer,
            why=why,
            sources=tuple(self._sources(found)),
            at=flow.at(a.instruction for a in addresses),
            exchanges=flow.at(exchanges),
            because=flow.at(because),
            premise=premise,
        )

    def _of(self, address: Address) -> _Of:
        flow, index = self.flow, address.instruction
        value = flow.walk(flow.stored(index))
        own = [v for load in value.loads for v in self._address_of(load)]
        place = flow.walk([*flow.address_values(address), *own])
        return _Of(address, value, place, flow.deciders(value, index))

    def _address_of(self, load: int) -> tuple[int, ...]:
        address = self.flow.read_at(load)
        return () if address is None else self.flow.address_values(address)

    # --- sources

    def _sources(self, found: list[_Of]) -> Iterator[Source]:
        """What the stores of one location depend on: loads by buffer and relation, then words by name."""
        loads: dict[tuple[str, str], _Met] = {}
        words: dict[str, _Met] = {}
        buffers = {str(one.address.base) for one in found}
        for one in found:
            if one.address.access == "atomic":  # it combines with what is there
                met = loads.setdefault((str(one.address.base) or "?", Relation.OWN.value), _Met())
                met.add("value", {one.address.instruction})
                met.place = place_of(one.address)
            for by, walk in (("value", one.value), ("address", one.place), ("control", one.control)):
                for load in sorted(walk.loads):
                    name, place, lies = self._named(load, one.address)
                    buffers.add(name)
                    met = loads.setdefault((name, lies), _Met())
                    met.add(by, {load})
                    met.place = min(met.place or place, place, key=len)
                for name, places in walk.words.items():
                    words.setdefault(self._word(name), _Met()).add(by, places)
        for (name, lies), met in sorted(loads.items()):
            yield Source("load", name, tuple(met.by), self.flow.at(met.at), met.place, lies)
        for name, met in sorted(words.items(), key=lambda item: (_kind(item[0]), item[0])):
            if name and name not in buffers and not (name.startswith("c[") and list(met.by) == ["address"]):
                yield Source(_kind(name), name, tuple(met.by), self.flow.at(met.at))

    def _word(self, name: str) -> str:
        """The parameter of a word of one, both words of a pointer alike; empty for what says nothing."""
        whole = name.partition("+")[0]
        if whole in self._pointers:
            return whole
        return "" if name in (_ZERO, self.flow.formulas.launch.cluster) else name

    def _named(self, load: int, output: Address) -> tuple[str, str, str]:
        address = self.flow.read_at(load)
        if address is None:
            return "memory", "", Relation.UNKNOWN.value
        if load not in self._places:
            self._places[load] = place_of(address)
        lies = self._relation(address, output).value
        if lies not in _PRIVATE and self._is_own_elsewhere(address):
            lies = GROUP
        return str(address.base) or address.space.value, self._places[load], lies

    def _relation(self, read: Address, output: Address) -> Relation:
        key = id(read), id(output)
        if key not in self._relations:
            known = read.kind in (AddressKind.PURE, AddressKind.STRUCTURAL)
            shared = known and by_thread(output) and not by_thread(read)
            # the same elements for all threads, whether they lie along a loop or not
            self._relations[key] = Relation.BROADCAST if shared else relation(read, output)
        return self._relations[key]

    # --- independence

    def _judge(self, one: _Of, verdict: Verdict) -> None:
        address, value = one.address, one.value
        if address.access == "atomic":
            told = "an atomic combines it with what other threads store"
            verdict.against.append((told, address.instruction))
        if address.kind is AddressKind.DATA:
            verdict.against.append(("loaded data choose the element that is stored", address.instruction))
        if address.kind is AddressKind.OPAQUE:
            verdict.open.append((f"the stored address is not known ({address.reason})", address.instruction))
        verdict.against += [("values of other lanes or threads come in", i) for i in value.exchanges]
        for reason, places in (*value.unknown.items(), *one.control.unknown.items()):
            verdict.open += [(reason, index) for index in places or {-1}]
        verdict.open += [("other lanes decide which way is taken", i) for i in one.control.exchanges]
        verdict.open += [
            (f"stores were not all compared with loads: {r}", -1) for r in self.flow.memory.incomplete
        ]
        for load in sorted(value.crossed):
            against, open_ = self._crossing(load)
            verdict.against += against
            verdict.open += open_
        for load in sorted(value.loads | one.control.loads):
            self._judge_load(load, one, verdict)

    def _crossing(self, load: int) -> _Reasons:
        """What speaks against a value that went through memory: it may come from another thread."""
        if load not in self._crossings:
            against: list[tuple[str, int]] = []
            open_: list[tuple[str, int]] = []
            for edge in self.flow.sources(load):
                stored = self.flow.addresses.of(edge.store)
                alone = None if stored is None else self._is_private(stored)
                own = edge.certainty == MUST or edge.same_thread
                if own and alone:
                    continue
                told = f"through {edge.space} memory, from what another thread stored"
                known = edge.same_thread is not None or edge.certainty != UNKNOWN
                if own and alone is None:
                    told, known = f"several threads may store to one place in {edge.space} memory", False
                reasons = against if known else open_
                if (told, load) not in reasons:
                    reasons.append((told, load))
            self._crossings[load] = against, open_
        return self._crossings[load]

    def _is_private(self, stored: Address) -> bool | None:
        """Whether each thread of a block stores to places of its own; None where that is not known.

        A thread number that no address of the kernel has does not count: such threads do the same.
        """
        if stored.space is Space.LOCAL:
            return True
        if not by_thread(stored):
            return False
        polynomial = expand(stored.polynomial)
        steps = [polynomial.coefficient(special(axis)) for axis in self._axes]
        return True if all(step is not None and step.terms for step in steps) else None

    @cached_property
    def _axes(self) -> list[str]:
        """The thread numbers that addresses of the kernel have in them."""
        names = {a.name for address in self.flow.accesses for a in mentioned(address.polynomial)}
        return sorted(name for name in names if name.startswith("tid."))

    def _judge_load(self, load: int, one: _Of, verdict: Verdict) -> None:
        address = self.flow.read_at(load)
        if address is None or address.space not in (*OUTSIDE, Space.MAP):
            return
        verdict.others.add(str(address.base) or "an unknown buffer")
        lies = self._relation(address, one.address)
        if lies is Relation.UNKNOWN:
            verdict.open.append((f"the place that is loaded is not known ({address.reason})", load))
        elif lies is Relation.GATHERED and address.base.kind == "constant":
            verdict.open.append((f"data choose an element of a table of the module, {address.base}", load))
        elif lies not in _OWN and not self._is_own_elsewhere(address):
            verdict.against.append((f"it reads {_REASONS[lies]} of {address.base or 'a buffer'}", load))
        else:
            verdict.grouped = verdict.grouped or lies not in _OWN
            if load in one.value.loads:
                self._judge_carried(load, address, one, verdict)

    def _is_own_elsewhere(self, address: Address) -> bool:
        """True where the same thread stores the element's counterpart, too: threads still share nothing."""
        key = id(address)
        if key not in self._elsewhere:
            self._elsewhere[key] = by_thread(address) and any(
                by_thread(other) and self._relation(address, other) is Relation.OWN
                for other in self.flow.outputs[:MOST_OUTPUTS]
            )
        return self._elsewhere[key]

    def _judge_carried(self, load: int, address: Address, one: _Of, verdict: Verdict) -> None:
        """A value that goes round a loop in which the load moves on: another iteration's element."""
        flow = self.flow
        for number in flow.loops.enclosing(flow.of[one.address.instruction]):
            loop = flow.loops[number]
            if flow.of[load] not in loop.blocks or flow.counters.is_invariant(address.polynomial, number):
                continue
            for phi in self._carried(number, one.value.values):
                if phi not in self._backs:
                    self._backs[phi] = flow.walk(self._back(phi, number))
                back = self._backs[phi]
                if load in back.loads and flow.copies.root(phi) in {flow.copies.root(v) for v in back.values}:
                    verdict.against.append(("earlier iterations' elements are folded in", load))
                elif load in back.loads:
                    verdict.open.append(("a loop carries it from one iteration to the next", load))

    def _carried(self, number: int, values: Iterable[int]) -> Iterator[int]:
        flow, header = self.flow, self.flow.loops[number].header
        counting = {c.value for c in flow.counters[number].counters}
        for value in values:
            is_phi = flow.ssa.kind[value] is ValueKind.PHI and flow.ssa.block[value] == header
            if is_phi and value not in counting:
                yield value

    def _back(self, phi: int, number: int) -> list[int]:
        flow = self.flow
        loop = flow.loops[number]
        before = flow.blocks.predecessors[loop.header]
        return [v for v, block in zip(flow.ssa.inputs[phi], before, strict=False) if block in loop.blocks]


def _kind(name: str) -> str:
    if name.startswith(THREADS):
        return "thread"
    if name.startswith(_LAUNCH):
        return "launch"
    return "parameter" if name.startswith("param") else "other"


def of_kernel(outputs: Iterable[Output], doubt: str) -> tuple[str, str]:
    """The independence of a kernel, and the reason."""
    found = list(outputs)
    for word in (REFUTED, UNKNOWN):
        worst = next((o for o in found if o.independence == word), None)
        if worst is not None:
            return word, f"{worst.buffer}: {worst.why}"
        if doubt:
            return UNKNOWN, doubt
    if not found:
        return UNKNOWN, "the kernel stores nothing"
    return PROVEN, "every stored element depends on the thread's own elements and shared inputs"
