"""Cells of the comparison of margins: re-weighted ensembles, and boosting methods over tree depths."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.stats import kstest, norm, skew
from sklearn.exceptions import ConvergenceWarning

from committee.bounds.margin_curves import equilibrium_margin
from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.learners.bagging.random_forest import RandomForestClassifier
from committee.learners.boosting.adaboost import AdaBoostClassifier
from committee.learners.boosting.average_margin import DOOMBoostClassifier, MDBoostClassifier
from committee.learners.boosting.largest_margin import ArcGVClassifier
from committee.objectives.margins.linear_objectives import (
    MarginMaximum,
    OutOfReachError,
    Percentile,
    Range,
    Rank,
    Uniform,
)
from committee.objectives.margins.margin_costs import Form, Variance
from committee.objectives.margins.objective import Objective
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.papers.shared.cells import Task, timed
from committee.papers.shared.tables import Fold, NamedTable
from committee.vote.committee import Committee
from committee.vote.signed_votes import SignedVotes
from committee.voters.forest import Forest

FOREST, ADABOOST, DEEP_FOREST = "forest", "AdaBoost", "deep forest"
ENSEMBLES = (FOREST, ADABOOST, DEEP_FOREST)
"""The document's two ensembles, and a forest of unlimited trees."""

UWS, EWS, SM1, SM2, SM2_SIMPLEX = "UWS", "EWS", "SM1", "SM2", "SM2, w >= 0"
PWS = ("PWS.05", "PWS.20", "PWS.50")
OBJECTIVES: dict[str, Objective] = {
    UWS: Uniform(),
    EWS: Rank(k=5.0),
    **{name: Percentile(xi=xi) for name, xi in zip(PWS, (0.05, 0.20, 0.50), strict=True)},
    SM1: Range(xi=0.05),
    SM2: Variance(form="free"),
    SM2_SIMPLEX: Variance(form="simplex"),
}
"""Objectives by the document's names."""
MAXIMISE = (UWS, EWS, *PWS)  # objectives under which no margin may decrease

POWERS = (1.0, 2.0, 10.0)
TOWARDS = (0.25, 0.5, 1.0)
ROBUST: tuple[Form, ...] = ("lad", "chebyshev", "lts", "lms")
VARIANTS = (
    *(f"EWS, k = {k:g}" for k in POWERS),
    *(f"SM2, w >= 0, target {share:.0%} to 1" for share in TOWARDS),
    *(f"SM2, {form}" for form in ROBUST),
)

SOLVED, LESS, NO_ROOM, NO_SOLUTION, FAILED = "solved", "less xi", "no room", "no solution", "solver failed"
"""Outcomes of an objective; LESS: with the largest feasible xi, the last three: the ensemble's own weights."""

FEW_TREES = 20  # of a small run
TIE = 1e-9  # scores of at most this size are ties, as they differ from 0 by rounding


def variants(lines: MarginMatrix) -> dict[str, Objective]:
    mean = float(lines.mean_votes() @ lines.own)
    made = (
        *(Rank(k=k) for k in POWERS),
        *(Variance(form="simplex", target=mean + share * (1.0 - mean)) for share in TOWARDS),
        *(Variance(form=form) for form in ROBUST),
    )
    return dict(zip(VARIANTS, made, strict=True))


@dataclass(frozen=True)
class Ensembles:
    trees: int = 200
    depth: int | None = 2  # of the trees of AdaBoost and of the first forest; None: no limit
    variants: bool = False  # `VARIANTS` too

    @property
    def objectives(self) -> tuple[str, ...]:
        return (*OBJECTIVES, *(VARIANTS if self.variants else ()))


def trained(fold: Fold, ensemble: str, asked: Ensembles = Ensembles()) -> Committee:
    learner = AdaBoostClassifier if ensemble == ADABOOST else RandomForestClassifier
    model: Any = learner(
        asked.trees,
        max_depth=None if ensemble == DEEP_FOREST else asked.depth,
        random_state=fold.seed + fold.repeat,
        n_jobs=1,
        categorical_features=fold.categorical,
    ).fit(fold.rows[0], fold.positive[0])
    committee: Committee = model.committee_
    if ensemble == ADABOOST:
        return committee
    voters = committee.voters
    assert isinstance(voters, Forest) and voters.value is not None
    # a tree votes for the majority class of its leaf, as the document's do, not with class shares
    label = np.where(voters.left < 0, voters.value.argmax(axis=1), -1).astype(np.int32)
    return replace(committee, voters=replace(voters, label=label, value=None))


