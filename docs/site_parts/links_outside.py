"""Links that lead out of `docs/`, as readers of the repository need them, made links of the website.

A file of `examples/` is a page of the gallery, and the project's own pages of `ROOT_PAGES` have a place on the site.
Other files are linked at the address of the repository, which the variable ``SITE_SOURCE`` names
(https://host/owner/name/blob/main); without it only their names are left.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT_PAGES = {
    "README.md": "index",
    "CHANGELOG.md": "changes",
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
}
"""Pages of the repository's root, and where the site has them."""

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^(```.*?^```[^\n]*$)", re.MULTILINE | re.DOTALL)


def linked_from(docname: str, text: str, folder: str) -> str:
    """Return a page's text with its links as the site has them.

    Parameters
    ----------
    docname : str
        The page, as Sphinx names it.
    text : str
        What it says.
    folder : str
        Where its links begin, from the repository's root: "docs" or "" of pages of the root.
    """
    here = PurePosixPath(docname).parent

    def link(found: re.Match[str]) -> str:
        image, words, target, anchor = found[1], found[2], found[3], found[4] or ""
        if image or "://" in target or target.startswith("mailto:"):
            return found[0]
        path = normpath(str(PurePosixPath(folder) / target))
        if path in ROOT_PAGES:
            return f"[{words}]({relpath(ROOT_PAGES[path], here)}.md{anchor})"
        if path.startswith("examples/") and path.endswith(".py"):
            return f"[{words}]({relpath('gallery/' + PurePosixPath(path).stem, here)}.rst)"
        if path.startswith("docs/"):
            return f"[{words}]({relpath(path.removeprefix('docs/'), here)}{anchor})"
        source = os.environ.get("SITE_SOURCE")
        return f"[{words}]({source}/{path})" if source else words

    parts = FENCE.split(text)
    return "".join(part if i % 2 else LINK.sub(link, part) for i, part in enumerate(parts))


def on_source_read(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put a page of the root in the place of the page that points to it, and mend the links of all."""
    if Path(app.env.doc2path(docname)).suffix != ".md":
        return
    roots = {page: name for name, page in ROOT_PAGES.items() if page != "index"}
    if docname in roots:
        file = Path(app.srcdir).parent / roots[docname]
        app.env.note_dependency(str(file))
        source[0] = linked_from(docname, file.read_text("utf-8"), "")
    else:
        source[0] = linked_from(docname, source[0], str(PurePosixPath("docs") / PurePosixPath(docname).parent))


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("source-read", on_source_read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
