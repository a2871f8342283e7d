"""Gradient boosting that stops early, and that goes on from an earlier fit."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss

import committee
from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.learners.gradient import gradient_fit, trials
from committee.learners.gradient.leaf_values import LeafPenalty
from committee.learners.gradient.rounds import RowsInMemory
from committee.learners.gradient.trials import (
    CLASSES,
    ERRORS,
    FEW_ROUNDS,
    FEWEST_ROUNDS,
    FINER,
    LARGEST_RATE,
    MOST_ROUNDS,
    TRIAL_RATE,
    TRIAL_ROUNDS,
    WITHOUT_TRIALS,
    Pace,
    RoundSettings,
    TrialResult,
    one_row_in,
)
from tests.gradient_cases import SMALL, answer, both, data, learner, table
from tests.subjects import assert_same_bits


@both
def test_the_best_round_is_restored(kind):
    X, y = data(kind, 200)
    X_val, y_val = data(kind, 150, seed=1)
    if kind == "classes":
        y = np.where(np.random.default_rng(0).random(200) < 0.2, 1 - y, y)
    params = {"n_estimators": 60, "learning_rate": 0.5, "min_samples_leaf": 2, "leaf_l2": 1.0, "max_leaf_nodes": 31}
    model = learner(kind, early_stopping=True, n_iter_no_change=6, **params).fit(X, y, X_val=X_val, y_val=y_val)
    whole = learner(kind, **params).fit(X, y)
    loss = whole._chosen_loss()
    losses = np.array([loss.value(y_val, F).mean() for F in whole.committee_.staged_decision_function(X_val)])
    stopped = next((t for t in range(60) if t - int(losses[: t + 1].argmin()) >= 6), 59)
    best = int(losses[: stopped + 1].argmin())
    assert model.committee_.n_voters == best + 1 < 60
    assert_allclose(model.validation_losses_, losses[: best + 1], rtol=1e-12)
    assert_array_equal(model.predict(X_val), whole.committee_.select(slice(best + 1)).predict(X_val))


@pytest.mark.parametrize("n_classes", [None, 2, 3])
@pytest.mark.parametrize("draws", [{}, {"subsample": 0.7}])
@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_a_round_in_one_call_is_the_same_in_several(monkeypatch, n_classes, draws, leaf):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 3)) < 0.2, np.nan, rng.normal(size=(60, 3)))
    y = np.nan_to_num(X).sum(axis=1)
    y = y if n_classes is None else np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    kind = GradientBoostingRegressor if n_classes is None else GradientBoostingClassifier
    for more in ({}, {"early_stopping": True}, {"tree": "shared"}):  # held-out rows are in no draw
        model = kind(4, learning_rate=0.3, leaf=leaf, random_state=1, **draws, **more)
        together = clone(model).fit(X, y)
        with monkeypatch.context() as patch:
            patch.setattr(RowsInMemory, "rounds", lambda *_: None)
            assert_same_bits(together, model.fit(X, y), X)


def test_rows_that_are_watched_may_have_gaps_and_unknown_categories():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=400), "b": pd.Categorical(rng.choice(list("uvw"), size=400))})
    y = (X["a"] > 0).to_numpy().astype(int) + (X["b"] == "u").to_numpy()
    X_val = X.copy()
    X_val.loc[::3, "a"] = np.nan
    X_val["b"] = pd.Categorical(np.where(np.arange(400) % 5 == 0, "x", X["b"].astype(str)))
    X_val.loc[::7, "b"] = None
    model = GradientBoostingClassifier(n_estimators=12, min_samples_leaf=5).fit(X, y, X_val=X_val, y_val=y)
    loss = model._chosen_loss()
    scores = model.committee_.staged_decision_function(X_val)
    losses = [loss.value(y, np.ascontiguousarray(F.T)).mean() for F in scores]
    assert_allclose(model.validation_losses_, losses, rtol=1e-12)


@both
def test_rows_are_held_out(kind):
    X, y = data(kind)
    settings = {"early_stopping": True, "validation_fraction": 0.2, "n_estimators": 30}
    going_on = learner(kind, **settings, warm_start=True).fit(X, y)
    assert going_on.committee_.voters.count[0] == 240  # as they were grown
    model = learner(kind, **settings).fit(X, y)
    assert model.committee_.voters.count[0] == 300  # as they were refitted
    assert_array_equal(model.validation_losses_, going_on.validation_losses_)
    assert len(model.validation_losses_) == model.committee_.n_voters
    assert learner(kind).fit(X, y).validation_losses_ is None


@pytest.mark.parametrize("loss", ["log_loss", "squared_error", "absolute_error"])
@pytest.mark.parametrize("weighted", [False, True])
def test_leaves_are_refitted_on_all_rows(loss, weighted):
    X, y = data("classes" if loss == "log_loss" else "numbers")
    w = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    made = GradientBoostingClassifier if loss == "log_loss" else GradientBoostingRegressor
    settings = SMALL | {"early_stopping": True, "n_estimators": 12, "random_state": 0}
    model, grown = (made(loss=loss, **settings, warm_start=on).fit(X, y, w) for on in (False, True))
    forest, before = model.committee_.voters, grown.committee_.voters
    assert_array_equal(forest.feature, before.feature)
    assert_array_equal(forest.threshold, before.threshold)
    chosen, penalty = model._chosen_loss(), LeafPenalty(l2=5.0)
    ones = np.ones(len(y)) if w is None else w
    F = np.full(len(y), float(np.ravel(chosen.best_constant(y, w))[0]))
    assert_allclose(model.committee_.intercept, F[:1])
    for t, leaf in enumerate(forest.apply(X).T):
        g, h = chosen.gradient_hessian(y, F)
        weight = np.zeros(len(y))
        for i in np.unique(leaf):
            rows = leaf == i
            value = float(penalty.weight(ones[rows] @ g[rows], ones[rows] @ h[rows]))
            if loss == "absolute_error" and value:
                value = chosen.leaf_constant(y[rows] - F[rows], None if w is None else w[rows])
            weight[rows] = value
            assert_allclose(forest.weight[forest.offset[t] + i], ones[rows].sum())
        assert_allclose(forest.value[forest.offset[t] + leaf, 0], weight, rtol=1e-9, atol=1e-12)
        F += model.committee_.weights[t] * weight


@both
def test_held_out_rows_are_watched_without_early_stopping(kind):
    X, y = data(kind, 200)
    X_val, y_val = data(kind, 150, seed=1)
    model = learner(kind, n_estimators=20, learning_rate=1.0).fit(X, y, X_val=X_val, y_val=y_val)
    assert model.committee_.n_voters == len(model.validation_losses_) == 20
    assert_array_equal(answer(learner(kind, n_estimators=20, learning_rate=1.0).fit(X, y), X), answer(model, X))


@both
def test_a_validation_set_must_fit(kind):
    X, y = data(kind)
    cases = [(X, None, "X_val and y_val go together"), (X[:, :3], y, "3 features"), (X, y[:-1], "inconsistent numbers")]
    for X_val, y_val, message in cases + [(X, y + 1, "not a class of y")] * (kind == "classes"):
        with pytest.raises(ValueError, match=message):
            learner(kind, early_stopping=True).fit(X, y, X_val=X_val, y_val=y_val)


@both
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"subsample": 0.5, "max_features": 2},
        {"line_search": True},
        {"max_features_tree": 2},
        {"leaf": "linear"},
        {"tree": "per_class"},
        {"tree": "shared"},
    ],
    ids=str,
)
def test_a_warm_start_is_one_long_fit(kind, params):
    X, y = data(kind)
    if "tree" in params and kind == "classes":
        X, y = table(n_classes=3)
    elif "tree" in params:
        params, y = params | {"tree": params["tree"].replace("class", "target")}, np.column_stack([y, X[:, 0], -y])
    whole = learner(kind, n_estimators=9, **params).fit(X, y)
    parts = learner(kind, n_estimators=4, warm_start=True, **params).fit(X, y)
    assert parts.committee_.n_voters == 4
    assert parts.set_params(n_estimators=9).fit(X, y) is parts
    assert_same_bits(parts, whole, X)
    assert parts.set_params(n_estimators=9).fit(X, y).committee_.n_voters == 9


def test_a_warm_start_with_early_stopping_sees_the_earlier_rounds():
    X, y = table(noise=1.0)
    X_val, y_val = table(100, seed=1, noise=1.0)
    settings = {"early_stopping": True, "n_iter_no_change": 50, "learning_rate": 0.3}
    val = {"X_val": X_val, "y_val": y_val}
    whole = learner("classes", n_estimators=14, **settings).fit(X, y, **val)
    parts = learner("classes", n_estimators=5, warm_start=True, **settings).fit(X, y, **val)
    parts.set_params(n_estimators=14).fit(X, y, **val)
    assert_allclose(parts.validation_losses_, whole.validation_losses_, rtol=1e-12)
    assert_array_equal(parts.predict_proba(X), whole.predict_proba(X))


@both
@pytest.mark.parametrize("stored", [False, True])
def test_a_warm_start_holds_the_same_rows_out(kind, stored, tmp_path):
    """Rows that trees were grown on would say that further rounds are better than they are."""
    X, y = data(kind)
    settings = {"early_stopping": True, "n_iter_no_change": 50, "subsample": 0.7}
    whole = learner(kind, n_estimators=9, **settings, random_state=np.random.RandomState(3)).fit(X, y)
    parts = learner(kind, n_estimators=4, warm_start=True, **settings, random_state=np.random.RandomState(3)).fit(X, y)
    if stored:
        parts.set_params(random_state=None).save(tmp_path / "model")
        parts = committee.load(tmp_path / "model")
    parts.set_params(n_estimators=9).fit(X, y)
    assert parts.seed_ == whole.seed_
    assert_allclose(parts.validation_losses_, whole.validation_losses_, rtol=1e-12)
    again = parts.set_params(warm_start=False, random_state=None).fit(X, y)
    assert again.seed_ != whole.seed_


@both
def test_a_loaded_model_goes_on(kind, tmp_path):
    """Also one that was not saved with `warm_start`, of a frame with few and many categories, and missing values."""
    rng = np.random.default_rng(0)
    X, y = data(kind)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["few"], frame["many"] = rng.choice(list("xyz"), len(y)), [f"c{i}" for i in rng.integers(0, 40, len(y))]
    frame.loc[::7, ["a", "few"]] = None
    settings = {"subsample": 0.7, "max_features": 0.5, "leaf": "auto"}
    learner(kind, n_estimators=4, **settings).fit(frame, y).save(tmp_path / "model")
    parts = committee.load(tmp_path / "model").set_params(warm_start=True, n_estimators=9).fit(frame, y)
    assert_same_bits(parts, learner(kind, n_estimators=9, **settings).fit(frame, y), frame)


@both
def test_a_loaded_model_goes_on_with_new_rows(kind, tmp_path):
    """They need not have all categories of the first rows."""
    rng = np.random.default_rng(0)
    X, y = data(kind)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["few"], frame["many"] = rng.choice(list("xyz"), len(y)), [f"c{i}" for i in rng.integers(0, 40, len(y))]
    first, w = np.arange(len(y)) < 150, np.arange(len(y)) % 3
    new = (frame["few"] != "z").to_numpy() & frame["many"].isin(frame["many"][first]).to_numpy() & ~first
    typed = frame.assign(few=pd.Categorical(frame["few"], categories=list("xyz")))
    models = []
    for every in (frame, typed):
        for columns in (["a", "few"], ["a", "few", "many"]):
            start = learner(kind, n_estimators=4).fit(every.loc[first, columns], y[first])
            start.save(tmp_path / "model")
            parts = committee.load(tmp_path / "model").set_params(warm_start=True, n_estimators=9)
            parts.fit(every.loc[new, columns], y[new], w[new])
            assert parts.table_ == start.table_
            models.append((parts, every[columns]))
    for (one, rows), (other, others) in ((models[0], models[2]), (models[1], models[3])):
        assert_array_equal(answer(one, rows), answer(other, others))


def test_a_warm_start_must_fit():
    X, y = table()
    model = learner("classes", warm_start=True).fit(X, y)
    for change, rows, labels, match in (
        ({"n_estimators": 3}, X, y, "n_estimators=3 is less than the 8"),
        ({"loss": "probit"}, X, y, "link"),
        ({"n_estimators": 9}, X, y + 1, "other classes"),
        ({"n_estimators": 9}, pd.DataFrame(X, columns=list("abcd")), y, "other columns"),
        ({"n_estimators": 9, "leaf": "linear"}, X, y, "other leaves: 'constant' then, 'linear' now"),
    ):
        with pytest.raises(ValueError, match=match):
            copy.copy(model).set_params(**change).fit(rows, labels)
    assert model.set_params(warm_start=False, n_estimators=3).fit(X, y).committee_.n_voters == 3


@both
def test_too_few_rows_for_two_leaves_are_told(kind):
    X, y = data(kind)
    with pytest.warns(UserWarning, match=r"a constant: 19 training rows cannot .* min_samples_leaf=10\. Lower it"):
        model = learner(kind, min_samples_leaf=10).fit(X[:19], y[:19])
    assert len(np.unique(model.predict(X))) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner(kind, min_samples_leaf=10).fit(X[:20], y[:20])
        learner(kind, min_samples_leaf=9).fit(X[:19], y[:19])


TRIED = {"learning_rate": "auto"}


def test_noise_gets_small_steps_and_a_clear_rule_large_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    clear, noisy = (X[:, 0] > 0) ^ (X[:, 1] > 0), rng.random(600) < 0.5
    rates = [
        GradientBoostingClassifier(n_estimators=100, random_state=0).fit(X, y).learning_rate_ for y in (noisy, clear)
    ]
    assert rates[0] < 0.02
    assert rates[1] > 0.1


def test_the_rate_is_the_total_step_over_the_rounds():
    X, y = data("classes")
    few, many = (learner("classes", n_estimators=n, **TRIED).fit(X, y).learning_rate_ for n in (100, 400))
    assert few == pytest.approx(4.0 * many)
    assert learner("classes", n_estimators=1, **TRIED).fit(X, y).learning_rate_ == LARGEST_RATE
    rounds = few * 100 / (CLASSES.more_step * TRIAL_RATE)
    assert rounds == pytest.approx(round(rounds))
    assert 1 <= rounds <= TRIAL_ROUNDS


@both
def test_trials_serve_rows_that_are_not_seen(kind):
    train, test = data(kind, 300), data(kind, 2000, seed=1)
    rate = learner(kind, n_estimators=100, **TRIED).fit(*train).learning_rate_
    loss = learner(kind)._chosen_loss()

    def held_out(learning_rate):
        model = learner(kind, n_estimators=100, learning_rate=learning_rate).fit(*train)
        return float(loss.value(test[1], model.committee_.decision_function(test[0])).mean())

    assert held_out(rate) < min(held_out(4.0 * rate), held_out(rate / 4.0))


@pytest.mark.parametrize(
    "settings", [{"early_stopping": True}, {"line_search": True}, {"learning_rate": 0.3}], ids=lambda s: next(iter(s))
)
@both
def test_no_trials(kind, settings):
    X, y = data(kind)
    expected = settings.get("learning_rate", WITHOUT_TRIALS)
    assert learner(kind, **TRIED | settings).fit(X, y).learning_rate_ == expected


def test_too_few_rows_for_trials():
    X = np.arange(6.0)[:, None]
    model = GradientBoostingClassifier(n_estimators=5, min_samples_leaf=1)
    assert model.fit(X, [0, 0, 0, 1, 1, 1]).learning_rate_ == WITHOUT_TRIALS


@both
def test_a_warm_start_keeps_the_rate(kind):
    X, y = data(kind)
    model = learner(kind, n_estimators=10, warm_start=True, **TRIED).fit(X, y)
    rate = model.learning_rate_
    model.set_params(n_estimators=20).fit(X, y)
    assert model.learning_rate_ == rate
    assert_array_equal(model.committee_.weights, rate)


def test_small_steps_are_tried_where_a_few_large_ones_fit_all_rows(monkeypatch):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(1150, 1000))
    y = X[:, :4].sum(axis=1) + 0.5 * rng.normal(size=1150) > 0.0
    learner = GradientBoostingClassifier(
        subsample=0.7, max_features=0.5, max_leaf_nodes=15, min_samples_leaf=5, max_bins=32, random_state=0
    )
    model = clone(learner).fit(X[:150], y[:150])
    large, small = model.trials_["rounds"]
    assert large <= FEW_ROUNDS and small * FINER == round(small * FINER) > large
    assert model.trials_["loss"][1] < model.trials_["loss"][0]
    assert_allclose(model.learning_rate_ * model.n_estimators_, CLASSES.more_step * TRIAL_RATE * small)
    monkeypatch.setattr(trials, "FEW_ROUNDS", 0)
    without = learner.fit(X[:150], y[:150])
    assert without.trials_["rounds"] == [large]
    losses = [log_loss(y[150:], fit.predict_proba(X[150:])) for fit in (model, without)]
    assert losses[0] < 0.95 * losses[1]


@pytest.mark.parametrize(("best", "rounds"), [(5, 200), (75, 360), (150, 720), (400, 1000)])
def test_rounds_are_as_many_as_the_best_total_step_takes(best, rounds):
    settings, curve = RoundSettings(15, 1.0, 0), np.r_[np.arange(best, 0.0, -1.0), 0.0].tolist()
    result = TrialResult(settings, curve, np.zeros(1), np.ones(1))
    assert CLASSES.most_rounds(result) == rounds
    assert_allclose(CLASSES.learning_rate(result, rounds) * rounds, CLASSES.more_step * TRIAL_RATE * best)


@pytest.mark.parametrize(
    ("n", "n_classes", "one_in"),
    [
        (100_000, 8, 4),
        (50_000, 8, 2),
        (49_999, 100, 1),
        (100_000, 3, 1),
        (10**6, 2, 1),
        (10**6, None, 1),
        (10**6, 3, 15),
    ],
)
def test_trials_of_many_rows_and_classes_take_a_sample(n, n_classes, one_in):
    assert one_row_in(n, n_classes) == one_in


def test_sampled_trials_take_larger_total_steps_and_fewer_rounds():
    pace, before = Pace.of(4, 4), Pace.of(4, 1)
    trial = TrialResult(RoundSettings(15, 1.0, 0), [2.0, *np.arange(1.0, 0.0, -0.1)], np.zeros(1), np.ones(1))
    assert before is CLASSES and before.most_rounds(trial) == 200 and pace.most_rounds(trial) == 100
    assert_allclose(pace.total_step(trial) / before.total_step(trial), 4**0.38)


@pytest.mark.parametrize("weights", [None, np.arange(605) % 3])
def test_a_fit_by_sampled_trials(weights, monkeypatch):
    sizes = []

    def recorded(rows, units, own=gradient_fit.rows_of_trials):
        sizes.append(np.bincount(rows.labels, rows.weights))
        return own(rows, units)

    monkeypatch.setattr(gradient_fit, "one_row_in", lambda n, n_classes: 6)
    monkeypatch.setattr(gradient_fit, "rows_of_trials", recorded)
    X, y = table(605, 3)
    y[600:] = 3
    model = GradientBoostingClassifier(max_leaf_nodes="auto", random_state=0).fit(X, y, weights)
    assert model.n_estimators_ == 100 and len(model.trials_["loss"]) == 2  # more leaves are not tried
    expected = np.bincount(y, weights) / [6, 6, 6, 1]  # a class of fewer rows than parts is in the sample
    assert_allclose(sizes, expected[None], atol=1.0)


@pytest.mark.parametrize(("n", "most"), [(None, 150), (1, 10), (48, 50), (100, 75), (200, 75), (300, 112), (1000, 150)])
def test_rounds_of_trials(n, most):
    assert CLASSES.most_trial_rounds(n) == most


def test_rounds_of_the_table():
    X, y = factorial()
    model = GradientBoostingClassifier(random_state=0, warm_start=True, max_leaf_nodes=7).fit(X[:300], y[:300])
    assert model.n_estimators_ == len(model.committee_.weights) > 200
    assert_allclose(model.learning_rate_, 0.1, rtol=0.01)
    assert model.fit(X[:300], y[:300]).n_estimators_ == len(model.committee_.weights)  # nothing is added


@pytest.mark.parametrize(("settings", "rounds"), [({}, FEWEST_ROUNDS), ({"early_stopping": True}, MOST_ROUNDS)])
def test_rounds_without_trials(settings, rounds):
    X, y = data("classes", 40)
    shape = {
        "max_leaf_nodes": 2,
        "n_iter_no_change": 2000,
        "learning_rate": 1e-4,
        "subsample": 1.0,
        "max_features": None,
    }
    model = GradientBoostingClassifier(random_state=0, **shape | settings).fit(X, y)
    assert model.n_estimators_ == rounds


def factorial(seed=0):
    """All combinations of six columns' levels; a class is a rule of four of them."""
    X = np.array(list(np.ndindex(3, 4, 3, 4, 3, 4)), dtype=float)
    y = (X[:, 0] + X[:, 1] > 3) ^ ((X[:, 2] == 1) & (X[:, 3] > 1))
    order = np.random.default_rng(seed).permutation(len(y))[:900]
    return X[order], y[order]


