"""A page as a browser shows it, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDTHS = (390, 820, 1280)
PAPER = 673
"""Pixels between the margins of a sheet of A4."""
BOXES = (Path(__file__).parent / "boxes.js").read_text("utf-8")


COLOURS = ["color-contrast", "link-in-text-block"]
"""Rules of axe-core that say another thing in the dark."""


def hard_to_use(page: Page, rules: list[str] | None = None) -> list[str]:
    """What axe-core finds serious or critical by some rules or all, each with the first element concerned."""
    from axe_playwright_python.sync_playwright import Axe

    # what passes is told as well unless that is declined, megabytes of it
    options: dict[str, Any] = {"resultTypes": ["violations"]} | ({} if rules is None else {"runOnly": rules})
    found: list[dict[str, Any]] = Axe().run(page, options=options).response["violations"]
    return [
        f"{each['id']}: {each['help']} ({each['nodes'][0]['html'][:160]} {each['nodes'][0].get('failureSummary')})"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


@dataclass
class Looked:
    """A page that is open in a window, with what it said and asked for while it was loaded."""

    page: Page
    said: list[str] = field(default_factory=list)
    """Messages of the console that are errors or warnings, and errors of scripts."""
    asked: list[str] = field(default_factory=list)
    """Addresses beyond the page's own file."""

    @classmethod
    def open(cls, browser: Browser, file: Path, width: int, scheme: str) -> Self:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
        looked, address = cls(page), file.as_uri()
        page.on("console", lambda m: looked.said.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: looked.said.append(str(error)))
        page.on(
            "request",
            lambda r: looked.asked.append(r.url) if not r.url.startswith(("data:", address)) else None,
        )
        page.goto(address)
        return looked

    def show(self, width: int, scheme: str) -> None:
        """Give the window another width, and the page another scheme."""
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]

    def close(self) -> None:
        self.page.close()

    def wrong_boxes(self) -> list[str]:
        """Texts that cover each other, that are cut off or too small, and a page wider than its window."""
        found: list[str] = self.page.evaluate(BOXES)
        return found

    def all_that_is_wrong(self) -> list[str]:
        """Everything that can be seen without knowing what page it is, at all widths and in both schemes."""
        wrong = [*self.said, *(f"asks for {url}" for url in self.asked)]
        for width in WIDTHS:
            self.show(width, "light")
            # boxes are the same in any colour, and a tablet has what a screen has
            used = hard_to_use(self.page) if width != WIDTHS[1] else []
            wrong += [f"{width} px: {fault}" for fault in [*self.wrong_boxes(), *used]]
        self.show(WIDTHS[0], "dark")
        wrong += [f"dark: {fault}" for fault in hard_to_use(self.page, COLOURS)]
        return [*wrong, *(f"in print: {fault}" for fault in self.wrong_in_print())]

    def wrong_in_print(self) -> list[str]:
        """What cannot be read on paper: texts that are cut or cover each other, and colours that are left out."""
        self.page.set_viewport_size({"width": PAPER, "height": 900})
        self.page.emulate_media(media="print")
        lost: bool = self.page.evaluate(
            "[...document.querySelectorAll('.chip')].some((each) => getComputedStyle(each).printColorAdjust != 'exact')"
        )
        return [*self.wrong_boxes(), *(["a legend has no colours"] if lost else [])]
