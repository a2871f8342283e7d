"""What `make site` makes the website of; the whole of it is built by that command, which fails on any warning."""

import re
from importlib import import_module
from pathlib import Path

import pytest
from docs.site_parts.links_outside import linked_from
from docs.site_parts.plain_docstrings import escaped

from tests.browser.test_site import ROUTES
from tests.site_links import broken_links

DOCS = Path(__file__).resolve().parent.parent / "docs"
PUBLIC = ["", "report", "objectives.losses", "bounds", "dask", "learners.trained_ensembles", "onnx"]


@pytest.mark.parametrize("package", PUBLIC)
def test_the_reference_has_every_public_name(package):
    reference = set(re.findall(r"^   (\w+)$", (DOCS / "reference.md").read_text("utf-8"), re.MULTILINE))
    assert not set(import_module(f"committee.{package}".rstrip(".")).__all__) - reference


def test_links_out_of_the_pages_lead_to_the_site_or_the_repository(monkeypatch):
    text = (
        "[a](../CHANGELOG.md#b) [c](../examples/margins.py) [d](../core/bins/bins.hpp) [e](theory.md#x) ![f](f.png)\n"
        "```python\n[g](../core/bins/bins.hpp)\n```\n"
    )
    monkeypatch.delenv("SITE_SOURCE", raising=False)
    site = "[a](changes.md#b) [c](gallery/margins.rst) d [e](theory.md#x) ![f](f.png)\n"
    assert linked_from("guide", text, "docs").startswith(site)
    assert linked_from("guide", text, "docs").endswith("[g](../core/bins/bins.hpp)\n```\n")
    monkeypatch.setenv("SITE_SOURCE", "https://host/blob/main")
    assert "[d](https://host/blob/main/core/bins/bins.hpp)" in linked_from("guide", text, "docs")
    assert linked_from("papers/sbpmt", "[a](../theory.md)", "docs/papers") == "[a](../theory.md)"
    assert linked_from("changes", "[a](docs/theory.md#b)", "") == "[a](theory.md#b)"


def test_the_routes_that_are_written_down_are_those_of_the_start_page():
    """Words of a link and of a search, by docs/routes.md; `make browser` follows them in the built site."""
    routes = (DOCS / "routes.md").read_text("utf-8")
    rows = re.findall(r'^\| [^|]+ \| "([^"]+)" [^|]+ \| "([^"]+)" \|$', routes, re.MULTILINE)
    assert dict(rows) == {words: query for words, (_, query) in ROUTES.items()}
    start = (DOCS / "index.md").read_text("utf-8")
    for words, (leads_to, _) in ROUTES.items():
        assert f"[{words}]({leads_to.replace('.html', '.md')})" in start


def test_docstrings_keep_their_signs():
    assert escaped(["the sum |w| of w_, ``a|b_``"]) == [r"the sum \|w\| of w\_, ``a|b_``"]
    assert escaped(["J. Zhu (2009).", ".. [r1] J. Zhu, H. Zou", "A row. One"]) == [
        r"J\. Zhu (2009).", r".. [r1] J\. Zhu, H. Zou", "A row. One"
    ]  # fmt: skip
    example = [">>> f(1)  # |x|", "a_ | b", "", "c_ |"]
    assert escaped(example) == [*example[:3], r"c\_ \|"]


def test_broken_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a id="top" href="b.html#here">b</a><a href="#gone">c</a><img src="d.png">', "utf-8"
    )
    (tmp_path / "b.html").write_text(
        '<p id="here"></p><a href="a.html#top">a</a><a href="https://host/x">x</a>', "utf-8"
    )
    assert broken_links(tmp_path) == ["a.html links to #gone", "a.html links to d.png"]


def test_the_badges_say_what_is_true():
    import tomllib

    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))
    said = {path.stem: re.search(r"aria-label=\"([^\"]+)\"", path.read_text("utf-8"))[1] for path in badges()}
    assert said["license"] == f"license: {project['project']['license']}"
    assert said["python"] == f"python: {project['project']['requires-python'].replace('>=', '')} or later"
    assert said["coverage"] == f"coverage: at least {project['tool']['coverage']['report']['fail_under']} %"
    assert "make coverage" in (DOCS.parent / "CONTRIBUTING.md").read_text("utf-8")
    readme = (DOCS.parent / "README.md").read_text("utf-8")
    assert all(f"(docs/_static/badges/{name}.svg)" in readme for name in said)


def badges() -> list[Path]:
    found = sorted((DOCS / "_static" / "badges").glob("*.svg"))
    assert found
    return found
