"""Trials of gradient boosting: settings that they choose, trials that follow a scorer, and what files hold of them."""

import math
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer, log_loss

from committee import GradientBoostingClassifier, GradientBoostingRegressor, load
from committee.learners.gradient import gradient_fit, trials
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
    TrialScore,
    one_row_in,
)
from tests.golden.write import FOLDER
from tests.gradient_cases import both, data, learner, table
from tests.model_files import craft, forget, refused, tell
from tests.subjects import assert_same_bits, noisy_scores, numbers

TRIED = {"learning_rate": "auto"}


def test_noise_gets_small_steps_of_drawn_rows_and_a_clear_rule_large_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    targets = rng.random(600) < 0.5, (X[:, 0] > 0) ^ (X[:, 1] > 0)
    noisy, clear = (GradientBoostingClassifier(n_estimators=100, random_state=0).fit(X, y) for y in targets)
    assert noisy.learning_rate_ < 0.02 and clear.learning_rate_ > 0.1
    assert (noisy.subsample_, noisy.max_features_, noisy.max_leaf_nodes_) == (0.7, 2, 15)


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


@pytest.mark.parametrize("settings", [{"early_stopping": True}, {"line_search": True}, {"learning_rate": 0.3}], ids=str)
@both
def test_no_trials(kind, settings):
    expected = settings.get("learning_rate", WITHOUT_TRIALS)
    assert learner(kind, **TRIED | settings).fit(*data(kind)).learning_rate_ == expected


def test_too_few_rows_for_trials():
    X = np.arange(6.0)[:, None]
    model = GradientBoostingClassifier(n_estimators=5, min_samples_leaf=1)
    assert model.fit(X, [0, 0, 0, 1, 1, 1]).learning_rate_ == WITHOUT_TRIALS


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


def result(losses, curve=(1.0,), weights=(1.0,)):
    return TrialResult(RoundSettings(15, 1.0, 0), list(curve), np.asarray(losses), np.asarray(weights))


@pytest.mark.parametrize(("best", "rounds"), [(5, 200), (75, 360), (150, 720), (400, 1000)])
def test_rounds_are_as_many_as_the_best_total_step_takes(best, rounds):
    trial = result([0.0], [*np.arange(best, 0.0, -1.0), 0.0])
    assert CLASSES.most_rounds(trial) == rounds
    assert_allclose(CLASSES.learning_rate(trial, rounds) * rounds, CLASSES.more_step * TRIAL_RATE * best)


def test_trials_of_many_rows_and_classes_take_a_sample_larger_total_steps_and_fewer_rounds():
    tables = [(100_000, 8), (50_000, 8), (49_999, 100), (100_000, 3), (10**6, 2), (10**6, None), (10**6, 3)]
    assert [one_row_in(*each) for each in tables] == [4, 2, 1, 1, 1, 1, 15]
    pace, before, trial = Pace.of(4, 4), Pace.of(4, 1), result([0.0], [2.0, *np.arange(1.0, 0.0, -0.1)])
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
    settings = settings | {"max_leaf_nodes": 2, "n_iter_no_change": 2000, "learning_rate": 1e-4}
    model = GradientBoostingClassifier(random_state=0, subsample=1.0, max_features=None, **settings)
    assert model.fit(*data("classes", 40)).n_estimators_ == rounds


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
    repeated = np.repeat(losses[0] - losses[1], times)
    gain, error = result(losses[1], weights=times).gain_on(result(losses[0], weights=times))
    assert gain == pytest.approx(repeated.mean())
    assert error == pytest.approx(repeated.std() / np.sqrt(len(repeated)))


