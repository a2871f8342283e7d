"""One small learner that stands for a committee of ensembles, and what is lost by it."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from committee.data.extras import needed
from committee.data.number_types import F64, Index
from committee.data.parallel import n_threads
from committee.data.rows import row_weights, target_vector
from committee.data.sparse import is_sparse
from committee.learners.blend.students import Student, students
from committee.learners.blend.swapped_rows import swapped_rows
from committee.objectives.losses import Squared

if TYPE_CHECKING:
    import polars as pl

N_FOLDS = 4
MOST_ROWS = 20_000
"""Rows that a student is trained on, without those made of them; of more so many are drawn."""
ROWS_WITH_COPIES = 6000
"""Of each row so many are made that there are about as many, but no fewer than 3 and no more than 20."""
JUDGING_COPIES = 2
LEAST_SHARE = 0.01
"""A row is no row of a class that has less than this probability."""
LEAST_LOGGED = 1e-15


@dataclass(frozen=True, eq=False)
class Distilled:
    """A small learner trained on the answers of a committee of ensembles, and what is lost by it.

    Attributes
    ----------
    model : fitted learner
        One of the library's others, trained on all rows given: it predicts, is explained and saved as any of them.
    student : str
        Name of its shape.
    nodes, nodes_before : int
        Tree nodes, and those of the committee.
    agreement : float
        Share of rows for which both elect the same class; of numbers the R2 of its predictions for the committee's.
    loss, loss_before : float
        Mean log loss, or squared error, and the committee's.
    score, score_before : float
        Accuracy or R2, and the committee's.
    measured : bool
        Whether these figures are of validation rows; else they are estimates, see `distil`.
    tried : dict of str to float
        By how much the loss of each shape was estimated to rise.
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
        """The committee and the small learner side by side."""
        needed("polars", "the table of a distilled model")
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
        return str(self)

    def __str__(self) -> str:
        by = "measured on validation rows" if self.measured else "estimated"
        nodes = f"{self.nodes} node{'' if self.nodes == 1 else 's'} in place of {self.nodes_before}"
        return (
            f"{self.student}: {nodes}; {by}: agreement {self.agreement:.3f}, loss {self.loss:.4g} in place of "
            f"{self.loss_before:.4g}, score {self.score:.3f} in place of {self.score_before:.3f}"
        )


@dataclass(frozen=True, eq=False)
class Taught:
    """What a student is trained on, made of so many rows."""

    X: F64
    target: NDArray[Any]
    weights: F64
    n_rows: int


