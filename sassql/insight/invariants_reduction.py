"""Reductions: the domain as a product of loops, lanes, warps and blocks, and how free the order is."""

from __future__ import annotations

from collections.abc import Iterator

from sassql.facts.addresses import Address, AddressKind
from sassql.facts.meanings import Meanings
from sassql.facts.memory_flow import MemoryEdge
from sassql.facts.polynomials import counter, mentioned
from sassql.facts.values import ValueKind
from sassql.insight.invariants_dependency import place_of
from sassql.insight.invariants_flow import OUTSIDE, Flow
from sassql.insight.invariants_stages import (
    BLOCK,
    GRID,
    LANES,
    MOST_MOVES,
    PARTNERS,
    STATES,
    THREAD,
    WARP,
    Stage,
    Stages,
    independent,
    step_of,
)
from sassql.insight.invariants_statements import Factor, Reduction
from sassql.insight.invariants_strides import (
    FIXED,
    counted_by,
    order_of,
    strides,
    unrolled_strides,
    within_block,
)
from sassql.isa.spaces import Space

_LANE, _BLOCK = ("tid.x", "laneid"), ("ctaid.x",)
_LEVELS = {THREAD: 0, LANES: 1, BLOCK: 2, GRID: 3}
_PRODUCTS = ("fma", "mma", "dot2", "dot4")
_FOLDS = {"add": "sum", "max": "max", "min": "min", "mul": "prod", "and": "and", "or": "or", "xor": "xor"}


