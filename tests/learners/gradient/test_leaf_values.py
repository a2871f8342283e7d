"""Leaf weights and split gains under L0, L1 and L2 penalties, against a search over a fine grid of weights."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from committee import GradientBoostingClassifier, GradientBoostingRegressor, _core
from committee.learners.gradient.leaf_values import LeafPenalty
from committee.learners.gradient.target import refits
from committee.objectives.losses import REGRESSION_LOSSES
from committee.voters.forest import Forest
from committee.voters.rounds import LinearLeaves
from tests.core.checked_tree import grown
from tests.gradient_cases import PLAIN, answer, both, data, learner, seeds
from tests.oracles.linear_boost import added, lines_of_a_leaf
from tests.subjects import assert_same_bits

ON_OR_OFF = [0.0, 0.7, 3.0]
PENALTIES = [LeafPenalty(*prices) for prices in itertools.product(ON_OR_OFF, repeat=3)]
numbers = st.sampled_from([0.0]) | st.floats(0.01, 5.0)
penalties = st.builds(LeafPenalty, numbers, numbers, numbers, st.booleans())
gradients, hessians = st.floats(-20.0, 20.0), st.floats(0.1, 10.0)
limits = st.tuples(st.floats(-4.0, 4.0), st.floats(0.0, 4.0)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def objective(penalty, G, H, w):
    counted = np.ones_like(w) if penalty.per_leaf else w != 0
    return G * w + 0.5 * H * w**2 + penalty.l0 * counted + penalty.l1 * np.abs(w) + 0.5 * penalty.l2 * w**2


def grid(G, H, lower=-np.inf, upper=np.inf):
    reach = abs(G) / H + 0.1
    w = np.linspace(max(-reach, lower), min(reach, upper), 4001) if -reach < upper and reach > lower else np.zeros(0)
    ends = [end for end in (lower, upper) if np.isfinite(end)]
    zero = [0.0] if lower <= 0.0 <= upper else []
    return np.concatenate([w, ends, zero])


def least(penalty, G, H, lower=-np.inf, upper=np.inf):
    return float(objective(penalty, G, H, grid(G, H, lower, upper)).min())


def fineness(penalty, G, H):
    width = 2 * (abs(G) / H + 0.1) / 4000
    return 0.5 * (H + penalty.l2) * width**2 + 1e-9


@given(penalties, gradients, hessians, st.just((-np.inf, np.inf)) | limits)
def test_no_weight_within_limits_is_better(penalty, G, H, bounds):
    w = penalty.weight(G, H, *bounds)
    assert bounds[0] <= w <= bounds[1]
    reached = float(objective(penalty, G, H, w))
    assert reached <= least(penalty, G, H, *bounds) + 1e-9
    if np.isinf(bounds[0]):
        assert reached >= least(penalty, G, H) - fineness(penalty, G, H)
    assert_allclose(-reached, penalty.worth([G], [H], *bounds), atol=1e-9)


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: f"{p.l0}-{p.l1}-{p.l2}")
def test_the_closed_form(penalty):
    """w = -sign(G) max(|G| - l1, 0) / (H + l2) when s > l0, else 0; V = max(0, s - l0)."""
    G, H = np.meshgrid(np.linspace(-6, 6, 25), [0.3, 1.0, 4.0])
    s = np.maximum(np.abs(G) - penalty.l1, 0) ** 2 / (2 * (H + penalty.l2))
    w = np.where(s > penalty.l0, -np.sign(G) * np.maximum(np.abs(G) - penalty.l1, 0) / (H + penalty.l2), 0.0)
    assert_allclose(penalty.weight(G, H), w, atol=1e-12)
    assert_allclose(penalty.worth(G[..., None], H[..., None]), np.maximum(0, s - penalty.l0), atol=1e-12)


@given(penalties, gradients, hessians, gradients, hessians)
def test_gain_of_a_split(penalty, G, H, other_G, other_H):
    apart = least(penalty, G, H) + least(penalty, other_G, other_H)
    together = least(penalty, G + other_G, H + other_H)
    gain = penalty.gain((np.array([G]), np.array([H])), (np.array([other_G]), np.array([other_H])))
    close = fineness(penalty, G, H) + fineness(penalty, other_G, other_H) + fineness(penalty, G + other_G, H + other_H)
    assert_allclose(gain, together - apart, atol=close)


def test_cost_of_a_tree():
    w = np.array([[0.0], [2.0], [-1.0]])
    assert LeafPenalty(1.0, 10.0, 100.0).cost(w) == 2.0 + 30.0 + 250.0
    assert LeafPenalty(1.0, 10.0, 100.0, per_leaf=True).cost(w) == 3.0 + 30.0 + 250.0


@given(st.integers(0, 2**32 - 1))
def test_leaves_abstain_in_a_tree_and_weigh_exactly_zero(seed):
    rng = np.random.default_rng(seed)
    code = rng.integers(0, 20, 200).astype(np.uint8)
    rows = code[:, None], np.array([20], dtype=np.int32), np.zeros(1, dtype=np.uint8)
    g, h = rng.normal(size=200) + 3.0 * (code == 7), np.ones(200)
    tree, _ = grown(rows, g, h, leaf_l0=8.0, leaf_l2=1.0, max_depth=4)
    leaf = tree.feature < 0
    s = tree.sums[:, 0] ** 2 / (2 * (tree.sums[:, 1] + 1.0))
    assert_array_equal(tree.value[leaf, 0] == 0.0, s[leaf] <= 8.0)
    assert (tree.gain[~leaf] > 0).all()
    nothing, _ = grown(rows, g, h, leaf_l0=1e9, max_depth=4)
    assert_array_equal(nothing.value, 0.0)
    assert len(nothing.feature) == 1


def tables(seed, missing):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(80, 3)), 2) * [1.0, 100.0, 1e-3] + [0.0, 5.0, 1.0]
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    leaf = rng.choice(np.array([2, 4, 5, 6], dtype=np.int32), 80)
    return X, leaf, rng.normal(size=(2, 80)), rng.uniform(0.1, 1.0, size=(2, 80))


# the root splits on column 0, its left child on 2, that one's on 1; leaf 6 gets no lines
FEATURE = np.array([0, 2, -1, 1, -1, -1, -1], dtype=np.int32)
LEFT = np.array([1, 3, -1, 5, -1, -1, -1], dtype=np.int32)
LINES = np.array([0, 0, 1, 0, 1, 1, 0], dtype=np.uint8)
PATHS = {2: [0], 4: [0, 2], 5: [0, 1, 2]}


def fitted_lines(X, leaf, rows, g, h, l2, numeric=(1, 1, 1)):
    sums = _core.LineSums(X, leaf, rows, g, h, FEATURE, LEFT, LINES, np.array(numeric, np.uint8), len(X), 1)
    return sums.lines(l2)


@given(seeds, st.booleans(), st.sampled_from([0.0, 0.1, 1.0, 50.0]))
@settings(max_examples=30)
def test_the_kernel_is_weighted_least_squares(seed, missing, l2):
    X, leaf, g, h = tables(seed, missing)
    rows = np.flatnonzero(np.random.default_rng(seed).random(80) < 0.8).astype(np.int32)
    start, column, *found = fitted_lines(X, leaf, rows, g, h, l2)
    assert_array_equal(np.diff(start), [len(PATHS.get(node, [])) for node in range(7)])
    for node, path in PATHS.items():
        mine = slice(start[node], start[node + 1])
        assert column[mine].tolist() == path
        of_leaf = rows[leaf[rows] == node]
        for k in range(2):
            expected = lines_of_a_leaf(X[of_leaf][:, path], g[k, of_leaf], h[k, of_leaf], l2)
            got = found[0][mine, k], found[1][mine, k], found[2][mine], found[3][mine]
            for numbers, wanted in zip(got, expected, strict=True):
                assert_allclose(numbers, wanted, rtol=1e-6, atol=1e-9)


def test_categories_are_on_no_line():
    X, leaf, g, h = tables(0, missing=False)
    start, column, *_ = fitted_lines(X, leaf, None, g, h, 1.0, numeric=(1, 0, 1))
    assert column[start[5] : start[6]].tolist() == [0, 2]


def test_columns_that_say_nothing_new_get_no_slope():
    x = np.arange(8.0)
    X = np.column_stack([x, 2 * x + 3, np.full(8, 7.0), np.full(8, np.nan), np.where(x > 4, 1e308, -1e308)])
    feature, left = np.full(11, -1, np.int32), np.full(11, -1, np.int32)
    feature[:10:2], left[:10:2] = np.arange(5), np.arange(1, 11, 2)  # node 10 is at the end of a chain
    lines = np.zeros(11, np.uint8)
    lines[10] = 1
    arguments = X, np.full(8, 10, np.int32), None, -x[None], np.ones((1, 8)), feature, left, lines, np.ones(5, np.uint8)
    slope = _core.LineSums(*arguments, 8, 1).lines(0.0)[2][:, 0]
    assert np.isfinite(slope).all()
    assert_allclose(slope[:4], [1.0, 0.0, 0.0, 0.0], atol=1e-9)


@both
def test_a_vote_is_the_weight_and_its_lines_and_within_its_spread(kind):
    X, y = data(kind)
    model = learner(kind, leaf="linear").fit(X, y)
    voters = model.committee_.voters
    assert isinstance(voters, LinearLeaves)
    later = np.vstack([X[:20] * 5, np.full((1, 4), np.nan), X[:5]])
    later[3, 1] = np.nan
    votes = sum(w * added(voters, t, later) for t, w in enumerate(model.committee_.weights))
    expected = votes + model.committee_.intercept
    assert_allclose(np.ravel(answer(model, later)), np.ravel(expected), atol=1e-10)
    assert_allclose(voters.votes(later).sum(axis=1), voters.tally(later), atol=1e-10)
    wild = np.random.default_rng(0).normal(size=(2000, 4)) * 10
    assert (np.abs(voters.votes(wild)[:, :, 0]) <= voters.spread + 1e-12).all()


@both
def test_the_weights_of_leaves_are_those_without_lines(kind):
    X, y = data(kind)
    plain, lines = (
        learner(kind, n_estimators=1, **PLAIN | {"leaf": leaf}).fit(X, y) for leaf in ("constant", "linear")
    )
    assert_array_equal(plain.committee_.voters.value, lines.committee_.voters.forest.value)
    assert lines.committee_.voters.lines.slope.any()


@pytest.mark.parametrize("tree", ["per_class", "shared"])
def test_several_classes(tree):
    X = np.random.default_rng(0).normal(size=(300, 4))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5])]
    model = GradientBoostingClassifier(n_estimators=20, leaf="linear", tree=tree, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9


@both
def test_early_stopping_refits_the_lines_on_all_rows(kind):
    X, y = data(kind)
    first = learner(kind, leaf="linear", n_estimators=50, early_stopping=True).fit(X, y).committee_.voters[0]
    assert first.forest.count[0] == len(X)
    lines, leaf = first.lines, first.forest.apply(X)[:, 0]
    for node in np.flatnonzero(np.diff(lines.start)):
        of_node = slice(lines.start[node], lines.start[node + 1])
        assert_array_equal(lines.low[of_node], X[leaf == node][:, lines.column[of_node]].min(axis=0))


@pytest.mark.parametrize(
    "params", [{"line_search": True}, {"monotonic_constraints": [1, 0, 0, 0]}, {"loss": "absolute_error"}]
)
def test_what_does_not_go_with_lines_is_named(params):
    [(name, value)] = params.items()
    with pytest.raises(ValueError, match=value if name == "loss" else name):
        GradientBoostingRegressor(leaf="linear", **params).fit(*data("numbers"))


@pytest.mark.parametrize("leaf", ["auto", "linear"])
@pytest.mark.parametrize("free", [{}, {"a": 0}, [0, 0, 0, 0]], ids=str)
def test_constraints_that_constrain_nothing_leave_the_lines(leaf, free):
    X, y = data("numbers")
    rows = pl.DataFrame(X, schema=["a", "b", "c", "d"])
    without, model = (learner("numbers", leaf=leaf, monotonic_constraints=each).fit(rows, y) for each in (None, free))
    assert isinstance(model.committee_.voters, LinearLeaves)
    assert_array_equal(answer(model, rows), answer(without, rows))


def test_every_loss_takes_lines_or_says_why_not():
    X, y = data("numbers")
    for name, loss in REGRESSION_LOSSES.items():
        model = GradientBoostingRegressor(5, loss=name, leaf="linear", random_state=0)
        if refits(loss()):
            with pytest.raises(ValueError, match="leaf='constant'"):
                model.fit(X, np.exp(y))
        else:
            assert np.isfinite(model.fit(X, np.exp(y)).predict(X)).all()


def test_sparse_rows_have_constant_leaves():
    X, y = data("numbers")
    with pytest.raises(ValueError, match="does not go with sparse rows; set leaf='constant', or change that"):
        GradientBoostingRegressor(leaf="linear").fit(csr_array(X), y)
    model = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(csr_array(X), y)
    assert isinstance(model.committee_.voters, Forest)


@both
def test_lines_serve_numbers_alone_unless_asked_for(kind):
    X, y = data(kind)
    model = (GradientBoostingClassifier if kind == "classes" else GradientBoostingRegressor)(n_estimators=5).fit(X, y)
    assert isinstance(model.committee_.voters, Forest if kind == "classes" else LinearLeaves)
    medians = GradientBoostingRegressor(n_estimators=5, loss="absolute_error").fit(X, y)
    assert isinstance(medians.committee_.voters, Forest)


def test_categories_have_no_lines():
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b", "c"], 300)
    X = pl.DataFrame({"kind": pl.Series(kind, dtype=pl.Categorical), "size": rng.normal(size=300)})
    y = np.where(kind == "a", 1.0, -1.0) * X["size"].to_numpy()
    model = GradientBoostingRegressor(n_estimators=20, leaf="linear", random_state=0).fit(X, y)
    assert set(model.committee_.voters.lines.column.tolist()) == {1}
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("kind", "leaf", "share"), [("numbers", "auto", True), ("numbers", "constant", 2 / 3), ("classes", "auto", 2 / 3)]
)
def test_share_of_the_trees_with_random_thresholds(kind, leaf, share):
    X, y = data(kind)
    given = PLAIN | {"leaf": leaf, "learning_rate": 0.5}
    as_it_comes, set_so, other = (
        learner(kind, n_estimators=6, **given | {"extra_trees": each}).fit(X, y) for each in ("auto", share, not share)
    )
    assert_same_bits(as_it_comes, set_so, X)
    assert (answer(other, X) != answer(set_so, X)).any()
