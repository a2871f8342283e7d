"""A fitted model as one HTML page: the tables of `inspection`, and pictures of its leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.report.displays.coefficient_map import CoefficientMapDisplay
from committee.report.displays.margin import MarginDisplay
from committee.report.displays.risk import RiskPathDisplay
from committee.report.html import Picture, data_uri, page
from committee.report.inspection import has_model_trees, inspection


def render_model(
    model: Any,
    X: Any = None,
    *,
    name: str | None = None,
    file_bytes: int | None = None,
    margins: NDArray[np.float64] | None = None,
) -> str:
    """Render the page of a fitted learner.

    Parameters
    ----------
    model : BaseClassifier
        Fitted.
    X : frame or array (n, p), default=None
        Rows that make the coefficients of a map comparable; None: the map is in the user's units.
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
    return page(
        "model.html.j2",
        name=name or type(model).__name__,
        ranked=False,
        grids=inspection(model, file_bytes=file_bytes, margins=margins),
        pictures=_pictures(model, X, margins),
    )


def _pictures(model: Any, X: Any, margins: NDArray[np.float64] | None) -> list[Picture]:
    pictures = []
    if margins is not None:
        pictures.append(
            Picture(
                "Margins",
                "Share of rows whose margin is at most the value below; left of zero are those the vote gets wrong.",
                "Cumulative distribution of the margins",
                data_uri(MarginDisplay({"margins": margins}).plot().figure_),
            )
        )
    if has_model_trees(model):
        scale = "its coefficient" if X is None else "its coefficient times its standard deviation"
        display = CoefficientMapDisplay.from_estimator(model, X, max_columns=12)
        pictures.append(
            Picture(
                "Leaves of the first tree",
                f"One row for each leaf, one column for each column of the table: {scale}. Blue speaks for the class.",
                "Map of the coefficients of the leaves: " + "; ".join(display.rules),
                data_uri(display.figure_),
                wide=True,
            )
        )
    if hasattr(model, "risk_path_"):
        pictures.append(
            Picture(
                "Risk by boosting step",
                "Mean risk of the training rows after every step; where a curve is flat, more steps change nothing.",
                "Curves of the mean training risk",
                data_uri(RiskPathDisplay.from_estimator(model).figure_),
            )
        )
    return pictures
