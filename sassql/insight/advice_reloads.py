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
_TWICE = "the same address twice"
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
    for walk in case.global_loads:
        if not is_plain(walk):
            continue
        places: dict[tuple[object, ...], list[Address]] = defaultdict(list)
        for member in walk.members:
            loop = families.loops.of[member.block]
            places[(member.polynomial, member.offset, member.width, loop)].append(member)
        again = [m for found in places.values() for m in found[1:] if case.comes_before(found[0], m)]
        if not again or _written_between(case, walk, walk):
            continue
        extent = case.walks.extents.extent(again, walk.loops, walk.parent)
        yield _finding(
            case,
            _TWICE,
            [walk],
            Amount((extent,)),
            "Keep the value in a register: the thread has loaded this address before.",
            "",
        )


def _passes(case: Case) -> Iterator[Finding]:
    """Loops that go through the same places, one after the other."""
    found: dict[tuple[object, ...], list[Walk]] = defaultdict(list)
    for walk in case.global_loads:
        if is_plain(walk) and walk.base.kind != "none" and walk.moves:
            key = (walk.base, walk.start, walk.step, bool(walk.loops), walk.parent)
            found[key].append(walk)
    straight: dict[object, list[list[Walk]]] = defaultdict(list)
    for walks in found.values():
        later = [w for w in walks[1:] if case.precedes(walks[0], w)]
        together = [walks[0], *(w for w in later if not _written_between(case, walks[0], w))]
        if len(together) > 1 and together[0].loops:
            yield _loops_again(case, together, case.in_turn(together))
        elif len(together) > 1:
            straight[together[0].base].append(together)
    for groups in straight.values():
        yield _blocks_again(case, groups)


def _loops_again(case: Case, together: list[Walk], turns: list[Walk]) -> Finding:
    values, per_block = case.kept(together[0])
    kept = f"{values} registers a thread" if values else "registers"
    room = f"{per_block} bytes of shared memory a block" if per_block else "shared memory"
    as_often = all(walk.extent.levels == together[0].extent.levels for walk in together)
    return _finding(
        case,
        "several passes over the same data",
        together,
        amount_of(turns[1:]),
        f"Keep what the first pass has loaded: {kept}, or {room}.",
        "" if as_often else "the passes may not be equally long",
        len(turns),
    )


def _blocks_again(case: Case, groups: list[list[Walk]]) -> Finding:
    """The same addresses of one buffer in blocks of straight code, all in one finding."""
    dominates = case.walks.families.control.tree.dominates
    first = all(dominates(w.members[0].block, o.members[0].block) for w, *others in groups for o in others)
    again = [other for _, *others in groups for other in others]
    return _finding(
        case,
        _TWICE,
        [walk for group in groups for walk in group],
        amount_of(again),
        "Keep the value in a register: the thread has loaded this address before.",
        "" if first else "the first load may not have happened",
    )


def _written_between(case: Case, first: Walk, second: Walk) -> bool:
    """True where the kernel itself writes the buffer in between."""
    return any(
        store.base == first.base and case.reaches(first, store) and case.reaches(store, second)
        for store in case.global_stores
    )


def _finding(
    case: Case, kind: str, walks: list[Walk], amount: Amount, action: str, doubt: str, times: int = 2
) -> Finding:
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
    values, per_block = case.kept(first)
    return Finding(
        3,
        kind,
        case.addresses(i for walk in walks for i in walk.at),
        tuple(conditions),
        action,
        (case.effect(_UNIT, amount),),
        MAYBE if doubt else CERTAIN,
        doubt,
        ("reload",),
        {
            "buffer": name,
            "times": times,
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
