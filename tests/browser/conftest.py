"""A real browser: Playwright drives the Chromium of the system."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.looked_at import Looked

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
    """Where the system's Chromium is: `COMMITTEE_CHROMIUM`, or a usual name on the path."""
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
def look_at(browser: "Browser", tmp_path: Path) -> Iterator[Callable[..., Looked]]:
    """Open a page's text in a window of some width, light or dark."""
    opened: list[Looked] = []

    def look(page: str, *, width: int = 1280, scheme: str = "light") -> Looked:
        file = tmp_path / "page.html"
        file.write_text(page, "utf-8")
        opened.append(Looked.open(browser, file, width, scheme))
        return opened[-1]

    yield look
    for each in opened:
        each.close()
