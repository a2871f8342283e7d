"""Numbers at the limits of their type, and intercepts."""

import pickle
import warnings
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import is_regressor

import committee
from committee.objectives.losses.regression import huber_location
from committee.vote.committee import Committee
from committee.vote.links.probability import Logistic, Probit, Share, Softmax
from tests.cast_votes import casts, committee_of, rows, values_of
from tests.oracles import votes as oracle

LARGEST = np.finfo(float).max
CELLS = (LARGEST, -LARGEST, 1e300, -1e300, 1e155, 1e-310, 5e-324, 1e16, 0.0, np.nan)
MAGNITUDES = ((-9, 9), (-140, -139), (100, 140), (-50, 50), (-3, 3))

LEARNERS: list[Any] = [
    committee.AdaBoostClassifier(4),
    committee.AdaBoostClassifier(4, vote="confidence", early_stopping=True, random_state=0),
    committee.ArcGVClassifier(4),
    committee.BoostingTreeClassifier(5),
    committee.CommitteeClassifier("fast", cv=2, random_state=0),
    committee.CommitteeRegressor("fast", cv=2, random_state=0),
    committee.GradientBoostingClassifier(n_estimators=5, min_samples_leaf=1, random_state=0),
    committee.GradientBoostingRegressor(n_estimators=5, min_samples_leaf=1, random_state=0),
    committee.GradientBoostingRegressor("huber", 5, min_samples_leaf=1, random_state=0),
    committee.GradientBoostingRegressor("absolute_error", 5, min_samples_leaf=1, line_search=True, random_state=0),
    committee.LPBoostClassifier(random_state=0),
    committee.LogitBoostClassifier(5, early_stopping=True, random_state=0),
    committee.LogitBoostClassifier(5, learner="stump"),
    committee.MDBoostClassifier(),
    committee.MatryoshkaClassifier(levels=2),
    committee.ProbabilisticAdaBoostClassifier(4),
    committee.ProbitBoostClassifier(5),
    committee.ProbitBoostClassifier(5, early_stopping=True, random_state=0),
    committee.ProbitModelTreeClassifier(5),
    committee.QuadBoostClassifier(n_estimators=5),
    committee.QuadBoostRegressor(n_estimators=5),
    committee.RandomForestClassifier(4, random_state=0),
    committee.RandomForestRegressor(4, random_state=0),
    committee.SBPMTClassifier(2, 2, 5, random_state=0),
    committee.SubaggingClassifier(n_estimators=3, random_state=0),
    committee.TreeRegressor(),
    committee.TreeVoter(),
]


