"""From the raw files of a public table to one CSV: label last, missing cells empty, the cells' text else as it was."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from io import StringIO

from committee.papers.public_tables.public_table import TARGET, PublicTable
from committee.papers.public_tables.raw_formats import WHITESPACE, RawFormat

Rows = list[list[str]]


def converted(table: PublicTable, contents: Sequence[bytes]) -> bytes:
    r"""Return the finished CSV of the contents of a table's files.

    Raises
    ------
    ValueError
        If they are not in the table's format.

    Examples
    --------
    >>> from committee.papers.public_tables.conversion import converted
    >>> from committee.papers.public_tables.public_table import PublicTable
    >>> table = PublicTable("t", "T", 2, (), ("id", "target", "size"), "", drop=("id",), missing="?")
    >>> converted(table, [b"1,a,2.50\n2,b,?\n"])
    b'size,target\n2.50,a\n,b\n'
    """
    rows = STEPS[table.step](table, contents)
    for row in rows:
        if len(row) != len(table.columns):
            raise ValueError(f"a row has {len(row)} cells, not {len(table.columns)}: {','.join(row)[:60]!r}")
    places = [(name, table.columns.index(name)) for name in table.kept]
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.kept)
    writer.writerows([_cell(table, name, row[place]) for name, place in places] for row in rows)
    return text.getvalue().encode()


def _cell(table: PublicTable, name: str, cell: str) -> str:
    if cell == table.missing:
        return ""
    cell = table.decode.get(name, {}).get(cell, cell)
    if table.lower_case:
        cell = cell.lower()
    if table.plain_numbers:
        cell = _plain(cell)
    if table.decimals is not None and name != TARGET:
        cell = _rounded(cell, table.decimals)
    return cell


def _plain(cell: str) -> str:
    if not re.fullmatch(r"\d*\.?\d*", cell) or cell in ("", "."):
        return cell
    whole, point, rest = cell.partition(".")
    return (whole.lstrip("0") or "0") + (point + rest if rest else "")


def _rounded(cell: str, decimals: int) -> str:
    return str(float(Decimal(cell).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)))


# --- steps ------------------------------------------------------------------------------------------------------------


def _one_after_the_other(table: PublicTable, contents: Sequence[bytes]) -> Rows:
    return [row for content in contents for row in table.format.rows(content)]


def _broken_line_joined(table: PublicTable, contents: Sequence[bytes]) -> Rows:
    """A record of `cylinder_bands` stands on two lines: its first one ends in a comma."""
    return _one_after_the_other(table, [re.sub(rb",\r?\n", b",", content) for content in contents])


_LETTERS = {"-1": "A", "-0.333333": "G", "0.333333": "C", "1": "T"}
"""Of `splice` in its copy of numbers."""


def _first_as_in_copy(table: PublicTable, contents: Sequence[bytes]) -> Rows:
    """Rows of `splice` of the four letters alone; first those of a copy of numbers in its order, then the others.

    The copy tells the class N from the two others. Of equal rows the first comes first.
    """
    own, copy = table.format.rows(contents[0]), RawFormat(delimiter=WHITESPACE).rows(contents[1])
    letters = slice(1, -1)
    label = table.columns.index(TARGET)
    kept = [row for row in own if set(row[letters]) <= set(_LETTERS.values())]
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, row in reversed(list(enumerate(kept))):
        places["1" if row[label] == "N" else "-1", *row[letters]].append(i)
    try:
        first = [places[row[0], *(_LETTERS[cell] for cell in row[1:])].pop() for row in copy]
    except (IndexError, KeyError):
        raise ValueError("a row of the copy that gives the order is not in the table") from None
    chosen = set(first)
    return [kept[i] for i in first] + [row for i, row in enumerate(kept) if i not in chosen]


STEPS: dict[str | None, Callable[[PublicTable, Sequence[bytes]], Rows]] = {
    None: _one_after_the_other,
    "broken line joined": _broken_line_joined,
    "first as in copy": _first_as_in_copy,
}
"""From contents to rows, by the name in the map."""