class Reductions:
    """Links the stages of one kernel to reductions."""

    def __init__(self, flow: Flow, stages: Stages) -> None:
        self.flow, self.source = flow, stages
        self.meanings: Meanings = flow.kernel.fact("meanings")
        self.stages = stages.find()
        self._home = {index: stage for stage in self.stages for index in stage.indices}

    def find(self) -> Iterator[Reduction]:
        """Every reduction, with equal ones together, then the recurrences whose order is fixed."""
        feeding = {id(stage): self._feeders(stage) for stage in self.stages}
        used = {id(f) for feeders in feeding.values() for f in feeders}
        made: dict[tuple[object, ...], Reduction] = {}
        for stage in self.stages:
            if id(stage) in used:
                continue
            found = self._reduction(self._chain(stage, feeding))
            key = found.op, found.dtype, found.text, found.order
            known = made.get(key)
            at = found.at if known is None else tuple(sorted({*known.at, *found.at}))
            made[key] = Reduction(
                found.op, found.dtype, found.factors, found.order, found.why, at, found.status, found.premise
            )
        yield from made.values()
        yield from self._recurrences()

    # --- links

    def _chain(self, last: Stage, feeding: dict[int, list[Stage]]) -> list[Stage]:
        """A stage and all that feed it, in the order of the flow."""
        found: dict[int, Stage] = {}
        pending = [last]
        while pending:
            stage = pending.pop()
            if id(stage) not in found:
                found[id(stage)] = stage
                pending += feeding[id(stage)]
        rest, ordered = (
            sorted(found.values(), key=lambda s: (_LEVELS[s.level], min(s.indices))),
            list[Stage](),
        )
        while rest:
            placed = {id(s) for s in ordered}
            ready = (s for s in rest if all(id(f) in placed for f in feeding[id(s)]))
            following = next(ready, rest[0])
            rest.remove(following)
            ordered.append(following)
        return ordered

    def _feeders(self, stage: Stage) -> list[Stage]:
        """Stages of the same operation whose result this one folds."""
        found: dict[int, Stage] = {}
        for value in self.entering(stage, folded=True):
            for home in self._results(value, stage, set()):
                if min(home.indices) < max(stage.indices):
                    found[id(home)] = home
        if stage.kind in STATES:
            found |= {id(s): s for s in self._states_before(stage)}
        return list(found.values())

    def _states_before(self, stage: Stage) -> list[Stage]:
        """Stages with the same kind of state, which is rescaled on the way."""
        others = frozenset(self._home) - stage.indices
        walk = self.flow.walk(self.entering(stage), stop=others)
        homes = {id(h): h for i in walk.instructions & others if (h := self._home[i]).kind == stage.kind}
        return [h for h in homes.values() if min(h.indices) < min(stage.indices)]

    def _results(self, value: int, stage: Stage, seen: set[int]) -> list[Stage]:
        """The stages whose results a value is: one of them, moved, or several of them folded."""
        value = self.flow.copies.root(value)
        if value in seen or not self.flow.work.take() or len(seen) > MOST_MOVES:
            return []
        seen.add(value)
        is_made = self.flow.ssa.kind[value] is ValueKind.DEF
        home = self._home.get(self.flow.ssa.instruction[value]) if is_made else None
        if home is not None and home is not stage:
            return [home] if home.kind in (stage.kind, PARTNERS.get(stage.kind)) else []
        meaning = self.meanings.of(value)
        if meaning is not None and _FOLDS.get(meaning.operation) == stage.kind:
            parts = [t for t in meaning.operands if t.values and not (t.negated or t.absolute)]
            found = [self._results(t.values[0], stage, set(seen)) for t in parts]
            return [s for part in found for s in part] if len(parts) > 1 and all(found) else []
        return [s for v in self._moved_from(value) for s in self._results(v, stage, seen)]

    def entering(self, stage: Stage, *, folded: bool = False) -> list[int]:
        """The values that a stage's instructions read and do not make; ``folded``: the factors left out."""
        ssa = self.flow.ssa
        found: list[int] = []
        for index in sorted(stage.indices):
            if index in stage.inner:
                for edge in self.flow.sources(index):
                    found += self.flow.stored(edge.store)
                continue
            factors = self._multiplied(index) if folded else frozenset()
            for _, _, value in ssa.uses_of(index):
                if self.flow.copies.root(value) in factors:
                    continue
                root = self.flow.copies.root(value)
                if ssa.kind[root] is not ValueKind.DEF or ssa.instruction[root] not in stage.indices:
                    found.append(value)
        return found

    def _multiplied(self, index: int) -> frozenset[int]:
        """The factors of a multiply-add, by root."""
        meaning = next((m for m in self.meanings.at(index) if m.operation in _PRODUCTS), None)
        return frozenset(v for t in meaning.operands[:2] for v in t.values) if meaning else frozenset()

    def _moved_from(self, value: int) -> tuple[int, ...]:
        """The values that one is a copy or a choice of, from another lane or from memory too."""
        flow = self.flow
        step = flow.step(value)
        if flow.ssa.kind[value] in (ValueKind.PHI, ValueKind.PSI) or step.crossed:
            return step.values
        meaning = self.meanings.of(value)
        if meaning is None or meaning.operation not in ("select", "shuffle", "permute", "convert"):
            return ()
        parts = {"select": meaning.operands[1:], "shuffle": meaning.operands[:1]}.get(
            meaning.operation, meaning.operands
        )
        return tuple(v for part in parts for v in part.values)

    # --- one reduction

    def _reduction(self, chain: list[Stage]) -> Reduction:
        last = chain[-1]
        loads = self._loads(chain)
        factors = tuple(self._factors(chain, loads))
        if not any(f.over == "blocks" for f in factors):
            factors += tuple(self._partials(chain))
        dtype = next((s.dtype for s in reversed(chain) if s.dtype), "")
        op = next((s.op for s in chain if s.op == "sum_of_products"), last.op)
        order, why = order_of(last.op, dtype, [s.via for s in chain])
        status = "match" if all(s.status == "match" for s in chain) else "maybe"
        at = self.flow.at(i for s in chain for i in s.indices)
        return Reduction(op, dtype, factors, order, why, at, status, self._premise(chain))

    def _premise(self, chain: list[Stage]) -> str:
        found = []
        if self.source.gave_up:
            found.append("no part of it was missed: a search ended early")
        if any(s.level == GRID for s in chain):
            found.append("threads that a guard keeps from the atomic add nothing")
        if any(s.level == BLOCK and s.via == "shared" for s in chain):
            found.append("every warp of the block comes to the barrier with its partial result stored")
        if any(s.level in (LANES, BLOCK) for s in chain):
            found.append("all lanes are active; lane = tid.x % 32 where the strides are said of lanes")
        return "; ".join(found)

    def _loads(self, chain: list[Stage]) -> list[Address]:
        """The loads from outside memory that the first stages fold, each place once."""
        flow, stop = self.flow, frozenset(self._home)
        values = [v for stage in chain for v in self.entering(stage)]
        own = frozenset().union(*(stage.indices for stage in chain))
        walk = flow.walk(values, stop=stop - own)
        found: dict[tuple[object, ...], Address] = {}
        for load in sorted(walk.loads):
            address = flow.read_at(load)
            if address is not None and address.space in OUTSIDE and address.access == "load":
                if flow.sources(load):
                    continue  # what this kernel has stored itself
                found.setdefault((address.base, address.polynomial, address.offset), address)
        return list(found.values())

    def _factors(self, chain: list[Stage], loads: list[Address]) -> Iterator[Factor]:
        """The factors of a chain; loops that go on with each other's result are one."""
        level = ""
        for stages in _runs(chain):
            first = stages[0]
            if first.op.startswith("scan") and first.level == level:
                continue  # the second half of the same scan
            match first.level:
                case "thread" if level:
                    folded = self._serial(stages)
                    yield folded
                    if folded.over == "blocks":
                        return  # what follows folds these partial results
                case "thread":
                    yield from self._thread(stages, loads)
                case "warp":
                    yield self._lanes(first, loads)
                case "block":
                    yield self._block(first, loads)
                case _:
                    yield from self._grid(first, loads, level)
            level = first.level

    def _serial(self, stages: list[Stage]) -> Factor:
        """Partial results of warps or blocks that one thread, or each, folds one after the other."""
        through = {e.space for s in stages for i in s.indices for e in self._read_by(i)}
        at = self.flow.at(i for s in stages for i in s.indices)
        bound = "; ".join(self._loop_text(n)[2] for n in stages[0].loops[:1])
        if Space.SHARED.value in through:
            return Factor("warps", f"{self._threads()} / 32", "shared memory", at, bound=bound)
        return Factor("blocks", "nctaid.x", "by the last block", at, bound=bound)

    def _read_by(self, index: int) -> list[MemoryEdge]:
        """Where the partial results come from that an instruction folds."""
        ssa = self.flow.ssa
        steps = (self.flow.step(v) for _, _, v in ssa.uses_of(index))
        return [edge for step in steps for edge in step.crossed]

    def _loop_text(self, number: int) -> tuple[str, str, str]:
        loop, found = self.flow.loops[number], self.flow.counters[number]
        kappa = counter(number, loop.header)
        bound = next((b for b in found.bounds if b.left.coefficient(kappa)), None)
        return counted_by(bound, number, loop.header)

    def _thread(self, stages: list[Stage], loads: list[Address]) -> Iterator[Factor]:
        flow = self.flow
        main = max(stages, key=lambda s: (bool(s.loops), len(s.indices)))
        at = flow.at(i for s in stages for i in s.indices)
        folds: dict[tuple[int, ...], int] = {}
        for stage in stages:  # the copies of an unrolled loop, each with its own accumulators
            key = stage.loops or (-1 - flow.of[min(stage.indices)],)
            folds[key] = folds.get(key, 0) + len(stage.indices)
        parts = tuple(folds.values()) if len(folds) > 1 else ()
        for place, number in enumerate(main.loops):
            loop, found = flow.loops[number], flow.counters[number]
            init, step, until = self._loop_text(number)
            trips = "" if found.trips is None else str(found.trips)
            mine = [a for a in loads if a.block in loop.blocks]
            apart = strides(mine, [a.stride(number) for a in mine], rounds=True)
            inner = not place
            counted = inner and not main.via and main.kind in _FOLDS.values()
            yield Factor(
                "loop",
                trips,
                main.via,
                at,
                init,
                step,
                until,
                strides=apart,
                folds=folds[main.loops] if counted else 0,
                parts=parts if inner else (),
            )
        if main.via:
            yield Factor("fragment", main.via.removeprefix("fragment").strip() or "?", "tensor core", at)
        elif not main.loops:
            count = str(len(main.indices)) if main.kind not in STATES else "?"
            yield Factor("unrolled", count, "", at, strides=unrolled_strides(loads))

    def _lanes(self, stage: Stage, loads: list[Address]) -> Factor:
        rank = independent(stage.offsets)
        extent = str(1 << rank) if stage.offsets else "?"
        by = min(stage.offsets, default=1)
        apart = strides(loads, [within_block(a, _LANE, by) for a in loads])
        found = rank if stage.offsets else None
        return Factor(
            "lanes",
            extent,
            stage.via,
            self.flow.at(stage.indices),
            rank=found,
            offsets=stage.offsets,
            strides=apart,
        )

    def _block(self, stage: Stage, loads: list[Address]) -> Factor:
        at = self.flow.at(stage.indices)
        if stage.via != "shared":
            size = 1 << independent(stage.offsets)
            known = stage.via == "shared tree" and stage.offsets and size == 2 * max(stage.offsets)
            apart = strides(loads, [within_block(a, _LANE, 1) for a in loads])
            return Factor("threads", str(size) if known else self._threads(), stage.via, at, strides=apart)
        apart = strides(loads, [within_block(a, ("tid.x",), WARP) for a in loads])
        bound = f"stored at {place_of(stage.address)}" if stage.address is not None else ""
        return Factor("warps", f"{self._threads()} / 32", "shared memory", at, bound=bound, strides=apart)

    def _threads(self) -> str:
        """Threads of a block: a number where the kernel is compiled for one."""
        required = self.flow.kernel.resources.required_block
        if required is not None:
            return str(required[0] * required[1] * required[2])
        used = {n for n in ("x", "y", "z") for a in self.flow.accesses if f"tid.{n}" in str(a.polynomial)}
        return " * ".join(f"ntid.{n}" for n in sorted(used | {"x"}))

    def _grid(self, stage: Stage, loads: list[Address], level: str) -> Iterator[Factor]:
        """Who meets in the place of an atomic; ``level`` is what was folded before."""
        at, address = self.flow.at(stage.indices), stage.address
        where = "" if address is None else f"at {place_of(address)}"
        if address is None or address.kind in (AddressKind.DATA, AddressKind.OPAQUE):
            which = "those whose loaded index is the same" if address is not None else "?"
            yield Factor("threads", which, stage.via, at, bound=where)
            return
        names = {a.name for a in mentioned(address.polynomial)}
        by_lane = any(n.startswith(("tid.", "laneid")) for n in names)
        if not by_lane and level != BLOCK:
            steps = [within_block(a, _LANE, 1) for a in loads]
            if level == LANES:
                yield Factor("warps", f"{self._threads()} / 32", stage.via, at, bound=where)
            else:
                yield Factor(
                    "threads", self._threads(), stage.via, at, bound=where, strides=strides(loads, steps)
                )
        if address.space is not Space.SHARED and not any(n.startswith("ctaid.") for n in names):
            apart = strides(loads, [step_of(a.polynomial, _BLOCK, 1) for a in loads])
            yield Factor("blocks", "nctaid.x", stage.via, at, bound=where, strides=apart)

    def _partials(self, chain: list[Stage]) -> Iterator[Factor]:
        """Blocks that leave one value each: another kernel, or the last block, folds those."""
        own = {i for stage in chain for i in stage.indices}
        for row in self.source.rows["grid_reduce"]:
            via = row.columns.get("via")
            numbers = self.source.numbers(row, "p")
            if via not in ("partials", "last_block") or not own & numbers:
                continue
            stores = [a for a in self.flow.outputs if a.instruction in numbers and a.access == "store"]
            if stores and any("ctaid" in str(a.polynomial) for a in stores):
                at = self.flow.at(a.instruction for a in stores)
                bound = f"one value each at {place_of(stores[0])}"
                yield Factor("blocks", "nctaid.x", "partials", at, bound=bound)
                return

    # --- what is no reduction

    def _recurrences(self) -> Iterator[Reduction]:
        """Chains in which each step needs the one before: Horner's rule, recurrences."""
        together: dict[str, list[Stage]] = {}
        taken = set(self._home)
        rows = [r for r in self.source.rows["fma_chain"] if r.columns.get("loop") == "yes"]
        for kind in ("recurrence", "horner"):
            for row in rows:
                indices = self.source.numbers(row)
                if row.columns.get("kind") != kind or indices & taken:
                    continue
                taken |= indices
                dtype = next((m.type for i in indices for m in self.meanings.at(i) if m.type), "")
                loops = self.source.carried(indices)
                together.setdefault(kind, []).append(
                    Stage(THREAD, kind, dtype, "", indices, row.status, loops=loops)
                )
        for kind, stages in together.items():
            at = self.flow.at(i for s in stages for i in s.indices)
            why = "each step multiplies what the step before has made"
            factors = tuple(self._thread(stages, []))
            yield Reduction(kind, stages[0].dtype, factors, FIXED, why, at, stages[0].status)


def _runs(chain: list[Stage]) -> list[list[Stage]]:
    """The chain with threads' stages that follow each other together."""
    found: list[list[Stage]] = []
    for stage in chain:
        if found and stage.level == found[-1][-1].level == THREAD:
            found[-1].append(stage)
        else:
            found.append([stage])
    return found
