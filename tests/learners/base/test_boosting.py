"""The loop of all boosters, on a toy: rounds, early stopping, callbacks, and a fit that fails."""

from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone, is_classifier

from committee import (
    AdaBoostClassifier,
    GradientBoostingRegressor,
    RegressionCommittee,
    SubaggingClassifier,
    TreeRegressor,
)
from committee.data.rows import TargetRows
from committee.learners.base.boosting import Boosting
from committee.learners.base.early_stopping import AddedVotes, EarlyStopping
from committee.learners.base.estimator import BaseRegressor
from committee.vote.links.mean import Identity
from committee.voters.forest import Forest


def coarse(seed: int = 0, n: int = 400) -> tuple[Any, Any]:
    X = np.random.default_rng(seed).normal(size=(n, 3)).round(1)
    return X, X[:, 0] + np.arange(n) / 1e6  # no two targets are equal


# --- early stopping ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("losses", "patience", "ended", "best"),
    [
        ([3, 2, 2, 2, 2], 2, 4, 2),  # a tie is no improvement, and the first of the best counts
        ([3, 2, 3, 1, 3, 3], 2, 6, 4),
        ([3, 4, 5], 5, None, 1),
        ([1, 2], 1, 2, 1),
    ],
)
def test_patience(losses, patience, ended, best):
    stopping = EarlyStopping(lambda t: losses[t - 1], patience)
    stopped = [t for t in range(1, len(losses) + 1) if stopping.follow(t)]
    assert stopped[:1] == ([] if ended is None else [ended])
    assert stopping.best == best
    assert stopping.losses == losses


def test_several_rounds_at_once_are_followed_one_by_one():
    calls: list[int] = []

    def loss(t: int) -> float:
        calls.append(t)
        return abs(t - 2.0)

    stopping = EarlyStopping(loss, patience=3)
    assert not stopping.follow(0)
    assert stopping.follow(5) and stopping.best == 2
    assert calls == [1, 2, 3, 4, 5]


def test_the_loss_before_any_round_may_count():
    losses = [1.0, 2.0, 3.0, 4.0]
    stopping = EarlyStopping(losses.__getitem__, patience=2, first=0)
    assert not stopping.follow(0) and stopping.losses == [1.0]
    assert not stopping.follow(2) and stopping.follow(3)
    assert stopping.best == 1 and stopping.losses == losses  # a committee needs a voter


def test_votes_add_up():
    loss = AddedVotes(lambda t: np.full((2, 1), float(t)), lambda F: float(F.sum()))
    assert [loss(t) for t in (1, 2, 3)] == [2.0, 6.0, 12.0]
    start = np.ones((2, 1))
    assert AddedVotes(lambda t: np.ones((2, 1)), lambda F: float(F.sum()), start)(1) == 4.0


# --- a booster of its own ------------------------------------------------------------------------------------------


class ResidualRun:
    """Stumps on residuals, half of each."""

    n_rounds = 0

    def __init__(self, rows: TargetRows, ends_after: int) -> None:
        self.rows, self.ends_after = rows, ends_after
        self.residual = rows.target.copy()
        self.forests: list[Forest] = []

    def has_next(self) -> bool:
        return self.n_rounds < self.ends_after

    def advance(self) -> None:
        self.n_rounds += 1
        if self.n_rounds == 7:
            raise ArithmeticError("the seventh round fails")
        tree = TreeRegressor(max_depth=1).fit(self.rows.X, self.residual, self.rows.weights)
        self.residual -= 0.5 * tree.predict(self.rows.X)
        self.forests.append(tree.committee_.voters)  # type: ignore[arg-type]


class ResidualBoosting(Boosting, BaseRegressor):
    """All that a new booster has to say."""

    stored_attributes: ClassVar[tuple[str, ...]] = ("losses_",)
    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        n_estimators: int = 5,
        *,
        ends_after: int = 99,
        early_stopping: bool = False,
        validation_fraction: float = 0.25,
        n_iter_no_change: int = 2,
        random_state: Any = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.ends_after = ends_after
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state

    def _run(self, rows: TargetRows, random: np.random.RandomState) -> ResidualRun:
        self.trained_on_ = rows
        return ResidualRun(rows, self.ends_after)

    def _early_stopping(self, run: ResidualRun, held_out: TargetRows) -> EarlyStopping:
        self.held_out_ = held_out
        loss = AddedVotes(
            lambda t: 0.5 * run.forests[t - 1].tally(held_out.X)[:, 0],
            lambda F: float(np.average((held_out.target - F) ** 2, weights=held_out.weights)),
        )
        return EarlyStopping(loss, self.n_iter_no_change)

    def _fitted(self, run: ResidualRun, n_rounds: int, losses: Any) -> dict[str, Any]:
        voters, weights = Forest.concatenate(run.forests[:n_rounds]), np.full(n_rounds, 0.5)
        return {"committee_": RegressionCommittee(voters, weights, Identity(), self.table_), "losses_": losses}


