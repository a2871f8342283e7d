"""Refitted votes of leaves against dense minimisers that do not use trees, and the synthetic rows that they fit."""

from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import logsumexp
from sklearn.datasets import load_wine, make_classification, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import log_loss
from xgboost import XGBClassifier

from committee import GradientBoostingClassifier, LeafReweighter
from committee import RandomForestClassifier as OurForest
from committee.data.matrices import SparseMatrix
from committee.data.table_schema import TableSchema
from committee.learners.reweighting import base_leaf_reweighter, unseen_rows
from committee.learners.reweighting.leaf_cuts import LeafCutter
from committee.learners.reweighting.leaf_regression import FREEDOM, LOGISTIC, HalfSquares, LeafRegression, SmoothPinball
from committee.learners.reweighting.pruning_metrics import pinball
from committee.learners.reweighting.unseen_rows import COPIES, SyntheticRows, interpolated_rows
from committee.vote.committee import Committee, RegressionCommittee
from tests.limits import examples

N, N_TREES, Q = 150, 6, 0.8


class Case(NamedTuple):
    """A regression on the leaves of a cut forest, with its rows' leaves, out-of-bag trees, targets and weights."""

    regression: LeafRegression
    cut: Any
    leaf: np.ndarray
    unseen: np.ndarray | None
    y: np.ndarray
    w: np.ndarray


def case_of(n_classes=None, *, weighted=False, all_unseen=False, loss=LOGISTIC):
    """Of so many classes, or of standardised numbers."""
    if n_classes is None:
        X, y = make_friedman1(N, noise=1.0, random_state=0)
        committee = RegressionCommittee.from_estimator(RandomForestRegressor(N_TREES, random_state=0).fit(X, y))
        y = ((y - y.mean()) / y.std())[:, None]
    else:
        X, y = make_classification(
            N, 6, n_informative=5, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=0
        )
        forest = RandomForestClassifier(N_TREES, max_depth=5, random_state=0).fit(X, y)
        committee = Committee.from_estimator(forest)
    forest = committee.voters
    unseen = np.random.default_rng(1).random((N, N_TREES)) < 0.5
    unseen[:, 0] |= ~unseen.any(axis=1)
    cut = LeafCutter.of(forest, committee.weights).cut(np.arange(N_TREES), int(0.5 * forest.offset[-1]), 3.0)
    leaf = cut.stands[(forest.apply(X) + forest.offset[:-1])[:, cut.trees]]
    unseen = None if all_unseen else unseen[:, cut.trees]
    w = np.random.default_rng(0).random(N) if weighted else np.ones(N)
    regression = LeafRegression(cut.columns, leaf, unseen, cut.versions, y, w if weighted else None, loss=loss)
    return Case(regression, cut, leaf, unseen, y, w)


def dense_columns(case):
    """Indicators of the leaves ``(n, M)``, and the scaled means of their votes in each version ``(V, n, D)``."""
    K = case.leaf.shape[1]
    part = case.unseen.astype(float)
    votes = [np.einsum("it,itd->id", part, v[case.leaf]) / part.sum(axis=1)[:, None] for v in case.cut.versions]
    means = np.stack(votes)
    means -= np.average(means, axis=1, weights=case.w)[:, None]
    means *= FREEDOM / np.sqrt(np.average((means**2).mean(axis=2), axis=1, weights=case.w))[:, None, None]
    indicators = (case.leaf[:, :, None] == np.unique(case.leaf)).sum(axis=1) / np.sqrt(K)
    return indicators, means


