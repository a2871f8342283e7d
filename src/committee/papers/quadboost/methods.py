"""The QuadBoost document's numbers and tables, its methods, the search for their hyperparameters, and the cells."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.bins import Binned, Bins
from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.learners.boosting.adaboost import AdaBoostClassifier
from committee.learners.boosting.largest_margin import LPBoostClassifier
from committee.learners.boosting.quadboost import QuadBoostClassifier
from committee.learners.boosting.quadboost_path import QuadBoostClassifierCV
from committee.objectives.programs.penalties import penalty_class
from committee.papers.shared.cells import timed
from committee.papers.shared.pages import packed
from committee.papers.shared.tables import Folder, check_rows, digest_of, document_numbers, labels_of, read_from_folder
from committee.report.folds import Rows, Split, stratified_folds
from committee.vote.committee import Committee
from committee.vote.links.probability import Logistic
from committee.voters.stump_dictionary import StumpDictionary

L1, L2, LINF, VANILLA = "QuadBoost-L1", "QuadBoost-L2", "QuadBoost-Linf", "QuadBoost"
LPBOOST, ADABOOST = "LPBoost", "AdaBoost"
METHODS = (L1, L2, LINF, VANILLA, LPBOOST, ADABOOST)  # the columns of the document's Table 1, in its order
GINI = "AdaBoost, Gini"  # AdaBoost once more, with stumps of the least Gini index. The document does not have it.
ANEW_L2, ANEW_LINF = f"{L2}, anew", f"{LINF}, anew"  # variants that recompute the weight of a repeated voter

MOST_TRAINING_ROWS = 500
STUMPS_PER_COLUMN = 10


@dataclass(frozen=True)
class PublishedErrors:
    title: str  # the document's name of the table
    name: str  # the catalogue's name
    rows: int  # rows that are used
    positive: tuple[str, ...]  # labels of the class +1, which the document does not state
    keep: tuple[str, ...] | None  # labels of the rows that are used; None: all
    error: dict[str, float]  # its Table 1: share of the test rows that each of `METHODS` predicts wrong

    @property
    def training_rows(self) -> int:
        return min(MOST_TRAINING_ROWS, -(-self.rows // 2))

    @property
    def test_rows(self) -> int:
        return self.rows - self.training_rows

    def wrong(self, method: str) -> int:
        return round(self.error[method] * self.test_rows)


@dataclass(frozen=True)
class PublishedComparison:
    seconds: dict[str, float]  # last line of its Table 1: mean running time of each method
    better: dict[tuple[str, str], float]
    """Its Table 2: Poisson-binomial probability that the first method is better than the second."""
    significant: tuple[tuple[str, str], ...]
    """Its starred pairs, the better one first: significant by the sign test at 0.05."""


def published() -> list[PublishedErrors]:
    return [
        PublishedErrors(**{**row, "positive": tuple(row["positive"]), "keep": tuple(row.get("keep", ())) or None})
        for row in document_numbers("quadboost/tables.json")["tables"]
    ]


def published_comparison() -> PublishedComparison:
    document = document_numbers("quadboost/tables.json")
    found = document["better"]
    better = {
        (a, b): float(probability)
        for a, row in zip(found["methods"], found["probability"], strict=True)
        for b, probability in zip(found["methods"], row, strict=True)
        if a != b
    }
    return PublishedComparison(document["mean_seconds"], better, tuple((a, b) for a, b in found["significant"]))


@dataclass(frozen=True, eq=False)
class BinaryTable:
    published: PublishedErrors
    X: F64  # numbers as they are, categories as codes, NaN where missing. Shape ``(n, p)``.
    categorical: NDArray[np.bool_]  # which columns are codes. Shape ``(p,)``.
    y: NDArray[np.int64]  # +1 and -1. Shape ``(n,)``.

    @property
    def digest(self) -> str:
        return digest_of(self.X.tobytes(), self.y.tobytes())


def read_binary(table: PublishedErrors, folder: Folder) -> BinaryTable:
    found = read_from_folder(table.name, folder, {*table.positive, *(table.keep or ())})
    labels = labels_of(found)
    used = np.isin(labels, table.keep) if table.keep else np.ones(len(labels), dtype=bool)
    check_rows(table.name, int(used.sum()), table.rows)
    schema, X = found.encoded()
    y = np.where(np.isin(labels[used], table.positive), 1, -1)
    return BinaryTable(table, np.ascontiguousarray(X[used]), schema.categorical, y)


def draw_split(table: PublishedErrors, seed: int, repeat: int) -> Split:
    order = np.random.default_rng([seed, repeat]).permutation(table.rows).astype(np.intp)
    return np.sort(order[: table.training_rows]), np.sort(order[table.training_rows :])


def prepared(table: BinaryTable, train: Rows) -> F64:
    """Encode all rows for stumps by the thresholds and categories of the training rows."""
    columns = []
    for x, categorical in zip(table.X.T, table.categorical, strict=True):
        columns += _indicators(x, train) if categorical else _steps(x, train)
    if not columns:
        raise ValueError(
            f"every column of table {table.published.name!r} is constant on the training rows; leave it out by --tables"
        )
    return np.column_stack(columns)


def _steps(x: F64, train: Rows) -> list[F64]:
    known = x[train][~np.isnan(x[train])]
    spread = float(known.std()) if known.size and np.ptp(known) > 0.0 else 0.0
    if spread == 0.0:
        return []
    z = np.tanh((x - known.mean()) / spread)
    inside = z[train][~np.isnan(z[train])]
    low, high = float(inside.min()), float(inside.max())
    thresholds = low + (high - low) * np.arange(1, STUMPS_PER_COLUMN + 1) / (STUMPS_PER_COLUMN + 1)
    return [np.where(np.isnan(z), np.nan, np.searchsorted(thresholds, z).astype(np.float64))]


def _indicators(x: F64, train: Rows) -> list[F64]:
    codes = np.where(np.isnan(x), -1.0, x)
    found = np.unique(codes[train])
    return [(codes == code).astype(np.float64) for code in (found if found.size > 2 else found[:-1])]


# --- methods ----------------------------------------------------------------------------------------------------------


Params: TypeAlias = dict[str, float | int]
LabelledRows: TypeAlias = tuple[F64, NDArray[np.int64]]  # cells, and labels -1 or +1


@dataclass(frozen=True)
class SearchPlan:
    values: int  # values of each hyperparameter, evenly spaced in the logarithm; the document has 10
    folds: int  # folds of the cross-validation; the document has 5
    max_rounds: int  # largest number of AdaBoost's rounds that is tried; QuadBoost has no limit
    max_grown: int  # the same with stumps by Gini's index, which take some twenty times as long

    def grid(self, low: float, high: float) -> list[float]:
        return [float(value) for value in np.logspace(low, high, self.values)]

    def rounds(self, low: float, high: float) -> list[int]:
        return sorted({round(value) for value in self.grid(low, high)})

    def affordable(self, low: float, high: float, most: int) -> list[int]:
        return [value for value in self.rounds(low, high) if value <= most] or [most]


FULL = SearchPlan(10, 5, 1_000_000, 10_000)
QUICK = SearchPlan(3, 2, 100, 100)


class SearchedMethod(ABC):
    quadratic: bool  # True if scores approximate -1 and +1, so that their quadratic risk is meaningful

    @abstractmethod
    def choose(self, X: F64, y: NDArray[np.int64], folds: Sequence[Split], plan: SearchPlan) -> tuple[Params, float]:
        """Return the hyperparameters of least error over the folds, and that error."""

    @abstractmethod
    def fit(self, X: F64, y: NDArray[np.int64], params: Params) -> Any: ...

    def test_errors(self, rows: LabelledRows, others: LabelledRows, plan: SearchPlan) -> dict[str, float]:
        """Return the error on other rows by value of the hyperparameter, if one run gives all values."""
        return {}


class ListedStumpBoosts:
    """Discrete AdaBoost on a list of stumps, after each number of `rounds`."""

    def __init__(self, X: F64, y: NDArray[np.int64], rounds: Sequence[int]) -> None:
        self.rounds: list[int] = list(rounds)
        bins = Bins.learn(X, None, np.zeros(X.shape[1], np.int32), _MOST_BINS)
        binned = Binned(bins, bins.encode(X))
        self.dictionary: StumpDictionary = StumpDictionary.of(binned, np.ones(len(X)))
        # stumps that never abstain
        self.voting: NDArray[np.intp] = np.flatnonzero(self.dictionary.stumps.missing != 0)
        votes = np.ascontiguousarray(self.dictionary.votes(binned.codes, self.voting))
        self.alpha, _ = _core.listed_rounds(votes, y.astype(np.int8), np.ones(len(X)), np.array(self.rounds))

    def committee(self, k: int) -> Committee:
        alpha = np.zeros((1, len(self.dictionary)))
        alpha[0, self.voting] = self.alpha[k]
        forest, weights = self.dictionary.weighted_forest(alpha, labels=True)
        return Committee(forest, weights, np.array([-1, 1]), Logistic())

    def wrong(self, X: F64, y: NDArray[np.int64]) -> NDArray[np.int64]:
        votes = self.dictionary.votes(self.dictionary.bins.encode(X), self.voting)
        return np.asarray((np.where(votes @ self.alpha.T > 0.0, 1, -1) != y[:, None]).sum(axis=0), dtype=np.int64)


_MOST_BINS = 255  # above the eleven different values of a column that `prepared` leaves


@dataclass(frozen=True, eq=False)
class FittedVote:
    committee_: Committee

    def predict(self, X: F64) -> NDArray[np.int64]:
        labels: NDArray[np.int64] = self.committee_.predict(X)
        return labels

    def decision_function(self, X: F64) -> F64:
        return np.asarray(self.committee_.decision_function(X), dtype=np.float64)


@dataclass(frozen=True)
class AdaBoostSearch(SearchedMethod):
    rounds: tuple[float, float]  # decimal logarithms of the least and the largest number of rounds
    quadratic: bool = False

    @abstractmethod
    def tried(self, plan: SearchPlan) -> list[int]: ...

    @abstractmethod
    def wrong_after(self, rows: LabelledRows, others: LabelledRows, rounds: Sequence[int]) -> NDArray[np.int64]:
        """Count the other rows that a run on `rows` predicts wrong after each number of rounds."""

    def choose(self, X: F64, y: NDArray[np.int64], folds: Sequence[Split], plan: SearchPlan) -> tuple[Params, float]:
        rounds = self.tried(plan)
        wrong = np.zeros(len(rounds), dtype=np.int64)
        for train, test in folds:
            wrong += self.wrong_after((X[train], y[train]), (X[test], y[test]), rounds)
        best = int(wrong.argmin())
        return {"rounds": rounds[best]}, float(wrong[best] / sum(len(test) for _, test in folds))

    def test_errors(self, rows: LabelledRows, others: LabelledRows, plan: SearchPlan) -> dict[str, float]:
        rounds = self.tried(plan)
        errors = self.wrong_after(rows, others, rounds) / len(others[1])
        return {str(T): round(float(error), 6) for T, error in zip(rounds, errors, strict=True)}


@dataclass(frozen=True)
class BestEdgeSearch(AdaBoostSearch):
    """AdaBoost with the stump of the best edge in each round."""

    def tried(self, plan: SearchPlan) -> list[int]:
        return plan.affordable(*self.rounds, plan.max_rounds)

    def wrong_after(self, rows: LabelledRows, others: LabelledRows, rounds: Sequence[int]) -> NDArray[np.int64]:
        return ListedStumpBoosts(*rows, rounds).wrong(*others)

    def fit(self, X: F64, y: NDArray[np.int64], params: Params) -> FittedVote:
        return FittedVote(ListedStumpBoosts(X, y, [int(params["rounds"])]).committee(0))


@dataclass(frozen=True)
class GrownSearch(AdaBoostSearch):
    """AdaBoost with the stump of the least Gini index in each round."""

    def tried(self, plan: SearchPlan) -> list[int]:
        return plan.affordable(*self.rounds, plan.max_grown)

    def wrong_after(self, rows: LabelledRows, others: LabelledRows, rounds: Sequence[int]) -> NDArray[np.int64]:
        X, y = others
        committee = self.fit(*rows, {"rounds": rounds[-1]}).committee_
        votes = committee.votes(X)
        scores = (votes[:, :T] @ committee.weights[:T] for T in rounds)
        return np.array([(np.where(score > 0.0, 1, -1) != y).sum() for score in scores])

    def fit(self, X: F64, y: NDArray[np.int64], params: Params) -> Any:
        return AdaBoostClassifier(int(params["rounds"]), calibrate=None, n_jobs=1).fit(X, y)


_MOST_ROUNDS = 100_000  # of the L1 version, which otherwise stops by itself: the end of the other versions' grids
_TOL = 1e-6  # with L1, rounds end where no |mu - M| exceeds lambda by 1e-6; the other penalties end by T


@dataclass(frozen=True)
class QuadBoostSearch(SearchedMethod):
    penalty: Literal["l1", "l2", "linf"] | None
    alphas: tuple[float, float] | None  # decimal logarithms of the least and the largest lambda (alpha_max of "linf")
    rounds: tuple[float, float] | None  # the same of the numbers of rounds; None: until no voter has |mu - M| > lambda
    reweight: Literal["none", "chosen"] = "none"
    """"none": a repeated voter is one voter more (section 3); "chosen": its weight is recomputed (section 3.1)."""
    quadratic: bool = True

    def choose(self, X: F64, y: NDArray[np.int64], folds: Sequence[Split], plan: SearchPlan) -> tuple[Params, float]:
        model = QuadBoostClassifierCV(
            self.penalty,
            alphas=None if self.alphas is None else plan.grid(*self.alphas),
            n_estimators=_MOST_ROUNDS if self.rounds is None else plan.rounds(*self.rounds),
            cv=folds,
            one_standard_error=False,
            **self._as_in_the_document(),
        ).fit(X, y)
        params: Params = {}
        if self.alphas is not None:
            params["alpha"] = float(model.alpha_)
        if self.rounds is not None:
            params["rounds"] = int(model.n_estimators_)
        return params, float(model.cv_errors_.mean(axis=2).min())

    def fit(self, X: F64, y: NDArray[np.int64], params: Params) -> Any:
        options = self._as_in_the_document()
        if "alpha" in params:
            options[penalty_class(self.penalty).parameter] = params["alpha"]
        return QuadBoostClassifier(self.penalty, n_estimators=int(params.get("rounds", _MOST_ROUNDS)), **options).fit(
            X, y
        )

    def _as_in_the_document(self) -> dict[str, Any]:
        return {
            "n_thresholds": STUMPS_PER_COLUMN,
            "reweight": self.reweight,
            "fit_intercept": False,
            "tol": _TOL,
            "n_jobs": 1,
        }


@dataclass(frozen=True)
class LPBoostSearch(SearchedMethod):
    r"""LPBoost with the document's penalty C, that of :math:`\min \|\alpha\|_1 + C \sum_i \xi_i`.

    The solution, divided by its norm, is that of `LPBoostClassifier` for a root D of :math:`C\, V(D) = D`, with
    :math:`D = 1 / (\nu n)` and :math:`V(D) = \max \rho - D \sum_i \xi_i`.
    """

    penalties: tuple[float, float]  # decimal logarithms of the least and the largest C
    learner: Callable[..., Any] | None = None  # makes an unfitted classifier given ``nu``; None: `LPBoostClassifier`
    quadratic: bool = False

    def choose(self, X: F64, y: NDArray[np.int64], folds: Sequence[Split], plan: SearchPlan) -> tuple[Params, float]:
        penalties = plan.grid(*self.penalties)
        wrong = np.zeros(len(penalties))
        for train, test in folds:
            models = self.path(X[train], y[train], penalties)
            wrong += [(model.predict(X[test]) != y[test]).sum() for _, model in models]
        best = int(wrong.argmin())
        [(nu, _)] = self.path(X, y, penalties[best : best + 1])
        return {"C": penalties[best], "nu": nu}, float(wrong[best] / sum(len(test) for _, test in folds))

    def fit(self, X: F64, y: NDArray[np.int64], params: Params) -> Any:
        return self._fitted(X, y, params["nu"])

    def path(self, X: F64, y: NDArray[np.int64], penalties: Sequence[float]) -> list[tuple[float, Any]]:
        """Return nu and model of each C; give C ascending."""
        n = len(y)
        D, model = 1.0 / n, self._fitted(X, y, 1.0)
        found = []
        for penalty in penalties:
            for _ in range(_MOST_STEPS):
                value, slack = worth(model.committee_.margins(X, y), D)
                if (1.0 - _CLOSE) * penalty * value <= D or D == 1.0:
                    break
                # Newton's step: V is convex and decreases
                D = min((value + D * slack) / (slack + 1.0 / penalty), 1.0)
                model = self._fitted(X, y, min(1.0, 1.0 / (D * n)))
            found.append((min(1.0, 1.0 / (D * n)), model))
        return found

    def _fitted(self, X: F64, y: NDArray[np.int64], nu: float) -> Any:
        make = self.learner or partial(LPBoostClassifier, n_thresholds=STUMPS_PER_COLUMN, n_jobs=1)
        with warnings.catch_warnings():
            # if the classes are not separable, the soft margin approaches 0 as C grows
            warnings.filterwarnings("ignore", message="nu=.* is too small for these rows")
            return make(nu=nu).fit(X, y)


_CLOSE = 0.02  # C is met within 2 %; its values are a factor of 4.6 apart
_MOST_STEPS = 50


def worth(margins: F64, D: float) -> tuple[float, float]:
    r"""Return :math:`\max_\rho \rho - D \sum_i \max(0, \rho - m_i)` for D >= 1/n, and the sum at the maximum."""
    m = np.sort(margins)
    slack = np.arange(m.size) * m - np.append(0.0, np.cumsum(m)[:-1])
    best = int(np.argmax(m - D * slack))
    return float(m[best] - D * slack[best]), float(slack[best])


LEARNERS: dict[str, SearchedMethod] = {
    L1: QuadBoostSearch("l1", (-4, 0), None),
    L2: QuadBoostSearch("l2", (0, 3), (1, 5)),
    LINF: QuadBoostSearch("linf", (-4, -1), (0, 5)),
    VANILLA: QuadBoostSearch(None, None, (0, 3)),
    LPBOOST: LPBoostSearch((-3, 3)),
    ADABOOST: BestEdgeSearch((2, 6)),
    GINI: GrownSearch((2, 6)),
    ANEW_L2: QuadBoostSearch("l2", (0, 3), (1, 5), reweight="chosen"),
    ANEW_LINF: QuadBoostSearch("linf", (-4, -1), (0, 5), reweight="chosen"),
}
"""The document's methods with its grids, then ours."""


def search_cell(table: BinaryTable, name: str, repeat: int, seed: int, plan: SearchPlan) -> Cell:
    method = LEARNERS[name]
    train, test = draw_split(table.published, seed, repeat)
    X, y = prepared(table, train), table.y
    folds = stratified_folds((y[train] > 0).astype(np.intp), plan.folds, 1, seed + repeat)
    (params, cv_error), choose_seconds = timed(lambda: method.choose(X[train], y[train], folds, plan))
    model, fit_seconds = timed(lambda: method.fit(X[train], y[train], params))
    risk = float(np.mean((y[test] - model.decision_function(X[test])) ** 2)) if method.quadratic else None
    return {
        "params": params,
        "cv_error": cv_error,
        "right": packed(model.predict(X[test]) == y[test]),
        "risk": risk,
        "test_errors": method.test_errors((X[train], y[train]), (X[test], y[test]), plan),
        "columns": X.shape[1],
        "voters": model.committee_.n_voters,
        "choose_seconds": round(choose_seconds, 4),
        "fit_seconds": round(fit_seconds, 5),
    }