def storm(seed: int, regression: bool) -> tuple[Any, Any, Any]:
    """Rows with some cells, columns, targets and weights at the limits."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.choice([20, 40, 80])), int(rng.integers(1, 4))
    X = rng.normal(size=(n, p))
    kind = rng.integers(5)
    if kind == 0:
        X[:, 0] *= 10.0 ** rng.uniform(-300, 300)
    if kind == 1:
        X[:, 0] = np.where(rng.random(n) < 0.5, -LARGEST, LARGEST)
    for _ in range(int(rng.integers(0, 4))):
        X[rng.integers(n), rng.integers(p)] = rng.choice(CELLS)
    y: Any = rng.integers(0, rng.integers(2, 4), n)
    if regression:
        y = rng.normal(size=n) * 10.0 ** (rng.uniform(-155, 149) if rng.random() < 0.5 else 0)
    low, high = MAGNITUDES[rng.integers(len(MAGNITUDES))]
    return X, y, 10.0 ** rng.uniform(low, high, n) if rng.random() < 0.5 else None


@pytest.mark.one_in(3)
@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32))
def test_a_fit_refuses_or_gives_numbers_and_a_file(learner, seed):
    X, y, w = storm(seed, is_regressor(learner))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            learner.fit(X, y, w)
        except ValueError:
            return
        new = np.vstack([X, np.full((1, X.shape[1]), LARGEST), np.full((1, X.shape[1]), -LARGEST)])
        if is_regressor(learner):
            assert np.isfinite(learner.predict(new)).all()
        else:
            assert np.isfinite(learner.predict_proba(new)).all()
            assert not np.isnan(learner.decision_function(new)).any()
        with TemporaryDirectory() as folder:
            learner.save(Path(folder, "model"))
            assert_array_equal(committee.load(Path(folder, "model")).predict(new), learner.predict(new))


@pytest.mark.parametrize("kind", [committee.ProbitBoostClassifier, committee.LogitBoostClassifier])
@pytest.mark.parametrize("seed", range(4))
def test_early_stopping_of_lines_in_one_column(kind, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 1)), rng.integers(0, 3, 60)
    model = kind(20, early_stopping=True, random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("scale", [1e15, 1e16, 1e17, 1e100])
def test_huber_of_targets_beside_which_delta_is_nothing(scale):
    y = scale * np.random.default_rng(0).normal(size=41)
    assert abs(huber_location(y, np.ones(41), 1.0) - np.median(y)) <= 1.0 + 1e-15 * scale
    model = committee.GradientBoostingRegressor("huber", 5, min_samples_leaf=1, random_state=0).fit(
        np.arange(41.0)[:, None], y
    )
    assert np.isfinite(model.predict(np.arange(41.0)[:, None])).all()


def test_forests_of_numbers_and_weights_that_round_to_nothing():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(200, 3)), 10.0 ** rng.uniform(-9, 9, 200)
    forest = committee.RandomForestRegressor(5, random_state=0).fit(X, X[:, 0], w)
    assert np.isfinite(forest.feature_importances_).all()


def test_a_column_that_linear_scores_cannot_take_is_named():
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[5, 1] = LARGEST
    with pytest.raises(
        ValueError, match=r"column 'x1' holds a number of size 1\.8e\+308; linear scores take none above"
    ):
        committee.ProbitBoostClassifier(5).fit(X, X[:, 0] > 0)


links = st.sampled_from([Softmax(), Softmax(0.1), Logistic(), Probit()])


@st.composite
def started(draw: st.DrawFn, kind: str | None = None) -> tuple[Committee, np.ndarray]:
    """A committee with an intercept, and the votes that it casts on `rows`."""
    votes, weights, K = draw(casts(kind))
    D = votes.shape[2] if votes.ndim == 3 else K
    intercept = draw(st.lists(values_of, min_size=D, max_size=D))
    return replace(committee_of(votes, weights, K, draw(links)), intercept=intercept), votes


@given(started())
def test_the_score_starts_at_the_intercept(case):
    committee, votes = case
    X, K = rows(len(votes)), committee.n_classes
    plain = replace(committee, intercept=None)
    tally = plain.voters.tally(X, plain.weights) + committee.intercept
    scores = [oracle.score(F, K) for F in tally.tolist()]
    F = committee.decision_function(X)
    np.testing.assert_array_equal(F.reshape(len(votes), -1), scores)
    np.testing.assert_array_equal(committee.predict(X), committee.classes[[oracle.elected(s) for s in scores]])
    np.testing.assert_array_equal(committee.predict_proba(X), committee.link.probability(tally))
    np.testing.assert_array_equal(committee.votes(X), plain.votes(X))


@given(started(), st.data())
def test_every_stage_starts_at_the_intercept(case, data):
    committee, votes = case
    X = rows(len(votes))
    stages = zip(
        committee.staged_decision_function(X),
        committee.staged_predict(X),
        committee.staged_predict_proba(X),
        strict=True,
    )
    for t, (F, label, p) in enumerate(stages):
        so_far = committee.select(slice(t + 1))
        np.testing.assert_array_equal(so_far.intercept, committee.intercept)
        np.testing.assert_array_equal(F, so_far.decision_function(X))
        np.testing.assert_array_equal(label, so_far.predict(X))
        np.testing.assert_array_equal(p, so_far.predict_proba(X))


@given(started("score"), st.data())
def test_in_margins_it_is_a_voter_of_weight_one(case, data):
    committee, votes = case
    n, _, D = votes.shape
    X = rows(n)
    truth = data.draw(st.lists(st.integers(0, committee.n_classes - 1), min_size=n, max_size=n))
    y = committee.classes[truth]
    with_voter = np.concatenate([np.broadcast_to(committee.intercept, (n, 1, D)), votes], axis=1)
    same = committee_of(with_voter, np.append(1.0, committee.weights), committee.n_classes, committee.link)
    np.testing.assert_allclose(committee.margins(X, y), same.margins(X, y), rtol=1e-9, atol=1e-12)


@given(started(), st.data())
def test_right_means_a_positive_margin(case, data):
    committee, votes = case
    X = rows(len(votes))
    truth = data.draw(st.lists(st.integers(0, committee.n_classes - 1), min_size=len(X), max_size=len(X)))
    y = committee.classes[truth]
    m, right = committee.margins(X, y), committee.predict(X) == y
    assert (np.abs(m) <= 1).all()
    assert right[m > 0].all() and not right[m < 0].any()


def test_margins_with_labels():
    """Weights 2 and 1 and an intercept of spread 1.5 make 4.5."""
    committee = committee_of(np.array([[0, 1], [2, 2]], dtype=np.int32), np.array([2.0, 1.0]), 3)
    committee = replace(committee, intercept=[0.0, 1.5, 0.5])
    np.testing.assert_array_equal(committee.decision_function(rows(2)), [[2.0, 2.5, 0.5], [0.0, 1.5, 3.5]])
    np.testing.assert_allclose(committee.margins(rows(2), ["a", "c"]), [-0.5 / 4.5, 2.0 / 4.5])


def test_it_belongs_to_the_committee():
    committee = committee_of(np.array([[[1.0]], [[-1.0]]]), np.ones(1), 2)
    intercept = np.array([0.5])
    started = replace(committee, intercept=intercept)
    intercept[0] = 7.0
    np.testing.assert_array_equal(started.decision_function(rows(2)), [1.5, -0.5])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(started)).decision_function(rows(2)), [1.5, -0.5])
    np.testing.assert_array_equal(started.select([0], [2.0]).decision_function(rows(2)), [2.5, -1.5])
    assert started.nbytes == committee.nbytes + 8
    with pytest.raises(ValueError, match="read-only"):
        started.intercept[0] = 1.0  # type: ignore[index]


@pytest.mark.parametrize(
    ("intercept", "link", "message"),
    [
        ([0.0, 0.0], Softmax(), r"intercept has shape \(2,\); it must be \(3,\)"),
        (0.5, Softmax(), r"intercept has shape \(\); it must be \(3,\)"),
        ([[0.0, 0.0, 0.0]], Softmax(), r"intercept has shape \(1, 3\)"),
        ([0.0, np.nan, 0.0], Softmax(), r"intercept\[1\] is nan; intercept must be finite"),
        ([0.0, 0.0, np.inf], Softmax(), r"intercept\[2\] is inf"),
        ([0.0, 0.0, 1.0], Share(), r"intercept is no vote to average, as Share\(\) does"),
        ([0.0, 0.0, 1.0], Softmax(normalized=True), "intercept is no vote to average, as Softmax"),
    ],
)
def test_it_is_checked(intercept: Any, link: Any, message: str) -> None:
    committee = committee_of(np.array([[0, 1], [2, -1]], dtype=np.int32), np.ones(2), 3, link)
    with pytest.raises(ValueError, match=message):
        replace(committee, intercept=intercept)
