"""Gradient boosting of several targets: one tree for all of them in each round, or one for each."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.multioutput import MultiOutputRegressor

import committee
from committee import GradientBoostingClassifier, GradientBoostingRegressor, QuadBoostRegressor
from committee.objectives.losses import Huber
from tests.gradient_cases import SMALL, numbers, seeds


def targets(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three targets, of which two have columns in common."""
    rng = np.random.default_rng(seed)
    X, y = numbers(n, seed)
    return X, np.column_stack(
        [y, X[:, 0] - X[:, 3] + 0.3 * rng.normal(size=n), X[:, 1] ** 2 + 0.3 * rng.normal(size=n)]
    )


def boosting(**params: object) -> GradientBoostingRegressor:
    return GradientBoostingRegressor(**(SMALL | {"n_estimators": 8, "random_state": 0} | params))


def dispersion(loss, Y):
    """Of each target, by its gradients and hessians at the best constant."""
    found = []
    for y in Y.T:
        g, h = loss.gradient_hessian(y, np.full(len(y), loss.best_constant(y).item()))
        found.append((g**2).sum() / h.sum())
    return np.array(found)


both_trees = pytest.mark.parametrize("tree", ["shared", "per_target"])


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "poisson", "quantile"])
def test_trees_of_their_own_are_those_of_separate_fits(loss):
    X, Y = targets()
    Y = np.exp(0.2 * Y) if loss == "poisson" else Y
    w = np.random.default_rng(1).exponential(size=len(X))
    together = boosting(loss=loss, tree="per_target").fit(X, Y, w).predict(X)
    for y, predicted in zip(Y.T, together.T, strict=True):
        assert_allclose(predicted, boosting(loss=loss).fit(X, y, w).predict(X), rtol=0, atol=1e-9)


def test_trials_and_draws_are_common_to_all_targets():
    X, Y = targets(600)
    model = GradientBoostingRegressor(n_estimators=100, random_state=0, tree="per_target").fit(X[:400], Y[:400])
    apart = MultiOutputRegressor(GradientBoostingRegressor(n_estimators=100, random_state=0)).fit(X[:400], Y[:400])
    assert model.score(X[400:], Y[400:]) > apart.score(X[400:], Y[400:]) - 0.02


@given(seed=seeds)
@settings(max_examples=20)
def test_a_target_twice_changes_no_tree(seed):
    X, y = numbers(seed=seed)
    one, two = boosting().fit(X, y), boosting(tree="shared").fit(X, np.column_stack([y, y]))
    assert_allclose(two.predict(X), np.column_stack([one.predict(X)] * 2), rtol=0, atol=1e-9)


@given(seed=seeds)
@settings(max_examples=20)
def test_a_constant_target_stays_what_it_is(seed):
    X, y = numbers(seed=seed)
    Y = boosting(tree="shared").fit(X, np.column_stack([y, np.full(len(y), 7.0)])).predict(X)
    assert_allclose(Y[:, 0], boosting().fit(X, y).predict(X), rtol=0, atol=1e-9)
    assert_array_equal(Y[:, 1], 7.0)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_the_units_of_targets_do_not_matter(loss):
    X, Y = targets()
    units = np.array([1.0, 2.0**40, 2.0**-30])
    plain, other = (boosting(loss=loss, tree="shared").fit(X, y) for y in (Y, units * Y))
    assert_allclose(other.predict(X) / units, plain.predict(X), rtol=1e-9)
    assert_array_equal(other.committee_.voters.feature, plain.committee_.voters.feature)


def test_targets_have_trees_of_their_own_unless_told_and_quantiles_share():
    X, Y = targets()
    assert_array_equal(boosting().fit(X, Y).predict(X), boosting(tree="per_target").fit(X, Y).predict(X))
    quantiles = {"loss": "quantile", "quantile": [0.2, 0.8]}
    shared = boosting(tree="shared", **quantiles).fit(X, Y[:, 0])
    assert_array_equal(boosting(**quantiles).fit(X, Y[:, 0]).predict(X), shared.predict(X))


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", Huber(50.0)])
def test_directions_hold_in_any_units(loss):
    X, Y = targets()
    model = boosting(loss=loss, tree="per_target", monotonic_constraints=[1, 0, 0, 0], n_estimators=20)
    model.fit(X, Y * np.array([1.0, 100.0, 0.01]))
    rows = np.repeat(X[:1], 50, axis=0)
    rows[:, 0] = np.linspace(-3.0, 3.0, 50)
    said = model.predict(rows)
    assert (np.diff(said, axis=0) >= 0.0).all()
    assert (np.ptp(said[:, :2], axis=0) > 0.0).all()


def test_shared_trees_are_not_far_behind_separate_fits():
    X, Y = targets(900)
    shared = GradientBoostingRegressor(tree="shared", random_state=0).fit(X[:600], Y[:600])
    apart = MultiOutputRegressor(GradientBoostingRegressor(random_state=0)).fit(X[:600], Y[:600])
    assert shared.score(X[600:], Y[600:]) > apart.score(X[600:], Y[600:]) - 0.04
    assert shared.committee_.n_nodes < sum(each.committee_.n_nodes for each in apart.estimators_) / 2


@both_trees
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", Huber(0.5)])
def test_losses_of_held_out_rows_add_up(tree, loss):
    X, Y = targets()
    model = boosting(tree=tree, loss=loss).fit(X[:200], Y[:200], X_val=X[200:], y_val=Y[200:])
    chosen = model._chosen_loss()
    of_each = chosen.value(Y[200:], model.predict(X[200:])).mean(axis=0)
    assert_allclose(model.validation_losses_[-1], (of_each / dispersion(chosen, Y[:200])).sum(), rtol=0.1)


