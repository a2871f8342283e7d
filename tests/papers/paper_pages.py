"""Tables of a paper's page, and of ``tables.md``, which its command writes."""

import re
from dataclasses import dataclass
from math import isclose
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES, LONG_TABLES = ROOT / "docs" / "papers", ROOT / "benchmarks" / "results" / "papers"
NUMBER = r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?"
TIMED = r"\b(s|ms|seconds|fit|choice|training|one split|100 splits)\b|x vanilla"
"""Words in the headings of columns that were timed."""


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
