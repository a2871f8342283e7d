"""Offsets of scores: identities of exposures, LightGBM's init_score, held-out rows, pieces, errors."""

import itertools

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.linear_model import LinearRegression, PoissonRegressor
from sklearn.model_selection import cross_validate

from committee import (
    FunctionalGradientBoostingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestRegressor,
    scan,
)
from committee.objectives.losses import Tweedie, classification_loss
from tests.gradient_cases import SMALL, answer, learner, numbers, table

LOSSES = ("squared_error", "absolute_error", "huber", "poisson", "gamma", "tweedie")


def claims(n=240, seed=0):
    """Rows, whole exposures of mean 4, and counts over them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, size=(n, 3)).astype(float)
    exposure = rng.integers(1, 8, n).astype(float)
    return X, exposure, rng.poisson(exposure * np.exp(0.4 * X[:, 0] - 0.2 * X[:, 1])).astype(float)


@pytest.mark.parametrize(("loss", "power"), [("poisson", 1.0), (Tweedie(1.5), 1.5), ("gamma", 2.0)], ids=str)
@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_totals_with_a_log_exposure_are_rates_weighted_by_powers_of_it(loss, power, leaf):
    """w (m^(2-p) - y m^(1-p)) for a total y of mean m = e r is w e^(2-p) times the same of the rate y / e and r."""
    X, e, y = claims()
    y += power == 2.0
    weights = e ** (2.0 - power)
    settings = SMALL | {"n_estimators": 4, "leaf": leaf, "max_depth": 2, "extra_trees": False}  # draws count rows
    model = GradientBoostingRegressor(loss=loss, **settings).fit(X, y, offset=np.log(e))
    of_mean = weights.mean() if power == 1.5 else 1.0  # whole weights are counts, others have a mean of 1
    settings |= {"leaf_l2": settings["leaf_l2"] / of_mean, "min_hessian_leaf": 1e-3 / of_mean}
    rates = GradientBoostingRegressor(loss=loss, **settings).fit(X, y / e, weights)
    assert_allclose(model.predict(X), rates.predict(X), rtol=1e-9)
    assert_allclose(model.predict(X, offset=np.log(e)), e * rates.predict(X), rtol=1e-9)


def claims_of_models(n=400):
    """Rows with a column of 40 car models, whose exposures and claims differ."""
    X, e, _ = claims(n)
    rng = np.random.default_rng(1)
    model = rng.integers(0, 40, n)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(d=rng.normal(size=n), model=[f"m{k}" for k in model])
    e = e * (1 + model % 3)
    return frame, e, rng.poisson(e * np.exp(0.3 * (model % 7) - 1.0)).astype(float)


def coarsely(**more):
    return SMALL | {"n_estimators": 2, "max_depth": 2, "leaf": "constant"} | more


@pytest.mark.parametrize(("loss", "power"), [("poisson", 1.0), (Tweedie(1.5), 1.5), ("gamma", 2.0)], ids=str)
def test_target_statistics_of_totals_are_those_of_rates(loss, power):
    frame, e, y = claims_of_models()
    y += power == 2.0
    weights = e ** (2.0 - power)
    weights /= weights.mean() if power == 1.5 else 1.0
    model = GradientBoostingRegressor(loss=loss, **coarsely(leaf_l2=0.0)).fit(frame, y, offset=np.log(e))
    rates = GradientBoostingRegressor(loss=loss, **coarsely(leaf_l2=0.0)).fit(frame, y / e, weights)
    ours, theirs = (np.array(each.table_.values[4].values) for each in (model, rates))
    assert np.corrcoef(ours, theirs)[0, 1] > 1 - 1e-12
    assert_allclose(model.predict(frame), rates.predict(frame), rtol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_target_statistics_of_classes_are_those_beyond_the_offset(n_classes):
    """What the offset predicts of the models is no effect of them."""
    frame = claims_of_models(600)[0]
    number = frame["model"].str[1:].to_numpy(int)
    scores = np.where(number % 2, 2.0, -2.0)
    o = scores if n_classes == 2 else np.column_stack([scores, -scores, 0.0 * scores])
    rng = np.random.default_rng(0)
    labels = (rng.logistic(size=600) < scores).astype(int)
    if n_classes == 3:
        labels = (o + rng.gumbel(size=o.shape)).argmax(axis=1)
    plain, beyond = (GradientBoostingClassifier(**coarsely()).fit(frame, labels, offset=each) for each in (0.0 * o, o))
    assert np.ptp(plain.table_.values[4].values) > 0.3
    assert np.ptp(beyond.table_.values[4].values) < 1e-9
    without = GradientBoostingClassifier(**coarsely()).fit(frame, labels)
    assert_allclose(plain.predict_proba(frame), without.predict_proba(frame), rtol=1e-7)


def test_totals_over_any_base_learner():
    """Boosted lines reach the maximum of the likelihood, which is that of weighted rates."""
    X, e, y = claims()
    boosted = FunctionalGradientBoostingRegressor("poisson", LinearRegression(), 100, learning_rate=1.0)
    peer = PoissonRegressor(alpha=0.0, tol=1e-12, max_iter=1000).fit(X, y / e, e)
    assert_allclose(boosted.fit(X, y, offset=np.log(e)).predict(X), peer.predict(X), rtol=1e-3)
    assert (np.diff(boosted.training_objectives_) <= 0.0).all()


@pytest.mark.parametrize("newton", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_equal_offsets_move_the_intercept_alone(loss, newton):
    X, z = numbers(150)
    y = np.exp(z / 2)
    model = GradientBoostingRegressor(loss=loss, newton=newton, **SMALL | {"n_estimators": 3}).fit(X, y)
    moved = GradientBoostingRegressor(loss=loss, newton=newton, **SMALL | {"n_estimators": 3})
    moved.fit(X, y, offset=np.full(len(X), 0.75))
    assert_allclose(moved.predict(X, offset=np.full(len(X), 0.75)), model.predict(X), rtol=1e-8)
    assert_allclose(moved.committee_.intercept, model.committee_.intercept - 0.75, rtol=1e-8)


@pytest.mark.parametrize(
    ("loss", "n_targets"),
    [*itertools.product(["squared_error", "absolute_error", "huber", "quantile"], [1, 2]), ("quantiles", 1)],
)
def test_offsets_of_residual_losses_are_taken_off_the_target(loss, n_targets):
    """Also off the target statistics of categories."""
    frame, _, y = claims_of_models()
    o, settings = np.random.default_rng(1).normal(size=len(y)), coarsely(n_estimators=4, loss=loss)
    if n_targets == 2:
        y, o = np.stack([y, -y], axis=1), np.stack([o, o[::-1]], axis=1)
    beyond = y - o
    if loss == "quantiles":
        settings, o = settings | {"quantile": [0.2, 0.8]}, np.stack([o, o], axis=1)
    model = GradientBoostingRegressor(**settings).fit(frame, y, offset=o)
    rest = GradientBoostingRegressor(**settings).fit(frame, beyond)
    assert_allclose(model.predict(frame), rest.predict(frame), rtol=1e-7, atol=1e-9)
    assert_allclose(model.predict(frame, offset=o), rest.predict(frame) + o, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "probit", "squared_hinge"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_intercept_is_the_best_shift_of_the_offset(loss, n_classes):
    X, y = table(200, n_classes)
    o = 0.5 * np.random.default_rng(1).normal(size=200 if n_classes == 2 else (200, 3))
    model = GradientBoostingClassifier(loss=loss, **SMALL | {"n_estimators": 1}).fit(X, y, offset=o)
    which = classification_loss(loss)

    def risk(shift):
        return which.value(y.astype(np.uint16), o.T + (shift if n_classes == 2 else shift[:, None])).sum()

    best = model.committee_.intercept
    for k in range(len(best)):
        for step in (-1e-3, 1e-3):
            moved = best.copy()
            moved[k] += step
            assert risk(moved) > risk(best)


def test_offsets_that_are_equal_for_all_classes_change_no_probability():
    X, y = table(200, 3)
    rng = np.random.default_rng(1)
    o, of_rows = rng.normal(size=(200, 3)), rng.normal(size=(200, 1))
    models = [learner("classes", n_estimators=3).fit(X, y, offset=each) for each in (o, o + of_rows)]
    one, other = (model.predict_proba(X, offset=each) for model, each in zip(models, (o, o + of_rows), strict=True))
    assert_allclose(one, other, atol=1e-6)


def test_every_method_of_predictions_takes_the_offset():
    X, y = table(150)
    o = np.random.default_rng(0).normal(size=150)
    model = learner("classes", n_estimators=3).fit(X, y, offset=o)
    score = model.decision_function(X, offset=o)
    assert_allclose(score, model.decision_function(X) + o)
    probability = 1.0 / (1.0 + np.exp(-score))
    assert_allclose(model.predict_proba(X, offset=o)[:, 1], probability)
    assert_allclose(model.predict_log_proba(X, offset=o)[:, 1], np.log(probability))
    assert_array_equal(model.predict(X, offset=o), (score > 0).astype(int))
    assert model.score(X, y, offset=o) == np.mean((score > 0) == y)
    assert model.score(X, y, y + 1.0, offset=o) == np.average((score > 0) == y, weights=y + 1.0)
    *_, staged = model.staged_decision_function(X, offset=o)
    assert_allclose(staged, score)
    *_, labels = model.staged_predict(X, offset=o)
    assert_array_equal(labels, model.predict(X, offset=o))
    *_, shares = model.staged_predict_proba(X, offset=o)
    assert_allclose(shares, model.predict_proba(X, offset=o))
    X, z = numbers(150)
    z += o
    regressor = learner("numbers", n_estimators=3).fit(X, z, offset=o)
    *_, staged = regressor.staged_predict(X, offset=o)
    assert_allclose(staged, regressor.predict(X, offset=o))
    assert regressor.score(X, z, offset=o) > regressor.score(X, z)
    assert regressor.predict(X[:1], offset=o[:1]) == regressor.predict(X[:1]) + o[:1]


@pytest.mark.parametrize("extra", [{}, {"scoring": "neg_log_loss"}, {"leaf": "constant", "subsample": 0.5}], ids=str)
@pytest.mark.parametrize("given", [True, False])
def test_held_out_losses_are_of_scores_with_their_offset(given, extra):
    X, y = table(300)
    o = 2.0 * X[:, 3] + np.random.default_rng(0).normal(size=300)
    new, y_new, o_new = X[200:], y[200:], o[200:]
    model = learner("classes", early_stopping=True, n_iter_no_change=50, **extra)
    if given:
        model.fit(X[:200], y[:200], X_val=new, y_val=y_new, offset=o[:200], offset_val=o_new)
        losses = model.validation_losses_ if not extra.get("scoring") else -model.validation_scores_
        score = model.decision_function(new, offset=o_new)
        assert_allclose(losses[-1], np.mean(np.log1p(np.exp(-np.where(y_new == 1, score, -score)))))
    else:
        model.fit(X, y, offset=o)
        losses = model.validation_losses_ if not extra.get("scoring") else -model.validation_scores_
        plain = learner("classes", early_stopping=True, n_iter_no_change=50, **extra).fit(X, y)
        assert len(losses) == model.best_iteration_
        assert plain.committee_.intercept != model.committee_.intercept


def test_a_learning_rate_by_trials_and_a_line_search_see_the_offset():
    X, y = numbers(300)
    o = 5.0 * X[:, 3]
    for extra in ({"learning_rate": "auto"}, {"line_search": True}):
        settings = SMALL | {"n_estimators": 4, "random_state": 0} | extra
        model = GradientBoostingRegressor(**settings).fit(X, y + o, offset=o)
        rest = GradientBoostingRegressor(**settings).fit(X, y)
        assert_allclose(model.predict(X), rest.predict(X), rtol=0.2 if extra.get("learning_rate") else 1e-6, atol=0.1)


def test_going_on_with_an_offset_is_one_long_fit():
    X, y = numbers(200)
    o = np.random.default_rng(0).normal(size=200)
    short = learner("numbers", n_estimators=3, warm_start=True, subsample=0.6).fit(X, y, offset=o)
    short.set_params(n_estimators=7).fit(X, y, offset=o)
    long = learner("numbers", n_estimators=7, subsample=0.6).fit(X, y, offset=o)
    assert_array_equal(short.predict(X), long.predict(X))


def test_rows_in_another_order_or_repeated_or_left_out():
    """Also rows that are alike but for their offset are drawn by it."""
    X, y = table(120)
    X, y = np.repeat(X[:60], 2, axis=0), np.repeat(y[:60], 2)
    rng = np.random.default_rng(0)
    o, w = rng.normal(size=120), rng.integers(1, 3, 120)
    order = rng.permutation(120)
    settings = {"subsample": 0.5, "n_estimators": 3, "min_samples_leaf": 1}
    model = learner("classes", **settings).fit(X, y, offset=o)
    again = learner("classes", **settings).fit(X[order], y[order], offset=o[order])
    assert_allclose(answer(again, X), answer(model, X), rtol=1e-12)
    heavy = learner("classes", **settings).fit(X, y, w, offset=o)
    repeated = learner("classes", **settings).fit(np.repeat(X, w, axis=0), np.repeat(y, w), offset=np.repeat(o, w))
    assert_allclose(answer(heavy, X), answer(repeated, X), rtol=1e-9)
    without = learner("classes", **settings).fit(X, y, np.arange(120) < 90, offset=np.where(np.arange(120) < 90, o, 99))
    assert_array_equal(answer(without, X), answer(learner("classes", **settings).fit(X[:90], y[:90], offset=o[:90]), X))


def test_sparse_rows_and_pieces():
    X, e, y = claims()
    settings = SMALL | {"n_estimators": 3}
    model = GradientBoostingRegressor(loss="poisson", **settings).fit(X, y, offset=np.log(e))
    sparse = GradientBoostingRegressor(loss="poisson", **settings).fit(csr_array(X), y, offset=np.log(e))
    assert_array_equal(sparse.predict(csr_array(X), offset=np.log(e)), model.predict(X, offset=np.log(e)))
    pieces = GradientBoostingRegressor(loss="poisson", **settings).fit(scan(X), y, offset=np.log(e))
    assert_array_equal(pieces.predict(X), model.predict(X))
    parts = scan([(X[:100], y[:100]), (X[100:], y[100:])])
    assert_array_equal(model.predict(parts, offset=np.log(e)), model.predict(X, offset=np.log(e)))
    assert model.score(parts, offset=np.log(e)) == model.score(X, y, offset=np.log(e))
    wrong = [(np.log(e)[:-1], "140 rows"), (np.append(np.log(e), 0.0), r"shape \(241,\)"), ("e", "give an array")]
    for offset, message in wrong:
        with pytest.raises(ValueError, match=message):
            model.predict(parts, offset=offset)


def test_offsets_are_routed():
    X, e, y = claims()
    with sklearn.config_context(enable_metadata_routing=True):
        model = GradientBoostingRegressor(loss="poisson", **SMALL | {"n_estimators": 3})
        model.set_fit_request(offset=True).set_score_request(offset=True)
        found = cross_validate(
            model, X, y, cv=3, params={"offset": np.log(e)}, return_estimator=True, return_indices=True
        )
    for k, each in enumerate(found["estimator"]):
        test = found["indices"]["test"][k]
        assert found["test_score"][k] == each.score(X[test], y[test], offset=np.log(e)[test])


def test_a_frame_whose_offset_has_another_order_warns():
    X, e, y = claims()
    frame = pd.DataFrame(X, columns=list("abc"))
    offset = pd.Series(np.log(e)).sample(frac=1.0, random_state=0)
    with pytest.warns(UserWarning, match="offset has the index of X in another order"):
        learner("numbers", n_estimators=1).fit(frame, y, offset=offset)
    turned = pd.Series(y).sample(frac=1.0, random_state=0)
    for kind, target in (("numbers", y), ("binary", y > 1)):
        model, moved = learner(kind, n_estimators=1).fit(frame, target), turned if kind == "numbers" else turned > 1
        with pytest.warns(UserWarning, match="y has the index of X in another order"):
            model.score(frame, moved, offset=np.log(e))


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        (np.zeros(239), r"offset has shape \(239,\) for 240 rows"),
        (np.zeros((240, 2)), r"offset has 2 numbers for each row, and a row has 1 score here; give shape \(n,\)"),
        (np.where(np.arange(240) == 3, -np.inf, 0.0), r"offset\[3\] is -inf; offsets must be finite"),
        ("exposure", "offset='exposure' names a column, but X is a ndarray"),
    ],
)
def test_wrong_offsets(offset, message):
    X, _, y = claims()
    with pytest.raises(ValueError, match=message):
        learner("numbers").fit(X, y, offset=offset)
    model = learner("numbers", n_estimators=1).fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.predict(X, offset=offset)


def test_offsets_that_go_with_no_rows_scores_or_votes():
    X, e, y = claims()
    o, held_out = np.log(e), {"X_val": X, "y_val": y}
    for kind, target, given, message in (
        ("numbers", y, held_out | {"offset": o}, "offset_val is missing"),
        ("numbers", y, held_out | {"offset_val": o}, "and offset is missing"),
        ("numbers", y, {"offset": o, "offset_val": o}, "rows of X_val, which are missing"),
        ("classes", np.arange(240) % 3, {"offset": o}, r"1 number .* and a row has 3 scores here; give shape \(n, 3\)"),
    ):
        with pytest.raises(ValueError, match=message):
            learner(kind, n_estimators=1).fit(X, target, **given)
    forest = RandomForestRegressor(2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="averages votes, and takes no offset"):
        forest.committee_.predict(X, offset=o)
