"""Rule 1: a value is stored and loaded back; where nobody outside reads it, it need not be stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sassql.facts.memory_flow import MUST, UNKNOWN, MemoryEdge
from sassql.facts.polynomials import mentioned
from sassql.insight.advice_amounts import amount_of
from sassql.insight.advice_case import Case, block_part
from sassql.insight.advice_records import CERTAIN, MAYBE, Finding
from sassql.insight.advice_steps import by_threads
from sassql.insight.advice_walks import Walk, is_plain
from sassql.isa.promises import READ_ONLY
from sassql.isa.spaces import Space

THREAD, LOOP, BLOCK = "thread", "loop", "block"
_ORDERING = frozenset({"barrier", "mbarrier", "fence"})
_KINDS = {
    THREAD: "round trip of one thread",
    LOOP: "round trip from iteration to iteration",
    BLOCK: "round trip inside of a block",
}


@dataclass(frozen=True, slots=True)
class _Consumer:
    """A walk that reads back what another one stored; ``scope`` says in whose reach both are."""

    load: Walk
    scope: str
    edges: tuple[MemoryEdge, ...]

    @property
    def sync(self) -> frozenset[str]:
        """What lies on every way between."""
        return frozenset.intersection(*(frozenset(e.sync) for e in self.edges)) if self.edges else frozenset()


def round_trips(case: Case) -> Iterator[Finding]:
    """The findings of rule 1: one for each walk of stores that is loaded back."""
    for store in case.global_stores:
        if store.base.kind == "none" or not is_plain(store):
            continue
        loads = [load for load in case.global_loads if not _is_replaced(case, store, load)]
        consumers = [c for load in loads if (c := _consumer(case, store, load)) is not None]
        if consumers:
            yield _finding(case, store, consumers)
    yield from _shared(case)


def _is_replaced(case: Case, store: Walk, load: Walk) -> bool:
    """True where the thread has stored something else to all the places before they are loaded."""
    return any(
        other.at[0] < load.at[0] and case.reaches(other, load) for other in _overwriting(case, store, [store])
    )


def _consumer(case: Case, store: Walk, load: Walk) -> _Consumer | None:
    """The load as a consumer of what the store left; None where it is none, or none that is in reach."""
    if load.base != store.base or not is_plain(load):
        return None
    edges = tuple(e for e in case.edges(store, load) if e.certainty != UNKNOWN)
    if not edges:
        return None
    if _only_next(case, store, load) and _moves(case, store, load):
        return None  # the next iteration is elsewhere
    own = store.same_places(load) or any(e.certainty == MUST or e.same_thread for e in edges)
    if own:
        stays = bool(store.loops) and not store.moves
        return _Consumer(load, LOOP if stays or _only_next(case, store, load) else THREAD, edges)
    one, two = block_part(store.start), block_part(load.start)
    ordered = all(_ORDERING & set(e.sync) for e in edges)
    if not ordered or not one.terms or one != two:
        return None
    if by_threads(store.start) == by_threads(load.start):
        return None  # the thread's own share, a distance away: perhaps never what was stored
    return _Consumer(load, BLOCK, edges)


def _common(case: Case, store: Walk, load: Walk) -> set[int]:
    """The loops around both."""
    enclosing = case.walks.loops.enclosing
    return set(enclosing(store.members[0].block)) & set(enclosing(load.members[0].block))


def _only_next(case: Case, store: Walk, load: Walk) -> bool:
    """True where the load comes first in an iteration: it can read back only what an earlier one stored."""
    return bool(_common(case, store, load)) and load.at[-1] < store.at[0]


def _moves(case: Case, store: Walk, load: Walk) -> bool:
    """True where a loop around both takes the store to another place each time."""
    around = {case.walks.loops[number].header for number in _common(case, store, load)}
    return any(atom.home in around for member in store.members for atom in mentioned(member.polynomial))


def _finding(case: Case, store: Walk, consumers: list[_Consumer]) -> Finding:
    scopes = {consumer.scope for consumer in consumers}
    scope = BLOCK if BLOCK in scopes else LOOP if LOOP in scopes else THREAD
    loads = [consumer.load for consumer in consumers]
    overwriting = _overwriting(case, store, loads)
    turns = case.in_turn(loads)
    whole = amount_of([store, *turns])
    parts = {"read back": amount_of(turns), "written": amount_of([store])}
    certain, why = _certainty(store, consumers)
    sync = sorted({s for c in consumers for s in c.sync if s in _ORDERING})
    evidence = [*store.at, *(i for load in loads for i in load.at)]
    evidence += [i for c in consumers for e in c.edges[:1] for i in case.flow.synchronisation(e)]
    values, per_block = case.kept(store)
    return Finding(
        1,
        _KINDS[scope],
        case.addresses(evidence),
        tuple(_conditions(case, store, consumers, overwriting)),
        _action(case, store, consumers, scope),
        (case.effect("bytes of global memory", whole, parts),),
        certain,
        why,
        ("roundtrip", "sync") if sync else ("roundtrip",),
        {
            "buffer": str(store.base),
            "scope": scope,
            "sync": sync,
            "overwritten": bool(overwriting),
            "values_per_thread": values,
            "bytes_per_block": per_block,
        },
    )


def _overwriting(case: Case, store: Walk, loads: list[Walk]) -> list[Walk]:
    """Later stores of the same thread to the same places, as often as this one."""
    return [
        other
        for other in case.global_stores
        if other is not store
        and other.same_places(store)
        and (other.extent.conditions, other.extent.levels) == (store.extent.conditions, store.extent.levels)
        and not other.extent.limit
        and any(case.reaches(load, other) for load in loads)
        and other.at[0] > store.at[-1]
    ]


def _certainty(store: Walk, consumers: list[_Consumer]) -> tuple[str, str]:
    for consumer in consumers:
        must = all(edge.certainty == MUST for edge in consumer.edges)
        same = store.same_places(consumer.load) and _as_often(store, consumer.load)
        if must or (same and consumer.scope == THREAD):
            continue
        if consumer.scope == BLOCK:
            return MAYBE, "which thread of the block reads which value is not followed"
        if consumer.scope == LOOP:
            return MAYBE, "the first iteration loads what was there before"
        return MAYBE, consumer.edges[0].reason or "the two may not happen equally often"
    return CERTAIN, ""


def _as_often(store: Walk, load: Walk) -> bool:
    one, two = store.extent, load.extent
    return (one.conditions, one.levels) == (two.conditions, two.levels) and not one.unknown


def _conditions(
    case: Case, store: Walk, consumers: list[_Consumer], overwriting: list[Walk]
) -> Iterator[str]:
    name = str(store.base)
    if overwriting:
        at = f"{case.addresses(overwriting[0].at)[0]:#x}"
        yield f"nobody outside reads {name} while the kernel runs (the value is overwritten at {at})"
    else:
        yield f"{name} is not read outside of the kernel; if it is, only the bytes read back are saved"
    others = {b for c in consumers for b in case.between(store, c.load)}
    for other in sorted(others | _read_later(case, store)):
        yield f"{name} and {other} do not overlap"
    if readers := _other_readers(case, store, consumers):
        shown = ", ".join(f"{address:#x}" for address in readers[:6])
        yield f"what else loads from {name} ({shown}) does not read the value"
    if any(consumer.scope == BLOCK for consumer in consumers):
        yield f"no block reads the part of {name} that another block writes"
    if case.watched(store, *(c.load for c in consumers)):
        yield f"nobody else watches or changes {name} while the kernel runs (the accesses are volatile)"
    if any("fence" in consumer.sync for consumer in consumers):
        yield "nobody waits behind the fence for the value"


def _read_later(case: Case, store: Walk) -> set[str]:
    """Other buffers that are loaded behind the store, without a promise that nobody writes them."""
    return {
        str(load.base) if load.base.kind != "none" else "another buffer"
        for load in case.global_loads
        if load.base != store.base and case.reaches(store, load) and not case.promised(load, READ_ONLY)
    }


def _other_readers(case: Case, store: Walk, consumers: list[_Consumer]) -> tuple[int, ...]:
    """Addresses of loads and atomics behind the store that may read what it wrote, and are no consumers."""
    told = {index for consumer in consumers for index in consumer.load.at}
    replaced = {i for load in case.global_loads if _is_replaced(case, store, load) for i in load.at}
    edges = [e for index in store.at for e in case.flow.out_of(index) if e.certainty != UNKNOWN]
    return case.addresses(e.load for e in edges if e.load not in told | replaced)


def _action(case: Case, store: Walk, consumers: list[_Consumer], scope: str) -> str:
    name = str(store.base)
    values, per_block = case.kept(store)
    if scope == BLOCK:
        room = f" ({per_block} bytes a block)" if per_block else ""
        return (
            f"Pass the values through shared memory{room} in place of {name}; the barrier is there already."
        )
    if scope == LOOP:
        return f"Keep the value of {name} in a register over the loop, and store it once behind it."
    if not store.loops:
        return f"Keep the value in a register: the thread reads back from {name} what it stored itself."
    if all(c.load.loops != store.loops and not c.sync & _ORDERING for c in consumers):
        return (
            f"Merge the loops: each iteration can use the value while it is in a register, without {name},"
            " where the second loop needs no result of the whole first one."
        )
    if all(set(c.load.loops) & set(store.loops) for c in consumers):
        return f"Keep the value in a register: the same iteration reads back from {name} what it stored."
    kept = f"{values} registers a thread" if values else "registers"
    room = f"{per_block} bytes of shared memory a block" if per_block else "shared memory"
    return f"Keep the values in {kept}, or in {room}, or compute them again, in place of {name}."


def _shared(case: Case) -> Iterator[Finding]:
    """Values that go to shared memory and come back to the same thread, and to no other."""
    loads = case.walks.of("load", Space.SHARED)
    for store in case.walks.of("store", Space.SHARED):
        edges = [(load, e) for load in loads for e in case.edges(store, load)]
        if store.loops or not edges or not is_plain(store):
            continue  # whose row a loop goes through cannot be told from the buffers behind it
        mine = all(e.certainty == MUST and e.same_thread for _, e in edges)
        readers = [load for load in loads if any(load is other for other, _ in edges)]
        if not mine or not all(load.same_places(store) for load in readers):
            continue
        sync = sorted({s for _, e in edges for s in e.sync if s in _ORDERING})
        evidence = [*store.at, *(i for load in readers for i in load.at)]
        evidence += [i for _, e in edges[:1] for i in case.flow.synchronisation(e)]
        yield Finding(
            1,
            "round trip through shared memory",
            case.addresses(evidence),
            ("no other thread reads the word; in this kernel none does",),
            "Keep the value in a register: only the thread that stored it reads it back."
            + (" The barrier between is not needed for it." if sync else ""),
            (case.effect("bytes of shared memory", amount_of([store, *readers])),),
            motifs=("roundtrip", "sync") if sync else ("roundtrip",),
            details={"buffer": "shared", "scope": THREAD, "sync": sync},
        )
