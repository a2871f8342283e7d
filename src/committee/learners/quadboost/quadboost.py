"""QuadBoost: boosting of the quadratic loss, its weights held down in the L1, L2 or Linf norm."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from committee.data.frames import TableSchema
from committee.data.rows import Rows, TargetRows
from committee.learners.base.estimator import CommitteeClassifier, CommitteeRegressor
from committee.learners.quadboost.quad_fit import QuadBoost
from committee.learners.quadboost.quad_voters import ScoreTargets
from committee.vote.committee import Committee
from committee.vote.links.mean import Identity
from committee.vote.links.probability import Truncated
from committee.vote.regression import RegressionCommittee

F64 = NDArray[np.float64]


class QuadBoostClassifier(CommitteeClassifier, QuadBoost):
    """QuadBoost: a vote fitted by least squares, one voter at a time, with its weights held down.

    Each round takes the voter whose correlation with the residual, mu - M = (1/n) sum_i h(x_i) (y_i - F(x_i)), lowers
    the penalised quadratic risk most, to the weight that is best for it; with eta = (1/n) sum_i h(x_i)^2:

    ====== ===================================
    none   (mu - M) / eta
    l1     soft(mu - M, lambda) / eta
    l2     (mu - M) / (eta + lambda)
    linf   (mu - M) / eta, within +-alpha_max
    ====== ===================================

    No row weights change and nothing is exponential, which makes rounds cheap: over a finite dictionary they do not
    look at the rows at all, but at products of voters. More than two classes: each against the rest, over one
    dictionary. `QuadBoostClassifierCV` chooses the strength, `quadboost_path` shows all of them.

    Parameters
    ----------
    penalty : {"l1", "l2", "linf"} or None, default="l1"
        Norm of the weights that is held down: 2 lambda ||alpha||_1, lambda ||alpha||_2^2, or |alpha_j| <= `alpha_max`.
        "l1" keeps the committee small and stops by itself; the others need a limit on the rounds.
    alpha : float or "theory", default=0.01
        The paper's lambda, >= 0, of "l1" and "l2". "theory": the value under which the penalised risk is the bound,
        4 R for "l1" and 8 sqrt(T) R for "l2", with R the Rademacher complexity of the stumps on these rows, drawn
        with `random_state`, and T = `n_estimators`; far more than predicts best.
    alpha_max : float, default=0.3
        Most that a round may give a voter, > 0, with ``penalty="linf"``; unless ``reweight="none"`` most that it has.
    n_estimators : int, default=1000
        Most rounds. A voter may be chosen again, so there may be fewer voters.
    dictionary : {"stumps", "all_stumps", "trees"} or classifier, default="stumps"
        What voters there are, all voting -1 or +1 (stumps also 0, on missing values). "stumps": `n_thresholds` of a
        column, and each of its categories against the others. "all_stumps": every threshold between bins, every
        subset of categories. "trees": grown on the signs of the residuals weighted with their sizes. Any classifier
        whose ``fit`` takes ``sample_weight`` is trained in the same way.
    n_thresholds : int, default=10
        Most thresholds of a column (and categories told from the rest), for "stumps".
    thresholds : {"quantile", "even"}, default="quantile"
        Where they lie: the rows shared out evenly, or the range.
    max_depth, max_leaf_nodes : int or None, default=2 and None
        Limits of "trees".
    min_samples_leaf : int, default=1
        Fewest training rows of a leaf, for "trees".
    max_bins : int, default=255
        Most bins of a column, for "all_stumps" and "trees".
    reweight : {"none", "chosen", "every_k", "fully_corrective"}, default="chosen"
        What becomes of the weights that voters have. "chosen": that of a voter that is chosen again is set anew, its
        own part taken out of the vote first. "none": they stay; such a voter counts as one more, and its weights add
        up, which with "l2" and "linf" makes the rounds count and the penalty less.
        "every_k", "fully_corrective": after every `reweight_interval` rounds, or after each one, all are set to the
        optimum over the voters present: LASSO, ridge, or least squares in a box, on the matrix of votes.
    reweight_interval : int, default=10
        Rounds between two re-weightings, for "every_k".
    fit_intercept : bool, default=True
        The score starts at an intercept, which is not penalised. False is the paper's form.
    tol : float, default=1e-4
        The rounds end when no voter can lower the penalised risk by more than ``tol**2`` of the target's mean square.
        0: never, but for `n_estimators`.
    categorical_features : "from_dtype", None, list or mask, default="from_dtype"
        Which columns are categories; "from_dtype": text, categorical and boolean columns of a data frame.
    early_stopping : bool, default=False
        Stop when the quadratic risk of held-out rows has not improved for `n_iter_no_change` rounds, and keep the
        weights of the best round.
    validation_fraction : float, default=0.1
        Share of rows held out, when early stopping is on and no validation set is given.
    n_iter_no_change : int, default=10
        Rounds without improvement that end the run.
    random_state : int, RandomState or None, default=None
        Draws the held-out rows, the members' seeds and the signs behind ``alpha="theory"``; otherwise not used.
    n_jobs : int or None, default=None
        Threads; the committee does not depend on it, bit for bit.

    Attributes
    ----------
    committee_ : Committee
        The voters, with positive weights (a voter of negative weight is turned round; a user's classifier keeps its
        sign). Two classes: voters name classes. More: scores -1, 0, +1 in the column of the class they speak of.
    classes_ : array (n_classes,)
    strength_ : float
        lambda or the bound that was used.
    training_risks_ : float64 array (rounds + 1,)
        Quadratic risk before the first round and after each one, summed over the classes; without the penalty.
    validation_risks_ : float64 array or None
        Quadratic risk of the held-out rows before the first round and after each one, with early stopping.
    table_ : TableSchema
        What the columns are.

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
        At `fit`, naming the parameter, its value and its range.

    Warns
    -----
    UserWarning
        If no voter has any weight, as when `alpha` is too large.
    ConvergenceWarning
        If a re-weighting ends before its optimum.

    Notes
    -----
    Probabilities are (1 + F)/2, cut off at what n rows cannot tell from 0 and 1: the quadratic loss has
    p_1 - p_0 as its minimiser.

    References
    ----------
    L. Fortier-Dubois, F. Laviolette, M. Marchand, L.-E. Robitaille, J.-F. Roy. Efficient learning of ensembles with
    QuadBoost. Sections 3 and 3.1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import QuadBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = QuadBoostClassifier(alpha=0.02).fit(X[::2], y[::2])
    >>> model.committee_.n_voters, model.score(X[1::2], y[1::2]) > 0.9
    (31, True)
    """

    def _target(self, rows: Rows) -> ScoreTargets:
        y = signs_of(rows.labels, len(self.classes_))
        return ScoreTargets(y, rows.weights / rows.weights.sum(), self.fit_intercept, labels=len(y) == 1)

    def _committee(self, voters: Any, weights: F64, start: F64, count: float) -> dict[str, Any]:
        intercept = start if self.fit_intercept else None
        return classes_committee(self.classes_, voters, weights, intercept, count, self.table_)


def signs_of(labels: NDArray[np.uint16], n_classes: int) -> F64:
    """Targets -1 and +1: of the second of two classes, or of each class against the rest, ``(K, n)``."""
    numbers = np.arange(1, 2) if n_classes == 2 else np.arange(n_classes)
    return np.where(labels == numbers[:, None], 1.0, -1.0)


def classes_committee(
    classes: NDArray[Any], voters: Any, weights: F64, start: F64 | None, count: float, table: TableSchema
) -> dict[str, Any]:
    """The committee of a classifier, and its classes, by attribute.

    Scores are differences of probabilities. None of these is called less than what `count` rows cannot tell from zero,
    Laplace's estimate of a class that none of them has.
    """
    intercept = start
    if start is not None and len(start) == 1:
        intercept = np.array([-0.5, 0.5]) * start
    link = Truncated(floor=0.5 / (count + len(classes)))
    return {"classes_": classes, "committee_": Committee(voters, weights, classes, link, table, intercept)}


class QuadBoostRegressor(CommitteeRegressor, QuadBoost):
    """QuadBoost on numbers: voters of -1 and +1, weighted to fit the target by penalised least squares.

    The rounds of `QuadBoostClassifier`, with real targets: F(x) = F_0 + sum_t alpha_t h_t(x). With stumps this is an
    additive model, a step function of each column.

    Parameters
    ----------
    penalty : {"l1", "l2", "linf"} or None, default="l1"
        Norm of the weights that is held down: 2 lambda ||alpha||_1, lambda ||alpha||_2^2, or |alpha_j| <= `alpha_max`.
        "l1" keeps the committee small and stops by itself; the others need a limit on the rounds.
    alpha : float, default=0.01
        The paper's lambda, >= 0, of "l1" and "l2", in units of the target: "l1" keeps a voter whose correlation with
        the residual exceeds it. For targets of another scale than 1 it should be scaled with them ("l1").
    alpha_max : float, default=0.3
        Most that a round may give a voter, > 0, with ``penalty="linf"``; unless ``reweight="none"`` most that it has.
    n_estimators : int, default=1000
        Most rounds. A voter may be chosen again, so there may be fewer voters.
    dictionary : {"stumps", "all_stumps", "trees"} or classifier, default="stumps"
        What voters there are, all voting -1 or +1 (stumps also 0, on missing values). "stumps": `n_thresholds` of a
        column, and each of its categories against the others. "all_stumps": every threshold between bins, every
        subset of categories. "trees": grown on the signs of the residuals weighted with their sizes. Any classifier
        whose ``fit`` takes ``sample_weight`` is trained in the same way.
    n_thresholds : int, default=10
        Most thresholds of a column (and categories told from the rest), for "stumps".
    thresholds : {"quantile", "even"}, default="quantile"
        Where they lie: the rows shared out evenly, or the range.
    max_depth, max_leaf_nodes : int or None, default=2 and None
        Limits of "trees".
    min_samples_leaf : int, default=1
        Fewest training rows of a leaf, for "trees".
    max_bins : int, default=255
        Most bins of a column, for "all_stumps" and "trees".
    reweight : {"none", "chosen", "every_k", "fully_corrective"}, default="chosen"
        What becomes of the weights that voters have. "chosen": that of a voter that is chosen again is set anew, its
        own part taken out of the vote first. "none": they stay; such a voter counts as one more, and its weights add
        up, which with "l2" and "linf" makes the rounds count and the penalty less.
        "every_k", "fully_corrective": after every `reweight_interval` rounds, or after each one, all are set to the
        optimum over the voters present: LASSO, ridge, or least squares in a box, on the matrix of votes.
    reweight_interval : int, default=10
        Rounds between two re-weightings, for "every_k".
    fit_intercept : bool, default=True
        The score starts at an intercept, which is not penalised. False is the paper's form.
    tol : float, default=1e-4
        The rounds end when no voter can lower the penalised risk by more than ``tol**2`` of the target's mean square.
        0: never, but for `n_estimators`.
    categorical_features : "from_dtype", None, list or mask, default="from_dtype"
        Which columns are categories; "from_dtype": text, categorical and boolean columns of a data frame.
    early_stopping : bool, default=False
        Stop when the quadratic risk of held-out rows has not improved for `n_iter_no_change` rounds, and keep the
        weights of the best round.
    validation_fraction : float, default=0.1
        Share of rows held out, when early stopping is on and no validation set is given.
    n_iter_no_change : int, default=10
        Rounds without improvement that end the run.
    random_state : int, RandomState or None, default=None
        Draws the held-out rows and the members' seeds; otherwise not used.
    n_jobs : int or None, default=None
        Threads; the committee does not depend on it, bit for bit.

    Attributes
    ----------
    committee_ : RegressionCommittee
        The voters, with positive weights.
    strength_ : float
        lambda or the bound that was used.
    training_risks_ : float64 array (rounds + 1,)
        Mean squared residual before the first round and after each one; without the penalty.
    validation_risks_ : float64 array or None
        Mean squared residual of the held-out rows before the first round and after each one, with early stopping.
    table_ : TableSchema
        What the columns are.

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
        At `fit`, naming the parameter, its value and its range.

    References
    ----------
    P. Buehlmann, B. Yu (2003). Boosting with the L2 loss. JASA 98. The penalties are those of `QuadBoostClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import QuadBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = QuadBoostRegressor(alpha=2.0).fit(X[::2], y[::2])
    >>> model.committee_.n_voters, model.score(X[1::2], y[1::2]) > 0.4
    (28, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **QuadBoost._parameter_constraints,
        "alpha": [Interval(Real, 0.0, None, closed="left")],
    }

    def _target(self, rows: TargetRows) -> ScoreTargets:
        if len(rows) < 2:
            raise ValueError(f"n_samples={len(rows)}: X holds one row of any weight; voters need at least two to part.")
        weights = rows.weights / rows.weights.sum()
        return ScoreTargets(rows.target[None], weights, self.fit_intercept, labels=False)

    def _committee(self, voters: Any, weights: F64, start: F64, count: float) -> dict[str, Any]:
        intercept = start if self.fit_intercept else None
        return {"committee_": RegressionCommittee(voters, weights, Identity(), self.table_, intercept)}
