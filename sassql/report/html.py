"""Renders documents as HTML with the templates beside this module.

Names come from binaries and may hold anything: templates escape everything, data for scripts is JSON
that cannot end its element, and a content security policy keeps the page from fetching or running
anything else.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from sassql.insight.residency import ASSUMED_BLOCK
from sassql.report.colours import PALETTE, colour
from sassql.report.detail import KernelDetail
from sassql.report.document import Document, KernelRecord
from sassql.report.drawing import draw
from sassql.report.listing_rows import Rows, bars
from sassql.report.plots import plots
from sassql.report.tables import (
    heaviest_findings,
    mix_matrix,
    motif_matrix,
    opcode_matrix,
    resource_table,
    unknown_opcodes,
)

STYLE, SCRIPT = "report.css", "report.js"
STATIC_ROWS = 50
"""Kernels whose rows stand in the page itself, for readers without scripts and for print."""
MOST_FINDINGS = 100
COLUMNS = (
    ("name", "Kernel", False),
    ("cls", "Class", False),
    ("arch", "Architecture", False),
    ("instructions", "Instructions", True),
    ("weight", "Weight", True),
    ("registers", "Registers", True),
    ("shared", "Shared", True),
    ("occupancy", "Occupancy %", True),
    ("motifs", "Motifs", False),
    ("findings", "Findings", False),
)
"""Columns of the table of kernels: key in the rows, heading, whether it is a number."""


@cache
def environment() -> jinja2.Environment:
    """The templates, with every expression escaped."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("sassql.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., object]] = {
        "address": lambda value: f"{value:#06x}",
        "hex": lambda value: f"{value:#x}",
        "thousands": lambda value: f"{value:,}",
        "known": _known,
        "signed": lambda value: f"{value:+,}" if value else "0",
        "share": lambda value: "-" if value is None else f"{value:.3f}",
        "counts": _counts,
        "addresses": lambda texts: [int(text, 16) for text in texts],
        "colour": colour,
    }
    made.filters |= filters
    made.tests["holds"] = lambda values, wanted: wanted in values
    return made


def _known(value: int | None, unit: str = "") -> str:
    return "-" if value is None else f"{value:,}{unit}"


def _counts(found: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in found.items()) or "none"


@cache
def asset(name: str) -> str:
    """A file that lies beside the templates: the style sheet or the script."""
    text = resources.files("sassql.report").joinpath("templates", name).read_text("utf-8")
    if name == STYLE:
        chips = (f".c{n}{{--mark:{value}}}" for n, value in enumerate(PALETTE))
        text += "".join(chips) + "\n"
    return text


def policy(*, files: bool) -> str:
    """What a page may run and load: its own style and script, nothing from anywhere else."""
    if files:
        return (
            "default-src 'none'; style-src 'self' file: 'unsafe-inline'; "
            "script-src 'self' file:; img-src data:"
        )
    digest = base64.b64encode(hashlib.sha256(asset(SCRIPT).encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"


def fragment(detail: KernelDetail) -> str:
    """The section of one kernel."""
    record = detail.record
    template = environment().get_template("kernel.html.j2")
    return template.render(
        detail=detail,
        flow=draw(detail.flow, title=f"Control flow of {record.short}", anchor=record.id),
        motif_flow=draw(detail.motif_flow, title=f"Data flow of {record.short}", anchor=record.id),
        rows=Rows(detail),
        bars=bars,
    )


def packed(text: str) -> str:
    """A text as the page's script unpacks it: zlib, then base64."""
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode()


def kernel_page(record: KernelRecord, section: str, back: str) -> str:
    """A page of its own for a section, in a folder below the report."""
    template = environment().get_template("kernel_page.html.j2")
    return template.render(
        record=record,
        fragment=Markup(section),
        back=back,
        home="../index.html",
        policy=policy(files=True),
        style_file=f"../{STYLE}",
        script_file=f"../{SCRIPT}",
    )


def page(document: Document, pages: Mapping[str, str], sections: Iterable[tuple[str, str]] | None) -> str:
    """The report itself.

    Args:
        document: what it says.
        pages: by id of a kernel, where its section is: ``#k1``, or a file.
        sections: ids and packed sections that stand in this page; None for a report that is a folder.
    """
    files = sections is None
    findings, more = heaviest_findings(document.kernels, MOST_FINDINGS)
    template = environment().get_template("report.html.j2")
    return template.render(
        doc=document,
        cards=_cards(document),
        unknown=unknown_opcodes(document),
        plots={"sizes": None, "classes": None, "motifs": None, "scatter": None, "occupancy": None}
        | plots(document),
        matrix=motif_matrix(document),
        mix=mix_matrix(document),
        opcodes=opcode_matrix(document),
        resources=resource_table(document),
        assumed=ASSUMED_BLOCK,
        findings=findings,
        more_findings=more,
        columns=COLUMNS,
        static=STATIC_ROWS,
        pages=pages,
        note=_note(document, pages, files=files),
        rows=Markup(json.dumps(packed(json.dumps(_rows(document, pages))))),
        sections=sections or (),
        policy=policy(files=files),
        style="" if files else Markup(asset(STYLE)),
        script="" if files else Markup(asset(SCRIPT)),
        style_file=STYLE if files else "",
        script_file=SCRIPT if files else "",
    )


def _cards(document: Document) -> list[tuple[str, str]]:
    failures = sum(failure.serious for failure in document.failures)
    found = [
        ("kernels", f"{len(document.kernels):,}"),
        ("instructions", f"{document.instructions:,}"),
        ("cubins", f"{document.cubins:,}"),
        ("architectures", ", ".join(document.architectures) or "none"),
        ("motifs found", f"{sum(len(kernel.motifs) for kernel in document.kernels):,}"),
        ("findings", f"{sum(len(kernel.findings) for kernel in document.kernels):,}"),
        ("failures", f"{failures:,}"),
    ]
    return [card for card in found if card != ("cubins", "0")]


def _note(document: Document, pages: Mapping[str, str], *, files: bool) -> str:
    if files or len(pages) == len(document.kernels):
        return "Each name opens a page with the annotated listing and its pictures."
    return (
        f"The {len(pages):,} heaviest of {len(document.kernels):,} kernels open with their listing and "
        "pictures; sassql report -o folder/ writes a page for each."
    )


def _rows(document: Document, pages: Mapping[str, str]) -> dict[str, Any]:
    """The table of kernels for the script: words that repeat are numbers into lists."""
    motifs: dict[str, int] = {}
    findings: dict[str, int] = {}
    places: dict[str, int] = {}

    def row(kernel: KernelRecord) -> list[Any]:
        return [
            kernel.id,
            kernel.short,
            "" if kernel.demangled == kernel.short else kernel.demangled,
            "" if kernel.name == kernel.demangled else kernel.name,
            kernel.cls,
            kernel.arch,
            kernel.instructions,
            kernel.weight,
            kernel.needs.registers,
            kernel.needs.shared,
            kernel.occupancy.percent if kernel.occupancy else None,
            [motifs.setdefault(name, len(motifs)) for name in kernel.motif_names],
            sorted({findings.setdefault(f.kind, len(findings)) for f in kernel.findings}),
            places.setdefault(kernel.place, len(places)),
            pages.get(kernel.id, ""),
        ]

    rows = [row(kernel) for kernel in document.kernels]
    return {"rows": rows, "motifs": list(motifs), "findings": list(findings), "places": list(places)}
