"""Plots of a document as SVG, by matplotlib. Text and lines take the colour of the page's text.

Every number that a plot shows stands in a table of the report, too.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from sassql.report.colours import MARKERS, PALETTE
from sassql.report.document import Document
from sassql.report.tables import by_architecture, class_counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ticker import Locator

MOST_ROWS = 30
MOST_POINTS = 2000
"""Points of a scatter for one architecture; more only make the file longer."""
_INK = "#010203"
"""Stands for the colour of the text until the page decides it."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture with its title and what to read from it."""

    title: str
    caption: str
    svg: Markup


def plots(document: Document) -> dict[str, Plot]:
    """Every plot that the document has something for, by name."""
    made = {
        "sizes": sizes(document),
        "classes": classes(document),
        "motifs": motifs(document),
        "scatter": scatter(document),
        "occupancy": occupancies(document),
    }
    return {name: plot for name, plot in made.items() if plot is not None}


def sizes(document: Document) -> Plot | None:
    """How many kernels are how long."""
    if len(document.kernels) < 2:
        return None
    lengths = {a: [max(k.instructions, 1) for k in ks] for a, ks in by_architecture(document).items()}
    longest = max(max(values) for values in lengths.values())
    edges = [2 ** (n / 2) for n in range(2 * longest.bit_length() + 1)]

    def draw(axes: Axes) -> None:
        for number, (arch, values) in enumerate(lengths.items()):
            style = ("-", "--", "-.", ":")[number // len(PALETTE) % 4]
            axes.hist(
                values,
                bins=edges,
                histtype="step",
                linewidth=1.8,
                linestyle=style,
                color=PALETTE[number % len(PALETTE)],
                label=arch,
            )
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_xlabel("instructions")
        axes.set_ylabel("kernels")
        axes.yaxis.set_major_locator(_whole())
        axes.legend(frameon=False, fontsize=9)

    middle = sorted(k.instructions for k in document.kernels)[len(document.kernels) // 2]
    caption = f"Half of the kernels have at most {middle:,} instructions, the longest has {longest:,}."
    return Plot("Length of kernels", caption, _svg(draw, 3.2))


def classes(document: Document) -> Plot | None:
    """How many kernels are of which class."""
    counts = class_counts(document).most_common(MOST_ROWS)
    if not counts:
        return None

    def draw(axes: Axes) -> None:
        axes.barh([name for name, _ in counts][::-1], [n for _, n in counts][::-1], color=PALETTE[0])
        axes.set_xlabel("kernels")
        axes.xaxis.set_major_locator(_whole())

    caption = f"The most frequent is {counts[0][0]} with {counts[0][1]:,} kernels."
    return Plot("Classes of kernels", caption, _svg(draw, 0.8 + 0.26 * len(counts)))


def motifs(document: Document) -> Plot | None:
    """A heat map: which part of an architecture's kernels has which motif."""
    kernels = by_architecture(document)
    names: dict[str, int] = {}
    for kernel in document.kernels:
        for motif in kernel.motif_names:
            names[motif] = names.get(motif, 0) + 1
    rows = sorted(names, key=lambda name: (-names[name], name))[:MOST_ROWS]
    if not rows or len(kernels) < 2:  # one column is what the table says
        return None
    parts = [
        [100 * sum(row in k.motif_names for k in found) / len(found) for found in kernels.values()]
        for row in rows
    ]

    def draw(axes: Axes) -> None:
        image = axes.imshow(parts, aspect="auto", cmap="cividis", vmin=0, vmax=100)
        axes.set_xticks(range(len(kernels)), list(kernels), rotation=30, ha="right")
        axes.set_yticks(range(len(rows)), rows)
        axes.tick_params(length=0)
        bar = axes.figure.colorbar(image, ax=axes, pad=0.02)
        bar.set_label("% of kernels")

    caption = f"{rows[0]} is in {names[rows[0]]:,} of {len(document.kernels):,} kernels."
    return Plot("Motifs by architecture", caption, _svg(draw, 1.4 + 0.24 * len(rows)))


def scatter(document: Document) -> Plot | None:
    """Instructions against motifs of each kernel."""
    if not any(kernel.motifs for kernel in document.kernels):
        return None

    def draw(axes: Axes) -> None:
        for number, (arch, kernels) in enumerate(by_architecture(document).items()):
            shown = kernels[:: -(-len(kernels) // MOST_POINTS)]
            axes.scatter(
                [max(k.instructions, 1) for k in shown],
                [len(k.motifs) for k in shown],
                s=16,
                alpha=0.65,
                linewidths=0,
                color=PALETTE[number % len(PALETTE)],
                marker=MARKERS[number % len(MARKERS)],
                label=arch,
                rasterized=len(shown) > MOST_POINTS // 2,
            )
        axes.set_xscale("log", base=2)
        axes.set_yscale("symlog", linthresh=1)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_ylim(bottom=-0.3)
        axes.set_xlabel("instructions of a kernel")
        axes.set_ylabel("motifs found in it")
        axes.legend(frameon=False, fontsize=9)

    return Plot("Instructions and motifs", "Each mark is a kernel.", _svg(draw, 3.6))


def occupancies(document: Document) -> Plot | None:
    """Static occupancy of the kernels of each architecture."""
    found = {
        arch: [k.occupancy.percent for k in kernels if k.occupancy]
        for arch, kernels in by_architecture(document).items()
    }
    found = {arch: values for arch, values in found.items() if values}
    if not found or len(document.kernels) < 2:
        return None

    def draw(axes: Axes) -> None:
        boxes = axes.boxplot(
            list(found.values()), orientation="horizontal", tick_labels=list(found), patch_artist=True
        )
        for box in boxes["boxes"]:
            box.set(facecolor=PALETTE[5], edgecolor=_INK)
        for part in ("whiskers", "caps", "medians", "fliers"):
            for line in boxes[part]:
                line.set(color=_INK, markeredgecolor=_INK)
        axes.set_xlim(0, 103)
        axes.set_xlabel("static occupancy, % of resident warps")

    caption = "Boxes hold the middle half of the kernels, the line in them is the median."
    return Plot("Static occupancy", caption, _svg(draw, 0.9 + 0.36 * len(found)))


def _whole() -> Locator:
    """Ticks at whole numbers only: there is no half kernel."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415  (a second that no other command needs)

    return MaxNLocator(integer=True)


_drawn = 0


def _svg(draw: Callable[[Axes], None], height: float) -> Markup:
    """Draw on a figure of ``height`` inches and give it as an ``svg`` element for the page."""
    import matplotlib as mpl  # noqa: PLC0415  (a second that no other command needs)
    from matplotlib.figure import Figure  # noqa: PLC0415

    global _drawn  # noqa: PLW0603  (ids of one page must differ)
    _drawn += 1
    ink = dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), _INK
    )
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "svg.hashsalt": str(_drawn),
        **ink,
    }
    settings |= {"axes.spines.top": False, "axes.spines.right": False, "font.size": 10}
    with mpl.rc_context(settings):
        figure = Figure(figsize=(7.6, height), layout="constrained")
        draw(figure.add_subplot())
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :].replace(_INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>plot{_drawn}-", text)
    text = text.replace("<svg ", '<svg role="img" aria-hidden="true" ', 1)
    return Markup(text)
