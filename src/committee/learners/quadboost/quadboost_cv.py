"""QuadBoost on stumps whose strength is chosen by cross-validation, from sums over the folds."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import StrOptions

from committee import _core
from committee.data.bins import Binned
from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows, nonzero_sample_weights
from committee.learners.base import shared_parameters as shared
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import COUNT, FRACTION, parameter, with_parameters
from committee.learners.base.predictors import BaseClassifier
from committee.learners.quadboost.quadboost import classes_committee, signs_of
from committee.learners.quadboost.quadboost_path import follow, path_stumps, strengths
from committee.learners.quadboost.rounds import Products
from committee.objectives.programs.penalised_least_squares import Penalty, greedy_rounds
from committee.objectives.programs.penalties import PENALTIES, penalty_class
from committee.vote.weighted_votes import elected
from committee.voters.stump_dictionary import StumpDictionary

Part: TypeAlias = tuple[Products, F64, F64]
"""Products of some folds' rows, and means of votes ``(N,)`` and of targets ``(K,)``."""


@with_parameters
class QuadBoostClassifierCV(BaseClassifier):
    """QuadBoost on stumps that chooses its strength by cross-validation [1]_.

    All strengths of the penalty are tried on the same folds, with all `n_estimators` if given. For each fold the
    products of the stumps are those of all rows minus those of the fold, so that the whole choice costs a few passes
    over the rows. The choice of least error is then used on all rows.

    Attributes
    ----------
    committee_ : Committee
        Fitted to all rows, heaviest voters first.
    alpha_ : float
        The chosen strength; 0 without a penalty.
    alphas_ : float64 array (S,)
        All strengths, strongest first.
    n_estimators_ : int or None
        The chosen number of rounds.
    rounds_ : int64 array (R,) or None
        All numbers of rounds.
    cv_errors_ : float64 array (S, R or 1, folds)
        Weighted error rates, or risks, on the held-out rows.

    References
    ----------
    .. [1] L. Fortier-Dubois, F. Laviolette, M. Marchand, L.-E. Robitaille, J.-F. Roy. Efficient learning of ensembles
       with QuadBoost. Section 4.
    .. [2] T. Hastie, R. Tibshirani, J. Friedman (2009). The Elements of Statistical Learning, section 7.10, for the
       rule of one standard error.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import QuadBoostClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = QuadBoostClassifierCV(one_standard_error=True).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    stored_attributes: ClassVar[tuple[str, ...]] = ("alpha_", "alphas_", "n_estimators_", "rounds_", "cv_errors_")

    penalty: Literal["l1", "l2", "linf", "kl"] | None = parameter(
        "l1",
        'As for `QuadBoostClassifier`, "kl" with weights below 0.3; None chooses the number of rounds only.',
        StrOptions(PENALTIES.keys()),
        None,
    )
    _: KW_ONLY
    alphas: Collection[float] | None = parameter(
        None,
        """Strengths to try; for "linf" bounds alpha_max. None: `n_alphas` of them, as in `quadboost_path`.""",
        "array-like",
        type_words="array-like (S,) or None",
    )
    n_alphas: int = parameter(50, "Number of strengths.", COUNT)
    eps: float = parameter(3e-3, "Ratio of the least strength to the largest.", FRACTION)
    n_estimators: Collection[int] | int | None = parameter(
        None,
        """Numbers of rounds to try with every strength. None: no rounds, but the optimum over all stumps (LASSO, ridge,
        least squares in a box).""",
        "array-like",
        COUNT,
        type_words="array-like (R,), int or None",
    )
    reweight: Literal["none", "chosen"] = parameter(
        "none",
        """Treatment of a voter that is chosen again, as for `QuadBoostClassifier`; by default "none", as in the paper.
        Not used without `n_estimators`.""",
    )
    cv: Any = parameter(
        5,
        "Folds, stratified by class; each row must be held out once.",
        "cv_object",
        type_words="int, splitter or iterable",
    )
    criterion: Literal["error", "risk"] = parameter(
        "error",
        """Measure on the held-out rows: the error rate, as in the paper, or the quadratic risk summed over the scores,
        which has fewer ties and leads to better probabilities.""",
    )
    one_standard_error: bool = parameter(
        False,
        """Of all strengths whose mean is within a standard error of the least take the strongest, and the fewest
        rounds: smaller committees, a little more error.""",
    )
    n_thresholds: int = shared.n_thresholds()
    thresholds: Literal["quantile", "even"] = shared.thresholds("Those of all rows; labels are not used.")
    fit_intercept: bool = shared.fit_intercept()
    tol: float = parameter(
        1e-4,
        """Duality gap of the optima ("l2" is exact), as a share of the target's mean square, on the folds ten times
        that; rounds end when no voter can lower the penalised risk by more than ``tol**2`` of it.""",
        FRACTION,
    )
    categorical_features: Any = shared.categorical_features()
    n_jobs: int | None = shared.n_jobs()

    def _most_tasks(self, X: Any) -> int:
        return 1 + int(check_cv(self.cv).get_n_splits(X))

    def _check_parameters(self) -> None:
        self._rounds()

    def _train(self, rows: Rows, tasks: FitTasks) -> dict[str, Any]:
        folds, rounds = self._folds(rows, tasks.sample_weight), self._rounds()
        binned, dictionary = path_stumps(rows, self.table_, self.n_thresholds, self.thresholds, n_threads(self.n_jobs))
        sums = FoldSums(binned, dictionary, rows, signs_of(rows.labels, len(self.classes_)), self.fit_intercept, folds)
        whole, groups = sums.without(None), dictionary.groups
        alphas = np.zeros(1)
        if self.penalty is not None:
            kind = penalty_class(self.penalty)
            alphas = strengths(kind, whole[0], self.alphas, self.n_alphas, self.eps)
        errors = np.empty((len(alphas), len(rounds) or 1, len(folds)))
        for k in range(len(folds)):
            tasks.begin_part("fold")

            def errors_of_fold(k: int = k) -> F64:
                return sums.losses(k, *self._solved(sums.without(k), groups, alphas, rounds), self.criterion)

            errors[:, :, k] = tasks.result("fold", (k, folds[k]), errors_of_fold)
            tasks.end_part(dict)
        a, t = self._chosen(errors)
        tasks.begin_part("all rows")
        weights, start = self._solved(whole, groups, alphas, rounds, only=(a, t))
        voters, vote_weights = dictionary.weighted_forest(weights[0, 0], labels=len(self.classes_) == 2)
        intercept = start[0, 0] if self.fit_intercept else None
        fitted = {
            "committee_": classes_committee(self.classes_, voters, vote_weights, intercept, rows.count, self.table_),
            "alpha_": float(alphas[a]),
            "alphas_": alphas,
            "n_estimators_": rounds[t] if rounds else None,
            "rounds_": np.array(rounds, dtype=np.int64) if rounds else None,
            "cv_errors_": errors,
        }
        tasks.end_part(lambda: fitted)
        return fitted

    def _rounds(self) -> list[int]:
        if self.n_estimators is None:
            if self.penalty is None:
                raise ValueError(
                    "penalty=None needs n_estimators: without a penalty the number of rounds is all there is to "
                    "choose. Give n_estimators=[10, 30, 100, 300, 1000], or a penalty."
                )
            return []
        given = np.unique(np.atleast_1d(np.asarray(self.n_estimators)))
        if given.dtype.kind not in "iu" or not len(given) or given[0] < 1:
            raise ValueError(f"n_estimators={self.n_estimators!r} must be whole numbers >= 1, at least one.")
        return [int(t) for t in given]

    def _folds(self, rows: Rows, sample_weight: ArrayLike | None) -> list[NDArray[np.intp]]:
        cv = check_cv(self.cv, rows.labels, classifier=True)
        if self.cv is None or hasattr(self.cv, "split") or isinstance(self.cv, Integral):
            held = [test for _, test in cv.split(rows.labels, rows.labels)]
        else:  # the user's own folds number all rows, and those without weight are gone
            counted = nonzero_sample_weights(sample_weight, len(rows))
            number = np.where(counted, np.cumsum(counted) - 1, -1)
            held = [number[test][number[test] >= 0] for _, test in cv.split(counted)]
        if not np.array_equal(np.sort(np.concatenate(held)), np.arange(len(rows))):
            raise ValueError(f"cv={type(self.cv).__name__} must hold out every row once; use a KFold of some kind.")
        return [rows_held for rows_held in held if len(rows_held)]

    def _solved(
        self, part: Part, groups: Any, alphas: F64, rounds: list[int], only: tuple[int, int] | None = None
    ) -> tuple[F64, F64]:
        # weights (S, R, K, N) and intercepts (S, R, K) of all strengths and rounds, or of one pair of them
        if only is not None:
            strongest = only[0] if rounds else 0  # a path starts at its strong end
            alphas, rounds = alphas[strongest : only[0] + 1], rounds[: only[1] + 1]
        # errors on held-out rows do not need the digits that the last fit gets
        tol = self.tol if only is not None else 10.0 * self.tol
        (products, mean, start), kind = part, penalty_class(self.penalty)
        K = len(products.b)
        weights = np.zeros((len(alphas), len(rounds) or 1, K, products.gram.shape[0]))
        for k in range(K):
            b, square = products.b[k], float(products.square[k])
            if not rounds:
                weights[:, 0, k], _, _ = follow(kind, products.gram, b, square, groups, alphas, tol)
                continue
            for i, strength in enumerate(alphas.tolist()):
                stages = _stages(
                    products.gram, b, square, kind(strength), rounds, self.tol, as_new=self.reweight == "none"
                )
                weights[i, :, k] = list(stages)
        if only is not None:
            weights = weights[-1:, -1:]
        return weights, start - weights @ mean if self.fit_intercept else np.zeros(weights.shape[:3])

    def _chosen(self, errors: F64) -> tuple[int, int]:
        # strengths are in order, strongest first, and rounds rise: of equally good ones the first is the simplest
        mean = errors.mean(axis=2)
        best = np.unravel_index(int(mean.argmin()), mean.shape)
        allowed = float(mean[best])
        if self.one_standard_error:
            allowed += float(errors[best].std(ddof=1) / np.sqrt(errors.shape[2])) if errors.shape[2] > 1 else 0.0
        good = np.argwhere(mean <= allowed + 1e-12)
        first = good[np.lexsort((good[:, 1], good[:, 0]))[0]]
        return int(first[0]), int(first[1])


def _stages(
    gram: F64, b: F64, square: float, penalty: Penalty, rounds: list[int], tol: float, *, as_new: bool
) -> Iterator[F64]:
    c, alpha, done = b.copy(), np.zeros(len(b)), 0
    for n_rounds in rounds:
        greedy_rounds(penalty, gram, c, alpha, as_new=as_new, n_rounds=n_rounds - done, least=(tol * tol) * square)
        done = n_rounds
        yield alpha.copy()


class FoldSums:
    def __init__(
        self,
        binned: Binned,
        dictionary: StumpDictionary,
        rows: Rows,
        y: F64,
        intercept: bool,
        folds: list[NDArray[np.intp]],
    ) -> None:
        self.folds = folds
        self.dictionary: StumpDictionary = dictionary
        self.rows: Rows = rows
        self.y: F64 = y
        self.intercept: bool = intercept
        codes: Any = binned.codes
        self.cells = [_core.Cells(np.ascontiguousarray(codes[held]), binned.bins.n_bins, 1) for held in folds]
        w = self.weights = [rows.weights[held] for held in folds]
        self.total: NDArray[Any] = np.array([weights.sum() for weights in w])
        self.weight: F64 = np.stack([cells.sums(weights) for cells, weights in zip(self.cells, w, strict=True)])
        self.target: F64 = np.stack(
            [
                np.stack([cells.sums(weights * of_class[held]) for of_class in y])
                for cells, weights, held in zip(self.cells, w, folds, strict=True)
            ]
        )
        self.start: F64 = np.stack([y[:, held] @ weights for weights, held in zip(w, folds, strict=True)])
        # the largest of the sums by far: those of one fold are taken again when it is left out, and never kept
        self.all_pairs = self.cells[0].pairs(w[0])
        for cells, weights in zip(self.cells[1:], w[1:], strict=True):
            self.all_pairs += cells.pairs(weights)

    def without(self, fold: int | None) -> Part:
        outside = np.ones(len(self.folds), dtype=bool)
        pairs = self.all_pairs
        if fold is not None:
            outside[fold] = False
            pairs = pairs - self.cells[fold].pairs(self.weights[fold])
        total = self.total[outside].sum()
        of = self.dictionary.correlations
        mean = of(self.weight[outside].sum(axis=0)) / total
        gram = self.dictionary.gram(pairs / total, mean if self.intercept else None)
        b, start = of(self.target[outside].sum(axis=0)) / total, self.start[outside].sum(axis=0) / total
        square = np.ones(len(self.y))
        if self.intercept:
            b -= np.outer(start, mean)
            square = np.maximum(square - start**2, 0.0)
        return Products(gram, b, square), mean, start

    def losses(self, fold: int, weights: F64, start: F64, criterion: Literal["error", "risk"]) -> F64:
        S, R, K, N = weights.shape
        held = self.folds[fold]
        truth, y, w = self.rows.labels[held], self.y[:, held].T, self.rows.weights[held]
        losses = np.empty((S, R))
        for i in range(S):
            flat = np.ascontiguousarray(weights[i].reshape(R * K, N).T)
            scores = self.cells[fold].scores(np.ascontiguousarray(self.dictionary.cell_scores(flat)))
            F = scores.reshape(len(held), R, K) + start[i]
            for t in range(R):
                loss = elected(F[:, t]) != truth if criterion == "error" else ((y - F[:, t]) ** 2).sum(axis=1)
                losses[i, t] = np.average(loss, weights=w)
        return losses
