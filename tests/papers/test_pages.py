"""Commands of the papers: small runs, refused options, and the tables of the papers' pages.

Every paper runs small, without a folder of tables or a network, and prints the kinds of tables that its page has. A
whole run prints the numbers of the page. Whole runs take hours, and go on from their cells, which a folder in FOLDER
has for each paper: ``COMMITTEE_DATA=TABLES COMMITTEE_PAPERS=FOLDER pytest -m hours tests/papers/test_pages.py``.
"""

import os
import re
from dataclasses import dataclass
from importlib import import_module
from math import isclose
from pathlib import Path

import pytest

import committee.papers
from committee.papers import PAPERS
from tests.papers.conftest import run, write_folder

ROOT = Path(__file__).resolve().parents[2]
PAGES, LONG_TABLES = ROOT / "docs" / "papers", ROOT / "benchmarks" / "results" / "papers"
NUMBER = r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?"
TIMED = r"\b(s|ms|seconds|fit|choice|training|one split|100 splits)\b|x vanilla"
"""Words in the headings of columns that were timed."""

FOLDER, DATA = (os.environ.get(name) for name in ("COMMITTEE_PAPERS", "COMMITTEE_DATA"))  # no test sees the latter
OPTIONS = {
    "quadboost": {"anew": True},
    "margins": {"repeats": 100, "depth_splits": 0},
    "sbpmt": {"figure": 2, "repeats": 20},
}
"""Options of the run that a page shows, other than the defaults; of SBPMT the part that takes minutes."""
RUNS = {
    "sbpmt": (["--tables", "iris"], ("Table 2: accuracy", "mean of 1"), "table2-default.csv"),
    "lectures": ([], ("Margins of AdaBoost on iris", "all classes"), "margins-trees.png"),
    "quadboost": (["--repeats", "1", "--anew"], ("Table 1: test error", "wine"), "quadboost.png"),
    "matryoshka": (
        ["--repeats", "1"],
        ("M_2(T, rho)", "wdbc", "look ahead", "Growth of the boosting tree"),
        "cost.png",
    ),
    "margins": ([], ("Directions: in how many of 1 tables", "where SM1", "SM2, lts", "MD-Boost"), "depths.csv"),
}
"""By paper: options that make it smaller still, words of what is printed, a file."""

OTHER_TABLES = {
    "sbpmt": {
        "table | paper | paper's settings | in sds | defaults | in sds | forest | XGBoost": "two runs",
        "at | subagging times | AdaBoost iterations | ProbitBoost iterations | at | subagging ratio": "--figure 2",
        "table | SBPMT | forest | gbm | AdaBoost | XGB 10 | XGB 100 | LightGBM | CatBoost": "--rivals",
        "SBPMT against | difference | won-lost-tied, p | Poisson-binomial | better / worse, paired t": "--rivals",
        "columns | SBPMT | random forest | XGBoost (100) | minus random forest | minus XGBoost (100)": (
            "--study numeric"
        ),
        "rows | T = 1 | T = n^0.25 | T = n^0.5 | T = n^0.75": "--study consistency",
    },
    "quadboost": {
        "method | grid": "what was set",
        "voters, penalty | chosen | error, % | log loss | seconds a fit": "bench_voter_sets",
    },
    "margins": {
        **{
            f"table | forest | {weights} | deep forest | {weights} | AdaBoost | {weights}": "the document's own tables"
            for weights in (
                "UWS | mean gain | least gain",
                "EWS | mean gain | least gain",
                "PWS.05 | PWS.20 | PWS.50",
                "SM1 | variance decrease | range decrease",
                "SM2 | variance decrease | range decrease",
            )
        },
        "table | doc. forest | rescaled | forest | deep | doc. AdaBoost | rescaled | AdaBoost"
        " | doc. gain | forest | deep": "the document's own tables",
        "figure | error | error after | mean gain | least gain | least after | variance decrease | range decrease": (
            "the document's own tables"
        ),
        "depth | method | trees | leaves | min | median | mean | equ. | test error": "--depth-splits",
    },
}
"""What prints the pages' tables that this run does not print, by their headings."""


