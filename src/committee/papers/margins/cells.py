"""One cell of the rebuilt comparison of margins: an ensemble on a split of a table, and each objective's weights."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from committee.bounds.equilibrium import equilibrium_margin
from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.objectives.margins.margin_maximum import MarginMaximum, Percentile, Rank, Uniform
from committee.objectives.margins.margin_range import OutOfReachError, Range
from committee.objectives.margins.margin_variance import Form, Variance
from committee.objectives.margins.objective import Objective
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

POWERS = (1.0, 2.0, 10.0)
TOWARDS = (0.25, 0.5, 1.0)
ROBUST: tuple[Form, ...] = ("lad", "chebyshev", "lts", "lms")
VARIANTS = (
    *(f"EWS, k = {k:g}" for k in POWERS),
    *(f"SM2, w >= 0, target {share:.0%} to 1" for share in TOWARDS),
    *(f"SM2, {form}" for form in ROBUST),
)
"""Further settings of the document's objectives: other powers k; targets above the mean margin, by shares of the way
from there to 1; and the other measures of distance that it names, without negative weights."""

SOLVED, LESS, NO_ROOM, NO_SOLUTION, FAILED = "solved", "less xi", "no room", "no solution", "solver failed"
"""Outcomes of an objective. "less xi": SM1 had no solution, and was solved with the largest xi that has one. With
the last three the ensemble keeps its weights."""

FEW_TREES = 20
"""Of a small run."""
TIE = 1e-9
"""Scores that are no further from 0 are ties, whatever rounding has made of them."""


def variants(lines: MarginMatrix) -> dict[str, Objective]:
    """The objectives of `VARIANTS`, on the margins that these are.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.programs.margin_matrix import MarginMatrix
    >>> from committee.papers.margins.cells import variants
    >>> lines = MarginMatrix.of_matrix(np.array([[1, 1], [1, -1]], dtype=np.int8))  # their mean is 1/2
    >>> variants(lines)["SM2, w >= 0, target 50% to 1"].target
    0.75
    """
    mean = float(lines.mean_votes() @ lines.own)
    made = (
        *(Rank(k=k) for k in POWERS),
        *(Variance(form="simplex", target=mean + share * (1.0 - mean)) for share in TOWARDS),
        *(Variance(form=form) for form in ROBUST),
    )
    return dict(zip(VARIANTS, made, strict=True))


@dataclass(frozen=True)
class Ensembles:
    """What ensembles are trained, and how many objectives are solved on each."""

    trees: int = 200
    depth: int | None = 2
    """Of the trees of AdaBoost and of the first forest; None: no limit."""
    variants: bool = False
    """`VARIANTS` too."""

    @property
    def objectives(self) -> tuple[str, ...]:
        """Names of the objectives of each cell."""
        return (*OBJECTIVES, *(VARIANTS if self.variants else ()))


def trained(fold: Fold, ensemble: str, asked: Ensembles = Ensembles()) -> Committee:
    """Train an ensemble of trees that vote +1 or -1, of equal limits but for the deep forest's, which have none.

    AdaBoost is the discrete one; it ends early after a tree without errors, which it keeps, or with none that beats
    chance. A forest's trees vote here for the class that most of the rows in their leaf have, as the document's do,
    where `RandomForestClassifier` lets them vote with shares.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.report.crossvalidation import Table
    >>> from committee.report.targets import Labels
    >>> from committee.papers.margins.cells import Ensembles, trained
    >>> from committee.papers.shared.folds import Fold, NamedTable
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> fold = Fold(NamedTable("t", Table(X, Labels.read((X[:, 0] * X[:, 1] > 0).astype(int)))), 0, 0)
    >>> committee = trained(fold, "forest", Ensembles(20))
    >>> committee.n_voters, np.unique(committee.votes(fold.rows[1])).tolist()
    (20, [-1, 1])
    """
    from committee.learners.adaboost import AdaBoostClassifier
    from committee.learners.bagging.random_forest import RandomForestClassifier

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
    label = np.where(voters.left < 0, voters.value.argmax(axis=1), -1).astype(np.int32)
    return replace(committee, voters=replace(voters, label=label, value=None))


def reweighting_cell(fold: Fold, ensemble: str, asked: Ensembles = Ensembles()) -> Cell:
    """Train an ensemble on the training rows of a split, give the trees new weights by each objective, and measure.

    The cell has ``voters``, ``full_trees``, the share of trees with all leaves that their depth allows, the `measured`
    ensemble, and under ``objectives`` what `reweighted` makes of each.

    Where UWS has no room, no weights but the ensemble's own lower no margin, up to rounding, and the others that let
    none decrease have no room either: these are not solved.
    """
    committee, seconds = timed(lambda: trained(fold, ensemble, asked))
    train, test = (SignedVotes.of(committee, X, y) for X, y in zip(fold.rows, fold.positive, strict=True))
    lines = MarginMatrix.of(train)
    objectives = OBJECTIVES | (variants(lines) if asked.variants else {})
    found: dict[str, Any] = {}
    for name, objective in objectives.items():
        stuck = isinstance(objective, MarginMaximum) and UWS in found and found[UWS]["state"] == NO_ROOM
        known = (lines.own, NO_ROOM, objective) if stuck else None
        found[name] = reweighted(objective, lines, test, fold.positive[1], known)
    return {
        "training_rows": train.n_rows,
        "test_rows": test.n_rows,
        "voters": committee.n_voters,
        "full_trees": None if asked.depth is None else _full_trees(committee, asked.depth),
        "fit_seconds": round(seconds, 4),
        **measured(lines.margins(lines.own), lines.own, test, fold.positive[1]),
        "objectives": found,
    }


def _full_trees(committee: Committee, depth: int) -> float:
    voters = committee.voters
    assert isinstance(voters, Forest)
    return float(np.mean(np.add.reduceat((voters.left < 0).astype(np.intp), voters.offset[:-1]) == 2**depth))


def measured(margins: F64, weights: F64, test: SignedVotes, positive: NDArray[np.bool_]) -> dict[str, Any]:
    """Measure weights: ``wrong`` test rows; figures of the training margins.

    These are ``mean``, ``median``, ``minimum``, ``variance`` and ``range``, and the ``equilibrium`` margin with the T
    voters and their opposites for the class.

    Test rows are of the class +1 where `positive`; a tie elects the other one.
    """
    lead = test.matrix @ weights
    return {
        "wrong": int(np.sum((lead < -TIE) | (positive & (lead <= TIE)))),
        "mean": float(margins.mean()),
        "median": float(np.quantile(margins, 0.5, method="inverted_cdf")),
        "equilibrium": _equilibrium(margins, len(weights)),
        "minimum": float(margins.min()),
        "variance": float(margins.var()),
        "range": float(np.ptp(margins)),
    }


def _equilibrium(margins: F64, voters: int) -> float:
    """Negative weights may carry margins out of [-1, 1]; those count as 1 and -1."""
    return equilibrium_margin(np.clip(margins, -1.0, 1.0), log(2 * voters)).terms["equilibrium_margin"]


def reweighted(
    objective: Objective,
    lines: MarginMatrix,
    test: SignedVotes,
    positive: NDArray[np.bool_],
    known: tuple[F64, str, Objective] | None = None,
) -> dict[str, Any]:
    """Solve an objective on the training rows' margins and measure its weights; ``known`` is what is solved already.

    Margins are those of weights that sum to one, as the document has them; with negative weights they may leave
    [-1, 1]. Beside the numbers of `measured` there are ``least``, the least gain of a row's margin; ``state``; the
    ``xi`` that was solved with, of objectives that have one; the number of ``trees`` with weight; seconds.
    """
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
    """An objective's weights, or the ensemble's own where it has none; the outcome; and what was solved."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it says that there is no room, as the state does
            weights = objective.solve(lines).weights
    except OutOfReachError as error:
        weights, state, objective = solved(Range(xi=error.largest), lines)
        return weights, LESS if state == SOLVED else state, objective
    except ValueError:
        return lines.own, NO_SOLUTION, objective
    except RuntimeError:
        return lines.own, FAILED, objective
    return weights, NO_ROOM if np.array_equal(weights, lines.own) else SOLVED, objective
