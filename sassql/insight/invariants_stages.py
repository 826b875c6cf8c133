"""Stages of reductions: what one thread, the lanes of a warp, the warps of a block, or all threads fold.

Stages come from the motif library and from atomics; :mod:`sassql.insight.invariants_reduction` links them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from sassql.engine.budget import Budget
from sassql.engine.functions import rank
from sassql.engine.library import Library
from sassql.engine.matching import is_meant_for, match_motif
from sassql.engine.plan import MotifPlan
from sassql.facts.addresses import Address
from sassql.facts.choices import substitute, substitute_inside
from sassql.facts.meanings import Meanings
from sassql.facts.polynomials import Atom, AtomKind, Polynomial, mentioned
from sassql.insight.invariants_flow import Flow
from sassql.isa.meanings import TYPES
from sassql.isa.spaces import Space
from sassql.lang.check import load
from sassql.lang.library import find_motif
from sassql.model.form import Form
from sassql.model.rows import Row
from sassql.resources import folder

PARTS = ("accumulation", "unrolled_accumulation", "online_softmax", "welford_state")
"""What `thread_reduce` is made of: each may end where all together take too long."""
MOTIFS = (
    "thread_reduce",
    *PARTS,
    "warp_reduce",
    "warps_through_shared",
    "shared_tree",
    "block_reduce",
    "grid_reduce",
    "scan",
    "mma_accumulate",
    "fma_chain",
)
_ATOMIC = {"ADD": "sum", "INC": "sum", "MAX": "max", "MIN": "min", "AND": "and", "OR": "or", "XOR": "xor"}
WARP = 32
MOST_MOVES = 400
"""Values that are looked at on the way from a fold to the result that it folds."""
STATES = frozenset({"online", "welford"})
PARTNERS = {"argmax": "max", "argmin": "min"}
"""Folds of the values alone, which a fold of pairs goes on with."""
MOST_IN_LOOP = 5_000
"""Values that are looked at to see whether a loop carries what it folds."""
THREAD, LANES, BLOCK, GRID = "thread", "warp", "block", "grid"


@cache
def _plans() -> dict[str, MotifPlan]:
    file, library = load(folder("patterns") / "classes.sq"), Library()
    homes = {name: find_motif(name, file) for name in MOTIFS}
    return {name: library.plan(*home) for name, home in homes.items() if home is not None}


@dataclass(slots=True, eq=False)
class Stage:
    """Folds that belong together. ``indices`` are instruction numbers, ``columns`` the motif's."""

    level: str
    op: str
    dtype: str
    via: str
    indices: frozenset[int]
    status: str = "match"
    offsets: tuple[int, ...] = ()
    address: Address | None = None
    loops: tuple[int, ...] = ()
    inner: frozenset[int] = field(default_factory=frozenset)
    """Of a stage through shared memory: the loads there, which read what other warps stored."""

    @property
    def kind(self) -> str:
        """The operation, a sum of products being a sum."""
        return {"sum_of_products": "sum"}.get(self.op, self.op)


