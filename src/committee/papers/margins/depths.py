"""Boosting for large margins beside AdaBoost, over tree depths; and what Theorem 3 says of AdaBoost's margins."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from math import log
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.stats import kstest, norm, skew
from sklearn.exceptions import ConvergenceWarning

from committee.bounds.equilibrium import equilibrium_margin
from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.papers.margins.cells import ADABOOST
from committee.papers.shared.cells import timed
from committee.papers.shared.folds import Fold
from committee.vote.signed_votes import SignedVotes
from committee.voters.forest import Forest

DEPTHS: Mapping[str, int | None] = {"1": 1, "2": 2, "4": 4, "8": 8, "no limit": None}
"""Stumps to trees that are not pruned."""
ARC_GV, MD_BOOST, DOOM = "arc-gv", "MD-Boost", "DOOM II"
METHODS = (ADABOOST, ARC_GV, MD_BOOST, DOOM)
FEW_DEPTHS = ("1", "no limit")
"""Of a small run."""


def depth_cell(fold: Fold, depth: int | None, trees: int) -> Cell:
    """Train the four methods on the training rows of a split, with trees of this depth, and measure each.

    Under ``methods`` each has its ``voters``, their mean number of ``leaves``, ``wrong`` test rows, figures of its
    training margins and seconds. ``theorem`` is what `gaussian_margins` finds of AdaBoost, None if a tree is perfect.
    The equilibrium margins are of one class for all, as many voters as the most `trees` and their opposites.
    """
    found: dict[str, Any] = {}
    theorem = None
    for name in METHODS:
        model, seconds = timed(partial(_fitted, name, fold, depth, trees))
        committee = model.committee_
        margins = committee.margins(fold.rows[0], fold.positive[0])
        forest = committee.voters
        assert isinstance(forest, Forest)
        found[name] = {
            "voters": committee.n_voters,
            "leaves": float((forest.left < 0).sum() / committee.n_voters),
            "wrong": int((model.predict(fold.rows[1]) != fold.positive[1]).sum()),
            "wrong_training": int((model.predict(fold.rows[0]) != fold.positive[0]).sum()),
            "mean": float(margins.mean()),
            "median": float(np.quantile(margins, 0.5, method="inverted_cdf")),
            "minimum": float(margins.min()),
            "variance": float(margins.var()),
            "equilibrium": equilibrium_margin(margins, log(2 * trees)).terms["equilibrium_margin"],
            "seconds": round(seconds, 4),
        }
        if name == ADABOOST and model.estimator_errors_.min() > 0.0:
            signed = SignedVotes.of(committee, fold.rows[0], fold.positive[0]).matrix
            theorem = gaussian_margins(signed, model.estimator_errors_)
    sizes = {"training_rows": len(fold.rows[0]), "test_rows": len(fold.rows[1])}
    return {**sizes, "methods": found, "theorem": theorem}


def _fitted(name: str, fold: Fold, depth: int | None, trees: int) -> Any:
    from committee.learners.adaboost import AdaBoostClassifier
    from committee.learners.margin_boosting.arc_gv import ArcGVClassifier
    from committee.learners.margin_boosting.doomboost import DOOMBoostClassifier
    from committee.learners.margin_boosting.mdboost import MDBoostClassifier

    kinds: dict[str, Any] = {
        ADABOOST: AdaBoostClassifier,
        ARC_GV: ArcGVClassifier,
        MD_BOOST: MDBoostClassifier,
        DOOM: DOOMBoostClassifier,
    }
    # column generation takes as many trees as its program asks for
    options: dict[str, Any] = {} if name == MD_BOOST else {"n_estimators": trees}
    if name == ADABOOST and depth == 1:
        options["criterion"] = "error"  # the stump of the best edge, as the others take it
    model = kinds[name](**options, max_depth=depth, n_jobs=1, categorical_features=fold.categorical)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of MD-Boost's most trees; the cell counts them
        return model.fit(fold.rows[0], fold.positive[0])


def gaussian_margins(signed: Any, errors: F64) -> dict[str, float | None]:
    """What Theorem 3 (Shen and Li) says of AdaBoost, measured: of signed votes ``(n, T)`` and the weighted errors.

    AdaBoost lowers the mean of exp(-rho_i), rho_i the margins before they are divided. If these were Gaussian with mean
    mu and variance v, its logarithm ``loss`` would be -mu + v / 2, ``gaussian``: to lower it is to raise the mean and
    to lower the variance. ``distance`` is Kolmogorov and Smirnov's of rho from that Gaussian, ``skewness`` rho's.
    ``mean_rises`` and ``variance_falls`` are shares of the rounds, ``share_variance_falls`` that for the divided
    margins. ``ratio`` is mu / sqrt(v), ``best_ratio`` the largest that weights of the same voters have, not negative.
    None is what has no value: ratios of margins that are all equal, distances of these, changes of a single round.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.papers.margins.depths import gaussian_margins
    >>> signed = np.array([[1, 1], [1, -1], [-1, 1], [1, 1]])
    >>> found = gaussian_margins(signed, np.array([0.25, 0.3]))
    >>> found["mean"], found["mean_rises"]
    (0.48647754, 1.0)
    """
    alpha = 0.5 * np.log((1.0 - errors) / errors)
    S = signed.astype(np.float64)
    rho = np.cumsum(S * alpha, axis=1)
    mean, variance = rho.mean(axis=0), rho.var(axis=0)
    shares = variance / np.cumsum(alpha) ** 2
    last, sd = rho[:, -1], float(np.sqrt(variance[-1]))
    weights = nnls(S, np.ones(len(S)))[0]
    best = S @ weights
    found = {
        "mean": mean[-1],
        "variance": variance[-1],
        "loss": np.log(np.exp(-last).mean()),
        "gaussian": 0.5 * variance[-1] - mean[-1],
        "distance": kstest(last, norm(mean[-1], sd).cdf).statistic if sd > 0.0 else np.nan,
        "skewness": skew(last) if sd > 0.0 else np.nan,
        "mean_rises": np.mean(np.diff(mean, prepend=0.0) > 0.0),
        "variance_falls": np.mean(np.diff(variance) < 0.0) if len(alpha) > 1 else np.nan,
        "share_variance_falls": np.mean(np.diff(shares) < 0.0) if len(alpha) > 1 else np.nan,
        "ratio": mean[-1] / sd if sd > 0.0 else np.inf,
        "best_ratio": best.mean() / best.std() if best.std() > 1e-9 * max(1.0, best.mean()) else np.inf,
    }
    return {name: round(float(value), 8) if np.isfinite(value) else None for name, value in found.items()}