def test_a_warm_start_and_a_file_keep_the_settings(tmp_path):
    X, y = factorial()
    model = GradientBoostingClassifier(n_estimators=8, random_state=0, warm_start=True).fit(X, y)
    kept = model.max_leaf_nodes_, model.subsample_, model.max_features_, model.learning_rate_
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.trials_ == model.trials_ and kept[1:3] == (1.0, 0)
    for each in (model, loaded):
        each.set_params(n_estimators=12, warm_start=True).fit(X, y)
        assert (each.max_leaf_nodes_, each.subsample_, each.max_features_, each.learning_rate_) == kept
        assert_array_equal(each.committee_.weights, each.learning_rate_)
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


# --- trials that follow a scorer -------------------------------------------------------------------------------------

FEW = {"min_samples_leaf": 4, "random_state": 0, "n_estimators": 20}


def test_trials_by_the_negated_loss_are_those_by_the_loss():
    for n_classes in (2, 3):
        X, y = numbers(n_classes, 60)
        by_loss, by_score = (GradientBoostingClassifier(scoring=s, **FEW).fit(X, y) for s in (None, "neg_log_loss"))
        assert by_score.trials_["rounds"] == by_loss.trials_["rounds"]
        assert_allclose(by_score.trials_["loss"], by_loss.trials_["loss"], rtol=1e-6)
        assert_allclose(by_score.trials_["gain"], by_loss.trials_["gain"], atol=0.01)
        assert_same_bits(by_score, by_loss, X)
    X, y = noisy_scores(60)
    by_loss, by_score = (
        GradientBoostingRegressor(scoring=s, **FEW).fit(X, y) for s in (None, "neg_mean_squared_error")
    )
    assert by_score.trials_["rounds"] == by_loss.trials_["rounds"] and by_score.learning_rate_ == by_loss.learning_rate_


@pytest.mark.parametrize(
    "scoring", ["accuracy", ["balanced_accuracy", "f1"], pytest.param("roc_auc", marks=pytest.mark.slow)]
)
def test_trials_take_the_best_score_and_of_equal_ones_the_least_loss(scoring, monkeypatch):
    X, y = numbers(2, 60)
    seen, sizes = [], {}
    call = TrialScore.__call__

    def noted(self):
        value = call(self)
        scorer = get_scorer(scoring if isinstance(scoring, str) else scoring[0])
        score = scorer(self._score.model, self.rows.cells, self._score.y)
        assert_allclose(value, -score, atol=1e-8)
        sizes[id(self)] = len(self.rows)
        seen.append((id(self), score, self._target.mean_loss(self._run.scored.scores(self._places))))
        return value

    monkeypatch.setattr(TrialScore, "__call__", noted)
    monkeypatch.setattr(trials, "FEW_ROUNDS", 0)  # no trial of smaller steps follows
    model = GradientBoostingClassifier(scoring=scoring, subsample=1.0, max_features=None, **FEW).fit(X, y)
    parts = [[each[1:] for each in seen if each[0] == part] for part in dict.fromkeys(each[0] for each in seen)]
    score, loss = np.average(parts, axis=0, weights=list(sizes.values())).T
    best = np.lexsort((loss, -score.round(12)))[0]
    assert model.trials_["rounds"] == [max(0.5, best)]
    assert_allclose(model.trials_["loss"], -score[best], atol=1e-8)


def test_standard_errors_are_those_of_the_rows_for_means_over_rows(monkeypatch):
    X, y = numbers(2, 120)
    results = []
    tried = trials.tried

    def noted(parted, *given):
        results.append((parted, tried(parted, *given)))
        return results[-1][1]

    monkeypatch.setattr(trials, "tried", noted)
    model = GradientBoostingClassifier(scoring="accuracy", **FEW).fit(X, y)
    (parted, first), (_, second) = results[:2]
    n_held = sum(int(one.held.sum()) for one in parted)
    assert_allclose(first.losses.mean(), min(first.curve), atol=1e-6)
    gain, error = second.gain_on(first)
    assert model.trials_["gain"][1] == gain and model.trials_["standard_error"][1] == error
    assert 0.0 < error < 2.0 / np.sqrt(n_held)


