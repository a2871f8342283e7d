"""Distillation of a committee of ensembles to one small learner, and the estimated loss of accuracy."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_consistent_length

from committee.data.categories import MAX_SUBSET_CATEGORIES
from committee.data.columns import warn_of_other_order
from committee.data.labels import target_vector
from committee.data.matrices import is_sparse
from committee.data.number_types import F64, Index
from committee.data.packages import require_package
from committee.data.parallel import n_threads
from committee.data.rows import row_weights
from committee.learners.base.row_sampling import fit_generator
from committee.learners.gradient.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from committee.learners.trees.model_tree import ProbitModelTreeClassifier
from committee.learners.trees.probit_boost import LogitBoostClassifier
from committee.objectives.losses import Squared

if TYPE_CHECKING:
    import polars as pl

N_FOLDS = 4
MOST_ROUNDS = 300
MOST_ROWS = 20_000
"""Most rows that a student is trained on, without copies."""
ROWS_WITH_COPIES = 6000
"""Wanted copies of all rows together."""
VALIDATION_COPIES = 2
SWAPPED = 0.5
"""Probability that a cell of a copy is the nearest row's."""
LEAST_SHARE = 0.01
"""Smallest predicted probability of a class with which a row is a training row of that class."""
LEAST_LOGGED = 1e-15


@dataclass(frozen=True, eq=False)
class Distilled:
    """A small learner trained on the predictions of a committee of ensembles, and the estimated loss of accuracy.

    Attributes
    ----------
    model : fitted learner
        A single learner of the library, trained on the given rows, at most 20,000.
    student : str
        Name of the learner's shape, such as "small_trees".
    nodes, nodes_before : int
        Tree nodes of the learner and of the committee.
    agreement : float
        Share of rows for which both elect the same class; for regression, the R2 of the learner's predictions of the
        committee's.
    loss, loss_before : float
        Mean log loss, or squared error, of the learner and of the committee.
    score, score_before : float
        Accuracy or R2 of the learner and of the committee.
    measured : bool
        Whether these figures are of validation rows; else they are estimates, see `distil`.
    tried : dict of str to float
        Estimated increase of the loss with each shape that is small enough.
    """

    model: Any
    student: str
    nodes: int
    nodes_before: int
    agreement: float
    loss: float
    loss_before: float
    score: float
    score_before: float
    measured: bool
    tried: dict[str, float]

    @property
    def table(self) -> pl.DataFrame:
        """Nodes, loss, score and agreement of the committee and of the small learner, a row each."""
        require_package("polars", "the table of a distilled model")
        import polars as pl

        return pl.DataFrame(
            {
                "model": ["committee", self.student],
                "nodes": [self.nodes_before, self.nodes],
                "loss": [self.loss_before, self.loss],
                "score": [self.score_before, self.score],
                "agreement": [1.0, self.agreement],
            }
        )

    def __repr__(self) -> str:
        by = "measured on validation rows" if self.measured else "estimated"
        nodes = f"{self.nodes} node{'' if self.nodes == 1 else 's'} in place of {self.nodes_before}"
        return (
            f"{self.student}: {nodes}; {by}: agreement {self.agreement:.3f}, loss {self.loss:.4g} in place of "
            f"{self.loss_before:.4g}, score {self.score:.3f} in place of {self.score_before:.3f}"
        )


