"""Do the links of a built website lead somewhere? ``python -m tests.site_links FOLDER``.

Sphinx checks what pages write; this checks what was written: every address of every page that stands in the folder,
files and anchors alike. Links to other hosts are left alone.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


@dataclass
class Addresses(HTMLParser):
    """Anchors of a page, and what it links to."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (name == "id" or (name == "name" and tag == "a")):
                self.anchors.add(value)
            elif value and name in ("href", "src"):
                self.links.append(value)


def broken_links(folder: Path) -> list[str]:
    """Each link that leads nowhere, with the page that has it."""
    folder = folder.resolve()
    pages: dict[Path, Addresses] = {}
    for file in sorted(set(folder.rglob("*.html")) - set(folder.glob("_static/**/*.html"))):  # which has templates
        pages[file] = Addresses()
        pages[file].feed(file.read_text("utf-8"))
    found = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            anchor = unquote(parts.fragment)
            missing = not target.is_file() or (target in pages and anchor and anchor not in pages[target].anchors)
            if missing:
                found.append(f"{file.relative_to(folder)} links to {link}")
    return found


if __name__ == "__main__":
    broken = broken_links(Path(sys.argv[1]))
    print(*broken, sep="\n", end="\n" if broken else "")
    sys.exit(1 if broken else 0)