def test_a_rule_of_all_rows_and_columns_is_tried_and_taken():
    X, y = factorial()
    test, train = np.arange(300), np.arange(300, 900)
    params = {"n_estimators": 60, "random_state": 0, "max_leaf_nodes": 15}
    model = GradientBoostingClassifier(**params).fit(X[train], y[train])
    assert (model.subsample_, model.max_features_, model.max_leaf_nodes_) == (1.0, 0, 15)
    assert model.trials_["subsample"] == [0.7, 1.0] and model.trials_["max_features"] == [3, 0]
    assert model.trials_["gain"][1] > ERRORS * model.trials_["standard_error"][1] > 0.0
    drawn = GradientBoostingClassifier(**params, subsample=0.7, max_features=0.5).fit(X[train], y[train])
    assert (drawn.subsample_, drawn.max_features_, len(drawn.trials_["loss"])) == (0.7, 3, 1)
    assert log_loss(y[test], model.predict_proba(X[test])) < log_loss(y[test], drawn.predict_proba(X[test]))


def test_noise_is_drawn_from():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 6)), rng.random(600) < 0.5
    model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(X, y)
    assert (model.subsample_, model.max_features_, model.max_leaf_nodes_) == (0.7, 3, 15)


def test_trees_grow_where_the_target_has_many_interactions():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, size=(2000, 3)).astype(float)
    y = rng.normal(size=(8, 8, 8))[tuple(X.astype(int).T)] + 0.5 * rng.normal(size=2000)
    model = GradientBoostingRegressor(n_estimators=20, leaf="constant", leaf_l2=1.0, random_state=0).fit(X, y)
    assert model.max_leaf_nodes_ == 63 and model.trials_["max_leaf_nodes"] == [15, 31, 63]
    few = GradientBoostingRegressor(n_estimators=20, leaf="constant", leaf_l2=1.0, random_state=0).fit(X[:300], y[:300])
    assert few.max_leaf_nodes_ == 15


