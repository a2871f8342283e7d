"""The rows that are most wrong: what they are, what is predicted, and what columns made the model do so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from committee.report.explained.explanation import Explanation
from committee.report.grid import Grid
from committee.report.page import Part, Picture
from committee.report.row_explanation import RowExplanation
from committee.report.svg.bars import AGAINST, FOR, REST, Bar, bars
from committee.report.svg.element import legend, side_by_side
from committee.report.svg.scale import plain

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_ROWS, MOST_PICTURES, MOST_BARS = 10, 4, 6


def wrong_rows(found: Explanation) -> list[Part]:
    """A table of the rows, and of the first few what each column adds to the answer."""
    rows = found.wrong_rows(MOST_ROWS).tolist()
    if not rows:
        return []
    parts: list[Part] = [_grid(found, rows)]
    explained = _explained(found, rows)
    if explained:
        parts.append(_picture(found, explained))
    return parts


def _explained(found: Explanation, rows: list[int]) -> list[tuple[int, RowExplanation]]:
    """The first few rows, of those with the same values one."""
    shown: dict[tuple[str, ...], tuple[int, RowExplanation]] = {}
    for row in rows:
        each = found.row(row)
        if each is None or len(shown) == MOST_PICTURES:
            break
        shown.setdefault(each.labels, (row, each))
    return list(shown.values())


def _grid(found: Explanation, rows: list[int]) -> Grid:
    assert found.y is not None
    if not found.of_classes:
        cells = [
            (str(row), plain(float(found.y[row])), plain(float(found.predicted[row])),
             plain(float(found.y[row] - found.predicted[row])))
            for row in rows
        ]  # fmt: skip
        return Grid(
            "Rows of the largest errors, numbered from 0",
            ("row", "is", "predicted", "true less predicted"),
            tuple(cells),
            "rrrr",
        )
    said = [
        (
            str(row),
            str(found.y[row]),
            str(found.predicted[row]),
            f"{found.answers[row].max():.1%}",
            f"{1.0 - found.wrongness[row]:.1%}",
        )
        for row in rows
    ]
    columns = ("row", "is", "predicted", "probability of that", "probability of what it is")
    return Grid("Rows that are most surely wrong, numbered from 0", columns, tuple(said), "rllrr")


def _picture(found: Explanation, explained: list[tuple[int, RowExplanation]]) -> Picture:
    assert found.y is not None
    shown = [each.largest(MOST_BARS) for _, each in explained]
    sizes = [value for some, (_, rest) in shown for value in [*(v for _, v in some), rest]]
    panels: list[Markup] = []
    for (row, each), (some, (n_rest, rest)) in zip(explained, shown, strict=True):
        lines = [Bar(name, value, _signed(value)) for name, value in some]
        if n_rest:
            lines.append(Bar(f"{n_rest} other{'s' if n_rest > 1 else ''}, together", rest, _signed(rest), is_rest=True))
        truth = str(found.y[row]) if found.of_classes else plain(float(found.y[row]))
        said = "; ".join(f"{bar.name} {bar.text}" for bar in lines[:3])
        heading = f"Row {row} is {truth}, {each.remark}"
        panels.append(bars(lines, f"{heading}: {said}", heading=heading, least=min(sizes), largest=max(sizes)))
    subject = explained[0][1]
    many = found.of_classes and (len(found.model.classes_) > 2 or subject.total == "probability")
    what = f"{subject.total} of the class predicted" if many else subject.subject
    return Picture(
        "What made the model think so",
        f"What each column's value adds to the {what}. All rows have one scale; of equal rows one is shown.",
        legend([(FOR, "adds"), (AGAINST, "takes away"), (REST, "all other columns together")]) + side_by_side(panels),
    )


def _signed(value: float) -> str:
    return ("+" if value >= 0.0 else "") + plain(value, 3)
