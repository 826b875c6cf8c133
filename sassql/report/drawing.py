"""Draws a picture as SVG. Colours are left to the style sheet of the page, so that dark and print work."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from sassql.report.detail import Node, Picture
from sassql.report.layout import Point, layout

_LETTER, _HEIGHT, _LOW, _PADDING = 6.7, 36.0, 22.0, 9.0
"""Width of a letter at 11 px in a monospaced font, height of a box with and without note, free space."""
_WIDEST = 46
"""Letters of a label; the whole text is in the title of the box."""


def draw(picture: Picture, *, title: str, anchor: str) -> Markup:
    """The picture as an ``svg`` element, or a paragraph that says why there is none.

    Boxes link to ``#<anchor>-<address>``. Nothing of the text is taken for markup.
    """
    if picture.missing or not picture.nodes:
        return Markup('<p class="quiet">{}</p>').format(picture.missing or "nothing to draw")
    height = _HEIGHT if any(node.note for node in picture.nodes) else _LOW
    sizes = [(_width(node), height) for node in picture.nodes]
    placed = layout(sizes, [(source, target) for source, target, _ in picture.edges])
    parts = [
        Markup('<path class="edge {}" d="{}" marker-end="url(#{}-head)"/>').format(kind, _path(route), anchor)
        for (_, _, kind), route in zip(picture.edges, placed.routes, strict=True)
    ]
    parts += [
        _box(node, centre, size, anchor)
        for node, centre, size in zip(picture.nodes, placed.centres, sizes, strict=True)
    ]
    width, height = round(placed.width + 24), round(placed.height)
    head = Markup(
        '<defs><marker id="{0}-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path class="head" d="M0,0L8,4L0,8z"/></marker></defs>'
    ).format(anchor)
    return Markup(
        '<svg class="picture" role="group" aria-label="{}" viewBox="0 0 {} {}" '
        'width="{}" height="{}">{}{}</svg>'
    ).format(title, width, height, width, height, head, Markup("").join(parts))


def _shown(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _width(node: Node) -> float:
    letters = max(len(_shown(node.label)), len(_shown(node.note)))
    return round(letters * _LETTER + 2 * _PADDING)


def _box(node: Node, centre: Point, size: Point, anchor: str) -> Markup:
    x, y = round(centre[0] - size[0] / 2, 1), round(centre[1] - size[1] / 2, 1)
    depth = f" depth{min(node.depth, 3)}" if node.depth else ""
    drawn = Markup(
        '<rect class="box {}" x="{}" y="{}" width="{}" height="{}" rx="4"/>'
        '<text x="{}" y="{}">{}</text><text class="note" x="{}" y="{}">{}</text><title>{}</title>'
    ).format(
        node.kind + depth,
        x,
        y,
        size[0],
        size[1],
        round(centre[0], 1),
        round(centre[1] + (4 if size[1] == _LOW else -4), 1),
        _shown(node.label),
        round(centre[0], 1),
        round(centre[1] + 11, 1),
        _shown(node.note),
        f"{node.label}, {node.note}",
    )
    if node.at is None:
        return Markup("<g>{}</g>").format(drawn)
    return Markup('<a href="#{}-{}">{}</a>').format(anchor, f"{node.at:#x}", drawn)


def _path(route: Sequence[Point]) -> str:
    """A smooth line through the points: it leaves and arrives vertically."""
    (x, y), *rest = [(round(a, 1), round(b, 1)) for a, b in route]
    text = f"M{x},{y}"
    for p, q in rest:
        middle = round((y + q) / 2, 1)
        text += f"C{x},{middle} {p},{middle} {p},{q}"
        x, y = p, q
    return text
