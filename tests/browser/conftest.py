"""Fixtures of a browser: Playwright drives the Chromium of the system."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.open_page import OpenPage

if TYPE_CHECKING:
    from playwright.sync_api import Browser

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


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs committee[browser] (2026-11-23)")
    path = executable()
    if path is None:
        pytest.skip("needs Chromium, such as Debian's package of that name (2026-11-23)")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser: "Browser", tmp_path: Path) -> Iterator[Callable[..., OpenPage]]:
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
