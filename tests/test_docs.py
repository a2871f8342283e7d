"""The pages, docstrings, examples and equations do what they say; `make site` builds the whole website of them.

On a page, in order and in a folder of its own:

- a ``python`` fence runs, all of a page in one namespace; a ``text`` fence right below it is what it printed,
  numbers compared loosely, as they may differ a little from one processor to another;
- a ``console`` fence has its ``$ committee ...`` lines run; the words of the output shown must occur in the real one;
- pictures that the snippets write must look like those of the same name beside the page.
"""

import ast
import contextlib
import doctest
import importlib
import inspect
import io
import itertools
import math
import pkgutil
import re
import shlex
import subprocess
import sys
import tomllib
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from docs.site_parts.links_outside import linked_from
from docs.site_parts.plain_docstrings import escaped
from matplotlib.image import imread
from typer.testing import CliRunner

import committee
from committee.cli.main import app
from committee.learners.certificates.certificates import CERTIFICATES
from committee.learners.reweighting.margin_reweighter import LEVELS
from committee.objectives.losses.named_losses import REGRESSION_LOSSES
from committee.objectives.margins.named_objectives import OBJECTIVES
from committee.objectives.programs.penalties import PENALTIES
from committee.report.metrics import METRICS
from committee.vote.links.mean import MEAN_LINKS
from committee.vote.links.probability import LINKS
from tests.browser.test_site import ROUTES
from tests.site_links import broken_links

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    *sorted(DOCS.glob("*.md")),
    *sorted((DOCS / "tutorials").glob("*.md")),
    *sorted((DOCS / "papers").glob("*.md")),
]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(committee.__path__, "committee.")
    if not found.name.rpartition(".")[2].startswith("_")
)

NUMBER = r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?"


@dataclass(frozen=True)
class Fence:
    """A fenced block of a page: its language, its text and where it stands."""

    language: str
    text: str
    line: int  # of the first line of text
    end: int  # of the closing line


def fences(page: Path) -> list[Fence]:
    found, start, language = [], None, ""
    lines = page.read_text("utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        if line.startswith("```") and start is None:
            start, language = number, line[3:].strip()
        elif line.startswith("```"):
            text = "\n".join(lines[start : number - 1]) + "\n"
            found.append(Fence(language, text, start + 1, number))
            start = None
    assert start is None, f"{page}: the fence of line {start} is never closed"
    return found


def run_python(fence: Fence, page: Path, namespace: dict[str, object]) -> str:
    """What a snippet prints; its line numbers are those of the page."""
    code = compile("\n" * (fence.line - 1) + fence.text, str(page), "exec")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)
    return printed.getvalue()


def run_console(fence: Fence, page: Path) -> None:
    """Run the lines that call committee; others, as make and pip, are for readers.

    They run in this process: to import everything anew would take most of the time.
    """
    for command, shown in commands(fence.text):
        words = shlex.split(command)
        if words[0] != "committee":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            answer = CliRunner(env={"COLUMNS": "100", "TERM": "dumb"}).invoke(app, words[1:])
        assert answer.exit_code == 0, f"{page.name}: $ {command}\n{answer.output}\n{answer.exception!r}"
        missing = words_of(shown) - words_of(answer.output)
        assert not missing, f"{page.name}: $ {command} does not print {sorted(missing)}, but\n{answer.output}"


def commands(text: str) -> list[tuple[str, str]]:
    """Each ``$`` line, those that end in a backslash joined to the next, with the output shown below it."""
    parts = re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.MULTILINE)[1:]
    return [(command, shown) for command, _, shown in (part.partition("\n") for part in parts)]


def words_of(output: str) -> set[str]:
    return set(re.findall(r"[A-Za-z][\w:/-]*\w", output)) - {"..."}


def assert_prints(shown: str, printed: str, where: str) -> None:
    """The same text, and numbers within a tenth or 0.02 of those shown."""
    message = f"{where} shows\n{shown}\nbut prints\n{printed}"
    texts = [re.split(NUMBER, output.strip()) for output in (shown, printed)]
    assert [" ".join(part.split()) for part in texts[0]] == [" ".join(part.split()) for part in texts[1]], message
    numbers = [[float(n.replace(",", "")) for n in re.findall(NUMBER, output)] for output in (shown, printed)]
    for a, b in zip(*numbers, strict=True):
        assert math.isclose(a, b, rel_tol=0.1, abs_tol=0.02), message


