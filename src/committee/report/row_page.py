"""One row of a table, and why the model answers it so, as one HTML page."""

from __future__ import annotations

from typing import Any

from committee.report.drawing.rows import Bar, bars
from committee.report.drawing.scale import format_number
from committee.report.drawing.svg import AGAINST, FOR, REST, legend
from committee.report.explained.model_card import model_card
from committee.report.explained.model_explanation import Explanation
from committee.report.page import Picture, Section, render_page
from committee.report.row_explanation import RowExplanation
from committee.report.row_sentences import row_grid, row_sentences


def row_page(model: Any, found: RowExplanation, *, row: str, title: str = "", most: int = 12) -> str:
    """Render the page of a row that is explained.

    Parameters
    ----------
    model : fitted learner
    found : RowExplanation
        Of one row.
    row : str
        What the row is called.
    title : str, default=""
        Heading; the class name by default.
    most : int, default=12
        Columns that have a bar; the others are one bar.

    Returns
    -------
    str
        A whole HTML page that needs nothing else, no network and no file.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import RandomForestClassifier
    >>> from committee.report.row_explanation import RowExplanation
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> row_page(model, RowExplanation.of(model, X, 7), row="row 7 of iris").splitlines()[0]
    '<!DOCTYPE html>'
    """
    return render_page(
        title or type(model).__name__,
        [
            Section("What the columns add", [_picture(found, most), row_grid(found, len(found.labels))]),
            model_card(Explanation.of(model)),
        ],
        lead=f"{row[:1].upper()}{row[1:]}: {found.remark}.",
        verdict=row_sentences(found),
    )


def _picture(found: RowExplanation, most: int) -> Picture:
    from markupsafe import Markup

    some, (n_rest, rest) = found.largest(most)
    lines = [Bar(name, value, _signed(value)) for name, value in some]
    if n_rest:
        lines.append(Bar(f"{n_rest:,} other{'s' if n_rest > 1 else ''}, together", rest, _signed(rest), is_rest=True))
    start, end = float(found.contributions[-1]), float(found.contributions.sum())
    what = found.subject.partition(": ")[0]
    return Picture(
        "",
        f"From {format_number(start)} ({found.start}) to {format_number(end)}, the {what}: what the value of each "
        "column adds.",
        legend([(FOR, "adds"), (AGAINST, "takes away"), (REST, "all other columns together")])
        + bars(lines, "; ".join(f"{bar.name} {bar.text}" for bar in lines), most_lines=2)
        if lines
        else Markup(""),
    )


def _signed(value: float) -> str:
    return ("+" if value >= 0.0 else "") + format_number(value, 3)
