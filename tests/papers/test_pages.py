"""Every table on the papers' pages is printed by a command, and a whole run prints the numbers of the page.

The whole runs take hours, and go on from their cells: ``COMMITTEE_DATA=TABLES COMMITTEE_PAPERS=FOLDER pytest -m hours
tests/papers/test_pages.py`` keeps them in FOLDER, one folder in it for each paper.
"""

import os
from importlib import import_module
from pathlib import Path

import pytest

from committee.papers import PAPERS
from tests.papers.paper_pages import PAGES, PageTable, assert_same_numbers, published_tables, same_cell, tables_of

FOLDER, DATA = (os.environ.get(name) for name in ("COMMITTEE_PAPERS", "COMMITTEE_DATA"))  # no test sees the latter
OPTIONS = {
    "quadboost": {"anew": True},
    "margins": {"repeats": 100, "depth_splits": 0},
    "sbpmt": {"figure": 2, "repeats": 20},
}
"""Options of the run that a page shows, other than the defaults; of SBPMT the part that takes minutes."""


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
