"""One cell of the rebuilt comparison of margins: an ensemble on a split of a table, and each objective's weights."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.objectives.margins.margin_maximum import Percentile, Rank, Uniform
from committee.objectives.margins.margin_range import Range
from committee.objectives.margins.margin_variance import Variance
from committee.objectives.margins.objective import Objective
from committee.objectives.programs.constraint_generation import Constraints, constraint_generation
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.papers.shared.cells import timed
from committee.papers.shared.folds import Fold
from committee.vote.committee import Committee
from committee.vote.signed_votes import SignedVotes
from committee.voters.forest import Forest

FOREST, ADABOOST, DEEP_FOREST = "forest", "AdaBoost", "deep forest"
ENSEMBLES = (FOREST, ADABOOST, DEEP_FOREST)
"""The document's, of trees of depth 2, and a forest of trees without limits, which its errors look like."""

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
"""The document's objectives under its names, with its numbers; the last one is ours."""
MAXIMISE = (UWS, EWS, *PWS)
"""Those that let no margin decrease."""

SOLVED, LESS, NO_ROOM, NO_SOLUTION, FAILED = "solved", "less xi", "no room", "no solution", "solver failed"
"""Outcomes of an objective. "less xi": SM1 had no solution, and was solved with the largest xi that has one. With
the last three the ensemble keeps its weights."""

TREES, DEPTH = 200, 2
FEW_TREES = 20
"""Of a small run."""
TIE = 1e-9
"""Scores that are no further from 0 are ties, whatever rounding has made of them."""


def trained(fold: Fold, ensemble: str, trees: int = TREES) -> Committee:
    """Train an ensemble of trees that vote +1 or -1, of depth 2 but for the deep forest's, which have no limit.

    AdaBoost is the discrete one; it ends early after a tree without errors, which it keeps, or with none that beats
    chance. A forest's trees vote here for the class that most of the rows in their leaf have, as the document's do,
    where `RandomForestClassifier` lets them vote with shares.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.report.crossvalidation import Table
    >>> from committee.report.targets import Labels
    >>> from committee.papers.margins.cells import trained
    >>> from committee.papers.shared.folds import Fold, NamedTable
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> fold = Fold(NamedTable("t", Table(X, Labels.read((X[:, 0] * X[:, 1] > 0).astype(int)))), 0, 0)
    >>> committee = trained(fold, "forest", 20)
    >>> committee.n_voters, np.unique(committee.votes(fold.rows[1])).tolist()
    (20, [-1, 1])
    """
    from committee.learners.adaboost.adaboost import AdaBoostClassifier
    from committee.learners.bagging.random_forest import RandomForestClassifier

    learner = AdaBoostClassifier if ensemble == ADABOOST else RandomForestClassifier
    model: Any = learner(
        trees,
        max_depth=None if ensemble == DEEP_FOREST else DEPTH,
        random_state=fold.seed + fold.repeat,
        n_jobs=1,
        categorical_features=fold.categorical,
    ).fit(fold.rows[0], fold.positive[0])
    committee: Committee = model.committee_
    if ensemble == ADABOOST:
        return committee
    voters = committee.voters
    assert isinstance(voters, Forest) and voters.value is not None
    label = np.where(voters.left < 0, voters.value.argmax(axis=1), -1).astype(np.int32)
    return replace(committee, voters=replace(voters, label=label, value=None))


def reweighting_cell(fold: Fold, ensemble: str, trees: int = TREES) -> Cell:
    """Train an ensemble on the training rows of a split, give the trees new weights by each objective, and measure.

    The cell has ``voters``, ``four_leaves``, the share of trees with four leaves, the ``measured`` ensemble, and under
    ``objectives`` what `reweighted` makes of each.
    """
    committee, seconds = timed(lambda: trained(fold, ensemble, trees))
    train, test = (SignedVotes.of(committee, X, y) for X, y in zip(fold.rows, fold.positive, strict=True))
    lines = MarginMatrix.of(train)
    found = {name: reweighted(objective, lines, test, fold.positive[1]) for name, objective in OBJECTIVES.items()}
    return {
        "training_rows": train.n_rows,
        "test_rows": test.n_rows,
        "voters": committee.n_voters,
        "four_leaves": _four_leaves(committee),
        "fit_seconds": round(seconds, 4),
        **measured(lines.margins(lines.own), lines.own, test, fold.positive[1]),
        "objectives": found,
    }


def _four_leaves(committee: Committee) -> float:
    voters = committee.voters
    assert isinstance(voters, Forest)
    return float(np.mean(np.add.reduceat((voters.left < 0).astype(np.intp), voters.offset[:-1]) == 2**DEPTH))


def measured(margins: F64, weights: F64, test: SignedVotes, positive: NDArray[np.bool_]) -> dict[str, Any]:
    """Measure weights: ``wrong`` test rows; ``mean``, ``minimum``, ``variance`` and ``range`` of the training margins.

    Test rows are of the class +1 where `positive`; a tie elects the other one.
    """
    lead = test.matrix @ weights
    return {
        "wrong": int(np.sum((lead < -TIE) | (positive & (lead <= TIE)))),
        "mean": float(margins.mean()),
        "minimum": float(margins.min()),
        "variance": float(margins.var()),
        "range": float(np.ptp(margins)),
    }


def reweighted(
    objective: Objective, lines: MarginMatrix, test: SignedVotes, positive: NDArray[np.bool_]
) -> dict[str, Any]:
    """Solve an objective on the training rows' margins, and measure its weights.

    Margins are those of weights that sum to one, as the document has them; with negative weights they may leave
    [-1, 1]. Beside the numbers of `measured` there are ``least``, the least gain of a row's margin; ``state``; the
    ``xi`` that was solved with, of objectives that have one; the number of ``trees`` with weight; seconds.
    """
    own = lines.margins(lines.own)
    (weights, state, objective), seconds = timed(lambda: solved(objective, lines))
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
    """An objective's weights, or the ensemble's own where it has none; the outcome; and what was solved."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it says that there is no room, as the state does
            weights = objective.solve(lines).weights
    except ValueError:
        if isinstance(objective, Range) and (most := largest_xi(lines)) < objective.xi:
            weights, state, objective = solved(Range(xi=most), lines)
            return weights, LESS if state == SOLVED else state, objective
        return lines.own, NO_SOLUTION, objective
    except RuntimeError:
        return lines.own, FAILED, objective
    return weights, NO_ROOM if np.array_equal(weights, lines.own) else SOLVED, objective


def largest_xi(lines: MarginMatrix) -> float:
    """The largest xi for which SM1 has a solution, of two classes.

    One program finds the highest level z that all margins up to the mean can be raised to, those above the mean staying
    above it; the answer is the share of rows whose margin is at most z. The lowest margin is always within reach.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.programs.margin_matrix import MarginMatrix
    >>> from committee.papers.margins.cells import largest_xi
    >>> largest_xi(MarginMatrix.of_matrix(np.array([[1, 1], [1, -1], [1, 1], [-1, -1]], dtype=np.int8)))
    0.25
    """
    margins = lines.margins(lines.own)
    mean = float(lines.row_weight @ margins)
    low = margins <= mean
    constraints = [Constraints(np.where(low, 0.0, -np.inf), level=-1), Constraints(np.where(low, -np.inf, mean))]
    level = constraint_generation(lines, np.zeros(lines.n_voters), constraints, cost_of_z=1.0).z
    return float(lines.row_weight[margins <= max(level, float(margins.min())) + TIE].sum())