class Stages:
    """Finds the stages of one kernel; ``gave_up`` has the reasons of searches that did not end."""

    def __init__(self, flow: Flow, budget: int) -> None:
        self.flow = flow
        self.kernel = flow.kernel
        self.meanings: Meanings = flow.kernel.fact("meanings")
        self.gave_up: list[str] = []
        self.rows: dict[str, list[Row]] = {}
        for name in MOTIFS:
            needless = name in PARTS and not self.gave_up  # then `thread_reduce` has said it all
            self.rows[name] = [] if needless else self._rows(name, budget)

    def _rows(self, name: str, budget: int) -> list[Row]:
        plan = _plans()[name]
        rows = match_motif(plan, self.kernel, Budget(budget)) if is_meant_for(plan, self.kernel.arch) else []
        self.gave_up += [row.reason for row in rows if row.status == "gave_up"]
        return [row for row in rows if row.status != "gave_up"]

    def numbers(self, row: Row, *labels: str) -> frozenset[int]:
        """Instruction numbers under some labels of a row, or under all of them."""
        chosen = [row.instructions.get(label, ()) for label in labels or row.instructions]
        found = [i.address for part in chosen for i in part]
        return frozenset(np.searchsorted(self.kernel.addresses, found).tolist())

    def find(self) -> list[Stage]:
        """Every stage, those that are a part of another one left out."""
        blocks = [*self._through_shared(), *self._trees(), *self._barriers()]
        inside = frozenset().union(*(stage.indices for stage in blocks))
        warps = [s for s in _largest(self._warps()) if not s.indices <= inside]
        threads = [s for s in _largest([*self._threads(), *self._fragments()]) if not s.indices & inside]
        return [*threads, *warps, *blocks, *self._atomics()]

    # --- one thread

    def _threads(self) -> Iterator[Stage]:
        for row in self.rows["thread_reduce"] or self._parts():
            indices, columns = self.numbers(row), row.columns
            loops = self.carried(indices) if columns.get("loop") != "no" else ()
            yield Stage(
                THREAD, _word(columns, "op"), _word(columns, "dtype"), "", indices, row.status, loops=loops
            )

    def _parts(self) -> list[Row]:
        """Rows of the parts; a maximum may belong to a running state that was not looked for to the end."""
        found = [row for part in PARTS for row in self.rows[part]]
        is_state = any("online_softmax" in reason for reason in self.gave_up) or self.rows["online_softmax"]
        return [row for row in found if not (is_state and row.columns.get("op") == "max")]

    def _fragments(self) -> Iterator[Stage]:
        """Tensor-core accumulators: each instruction folds along the fragment's inner axis."""
        together: dict[tuple[int, ...], set[int]] = {}
        for row in self.rows["mma_accumulate"]:
            indices = self.numbers(row)
            together.setdefault(self.carried(indices), set()).update(indices)
        for loops, found in together.items():
            meaning = next((m for i in found for m in self.meanings.at(i) if m.operation == "mma"), None)
            dtype, shape = (meaning.type, meaning.detail) if meaning is not None else ("", "")
            via = f"fragment {shape}".strip()
            yield Stage(THREAD, "sum_of_products", dtype, via, frozenset(found), loops=loops)

    def carried(self, indices: frozenset[int]) -> tuple[int, ...]:
        """The loops that carry what ``indices`` fold, the innermost first."""
        flow = self.flow
        if not indices:
            return ()
        found = []
        around = flow.loops.enclosing(flow.of[max(indices)])
        made = [flow.ssa.definitions_of(i) for i in indices]
        behind = flow.walk([v for part in made for _, _, v in part]) if around else None
        for number in around:
            header = flow.loops[number].header
            counting = {c.value for c in flow.counters[number].counters}
            phis = {p for p in (behind.values if behind else ()) if flow.ssa.block[p] == header}
            phis = {p for p in phis if flow.ssa.kind[p].value == "phi" and p not in counting}
            if any(self._comes_back(p, number, indices) for p in phis):
                found.append(number)
        return tuple(found)

    def _comes_back(self, phi: int, number: int, indices: frozenset[int]) -> bool:
        flow, inside = self.flow, self.flow.loops[number].blocks
        before = flow.blocks.predecessors[flow.loops[number].header]
        back = [v for v, b in zip(flow.ssa.inputs[phi], before, strict=False) if b in inside]
        seen: set[int] = set()
        while back:
            value = flow.copies.root(back.pop())
            if value in seen:
                continue
            seen.add(value)
            step = flow.step(value)
            if step.instruction in indices:
                return True
            if len(seen) < MOST_IN_LOOP:
                back += step.values
        return False

    # --- the lanes of a warp

    def _warps(self) -> Iterator[Stage]:
        for row in self.rows["warp_reduce"]:
            yield self._ladder(row, self.numbers(row))
        for row in self.rows["scan"]:
            indices = self.numbers(row)
            op = f"scan of {_word(row.columns, 'op')}"
            dtype = next((m.type for i in indices for m in self.meanings.at(i) if m.operation == "add"), "")
            level = BLOCK if row.columns.get("scope") == "block" else LANES
            yield Stage(level, op, dtype, "up", indices, row.status, self._offsets(indices))

    def _ladder(self, row: Row, indices: frozenset[int]) -> Stage:
        columns, dir_ = row.columns, _word(row.columns, "dir")
        offsets = tuple(1 << n for n in range(4, -1, -1)) if dir_ == "redux" else self._offsets(indices)
        return Stage(LANES, _word(columns, "op"), _word(columns, "dtype"), dir_, indices, row.status, offsets)

    def _offsets(self, indices: Iterable[int]) -> tuple[int, ...]:
        """The lane distances of the shuffles among ``indices``, each once; of a rolled ladder too."""
        found: list[int] = []
        for index in sorted(indices):
            for meaning in self.meanings.at(index):
                if meaning.operation == "shuffle":
                    delta = meaning.operands[1]
                    found += [delta.number] if delta.number is not None else self._rolled(delta.values, index)
        return tuple(dict.fromkeys(found))

    def _rolled(self, values: Sequence[int], index: int) -> list[int]:
        """The distances that a loop goes through, where it starts from a number."""
        flow = self.flow
        around = flow.loops.enclosing(flow.of[index])
        if len(values) != 1 or not around:
            return []
        polynomial = flow.counters.of(values[0], flow.of[index])
        atoms = {a for a in mentioned(polynomial) if a.kind is AtomKind.COUNTER and a.number == around[0]}
        found = []
        for count in range(6):
            value = moved(polynomial, dict.fromkeys(atoms, count)).value
            if not value:
                break
            found.append(value)
        return found

    # --- the warps of a block

    def _through_shared(self) -> list[Stage]:
        """A stage for each load of partial results: with the nearest store of such before it.

        Loads that one thread makes one after the other, in a loop or not, are one stage.
        """
        serial: dict[tuple[str, frozenset[int]], Stage] = {}
        found = []
        for stage, store in self._pairs_through_shared():
            known = serial.get((stage.op, store)) if not stage.offsets else None
            if known is None:
                found.append(stage)
                serial[stage.op, store] = stage
                continue
            known.indices |= stage.indices
            known.inner |= stage.inner
            known.loops = tuple(dict.fromkeys((*known.loops, *stage.loops)))
        return found

    def _pairs_through_shared(self) -> Iterator[tuple[Stage, frozenset[int]]]:
        best: dict[frozenset[int], tuple[int, Row]] = {}
        for row in self.rows["warps_through_shared"]:
            load, store = self.numbers(row, "ld"), max(self.numbers(row, "st"), default=-1)
            nearest = best.get(load)
            behind = store < min(load, default=0)
            if nearest is None or (behind and store > nearest[0]):
                best[load] = store, row
        for _, row in best.values():
            hi, loads = self.numbers(row, "hi"), self.numbers(row, "ld")
            folds = hi | self.numbers(row, "g")
            lo = next((s for s in self._warps() if s.indices <= self.numbers(row, "lo")), None)
            address = self.flow.addresses.of(max(self.numbers(row, "st")))
            loops = self.carried(folds) if not hi else ()
            stores = self.numbers(row, "st")
            dtype = lo.dtype if lo is not None else ""
            op, indices = _word(row.columns, "op"), folds | loads | stores
            offsets = self._offsets(hi)
            made = Stage(BLOCK, op, dtype, "shared", indices, row.status, offsets, address, loops, loads)
            yield made, stores

    def _trees(self) -> Iterator[Stage]:
        together: dict[str, list[Row]] = {}
        for row in self.rows["shared_tree"]:
            together.setdefault(_word(row.columns, "op"), []).append(row)
        for op, rows in together.items():
            indices = frozenset().union(*(self.numbers(row, "l", "f", "s") for row in rows))
            loads = frozenset().union(*(self.numbers(row, "l") for row in rows))
            folds = frozenset().union(*(self.numbers(row, "f") for row in rows))
            dtype = next((m.type for i in folds for m in self.meanings.at(i) if m.type), "")
            offsets = tuple(dict.fromkeys(d for row in rows for d in self._distance(row)))
            status = "match" if all(row.status == "match" for row in rows) else "maybe"
            yield Stage(BLOCK, op, dtype, "shared tree", indices, status, offsets, inner=loads)

    def _distance(self, row: Row) -> list[int]:
        """How many elements lie between the two words that a step of a tree folds."""
        load, store = (self.flow.addresses.of(max(self.numbers(row, label))) for label in ("l", "s"))
        if load is None or store is None or not load.width:
            return []
        apart = load.polynomial - store.polynomial
        if apart.terms:
            return []
        return [abs(load.offset - store.offset) // load.width]

    def _barriers(self) -> Iterator[Stage]:
        for row in self.rows["block_reduce"]:
            found = self.numbers(row, "r")
            if found:
                yield Stage(BLOCK, _word(row.columns, "op"), "u32", "barrier", found, row.status)

    # --- atomics

    def _atomics(self) -> Iterator[Stage]:
        for address in self.flow.accesses:
            index = address.instruction
            if address.access != "atomic" or address.space not in (Space.GLOBAL, Space.GENERIC, Space.SHARED):
                continue
            form = self.flow.forms.of[index]
            swap = next((r for r in self.rows["grid_reduce"] if index in self.numbers(r)), None)
            op = next((_ATOMIC[m] for m in form.modifiers if m in _ATOMIC), "")
            if not op and swap is not None:
                op, via = _word(swap.columns, "op"), "compare and swap"
                yield Stage(GRID, op, "", via, frozenset({index}), address=address)
            elif op and not self._is_ticket(index, address):
                via = "atomic" if address.space is not Space.SHARED else "shared atomic"
                yield Stage(GRID, op, _element(form), via, frozenset({index}), address=address)

    def _is_ticket(self, index: int, address: Address) -> bool:
        """True for an atomic whose old value is used: it finds the last block, or a place in a list."""
        ssa = self.flow.ssa
        used = any(ssa.users(value) for _, _, value in ssa.definitions_of(index))
        return used and address.space is not Space.SHARED


def _largest(stages: Iterable[Stage]) -> list[Stage]:
    """Stages without those of the same operation that share most of their instructions with a larger one."""
    kept: list[Stage] = []
    for stage in sorted(stages, key=lambda s: (not s.loops, -len(s.indices), min(s.indices, default=0))):
        shared = (len(stage.indices & other.indices) for other in kept if other.kind == stage.kind)
        if not any(2 * count >= len(stage.indices) for count in shared):
            kept.append(stage)
    return sorted(kept, key=lambda s: min(s.indices, default=0))


def _element(form: Form) -> str:
    halves = next((m.lower() for m in form.modifiers if m.startswith(("F16x", "BF16x", "F32x"))), "")
    found = TYPES["memory"](form)
    return halves or (f"u{found[1:]}" if found.startswith("b") and found[1:].isdigit() else found)


def _word(columns: dict[str, object], name: str) -> str:
    found = columns.get(name)
    return "" if found is None else str(found)


def independent(offsets: Sequence[int]) -> int:
    """How many lane masks are independent over GF(2)."""
    found = rank(list(offsets))
    return found if isinstance(found, int) else 0


def moved(polynomial: Polynomial, values: dict[Atom, int]) -> Polynomial:
    """The polynomial with numbers in place of some atoms, inside of functions too."""

    def replaced(atom: Atom) -> Polynomial | None:
        if atom in values:
            return Polynomial.number(values[atom])
        return substitute_inside(atom, replaced) if atom.args else None

    return substitute(polynomial, replaced)


def step_of(polynomial: Polynomial, names: Sequence[str], by: int) -> Polynomial:
    """What is added where the named atoms go from 0 to ``by``."""
    atoms = {a for a in mentioned(polynomial) if a.name in names and a.scope is None}
    return moved(polynomial, dict.fromkeys(atoms, by)) - moved(polynomial, dict.fromkeys(atoms, 0))
