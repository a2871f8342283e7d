"""Sets or intervals of a conformal model on rows with answers: how many hold these, and how large they are."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Index, Mask
from committee.report.measured import Measured
from committee.report.prediction_sets import is_conformal


@dataclass(frozen=True, eq=False)
class CoveredRows:
    """What a conformal model says of rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import ConformalClassifier, RandomForestClassifier
    >>> from committee.report.covered_rows import CoveredRows
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConformalClassifier(RandomForestClassifier(random_state=0), alpha=0.2).fit(X[::2], y[::2])
    >>> found = CoveredRows.of(model, X[1::2], y[1::2])
    >>> bool(found.inside.mean() > 0.8), len(found.sizes)
    (True, 75)
    """

    asked: float
    """Share of rows that are to be covered."""
    y: NDArray[Any]
    inside: Mask
    """Whether the right class, or the number, of each row is in its set or interval."""
    sizes: Index | None = None
    """Classes in each set; None of numbers."""
    intervals: F64 | None = None
    """Both ends of each interval ``(n, 2)``; None of classes."""

    @classmethod
    def of(cls, model: Any, X: Any, y: NDArray[Any]) -> Self | None:
        """Ask the model; None if it has no sets or intervals, or its fit was given groups that cannot be known here."""
        if not is_conformal(model) or (model.groups_ is not None and model.group_by is None):
            return None
        asked = 1.0 - float(model.alpha)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit has said which rows are too few
            found = model.predict_set(X) if hasattr(model, "predict_set") else model.predict_interval(X)
        if not hasattr(model, "predict_set"):
            return cls(asked, y, (found[:, 0] <= y) & (y <= found[:, 1]), intervals=found)
        place = {label: k for k, label in enumerate(model.classes_.tolist())}
        inside = np.array([label in place and found[i, place[label]] for i, label in enumerate(y.tolist())], dtype=bool)
        return cls(asked, y, inside, sizes=found.sum(axis=1))

    @property
    def sentence(self) -> str:
        """How many are covered, and how large sets or intervals are."""
        covered = f"{self.inside.mean():.1%} (asked for: {self.asked:.4g})"
        if self.sizes is not None:
            return f"Sets hold the right class of {covered}, and {self.sizes.mean():.2f} classes in the mean."
        assert self.intervals is not None
        width = float(np.median(self.intervals[:, 1] - self.intervals[:, 0]))
        return f"Intervals hold the number of {covered}; the median width is {width:.4g}."

    def figures(self) -> list[Measured]:
        """Shares and sizes as figures of an evaluation."""
        covered, wanted = float(self.inside.mean()), f"{self.asked:.4g} is asked for"
        if self.intervals is not None:
            width = float((self.intervals[:, 1] - self.intervals[:, 0]).mean())
            return [
                Measured("interval_coverage", "numbers within their interval", covered, wanted),
                Measured("interval_width", "width of the interval, mean", width),
            ]
        assert self.sizes is not None
        return [
            Measured("set_coverage", "classes within their set", covered, wanted),
            Measured("set_size", "classes in a set, mean", float(self.sizes.mean())),
            Measured("set_of_one", "sets of one class", float((self.sizes == 1).mean())),
            Measured(
                "set_empty",
                "sets of none",
                float((self.sizes == 0).mean()),
                "at that alpha no class is likely enough",
            ),
        ]
