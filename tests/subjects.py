"""Learners to check, tables to check them on, and what it means that two answers are the same."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.utils import get_tags

from committee import LeafReweighter, LeafReweighterRegressor, MarginReweighter
from committee.data.rows import scaled_weights
from committee.data.table_schema import TableSchema
from committee.learners.base.estimator import CommitteeEstimator

Array = NDArray[Any]


@dataclass(frozen=True)
class Subject:
    """A learner to check, and what it does not promise."""

    model: CommitteeEstimator
    """Its ``random_state`` is a number, if it has one."""
    integer_weights: bool = True
    """A row of weight k gives the same committee as k rows."""
    draws_columns: bool = False
    """The columns' order matters: some of them are drawn, or rows are drawn by their cells."""
    storable: bool = True
    """All voters are the library's own."""
    several_targets: bool = False
    """It is fitted on two targets, which follow from the one that a check gives."""
    in_pieces: bool = True
    """It takes rows that come in pieces."""
    tolerance: float = 1e-9
    """By how much probabilities, or predicted numbers, may differ where sums are formed in another order."""

    @property
    def predicts_numbers(self) -> bool:
        return is_regressor(self.model)

    @property
    def takes_missing(self) -> bool:
        return bool(get_tags(self.model).input_tags.allow_nan)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        return clone(self.model).set_params(**params).fit(X, self.target(y), sample_weight)

    def target(self, y: Any) -> Any:
        """What the learner is fitted on where a check gives y: y, or with a second target that depends on it alone."""
        if not self.several_targets:
            return y
        first = np.asarray(y, dtype=np.float64)
        return np.column_stack([first, 0.3 * np.cos(2.0 * first)])

    def numbers(self, n_classes: int = 3, n: int = 120, seed: int = 0) -> tuple[NDArray[np.float64], Array]:
        """`numbers`, with a target that suits the learner."""
        return noisy_scores(n, seed) if self.predicts_numbers else numbers(n_classes, n, seed)

    def answers(self, model: Any, X: Any) -> NDArray[np.float64]:
        """What a fitted model of this kind says: probabilities, or the numbers it predicts."""
        answers: NDArray[np.float64] = model.predict(X) if self.predicts_numbers else model.predict_proba(X)
        return answers


def numbers(n_classes: int = 3, n: int = 120, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """A matrix of continuous columns, and labels that lean on three of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    score = X[:, 0] + 0.7 * X[:, 1] * (X[:, 2] > 0) + 0.4 * rng.normal(size=n)
    edges = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return X, np.searchsorted(edges, score)


def noisy_scores(n: int = 120, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A matrix of continuous columns, and positive numbers that lean on three of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.exp(0.5 * X[:, 0] + 0.4 * X[:, 1] * (X[:, 2] > 0) + 0.2 * rng.normal(size=n))


def weights(n: int = 120, seed: int = 1) -> NDArray[np.float64]:
    return scaled_weights(np.random.default_rng(seed).exponential(size=n))


def everything(missing: bool, n: int = 120) -> tuple[dict[str, list[Any]], NDArray[np.int64]]:
    """Columns of numbers, text and booleans, with gaps or without."""
    rng = np.random.default_rng(2)
    size, colour, old = rng.normal(size=n), rng.choice(["red", "green", "blue"], n), rng.random(n) < 0.4
    y = ((size > 0.2) | (colour == "red") ^ (old & (size < -1))).astype(np.int64)
    columns: dict[str, list[Any]] = {"size": size.tolist(), "colour": colour.tolist(), "old": old.tolist()}
    columns["count"] = rng.integers(0, 9, n).tolist()
    if missing:
        for j, name in enumerate(("size", "colour", "old")):
            columns[name] = [None if i % 7 == j else value for i, value in enumerate(columns[name])]
    return columns, y


def assert_same_parts(ours: Any, theirs: Any, name: str = "committee_") -> None:
    """Every array of two committees, and of the learners among their voters, has the same bits."""
    assert type(ours) is type(theirs), name
    if isinstance(ours, CommitteeEstimator):
        assert_same_parts(ours.committee_, theirs.committee_, name)
    elif isinstance(ours, np.ndarray):
        assert ours.dtype == theirs.dtype, name
        assert_array_equal(ours, theirs, name)
    elif isinstance(ours, TableSchema):
        assert ours.categories == theirs.categories, name  # the names may be others
    elif is_dataclass(ours):
        for field in fields(ours):
            if field.init:
                assert_same_parts(getattr(ours, field.name), getattr(theirs, field.name), f"{name}.{field.name}")
    elif isinstance(ours, list | tuple):
        assert len(ours) == len(theirs), name
        for place, pair in enumerate(zip(ours, theirs, strict=True)):
            assert_same_parts(*pair, f"{name}[{place}]")


def assert_same_bits(model: Any, other: Any, X: Any) -> None:
    assert_same_parts(model, other)
    assert_array_equal(model.predict(X), other.predict(X))
    if not is_regressor(model):
        assert_array_equal(model.classes_, other.classes_)
        assert_array_equal(model.decision_function(X), other.decision_function(X))
        assert_array_equal(model.predict_proba(X), other.predict_proba(X))


def assert_same_answers(subject: Subject, model: Any, other: Any, X: Any, other_X: Any = None) -> None:
    """The same numbers but for rounding, and the same classes wherever these are not near a tie."""
    p, q = subject.answers(model, X), subject.answers(other, X if other_X is None else other_X)
    assert_allclose(p, q, rtol=0, atol=subject.tolerance)
    if subject.predicts_numbers:
        return
    runner_up, best = np.sort(p, axis=1)[:, -2:].T
    clear = best - runner_up > 2 * subject.tolerance
    assert clear.any()
    ours, theirs = model.predict(X), other.predict(X if other_X is None else other_X)
    assert_array_equal(ours[clear], theirs[clear])


class _TrainsFirst:
    """Trains a clone of its ensemble on the rows that it is given, and goes on from there: checks bring their own rows.

    The models themselves take what is trained already, and so cannot be fitted on rows of other columns.
    """

    _model: ClassVar[Any]

    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        ensemble = clone(self.ensemble)
        weights = () if sample_weight is None else (sample_weight,)
        ensemble.fit(X, y, *weights)
        own = {name: getattr(self, name) for name in self._model.declared_parameters}
        inner = self._model(**(own | {"ensemble": ensemble}))
        inner.fit(X, y, *weights)
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        vars(self).update({name: value for name, value in vars(inner).items() if name not in own})
        return self


class TrainedFirst(_TrainsFirst, MarginReweighter):
    """A re-weighter of voters."""

    _model = MarginReweighter


class LeavesTrainedFirst(_TrainsFirst, LeafReweighter):
    """A re-weighter of leaves."""

    _model = LeafReweighter


class NumbersTrainedFirst(_TrainsFirst, LeafReweighterRegressor):
    """A re-weighter of leaves of numbers."""

    _model = LeafReweighterRegressor


class Callback:
    def setup(self, estimator: Any, context: Any) -> None:
        pass

    def teardown(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool | None:
        pass