def test_papers_know_nothing_of_each_other():
    """A paper imports the shared parts and itself; the shared parts and the public tables import no paper."""
    folder = Path(committee.papers.__file__).parent
    names = {module.split(".")[2] for module in PAPERS.values()}
    folders = {path.name for path in folder.iterdir() if path.is_dir() and path.name[0] != "_"}
    assert names == folders - {"shared", "public_tables"}
    for path in folder.rglob("*.py"):
        imported = set(re.findall(r"(?:from|import) committee\.papers\.(\w+)", path.read_text("utf-8")))
        assert imported <= {"shared", path.parent.name}, path


@pytest.mark.one_in(4)
@pytest.mark.parametrize("paper", PAPERS)
def test_small(paper, monkeypatch, tmp_path):
    """The folder that the environment names is not looked at."""
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("the network"))
    monkeypatch.setenv("COMMITTEE_DATA", str(tmp_path / "none"))
    options, words, file = RUNS[paper]
    result = run(paper, "--small", *options, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert all(word in " ".join(result.stdout.split()) for word in words), result.stdout
    found = {path.name for path in (tmp_path / "out").iterdir()}
    assert file in found and any(name.startswith("cells-small") for name in found)
    made = {table.kind for page in (tmp_path / "out").glob("tables*.md") for table in tables_of(page)}
    other = {" | ".join(t.heading) for t in published_tables(paper) if t.kind not in made}
    assert other == OTHER_TABLES.get(paper, {}).keys()


# --- refused options --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paper", "options", "message"),
    [
        ("margins", {"repeats": 0}, "repeats, trees and jobs must be at least 1; got repeats=0, trees=200, jobs=1"),
        ("margins", {"depth": -1}, "depth=-1 is not a tree depth; use 1 to 30, or 0 for trees without a limit"),
        ("margins", {"depth_splits": -1}, "depth_splits=-1 is below 0; use 0 to leave out the comparison over depths"),
        ("margins", {"tables": ["sonr"]}, "tables names 'sonr', which is not there; did you mean 'sonar'"),
        ("margins", {"figure": 7}, "figure=7 cannot be rebuilt; use 1, 2, 3, 4, 5 or 6"),
        ("margins", {"figure": 6, "tables": ["sonar"]}, "figure=6 needs table 'ionosphere'; add it to --tables"),
        ("margins", {"figure": 1}, "does not name the table 'splice'"),
        ("margins", {}, "does not name the table 'australian'"),
        ("margins", {"small": True, "figure": 4}, "needs table 'sonar', which is not bundled; leave out --small"),
        ("margins", {"small": True, "tables": ["sonar"]}, "'sonar', which is not there; there are 'wdbc'"),
        ("quadboost", {"repeats": 0}, "repeats, jobs, max_rounds and max_grown must be at least 1; got repeats=0"),
        ("sbpmt", {"settings": "best"}, "settings='best' is not known; use one of paper, default"),
        ("sbpmt", {"repeats": 0}, "repeats and jobs must be at least 1; got repeats=0, jobs=1"),
        ("sbpmt", {"figure": 1}, "figure=1 cannot be rebuilt; use 2, 3 or 4"),
        ("sbpmt", {"rivals": True, "figure": 2}, "Figure 2 shows SBPMT only; leave out --rivals"),
        ("sbpmt", {"study": "numeric", "rivals": True}, "study='numeric' takes neither figure nor rivals"),
        ("sbpmt", {"study": "numeric", "figure": 3}, "study='numeric' takes neither figure nor rivals"),
        ("sbpmt", {"study": "size"}, "study='size' is not known; use consistency or numeric"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_run(tmp_path, paper, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        import_module(PAPERS[paper]).rebuild(write_folder(tmp_path), tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("lectures --quick --parts margin", "parts names 'margin', which is not there; did you mean 'margins'"),
        ("lectures --jobs 0", "jobs must be at least 1; got jobs=0"),
        ("margins --tables sonar", "with `committee papers fetch` and give it with --data or COMMITTEE_DATA"),
        ("quadboost --tables wine", "with `committee papers fetch` and give it with --data or COMMITTEE_DATA"),
        ("sbpmt --data .", "holds no catalogue.json"),
        ("sbpmt --data . --figure 5", "figure=5 cannot be rebuilt; use 2, 3 or 4"),
        ("sbpmt --figure 2 --tables iris", "is given with Figure 2, which simulates its rows"),
    ],
)
def test_errors_of_commands(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments.split(), "--out", "out")
    assert result.exit_code == 2 and message in result.output.replace("\n", " ")
    assert not (tmp_path / "out").exists()


# --- tables of pages -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PageTable:
    """A Markdown table: its heading's cells, its lines' cells, and where it begins."""

    heading: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    number: int

    @property
    def kind(self) -> frozenset[str]:
        """The headings without their numbers: a small run has fewer rounds."""
        return frozenset(re.sub(NUMBER, "N", cell) for cell in self.heading)


def tables_of(page: Path) -> list[PageTable]:
    found, lines = [], page.read_text("utf-8").splitlines()
    for number, line in enumerate(lines):
        if re.fullmatch(r"\|[-:| ]+\|", line):
            end = next((i for i in range(number, len(lines)) if not lines[i].startswith("|")), len(lines))
            found.append(PageTable(cells(lines[number - 1]), tuple(map(cells, lines[number + 1 : end])), number))
    return found


def published_tables(paper: str) -> list[PageTable]:
    """Tables of a paper's page, and of the file of its long tables, if it has one."""
    files = (folder / f"{paper}.md" for folder in (PAGES, LONG_TABLES))
    return [table for file in files if file.exists() for table in tables_of(file)]


def cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip("|").split("|"))


def assert_same_numbers(shown: PageTable, made: PageTable, page: Path) -> None:
    """The same texts, and the same numbers but for 1 % or one of the last digit; what was timed may be anything."""
    where = f"{page.name}, line {shown.number}: {' | '.join(shown.heading)}"
    assert len(shown.lines) == len(made.lines), f"{where}: {len(shown.lines)} lines, and {len(made.lines)} are made"
    for old, new in zip(shown.lines, made.lines, strict=True):
        for heading, a, b in zip(shown.heading, old, new, strict=True):
            if not re.search(TIMED, heading):
                assert same_cell(a, b), f"{where}: {old} of the page is {new} now ({heading})"


def same_cell(a: str, b: str) -> bool:
    """Whether two cells say the same, but for bold face."""
    a, b = (text.replace("*", "").replace("`", "") for text in (a, b))
    if re.split(NUMBER, a) != re.split(NUMBER, b):
        return False
    return all(
        isclose(_value(x), _value(y), rel_tol=0.01, abs_tol=1.01 * 10.0 ** -_digits(x))
        for x, y in zip(re.findall(NUMBER, a), re.findall(NUMBER, b), strict=True)
    )


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _digits(number: str) -> int:
    """Digits after the point; a power of ten, which has two that count, is compared by its share alone."""
    return 300 if "e" in number else len(number.partition(".")[2])


@pytest.mark.hours
@pytest.mark.filterwarnings("ignore:.*came from code that has changed since:UserWarning")
@pytest.mark.parametrize("paper", PAPERS)
def test_a_whole_run_prints_the_page(paper):
    assert FOLDER and DATA, "COMMITTEE_PAPERS names the folder of the runs, and COMMITTEE_DATA that of the tables"
    out, page = Path(FOLDER) / paper, PAGES / f"{paper}.md"
    import_module(PAPERS[paper]).rebuild(Path(DATA), out, **OPTIONS.get(paper, {}))
    shown = published_tables(paper)
    for made in [table for file in sorted(out.glob("tables*.md")) for table in tables_of(file)]:
        alike = [table for table in shown if table.heading == made.heading]
        assert alike, f"{page.name} lacks the table {' | '.join(made.heading)}"
        own = next((table for table in alike if same_cell(table.lines[0][0], made.lines[0][0])), alike[0])
        shown.remove(own)
        assert_same_numbers(own, made, page)


def table(*lines):
    return PageTable(("name", "error", "fit s"), lines, 1)


def test_numbers_are_compared():
    page, old = Path("page.md"), table(("a", "1.00 ±0.20", "0.1"), ("b", "2.5e+07", "-"))
    assert_same_numbers(old, table(("**a**", "1.01 ±0.19", "99"), ("b", "2.52e+07", "-")), page)
    for error, other in (("1.02 ±0.20", "2.5e+07"), ("1.00", "2.5e+07"), ("1.00 ±0.20", "2.6e+07"), ("-", "2.5e+07")):
        with pytest.raises(AssertionError, match=r"page.md, line 1: name \| error \| fit s"):
            assert_same_numbers(old, table(("a", error, "0.1"), ("b", other, "-")), page)
    with pytest.raises(AssertionError, match="2 lines, and 1 are made"):
        assert_same_numbers(old, table(("a", "1.00 ±0.20", "0.1")), page)