def test_weights_are_those_of_the_scores():
    X, y = numbers(2, 60)
    times = np.tile([1.0, 2.0], 30)
    model = GradientBoostingClassifier(scoring="accuracy", **FEW | {"min_samples_leaf": 1})
    weighted = model.fit(X, y, times).trials_
    again = model.fit(np.repeat(X, times.astype(int), axis=0), np.repeat(y, times.astype(int))).trials_
    assert_allclose(weighted["loss"], again["loss"])
    assert weighted["rounds"] == again["rounds"]


@pytest.mark.slow
def test_same_bits_for_any_number_of_threads():
    X, y = numbers(3, 60)
    one, two = (GradientBoostingClassifier(scoring="accuracy", n_jobs=n, **FEW).fit(X, y) for n in (1, 2))
    assert_same_bits(one, two, X)


def test_scores_that_no_trial_can_have_are_refused():
    X, y = numbers(2, 60)
    with pytest.raises(ValueError, match="is not the name of a scorer"):
        GradientBoostingClassifier(scoring="acuracy", **FEW).fit(X, y)
    for without_trials in (
        {"learning_rate": 0.1},
        {"line_search": True},
        {"loss": lambda y, F: (F - y, np.ones(F.shape))},
    ):
        with pytest.raises(ValueError, match=r"scoring='accuracy' needs held-out rows"):
            GradientBoostingClassifier(scoring="accuracy", **FEW | without_trials).fit(X, y)


# --- the table of trials ----------------------------------------------------------------------------------------------


def table_of(model):
    frame = model.trials_frame("polars")
    assert isinstance(frame, pl.DataFrame)
    assert frame.drop("trial_learning_rate", "chosen").to_dict(as_series=False) == model.trials_
    return frame


def test_the_frame_marks_the_trial_that_was_chosen():
    X, y = factorial()
    model = GradientBoostingClassifier(n_estimators=100, random_state=0, warm_start=True).fit(X, y)
    (chosen,) = table_of(model).filter("chosen").rows(named=True)
    for name in ("max_leaf_nodes", "subsample", "max_features"):
        assert chosen[name] == getattr(model, f"{name}_")
    assert_allclose(model.learning_rate_ * 100, CLASSES.more_step * TRIAL_RATE * chosen["rounds"])
    assert model.trials_frame()["chosen"].tolist() == table_of(model)["chosen"].to_list()
    with pytest.raises(ValueError, match="backend='dask' is not one of 'pandas', 'polars', 'pyarrow'"):
        model.trials_frame("dask")
    model.set_params(n_estimators=101, max_leaf_nodes=9).fit(X, y)
    assert not table_of(model)["chosen"].any()  # no trial had the leaves of the warm start


def test_the_frame_marks_smaller_steps_of_the_same_settings():
    columns = {"max_leaf_nodes": [15, 15], "subsample": [0.7, 0.7], "max_features": [3, 3], "rounds": [2.0, 1.5]}
    model = GradientBoostingClassifier(n_estimators=2, learning_rate=0.5, random_state=0).fit(*numbers(2, 60))
    model.max_leaf_nodes_, model.subsample_, model.max_features_ = 15, 0.7, 3
    for losses, chosen in (([0.5, 0.4], 1), ([0.5, 0.5], 0)):
        model.trials_ = columns | {"loss": losses, "gain": [0.0, 0.1], "standard_error": [0.0, 0.2]}
        frame = table_of(model)
        assert frame["trial_learning_rate"].to_list() == [TRIAL_RATE, TRIAL_RATE / FINER]
        assert frame["chosen"].arg_true().to_list() == [chosen]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rate": 0.3}, "learning_rate=0.3 makes no trials; fit with learning_rate='auto'"),
        ({"line_search": True}, "line_search=True makes no trials; fit with line_search=False"),
        ({"early_stopping": True}, "early_stopping=True makes no trials where it holds out rows of X; fit with X_val"),
        ({"loss": lambda y, F: (F - y, np.ones_like(F))}, "the fit made no trials; fit with a loss that has a value"),
    ],
)
def test_there_is_no_frame_without_trials(settings, message):
    model = GradientBoostingRegressor(**{"n_estimators": 2, "random_state": 0} | settings)
    with pytest.raises(NotFittedError):
        model.trials_frame()
    with pytest.raises(ValueError, match=message):
        model.fit(*noisy_scores(60)).trials_frame()


