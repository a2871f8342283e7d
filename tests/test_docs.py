"""The pages, docstrings and examples do what they say.

On a page, in order and in a folder of its own:

- a ``python`` fence runs, all of a page in one namespace; a ``text`` fence right below it is what it printed,
  numbers compared loosely, as they may differ a little from one processor to another;
- a ``console`` fence has its ``$ committee ...`` lines run; the words of the output shown must occur in the real one.
"""

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
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest
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

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
    *sorted((ROOT / "docs" / "papers").glob("*.md")),
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

    def is_right_below(self, other: "Fence") -> bool:
        return self.line - 1 - other.end <= 2


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
            if below is not None and below.language == "text" and below.is_right_below(fence):
                assert_prints(below.text, printed, f"{page.name}:{fence.line}")
            else:
                assert not printed, f"{page.name}:{fence.line} prints what the page does not show:\n{printed}"
        elif fence.language == "console":
            run_console(fence, page)


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
    docs = ROOT / "docs"
    tables = [docs / f"{name}.md" for name in ("index", "how-to", "reference", "explanation", "project")]
    tables += [docs / "tutorials" / "index.md", docs / "papers" / "index.md"]
    links = {table: re.findall(r"\]\(([^)#\s]+\.md)", table.read_text("utf-8")) for table in tables}
    named = {(table.parent / link).resolve() for table, found in links.items() for link in found}
    pages = {*docs.glob("*.md"), *docs.glob("tutorials/*.md"), *docs.glob("papers/*.md")}
    assert not [str(page.relative_to(docs)) for page in sorted(pages - named - {docs / "index.md"})]


def documented() -> list[tuple[str, object]]:
    """Names of docs/reference.md with the objects that they name."""
    page = (ROOT / "docs" / "reference.md").read_text("utf-8")
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


def test_the_gallery_is_complete():
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    assert EXAMPLES and not [script.name for script in EXAMPLES if f"(../examples/{script.name})" not in index]
