"""A browser and the pages open in it, with their faults: Playwright drives the Chromium of the system."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",  # which a container's root must do without
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def executable() -> str | None:
    """Path of the system's Chromium: `COMMITTEE_CHROMIUM`, or a usual name on the path."""
    return os.environ.get("COMMITTEE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


WIDTHS = (390, 820, 1280)
PAPER = 673
"""Pixels between the margins of a sheet of A4."""
BOXES = (Path(__file__).parent / "boxes.js").read_text("utf-8")

COLOURS = ["color-contrast", "link-in-text-block"]
"""Rules of axe-core that depend on the colour scheme."""


def accessibility_faults(page: Page, rules: list[str] | None = None) -> list[str]:
    """Serious and critical violations of rules of axe-core (all by default), each with its first element."""
    from axe_playwright_python.sync_playwright import Axe

    # without results of passed rules, which are megabytes
    options: dict[str, Any] = {"resultTypes": ["violations"]} | ({} if rules is None else {"runOnly": rules})
    found: list[dict[str, Any]] = Axe().run(page, options=options).response["violations"]
    return [
        f"{each['id']}: {each['help']} ({each['nodes'][0]['html'][:160]} {each['nodes'][0].get('failureSummary')})"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


@dataclass
class OpenPage:
    """A page that is open in a window, with its console messages and external requests while it was loaded."""

    page: Page
    messages: list[str] = field(default_factory=list)
    """Errors and warnings of the console, and errors of scripts."""
    requests: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, browser: Browser, file: Path, width: int, scheme: str) -> Self:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
        opened, address = cls(page), file.as_uri()
        page.on("console", lambda m: opened.messages.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: opened.messages.append(str(error)))
        page.on(
            "request",
            lambda r: opened.requests.append(r.url) if not r.url.startswith(("data:", address)) else None,
        )
        page.goto(address)
        return opened

    def show(self, width: int, scheme: str) -> None:
        """Set the width of the window and the colour scheme."""
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]

    def close(self) -> None:
        self.page.close()

    def box_faults(self) -> list[str]:
        """Texts that cover each other, are cut off or too small, and a page wider than its window."""
        found: list[str] = self.page.evaluate(BOXES)
        return found

    def faults(self) -> list[str]:
        """All faults at all widths and in both colour schemes."""
        wrong = [*self.messages, *(f"requests {url}" for url in self.requests)]
        for width in WIDTHS:
            self.show(width, "light")
            # boxes are the same in any colour, and a tablet has what a screen has
            used = accessibility_faults(self.page) if width != WIDTHS[1] else []
            wrong += [f"{width} px: {fault}" for fault in [*self.box_faults(), *used]]
        self.show(WIDTHS[0], "dark")
        wrong += [f"dark: {fault}" for fault in accessibility_faults(self.page, COLOURS)]
        return [*wrong, *(f"in print: {fault}" for fault in self.print_faults())]

    def print_faults(self) -> list[str]:
        """Texts that are cut or cover each other in print, and legends without colours."""
        self.page.set_viewport_size({"width": PAPER, "height": 900})
        self.page.emulate_media(media="print")
        lost: bool = self.page.evaluate(
            "[...document.querySelectorAll('.chip')].some((each) => getComputedStyle(each).printColorAdjust != 'exact')"
        )
        return [*self.box_faults(), *(["a legend has no colours"] if lost else [])]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs committee[browser] (2026-11-23)")
    path = executable()
    if path is None:
        pytest.skip("needs Chromium, such as Debian's package of that name (2026-11-23)")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., OpenPage]]:
    """Open a page's text in a window of some width, light or dark."""
    opened: list[OpenPage] = []

    def open_text(page: str, *, width: int = 1280, scheme: str = "light") -> OpenPage:
        file = tmp_path / "page.html"
        file.write_text(page, "utf-8")
        opened.append(OpenPage.open(browser, file, width, scheme))
        return opened[-1]

    yield open_text
    for each in opened:
        each.close()