@both_trees
def test_line_search_never_raises_the_objective(tree):
    X, Y = targets()
    model = boosting(tree=tree, line_search=True).fit(X, Y)
    assert (np.diff(model.training_objectives_) < 0).all()
    assert_allclose(model.training_objectives_[0], 3 / 2, rtol=0.1)  # half of each target's variance over itself


@both_trees
def test_early_stopping_keeps_rounds_and_refits_leaves(tree):
    X, Y = targets(600)
    for scoring in (None, "r2"):
        model = boosting(tree=tree, n_estimators=300, learning_rate=0.5, early_stopping=True, scoring=scoring)
        model.fit(X[:400], Y[:400])
        assert model.committee_.n_voters < 300
        assert model.score(X[400:], Y[400:]) > 0.7


@both_trees
def test_warm_start_goes_on(tree):
    X, Y = targets()
    long = boosting(tree=tree, n_estimators=8).fit(X, Y)
    short = boosting(tree=tree, n_estimators=3, warm_start=True).fit(X, Y)
    assert_array_equal(short.set_params(n_estimators=8).fit(X, Y).predict(X), long.predict(X))
    with pytest.raises(ValueError, match="other number of scores: 3 then, 2 now"):
        short.set_params(n_estimators=9).fit(X, Y[:, :2])


@both_trees
def test_contributions_add_up(tree):
    X, Y = targets()
    model = boosting(tree=tree).fit(X, Y)
    contributions = model.contributions(X)
    assert contributions.shape == (len(X), X.shape[1] + 1, 3)
    assert_allclose(contributions.sum(axis=1), model.predict(X), atol=1e-9)


@both_trees
def test_checkpoint_and_file_hold_all_targets(tree, tmp_path):
    X, Y = targets()
    model = boosting(tree=tree).fit(X, Y)
    kept = boosting(tree=tree).fit(X, Y, checkpoint=tmp_path / "checkpoint")
    again = boosting(tree=tree).fit(X, Y, checkpoint=tmp_path / "checkpoint")
    model.save(tmp_path / "model")
    for other in (kept, again, committee.load(tmp_path / "model")):
        assert_array_equal(other.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="checkpoint"):
        boosting(tree=tree).fit(X, Y[:, ::-1], checkpoint=tmp_path / "checkpoint")


def test_targets_come_as_frames_and_lists():
    X, Y = targets()
    model = boosting().fit(X, Y)
    for same in (pd.DataFrame(Y), Y.tolist(), np.asfortranarray(Y), Y.astype(object)):
        assert_array_equal(boosting().fit(X, same).predict(X), model.predict(X))
    with pytest.warns(UserWarning, match="column-vector"):
        assert boosting().fit(X, Y[:, :1]).predict(X).shape == (len(X),)


def test_a_function_as_loss_sees_one_target_at_a_time():
    X, Y = targets()

    def squared(y, F):
        assert y.shape == F.shape == (len(X),)
        return F - y, np.ones_like(F)

    model = boosting(loss=squared).fit(X, Y)
    assert_allclose(model.predict(X), boosting().fit(X, Y).predict(X))


def test_levels_of_many_stand_on_one_axis():
    rng = np.random.default_rng(0)
    town, x = rng.integers(60, size=900), rng.normal(size=900)
    effect = rng.normal(size=(60, 1)) * np.array([1.0, -2.0, 0.0])
    Y = effect[town] + x[:, None] * np.array([1.0, 0.0, 2.0]) + rng.normal(size=(900, 3))
    noise = rng.integers(200, size=900)
    X = pd.DataFrame({"town": [f"t{k}" for k in town], "noise": [f"n{k}" for k in noise], "x": x})
    model = GradientBoostingRegressor(random_state=0).fit(X[:600], Y[:600])
    apart = MultiOutputRegressor(GradientBoostingRegressor(random_state=0)).fit(X[:600], Y[:600])
    assert model.score(X[600:], Y[600:]) > apart.score(X[600:], Y[600:]) - 0.02
    said = np.array(model.table_.values[0].values)
    order = [int(level[1:]) for level in model.table_.categories[0]]
    assert abs(np.corrcoef(said, effect[order, 0])[0, 1]) > 0.9
    assert len(set(model.table_.values[1].values)) == 1  # of levels that say nothing


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            boosting(loss="quantile", quantile=[0.1, 0.9]),
            "2 numbers of one target, and y has 3 columns.*MultiOutputReg",
        ),
        (boosting(loss="poisson"), r"y\[0, 1\] is -.*poisson loss needs targets in \[0, inf\)"),
        (boosting(tree="shared", monotonic_constraints=[1, 0, 0, 0]), "needs a tree for each score"),
        (QuadBoostRegressor(), "y has 3 columns, and this learner predicts one number a row; .*MultiOutputRegressor"),
        (GradientBoostingClassifier(), "y has 3 columns, but classes are one label a row; .*MultiOutputClassifier"),
    ],
)
def test_what_is_not_of_several_targets_says_what_is(model, message):
    X, Y = targets()
    Y = np.rint(np.abs(Y)).astype(int)
    Y[0, 1] = -1
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)


def test_bad_targets_are_named_by_row_and_column():
    X, Y = targets()
    for bad, message in ((np.nan, "row 5 has no number"), (np.inf, r"y\[5, 2\] is inf")):
        Y[5, 2] = bad
        with pytest.raises(ValueError, match=message):
            boosting().fit(X, Y)
    X, Y = targets()
    with pytest.raises(ValueError, match="y_val has 2 columns, and y has 3"):
        boosting().fit(X, Y, X_val=X, y_val=Y[:, :2])
    with pytest.raises(ValueError, match="squares of y exceed"):
        boosting().fit(X, 5e149 * Y / np.abs(Y).max(), np.full(len(X), 1e10))
