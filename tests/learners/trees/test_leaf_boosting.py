"""Boosting steps of leaves by cross-validation: against NumPy, and what model trees make of them."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings
from numpy.testing import assert_allclose, assert_array_equal

from committee import ProbitModelTreeClassifier, SBPMTClassifier, _core, load
from committee.learners.trees import newton_boost
from committee.learners.trees.model_tree import RowsOfNodes, cut, kept_splits
from committee.learners.trees.newton_boost import (
    LeafBoosting,
    boosted_leaves,
    chosen_steps,
    folds,
    without_each_fold,
)
from committee.voters.model_forest import LeafRows
from tests.core.leaf_problems import LINKS, random_problem, seeds
from tests.oracles import linear_boost
from tests.oracles.linear_boost import Settings


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(newton_boost, "CANDIDATES", (1, 2, 4))
    monkeypatch.setattr(newton_boost, "N_FOLDS", 3)


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
            for c, n_steps in enumerate(newton_boost.CANDIDATES):
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
            assert_array_equal(steps, np.array(newton_boost.CANDIDATES)[errors.argmin(axis=0)])
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


def grown(seed, n=300, n_classes=2, max_depth=5, n_threads=1):
    problem = random_problem(seed, n=n, q=3, n_outputs=n_classes if n_classes > 2 else 1)
    codes = np.argsort(np.argsort(problem.D, axis=0), axis=0).astype(np.uint8) % 16
    growing = _core.Grower(
        codes, np.full(3, 16, dtype=np.int32), np.array([0, 0, 1], dtype=np.uint8), "gini", n_classes,
        max_depth=max_depth, max_leaf_nodes=0, min_samples_leaf=5, min_weight_leaf=0.0, min_gain=0.0, max_features=0,
        n_threads=n_threads,
    )  # fmt: skip
    return problem, growing.grow_classes(problem.labels, problem.weights, problem.rows, 0)


def errors_of(problem, rows, held_out, link="probit", n_steps=5, most_rows=1000, n_threads=1, most_classes=0):
    return _core.held_out_errors(
        problem.D, rows.rows, rows.begin, rows.end, problem.labels, problem.weights, held_out, problem.n_outputs, link,
        n_steps, 20.0, most_rows, n_threads, most_classes,
    )  # fmt: skip


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("n_classes", "most_classes"), [(2, 0), (3, 0), (5, 3)])
@settings(max_examples=15)
@given(seed=seeds, most_rows=st.sampled_from([12, 1000]), share=st.sampled_from([0.3, 0.9]))
def test_kernel_is_the_oracle(link, n_classes, most_classes, seed, most_rows, share):
    problem, tree = grown(seed, n_classes=n_classes, max_depth=2)
    held_out = (np.random.default_rng(seed).random(len(problem.D)) < share).astype(np.uint8)
    rows = RowsOfNodes.of(tree, problem.rows)
    expected = [
        linear_boost.held_out_error(
            problem.D, problem.labels, problem.weights, rows.rows[a:b], held_out, problem.n_outputs,
            Settings(link, 3), most_rows, most_classes,
        )
        for a, b in zip(rows.begin, rows.end, strict=True)
    ]  # fmt: skip
    clear = np.array([sure for _, sure in expected])
    assume(clear.any())
    errors = errors_of(problem, rows, held_out, link, n_steps=3, most_rows=most_rows, most_classes=most_classes)
    assert_allclose(errors[clear], np.array([error for error, _ in expected])[clear], rtol=1e-12, atol=1e-12)


def test_node_whose_rows_are_all_held_out_is_wrong_about_all():
    problem, tree = grown(0)
    rows = RowsOfNodes.of(tree, problem.rows)
    weight = [problem.weights[rows.rows[a:b]].sum() for a, b in zip(rows.begin, rows.end, strict=True)]
    assert_allclose(errors_of(problem, rows, np.ones(len(problem.D), dtype=np.uint8)), weight)
    assert_array_equal(errors_of(problem, rows, np.zeros(len(problem.D), dtype=np.uint8)), 0.0)


def test_same_bits_for_any_number_of_threads():
    problem, tree = grown(1, n=20_000, max_depth=8)
    rows, held_out = RowsOfNodes.of(tree, problem.rows), np.arange(20_000, dtype=np.uint8) % 3 // 2
    one = errors_of(problem, rows, held_out)
    for n_threads in (2, 5):
        assert_array_equal(errors_of(problem, rows, held_out, n_threads=n_threads), one)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"end": np.array([10**6])}, "no range"),
        ({"begin": np.array([0, 1])}, "one number per node"),
        ({"held_out": np.zeros(3, dtype=np.uint8)}, "one number per row"),
        ({"n_steps": 0}, "n_steps and most_rows"),
        ({"most_rows": 0}, "n_steps and most_rows"),
        ({"cap": np.inf}, "cap must be"),
    ],
)
def test_arguments_that_cannot_be_are_refused(changed, words):
    problem = random_problem(0)
    arguments = {
        "D": problem.D, "rows": problem.rows, "begin": np.array([0]), "end": np.array([len(problem.rows)]),
        "labels": problem.labels, "weights": problem.weights, "held_out": np.zeros(len(problem.D), dtype=np.uint8),
        "n_outputs": 1, "link": "probit", "n_steps": 3, "cap": 20.0, "most_rows": 100, "n_threads": 1,
    }  # fmt: skip
    _core.held_out_errors(**arguments)
    with pytest.raises(ValueError, match=words):
        _core.held_out_errors(**(arguments | changed))


@given(seed=seeds, n_classes=st.sampled_from([2, 4]))
def test_rows_of_a_node_are_those_that_reach_it(seed, n_classes):
    problem, tree = grown(seed, n_classes=n_classes)
    rows = RowsOfNodes.of(tree, problem.rows)
    assert_array_equal(rows.end - rows.begin, tree.count)
    for node in np.flatnonzero(tree.feature < 0):
        mine = rows.rows[rows.begin[node] : rows.end[node]]
        assert_array_equal(np.sort(mine), np.flatnonzero(tree.leaf_of_row == node))
    for node in np.flatnonzero(tree.feature >= 0):
        child = tree.left[node]
        assert (rows.begin[child], rows.end[child]) == (rows.begin[node], rows.begin[child + 1])
        assert rows.end[child + 1] == rows.end[node]


@given(seed=seeds)
def test_what_is_kept_errs_the_least(seed):
    _, tree = grown(seed, n=150)
    errors = np.random.default_rng(seed).integers(0, 6, len(tree.left)) / np.exp2(tree.count < 40)
    keep, error, nodes = kept_splits(tree.left, errors), 0.0, [0]
    while nodes:
        node = nodes.pop()
        if keep[node]:
            nodes += [tree.left[node], tree.left[node] + 1]
        else:
            error += errors[node]
    assert error == linear_boost.least_error(tree.left.tolist(), errors.tolist())


@given(seed=seeds, share=st.sampled_from([0.7, 1.0]))
def test_cut_tree_is_the_tree_down_to_what_is_kept(seed, share):
    _, tree = grown(seed)
    keep = (tree.left >= 0) & (np.random.default_rng(seed).random(len(tree.left)) < share)
    short = cut(tree, keep)
    twins = [(0, 0)]
    for old, new in twins:
        assert_array_equal(short.sums[new], tree.sums[old])
        assert short.count[new] == tree.count[old]
        assert (short.feature[new] >= 0) == keep[old]
        if keep[old]:
            assert (short.feature[new], short.bin[new]) == (tree.feature[old], tree.bin[old])
            assert (short.gain[new], short.missing_left[new]) == (tree.gain[old], tree.missing_left[old])
            words = [
                t.category_bits[t.category_offset[v] : t.category_offset[v + 1]] for t, v in ((short, new), (tree, old))
            ]
            assert_array_equal(*words)
            twins += [(tree.left[old] + side, short.left[new] + side) for side in (0, 1)]
    assert len(twins) == len(short.left)
    rows = np.bincount(short.leaf_of_row[short.leaf_of_row >= 0], minlength=len(short.left))
    assert_array_equal(rows[short.feature < 0], short.count[short.feature < 0])
    assert_array_equal(short.leaf_of_row < 0, tree.leaf_of_row < 0)


def chessboard(n, seed=0):
    X = np.random.default_rng(seed).uniform(size=(n, 6))
    return X, (np.floor(4 * X[:, 0]) + np.floor(4 * X[:, 1])) % 2


def test_pure_interactions_are_found():
    (X, y), (X_test, y_test) = chessboard(3000), chessboard(1000, seed=1)
    fixed = SBPMTClassifier(5, 3, 20, min_impurity_decrease=0.005, random_state=0).fit(X, y)
    assert fixed.score(X_test, y_test) < 0.6
    assert SBPMTClassifier(5, 3, 20, random_state=0).fit(X, y).score(X_test, y_test) > 0.9


@pytest.mark.parametrize("n_classes", [2, 4])
def test_where_lines_part_the_classes_splits_go(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    score = X @ [1.0, -1.0, 0.5, 0.0] + 0.5 * rng.normal(size=2000)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    grown_out = ProbitModelTreeClassifier(20, min_impurity_decrease=0.0, max_depth=8).fit(X, y)
    tree = ProbitModelTreeClassifier(20, min_impurity_decrease="auto", max_depth=8, random_state=0).fit(X, y)
    assert tree.committee_.n_nodes < 0.7 * grown_out.committee_.n_nodes


@pytest.mark.parametrize("tree", ["shared", "per_class"])
def test_held_out_rows_are_drawn_by_the_seed_and_leaves_see_all_rows(tree):
    X, y = chessboard(600)
    y = y + (X[:, 2] > 0.5)
    fitted = [
        ProbitModelTreeClassifier(10, min_impurity_decrease="auto", tree=tree, random_state=seed).fit(X, y)
        for seed in (0, 0, 1)
    ]
    P = [model.predict_proba(X) for model in fitted]
    assert_array_equal(P[0], P[1])
    assert (P[0] != P[2]).any()
    for model in fitted:
        record = model.committee_.voters.record
        assert record.mass.sum() == 600 * model.committee_.voters.trees_per_voter
        assert_allclose(
            model.contributions(X).sum(axis=1), model.committee_.voters.scores(X)[:, 0], rtol=1e-8, atol=1e-8
        )
