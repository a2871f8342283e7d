"""Probit model trees, the boosting steps and pruning of their leaves, against NumPy and trees grown by hand."""

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, ndtr

from committee import ProbitModelTreeClassifier, SBPMTClassifier, _core, load
from committee.data.bins import Binned
from committee.data.design import Design
from committee.learners.trees import model_tree, newton_boost
from committee.learners.trees.model_tree import RowsOfNodes, cut, depth_for, kept_splits
from committee.learners.trees.newton_boost import (
    SCORE_CAP,
    LeafBoosting,
    boosted_leaves,
    chosen_steps,
    folds,
    without_each_fold,
)
from committee.voters.model_forest import BoostedCommittees, LeafRows
from tests.core.leaf_problems import LINKS, random_problem
from tests.oracles import grow, linear_boost, sbpmt
from tests.oracles.linear_boost import Settings
from tests.subjects import assert_same_parts

seeds = st.integers(0, 2**32 - 1)


def table(seed, n=90, n_classes=2, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = np.where(X[:, 0] > 0.3, 2 * X[:, 1], -X[:, 1]) + 0.7 * rng.normal(size=n)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def oracle_scores(model, X, y, weights):
    encoded = model.table_.encode(X)
    binned = Binned.of(encoded, weights, model.table_, 255)
    design = Design.learn(encoded, np.ones(len(y)) if weights is None else weights, model.table_.n_categories)
    labels = np.searchsorted(model.classes_, y).astype(np.uint16)
    columns = binned.codes, binned.bins.n_bins, binned.bins.categorical, design.matrix(encoded)
    rows = sbpmt.Rows(*columns, labels, len(model.classes_))
    leaf = linear_boost.Settings(
        model.link, model.n_leaf_steps, model.tol, SCORE_CAP[model.link], model.selection == "likelihood"
    )
    limits = grow.Limits(model.max_depth or 0, 0, model.min_samples_leaf, 0.0, model.min_impurity_decrease)
    w = np.ones(len(y)) if weights is None else weights
    return sbpmt.model_tree(rows, w, np.arange(len(y)), sbpmt.Recipe(limits, leaf, model.tree == "per_class"))


def scores(model, X):
    return model.committee_.voters.scores(model.table_.encode(X))[:, 0]


def small(**params):
    limits = {"n_leaf_steps": 6, "max_depth": 2, "min_samples_leaf": 12, "calibrate": None}
    return ProbitModelTreeClassifier(**(limits | params))


CONFIGURATIONS = [
    {},
    {"link": "logit"},
    {"selection": "likelihood"},
    {"tree": "per_class"},
    {"tree": "per_class", "link": "logit", "selection": "likelihood"},
    {"min_impurity_decrease": 0.0, "max_depth": 3},
    {"tol": 1e-2},
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("params", CONFIGURATIONS)
@pytest.mark.parametrize("n_classes", [2, 3])
@settings(max_examples=10, derandomize=True)
@given(seed=seeds, missing=st.sampled_from([0.0, 0.2]))
def test_tree_is_the_one_grown_and_boosted_by_hand(params, n_classes, seed, missing):
    X, y = table(seed, n_classes=n_classes, missing=missing)
    w = np.random.default_rng(seed).exponential(size=len(y)) + 0.05  # rows that all weigh the same tie splits
    model = small(**params).fit(X, y, w)
    expected = oracle_scores(model, X, y, w)
    # a step that hangs on a tie may be another one, hence not every row of every table
    close = np.isclose(scores(model, X), expected, rtol=1e-4, atol=1e-4)
    assert close.mean() > 0.75
    curve = expit if model.link == "logit" else ndtr
    P = curve(np.hstack([-expected, expected]) if n_classes == 2 else expected)
    right = close.all(axis=1)
    assert_allclose(model.predict_proba(X)[right], (P / P.sum(axis=1, keepdims=True))[right], atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_by_hand_with_categories(n_classes):
    rng = np.random.default_rng(0)
    X, y = table(0, 200, n_classes)
    town = rng.choice(["Oslo", "Bergen", "Tromsø"], 200)
    y = (y + (town == "Oslo")) % n_classes
    frame = pl.DataFrame({"a": X[:, 0], "town": town, "b": X[:, 1], "old": rng.random(200) < 0.5})
    frame = frame.with_columns(town=pl.when(pl.col("a") > 1.5).then(None).otherwise(pl.col("town")))
    model = small(n_leaf_steps=4).fit(frame, y)
    assert_allclose(scores(model, frame), oracle_scores(model, frame, y, None), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_elected_class_has_the_largest_score(n_classes):
    X, y = table(0, 200, n_classes)
    model = small().fit(X, y)
    for far in (1.0, 30.0, 1e4, 1e8):  # where every Phi is 0 or 1
        F = scores(model, X * far)
        assert_array_equal(model.predict(X * far), sbpmt.elect(F))
        assert_array_equal(model.predict_proba(X * far).argmax(axis=1), sbpmt.elect(F))


def test_pure_leaves_say_so():
    x = np.repeat([0.0, 1.0, 2.0], 30)[:, None]
    y = np.repeat(["ant", "bee", "cow"], 30)
    for tree in ("shared", "per_class"):
        model = ProbitModelTreeClassifier(tree=tree, calibrate=None).fit(x, y)
        assert_array_equal(model.predict(x), y)
        assert model.predict_proba(x).max(axis=1).min() > 0.999


def awkward_tables():
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    y = (x + rng.normal(size=60) > 0).astype(int)
    gaps = np.column_stack([x, np.where(rng.random(60) < 0.5, np.nan, x)])
    return [
        pytest.param(x[:, None], y, id="one column"),
        pytest.param(np.column_stack([np.ones(60), x]), y, id="a constant column"),
        pytest.param(np.ones((60, 2)), y, id="constant columns alone"),
        pytest.param(np.column_stack([x, np.full(60, np.nan)]), y, id="a column never there"),
        pytest.param(np.full((60, 1), np.nan), y, id="nothing ever there"),
        pytest.param(gaps, y, id="gaps"),
        pytest.param(np.column_stack([x, x, 1e6 * x]), y, id="repeated columns"),
        pytest.param(x[:3, None], np.array([0, 1, 1]), id="three rows"),
        pytest.param(np.array([[0.0], [1.0]]), np.array([0, 1]), id="two rows"),
        pytest.param(np.zeros((2, 1)), np.array([0, 1]), id="two rows alike"),
        pytest.param(x[:5, None], np.arange(5), id="five classes of one row"),
        pytest.param(np.column_stack([x, x * 1e149]), y, id="huge numbers"),
        pytest.param(np.column_stack([x, np.full(60, 1e150)]), y, id="a huge constant"),
        pytest.param(np.column_stack([x, x > 0, rng.integers(0, 2, 60)]), x > 0, id="separable"),
        pytest.param(np.column_stack([x, 10.0 ** rng.uniform(-300, 150, 60)]), y, id="numbers of all sizes"),
    ]


@pytest.mark.parametrize("params", [{}, {"tree": "per_class", "min_samples_leaf": 1}, {"selection": "likelihood"}])
@pytest.mark.parametrize(("X", "y"), awkward_tables())
def test_awkward_tables(params, X, y):
    model = ProbitModelTreeClassifier(**params).fit(X, y)
    for rows in (X, np.full_like(X[:1], np.nan), np.zeros_like(X[:1])):
        p = model.predict_proba(rows)
        assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
        assert_array_equal(model.predict(rows), model.classes_[p.argmax(axis=1)])
    assert model.score(X, y) >= max(np.bincount(y)) / len(y) - 1e-9


@pytest.mark.parametrize("link", ["probit", "logit"])
def test_columns_too_small_for_a_slope_count_as_constant(link):
    X, y = np.array([[2.2e-308, 1e-200], [-0.0, 0.0], [0.0, 2e-200]]), ["a", "b", "c"]
    model = ProbitModelTreeClassifier(1, link=link).fit(X, y)
    for rows in (X, np.full((1, 2), 1e308)):
        assert np.isfinite(model.predict_proba(rows)).all()


def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.digitize(np.nansum(X, axis=1) + rng.normal(size=200), [-1.0, 1.0])


def trees(**settings):
    voters = SBPMTClassifier(2, 4, 10, random_state=0, **settings).fit(*rows()).committee_.voters
    assert isinstance(voters, BoostedCommittees)
    return voters.members


@pytest.mark.parametrize("tree", ["shared", "per_class"])
@pytest.mark.parametrize("at_once", [1, 2_000])
def test_a_few_at_a_time_are_those_of_all_together(tree, at_once, monkeypatch):
    together = trees(tree=tree)
    made = []
    model_forest = model_tree.model_forest

    def counted(some, *others):
        made.append(len(some))
        return model_forest(some, *others)

    monkeypatch.setattr(model_tree, "model_forest", counted)
    monkeypatch.setattr(model_tree, "CELLS_AT_ONCE", at_once)
    apart = trees(tree=tree)
    assert sum(made) == len(together.forest)
    assert max(made) == (1 if at_once == 1 else 2)  # of 140 rows, and eight columns of the design
    assert len(apart) == len(together) == 8
    assert_same_parts(apart, together)


def boxes(n, seed=0):
    X = np.random.default_rng(seed).uniform(size=(n, 6))
    classes = np.random.default_rng(7).integers(0, 2, (8, 8))
    return X, classes[tuple(np.floor(8 * X[:, :2]).astype(int).T)]


def test_depth_is_that_of_even_splits_and_one_more():
    assert [depth_for(n, 20) for n in (2, 100, 640, 641, 1280, 20 * 2**10)] == [6, 6, 6, 7, 7, 11]
    assert depth_for(1024, 1) == 11


@pytest.mark.parametrize(
    ("learner", "n_grown"),
    [
        (SBPMTClassifier(3, 2, 5, random_state=0), 1400),
        (ProbitModelTreeClassifier(5, max_depth="auto", min_impurity_decrease=0.0), 2000),
    ],
)
def test_auto_is_the_depth_of_the_rows_of_a_tree(learner, n_grown):
    X, y = boxes(2000)
    told = learner.__class__(**learner.get_params()).set_params(max_depth=depth_for(n_grown, 20))
    assert_array_equal(learner.fit(X, y).predict_proba(X), told.fit(X, y).predict_proba(X))


def test_weights_of_trees_of_many_classes_are_multiples_whose_squares_are_exact():
    weights = np.append(np.random.default_rng(0).random(1000) ** 9, [0.0, 1e-30])
    rounded = model_tree.whole_weights(weights)
    unit = rounded[-1]
    assert np.log2(unit) % 1 == 0.0 and 2.0**-25 <= unit / weights.sum() <= 2.0**-24
    assert rounded[-2] == 0.0 and (rounded / unit % 1 == 0.0).all() and (rounded / unit).sum() <= 2**26
    assert_allclose(rounded, weights, rtol=0.0, atol=unit)


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
