"""Boosting steps of leaves by cross-validation: against NumPy, and what model trees make of them."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings
from numpy.testing import assert_array_equal

from committee import ProbitModelTreeClassifier, SBPMTClassifier, load
from committee.learners.trees import leaf_steps
from committee.learners.trees.leaf_steps import LeafBoosting, boosted_leaves, chosen_steps, folds, without_each_fold
from committee.voters.training_record import LeafRows
from tests.core.leaf_problems import LINKS, random_problem, seeds
from tests.oracles import linear_boost


@pytest.fixture
def few(monkeypatch):
    """Few candidates, which the oracle boosts in time."""
    monkeypatch.setattr(leaf_steps, "CANDIDATES", (1, 2, 4))
    monkeypatch.setattr(leaf_steps, "N_FOLDS", 3)


def boosting_of(problem, link="probit", n_threads=1):
    leaves = LeafRows(problem.rows, problem.start)
    return leaves, LeafBoosting(
        problem.D, problem.labels, problem.weights, problem.n_outputs, link, 0.0, 20.0, False, n_threads
    )


def held_out_errors(problem, link, fold):
    """Held-out error of each number of steps ``(3, L, O)`` by refits in NumPy, and whether no step or sign is a tie."""
    errors, clear = np.zeros((3, len(problem.start) - 1, problem.n_outputs)), True
    for leaf, (a, b) in enumerate(zip(problem.start[:-1], problem.start[1:], strict=True)):
        rows, dealt = problem.rows[a:b], fold[a:b]
        if len(set(problem.labels[rows])) == 1:
            continue
        for k in set(dealt):
            others, judges = rows[dealt != k], rows[dealt == k]
            signs = linear_boost.signs(problem.labels[others], problem.n_outputs)
            for c, n_steps in enumerate(leaf_steps.CANDIDATES):
                kind = linear_boost.Settings(link, n_steps)
                fit = linear_boost.boost(problem.D[others], signs, problem.weights[others], kind)
                score = fit.intercept + problem.D[judges] @ fit.coefficient.T
                clear &= fit.clear == n_steps and bool((np.abs(score) > 1e-7).all())
                x = linear_boost.signs(problem.labels[judges], problem.n_outputs) * score
                errors[c, leaf] += problem.weights[judges] @ (x < 0)
    return errors.round(10), clear


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_steps_are_those_of_least_held_out_error(few, link, n_outputs):
    compared = 0
    for seed in range(12):
        problem = random_problem(seed, n=120, q=3, n_outputs=n_outputs)
        leaves, boosting = boosting_of(problem, link)
        leaf = np.repeat(np.arange(len(problem.start) - 1), np.diff(problem.start))
        errors, clear = held_out_errors(problem, link, folds(leaf, problem.labels[problem.rows], seed))
        if clear:
            steps = chosen_steps(boosting, leaves, seed)
            assert_array_equal(steps, np.array(leaf_steps.CANDIDATES)[errors.argmin(axis=0)])
            compared += len(set(steps.ravel())) > 1
    assert compared >= 4


@settings(max_examples=15)
@given(seed=seeds, n_outputs=st.sampled_from([1, 3]))
def test_each_score_is_the_one_of_its_own_number_of_steps(seed, n_outputs):
    problem = random_problem(seed, n=120, q=3, n_outputs=n_outputs)
    leaves, boosting = boosting_of(problem)
    steps = chosen_steps(boosting, leaves, seed)
    assume(len(np.unique(steps)) > 1)
    mixed = boosted_leaves(boosting, leaves, "cv", seed)
    for n_steps in np.unique(steps):
        alone = boosting.boosted(leaves.rows, leaves.start, n_steps)
        chosen = steps == n_steps
        of_rows = np.repeat(chosen, np.diff(problem.start), axis=0)
        for found, expected, where in zip(mixed[:3], alone[:3], (chosen, chosen, of_rows), strict=True):
            assert_array_equal(found[where], expected[where])
        path, risk = mixed[3][chosen], mixed[4][chosen]
        assert_array_equal(path[:, :n_steps], alone[3][chosen])
        assert_array_equal(risk[:, : n_steps + 1], alone[4][chosen])
        assert (path[:, n_steps:] == -2).all() and (risk[:, n_steps:] == risk[:, -1:]).all()
    several = boosted_leaves(boosting_of(problem, n_threads=3)[1], leaves, "cv", seed)
    for one, other in zip(mixed, several, strict=True):
        assert_array_equal(one, other)


def test_folds_deal_classes_evenly_and_leave_none_empty():
    leaf = np.repeat([0, 1, 2], [40, 3, 2])
    labels = np.tile([0, 1, 1], 15).astype(np.uint16)
    fold = folds(leaf, labels, 3)
    for k in range(5):
        assert 5 <= (labels[(leaf == 0) & (fold == k)] == 1).sum() <= 6
    assert sorted(fold[leaf == 1]) == [0, 1, 2] and sorted(fold[leaf == 2]) == [0, 1]
    rows, start, place = without_each_fold(np.arange(45, dtype=np.int32), leaf, fold)
    assert len(start) == 1 + 5 + 3 + 2 and place.max() == 9
    for row in range(45):
        others = rows[start[place[row]] : start[place[row] + 1]]
        assert_array_equal(np.sort(others), np.flatnonzero((leaf == leaf[row]) & (fold != fold[row])))


@pytest.mark.parametrize("params", [{}, {"tree": "per_class", "link": "logit"}])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_model_trees_by_cross_validation(params, n_classes, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.digitize(np.nan_to_num(X[:, 0]) + rng.normal(size=240), [-0.5, 0.5][: n_classes - 1])
    w = rng.integers(0, 3, 240)
    tree = ProbitModelTreeClassifier("cv", random_state=0, **params)
    assert_array_equal(tree.fit(X, y, w).risk_path_, tree.fit(X, y, w).risk_path_)
    plain = ProbitModelTreeClassifier(random_state=0, **params).fit(X, y, w)
    assert tree.risk_path_.shape == plain.risk_path_.shape
    assert (tree.risk_path_[:, :, -1] >= plain.risk_path_[:, :, -1] - 1e-12).all(), "fewer steps gain less"
    assert (tree.risk_path_[:, :, -1] > plain.risk_path_[:, :, -1]).any()
    small = {"n_estimators": 3, "n_boosting_rounds": 2, "random_state": 0}
    one, two = (SBPMTClassifier(n_leaf_steps="cv", n_jobs=jobs, **small, **params).fit(X, y, w) for jobs in (1, 2))
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert_array_equal(one.risks_, two.risks_)
    one.save(tmp_path / "model.safetensors")
    assert_array_equal(load(tmp_path / "model.safetensors").predict_proba(X), one.predict_proba(X))


def test_steps_that_are_no_number_and_not_cv_are_refused():
    with pytest.raises(ValueError, match=r"n_leaf_steps.*'cv'"):
        SBPMTClassifier(n_leaf_steps="best").fit(np.eye(4), [0, 1, 0, 1])  # type: ignore[arg-type]
