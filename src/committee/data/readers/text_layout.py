"""Layout of separated text by its first lines: lines above the column names, separator, aligned columns."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence

from committee.data.readers.cells import MISSING

_CANDIDATES = (",", ";", "\t", "|")
_MOST_ABOVE = 50  # lines among which the column names are searched


def detect_separator(lines: Sequence[str], usual: str) -> str:
    """Return the separator that splits all lines into the same number of cells, or else the most lines."""
    marks = candidate_separators(usual)
    if may_be_in_numbers(lines[1:] or lines, ","):
        others = tuple(mark for mark in marks if mark != "," and 2 * _most_alike(lines, mark)[0] > len(lines))
        marks = others or marks
    cells = {mark: cells_per_line(lines, mark) for mark in marks}
    best = max(cells, key=lambda mark: cells[mark])  # the usual one is the first of equals
    return best if cells[best] > 1 else max(marks, key=lambda mark: _most_alike(lines, mark))


def may_be_in_numbers(lines: Sequence[str], decimal: str | None) -> bool:
    """Return whether all commas of lines may be those of numbers with the decimal mark."""
    if decimal is None:
        return False
    after = r"\d" if decimal == "," else r"\d{3}(?!\d)"
    return not any(re.search(rf"(?<!\d),|,(?!{after})", line) for line in lines)


def _most_alike(lines: Sequence[str], mark: str) -> tuple[int, bool, int]:
    # most lines with the same number of cells, whether the first is one of them, and this number
    lengths = [len(row) for row in _split_lines(lines, mark) if row]
    (width, n), *_ = *Counter(length for length in lengths if length > 1).most_common(1), (0, 0)
    return n, lengths[:1] == [width], width


def _split_lines(lines: Sequence[str], mark: str) -> list[list[str]]:
    try:
        return list(csv.reader(lines, delimiter=mark))
    except csv.Error:
        return []


def candidate_separators(usual: str) -> tuple[str, ...]:
    return usual, *(mark for mark in _CANDIDATES if mark != usual)


def are_aligned(lines: Sequence[str], usual: str) -> bool:
    """One of at least five lines may have another number of cells, so that a broken line is found."""
    rows = [line.split() for line in lines if line.strip()]
    width, alike = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
    if alike < 2 or width < 2 or alike < len(rows) - (len(rows) >= 5) or any('"' in line for line in lines):
        return False
    if any(mark in line for line in lines for mark in candidate_separators(usual) if mark not in ",\t"):
        return False
    return _has_numbers([row for row in rows[1:] if len(row) == width])


def is_number(cell: str) -> bool:
    return re.fullmatch(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", cell) is not None


def lines_above_names(lines: Sequence[str], marks: Sequence[str], comment: str | None) -> int:
    kept = [k for k, line in enumerate(lines) if not (comment is not None and line.startswith(comment))]
    blank = next((k for k in kept if lines[k].strip()), 0)
    kept = kept[kept.index(blank) :] if kept else []
    found = []
    for mark in marks:
        try:
            k = _line_of_names([lines[k] for k in kept], mark)
        except csv.Error:
            continue
        if k == 0:
            return blank
        found += [] if k is None else [kept[k]]
    if found:
        return min(found)
    return next((k for k in kept[:_MOST_ABOVE] if not _is_remark(lines, k)), blank)


def _line_of_names(lines: Sequence[str], mark: str) -> int | None:
    # the first line below titles and remarks from which on all lines have the same number of cells
    certain = True  # whether all lines above are remarks, filled up with separators, or apart by an empty line
    for k, line in enumerate(lines[:_MOST_ABOVE]):
        row = next(csv.reader([line], delimiter=mark), [])
        if _filled(row) > 1 and cells_per_line(lines[k:], mark) > 1:
            body = [] if k == 0 else list(filter(None, csv.reader(lines[k + 1 :], delimiter=mark)))
            sure = certain or mark != "," or _has_numbers(body)  # sentences have commas
            if k == 0 or (body and not any(map(is_number, row)) and sure):
                return k
        if k == 0 and len(row) == 2 and cells_per_line(lines, mark) == 2:  # a column of row names has no name
            return k
        if _filled(row) > 1 and not line.startswith("#"):
            return None
        certain = not line.strip() or (certain and (line.startswith("#") or len(row) > 1))
    return None


def _has_numbers(rows: Sequence[Sequence[str]]) -> bool:
    # whether a column has numbers, also with decimal commas or as (1.23) or 1.23-, and missing cells alone
    columns = ([cell for cell in column if cell.strip() not in MISSING] for column in zip(*rows, strict=True))
    return any(column and all(map(_is_any_number, column)) for column in columns)


def _is_any_number(cell: str) -> bool:
    return is_number(cell.replace(",", ".").strip("() ").removesuffix("-"))


def _filled(row: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _is_remark(lines: Sequence[str], k: int) -> bool:
    # a line that begins with # is one of column names if the next line has as many cells, or the table one column
    if not lines[k].strip() or not lines[k].startswith("#"):
        return not lines[k].strip()
    following = next((line for line in lines[k + 1 :] if line.strip() and not line.startswith("#")), "")
    if any(cells_per_line([lines[k], following], mark) > 1 for mark in _CANDIDATES):
        return False
    return any(cells_per_line([following], mark) > 1 for mark in _CANDIDATES)


def cells_per_line(lines: Sequence[str], mark: str) -> int:
    found = 0
    try:
        for row in filter(None, csv.reader(lines, delimiter=mark)):
            if found not in (0, len(row)):
                return 0
            found = len(row)
    except csv.Error:
        return 0
    return found
