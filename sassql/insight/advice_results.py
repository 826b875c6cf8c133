"""Rule 2: where the result of a reduction lives that several threads use, and what would be cheaper."""

from __future__ import annotations

from collections.abc import Iterator

from sassql.facts.memory_flow import UNKNOWN
from sassql.insight.advice_case import Case
from sassql.insight.advice_records import CERTAIN, MAYBE, Effect, Finding
from sassql.isa.multiprocessors import multiprocessor
from sassql.model.rows import Row

_FOLDED_IN_HARDWARE = frozenset({"sum", "min", "max", "and", "or", "xor"})
_WORDS = frozenset({"s32", "u32", "b32", "i32"})
_WITH_REDUX = 80
_FREE = frozenset({"min", "max", "and", "or", "xor"})
"""Operations whose order is free: no bit changes."""
_SCALAR, _EVERY, _TREE = "shared scalar", "register of each thread", "shared memory"


def results(case: Case) -> Iterator[Finding]:
    """The findings of rule 2."""
    yield from _blocks(case)
    yield from _warps(case)


def _blocks(case: Case) -> Iterator[Finding]:
    """Results of a whole block."""
    seen: set[tuple[str, int]] = set()
    scalars = case.motifs.rows("result_through_shared")
    for row in case.motifs.rows("warps_through_shared"):
        at = case.motifs.instructions(row)
        key = (str(row.columns["op"]), at[0])
        if key in seen:
            continue
        seen.add(key)
        scalar = _scalar_of(case, row, scalars)
        if scalar is not None:
            yield _through_scalar(case, row, scalar)
        elif (ladder := _second_ladder(case, row)) is not None:
            yield _in_each_thread(case, row, ladder)
    trees: dict[str, list[int]] = {}
    for row in case.motifs.rows("shared_tree"):
        trees.setdefault(str(row.columns["op"]), []).extend(case.motifs.instructions(row))
    for op, at in trees.items():
        yield _tree(case, op, sorted(set(at)))


def _second_ladder(case: Case, row: Row) -> list[int] | None:
    """The ladder over the warps' partial results, where every lane has its result and several use it."""
    found = case.motifs.instructions(row, "hi")
    if not found:
        return None
    butterflies = [r for r in case.motifs.rows("warp_ladder") if r.columns["dir"] == "xor"]
    if not any(found[-1] in case.motifs.instructions(r) for r in butterflies):
        return None
    of, loops = case.walks.families.control.blocks.of, case.walks.loops
    users = _users(case, found[-1])
    looped = any(loops.enclosing(int(of[user])) for user in users)
    return found if looped or len(users) > 1 else None


def _scalar_of(case: Case, row: Row, scalars: list[Row]) -> list[int] | None:
    """The store, barrier and load by which one thread tells the others the result."""
    at = case.motifs.instructions(row)
    ladder = case.walks.families.control.blocks.of
    for scalar in scalars:
        found = case.motifs.instructions(scalar)
        if found[0] > at[-1] and int(ladder[found[0]]) >= int(ladder[at[-1]]):
            return found
    return None


def _order(op: str) -> tuple[str, ...]:
    """The premise of another order of folding."""
    if op in _FREE:
        return ()
    return (f"another order of the {op} is accepted (level E1 of `sassql compare`, E0 for integers)",)


def _barriers(case: Case, first: int, last: int) -> tuple[int, ...]:
    return case.flow.orders.instructions("barrier", first, last)


def _through_scalar(case: Case, row: Row, scalar: list[int]) -> Finding:
    op = str(row.columns["op"])
    at = case.motifs.instructions(row)
    loads = [e.load for e in case.flow.out_of(scalar[0]) if e.certainty != UNKNOWN and e.load > scalar[0]]
    barriers = _barriers(case, at[0], min(loads, default=scalar[-1]))
    return Finding(
        2,
        f"result in a {_SCALAR}",
        case.addresses([*at, scalar[0], *loads, *barriers]),
        ("a block has at most 32 warps", *_order(op)),
        f"Let every warp fold the results of the warps itself ({op}, by a butterfly): each thread then has"
        " the result in a register, without the store, the barrier and the load behind it.",
        (Effect("barriers a block", "1"),),
        motifs=("block_reduce", "broadcast", "sync"),
        details={"op": op, "place": _SCALAR, "barriers": len(barriers), "consumers": len(loads)},
    )


