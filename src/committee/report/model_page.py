"""A fitted model as one HTML page: what it is, what columns do, its leaves in words, and what rows say of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.report.displays.curves import RiskPathDisplay
from committee.report.displays.ensemble_text import is_small
from committee.report.displays.small_ensembles import SmallEnsembleDisplay
from committee.report.evaluation_page import answer_sections, column_sections, rows_and_training
from committee.report.explained.column_effects import encoded_rows
from committee.report.explained.model_card import model_card
from committee.report.explained.model_explanation import Explanation
from committee.report.explained.pictures import member_pictures
from committee.report.explained.tree_leaves import TreeLeaves, leaf_terms, leaves_picture, terms_picture
from committee.report.grid import Grid
from committee.report.inspection import has_model_trees, inspection
from committee.report.member_answers import MemberAnswers
from committee.report.member_rows import rows_grids
from committee.report.members import has_members
from committee.report.page import Part, Picture, Section, render_page


def render_model(
    model: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    name: str | None = None,
    data: str = "",
    file_bytes: int | None = None,
    margins: NDArray[np.float64] | None = None,
) -> str:
    """Render the page of a fitted learner.

    Parameters
    ----------
    model : BaseClassifier or BaseRegressor
        Fitted.
    X : frame or array (n, p), default=None
        Rows, best such as training has not seen: what columns do to them, and of a committee of ensembles where its
        members disagree. None: what the model itself remembers of its training rows.
    y : array-like (n,), default=None
        Labels or numbers of these rows: how good the model is on them, and where it errs.
    name : str, default=None
        Heading; the class name by default.
    data : str, default=""
        What the rows are called, such as their file's name.
    file_bytes, margins
        As for `committee.report.inspection.inspection`.

    Returns
    -------
    str
        A whole HTML page that needs nothing else. On the same day the same model gives the same text.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import ProbitModelTreeClassifier
    >>> from committee.report.model_page import render_model
    >>> X, y = load_iris(return_X_y=True)
    >>> render_model(ProbitModelTreeClassifier().fit(X, y), X).splitlines()[0]
    '<!DOCTYPE html>'
    """
    found = Explanation.of(model, X, y)
    return render_page(
        name or type(model).__name__,
        [
            *column_sections(found),
            Section("All of its trees", _all_trees(found)),
            Section("Leaves in words", _leaves(found)),
            *_members(found),
            *answer_sections(found),
            *_tables(found, file_bytes, margins),
            model_card(found, data=data),
        ],
        lead=_lead(found, data),
    )


def _lead(found: Explanation, data: str) -> str:
    name = type(found.model).__name__
    if found.X is None:
        return f"{name}, by itself: nothing on this page needs rows. More is shown of rows, most of rows with answers."
    return f"{name}, and {rows_and_training(found, len(found.predictions), data)}."


def _tables(found: Explanation, file_bytes: int | None, margins: NDArray[np.float64] | None) -> list[Section]:
    """All that `inspection` says, but for what pictures show."""
    grids = inspection(found.conformal or found.model, file_bytes=file_bytes, margins=margins)
    parts: list[Part] = [grid for grid in grids if not grid.title.startswith("Most used features")]
    if hasattr(found.model, "risk_path_"):
        parts.append(_risk(found.model))
    return [Section("What it is made of", parts)]


def _risk(model: Any) -> Picture:
    return Picture(
        "Risk by boosting step",
        "Mean risk of the training rows after every step; where a curve is flat, more steps change nothing.",
        RiskPathDisplay.of(model).chart().svg("Curves of the mean training risk"),
    )


def _all_trees(found: Explanation) -> list[Part]:
    """Of a small ensemble every tree; with rows, the way of one."""
    if not is_small(found.model):
        return []
    display = SmallEnsembleDisplay.of(found.model, None if found.X is None else found.sampled_rows)
    caption = (
        "Trees that can change the vote most come first. Below each leaf stands what it says; bars have one scale."
    )
    return [Picture("", caption, display.sketch().svg(display.text))]


def _leaves(found: Explanation) -> list[Part]:
    """Leaves of one tree, and of model trees the lines in them."""
    if found.model.table_ is None:
        return []
    encoded = None if found.X is None else encoded_rows(found.model, found.sampled_rows)
    had_missing = None if encoded is None else np.asarray(np.isnan(encoded).any(axis=0))
    parts: list[Part] = []
    tree = TreeLeaves.of(found.model, had_missing)
    if tree is not None:
        parts.append(leaves_picture(tree))
    if encoded is not None and has_model_trees(found.model):
        parts.append(terms_picture(*leaf_terms(found.model, encoded)))
    return parts


def _members(found: Explanation) -> list[Section]:
    """Of a committee of ensembles its members on the rows."""
    if found.X is None or not has_members(found.model):
        return []
    answers = MemberAnswers.of(found.model, found.X, found.y)
    tables: list[Grid] = rows_grids(answers)
    return [Section("Members on these rows", [*tables, *member_pictures(found.model, answers, found.X)])]
