"""What people do with a report, in a real browser."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from sassql.report import html
from tests.report.conftest import HOSTILE

READY = "#filters:not([hidden])"


def names(page) -> list[str]:
    return page.locator("#table tbody th").all_inner_texts()


def count(page) -> str:
    return page.locator("#count").inner_text()


def accessible(page, leave_out: str = "") -> None:
    """The page breaks no rule of axe, whose source comes with axe-playwright-python.

    ``leave_out`` is a selector of what is too long for it: it looks at every element many times.
    """
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="no axe: pip install -e '.[browser]'"
    )
    context = {"exclude": [[leave_out]]} if leave_out else None
    found = axe.Axe().run(page, context, options={"preload": False})  # it would fetch the style sheet
    told = [
        f"{v['id']}: {v['help']}: {[n['html'][:160] for n in v['nodes'][:3]]}"
        for v in found.response["violations"]
    ]
    assert told == []


def test_it_opens_and_fetches_nothing(tab, report):
    page = tab.open(report)
    page.wait_for_selector(READY)

    assert count(page) == "8 of 8 kernels"
    assert tab.requests == [report.as_uri()] or set(tab.requests) == {report.as_uri(), "data:,"}


def test_search_and_filters(tab, report):
    page = tab.open(report)
    page.wait_for_selector(READY)
    page.fill("#search", "SOFTMAX")
    assert names(page) == ["row_softmax", "row_softmax"]
    page.select_option("#arch", "sm_90")
    assert count(page) == "1 of 8 kernels"
    page.click("#filters button[type=reset]")
    page.wait_for_function("document.querySelectorAll('#table tbody tr').length === 8")
    page.select_option("#motif", "shuffle_ladder")
    assert names(page) == ["row_softmax", "row_softmax"]
    page.select_option("#motif", "")
    page.select_option("#finding", "spill")
    assert names(page) == ["crowded", "crowded"]
    page.fill("#search", "nobody has this name")
    assert count(page) == "0 of 8 kernels"


def test_sorting_by_a_column(tab, report, reported):
    page = tab.open(report)
    page.wait_for_selector(READY)
    page.get_by_role("button", name="Instructions", exact=True).click()
    cells = page.locator("#table tbody tr td:nth-child(4)").all_inner_texts()
    expected = sorted((k.instructions for k in reported.document.kernels), reverse=True)
    assert [int(text.replace(",", "")) for text in cells] == expected
    page.get_by_role("button", name="Instructions", exact=True).press("Enter")
    cells = page.locator("#table tbody tr td:nth-child(4)").all_inner_texts()
    assert [int(text.replace(",", "")) for text in cells] == expected[::-1]
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("Instructions")


def test_a_kernel_opens_and_goes_back(tab, report):
    page = tab.open(report)
    page.wait_for_selector(READY)
    page.fill("#search", "row_softmax sm_90")
    page.locator("#table tbody a").first.click()
    page.wait_for_selector("article.kernel")
    assert page.locator("article h1").inner_text() == "row_softmax sm_90"
    assert page.locator("#main").is_hidden()
    assert page.locator("article svg.picture").count() == 2
    page.go_back()
    page.wait_for_selector("#main:not([hidden])")
    assert page.locator("article.kernel").count() == 0


def open_kernel(tab, report, reported, name: str = "row_softmax"):
    record = reported.record(name)
    page = tab.open(report, f"#{record.id}")
    page.wait_for_selector("article.kernel tr.i[tabindex='0']")
    return page, record, reported.kernel(record)


def test_an_arrow_leads_from_a_use_to_its_definition(tab, report, reported):
    page, record, kernel = open_kernel(tab, report, reported)
    fold = next(kernel.at(a) for a in reversed(record.motifs[1].at) if kernel.at(a).opcode == "FADD")
    sources = {source for source, _ in kernel.dataflow.in_edges(fold.address)}
    page.locator(f"#{record.id}-{fold.address:#x} .t").click()

    assert page.locator("tr[aria-current=true]").get_attribute("data-a") == f"{fold.address:#x}"
    marked = page.locator("tr.is-def").evaluate_all("rows => rows.map(r => r.dataset.a)")
    assert {int(a, 16) for a in marked} == sources
    assert page.locator("svg.wires path.def").count() == len(sources)
    panel = page.locator(".selected").inner_text()
    assert panel.startswith(f"{fold.address:#x} {fold.text}")

    page.keyboard.press("d")
    page.wait_for_function("a => document.activeElement.dataset.a !== a", arg=f"{fold.address:#x}")
    assert int(page.locator("tr[aria-current=true]").get_attribute("data-a"), 16) in sources
    page.keyboard.press("b")
    assert page.locator("tr[aria-current=true]").get_attribute("data-a") == f"{fold.address:#x}"

    link = page.locator(".selected a").first
    target = int(link.inner_text(), 16)
    link.click()
    page.wait_for_function("a => document.activeElement.dataset.a === a", arg=f"{target:#x}")
    users = {user for _, user in kernel.dataflow.out_edges(target)}
    marked = page.locator("tr.is-use").evaluate_all("rows => rows.map(r => r.dataset.a)")
    assert {int(a, 16) for a in marked} == users


def test_arrow_keys_move_in_the_listing(tab, report, reported):
    page, _, kernel = open_kernel(tab, report, reported, "side_by_side")
    page.locator("tr.i[tabindex='0']").focus()
    page.keyboard.press("Enter")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    assert (
        page.locator("tr[aria-current=true]").get_attribute("data-a")
        == f"{kernel.instructions[3].address:#x}"
    )
    page.keyboard.press("Escape")
    assert page.locator("tr[aria-current=true]").count() == 0
    assert page.locator("svg.wires").count() == 0


def test_a_block_of_the_picture_leads_to_its_listing(tab, report, reported):
    page, _, _ = open_kernel(tab, report, reported)
    box = page.locator("svg.picture a").nth(4)
    address = box.get_attribute("href").split("-")[1]
    box.click()
    page.wait_for_function("a => document.activeElement.dataset.a === a", arg=address)


def test_a_name_that_is_html_shows_as_text(tab, report, reported):
    page = tab.open(report)
    page.wait_for_selector(READY)
    page.fill("#search", HOSTILE)
    assert count(page) == "2 of 8 kernels"
    page.locator("#table tbody a").first.click()
    page.wait_for_selector("article.kernel")
    assert HOSTILE in page.locator("article").inner_text()
    assert page.locator("article script").count() == 0


@pytest.mark.parametrize("window", ["tab", "phone"])
def test_no_rule_of_accessibility_is_broken(request, window, report, reported):
    tab = request.getfixturevalue(window)
    page = tab.open(report)
    page.wait_for_selector(READY)
    accessible(page)
    page, _, _ = open_kernel(tab, report, reported, "side_by_side")
    page.locator("tr.i").nth(8).click()
    accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page, _, _ = open_kernel(tab, report, reported, "row_softmax")
    accessible(page, leave_out="table.asm")


def test_dark_and_light(tab, report):
    page = tab.open(report)
    page.wait_for_selector(READY)
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    after = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert before != after
    accessible(page)


def test_print_shows_everything_and_no_controls(tab, report, reported):
    page, _, _ = open_kernel(tab, report, reported, "side_by_side")
    page.emulate_media(media="print")
    assert page.locator(".js").first.is_hidden()
    assert page.locator("#theme").is_hidden()
    assert page.locator("tr.i").last.is_visible()


def test_a_folder_loads_pages_on_demand(tab, folder, reported):
    page = tab.open(folder / "index.html")
    page.wait_for_selector(READY)
    assert [u for u in tab.requests if "/kernels/" in u] == []
    page.fill("#search", "side_by_side sm_90")
    page.locator("#table tbody a").first.click()
    page.wait_for_selector("article.kernel tr.i[tabindex='0']")
    assert "/kernels/" in page.url
    page.locator("tr.i").nth(5).click()
    assert page.locator("tr[aria-current=true]").count() == 1
    accessible(page)


def test_a_comparison_opens_and_breaks_no_rule(phone, comparison):
    page = phone.open(comparison)
    page.get_by_role("link", name="row_softmax").click()
    assert page.locator("section:target .aligned tr.differs").count() > 0
    assert HOSTILE in page.locator("main").inner_text()
    accessible(page, leave_out="table.asm")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_ten_thousand_kernels_open_in_two_seconds(tab, reported, tmp_path):
    """Also on a slow machine: the best of three counts."""
    document = reported.document
    many = [
        replace(
            k,
            id=f"k{n * 8 + i}",
            name=f"{k.name}_{n}",
            demangled=f"void space::{k.name}<{n}, float>(float*, int)",
        )
        for n in range(1250)
        for i, k in enumerate(document.kernels)
    ]
    big = replace(document, kernels=many)
    sections = [(k.id, html.packed("<article class='kernel'></article>" + "x" * 20_000)) for k in many[:200]]
    path = tmp_path / "big.html"
    path.write_text(html.page(big, {k.id: f"#{k.id}" for k in many[:200]}, sections), "utf-8")
    times = []
    for _ in range(3):
        page = tab.open(path)
        page.wait_for_selector(READY)
        page.wait_for_selector("#pager:not([hidden])")
        times.append(page.evaluate("performance.now()"))
    assert count(page) == "10,000 of 10,000 kernels"
    assert min(times) < 2000, times
    page.fill("#search", "softmax 777")
    assert re.fullmatch(r"[1-9]\d* of 10,000 kernels", count(page))
    page.fill("#search", "")
    page.click("#next")
    assert page.locator("#where").inner_text() == "101 to 200 of 10,000"