def _in_each_thread(case: Case, row: Row, ladder: list[int]) -> Finding:
    op = str(row.columns["op"])
    at = case.motifs.instructions(row)
    barriers = _barriers(case, at[0], ladder[-1])
    return Finding(
        2,
        f"result in a {_EVERY}",
        case.addresses([*at, *ladder, *barriers]),
        (
            "one warp can do the work of the block: the data of a row are few, or rows are many",
            *_order(op),
        ),
        "Nothing is cheaper for a whole block: every warp folds the results of the warps, and each thread has"
        " the total in a register. With one warp for each row the shuffles alone would do, without shared"
        " memory and barriers.",
        (Effect("barriers a block", str(len(barriers)), at_most=True),),
        MAYBE,
        "whether a warp is enough depends on the launch",
        ("block_reduce", "broadcast", "sync"),
        {"op": op, "place": _EVERY, "barriers": len(barriers), "consumers": len(_users(case, ladder[-1]))},
    )


def _tree(case: Case, op: str, at: list[int]) -> Finding:
    barriers = _barriers(case, at[0], at[-1])
    loops = case.walks.loops
    of = case.walks.families.control.blocks.of
    inside = [b for b in barriers if loops.enclosing(int(of[b]))]
    formula = str(max(len(barriers) - 1, 0))
    if inside:
        formula = "ceil(log2(threads))" + (" - 1" if len(barriers) == len(inside) else "")
    return Finding(
        2,
        f"tree through {_TREE}",
        case.addresses([*at, *barriers]),
        ("whole warps take part", *_order(op)),
        "Fold each warp by shuffles first, and pass one value a warp through shared memory: one barrier is"
        " left.",
        (Effect("barriers a block", formula, at_most=True),),
        motifs=("block_reduce", "sync"),
        details={"op": op, "place": _TREE, "barriers": len(barriers), "consumers": 1},
    )


def _warps(case: Case) -> Iterator[Finding]:
    """Results of a warp: a shuffle that a butterfly would save, shuffles that one instruction does."""
    for row in case.motifs.rows("result_by_shuffle"):
        at = case.motifs.instructions(row)
        yield Finding(
            2,
            "result sent by a shuffle",
            case.addresses(at),
            ("all lanes of the warp take part",),
            "Use a butterfly (`__shfl_xor_sync`): all lanes then have the result, bit for bit, without the"
            " last shuffle.",
            (Effect("shuffles a warp", "1"),),
            motifs=("warp_reduce", "broadcast"),
            details={"op": row.columns["op"], "place": "register of one lane", "barriers": 0},
        )
    number = int("".join(c for c in case.kernel.arch if c.isdigit()) or 0)
    if number < _WITH_REDUX or multiprocessor(case.kernel.arch) is None:
        return
    for row in case.motifs.rows("warp_ladder"):
        op, dtype, width = (row.columns[name] for name in ("op", "dtype", "width"))
        if op in _FOLDED_IN_HARDWARE and dtype in _WORDS and width == 32:
            steps = int(row.columns["steps"])
            yield Finding(
                2,
                "integer ladder of shuffles",
                case.addresses(case.motifs.instructions(row)),
                ("all lanes of the mask take part",),
                f"Use one `__reduce_{'add' if op == 'sum' else op}_sync`: the hardware folds integers of a"
                " warp itself.",
                (Effect("instructions a warp", str(2 * steps - 1)),),
                CERTAIN,
                motifs=("warp_reduce",),
                details={"op": op, "place": "register of each lane", "barriers": 0},
            )


def _users(case: Case, last: int) -> set[int]:
    """Instructions that read what an instruction makes."""
    ssa, copies = case.walks.families.control.ssa, case.walks.families.control.copies
    roots = {copies.root(value) for _, _, value in ssa.definitions_of(last)}
    values = [v for v in range(len(ssa)) if copies.root(v) in roots]
    return {index for value in values for index, *_ in ssa.users(value)}