def reweighting_tasks(tables: Mapping[str, NamedTable], repeats: int, asked: Ensembles, seed: int) -> list[Task]:
    return [
        Task(
            {"table": name, "digest": table.digest, "repeat": repeat, "ensemble": ensemble},
            partial(reweighting_cell, Fold(table, repeat, seed), ensemble, asked),
        )
        for repeat in range(repeats)
        for name, table in tables.items()
        for ensemble in ENSEMBLES
    ]


def reweighting_cell(fold: Fold, ensemble: str, asked: Ensembles = Ensembles()) -> Cell:
    committee, seconds = timed(lambda: trained(fold, ensemble, asked))
    train, test = (SignedVotes.of(committee, X, y) for X, y in zip(fold.rows, fold.positive, strict=True))
    lines = MarginMatrix.of(train)
    voters = committee.voters
    assert isinstance(voters, Forest)
    leaves = np.add.reduceat((voters.left < 0).astype(np.intp), voters.offset[:-1])
    objectives = OBJECTIVES | (variants(lines) if asked.variants else {})
    found: dict[str, Any] = {}
    for name, objective in objectives.items():
        # if UWS raises no margin, neither does any EWS or PWS
        stuck = isinstance(objective, MarginMaximum) and UWS in found and found[UWS]["state"] == NO_ROOM
        known = (lines.own, NO_ROOM, objective) if stuck else None
        found[name] = reweighted(objective, lines, test, fold.positive[1], known)
    return {
        "training_rows": train.n_rows,
        "test_rows": test.n_rows,
        "voters": committee.n_voters,
        "full_trees": None if asked.depth is None else float(np.mean(leaves == 2**asked.depth)),
        "fit_seconds": round(seconds, 4),
        **measured(lines.margins(lines.own), lines.own, test, fold.positive[1]),
        "objectives": found,
    }


def measured(margins: F64, weights: F64, test: SignedVotes, positive: NDArray[np.bool_]) -> dict[str, Any]:
    """Count errors of weights on test rows (ties elect the negative class), and describe their training `margins`."""
    # negative weights can lead out of [-1, 1]
    lead, clipped = test.matrix @ weights, np.clip(margins, -1.0, 1.0)
    return {
        "wrong": int(np.sum((lead < -TIE) | (positive & (lead <= TIE)))),
        "mean": float(margins.mean()),
        "median": float(np.quantile(margins, 0.5, method="inverted_cdf")),
        # of the voters and their opposites
        "equilibrium": equilibrium_margin(clipped, log(2 * len(weights))).terms["equilibrium_margin"],
        "minimum": float(margins.min()),
        "variance": float(margins.var()),
        "range": float(np.ptp(margins)),
    }


def reweighted(
    objective: Objective,
    lines: MarginMatrix,
    test: SignedVotes,
    positive: NDArray[np.bool_],
    known: tuple[F64, str, Objective] | None = None,
) -> dict[str, Any]:
    own = lines.margins(lines.own)
    (weights, state, objective), seconds = timed(lambda: known or solved(objective, lines))
    margins = lines.margins(weights) if state in (SOLVED, LESS) else own
    return {
        "state": state,
        "xi": getattr(objective, "xi", None),
        **measured(margins, weights, test, positive),
        "least": float((margins - own).min()),
        "trees": int(np.count_nonzero(weights)),
        "seconds": round(seconds, 4),
    }


def solved(objective: Objective, lines: MarginMatrix) -> tuple[F64, str, Objective]:
    """Return an objective's weights, the outcome, and the objective that was solved."""
    try:
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # for the outcome "no room"
            weights = objective.solve(lines).weights
    except OutOfReachError as error:
        weights, state, objective = solved(Range(xi=error.largest), lines)
        return weights, LESS if state == SOLVED else state, objective
    except ValueError:
        return lines.own, NO_SOLUTION, objective
    except RuntimeError:
        return lines.own, FAILED, objective
    return weights, NO_ROOM if np.array_equal(weights, lines.own) else SOLVED, objective