def blocks(picture: Path) -> np.ndarray:
    """Mean colours of squares of 8 by 8 pixels, which differ little if a letter moves by a pixel."""
    pixels = imread(picture)[..., :3]
    rows, columns = pixels.shape[0] // 8, pixels.shape[1] // 8
    return pixels[: 8 * rows, : 8 * columns].reshape(rows, 8, columns, 8, 3).mean((1, 3))


def assert_current_pictures(folder: Path, made: Path) -> None:
    for new in made.glob("*.png"):
        old = folder / new.name
        if old.exists():
            a, b = blocks(old), blocks(new)
            is_same = a.shape == b.shape and np.sqrt(((a - b) ** 2).mean()) < 0.03
            assert is_same, f"{old} is out of date; look at {new}, and copy it"


@pytest.fixture
def tables_as_they_were():
    """Put the tables of names back: a page that adds to one is not to be seen by what runs later."""
    tables: list[dict[str, object]] = [
        CERTIFICATES,
        LEVELS,
        LINKS,
        MEAN_LINKS,
        METRICS,
        OBJECTIVES,
        PENALTIES,
        REGRESSION_LOSSES,
    ]
    before = [dict(table) for table in tables]
    yield
    for table, entries in zip(tables, before, strict=True):
        table.clear()
        table.update(entries)


SLOW_PAGES = {"blend", "bounds", "guide", "nesting", "pruning", "reading-models", "smaller-forest"}
"""Pages whose snippets take 2 to 12 seconds."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (page.stem in SLOW_PAGES)) for page in PAGES],
    ids=lambda page: page.name,
)
@pytest.mark.usefixtures("tables_as_they_were")
def test_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": page.stem}
    every = fences(page)
    for fence, below in itertools.zip_longest(every, every[1:]):
        if fence.language == "python":
            printed = run_python(fence, page, namespace)
            if below is not None and below.language == "text" and below.line - 1 - fence.end <= 2:
                assert_prints(below.text, printed, f"{page.name}:{fence.line}")
            else:
                assert not printed, f"{page.name}:{fence.line} prints what the page does not show:\n{printed}"
        elif fence.language == "console":
            run_console(fence, page)
    assert_current_pictures(page.parent, tmp_path)


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_displayed_equations_are_paragraphs(page):
    """The website shows the source of an equation that has no empty line before and after it."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for equation in re.finditer(r"\$\$.*?\$\$", text, re.DOTALL):
        before, after = text[: equation.start()], text[equation.end() :]
        alone = re.search(r"(\A|\n) *\n *\Z", before) and re.match(r" *(\n *\n|\n*\Z)", after)
        assert alone, f"{page.name}: no empty line around {equation.group()[:60]}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name} links to {target}, which is not there"
        assert not anchor or anchor in anchors(file), f"{page.name} links to {target}, but there is no such heading"


def test_every_page_is_in_a_table_of_the_site():
    """Of the start page or of the page of a part; the menus of the website have the same."""
    tables = [DOCS / f"{name}.md" for name in ("index", "how-to", "reference", "explanation", "project")]
    tables += [DOCS / "tutorials" / "index.md", DOCS / "papers" / "index.md"]
    links = {table: re.findall(r"\]\(([^)#\s]+\.md)", table.read_text("utf-8")) for table in tables}
    named = {(table.parent / link).resolve() for table, found in links.items() for link in found}
    pages = {*DOCS.glob("*.md"), *DOCS.glob("tutorials/*.md"), *DOCS.glob("papers/*.md")}
    assert not [str(page.relative_to(DOCS)) for page in sorted(pages - named - {DOCS / "index.md"})]


def documented() -> list[tuple[str, object]]:
    """Names of docs/reference.md with the objects that they name."""
    page = (DOCS / "reference.md").read_text("utf-8")
    found = []
    for part in page.split(".. currentmodule:: ")[1:]:
        module = part.split("\n")[0].strip()
        names = re.findall(r"^   (\w+)$", part.split("```")[0], re.MULTILINE)
        found += [(f"{module}.{name}", getattr(importlib.import_module(module), name)) for name in names]
    return found


