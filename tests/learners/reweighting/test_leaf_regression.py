"""Refitted votes of leaves against dense minimisers that do not use trees."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from committee.learners.reweighting.leaf_cuts import LeafCutter
from committee.learners.reweighting.leaf_regression import FREEDOM, LOGISTIC, HalfSquares, LeafRegression, SmoothPinball
from committee.learners.reweighting.pruning_metrics import pinball
from committee.vote.committee import Committee, RegressionCommittee

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
    assert_allclose(cut.columns.mean(leaf, unseen, cut.columns.values(value)), naive, atol=1e-12)


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
