"""A fitted model as one HTML page: the tables of `inspection`, and pictures of its leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.report.displays.coefficient_map import CoefficientMapDisplay
from committee.report.displays.margin import MarginDisplay
from committee.report.displays.risk import RiskPathDisplay
from committee.report.drawn import svg_of
from committee.report.inspection import has_model_trees, inspection
from committee.report.member_answers import MemberAnswers
from committee.report.member_pictures import member_pictures
from committee.report.member_rows import rows_grids
from committee.report.members import has_members
from committee.report.page import Picture, Section, render_page


def render_model(
    model: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    name: str | None = None,
    file_bytes: int | None = None,
    margins: NDArray[np.float64] | None = None,
) -> str:
    """Render the page of a fitted learner.

    Parameters
    ----------
    model : BaseClassifier or BaseRegressor
        Fitted.
    X : frame or array (n, p), default=None
        Rows that make the coefficients of a map comparable; None: the map is in the user's units. Of a committee of
        ensembles rows on which its members are shown: where they disagree, and what the columns add; best such rows as
        training has not seen.
    y : array-like (n,), default=None
        Labels or numbers of these rows: how good the members of a committee of ensembles are on them.
    name : str, default=None
        Heading; the class name by default.
    file_bytes, margins
        As for `committee.report.inspection.inspection`.

    Returns
    -------
    str
        A whole HTML page that needs nothing else. The same model gives the same text.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import ProbitModelTreeClassifier
    >>> from committee.report.model_page import render_model
    >>> X, y = load_iris(return_X_y=True)
    >>> render_model(ProbitModelTreeClassifier().fit(X, y), X).splitlines()[0]
    '<!DOCTYPE html>'
    """
    grids, pictures = inspection(model, file_bytes=file_bytes, margins=margins), _pictures(model, X, margins)
    if X is not None and has_members(model):
        answers = MemberAnswers.of(model, X, y)
        grids += rows_grids(answers)
        pictures = member_pictures(model, answers, X)
    tables = [Section(grid.title, [grid]) for grid in grids]
    return render_page(
        name or type(model).__name__, [*tables, *(Section(picture.heading, [picture]) for picture in pictures)]
    )


def _pictures(model: Any, X: Any, margins: NDArray[np.float64] | None) -> list[Picture]:
    pictures = []
    if margins is not None:
        pictures.append(
            Picture(
                "Margins",
                "Share of rows whose margin is at most the value below; left of zero are those the vote gets wrong.",
                svg_of(MarginDisplay({"margins": margins}).plot().figure_, "Cumulative distribution of the margins"),
            )
        )
    if has_model_trees(model):
        scale = "its coefficient" if X is None else "its coefficient times its standard deviation"
        display = CoefficientMapDisplay.from_estimator(model, X, max_columns=12)
        pictures.append(
            Picture(
                "Leaves of the first tree",
                f"One row for each leaf, one column for each column of the table: {scale}. Blue speaks for the class.",
                svg_of(
                    display.figure_, "Map of the coefficients of the leaves: " + "; ".join(display.rules), themed=False
                ),
            )
        )
    if hasattr(model, "risk_path_"):
        pictures.append(
            Picture(
                "Risk by boosting step",
                "Mean risk of the training rows after every step; where a curve is flat, more steps change nothing.",
                svg_of(RiskPathDisplay.from_estimator(model).figure_, "Curves of the mean training risk"),
            )
        )
    return pictures