DEPTHS: Mapping[str, int | None] = {"1": 1, "2": 2, "4": 4, "8": 8, "no limit": None}
ARC_GV, MD_BOOST, DOOM = "arc-gv", "MD-Boost", "DOOM II"
METHODS = (ADABOOST, ARC_GV, MD_BOOST, DOOM)
FEW_DEPTHS = ("1", "no limit")  # of a small run


BOOSTING = "boosting, depth "  # start of "ensemble" in a cell of `depth_cell`; the name of the depth follows


def depth_tasks(
    tables: Mapping[str, NamedTable], repeats: int, depths: Sequence[str], trees: int, seed: int
) -> list[Task]:
    return [
        Task(
            {"table": name, "digest": table.digest, "repeat": repeat, "ensemble": f"{BOOSTING}{depth}"},
            partial(depth_cell, Fold(table, repeat, seed), DEPTHS[depth], trees),
        )
        for repeat in range(repeats)
        for name, table in tables.items()
        for depth in depths
    ]


def depth_cell(fold: Fold, depth: int | None, trees: int) -> Cell:
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
            # of `trees` voters and their opposites
            "equilibrium": equilibrium_margin(margins, log(2 * trees)).terms["equilibrium_margin"],
            "seconds": round(seconds, 4),
        }
        if name == ADABOOST and model.estimator_errors_.min() > 0.0:  # no tree is perfect
            signed = SignedVotes.of(committee, fold.rows[0], fold.positive[0]).matrix
            theorem = gaussian_margins(signed, model.estimator_errors_)
    sizes = {"training_rows": len(fold.rows[0]), "test_rows": len(fold.rows[1])}
    return {**sizes, "methods": found, "theorem": theorem}


def _fitted(name: str, fold: Fold, depth: int | None, trees: int) -> Any:
    kinds: dict[str, Any] = {
        ADABOOST: AdaBoostClassifier,
        ARC_GV: ArcGVClassifier,
        MD_BOOST: MDBoostClassifier,
        DOOM: DOOMBoostClassifier,
    }
    # column generation adds trees until its program is solved
    options: dict[str, Any] = {} if name == MD_BOOST else {"n_estimators": trees}
    if name == ADABOOST and depth == 1:
        options["criterion"] = "error"  # the stump of the best edge, as in the other methods
    model = kinds[name](**options, max_depth=depth, n_jobs=1, categorical_features=fold.categorical)
    # of MD-Boost's most trees, which the cell counts
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        return model.fit(fold.rows[0], fold.positive[0])


def gaussian_margins(signed: Any, errors: F64) -> dict[str, float | None]:
    """Measure the quantities of Theorem 3 (Shen and Li) for AdaBoost with signed votes (n, T) and weighted errors."""
    alpha = 0.5 * np.log((1.0 - errors) / errors)
    S = signed.astype(np.float64)
    rho = np.cumsum(S * alpha, axis=1)
    mean, variance = rho.mean(axis=0), rho.var(axis=0)
    shares = variance / np.cumsum(alpha) ** 2
    last, sd = rho[:, -1], float(np.sqrt(variance[-1]))
    weights = nnls(S, np.ones(len(S)))[0]  # of the best ratio
    best = S @ weights
    found = {
        "mean": mean[-1],
        "variance": variance[-1],
        "loss": np.log(np.exp(-last).mean()),  # its logarithm
        "gaussian": 0.5 * variance[-1] - mean[-1],  # the same of Gaussian margins
        "distance": kstest(last, norm(mean[-1], sd).cdf).statistic if sd > 0.0 else np.nan,
        "skewness": skew(last) if sd > 0.0 else np.nan,
        "mean_rises": np.mean(np.diff(mean, prepend=0.0) > 0.0),
        "variance_falls": np.mean(np.diff(variance) < 0.0) if len(alpha) > 1 else np.nan,
        "share_variance_falls": np.mean(np.diff(shares) < 0.0) if len(alpha) > 1 else np.nan,
        "ratio": mean[-1] / sd if sd > 0.0 else np.inf,
        "best_ratio": best.mean() / best.std() if best.std() > 1e-9 * max(1.0, best.mean()) else np.inf,
    }
    return {name: round(float(value), 8) if np.isfinite(value) else None for name, value in found.items()}