@dataclass(frozen=True, eq=False)
class Lesson(ABC):
    """Encoded rows, and how a student is trained on what the committee says of them."""

    blend: Any
    X: F64
    weights: F64
    """Mean 1."""
    seed: int

    @property
    @abstractmethod
    def n_classes(self) -> int | None:
        """Number of classes; None of numbers."""

    @abstractmethod
    def asked(self, X: F64) -> F64:
        """Return the committee's answers to encoded rows: probabilities ``(n, K)``, or numbers ``(n, 1)``."""

    @abstractmethod
    def answered(self, student: Any, X: F64) -> F64:
        """Return a student's answers."""

    @abstractmethod
    def targets(self, X: F64, answers: F64, weights: F64) -> tuple[F64, NDArray[Any], F64]:
        """Rows, targets and weights that a learner is trained on, so that it answers the like."""

    @abstractmethod
    def rises(self, asked: F64, answered: F64) -> tuple[F64, F64]:
        """By how much loss and error of each row rise if the committee's answers are what is to be expected."""

    @abstractmethod
    def agreement(self, asked: F64, answered: F64, weights: F64) -> float:
        """See `Distilled`."""

    @abstractmethod
    def estimate(self, rise: float) -> float:
        """Score of a student, by the committee's own estimate and the rise of its error."""

    @abstractmethod
    def measured(self, answers: F64, y: ArrayLike) -> tuple[float, float]:
        """Mean loss and score of answers to rows whose classes or numbers are known."""

    def near(self, index: Index, copies: int) -> F64:
        """Rows made of those of an index."""
        levels = self.blend.table_.n_levels
        return swapped_rows(self.X[index], levels, copies, np.random.RandomState(self.seed))

    def taught(self, index: Index) -> Taught:
        """Some rows and those made of them, as every student is trained on them."""
        copies = min(20, max(3, ROWS_WITH_COPIES // len(index))) if len(index) < MOST_ROWS // 2 else 1
        X = np.concatenate([self.X[index], self.near(index, copies)])
        weights = np.tile(self.weights[index], len(X) // len(index))
        return Taught(*self.targets(X, self.asked(X), weights), len(index))

    def trained(self, student: Student, most_nodes: float, taught: Taught) -> Any:
        """Train a student; None if it cannot be small enough."""
        learner = student.made(self.n_classes, most_nodes, taught.n_rows)
        if learner is None:
            return None
        own: dict[str, Any] = {"random_state": self.seed, "n_jobs": self.blend.n_jobs}
        own["categorical_features"] = np.flatnonzero(self.blend.table_.n_levels).tolist() or None
        learner.set_params(**{name: value for name, value in own.items() if name in learner.declared_parameters})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as of columns that do not vary
            learner.fit(taught.X, taught.target, taught.weights)
        return learner if learner.committee_.n_nodes <= most_nodes else None


@dataclass(frozen=True, eq=False)
class OfClasses(Lesson):
    """A lesson in probabilities: a row is one of each class, with the probability as its weight."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.blend.classes_)

    def asked(self, X: F64) -> F64:
        """See `Lesson`."""
        committee = replace(self.blend.committee_, table=None)
        return np.asarray(committee.predict_proba(X, n_threads=n_threads(self.blend.n_jobs)))

    def answered(self, student: Any, X: F64) -> F64:
        """See `Lesson`."""
        return np.asarray(student.predict_proba(X))

    def targets(self, X: F64, answers: F64, weights: F64) -> tuple[F64, NDArray[Any], F64]:
        """See `Lesson`; every class has one row at least."""
        share = np.maximum(answers, 1e-9)
        counted = answers >= LEAST_SHARE
        counted[answers.argmax(axis=0), np.arange(self.n_classes)] = True
        row, label = np.nonzero(counted)
        return X[row], self.blend.classes_[label], (share * weights[:, None])[row, label]

    def rises(self, asked: F64, answered: F64) -> tuple[F64, F64]:
        """See `Lesson`: the divergence, and the probability that is given away."""
        p, q = (np.maximum(each, LEAST_LOGGED) for each in (asked, answered))
        elected = asked[np.arange(len(asked)), answered.argmax(axis=1)]
        return (asked * np.log(p / q)).sum(axis=1), asked.max(axis=1) - elected

    def agreement(self, asked: F64, answered: F64, weights: F64) -> float:
        """See `Lesson`."""
        return float(np.average(asked.argmax(axis=1) == answered.argmax(axis=1), weights=weights))

    def estimate(self, rise: float) -> float:
        """See `Lesson`: the accuracy."""
        return float(self.blend.oof_score_) - rise

    def measured(self, answers: F64, y: ArrayLike) -> tuple[float, float]:
        """See `Lesson`: log loss and accuracy."""
        truth = self.blend.committee_.class_indices(y)
        losses = -np.log(np.maximum(answers[np.arange(len(answers)), truth], LEAST_LOGGED))
        return float(losses.mean()), float((answers.argmax(axis=1) == truth).mean())


@dataclass(frozen=True, eq=False)
class OfNumbers(Lesson):
    """A lesson in numbers."""

    @property
    def n_classes(self) -> None:
        """None."""
        return None

    def asked(self, X: F64) -> F64:
        """See `Lesson`."""
        committee = replace(self.blend.committee_, table=None)
        return np.asarray(committee.predict(X, n_threads=n_threads(self.blend.n_jobs)), dtype=np.float64)[:, None]

    def answered(self, student: Any, X: F64) -> F64:
        """See `Lesson`."""
        return np.asarray(student.predict(X), dtype=np.float64)[:, None]

    def targets(self, X: F64, answers: F64, weights: F64) -> tuple[F64, NDArray[Any], F64]:
        """See `Lesson`."""
        return X, answers[:, 0], weights

    def rises(self, asked: F64, answered: F64) -> tuple[F64, F64]:
        """See `Lesson`: the squared difference, as loss and as error."""
        square = (asked[:, 0] - answered[:, 0]) ** 2
        return square, square

    def agreement(self, asked: F64, answered: F64, weights: F64) -> float:
        """See `Lesson`."""
        spread = np.average((asked - np.average(asked, weights=weights, axis=0)) ** 2, weights=weights, axis=0)
        error = np.average((asked - answered) ** 2, weights=weights, axis=0)
        return float(1.0 - error[0] / spread[0]) if spread[0] > 0.0 else float(error[0] == 0.0)

    def estimate(self, rise: float) -> float:
        """See `Lesson`: R2, which falls by the squared error over the variance that the committee's own tells."""
        loss, score = float(self.blend.oof_loss_), float(self.blend.oof_score_)
        return score - rise * (1.0 - score) / loss if loss > 0.0 else score

    def measured(self, answers: F64, y: ArrayLike) -> tuple[float, float]:
        """See `Lesson`: squared error and R2."""
        truth = target_vector(y)
        error, spread = float(((answers[:, 0] - truth) ** 2).mean()), float(truth.var())
        return error, 1.0 - error / spread if spread > 0.0 else float("nan")


@dataclass(frozen=True, eq=False)
class Trials:
    """What the committee and the students say of rows made of those that a student was not trained on."""

    asked: F64
    answers: dict[str, F64]
    """Of each student that is small enough."""
    weights: F64

    @classmethod
    def of(cls, lesson: Lesson, most_nodes: float, random: np.random.RandomState) -> Trials:
        """Train every student on the others of each of four parts of the rows."""
        part = random.permutation(len(lesson.X)) % N_FOLDS
        folds = [np.flatnonzero(part == k) for k in range(N_FOLDS)]
        near = [lesson.near(fold, JUDGING_COPIES) for fold in folds]
        found: dict[str, list[F64]] = {name: [] for name in students(lesson.n_classes)}
        for k, rows in enumerate(near):
            taught = lesson.taught(np.flatnonzero(part != k))
            for name, student in students(lesson.n_classes).items():
                model = lesson.trained(student, most_nodes, taught)
                if model is not None:
                    found[name].append(lesson.answered(model, rows))
        answers = {name: np.concatenate(each) for name, each in found.items() if len(each) == N_FOLDS}
        asked = np.concatenate([lesson.asked(rows) for rows in near])
        return cls(asked, answers, np.concatenate([np.tile(lesson.weights[fold], JUDGING_COPIES) for fold in folds]))

    def rises(self, lesson: Lesson, name: str) -> tuple[float, float]:
        """By how much a student's mean loss and error are above the committee's."""
        loss, error = lesson.rises(self.asked, self.answers[name])
        return float(np.average(loss, weights=self.weights)), float(np.average(error, weights=self.weights))


def distilled(
    blend: Any, X: Any, sample_weight: ArrayLike | None, validation: tuple[Any, Any], most_nodes: float
) -> Distilled:
    """Return the small learner; see `committee.learners.blend.reducible.ReducibleBlend.distil`."""
    X_val, y_val = validation
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val go together; one of them is missing.")
    if not isinstance(blend.number_loss, (NoneType, Squared)):
        raise ValueError(
            f"loss={blend.loss!r}: what a distilled learner loses is known of squared error and of classes alone; "
            "train a small GradientBoostingRegressor on the loss, or on this committee's predictions."
        )
    nodes_before = int(blend.committee_.n_nodes)
    lesson, random = _lesson(blend, X, sample_weight)
    trials = Trials.of(lesson, most_nodes, random)
    tried = {name: trials.rises(lesson, name)[0] for name in trials.answers}
    taught = lesson.taught(np.arange(len(lesson.X)))
    for name in sorted(tried, key=tried.__getitem__):
        model = lesson.trained(students(lesson.n_classes)[name], most_nodes, taught)
        if model is not None:
            break
    else:
        raise ValueError(
            f"max_nodes allows {most_nodes:.4g} of the committee's {nodes_before} nodes, and no learner "
            "is so small; allow more, such as max_nodes=0.1."
        )
    _give_columns(model, blend)
    if X_val is None:
        agreement = lesson.agreement(trials.asked, trials.answers[name], trials.weights)
        loss, error = trials.rises(lesson, name)
        old = float(blend.oof_loss_), float(blend.oof_score_)
        new = old[0] + loss, lesson.estimate(error)
    else:
        check_consistent_length(X_val, y_val)
        if is_sparse(X_val):
            X_val = X_val.toarray()
        before = lesson.asked(blend.committee_.encode(blend.validate_rows(X_val)))
        after = lesson.answered(model, X_val)
        agreement = lesson.agreement(before, after, np.ones(len(before)))
        old, new = lesson.measured(before, y_val), lesson.measured(after, y_val)
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


def _lesson(blend: Any, X: Any, sample_weight: ArrayLike | None) -> tuple[Lesson, np.random.RandomState]:
    """Encode rows; of many some are drawn."""
    random = np.random.RandomState(check_random_state(blend.random_state).randint(2**31 - 1))
    if is_sparse(X):
        raise ValueError("X is sparse, and rows are made of dense ones; give X.toarray(), or that of some of the rows.")
    matrix = blend.committee_.encode(blend.validate_rows(X))
    weights = np.ones(len(matrix)) if sample_weight is None else row_weights(sample_weight, matrix)
    chosen = np.flatnonzero(weights > 0.0)
    if len(chosen) < 2 * N_FOLDS:
        raise ValueError(
            f"X has {len(chosen)} rows of weight, too few to be judged by rows that are not trained on; give at least "
            f"{2 * N_FOLDS}. They need no labels."
        )
    if len(chosen) > MOST_ROWS:
        chosen = np.sort(random.choice(chosen, MOST_ROWS, replace=False))
    kind = OfClasses if hasattr(blend.committee_, "classes") else OfNumbers
    seed = int(random.randint(2**31 - 1))
    return kind(blend, np.ascontiguousarray(matrix[chosen]), weights[chosen] / weights[chosen].mean(), seed), random


def _give_columns(model: Any, blend: Any) -> None:
    """Make a learner that was trained on encoded rows take the tables that the committee takes."""
    model.table_ = model.table_.on_codes_of(blend.table_)
    model.committee_ = replace(model.committee_, table=model.table_)
    if hasattr(blend, "feature_names_in_"):
        model.feature_names_in_ = blend.feature_names_in_
