"""New votes of leaves: the conditions of the optimum, against a dense minimiser that knows no trees."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from committee.learners.reweighting.leaf_cuts import LeafCutter
from committee.learners.reweighting.leaf_regression import FREEDOM, LeafRegression
from committee.vote.committee import Committee

N_TREES = 6


def regression_of(n_classes, weights=None, all_unseen=False):
    """A regression on the leaves of a cut forest, its rows' leaves, unseen trees and labels."""
    X, y = make_classification(150, 6, n_informative=5, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=0)
    committee = Committee.from_estimator(RandomForestClassifier(N_TREES, max_depth=5, random_state=0).fit(X, y))
    forest = committee.voters
    random = np.random.default_rng(1)
    unseen = random.random((len(y), N_TREES)) < 0.5
    unseen[:, 0] |= ~unseen.any(axis=1)
    unseen = None if all_unseen else unseen
    cut = LeafCutter.of(forest, committee.weights).cut(np.arange(N_TREES), int(0.5 * forest.offset[-1]), 3.0)
    leaf = cut.stands[(forest.apply(X) + forest.offset[:-1])[:, cut.trees]]
    unseen = None if unseen is None else unseen[:, cut.trees]
    return LeafRegression(cut.columns, leaf, unseen, cut.versions, y, weights), cut, leaf, unseen, y


def dense(cut, leaf, unseen, y, n_classes, C, w):
    """Scores of the rows at the least of the objective, over indicator columns that are written out."""
    n, K = leaf.shape
    D = 1 if n_classes == 2 else n_classes
    part = np.ones((n, K)) if unseen is None else unseen.astype(float)
    means = np.stack([np.einsum("it,itd->id", part, v[leaf]) / part.sum(axis=1)[:, None] for v in cut.versions])
    means -= np.average(means, axis=1, weights=w)[:, None]
    spread = np.sqrt(np.average((means**2).mean(axis=2), axis=1, weights=w))
    means *= FREEDOM / spread[:, None, None]
    leaves, place = np.unique(leaf, return_inverse=True)
    Z = np.zeros((n, len(leaves)))
    for t in range(K):
        Z[np.arange(n), place.reshape(n, K)[:, t]] += 1.0 / np.sqrt(K)

    def score_of(b):
        theta, a, c = b[: len(leaves) * D].reshape(-1, D), b[len(leaves) * D : -D], b[-D:]
        return Z @ theta + np.tensordot(a, means, 1) + FREEDOM * c

    def objective(b):
        f = score_of(b)
        f = np.hstack([np.zeros_like(f), f]) if D == 1 else f
        share = np.exp(f - logsumexp(f, axis=1, keepdims=True))
        loss = logsumexp(f, axis=1) - f[np.arange(n), y]
        share[np.arange(n), y] -= 1.0
        slope = C * w[:, None] * (share[:, 1:] if D == 1 else share)
        of = [(Z.T @ slope).ravel(), np.tensordot(means, slope, 2), FREEDOM * slope.sum(axis=0)]
        return C * w @ loss + b @ b / 2, np.concatenate(of) + b

    start = np.zeros(len(leaves) * D + len(means) + D)
    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-16, "gtol": 1e-8, "maxcor": 50}
    return score_of(minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weights", [None, "some"])
def test_votes_are_the_likeliest(n_classes, weights):
    w = None if weights is None else np.random.default_rng(0).random(150)
    regression, cut, leaf, unseen, y = regression_of(n_classes, w)
    C = 2.0
    value = regression.votes(C)
    # a row's score in the fit: what unseen trees say, and the deviations of all trees; both are in the new votes, so
    # that they are told apart by the regression without deviations
    expected = dense(cut, leaf, unseen, y, n_classes, C, np.ones(150) if w is None else w)
    assert_allclose(regression.fitted_scores(), expected, atol=2e-3)
    assert np.abs(expected).max() > 1.0
    assert np.isfinite(value).all() and (value[~cut.is_leaf] == 0.0).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_where_no_tree_has_seen_a_row_its_score_is_the_mean_of_its_leaves(n_classes):
    regression, _, leaf, _, _ = regression_of(n_classes, all_unseen=True)
    value = regression.votes(1.0)
    assert_allclose(value[leaf].mean(axis=1), regression.fitted_scores(), atol=1e-9)


def test_where_it_begins_does_not_matter():
    regression = regression_of(3)[0]
    regression.votes(0.1)
    anew = regression_of(3)[0]
    assert_allclose(regression.votes(3.0), anew.votes(3.0), atol=2e-3)


def test_means_are_over_the_trees_that_have_not_seen_a_row():
    _, cut, leaf, unseen, _ = regression_of(3)
    value = np.random.default_rng(2).normal(size=(len(cut.stands), 3))
    naive = [value[leaf[i, unseen[i]]].mean(axis=0) for i in range(len(leaf))]
    assert_allclose(cut.columns.mean(leaf, unseen, cut.columns.values(value)), naive, atol=1e-12)


def test_without_evidence_leaves_keep_their_say():
    """C near 0: new votes are a straight line in what leaves say in all versions."""
    regression, cut, leaf, _, _ = regression_of(2)
    reached = np.unique(leaf)
    value = regression.votes(1e-3)[reached, 0]
    basis = np.column_stack([*cut.versions[:, reached, 0], np.ones(len(reached))])
    left = value - basis @ np.linalg.lstsq(basis, value, rcond=None)[0]
    assert np.abs(left).max() < 0.01 * np.ptp(value)


def test_the_same_bits_for_any_number_of_threads():
    one, _, leaf, unseen, y = regression_of(3)
    cut = regression_of(3)[1]
    two = LeafRegression(cut.columns, leaf, unseen, cut.versions, y, None, n_threads=3)
    assert_array_equal(one.votes(1.0), two.votes(1.0))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_shares_of_classes_count_as_that_many_rows_of_each(n_classes):
    _, cut, leaf, unseen, y = regression_of(n_classes)
    random = np.random.default_rng(2)
    share = random.dirichlet(np.ones(n_classes), len(y))
    found = LeafRegression(cut.columns, leaf, unseen, cut.versions, share).votes(1.0)
    # every row once for each class, with its share as weight
    rows = np.repeat(np.arange(len(y)), n_classes)
    classes, weights = np.tile(np.arange(n_classes), len(y)), share.ravel()
    apart = LeafRegression(cut.columns, leaf[rows], unseen[rows], cut.versions, classes, weights).votes(1.0)
    assert_allclose(found, apart, atol=1e-8)