def test_public_names_and_their_methods_have_docstrings():
    named = documented()
    assert len(named) > 100
    for name, thing in list(named):
        methods = inspect.getmembers(thing) if inspect.isclass(thing) else []
        named += [(f"{name}.{key}", value) for key, value in methods if callable(value) and not key.startswith("_")]
    assert not [name for name, thing in named if callable(thing) and not inspect.getdoc(thing)]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    report = io.StringIO()
    for example in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        runner.run(example, out=report.write)
    assert not runner.summarize(verbose=False).failed, report.getvalue()


@pytest.mark.one_in(6)
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.name)
def test_example_runs(script, tmp_path):
    lines = script.read_text("utf-8").count("\n")
    assert lines < 60, f"examples/{script.name} has {lines} lines; an example is read in one go"
    command = [sys.executable, "-W", "error", str(script)]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip() and not answer.stderr.strip()
    assert_current_pictures(script.parent, tmp_path)


def test_the_gallery_is_complete():
    index = (DOCS / "index.md").read_text("utf-8")
    assert EXAMPLES and not [script.name for script in EXAMPLES if f"(../examples/{script.name})" not in index]


# --- the website ------------------------------------------------------------------------------------------------------

PUBLIC = ["", "report", "objectives.losses", "bounds", "dask", "learners.trained_ensembles", "onnx"]


@pytest.mark.parametrize("package", PUBLIC)
def test_the_reference_has_every_public_name(package):
    reference = set(re.findall(r"^   (\w+)$", (DOCS / "reference.md").read_text("utf-8"), re.MULTILINE))
    assert not set(importlib.import_module(f"committee.{package}".rstrip(".")).__all__) - reference


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
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    badges = sorted((DOCS / "_static" / "badges").glob("*.svg"))
    said = {path.stem: re.search(r"aria-label=\"([^\"]+)\"", path.read_text("utf-8"))[1] for path in badges}
    assert said["license"] == f"license: {project['project']['license']}"
    assert said["python"] == f"python: {project['project']['requires-python'].replace('>=', '')} or later"
    assert said["coverage"] == f"coverage: at least {project['tool']['coverage']['report']['fail_under']} %"
    assert "make coverage" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    readme = (ROOT / "README.md").read_text("utf-8")
    assert all(f"(docs/_static/badges/{name}.svg)" in readme for name in said)


# --- equations: the index of docs/theory.md names code and tests, and the code names the label ------------------------


def index_rows() -> list[tuple[str, ...]]:
    """Label, code and test of every row."""
    section = (DOCS / "theory.md").read_text("utf-8").split("## Where each equation is\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return [tuple(re.findall(r"`([^`]+)`", row)) for row in rows]


EQUATIONS = index_rows()


def definition(path: Path, name: str) -> ast.FunctionDef | ast.ClassDef:
    """The function, class or method of that qualified name in a file."""
    body: list[ast.stmt] = ast.parse(path.read_text("utf-8")).body
    for part in name.split("."):
        found = [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part]
        assert found, f"{path.relative_to(ROOT)} has no {name}"
        last = found[-1]  # overloads come before what they stand for
        body = last.body
    return last


def test_the_index_covers_the_documents():
    assert len(EQUATIONS) >= 50
    assert len({label for label, _, _ in EQUATIONS}) == len(EQUATIONS)


@pytest.mark.parametrize(("label", "code", "test"), EQUATIONS, ids=[label for label, _, _ in EQUATIONS])
def test_both_ends_of_an_equation_exist(label, code, test):
    file, _, name = code.partition(":")
    line = f"Equation: {label} (docs/theory.md)"
    if file.startswith("core/"):
        assert line in (ROOT / file).read_text("utf-8"), f"{file} does not say '{line}'"
    else:
        said = ast.get_docstring(definition(ROOT / "src" / "committee" / file, name)) or ""
        assert line in said, f"the docstring of {code} does not say '{line}'"
    file, _, name = test.partition(":")
    definition(ROOT / "tests" / file, name)


def test_labels_in_the_code_are_in_the_index():
    known = {label for label, _, _ in EQUATIONS}
    for folder, pattern in (("src", "*.py"), ("core", "*.hpp")):
        for path in (ROOT / folder).rglob(pattern):
            for label in re.findall(r"Equation: ([a-z0-9-]+) \(docs/theory\.md\)", path.read_text("utf-8")):
                assert label in known, f"{path.relative_to(ROOT)} names {label}, which docs/theory.md does not"
