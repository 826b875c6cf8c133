"""Places the boxes of a directed graph in layers, from top to bottom, and routes its edges.

The usual four steps (Sugiyama, Tagawa and Toda 1981): turn the edges that close cycles, put each
box below those that lead to it, order each layer by the middle of its neighbours, and place the boxes
near them. Nothing here knows what the boxes are.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

SWEEPS = 8
GAP, LAYER_GAP = 18.0, 34.0
"""Free space between boxes of a layer, and between layers."""
_BEND_WIDTH = 10.0
"""Width of the place that an edge takes where it passes a layer."""

Point = tuple[float, float]


@dataclass(slots=True)
class Layout:
    """Centres of the boxes, points of each edge in its own direction, and the size of it all."""

    centres: list[Point]
    routes: list[list[Point]]
    width: float
    height: float


@dataclass(slots=True)
class _Graph:
    """Boxes and, behind them, bends: the places where a long edge passes a layer."""

    sizes: list[Point]
    layer: list[int]
    down: list[list[int]] = field(default_factory=list)
    up: list[list[int]] = field(default_factory=list)


def layout(sizes: Sequence[Point], edges: Sequence[tuple[int, int]]) -> Layout:
    """Place boxes of ``sizes`` (width, height); an edge from a box to itself is routed beside it."""
    if not sizes:
        return Layout([], [[] for _ in edges], 0.0, 0.0)
    turned = _turned(len(sizes), edges)
    forward = [(t, s) if turn else (s, t) for (s, t), turn in zip(edges, turned, strict=True)]
    layer = _layers(len(sizes), forward)
    graph = _Graph(list(sizes), layer, [[] for _ in sizes], [[] for _ in sizes])
    chains = [_chain(graph, s, t) if s != t else [s] for s, t in forward]
    rows = _ordered(graph)
    xs = _placed(graph, rows)
    ys, height = _heights(graph, rows)
    routes = []
    for chain, turn in zip(chains, turned, strict=True):
        routes.append(_route_back(graph, chain, xs, ys) if turn else _route(graph, chain, xs, ys))
    width = max(x + graph.sizes[n][0] / 2 for n, x in enumerate(xs)) + GAP
    return Layout([(xs[n], ys[layer[n]]) for n in range(len(sizes))], routes, width, height)


def _turned(count: int, edges: Sequence[tuple[int, int]]) -> list[bool]:
    """By edge, whether it closes a cycle in a walk from the first box on."""
    following: list[list[int]] = [[] for _ in range(count)]
    for number, (source, _) in enumerate(edges):
        following[source].append(number)
    state = [0] * count  # 1: on the walk, 2: done
    turned = [False] * len(edges)
    for start in range(count):
        if state[start]:
            continue
        state[start] = 1
        pending = [(start, iter(following[start]))]
        while pending:
            box, rest = pending[-1]
            number = next(rest, -1)
            if number < 0:
                state[box] = 2
                pending.pop()
                continue
            target = edges[number][1]
            if state[target] == 1:
                turned[number] = target != box
            elif state[target] == 0:
                state[target] = 1
                pending.append((target, iter(following[target])))
    return turned


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The longest way to each box."""
    waiting = [0] * count
    following: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        if source != target:
            waiting[target] += 1
            following[source].append(target)
    layer = [0] * count
    ready = [box for box in range(count) if not waiting[box]]
    while ready:
        box = ready.pop()
        for target in following[box]:
            layer[target] = max(layer[target], layer[box] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return layer


def _chain(graph: _Graph, source: int, target: int) -> list[int]:
    """The boxes of an edge with a bend in each layer between."""
    chain = [source]
    for level in range(graph.layer[source] + 1, graph.layer[target]):
        graph.sizes.append((_BEND_WIDTH, 0.0))
        graph.layer.append(level)
        graph.down.append([])
        graph.up.append([])
        chain.append(len(graph.sizes) - 1)
    chain.append(target)
    for one, two in itertools.pairwise(chain):
        graph.down[one].append(two)
        graph.up[two].append(one)
    return chain


def _ordered(graph: _Graph) -> list[list[int]]:
    """Boxes and bends by layer, from left to right."""
    rows: list[list[int]] = [[] for _ in range(max(graph.layer) + 1)]
    for box, level in enumerate(graph.layer):
        rows[level].append(box)
    place = {box: float(n) for row in rows for n, box in enumerate(row)}
    for sweep in range(SWEEPS):
        downwards = sweep % 2 == 0
        for row in rows if downwards else rows[::-1]:
            neighbours = graph.up if downwards else graph.down
            keys = {box: _mean([place[n] for n in neighbours[box]], place[box]) for box in row}
            row.sort(key=lambda box: keys[box])
            place.update({box: float(n) for n, box in enumerate(row)})
    return rows


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _placed(graph: _Graph, rows: Sequence[Sequence[int]]) -> list[float]:
    """Centres from left to right: each box is drawn towards its neighbours, and none overlap."""
    xs = [0.0] * len(graph.sizes)
    for row in rows:
        edge = GAP
        for box in row:
            xs[box] = edge + graph.sizes[box][0] / 2
            edge += graph.sizes[box][0] + GAP
    for sweep in range(2 * SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            neighbours = graph.up if sweep % 2 == 0 else graph.down
            wanted = [_mean([xs[n] for n in neighbours[box]], xs[box]) for box in row]
            for box, x in zip(row, _apart(graph, row, wanted), strict=True):
                xs[box] = x
    shift = GAP - min(x - graph.sizes[n][0] / 2 for n, x in enumerate(xs))
    return [x + shift for x in xs]


def _apart(graph: _Graph, row: Sequence[int], wanted: Sequence[float]) -> list[float]:
    """Centres near the wanted ones with room between: the mean of pushing right and pushing left."""
    right, left = list(wanted), list(wanted)
    for n in range(1, len(row)):
        least = (graph.sizes[row[n]][0] + graph.sizes[row[n - 1]][0]) / 2 + GAP
        right[n] = max(right[n], right[n - 1] + least)
    for n in range(len(row) - 2, -1, -1):
        least = (graph.sizes[row[n]][0] + graph.sizes[row[n + 1]][0]) / 2 + GAP
        left[n] = min(left[n], left[n + 1] - least)
    return [(one + two) / 2 for one, two in zip(right, left, strict=True)]


def _heights(graph: _Graph, rows: Sequence[Sequence[int]]) -> tuple[list[float], float]:
    """The middle of each layer, and where the last one ends."""
    ys = []
    top = GAP
    for row in rows:
        tall = max(graph.sizes[box][1] for box in row)
        ys.append(top + tall / 2)
        top += tall + LAYER_GAP
    return ys, top - LAYER_GAP + GAP


def _route(graph: _Graph, chain: Sequence[int], xs: Sequence[float], ys: Sequence[float]) -> list[Point]:
    """From the lower side of the first box to the upper side of the last."""
    first = chain[0]
    if len(chain) == 1:
        x, y = xs[first] + graph.sizes[first][0] / 2, ys[graph.layer[first]]
        return [(x, y + 6), (x + 14, y + 6), (x + 14, y - 6), (x, y - 6)]
    last = chain[-1]
    start = (xs[first], ys[graph.layer[first]] + graph.sizes[first][1] / 2)
    end = (xs[last], ys[graph.layer[last]] - graph.sizes[last][1] / 2)
    return [start, *((xs[n], ys[graph.layer[n]]) for n in chain[1:-1]), end]


def _route_back(graph: _Graph, chain: Sequence[int], xs: Sequence[float], ys: Sequence[float]) -> list[Point]:
    """From the right side of the lower box to that of the upper one, where no other edge arrives."""
    upper, lower = chain[0], chain[-1]
    ends = [(xs[box] + graph.sizes[box][0] / 2, ys[graph.layer[box]]) for box in (lower, upper)]
    return [ends[0], *((xs[n], ys[graph.layer[n]]) for n in reversed(chain[1:-1])), ends[1]]
