"""Rule 3: data are loaded again that a register, or a tile in shared memory, could have kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from sassql.facts.addresses import Address
from sassql.insight.advice_amounts import Amount, amount_of
from sassql.insight.advice_case import Case, thread_atoms
from sassql.insight.advice_records import CERTAIN, MAYBE, Finding
from sassql.insight.advice_walks import Walk, is_plain
from sassql.isa.promises import READ_ONLY

_AXES = ("tid.x", "tid.y", "tid.z")
_UNIT = "bytes that loads ask for"
_CACHES = "the data do not stay in a cache, where loading them again costs little"


def reloads(case: Case) -> Iterator[Finding]:
    """The findings of rule 3."""
    yield from _again(case)
    yield from _passes(case)
    yield from _tiles(case)


def _again(case: Case) -> Iterator[Finding]:
    """The same address twice in one iteration, or in straight code."""
    families = case.walks.families
    orders = case.flow.orders
    for walk in case.global_loads:
        if not is_plain(walk):
            continue
        places: dict[tuple[object, ...], list[Address]] = defaultdict(list)
        for member in walk.members:
            loop = families.loops.of[member.block]
            places[(member.polynomial, member.offset, member.width, loop)].append(member)
        again = [
            m
            for found in places.values()
            for m in found[1:]
            if orders.reaches(found[0].instruction, m.instruction)
        ]
        if not again or _written_between(case, walk, walk):
            continue
        extent = case.walks.extents.extent(again, walk.loops, walk.parent)
        yield _finding(
            case,
            "the same address twice",
            [walk],
            Amount((extent,)),
            "Keep the value in a register: the thread has loaded this address before.",
        )


def _passes(case: Case) -> Iterator[Finding]:
    """Loops that go through the same places, one after the other."""
    found: dict[tuple[object, ...], list[Walk]] = defaultdict(list)
    for walk in case.global_loads:
        if is_plain(walk) and walk.base.kind != "none" and walk.moves:
            key = (walk.base, walk.start, walk.step, bool(walk.loops), walk.parent)
            found[key].append(walk)
    for walks in found.values():
        together = [
            walks[0],
            *(w for w in walks[1:] if case.reaches(walks[0], w) and not _written_between(case, walks[0], w)),
        ]
        if len(together) < 2:
            continue
        first, again = together[0], together[1:]
        values, per_block = case.kept(first)
        if not first.loops:
            action = "Keep the value in a register: the thread has loaded this address before."
        else:
            kept = f"{values} registers a thread" if values else "registers"
            room = f"{per_block} bytes of shared memory a block" if per_block else "shared memory"
            action = f"Keep what the first pass has loaded: {kept}, or {room}."
        yield _finding(case, "several passes over the same data", together, amount_of(again), action)


def _written_between(case: Case, first: Walk, second: Walk) -> bool:
    """True where the kernel itself writes the buffer in between."""
    return any(
        store.base == first.base and case.reaches(first, store) and case.reaches(store, second)
        for store in case.global_stores
    )


def _finding(case: Case, kind: str, walks: list[Walk], amount: Amount, action: str) -> Finding:
    first, last = walks[0], walks[-1]
    name = str(first.base)
    conditions = [_CACHES] if first.loops else []
    read_only = all(case.promised(walk, READ_ONLY) for walk in walks)
    others = [] if read_only else case.between(first, last)
    conditions += [f"{name} and {other} do not overlap" for other in others]
    if read_only:
        conditions.append(f"{name} does not change while the kernel runs, as its loads promise")
    elif not others:
        conditions.append(f"nobody else writes {name} while the kernel runs")
    if case.watched(*walks):
        conditions.append(f"nobody else changes {name} while the kernel runs (the accesses are volatile)")
    as_often = all(walk.extent.levels == first.extent.levels for walk in walks)
    values, per_block = case.kept(first)
    return Finding(
        3,
        kind,
        case.addresses(i for walk in walks for i in walk.at),
        tuple(conditions),
        action,
        (case.effect(_UNIT, amount),),
        CERTAIN if as_often else MAYBE,
        "" if as_often else "the passes may not be equally long",
        ("reload",),
        {
            "buffer": name,
            "times": len(walks) if len(walks) > 1 else 2,
            "values_per_thread": values,
            "bytes_per_block": per_block,
        },
    )


def _tiles(case: Case) -> Iterator[Finding]:
    """Loads in a loop that whole rows of threads share, for sums that leave the loop."""
    stored = [walk for walk in case.global_stores if is_plain(walk)]
    axes = frozenset(atom for walk in stored for atom in thread_atoms(walk.start))
    for walk in case.global_loads:
        mine = thread_atoms(walk.start)
        lacking = sorted(axes - mine)
        inner = bool(walk.loops) and walk.moves and walk.step is not None and is_plain(walk)
        if (
            not inner
            or not mine
            or mine - axes
            or len(lacking) != 1
            or lacking[0] not in ("tid.x", "tid.y", "tid.z")
        ):
            continue
        if any(set(store.loops) & set(walk.loops) for store in case.global_stores):
            continue
        extent = f"n{lacking[0]}"
        name = str(walk.base)
        yield Finding(
            3,
            "a row of threads loads the same data",
            case.addresses(walk.at),
            (f"a block has several threads along {lacking[0][-1]}", _CACHES),
            f"Load a tile of {name} into shared memory once a block: {extent} threads along {lacking[0]} ask"
            " for the same values in each iteration.",
            (case.effect(_UNIT, amount_of([walk], extent)),),
            motifs=("reload", "thread_reduce"),
            details={"buffer": name, "shared_by": extent},
        )
