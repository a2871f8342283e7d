"""Leaf weights and split gains under penalties against a fine grid, lines in leaves, and refits on other rows."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from committee import GradientBoostingClassifier, GradientBoostingRegressor, _core, scan
from committee.learners.gradient.leaf_values import LeafPenalty
from committee.learners.gradient.target import refits
from committee.objectives.losses import REGRESSION_LOSSES
from committee.voters.forest import Forest
from committee.voters.rounds import LinearLeaves
from tests.core.checked_tree import grown
from tests.gradient_cases import PLAIN, SMALL, answer, both, data, learner, numbers, seeds, table
from tests.oracles.linear_boost import added, lines_of_a_leaf
from tests.subjects import assert_same_bits

ON_OR_OFF = [0.0, 0.7, 3.0]
PENALTIES = [LeafPenalty(*prices) for prices in itertools.product(ON_OR_OFF, repeat=3)]
amounts = st.sampled_from([0.0]) | st.floats(0.01, 5.0)
penalties = st.builds(LeafPenalty, amounts, amounts, amounts, st.booleans())
gradients, hessians = st.floats(-20.0, 20.0), st.floats(0.1, 10.0)
limits = st.tuples(st.floats(-4.0, 4.0), st.floats(0.0, 4.0)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def objective(penalty, G, H, w):
    counted = np.ones_like(w) if penalty.per_leaf else w != 0
    return G * w + 0.5 * H * w**2 + penalty.l0 * counted + penalty.l1 * np.abs(w) + 0.5 * penalty.l2 * w**2


def least(penalty, G, H, lower=-np.inf, upper=np.inf):
    reach = abs(G) / H + 0.1
    grid = np.linspace(max(-reach, lower), min(reach, upper), 4001) if -reach < upper and reach > lower else []
    ends = [end for end in (lower, upper, 0.0) if np.isfinite(end) and lower <= end <= upper]
    return float(objective(penalty, G, H, np.concatenate([grid, ends])).min())


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
    assert 1 not in fitted_lines(X, leaf, rows, g, h, l2, numeric=(1, 0, 1))[1]
    start, column, *found = fitted_lines(X, leaf, rows, g, h, l2)
    assert_array_equal(np.diff(start), [len(PATHS.get(node, [])) for node in range(7)])
    for node, path in PATHS.items():
        mine = slice(start[node], start[node + 1])
        assert column[mine].tolist() == path
        of_leaf = rows[leaf[rows] == node]
        for k in range(2):
            expected = lines_of_a_leaf(X[of_leaf][:, path], g[k, of_leaf], h[k, of_leaf], l2)
            got = found[0][mine, k], found[1][mine, k], found[2][mine], found[3][mine]
            for part, wanted in zip(got, expected, strict=True):
                assert_allclose(part, wanted, rtol=1e-6, atol=1e-9)


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


@both
def test_early_stopping_refits_the_lines_on_all_rows(kind):
    X, y = data(kind)
    first = learner(kind, leaf="linear", n_estimators=50, early_stopping=True).fit(X, y).committee_.voters[0]
    assert first.forest.count[0] == len(X)
    lines, leaf = first.lines, first.forest.apply(X)[:, 0]
    for node in np.flatnonzero(np.diff(lines.start)):
        of_node = slice(lines.start[node], lines.start[node + 1])
        assert_array_equal(lines.low[of_node], X[leaf == node][:, lines.column[of_node]].min(axis=0))


@pytest.mark.parametrize("params", [{"line_search": True}, {"monotonic_constraints": [1, 0, 0, 0]}, {}], ids=str)
def test_what_does_not_go_with_lines_is_named_and_has_constants(params):
    X, y = data("numbers")
    X = X if params else csr_array(X)
    with pytest.raises(ValueError, match=f"not go with {next(iter(params), 'sparse rows')}.*; set leaf='constant', or"):
        GradientBoostingRegressor(leaf="linear", **params).fit(X, y)
    model = GradientBoostingRegressor(n_estimators=5, random_state=0, **params).fit(X, y)
    assert isinstance(model.committee_.voters, Forest)
    assert isinstance(GradientBoostingClassifier(n_estimators=5).fit(*data("classes")).committee_.voters, Forest)


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
            assert isinstance(model.set_params(leaf="auto").fit(X, np.exp(y)).committee_.voters, Forest)
        else:
            assert np.isfinite(model.fit(X, np.exp(y)).predict(X)).all()


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


# --- refits on other rows ---------------------------------------------------------------------------------------------


REFITTED: list[tuple[str, dict]] = [
    *(("numbers", {"leaf": leaf}) for leaf in ("linear", "constant")),
    ("numbers", {"loss": "absolute_error"}),
    ("numbers", {"newton": False, "line_search": True}),
    ("numbers", {"max_delta_step": 0.5}),
    ("numbers", {"loss": "quantile", "quantile": [0.2, 0.8]}),
    ("numbers", {"leaf_l0": 0.5, "leaf_l1": 0.5}),
    *((kind, each) for kind in ("two", "three") for each in ({}, {"tree": "shared"}, {"loss": "exponential"})),
    *(
        ("targets", {"tree": tree, "leaf": leaf, "early_stopping": True, "n_iter_no_change": 3})
        for tree in ("shared", "per_target")
        for leaf in ("constant", "linear")
    ),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("kind", "settings"), REFITTED, ids=str)
def test_the_training_rows_give_the_trained_leaves(kind, settings, weighted):
    """Also those of kept rounds: a stopped fit has refitted its leaves on all rows."""
    X, y = table(150, 2 + (kind == "three")) if kind in ("two", "three") else numbers(150)
    w, o = np.random.default_rng(0).integers(0, 4, 150) if weighted else None, None
    if kind == "targets":
        y, o = np.stack([y, 100.0 * X[:, 1] ** 2], axis=1), np.tile(X[:, 2:3], 2)
    elif kind != "numbers":
        y, settings = np.array(["a", "b", "c"])[y], settings | {"class_weight": "balanced"}
    of = "classes" if kind in ("two", "three") else "numbers"
    model = learner(of, **{"n_estimators": 4} | settings).fit(X, y, w, offset=o)
    again = model.refit(X, y, w, offset=o, decay_rate=0.0)
    assert_allclose(answer(again, X), answer(model, X), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_the_first_round_of_a_refit_is_a_mixture(leaf):
    """Later rounds follow the mixed scores."""
    X, y = numbers(300)
    old, new = slice(0, 150), slice(150, None)
    model = learner("numbers", n_estimators=1, leaf=leaf).fit(X[old], y[old])
    fresh = model.refit(X[new], y[new], decay_rate=0.0)
    assert_allclose(model.refit(X[new], y[new], decay_rate=1.0).predict(X), model.predict(X), rtol=1e-12)
    mixed = model.refit(X[new], y[new], decay_rate=0.3)
    start = [each.committee_.intercept for each in (model, fresh, mixed)]
    assert_allclose(start[2], 0.3 * start[0] + 0.7 * start[1])
    # of the squared error the new leaves at the mixed intercept: their hessians are those of the rows
    forest = getattr(model.committee_.voters, "forest", model.committee_.voters)
    leaves, residual = forest.apply(X[new])[:, 0], y[new] - start[2]
    for i in np.flatnonzero(forest.feature < 0).tolist():
        rows = leaves == i
        own = residual[rows].sum() / (rows.sum() + 5.0) if rows.any() else forest.value[i, 0]
        value = getattr(mixed.committee_.voters, "forest", mixed.committee_.voters).value[i, 0]
        assert_allclose(value, 0.3 * forest.value[i, 0] + 0.7 * own, rtol=1e-9, atol=1e-12)


def test_refits_with_leaves_without_rows_and_rows_without_weight(tmp_path):
    X, y = table(200)
    model = learner("classes", n_estimators=3).fit(X, y)
    low = X[:, 0] < 0.0
    one = model.refit(X[low], y[low], decay_rate=0.5)
    other = model.refit(X, y, low, decay_rate=0.5)
    assert_array_equal(answer(one, X), answer(other, X))
    one.save(tmp_path / "model.safetensors")
    forest, before = one.committee_.voters, model.committee_.voters
    untouched = np.ones(len(forest.feature), dtype=bool)
    for t, leaves in enumerate(forest.apply(X[low]).T):
        untouched[forest.offset[t] + np.unique(leaves)] = False
    assert_array_equal(forest.value[untouched], before.value[untouched])
    assert not np.allclose(forest.value, before.value)


def test_refits_on_frames_and_sparse_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=150), "b": pd.Categorical(rng.choice(list("xyz"), 150))})
    frame["y"] = frame["a"] + (frame["b"] == "x")
    model = learner("numbers", n_estimators=3).fit(frame, "y")
    assert_allclose(
        model.refit(frame, "y", decay_rate=0.0).predict(frame[["a", "b"]]), model.predict(frame[["a", "b"]])
    )
    X, y = table(150)
    dense = learner("classes", n_estimators=3).fit(X, y)
    sparse = learner("classes", n_estimators=3).fit(csr_array(X), y).refit(csr_array(X[:90]), y[:90])
    assert_allclose(sparse.decision_function(csr_array(X)), answer(dense.refit(X[:90], y[:90]), X), rtol=1e-12)


def test_refits_that_are_refused():
    X, y = table(150)
    model, number = (learner(kind, n_estimators=2).fit(X, y) for kind in ("classes", "numbers"))
    bound = learner("classes", n_estimators=2, monotonic_constraints=[1, 0, 0, 0]).fit(X, y)
    with pytest.warns(UserWarning, match="one class"):
        constant = learner("classes").fit(X, np.zeros(150))
    for each, rows, labels, message in (
        (model, X, np.where(y == 1, 7, y), r"^y holds 7, which is not a class of the model; its classes are \[0, 1\]"),
        (number, X, np.where(y == 1, np.nan, y), r"^Input y contains NaN"),
        (number, X, np.c_[y, y], r"^y has 2 targets for each row, and the model predicts 1"),
        (bound, X, y, "could break monotonic_constraints"),
        (model, scan(X), y, "X is read in pieces"),
        (constant, X, np.zeros(150), "this model has one class"),
    ):
        with pytest.raises(ValueError, match=message):
            each.refit(rows, labels)
    with pytest.raises(ValueError, match=r"decay_rate is 1.5; it must be a number from 0 to 1"):
        model.refit(X, y, decay_rate=1.5)


def test_a_refitted_model_stays_as_it_was():
    X, y = table(150)
    model = GradientBoostingClassifier(**SMALL, n_estimators=3, random_state=0).fit(X, y, X_val=X, y_val=y)
    before, losses = answer(model, X), model.validation_losses_
    renewed = model.refit(X[:100], y[:100])
    assert_array_equal(answer(model, X), before)
    assert model.validation_losses_ is losses and not hasattr(renewed, "validation_losses_")
    assert renewed.get_params() == model.get_params()