# --- settings and trials in files ------------------------------------------------------------------------------------

NAMES = ("learning_rate_", "max_leaf_nodes_", "subsample_", "max_features_", "trials_")
GOLDEN = {GradientBoostingClassifier: "gradient_trials", GradientBoostingRegressor: "gradient_trials_regressor"}
BOTH = pytest.mark.parametrize("kind", GOLDEN)


@cache
def golden(kind: Any) -> bytes:
    return (FOLDER / f"{GOLDEN[kind]}.safetensors").read_bytes()


@BOTH
def test_the_chosen_settings_come_back(kind, tmp_path):
    model = load(FOLDER / f"{GOLDEN[kind]}.safetensors")
    assert type(model) is kind and len(model.trials_["loss"]) >= 2
    model.save(tmp_path / "again")
    assert all(getattr(load(tmp_path / "again"), name) == getattr(model, name) for name in NAMES)


@BOTH
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("learning_rate_", value) for value in (0.0, -0.1, {"float": "nan"}, {"float": "inf"}, True, "0.1", None)),
        *(("max_leaf_nodes_", value) for value in (-1, 1, 2**31, 7.0, True, None)),
        *(("subsample_", value) for value in (0.0, 1.5, {"float": "nan"}, True, None)),
        *(("max_features_", value) for value in (-1, 1000, 2.0, False, None)),
    ],
)
def test_settings_that_no_fit_chooses_are_refused(kind, name, value, tmp_path):
    change = tell("attributes", name, value=value)
    refused(tmp_path / "model", craft(golden(kind), change), f"{name} is .*, which no fit chooses")


def changed_trials(name: str, values: Any) -> Any:
    def change(document: dict[str, Any], _: Any) -> None:
        pairs = document["model"]["attributes"]["trials_"]["dict"]
        at = next(k for k, (key, _) in enumerate(pairs) if key == name)
        if values is None:
            del pairs[at]
        else:
            pairs[at][1] = values

    return change


@BOTH
@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("loss", None, "trials_ must be null, or lists named max_leaf_nodes, subsample"),
        ("loss", {"tuple": [0.1]}, "trials_ must be null, or lists named"),
        ("loss", {"list": []}, "lists of different lengths"),
        ("loss", {"list": [0.1] * 40}, "lists of different lengths"),
        ("max_leaf_nodes", -3, "trials_ holds -3 in 'max_leaf_nodes', which no trial has"),
        ("subsample", 0.0, "trials_ holds 0.0 in 'subsample'"),
        ("max_features", 900, "trials_ holds 900 in 'max_features'"),
        ("rounds", 0.0, "trials_ holds 0.0 in 'rounds'"),
        ("gain", "much", "trials_ holds 'much' in 'gain'"),
    ],
)
def test_trials_that_no_fit_makes_are_refused(kind, name, values, message, tmp_path):
    n = len(load(FOLDER / f"{GOLDEN[kind]}.safetensors").trials_["loss"])
    values = values if values is None or isinstance(values, dict) else {"list": [values] * n}
    refused(tmp_path / "model", craft(golden(kind), changed_trials(name, values)), message)


@BOTH
def test_fits_without_trials_and_earlier_files_load(kind, tmp_path):
    for change in (tell("attributes", "trials_", value=None), *(forget("attributes", name) for name in NAMES)):
        (tmp_path / "model").write_bytes(craft(golden(kind), change))
        assert math.isfinite(getattr(load(tmp_path / "model"), "learning_rate_", 0.1))
