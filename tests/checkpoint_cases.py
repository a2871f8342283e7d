"""Fits with checkpoints: a case of every learner that has rounds or members, in each way that it finds them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import committee as c
from committee.files.documents import Tensors
from committee.files.kinds import describe_model


@cache
def tables() -> dict[str, tuple[Any, Any]]:
    """Two classes with missing values, three classes, numbers, and two classes with a column of categories."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :12].copy()
    X[::7, 3] = np.nan
    random = np.random.RandomState(0)
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "k": random.choice(list("uvwxyz"), len(X)).tolist()})
    return {
        "two": (X, y),
        "three": load_wine(return_X_y=True),
        "numbers": load_diabetes(return_X_y=True),
        "frame": (frame, y),
    }


CASES: dict[str, tuple[str, Callable[[], Any]]] = {
    "adaboost": ("two", lambda: c.AdaBoostClassifier(30, random_state=None)),
    "adaboost, confidence": ("three", lambda: c.AdaBoostClassifier(20, vote="confidence", early_stopping=True)),
    "adaboost, abstaining": ("frame", lambda: c.AdaBoostClassifier(12, vote="abstaining")),
    "gradient, drawn rows": ("two", lambda: c.GradientBoostingClassifier(n_estimators=20, subsample=0.5)),
    "gradient, early stopping": (
        "three",
        lambda: c.GradientBoostingClassifier(n_estimators=12, early_stopping=True, random_state=None),
    ),
    "gradient, shared": ("three", lambda: c.GradientBoostingClassifier(n_estimators=10, tree="shared")),
    "gradient, categories": ("frame", lambda: c.GradientBoostingClassifier(n_estimators=10)),
    "gradient, line search": ("numbers", lambda: c.GradientBoostingRegressor(n_estimators=20, line_search=True)),
    "gradient, quantiles": (
        "numbers",
        lambda: c.GradientBoostingRegressor(n_estimators=8, loss="quantile", quantile=[0.1, 0.9]),
    ),
    "forest": ("two", lambda: c.RandomForestClassifier(20, oob_score=True, random_state=None)),
    "forest, enough trees": ("three", lambda: c.RandomForestClassifier("oob", max_estimators=60, random_state=1)),
    "forest, reserve": ("two", lambda: c.RandomForestClassifier(15, reserve=0.1, max_leaf_nodes=8, random_state=1)),
    "forest of numbers": ("numbers", lambda: c.RandomForestRegressor(10, oob_score=True, random_state=1)),
    "committee": ("two", lambda: c.CommitteeClassifier("fast", cv=2, random_state=1)),
    "committee of numbers": ("numbers", lambda: c.CommitteeRegressor("fast", cv=2, random_state=1)),
    "committee of medians": (
        "numbers",
        lambda: c.CommitteeRegressor("fast", cv=2, loss="absolute_error", random_state=1),
    ),
    "subagging": ("two", lambda: c.SubaggingClassifier(oob_score=True, voting="soft", random_state=1)),
    "sbpmt": ("frame", lambda: c.SBPMTClassifier(n_estimators=5, oob_score=True, random_state=1)),
    "sbpmt, tree per class": ("three", lambda: c.SBPMTClassifier(n_estimators=4, tree="per_class", random_state=1)),
    "arc-gv": ("frame", lambda: c.ArcGVClassifier(15)),
    "arc-gv, trees": ("three", lambda: c.ArcGVClassifier(15, max_depth=2)),
    "doom": ("two", lambda: c.DOOMBoostClassifier(n_estimators=30)),
    "mdboost": ("three", lambda: c.MDBoostClassifier(n_estimators=60, early_stopping=True, random_state=1)),
    "lpboost": ("two", lambda: c.LPBoostClassifier(0.2)),
    "lpboost, trees": ("three", lambda: c.LPBoostClassifier(0.3, dictionary="trees", n_estimators=60)),
    "quadboost, corrective": ("three", lambda: c.QuadBoostClassifier(n_estimators=20, reweight="fully_corrective")),
    "quadboost, trees": (
        "two",
        lambda: c.QuadBoostClassifier(n_estimators=20, dictionary="trees", reweight="every_k", reweight_interval=3),
    ),
    "quadboost, all stumps": (
        "frame",
        lambda: c.QuadBoostClassifier(n_estimators=20, dictionary="all_stumps", early_stopping=True, random_state=1),
    ),
    "quadboost of numbers": ("numbers", lambda: c.QuadBoostRegressor(n_estimators=20, dictionary="trees")),
    "quadboost, strength by folds": ("three", lambda: c.QuadBoostClassifierCV()),
    "probitboost": ("two", lambda: c.ProbitBoostClassifier(20, learner="stump")),
    "logitboost": ("three", lambda: c.LogitBoostClassifier(learner="stump", early_stopping=True, random_state=1)),
    "probabilistic adaboost": ("two", lambda: c.ProbabilisticAdaBoostClassifier(n_estimators=20)),
    "boosting tree": ("three", lambda: c.BoostingTreeClassifier(max_voters=15, n_draws=5, random_state=1)),
    "boosting tree, largest drop": ("frame", lambda: c.BoostingTreeClassifier(max_voters=15, choose="drop")),
    "matryoshka": ("two", lambda: c.MatryoshkaClassifier(levels=4)),
    "matryoshka, greedy": ("frame", lambda: c.MatryoshkaClassifier("greedy", max_voters=15)),
}
"""Table and learner by name; those that draw with no seed must go on with the draws they began with."""


def bits(model: Any) -> tuple[str, dict[str, tuple[str, tuple[int, ...], bytes]]]:
    """All that a file of a fitted learner would hold, but the seconds that its candidates took."""
    arrays: dict[str, Any] = {}
    document = describe_model(model, Tensors(arrays))
    for name in ("member_seconds_", "member_predict_times_", "left_out_seconds_"):
        arrays.pop(f"attributes.{name}", None)
    return repr(document), {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in arrays.items()}


def unfitted(name: str) -> tuple[Any, Any, Any]:
    """A learner, and its rows."""
    table, make = CASES[name]
    return clone(make()), *tables()[table]