def test_a_new_booster_is_a_run_and_its_attributes():
    X, y = coarse()
    model = ResidualBoosting().fit(X, y)
    assert model.committee_.n_voters == 5 and model.losses_ is None
    assert len(model.trained_on_) == 400
    assert [((y - stage) ** 2).mean() for stage in model.staged_predict(X)] == sorted(
        [((y - stage) ** 2).mean() for stage in model.staged_predict(X)], reverse=True
    )
    assert ResidualBoosting(ends_after=3).fit(X, y).committee_.n_voters == 3


def test_rounds_after_the_best_are_left_out():
    X, y = coarse()
    noise = np.random.default_rng(1).normal(size=400)
    model = ResidualBoosting(6, early_stopping=True).fit(X, noise, X_val=X, y_val=-noise)
    assert model.committee_.n_voters == 1
    assert len(model.losses_) == 3 and model.losses_.argmin() == 0
    stopped = ResidualBoosting(6, early_stopping=True).fit(X, y, X_val=X, y_val=y)
    assert stopped.committee_.n_voters == 6
    assert_array_equal(stopped.predict(X), ResidualBoosting(6).fit(X, y).predict(X))


# --- held-out rows -------------------------------------------------------------------------------------------------


def test_rows_are_shared_out():
    X, y = coarse()
    w = np.random.default_rng(2).exponential(size=400)
    model = ResidualBoosting(early_stopping=True).fit(X, y, w)
    train, held = model.trained_on_, model.held_out_
    assert (len(train), len(held)) == (300, 100)
    assert_array_equal(np.sort(np.concatenate([train.target, held.target])), np.sort(y))
    for part in (train, held):
        at = np.flatnonzero(np.isin(y, part.target))
        assert_array_equal(part.X, X[at])
        assert_array_equal(part.weights, w[at])
    again = ResidualBoosting(early_stopping=True).fit(X, y, w)
    assert_array_equal(again.trained_on_.target, train.target)


def test_rows_of_the_user_are_held_out():
    X, y = coarse()
    X_val, y_val = coarse(7, 30)
    model = ResidualBoosting(early_stopping=True).fit(X, y, X_val=X_val, y_val=y_val)
    held = model.held_out_
    assert len(model.trained_on_) == 400
    assert_array_equal(held.X, X_val)
    assert_array_equal(held.target, y_val)
    assert held.uniform and held.count == 30.0
    watched = ResidualBoosting().fit(X, y, X_val=X_val, y_val=y_val)
    assert watched.committee_.n_voters == watched.n_estimators
    with pytest.raises(ValueError, match="X_val and y_val go together"):
        ResidualBoosting(early_stopping=True).fit(X, y, X_val=X_val)
    with pytest.raises(ValueError, match=r"Input y_val contains NaN: row 3"):
        model.fit(X, y, X_val=X_val, y_val=np.where(np.arange(30) == 3, np.nan, y_val))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y, X_val=X_val, y_val=y_val[:9])


@pytest.mark.parametrize(("fraction", "n"), [(0.99, 10), (0.5, 1)])
def test_too_few_rows_to_share(fraction, n):
    X, y = coarse(n=n)
    model = ResidualBoosting(early_stopping=True, validation_fraction=fraction)
    with pytest.raises(ValueError, match=f"validation_fraction={fraction} holds out {n} of {n} rows|holds out 1 of 1"):
        model.fit(X, y)


# --- all or nothing ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (ResidualBoosting(), {"n_estimators": 9}),
        (AdaBoostClassifier(3), {"vote": "abstaining", "max_depth": 2}),
        (GradientBoostingRegressor(n_estimators=3, random_state=0), {"monotonic_constraints": [1, 0]}),
        (SubaggingClassifier(n_estimators=30, oob_score=True, random_state=0), {"max_samples": 1}),
        (TreeRegressor(), {}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_fit_that_fails_leaves_the_fit_before(model, change):
    X, y = coarse()
    y = (y > 0).astype(int) if is_classifier(model) else y
    model = clone(model).fit(X, y)
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    other = np.column_stack([X, X[:, :1]])
    other[0, 0] = 0.0 if change else np.inf
    with pytest.raises((ValueError, ArithmeticError)):
        model.set_params(**change).fit(other, y)
    after = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    model.predict(X)


def test_a_first_fit_that_fails_leaves_nothing():
    X, y = coarse()
    model = ResidualBoosting(9)
    with pytest.raises(ArithmeticError, match="seventh"):
        model.fit(X, y)
    assert not [name for name in vars(model) if name.endswith("_")]