def likeliest_scores(case, n_classes, C):
    Z, means = dense_columns(case)
    D = 1 if n_classes == 2 else n_classes
    rows, y, w = np.arange(N), case.y, case.w

    def score_of(b):
        theta, a, c = b[: Z.shape[1] * D].reshape(-1, D), b[Z.shape[1] * D : -D], b[-D:]
        return Z @ theta + np.tensordot(a, means, 1) + FREEDOM * c

    def objective(b):
        f = score_of(b)
        f = np.hstack([np.zeros_like(f), f]) if D == 1 else f
        share = np.exp(f - logsumexp(f, axis=1, keepdims=True))
        loss = logsumexp(f, axis=1) - f[rows, y]
        share[rows, y] -= 1.0
        slope = C * w[:, None] * (share[:, 1:] if D == 1 else share)
        of = [(Z.T @ slope).ravel(), np.tensordot(means, slope, 2), FREEDOM * slope.sum(axis=0)]
        return C * w @ loss + b @ b / 2, np.concatenate(of) + b

    start = np.zeros(Z.shape[1] * D + len(means) + D)
    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-16, "gtol": 1e-8, "maxcor": 50}
    return score_of(minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_votes_are_the_likeliest(n_classes, weighted):
    case, C = case_of(n_classes, weighted=weighted), 2.0
    value = case.regression.votes(C)
    expected = likeliest_scores(case, n_classes, C)
    assert_allclose(case.regression.fitted_scores(), expected, atol=2e-3)
    assert np.abs(expected).max() > 1.0
    assert np.isfinite(value).all() and (value[~case.cut.is_leaf] == 0.0).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_votes_of_numbers_solve_the_normal_equations(weighted):
    case = case_of(weighted=weighted, loss=HalfSquares())
    Z, means = dense_columns(case)
    A = np.column_stack([Z, means[:, :, 0].T, np.full(N, FREEDOM)])
    for C in (0.01, 3.0):
        case.regression.votes(C)
        b = np.linalg.solve(C * (A.T * case.w) @ A + np.eye(A.shape[1]), C * (A.T * case.w) @ case.y[:, 0])
        assert_allclose(case.regression.fitted_scores()[:, 0], A @ b, atol=1e-6)


def test_votes_of_a_quantile_leave_no_slope():
    loss, C = SmoothPinball(Q, 0.2), 3.0
    case = case_of(weighted=True, loss=loss)
    Z, means = dense_columns(case)
    A = np.column_stack([Z, means[:, :, 0].T, np.full(N, FREEDOM)])
    case.regression.votes(C)
    scores = case.regression.fitted_scores()
    slope = loss.of(scores, case.y)[1][:, 0]
    # at the optimum the coefficients follow from the slopes, and give the scores back
    assert_allclose(A @ (-C * A.T @ (case.w * slope)), scores[:, 0], atol=1e-3)
    assert np.ptp(scores) > 1.0


@pytest.mark.parametrize("loss", [HalfSquares(), SmoothPinball(Q, 0.3)], ids=["squares", "pinball"])
def test_losses_have_their_derivatives(loss):
    off = np.array([-3.0, -0.29, -0.1, 0.0, 0.2, 0.31, 2.0])
    target, step = np.linspace(-1.0, 1.0, 7)[:, None], 1e-6
    scores = target - off[:, None]
    value, slope = loss.of(scores, target)
    ahead, slope_ahead = loss.of(scores + step, target)
    curved = loss.curved(scores, target, np.ones_like(scores))
    assert_allclose((ahead - value) / step, slope[:, 0], atol=1e-5)
    assert_allclose((slope_ahead - slope) / step, curved, atol=1e-5)
    assert (curved <= loss.curvature(1)).all()
    if isinstance(loss, SmoothPinball):
        far = np.abs(off) > 0.3
        assert_allclose(value[far], pinball(target[far, 0], scores[far, 0], Q))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_where_no_tree_has_seen_a_row_its_score_is_the_mean_of_its_leaves(n_classes):
    case = case_of(n_classes, all_unseen=True)
    value = case.regression.votes(1.0)
    assert_allclose(value[case.leaf].mean(axis=1), case.regression.fitted_scores(), atol=1e-9)


def test_votes_do_not_depend_on_the_starting_point():
    warm, cold = case_of(3).regression, case_of(3).regression
    warm.votes(0.1)
    assert_allclose(warm.votes(3.0), cold.votes(3.0), atol=2e-3)


def test_means_are_over_the_trees_that_have_not_seen_a_row():
    _, cut, leaf, unseen, *_ = case_of(3)
    value = np.random.default_rng(2).normal(size=(len(cut.stands), 3))
    naive = [value[leaf[i, unseen[i]]].mean(axis=0) for i in range(N)]
    assert_allclose(cut.columns.means(leaf, unseen, [cut.columns.values(value)])[0], naive, atol=1e-12)


def test_without_evidence_leaves_keep_their_votes():
    """C near 0: new votes are a straight line in the old votes of all versions."""
    case = case_of(2)
    reached = np.unique(case.leaf)
    value = case.regression.votes(1e-3)[reached, 0]
    basis = np.column_stack([*case.cut.versions[:, reached, 0], np.ones(len(reached))])
    left = value - basis @ np.linalg.lstsq(basis, value, rcond=None)[0]
    assert np.abs(left).max() < 0.01 * np.ptp(value)


def test_the_same_bits_for_any_number_of_threads():
    one, cut, leaf, unseen, y, _ = case_of(3)
    two = LeafRegression(cut.columns, leaf, unseen, cut.versions, y, None, n_threads=3)
    assert_array_equal(one.votes(1.0), two.votes(1.0))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_shares_of_classes_count_as_that_many_rows_of_each(n_classes):
    _, cut, leaf, unseen, *_ = case_of(n_classes)
    share = np.random.default_rng(2).dirichlet(np.ones(n_classes), N)
    found = LeafRegression(cut.columns, leaf, unseen, cut.versions, share).votes(1.0)
    # every row once for each class, with its share as weight
    rows, classes = np.repeat(np.arange(N), n_classes), np.tile(np.arange(n_classes), N)
    apart = LeafRegression(cut.columns, leaf[rows], unseen[rows], cut.versions, classes, share.ravel()).votes(1.0)
    assert_allclose(found, apart, atol=1e-8)


# --- synthetic rows ---------------------------------------------------------------------------------------------------


@st.composite
def tables(draw):
    """Numbers, whole numbers and categories with gaps; rows may be there several times."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.sampled_from([1, 2, 5, 40, 300]))
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 3, n), rng.integers(0, 4, n), rng.normal(size=n)])
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    if draw(st.booleans()):
        X = X[rng.integers(0, n, n)]
    schema = TableSchema(("a", "b", "c", "d"), (None, None, ("p", "q", "r", "s"), None))
    return X, schema, draw(st.integers(0, 9))


@settings(max_examples=examples(15, 60), deadline=None)
@given(tables())
def test_a_synthetic_row_lies_between_two_rows_and_nearer_to_one(case):
    X, schema, seed = case
    made = interpolated_rows(X, None, schema, seed)
    different = len({row.tobytes() for row in np.where(np.isnan(X), -9.0, X)})
    assert len(made.matrix) == len(made.beside) == COPIES * different
    tests = (_is_between, _is_one_of, _is_one_of, _is_between)
    for row, beside in zip(made.matrix[::7], X[made.beside[::7]], strict=True):
        assert any(all(test(*cells) for test, *cells in zip(tests, row, beside, other, strict=True)) for other in X)


def _is_between(value, one, other):
    if np.isnan(one) or np.isnan(other):
        return _is_one_of(value, one, other)
    half = one + 0.5 * (other - one)
    return min(one, half) - 1e-12 <= value <= max(one, half) + 1e-12


def _is_one_of(value, *others):
    return any(value == other or (np.isnan(value) and np.isnan(other)) for other in others)


@settings(max_examples=40, deadline=None)
@given(tables(), st.randoms(use_true_random=False))
def test_synthetic_rows_do_not_depend_on_order_or_copies_of_rows(case, random):
    X, schema, seed = case
    made = interpolated_rows(X, None, schema, seed, 2)
    order = np.arange(len(X))
    random.shuffle(order)
    twice = np.concatenate([X[order], X[: len(X) // 2]])
    other = interpolated_rows(twice, None, schema, seed)
    assert_array_equal(other.matrix, made.matrix)
    assert_array_equal(twice[other.beside], X[made.beside])
    weight = np.ones(len(X))
    weight[: len(X) // 2] += 1.0
    assert_array_equal(interpolated_rows(X, weight, schema, seed).weight, other.weight)


def test_synthetic_rows_do_not_depend_on_column_order_or_sparsity():
    X = np.random.default_rng(0).poisson(0.5, (80, 5)) * np.random.default_rng(1).normal(size=(80, 5))
    made = interpolated_rows(X, None, None, 0)
    order = np.array([3, 0, 4, 1, 2])
    other = interpolated_rows(np.ascontiguousarray(X[:, order]), None, None, 0)
    assert_array_equal(other.matrix, made.matrix[:, order])
    stored = SparseMatrix.read(csr_array(X))
    sparse = interpolated_rows(stored, None, None, 0)
    assert_array_equal(sparse.matrix, made.matrix)
    both = sparse.below(stored)
    assert_array_equal(np.concatenate(list(both.blocks(np.arange(5)))), np.concatenate([X, made.matrix]))


def test_the_number_of_synthetic_rows_is_limited(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 4))
    monkeypatch.setattr(unseen_rows, "MAX_ROWS", 120)
    found = interpolated_rows(X, None, None, 0)
    assert len(found.matrix) == 120
    assert np.bincount(found.beside, minlength=50).tolist().count(2) == 30  # each has two, and some one more
    monkeypatch.setattr(unseen_rows, "MAX_CELLS", 40)
    assert len(interpolated_rows(X, None, None, 0).matrix) == 10  # between ten rows


def test_a_cut_of_a_booster_is_nearer_to_the_whole_on_new_rows(monkeypatch):
    X, y = make_classification(1500, 12, n_informative=6, flip_y=0.1, random_state=0)
    booster = XGBClassifier(n_estimators=60, n_jobs=1).fit(X[:700], y[:700])

    def cut():
        return LeafReweighter(booster, max_nodes=1 / 3, on="train").fit(X[:700], y[:700])

    with_made = cut()
    none = SyntheticRows(np.empty((0, 12)), np.empty(0, dtype=np.intp), np.empty(0))
    monkeypatch.setattr(base_leaf_reweighter, "interpolated_rows", lambda *_: none)
    without = cut()
    new, far = (each.predict_proba(X[700:]) for each in (with_made, without))
    assert log_loss(y[700:], new) < log_loss(y[700:], far)
    whole = booster.predict_proba(X[700:])
    assert np.abs(new - whole).mean() < np.abs(far - whole).mean()


@pytest.mark.parametrize("on", ["oob", "validation"])
def test_out_of_bag_and_validation_rows_need_no_synthetic_rows(on, monkeypatch):
    monkeypatch.setattr(base_leaf_reweighter, "interpolated_rows", lambda *_: pytest.fail("rows are made"))
    X, y = load_wine(return_X_y=True)
    forest = OurForest(20, oob_score=True, random_state=0).fit(X, y)
    LeafReweighter(forest, max_nodes=0.5, on=on, C=(1.0,), growth=(1.0,)).fit(X, y)


def test_categories_gaps_weights_and_threads():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.normal(size=300), "c": rng.choice(["x", "y", "z"], 300)})
    frame = frame.with_columns(a=pl.when(pl.Series(rng.random(300) < 0.1)).then(None).otherwise(pl.col("a")))
    y = np.where((frame["c"] == "x").to_numpy() ^ (rng.random(300) < 0.2), "yes", "no")
    weight = rng.integers(0, 3, 300).astype(float)
    booster = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(frame, y, weight)
    one, two = (
        LeafReweighter(booster, max_nodes=0.5, on="train", n_jobs=jobs).fit(frame, y, weight) for jobs in (1, 2)
    )
    assert_array_equal(one.predict_proba(frame), two.predict_proba(frame))
    left_out = LeafReweighter(booster, max_nodes=0.5, on="train")
    kept = frame.filter(pl.Series(weight > 0))
    left_out.fit(kept, y[weight > 0], weight[weight > 0])
    assert_array_equal(left_out.predict_proba(frame), one.predict_proba(frame))
