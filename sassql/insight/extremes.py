"""Maxima and minima as sets: associative, commutative, and a value twice counts once.

A ladder or a chain of maxima is opened from its last node down to the values that are no maximum of
the same kind, for all nodes of an event at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sassql.insight.hashing import Words, mix, pair

if TYPE_CHECKING:
    from sassql.insight.exact import Call, Exact

_NAMES = {"fmnmx": 2, "hmnmx": 2, "bmnmx": 2, "dmnmx": 2, "imnmx": 2, "imnmx64": 2, "fmnmx3": 3, "imnmx3": 3}
"""Operations, and how many values they compare; the predicate behind them says whether the least is meant."""
_ODD = np.uint64(0x9E3779B97F4A7C15)


class Extremes:
    """Which nodes are maxima or minima, of which kind, and which of them somebody else looks at."""

    def __init__(self, forms: Exact, base: Extremes | None = None) -> None:
        self.forms, dag = forms, forms.dag
        self.base = base
        self.kind: npt.NDArray[np.int16]
        self.wanted: npt.NDArray[np.bool_]
        self.keys: npt.NDArray[np.uint64]
        self.opened: dict[bytes, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]
        self._kinds: dict[tuple[str, tuple[str, ...], int], int]
        if base is not None:  # what is one set at level E0 is one at every level
            self.kind, self.wanted, self.keys, self._kinds = base.kind, base.wanted, base.keys, base._kinds
            self.opened = base.opened
            return
        self.opened = {}
        self.kind = np.zeros(dag.size, np.int16)
        self.wanted = np.zeros(dag.size, np.bool_)
        self.wanted[forms.wanted] = True
        self.trees = np.zeros((dag.size, 4), np.uint32)
        self.keys = np.zeros(dag.size, np.uint64)
        self._kinds = {}
        codes = dag.codes[: dag.size]
        for number, operation in enumerate(dag.operations):
            if operation.name not in _NAMES:
                continue
            nodes = np.flatnonzero(codes == number)
            least = dag.arguments[_NAMES[operation.name], nodes]
            name = operation.name.removesuffix("3")
            for predicate in np.unique(least).tolist():
                bits = dag.constant_bits(predicate)
                if bits is not None:
                    key = (name, operation.parameters, bits)
                    kind = self._kinds.setdefault(key, len(self._kinds) + 1)
                    self.kind[nodes[least == predicate]] = kind
        if self._kinds:
            self._find_wanted()

    def _find_wanted(self) -> None:
        """Mark maxima that another operation, or another kind of maximum, has as an argument."""
        for group in self.forms.dag.schedule():
            own = self.kind[group.nodes]
            for place in range(group.count):
                arguments = self.forms.dag.arguments[place, group.nodes]
                kinds = self.kind[arguments]
                other = (kinds != 0) & (kinds != own)
                if other.any():
                    self.wanted[arguments[other]] = True

    def hashes(self, call: Call) -> Words:
        """The hashes of the nodes of an event; zeros for those that only maxima of their kind look at."""
        nodes, forms = call.nodes, self.forms
        found = np.zeros((len(nodes), 4), np.uint32)
        plain = self.kind[nodes] == 0
        if plain.any():
            found[plain] = mix(call.title(), pair(call.hash(0), call.hash(1)), call.hash(2))[plain]
        if self.base is None:
            self._add_trees(call, np.flatnonzero(~plain))
        roots = np.flatnonzero(self.wanted[nodes] & ~plain)
        if len(roots):
            keys = self.keys[nodes[roots]]
            _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
            found[roots] = self._sets(nodes[roots[first]])[inverse]
        forms.integer[nodes] = False
        return found

    def of_two_integers(
        self, nodes: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Where nodes are extremes of two words that have hashes of their own, and where the least."""
        dag = self.forms.dag
        codes = [n for n, operation in enumerate(dag.operations) if operation.name == "imnmx"]
        found = np.isin(dag.codes[nodes], codes) & (self.kind[nodes] != 0)
        if not found.any():
            return found, found
        for place in (0, 1):
            below = dag.arguments[place, nodes]
            found &= (self.kind[below] != self.kind[nodes]) | self.wanted[below]
        _, least = self.forms.known(dag.arguments[2, nodes])
        return found, found & (least == 1)

    def _add_trees(self, call: Call, here: npt.NDArray[np.int64]) -> None:
        """Give maxima a hash of the values below them, with repetitions: equal ones are equal sets."""
        nodes = call.nodes[here]
        total = np.zeros((len(nodes), 4), np.uint32)
        for place in range(_NAMES[call.name]):
            below = call.arguments[place][here].astype(np.int64)
            same = self.kind[below] == self.kind[nodes]
            total += np.where(same[:, None], self.trees[below], mix("element", self._values(below)))
        self.trees[nodes] = total
        self.keys[nodes] = total.view(np.uint64)[:, 0] ^ self.kind[nodes].astype(np.uint64) * _ODD

    def _sets(self, roots: npt.NDArray[np.int64]) -> Words:
        """The hashes of maxima of different trees."""
        name = roots.tobytes()
        if name not in self.opened:
            self.opened[name] = self._open(roots)
        owners, leaves = self.opened[name]
        values = self._values(leaves)
        elements = mix("element", values)
        keys = elements.view(np.uint64)[:, 0] ^ owners.astype(np.uint64) * _ODD
        order = np.argsort(keys, kind="stable")
        fresh = np.ones(len(order), np.bool_)
        fresh[1:] = keys[order[1:]] != keys[order[:-1]]
        kept = np.sort(order[fresh])  # sorted by owner again
        starts = np.searchsorted(owners[kept], np.arange(len(roots)))
        sums = np.add.reduceat(elements[kept], starts, axis=0, dtype=np.uint32)
        counts = np.diff(np.append(starts, len(kept)))
        found = np.zeros((len(roots), 4), np.uint32)
        kinds = [str(key) for key, _ in sorted(self._kinds.items(), key=lambda item: item[1])]
        number = self.kind[roots]
        for one in np.unique(number).tolist():
            here = number == one
            found[here] = mix(f"extreme {kinds[one - 1]}", sums[here])
        changes = np.array([0] + ["FTZ" in key[1] for key in self._kinds])[number].astype(bool)
        return np.where(((counts == 1) & ~changes)[:, None], values[kept[starts]], found)

    def _values(self, leaves: npt.NDArray[np.int64]) -> Words:
        forms = self.forms
        found = forms.hashes[leaves]
        whole = forms.integer[leaves]
        return np.where(whole[:, None], mix("bits of an integer", found), found)

    def _open(self, roots: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Roots by number, and the values below them, sorted by root."""
        dag = self.forms.dag
        owners, front = np.arange(len(roots)), roots.astype(np.int64)
        kinds = self.kind[roots]
        done: list[npt.NDArray[np.int64]] = []
        three = np.array([_NAMES.get(o.name, 0) == 3 for o in dag.operations])
        while len(front):
            below = [dag.arguments[0, front], dag.arguments[1, front]]
            who = [owners, owners]
            third = three[dag.codes[front]]
            if third.any():
                below.append(dag.arguments[2, front[third]])
                who.append(owners[third])
            nodes, owner = np.concatenate(below).astype(np.int64), np.concatenate(who)
            same = self.kind[nodes] == kinds[owner]
            done.append(owner[~same] * np.int64(dag.size) + nodes[~same])
            owners, front = owner[same], nodes[same]
            keys = self.keys[front] ^ owners.astype(np.uint64) * _ODD
            _, first = np.unique(keys, return_index=True)
            owners, front = owners[first], front[first]
        every = np.sort(np.concatenate(done))
        every = every[np.append(True, every[1:] != every[:-1])]
        return every // dag.size, every % dag.size
