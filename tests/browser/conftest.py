"""A report in headless Chromium. Debian: ``apt-get install chromium``; SASSQL_CHROMIUM names another one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sassql.report import pages
from tests.report.conftest import cubins, ladders, reported

__all__ = ["cubins", "ladders", "reported"]

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome")


def pytest_collection_modifyitems(items) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    api = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install -e '.[browser]'")
    path = os.environ.get("SASSQL_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium, or set SASSQL_CHROMIUM")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield started
        started.close()


class Tab:
    """One page with what its console said."""

    def __init__(self, browser, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, locale="en-US"
        )
        self.page = self.context.new_page()
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.messages.append(f"error: {error}"))
        self.page.on(
            "dialog", lambda dialog: (self.messages.append(f"dialog: {dialog.message}"), dialog.dismiss())
        )
        self.page.on("request", lambda request: self.requests.append(request.url))

    def open(self, path: Path, fragment: str = ""):
        self.page.goto(path.as_uri() + fragment)
        return self.page


@pytest.fixture
def tab(browser) -> Iterator[Tab]:
    """A window of a desktop; the test fails where the console complains."""
    made = Tab(browser)
    yield made
    made.context.close()
    assert made.messages == []


@pytest.fixture
def phone(browser) -> Iterator[Tab]:
    """A window as narrow as a phone, in dark colours."""
    made = Tab(browser, 390, 844, "dark")
    yield made
    made.context.close()
    assert made.messages == []


@pytest.fixture(scope="session")
def report(reported, tmp_path_factory) -> Path:
    """The report in one file."""
    path = tmp_path_factory.mktemp("browser") / "report.html"
    pages.write_file(reported.document, reported.job, path)
    return path


@pytest.fixture(scope="session")
def comparison(cubins, ladders, tmp_path_factory) -> Path:
    """Two architectures side by side."""
    from sassql.report import comparison_pages
    from sassql.report.build import Job

    one, two = (comparison_pages.Side(path.stem, Job((path,), ladders, jobs=1)) for path in cubins)
    path = tmp_path_factory.mktemp("browser") / "comparison.html"
    path.write_text(comparison_pages.to_html(comparison_pages.compare(one, two)), "utf-8")
    return path


@pytest.fixture(scope="session")
def folder(reported, tmp_path_factory) -> Path:
    """The report as a folder."""
    path = tmp_path_factory.mktemp("browser") / "folder"
    pages.write_folder(reported.document, reported.job, path)
    return path
