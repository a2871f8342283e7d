"""The members of a committee of ensembles, and what it is expected to be worth, as tables and sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_sample_weight

from committee.files.documents import Estimate
from committee.learners.blend.blend import Blend
from committee.learners.blend.losses import loss_label, reported_loss
from committee.objectives.losses import Squared
from committee.report.grid import BLANK, Grid

IN_MEMBERS_GRID = frozenset(
    {
        "member_weights_",
        "member_losses_",
        "member_gains_",
        "member_seconds_",
        "left_out_losses_",
        "left_out_seconds_",
    }
)
"""Stored figures of the candidates, which `members_grid` and `left_out_grid` show."""


def has_members(model: Any) -> bool:
    """Whether a fitted learner is a committee of ensembles; one that has seen one class alone has no members."""
    return isinstance(model, Blend) and hasattr(model, "member_names_")


def members_grid(model: Any) -> Grid:
    """The members by weight: fits, loss alone, loss of the vote without one, seconds and nodes.

    Parameters
    ----------
    model : CommitteeClassifier or CommitteeRegressor
        Fitted, with members.
    """
    vote = model.oof_loss_
    rows = [
        (
            one["member"],
            f"{one['weight']:.1%}",
            f"{one['fits']:,}",
            _loss(model, one["loss"]),
            BLANK if len(model.member_names_) == 1 else _loss(model, vote + one["gain"]),
            f"{one['seconds']:.2f}",
            f"{one['nodes']:,}",
        )
        for one in model.members_.iter_rows(named=True)
        if one["left_out"] is None
    ]
    n = len(rows)
    columns = ("member", "weight", "fits", _loss_alone(model), "vote without", "fit s", "nodes")
    return Grid(f"Members ({n} of {n + len(model.left_out_)} candidates)", columns, tuple(rows), "lrrrrrr")


def left_out_grid(model: Any) -> Grid:
    """Candidates that are no members: loss alone, seconds, and why.

    Parameters
    ----------
    model : CommitteeClassifier or CommitteeRegressor
        Fitted, with members.
    """
    rows = [
        (
            one["member"],
            _loss(model, one["loss"]),
            BLANK if one["seconds"] is None else f"{one['seconds']:.2f}",
            one["left_out"],
        )
        for one in model.members_.iter_rows(named=True)
        if one["left_out"] is not None
    ]
    return Grid("Left out", ("candidate", _loss_alone(model), "fit s", "why"), tuple(rows), "lrrl")


def estimate(model: Any, y: NDArray[Any]) -> str:
    """Accuracy and log loss of the vote on rows that its fits have not seen, or R2 and root mean squared error.

    Of another loss of numbers that loss, and D2, the share by which it is less than the best constant's.
    """
    if not np.isfinite(model.oof_loss_):
        return "its error is not estimated: the rows are too few to compare members on held-out rows"
    loss = _loss(model, model.oof_loss_)
    if not _of_classes(model):
        score = BLANK if np.isnan(model.oof_score_) else f"{model.oof_score_:.4f}"
        name = loss_label(model.number_loss).replace("RMSE", "root mean squared error")
        of_score = "R2" if isinstance(model.number_loss, Squared) else "D2"
        return f"on rows not seen in training: {of_score} {score}, {name} {loss}"
    most = _most_frequent(model, y)
    weighed = "" if model.class_weight is None else ", rows counting by class_weight"
    return (
        f"on rows not seen in training: accuracy {model.oof_score_:.4f} ({most:.4f} by the most frequent class"
        f" alone{weighed}), log loss {loss}"
    )


def stored_estimate(model: Any, y: NDArray[Any]) -> Estimate | None:
    """The figures of `estimate`, as a file holds them; None where there are none."""
    loss, score = float(model.oof_loss_), float(model.oof_score_)
    if not np.isfinite(loss):
        return None
    if _of_classes(model):
        figures = {"accuracy": score, "accuracy_of_most_frequent": _most_frequent(model, y), "log_loss": loss}
    elif isinstance(model.number_loss, Squared):
        figures = {"r2": score, "rmse": loss**0.5}
    else:
        figures = {"d2": score, loss_label(model.number_loss): reported_loss(model.number_loss, loss)}
    known = {name: value for name, value in figures.items() if np.isfinite(value)}
    return Estimate("out of fold", len(y), known)


def _most_frequent(model: Any, y: NDArray[Any]) -> float:
    weights = compute_sample_weight(model.class_weight, y)
    return float(np.bincount(np.unique(y, return_inverse=True)[1], weights).max() / weights.sum())


def _of_classes(model: Any) -> bool:
    return hasattr(model, "classes_")


def _loss_alone(model: Any) -> str:
    """Heading of the loss of a candidate alone."""
    return f"{'log loss' if _of_classes(model) else loss_label(model.number_loss)} alone"


def _loss(model: Any, loss: float | None) -> str:
    """Log loss; of numbers the root mean squared error or another loss, in the decimals of the vote's four digits."""
    if loss is None or not np.isfinite(loss):
        return BLANK
    if _of_classes(model):
        return f"{loss:.4f}"
    loss, vote = (reported_loss(model.number_loss, each) for each in (loss, model.oof_loss_))
    decimals = 4 if vote <= 0.0 else max(0, 3 - int(np.floor(np.log10(vote))))
    return f"{loss:,.{decimals}f}" if decimals <= 7 else f"{loss:.4g}"
