"""What is said of a conformal model: whose sets or intervals they are, how often they cover, and those of a row."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from committee.learners.conformal.calibration_scores import row_counts
from committee.report.grid import Grid

SCORES = {
    "lac": "one minus the probability of the label",
    "aps": "probability of all likelier labels",
    "absolute": "size of the error",
    "normalised": "size of the error, over what is expected of the row",
    "quantile": "distance beyond the predicted quantiles",
}
ROWS = {
    "out of bag": "rows of the training, each by voters that did not draw it",
    "out of fold": "rows of the training, each by fits that have not seen it",
    "held out": "rows that the model was not trained on",
}


def is_conformal(model: Any) -> bool:
    """Whether a model has sets or intervals."""
    return hasattr(model, "predict_set") or hasattr(model, "predict_interval")


def model_inside(model: Any) -> Any:
    """Return the learner that answers inside a conformal model; any other model itself.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import ConformalClassifier, RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConformalClassifier(RandomForestClassifier(random_state=0)).fit(X, y)
    >>> type(model_inside(model)).__name__
    'RandomForestClassifier'
    """
    if not is_conformal(model) or not hasattr(model.estimator_, "committee_"):
        return model
    inside = copy.copy(model.estimator_)
    inside.table_ = model.table_
    if hasattr(model, "provenance_"):
        inside.provenance_ = model.provenance_
    return inside


def sets_grid(model: Any) -> Grid | None:
    """Describe the sets or intervals of a conformal model; None of other models."""
    if not is_conformal(model):
        return None
    known, apart = model.known_, model.row_categories
    what = "right class" if hasattr(model, "classes_") else "number"
    rows = [
        ("to hold the " + what, f"for {1.0 - model.alpha:.4g} of new rows (alpha {model.alpha:g})" + _each(model)),
        ("score", SCORES[model.nonconformity] + (", randomised" if getattr(model, "randomised", False) else "")),
        ("scored rows", f"{known.count.sum():,.6g}, {model.source_}: {ROWS[model.source_]}"),
    ]
    if model.leave_out_ is not None:
        rows.append(("threshold", "one for each new row: it is answered without each scored row in turn"))
    elif len(apart) == 1:
        rows.append(("threshold", f"{known.thresholds(model.alpha)[0]:.5g}"))
    else:
        listed = zip(range(len(apart)), known.thresholds(model.alpha).tolist(), known.count.tolist(), strict=True)
        rows += [(f"threshold, {apart.words(c)}", f"{q:.5g} ({n:,.6g} scored rows)") for c, q, n in listed][:20]
    rows.append(("proved", _proved(model)))
    return Grid("Sets of classes" if hasattr(model, "classes_") else "Intervals", ("", ""), tuple(rows), "ll")


def _proved(model: Any) -> str:
    """Say for how many rows they hold it, whatever the rows are."""
    nothing, practice = "nothing", "; in practice about as many as are asked for"
    weights = getattr(model, "score_weights_", None)
    if weights is not None and not np.isin(row_counts(weights), (0.0, 1.0)).all():
        return f"{nothing} for rows that do not count as one each{practice}"
    if model.source_ == "held out":
        if model.nonconformity == "normalised":
            return f"{nothing}, as expected errors are learned from the scored rows{practice}"
        return f"{1.0 - model.alpha:.4g}, in the mean over samples of scored rows"
    if model.leave_out_ is None:
        return f"{nothing}{practice}"
    if len(model.row_categories) > 1:
        return f'{nothing} of each class or group with method="plus"{practice}'
    if not hasattr(model, "fold_models_"):
        return f"nearly {max(0.0, 1.0 - 2.0 * model.alpha):.4g}, in the mean over samples of rows"
    return f"{_of_folds(model):.4g} if folds are of equal size, in the mean over samples of rows"


def _of_folds(model: Any) -> float:
    """Share of rows that CV+ covers whatever they are (Barber and others 2021, Theorem 4)."""
    n, K = float(model.known_.count.sum()), len(model.fold_models_)
    less = min(2.0 * (1.0 - 1.0 / K) / (n / K + 1.0), (1.0 - K / n) / (K + 1.0))
    return max(0.0, 1.0 - 2.0 * float(model.alpha) - less)


def _each(model: Any) -> str:
    """Name what this holds of, one by one."""
    classes = ["of each class"] if getattr(model, "per_class", False) else []
    column = f"of {model.group_by!r}" if isinstance(model.group_by, str) else ""
    groups = [f"of each group {column}".rstrip()] if model.groups_ is not None else []
    return ", " + " and ".join([*classes, *groups]) if classes or groups else ""


def set_of_row(model: Any, X: Any) -> str | None:
    """Say what the first row's set or interval is; None where there is none, or its group is not known."""
    if not is_conformal(model) or (model.groups_ is not None and model.group_by is None):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hasattr(model, "predict_interval"):
            low, high = model.predict_interval(X)[0].tolist()
            return f"The interval at alpha {model.alpha:g} is {low:.6g} to {high:.6g}."
        inside = model.predict_set(X)[0]
    labels = [str(label) for label in model.classes_[inside].tolist()]
    if not labels:
        return f"The set at alpha {model.alpha:g} is empty: no class is as likely for the row as alpha asks."
    return f"The set at alpha {model.alpha:g} is {', '.join(labels)}."
