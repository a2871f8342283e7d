"""The website in a real browser, and the routes of docs/routes.md: `make browser` builds it first."""

import functools
import http.server
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import COLOURS, WIDTHS, accessibility_faults

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
SITE = Path(__file__).resolve().parent.parent.parent / "build" / "site" / "html"
PAGES = (
    "index",
    "tutorials/explain",
    "gallery/index",
    "imbalance",
    "reference",
    # of the reference a class with references and pictures' names, a function with equations, a display and a loss
    "api/committee.AdaBoostClassifier",
    "api/committee.bounds.binomial",
    "api/committee.report.MarginDisplay",
    "api/committee.objectives.losses.Huber",
    "gallery/margins",
)
ROUTES = {
    "Make my forest ten times smaller": ("tutorials/smaller-forest.html", "smaller forest"),
    "Probabilities I can trust": ("tutorials/probabilities.html", "calibrated"),
    "Explain one prediction": ("tutorials/explain.html", "explain prediction"),
    "Missing values and categories": ("guide.html#missing-values-and-categories", "categories"),
    "class weights": ("imbalance.html#what-the-weights-are", "class weights"),
}
"""Links of the start page by their text: the target, and a search that finds it."""
N_RESULTS = 5
"""Results of a search that are checked."""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    assert (SITE / "index.html").is_file(), "there is no website: make site"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def page_faults(page: "Page", url: str, address: str) -> list[str]:
    """Console messages, requests to other hosts, content beyond the window, and serious violations of axe-core."""
    found: list[str] = []
    page.on("console", lambda m: found.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("request", lambda r: None if r.url.startswith((address, "data:")) else found.append(r.url))
    page.goto(url)
    wrong = list(found)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        beyond = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        wrong += [f"{beyond} px wider than a window of {width}"] if beyond > 0 else []
    for scheme, rules in (("light", None), ("dark", COLOURS)):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.wait_for_function("(scheme) => document.documentElement.dataset.theme === scheme", arg=scheme)
        wrong += [f"{scheme}: {fault}" for fault in accessibility_faults(page, rules)]
    return wrong


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_site_can_be_read(name: str, browser: "Browser", address: str) -> None:
    page = browser.new_page()
    wrong = page_faults(page, f"{address}{name}.html", address)
    page.close()
    assert not wrong, f"{name}: {wrong}"


def test_machines_are_told_of_pages_that_are_there() -> None:
    """The sitemap has the pages of the last run, llms.txt all pages."""
    pages = {str(page.relative_to(SITE)) for page in SITE.rglob("*.html") if "_static" not in page.parts}
    told = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", (SITE / "llms.txt").read_text("utf-8"), re.MULTILINE)
    mapped = re.findall(r"<loc>([^<]+)</loc>", (SITE / "sitemap.xml").read_text("utf-8"))
    start = next(url for url in told if url.endswith("/index.html")).removesuffix("index.html")
    assert len(told) > 100 and mapped
    assert {url.removeprefix(start) for url in [*told, *mapped]} <= pages


@pytest.mark.parametrize("words", ROUTES)
def test_a_task_is_found_from_the_start_page(words: str, browser: "Browser", address: str) -> None:
    leads_to, query = ROUTES[words]
    page = browser.new_page(viewport={"width": 390, "height": 900})
    page.goto(f"{address}index.html")
    page.get_by_role("link", name=words, exact=True).first.click()
    page.wait_for_url(address + leads_to)  # which waits until the page is there, too
    assert page.locator("h1").first.is_visible()
    page.goto(f"{address}search.html?q={query.replace(' ', '+')}")
    page.wait_for_selector("#search-results ul.search li")
    page.wait_for_function("document.querySelector('.search-summary').textContent.includes('found')")
    links = page.locator("#search-results ul.search > li > a")
    first = [links.nth(i).get_attribute("href") or "" for i in range(min(N_RESULTS, links.count()))]
    assert any(leads_to.partition("#")[0] in link for link in first), first
    page.close()