# --- students ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Boosting:
    """Gradient boosting of trees of at most `leaves` leaves; `total` is the wanted sum of learning rates."""

    leaves: int
    total: float
    leaf: str = "constant"
    shared: bool = False

    def learner(self, n_classes: int | None, most_nodes: float, n: int) -> Any:
        of_round = 1 if self.shared or n_classes is None or n_classes == 2 else n_classes
        leaves = min(self.leaves, int((most_nodes / of_round + 1.0) // 2.0))
        if leaves < 2:
            return None
        rounds = min(MOST_ROUNDS, int(most_nodes / (of_round * (2 * leaves - 1))))
        settings: dict[str, Any] = {
            "n_estimators": rounds,
            "max_leaf_nodes": leaves,
            "learning_rate": min(1.0, max(0.1, self.total / rounds)),
            "leaf": self.leaf,
            "leaf_l2": 1.0,
            "subsample": 1.0,
            "max_features": None,
            "extra_trees": False,  # which few large steps do not average
        }
        if n_classes is None:
            return GradientBoostingRegressor(**settings)
        return GradientBoostingClassifier(**settings, tree="shared" if self.shared else "per_class")


@dataclass(frozen=True)
class ModelTree:
    leaves: int

    def learner(self, n_classes: int | None, most_nodes: float, n: int) -> Any:
        return ProbitModelTreeClassifier(
            60,
            link="logit",
            max_depth=None,
            max_leaf_nodes=max(2, min(self.leaves, int((most_nodes + 1.0) // 2.0))),
            min_samples_leaf=max(5, n // 100),
            min_impurity_decrease=0.0,
        )


@dataclass(frozen=True)
class Lines:
    def learner(self, n_classes: int | None, most_nodes: float, n: int) -> Any:
        return LogitBoostClassifier()


Student = Boosting | ModelTree | Lines
STUDENTS: dict[str, Student] = {
    "small_trees": Boosting(4, 8.0),
    "trees": Boosting(8, 8.0),
    "large_trees": Boosting(16, 8.0),
    "larger_trees": Boosting(32, 6.0),
    "trees_with_lines": Boosting(8, 8.0, "linear"),
    "large_trees_with_lines": Boosting(16, 6.0, "linear"),
    "shared_trees": Boosting(8, 8.0, shared=True),
    "large_shared_trees": Boosting(16, 8.0, shared=True),
    "model_tree": ModelTree(8),
    "large_model_tree": ModelTree(32),
    "lines": Lines(),
}


def students(n_classes: int | None) -> dict[str, Student]:
    several = n_classes is not None and n_classes > 2
    return {
        name: one
        for name, one in STUDENTS.items()
        if (several or not one.shared if isinstance(one, Boosting) else n_classes is not None)
    }


# --- rows -------------------------------------------------------------------------------------------------------------


def munged_rows(X: F64, n_levels: NDArray[np.int32], copies: int, random: np.random.RandomState) -> F64:
    """Copies of encoded rows with about half of their cells from the nearest other row (MUNGE), ``(copies * n, p)``.

    `n_levels` ``(p,)`` counts the categories of each column, 0 for numbers. C. Bucila, R. Caruana, A. Niculescu-Mizil
    (2006). Model compression. KDD.
    """
    n, p = X.shape
    if n < 2 or not copies:
        return np.empty((0, p))
    points = _standardised(X, n_levels)
    near = NearestNeighbors(n_neighbors=2).fit(points).kneighbors(points, return_distance=False)
    other = np.where(near[:, 0] == np.arange(n), near[:, 1], near[:, 0])  # of equal rows either may come first
    return np.concatenate([np.where(random.random_sample((n, p)) < SWAPPED, X[other], X) for _ in range(copies)])


def _standardised(X: F64, n_levels: NDArray[np.int32]) -> F64:
    # numbers in units of their standard deviation, categories a unit apart, missing values in the middle
    columns = []
    for column, levels in zip(X.T, n_levels.tolist(), strict=True):
        if levels > MAX_SUBSET_CATEGORIES:
            continue  # hardly two rows have the same
        if levels:
            columns += [(column == level) * np.sqrt(0.5) for level in range(levels)]
        elif np.isfinite(column).any():
            middle, spread = np.nanmedian(column), np.nanstd(column)
            if 0.0 < spread < np.inf:
                columns.append(np.where(np.isnan(column), 0.0, (column - middle) / spread))
    return np.column_stack(columns) if columns else np.zeros((len(X), 1))


# --- distillation -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StudentRows:
    X: F64
    target: NDArray[Any]
    weights: F64
    n_rows: int


@dataclass(frozen=True, eq=False)
class Distillation:
    """Training of students on the numbers that `blend` predicts; `weights` have the mean 1."""

    blend: Any
    X: F64
    weights: F64
    seed: int

    @property
    def n_classes(self) -> int | None:
        return None

    def of_committee(self, X: F64) -> F64:
        committee = replace(self.blend.committee_, table=None)
        return np.asarray(committee.predict(X, n_threads=n_threads(self.blend.n_jobs)), dtype=np.float64)[:, None]

    def of_student(self, student: Any, X: F64) -> F64:
        return np.asarray(student.predict(X), dtype=np.float64)[:, None]

    def targets(self, X: F64, predictions: F64, weights: F64) -> tuple[F64, NDArray[Any], F64]:
        return X, predictions[:, 0], weights

    def increases(self, committee: F64, student: F64) -> tuple[F64, F64]:
        """Expected increases ``(n,)`` of the rows' loss and error by the student, if the committee is right."""
        square = (committee[:, 0] - student[:, 0]) ** 2
        return square, square

    def agreement(self, committee: F64, student: F64, weights: F64) -> float:
        mean = np.average(committee, weights=weights, axis=0)
        spread = np.average((committee - mean) ** 2, weights=weights, axis=0)
        error = np.average((committee - student) ** 2, weights=weights, axis=0)
        return float(1.0 - error[0] / spread[0]) if spread[0] > 0.0 else float(error[0] == 0.0)

    def estimate(self, increase: float) -> float:
        # R2 falls by the squared error over the variance, which is loss / (1 - score)
        loss, score = float(self.blend.oof_loss_), float(self.blend.oof_score_)
        return score - increase * (1.0 - score) / loss if loss > 0.0 else score

    def measured(self, predictions: F64, y: ArrayLike) -> tuple[float, float]:
        truth = target_vector(y)
        error, spread = float(((predictions[:, 0] - truth) ** 2).mean()), float(truth.var())
        return error, 1.0 - error / spread if spread > 0.0 else float("nan")

    def munged(self, index: Index, copies: int) -> F64:
        levels = self.blend.table_.n_levels
        return munged_rows(self.X[index], levels, copies, np.random.RandomState(self.seed))

    def student_rows(self, index: Index) -> StudentRows:
        copies = min(20, max(3, ROWS_WITH_COPIES // len(index))) if len(index) < MOST_ROWS // 2 else 1
        X = np.concatenate([self.X[index], self.munged(index, copies)])
        weights = np.tile(self.weights[index], len(X) // len(index))
        return StudentRows(*self.targets(X, self.of_committee(X), weights), len(index))

    def trained(self, student: Student, most_nodes: float, rows: StudentRows) -> Any:
        learner = student.learner(self.n_classes, most_nodes, rows.n_rows)
        if learner is None:
            return None
        own: dict[str, Any] = {"random_state": self.seed, "n_jobs": self.blend.n_jobs}
        own["categorical_features"] = np.flatnonzero(self.blend.table_.n_levels).tolist() or None
        learner.set_params(**{name: value for name, value in own.items() if name in learner.declared_parameters})
        with warnings.catch_warnings(action="ignore"):  # such as of columns that do not vary
            learner.fit(rows.X, rows.target, rows.weights)
        return learner if learner.committee_.n_nodes <= most_nodes else None


@dataclass(frozen=True, eq=False)
class ClassDistillation(Distillation):
    """Distillation of probabilities: each row is a training row of its likely classes, weighted by their shares."""

    @property
    def n_classes(self) -> int:
        return len(self.blend.classes_)

    def of_committee(self, X: F64) -> F64:
        committee = replace(self.blend.committee_, table=None)
        return np.asarray(committee.predict_proba(X, n_threads=n_threads(self.blend.n_jobs)))

    def of_student(self, student: Any, X: F64) -> F64:
        return np.asarray(student.predict_proba(X))

    def targets(self, X: F64, predictions: F64, weights: F64) -> tuple[F64, NDArray[Any], F64]:
        share = np.maximum(predictions, 1e-9)
        counted = predictions >= LEAST_SHARE
        counted[predictions.argmax(axis=0), np.arange(self.n_classes)] = True  # at least one row of every class
        row, label = np.nonzero(counted)
        return X[row], self.blend.classes_[label], (share * weights[:, None])[row, label]

    def increases(self, committee: F64, student: F64) -> tuple[F64, F64]:
        # the Kullback-Leibler divergence, and the lost probability of the elected class
        p, q = (np.maximum(each, LEAST_LOGGED) for each in (committee, student))
        elected = committee[np.arange(len(committee)), student.argmax(axis=1)]
        return (committee * np.log(p / q)).sum(axis=1), committee.max(axis=1) - elected

    def agreement(self, committee: F64, student: F64, weights: F64) -> float:
        return float(np.average(committee.argmax(axis=1) == student.argmax(axis=1), weights=weights))

    def estimate(self, increase: float) -> float:
        return float(self.blend.oof_score_) - increase

    def measured(self, predictions: F64, y: ArrayLike) -> tuple[float, float]:
        truth = self.blend.committee_.class_indices(y)
        losses = -np.log(np.maximum(predictions[np.arange(len(predictions)), truth], LEAST_LOGGED))
        return float(losses.mean()), float((predictions.argmax(axis=1) == truth).mean())


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Predictions of the committee and of the small enough students for munged copies of held-out rows."""

    committee: F64
    students: dict[str, F64]
    weights: F64

    @classmethod
    def of(cls, work: Distillation, most_nodes: float, random: np.random.RandomState) -> CrossFit:
        part = random.permutation(len(work.X)) % N_FOLDS
        folds = [np.flatnonzero(part == k) for k in range(N_FOLDS)]
        copies = [work.munged(fold, VALIDATION_COPIES) for fold in folds]
        found: dict[str, list[F64]] = {name: [] for name in students(work.n_classes)}
        for k, X in enumerate(copies):
            rows = work.student_rows(np.flatnonzero(part != k))
            for name, student in students(work.n_classes).items():
                model = work.trained(student, most_nodes, rows)
                if model is not None:
                    found[name].append(work.of_student(model, X))
        predictions = {name: np.concatenate(each) for name, each in found.items() if len(each) == N_FOLDS}
        committee = np.concatenate([work.of_committee(X) for X in copies])
        weights = np.concatenate([np.tile(work.weights[fold], VALIDATION_COPIES) for fold in folds])
        return cls(committee, predictions, weights)

    def increases(self, work: Distillation, name: str) -> tuple[float, float]:
        loss, error = work.increases(self.committee, self.students[name])
        return float(np.average(loss, weights=self.weights)), float(np.average(error, weights=self.weights))


def distil(blend: Any, X: Any, sample_weight: ArrayLike | None, X_val: Any, y_val: Any, most_nodes: float) -> Distilled:
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val go together; one of them is missing.")
    if not isinstance(blend.number_loss, (NoneType, Squared)):
        raise ValueError(
            f"loss={blend.loss!r}: distil estimates what is lost for squared error and for classes alone; "
            "train a small GradientBoostingRegressor on the loss, or on this committee's predictions."
        )
    nodes_before = int(blend.committee_.n_nodes)
    work, random = _distillation(blend, X, sample_weight)
    fits = CrossFit.of(work, most_nodes, random)
    tried = {name: fits.increases(work, name)[0] for name in fits.students}
    rows = work.student_rows(np.arange(len(work.X)))
    for name in sorted(tried, key=tried.__getitem__):
        model = work.trained(students(work.n_classes)[name], most_nodes, rows)
        if model is not None:
            break
    else:
        raise ValueError(
            f"max_nodes allows {most_nodes:.4g} of the committee's {nodes_before} nodes, and no learner "
            "is so small; allow more, such as max_nodes=0.1."
        )
    model.table_ = model.table_.decode_categories(blend.table_)  # it was trained on encoded rows
    model.committee_ = replace(model.committee_, table=model.table_)
    model.n_features_in_ = blend.n_features_in_
    if hasattr(blend, "feature_names_in_"):
        model.feature_names_in_ = blend.feature_names_in_
    if X_val is None:
        agreement = work.agreement(fits.committee, fits.students[name], fits.weights)
        loss, error = fits.increases(work, name)
        old = float(blend.oof_loss_), float(blend.oof_score_)
        new = old[0] + loss, work.estimate(error)
    else:
        check_consistent_length(X_val, y_val)
        warn_of_other_order(X_val, "X_val", y_val=y_val)
        if is_sparse(X_val):
            X_val = X_val.toarray()
        before = work.of_committee(blend.committee_.encode(blend.validate_rows(X_val)))
        after = work.of_student(model, X_val)
        agreement = work.agreement(before, after, np.ones(len(before)))
        old, new = work.measured(before, y_val), work.measured(after, y_val)
    return Distilled(
        model,
        name,
        int(model.committee_.n_nodes),
        nodes_before,
        agreement,
        loss=new[0],
        loss_before=old[0],
        score=new[1],
        score_before=old[1],
        measured=X_val is not None,
        tried=tried,
    )


def _distillation(blend: Any, X: Any, sample_weight: ArrayLike | None) -> tuple[Distillation, np.random.RandomState]:
    if is_sparse(X):
        raise ValueError("X is sparse, and distil needs dense rows; give X.toarray(), or that of some of the rows.")
    warn_of_other_order(X, sample_weight=sample_weight)
    matrix = blend.committee_.encode(blend.validate_rows(X))
    weights = np.ones(len(matrix)) if sample_weight is None else row_weights(sample_weight, matrix)
    random = np.random.RandomState(fit_generator(blend.random_state, None, weights).randint(2**31 - 1))
    chosen = np.flatnonzero(weights > 0.0)
    if len(chosen) < 2 * N_FOLDS:
        raise ValueError(
            f"X has {len(chosen)} rows of weight, too few for held-out rows; give at least {2 * N_FOLDS}. They need no "
            "labels."
        )
    if len(chosen) > MOST_ROWS:
        chosen = np.sort(random.choice(chosen, MOST_ROWS, replace=False))
    kind = ClassDistillation if hasattr(blend.committee_, "classes") else Distillation
    seed = int(random.randint(2**31 - 1))
    return kind(blend, np.ascontiguousarray(matrix[chosen]), weights[chosen] / weights[chosen].mean(), seed), random
