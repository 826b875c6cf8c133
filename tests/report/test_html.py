"""The page: everything is in it, nothing is fetched, and names are text whatever they hold."""

from __future__ import annotations

import base64
import json
import re
import zlib
from html.parser import HTMLParser

import pytest

from sassql.corpus.corpus import load
from sassql.report import html, pages
from tests.conftest import KERNELS
from tests.report.conftest import HOSTILE


class Elements(HTMLParser):
    """Tags with their attributes, and what stands in scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self._script: dict[str, str | None] | None = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._script = dict(attrs) if tag == "script" else None

    def handle_data(self, data):
        if self._script is not None:
            self.scripts.append((self._script, data))
            self._script = None


def unpacked(text: str) -> str:
    return zlib.decompress(base64.b64decode(text)).decode()


@pytest.fixture(scope="module")
def page(reported, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    pages.write_file(reported.document, reported.job, path)
    return path.read_text("utf-8")


def test_one_file_needs_nothing_else(page):
    found = Elements(page)
    links = [a.get("src") or a.get("href") for _, a in found.tags if a.get("src") or a.get("href")]

    assert all(link.startswith(("#", "data:")) for link in links), links
    assert "url(http" not in page
    assert not re.search(r"@import|<iframe|<object", page)
    policy = next(a["content"] for t, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")


def test_only_our_script_runs(page):
    scripts = Elements(page).scripts
    runnable = [text for attributes, text in scripts if attributes.get("type") is None]

    assert len(runnable) == 1
    assert runnable[0] == html.asset(html.SCRIPT)


def test_a_name_that_is_html_is_text(page, reported):
    assert HOSTILE not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    hostile = [k for k in reported.document.kernels if k.name == HOSTILE]
    data = {a["id"]: text for a, text in Elements(page).scripts if "id" in a}
    for record in hostile:
        section = unpacked(data[f"data-{record.id}"])
        assert HOSTILE not in section
        assert "&lt;script&gt;" in section
        assert [tag for tag, _ in Elements(section).tags if tag in ("script", "iframe", "object")] == []
    rows = json.loads(unpacked(json.loads(data["rows"])))
    assert HOSTILE in [row[2] for row in rows["rows"]]


def test_a_section_lists_every_instruction_with_its_sources(page, reported):
    record = reported.record("row_softmax")
    kernel = reported.kernel(record)
    data = {a["id"]: text for a, text in Elements(page).scripts if "id" in a}
    section = unpacked(data[f"data-{record.id}"])
    rows = re.findall(r'<tr id="(k\d+)-(0x[0-9a-f]+)"', section)

    padding = {i for i, tags in kernel.fact("tags").items() if "padding" in tags}
    expected = [f"{i.address:#x}" for i in kernel.instructions if i.index not in padding]
    assert [address for _, address in rows] == expected
    assert {name for name, _ in rows} == {record.id}
    ids = {f"{name}-{address}" for name, address in rows}
    targets = re.findall(r'href="#(k\d+-0x[0-9a-f]+)"', section)
    assert targets
    assert set(targets) <= ids
    assert "shuffle_ladder 1" in section
    assert section.count("<svg") == 2


def test_a_data_flow_edge_is_a_link_to_the_definition(page, reported):
    record = reported.record("side_by_side")
    kernel = reported.kernel(record)
    data = {a["id"]: text for a, text in Elements(page).scripts if "id" in a}
    section = unpacked(data[f"data-{record.id}"])
    for row in re.findall(r'<tr id="k\d+-(0x[0-9a-f]+)".*?</tr>', section):
        text = re.search(rf'<tr id="k\d+-{row}".*?</tr>', section)[0]
        linked = {int(a, 16) for a in re.findall(r'href="#k\d+-(0x[0-9a-f]+)"', text)}
        assert linked == {source for source, _ in kernel.dataflow.in_edges(int(row, 16))}, row


def test_ids_are_unique(page):
    ids = [a["id"] for _, a in Elements(page).tags if "id" in a]

    assert len(ids) == len(set(ids))


def test_a_folder_has_a_page_for_each_kernel(reported, tmp_path):
    folder = tmp_path / "report"
    pages.write_folder(reported.document, reported.job, folder)
    names = {f"{k.id}.html" for k in reported.document.kernels}

    assert {p.name for p in (folder / "kernels").iterdir()} == names
    assert (folder / html.SCRIPT).read_text("utf-8") == html.asset(html.SCRIPT)
    index = (folder / "index.html").read_text("utf-8")
    assert HOSTILE not in index
    for name in names:
        text = (folder / "kernels" / name).read_text("utf-8")
        assert HOSTILE not in text
        assert f"kernels/{name}" in index
        links = [a["href"] for _, a in Elements(text).tags if a.get("href")]
        outside = [link for link in links if not link.startswith(("#", "data:"))]
        assert outside == ["../report.css", "../index.html"]


def test_source_lines_stand_above_their_instructions(compiled, tmp_path):
    from sassql.report.build import Job, build

    path = tmp_path / "lines.cubin"
    path.write_bytes(compiled("sm_90", "report.cu", "-lineinfo").cubin)
    job = Job([path], (), jobs=1)
    document = build(job)
    record = next(k for k in document.kernels if k.name == "side_by_side")
    kernel = next(k for k in load(path).kernels if k.name == "side_by_side")
    made = pages.detail(kernel, record)
    shown = [line.source for block in made.blocks for line in block.lines if line.source]

    source = (KERNELS / "report.cu").read_text("utf-8").splitlines()
    first = next(n for n, text in enumerate(source, 1) if "side_by_side" in text)
    numbers = {int(place.rpartition(":")[2]) for place in shown}
    assert numbers
    assert numbers <= set(range(first, first + 5))
    assert first + 3 in numbers  # y[i] = x[i] + …
    assert f'<td colspan="4">{shown[0]}</td>' in html.fragment(made)


def test_a_listing_without_resources_and_control_bits(compiled, tmp_path, ladders):
    from sassql.report.build import Job, build

    path = tmp_path / "listing.sass"
    path.write_text(compiled("sm_90", "report.cu").listing())
    job = Job([path], ladders, jobs=1)
    document = build(job)
    record = next(k for k in document.kernels if k.name == "row_softmax")
    out = tmp_path / "report.html"
    pages.write_file(document, job, out)

    assert record.occupancy is None
    assert len(record.motifs) == 2
    assert f'id="data-{record.id}"' in out.read_text("utf-8")


def test_long_addresses_are_told_by_their_buffer():
    from dataclasses import replace

    from sassql.facts.addresses import Address, AddressKind, Base
    from sassql.facts.polynomials import AtomKind, Polynomial, make_atom, special
    from sassql.isa.spaces import Space
    from sassql.report.listing import address_text

    formula = Polynomial.of(special("tid.x"))
    short = Address(
        Space.GLOBAL, Base("parameter", 0, "param0"), formula, 4, 4, AddressKind.PURE, "", "load", 0, 0, 0
    )
    for n in range(60):  # as text, 2 to the 60th letters
        atom = make_atom(AtomKind.FUNCTION, "min", args=(formula, formula), key=f"min{n}")
        formula = Polynomial.of(atom)

    assert address_text(short) == "global: param0 + tid.x + 0x4"
    assert address_text(replace(short, polynomial=formula)) == "global: param0 + …"


def test_a_long_kernel_is_cut_and_says_so(reported):
    record = reported.record("crowded")
    kernel = reported.kernel(record)
    cut = pages.detail(kernel, record, most=60)
    whole = pages.detail(kernel, record)

    listed = sum(len(block.lines) for block in cut.blocks)
    assert listed <= 60
    assert listed + cut.left_out == sum(len(block.lines) for block in whole.blocks)
    assert whole.left_out == 0
    assert f"{cut.left_out:,} instructions" in html.fragment(cut)