@pytest.mark.parametrize("weighted", [False, True])
def test_a_gain_has_the_error_of_a_mean_of_differences(weighted):
    rng = np.random.default_rng(0)
    losses, times = rng.exponential(size=(2, 40)), rng.integers(0, 4, 40) if weighted else np.ones(40, dtype=int)
    first, other = (TrialResult(RoundSettings(15, 1.0, 0), [1.0], each, times.astype(float)) for each in losses)
    repeated = np.repeat(losses[0] - losses[1], times)
    gain, error = other.gain_on(first)
    assert gain == pytest.approx(repeated.mean())
    assert error == pytest.approx(repeated.std() / np.sqrt(len(repeated)))


def test_a_warm_start_and_a_file_keep_the_settings(tmp_path):
    X, y = factorial()
    model = GradientBoostingClassifier(n_estimators=8, random_state=0, warm_start=True).fit(X, y)
    kept = model.max_leaf_nodes_, model.subsample_, model.max_features_
    model.save(tmp_path / "model")
    loaded = committee.load(tmp_path / "model")
    assert loaded.trials_ == model.trials_ and kept[1:] == (1.0, 0)
    for each in (model, loaded):
        each.set_params(n_estimators=12, warm_start=True).fit(X, y)
        assert (each.max_leaf_nodes_, each.subsample_, each.max_features_) == kept
    assert_same_bits(model, loaded, X)


def test_breast_cancer_without_a_knob():
    X, y = load_breast_cancer(return_X_y=True)
    test = np.arange(1, len(y), 2)
    losses = []
    for seed in range(3):
        shares = GradientBoostingClassifier(random_state=seed).fit(X[::2], y[::2]).predict_proba(X[test])
        losses.append(-np.log(shares[np.arange(len(test)), y[test]]).mean())
    assert np.mean(losses) < 0.18  # LightGBM as it comes: 0.193
    assert GradientBoostingRegressor(random_state=0).fit(X[::2, 1:], X[::2, 0]).score(X[test, 1:], X[test, 0]) > 0.95
