"""A trained ensemble with new weights: frozen, refused where it must be, and smaller where it can be."""

from __future__ import annotations

import pickle

import highspy
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import committee
from committee import LeafReweighter, MarginReweighter
from committee.learners.trained_ensembles.out_of_bag import out_of_bag_mask
from committee.objectives.margins.linear_objectives import Range, Rank, Uniform
from committee.objectives.margins.multiclass_margins import MulticlassDual, sum_of_margins
from committee.objectives.margins.named_objectives import OBJECTIVES
from committee.objectives.programs import simplex_quadratic
from committee.objectives.programs.linear_programs import InfeasibleError
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.vote.committee import Committee
from committee.vote.links.probability import Share, Softmax
from committee.vote.signed_votes import SignedVotes
from committee.voters.estimators import EstimatorVoters

X, y = make_classification(400, 8, n_informative=4, flip_y=0.1, random_state=0)
X_new, y_new = make_classification(400, 8, n_informative=4, flip_y=0.1, random_state=0, shift=0.05)
IRIS = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def forest():
    return RandomForestClassifier(40, max_depth=4, random_state=0).fit(X, y)


# --- new weights ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
@pytest.mark.parametrize("on", ["train", "oob"])
def test_every_objective_gives_a_classifier_that_says_what_it_changed(forest, name, on):
    options = {"slack": 0.1} if name in ("uniform", "rank", "percentile") else {}
    options |= {"xi": 0.005} if name == "range" else {}
    on = "validation" if on == "train" and OBJECTIVES[name].on_unseen_rows else on
    model = MarginReweighter(forest, name, on=on, **options).fit(X, y)
    assert model.predict(X).shape == (400,) and model.decision_function(X).shape == (400,)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert_allclose(model.weights_.sum(), 1.0)
    assert_allclose(model.own_weights_, 1 / 40)
    assert model.committee_.n_voters == np.count_nonzero(model.weights_) <= 40
    better = model.value_ - model.value_before_
    assert name == "range" or (better if model.objective_.maximises else -better) >= -1e-9
    assert model.n_rows_used_ <= 400 and model.status_ in ("Optimal", "Stationary", "Iteration limit")


def test_no_margin_falls_by_more_than_the_slack(forest):
    before = Committee.from_estimator(forest).margins(X, y)
    for slack in (0.02, 0.2):
        model = MarginReweighter(forest, "uniform", slack=slack).fit(X, y)
        assert (model.margins(X, y) - before).min() >= -slack - 2e-8
        assert model.margins(X, y).mean() > before.mean()


@pytest.mark.parametrize(
    "ensemble",
    [
        RandomForestClassifier(15, random_state=0),
        ExtraTreesClassifier(15, max_depth=3, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(max_depth=3), 10, max_features=0.5, random_state=0),
        AdaBoostClassifier(n_estimators=8),
        VotingClassifier([("a", GaussianNB()), ("b", DecisionTreeClassifier(max_depth=2))], voting="soft"),
        committee.RandomForestClassifier(15, random_state=0),
        committee.AdaBoostClassifier(15, vote="confidence"),
        committee.SBPMTClassifier(4, random_state=0),
        committee.SubaggingClassifier(n_estimators=9, random_state=0),
    ],
    ids=lambda ensemble: type(ensemble).__module__.split(".")[0] + "." + type(ensemble).__name__,
)
@pytest.mark.parametrize("name", ["min_margin", "soft_margin", "mincq", "variance"])
def test_all_kinds_of_ensembles_and_more_than_two_classes(ensemble, name):
    U, v = IRIS
    ensemble = clone(ensemble).fit(U, v)
    committee_before = Committee.from_estimator(ensemble)
    model = MarginReweighter(ensemble, name).fit(U, v)
    own, new = committee_before.margins(U, v), model.margins(U, v)
    if name == "min_margin":
        assert new.min() >= own.min() - 1e-8
        assert_allclose(new.min(), model.value_, atol=1e-8)
    assert_array_equal(committee_before.weights, Committee.from_estimator(ensemble).weights)
    assert_allclose(
        np.abs(model.committee_.weights) @ model.committee_.voters.spread,
        np.abs(committee_before.weights) @ committee_before.voters.spread,
    )


def test_a_committee_may_be_given_and_negative_weights_count_as_opposites(forest):
    own = Committee.from_estimator(forest)
    turned = own.select(slice(None), np.where(np.arange(40) < 5, -1.0, 1.0), link=Softmax())
    model = MarginReweighter(turned, "uniform", slack=0.1).fit(X, y)
    assert (model.weights_[:5] <= 0.0).all() and (model.weights_[5:] >= 0.0).all()
    assert (model.margins(X, y) - turned.margins(X, y)).min() >= -0.1 - 2e-8


def test_votes_without_any_weight_are_refused(forest):
    weightless = Committee.from_estimator(forest).select(slice(None), np.zeros(40))
    with pytest.raises(ValueError, match="No voter of the ensemble has any weight; there is nothing to re-weight"):
        MarginReweighter(weightless).fit(X, y)


class Threshold:
    """A classifier of a user's own, which does not say how many columns it reads."""

    def __init__(self, column):
        self.column, self.classes_ = column, np.array([0, 1])

    def predict(self, X):
        return (X[:, self.column] > 0.0).astype(int)


def test_voters_that_do_not_say_how_wide_their_rows_are():
    voters = EstimatorVoters([Threshold(j) for j in range(4)], [0, 1])
    model = MarginReweighter(Committee(voters, np.ones(4), [0, 1], Share()), "mincq").fit(X, y)
    assert not hasattr(model, "n_features_in_") and model.table_ is None
    says = np.where(X[:, :4] > 0.0, 1.0, -1.0) @ model.weights_
    assert_array_equal(model.predict(X), says > 0.0)


def test_free_weights_below_zero_get_a_link_that_takes_them(forest):
    model = MarginReweighter(forest, "variance", form="free").fit(X, y)
    assert (model.weights_ < 0).any() and model.committee_.link == Softmax()


def test_an_objective_may_be_an_object(forest):
    model = MarginReweighter(forest, Rank(slack=0.1, k=2.0, tol=1e-7)).fit(X, y)
    assert model.objective_ == Rank(slack=0.1, k=2.0, tol=1e-7)
    same = MarginReweighter(forest, "rank", slack=0.1, k=2.0).fit(X, y)
    assert_allclose(model.value_, same.value_, atol=1e-6)


def test_rows_of_no_weight_do_not_count(forest):
    some = np.arange(400) < 250
    whole = MarginReweighter(forest, "mincq").fit(X, y, sample_weight=some.astype(float))
    part = MarginReweighter(forest, "mincq").fit(X[some], y[some])
    assert_allclose(whole.weights_, part.weights_, atol=1e-9)


# --- frozen ---------------------------------------------------------------------------------------------------


def test_the_ensemble_stays_as_it_is_and_clones_share_it(forest):
    before = pickle.dumps(forest)
    model = MarginReweighter(forest, "mincq", on="oob").fit(X, y)
    model.prune(max_voters=5)
    copy = clone(model)
    assert copy.ensemble is forest and not hasattr(copy, "committee_")
    assert copy.get_params() == model.get_params() and "ensemble__max_depth" not in model.get_params()
    assert pickle.dumps(forest) == before
    with pytest.raises(ValueError, match="ensemble__max_depth: parameters of a trained ensemble cannot be set here"):
        model.set_params(ensemble__max_depth=2)
    assert model.set_params(objective="doom").objective == "doom"


def test_a_frozen_estimator_is_opened_and_cross_validation_works(forest):
    frozen = MarginReweighter(FrozenEstimator(forest), on="oob").fit(X, y)
    assert_array_equal(frozen.weights_, MarginReweighter(forest, on="oob").fit(X, y).weights_)
    scores = cross_val_score(MarginReweighter(forest, on="validation"), X_new, y_new, cv=3)
    assert scores.min() > 0.5


def test_it_can_be_pickled_without_the_votes(forest):
    model = MarginReweighter(forest, "min_margin").fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="votes of fit are not kept in a file; give X and y to prune"):
        loaded.prune(5)
    assert loaded.prune(5, X=X, y=y).committee_.n_voters <= 5


# --- out of bag -----------------------------------------------------------------------------------------------


def test_rows_left_out_are_those_that_trees_did_not_see():
    ours = committee.RandomForestClassifier(30, random_state=3, oob_score=True).fit(X, y)
    out = out_of_bag_mask(ours, 30, y)
    H = ours.committee_.votes(X)
    share = np.where(out, H, 0.0).sum(axis=1) / np.maximum(1, out.sum(axis=1))
    says = ours.oob_decision_function_[:, 1] - ours.oob_decision_function_[:, 0]
    assert_allclose(share[out.any(axis=1)], says[out.any(axis=1)], atol=1e-12)
    model = MarginReweighter(ours, "mincq", on="oob").fit(X, y)
    seen = out.any(axis=1)
    assert_allclose(model._lines.values(model.own_weights_), (2 * y - 1)[seen] * share[seen], atol=1e-12)


@pytest.mark.parametrize("bootstrap", [True, False])
def test_draws_of_subagging_are_made_again(bootstrap):
    model = committee.SubaggingClassifier(
        n_estimators=20, max_samples=0.6, bootstrap=bootstrap, oob_score=True, random_state=7
    ).fit(X, y)
    out = out_of_bag_mask(model, 20, y)
    assert_array_equal(out.any(axis=1), np.isfinite(model.oob_margins_))
    H = model.committee_.votes(X) * (2 * y - 1)[:, None]
    margins = np.where(out, H, 0).sum(axis=1) / np.maximum(1, out.sum(axis=1))
    assert_allclose(margins[out.any(axis=1)], model.oob_margins_[out.any(axis=1)], atol=1e-12)


def test_weights_of_zero_were_no_rows_to_draw():
    w = (np.arange(400) % 3 > 0).astype(float)
    model = committee.RandomForestClassifier(10, random_state=1, oob_score=True).fit(X, y, w)
    out = out_of_bag_mask(model, 10, y, w)
    assert not out[w == 0].any()
    assert_array_equal(out.any(axis=1), np.isfinite(model.oob_decision_function_[:, 0]))


@pytest.mark.parametrize(
    ("ensemble", "message"),
    [
        (AdaBoostClassifier(n_estimators=4), "AdaBoostClassifier has none"),
        (RandomForestClassifier(4, bootstrap=False), "every voter of the RandomForestClassifier saw them all"),
        (committee.RandomForestClassifier(4), "its random_state is None; train it with a whole number"),
        (committee.SubaggingClassifier(n_estimators=4), "its random_state is None"),
        (committee.RandomForestClassifier(4, bootstrap=False, random_state=0), "saw them all"),
    ],
)
def test_draws_that_are_not_known_are_refused(ensemble, message):
    with pytest.raises(ValueError, match=message):
        MarginReweighter(clone(ensemble).fit(X, y), on="oob").fit(X, y)


def test_other_rows_than_those_of_training_are_refused(forest):
    with pytest.raises(ValueError, match=r"X has 300 rows; the RandomForestClassifier was trained on 400"):
        MarginReweighter(forest, on="oob").fit(X[:300], y[:300])
    ours = committee.RandomForestClassifier(15, random_state=0, oob_score=True).fit(X, y)
    with pytest.raises(ValueError, match="not the rows that the RandomForestClassifier was trained on"):
        MarginReweighter(ours, on="oob").fit(X[:300], y[:300])


@pytest.mark.parametrize("kind", [RandomForestClassifier, committee.RandomForestClassifier])
def test_training_rows_in_another_order_are_refused_by_stored_votes(kind):
    ensemble = kind(30, oob_score=True, random_state=0).fit(X, y)
    for model in (MarginReweighter(ensemble, "doom", on="oob"), LeafReweighter(ensemble, C=1.0, growth=1.0)):
        model.fit(X, y)
        with pytest.raises(ValueError, match="differs from the one that ensemble has stored"):
            model.fit(X[::-1], y[::-1])


# --- pruning --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on", ["train", "oob"])
@pytest.mark.parametrize("resolve", [False, True])
@pytest.mark.parametrize("name", ["soft_margin", "mincq", "uniform", "range", "variance"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_path_goes_from_all_voters_to_one(forest, on, name, resolve):
    options = {"xi": 0.005} if name == "range" else {}
    model = MarginReweighter(forest, name, on=on, **options).fit(X, y)
    pruned = model.prune(resolve=resolve)
    steps = pruned.pruning_path_.steps
    sizes = [len(step.voters) for step in steps]
    assert sizes == sorted(set(sizes), reverse=True) and sizes[-1] == 1
    assert_array_equal(steps[0].voters, np.flatnonzero(model.weights_))
    assert [step.n_nodes for step in steps] == sorted((step.n_nodes for step in steps), reverse=True)
    table = pruned.pruning_path_.table()
    assert table["n_voters"].to_list() == [40, *sizes]
    assert_allclose(pruned.committee_.weights, model.committee_.weights)


def test_limits_and_prices_choose_a_step(forest):
    model = MarginReweighter(forest, "mincq", on="oob").fit(X, y)
    small = model.prune(max_voters=7)
    assert small.committee_.n_voters == len(small.weights_) <= 7 < model.committee_.n_voters
    smaller = small.prune(3)
    assert set(smaller.voters_) <= set(range(small.committee_.n_voters)) and len(smaller.voters_) <= 3
    assert len(pickle.dumps(small)) < len(pickle.dumps(forest)) / 4
    assert_array_equal(pickle.loads(pickle.dumps(small)).predict(X), small.predict(X))
    path = small.pruning_path_
    for price in (0.0, 0.005, 0.03, 1.0):
        chosen = path.chosen(min_gain=price)
        accuracy = [step.accuracy for step in path.steps]
        assert chosen == 0 or accuracy[chosen] > max(accuracy) - price
        assert price == 0.0 or all(accuracy[i] <= max(accuracy) - price for i in range(chosen + 1, len(accuracy)))
    assert model.prune(min_gain=1.1).committee_.n_voters == 1
    assert small.committee_.n_nodes < model.committee_.n_nodes
    assert small.score(X, y) > 0.8


def test_accuracy_and_margins_on_the_path_are_those_of_the_committee(forest):
    model = MarginReweighter(forest, "mincq").fit(X, y)
    for limit in (20, 5, 1):
        pruned = model.prune(limit, X=X_new, y=y_new)
        step = pruned.pruning_path_.steps[pruned.pruning_path_.chosen(limit)]
        assert_allclose(pruned.margins(X_new, y_new).mean(), step.mean_margin, atol=1e-9)
        assert_allclose(pruned.margins(X_new, y_new).min(), step.least_margin, atol=1e-9)
        assert_allclose(pruned.score(X_new, y_new), step.accuracy, atol=0.01)


# --- bad input ------------------------------------------------------------------------------------------------


def test_what_is_no_trained_classifier_is_refused(forest):
    for ensemble in (
        FrozenEstimator(RandomForestClassifier()),
        BaggingClassifier(),
        VotingClassifier([("a", GaussianNB())]),
        committee.RandomForestClassifier(),
    ):
        with pytest.raises(NotFittedError):
            MarginReweighter(ensemble).fit(X, y)
    with pytest.raises(TypeError, match="predicts numbers"):
        MarginReweighter(committee.RandomForestRegressor(3).fit(X, y).committee_).fit(X, y)
    with pytest.raises(TypeError, match="no adapter"):
        MarginReweighter(LogisticRegression().fit(X, y)).fit(X, y)
    with pytest.raises(NotFittedError):
        MarginReweighter(forest).predict(X)
    with pytest.raises(NotFittedError):
        MarginReweighter(forest).prune()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "best"}, "objective='best' is unknown; choose from uniform, rank"),
        ({"on": "test"}, "'on' parameter of MarginReweighter must be a str among"),
        ({"slack": 0.1}, r"slack=0\.1 has no meaning for objective='soft_margin', only for uniform, rank, percentile"),
        ({"xi": 0.1}, r"xi=0\.1 has no meaning for objective='soft_margin', only for percentile, range"),
        ({"objective": "percentile", "xi": 0.0}, r"xi=0\.0 is not in \(0, 1\]"),
        ({"objective": "range", "xi": 1.1}, r"xi=1\.1 is not in \(0, 1\]"),
        ({"objective": "range", "xi": 1.0}, r"xi=1\.0 asks for margins .* the largest xi"),
        ({"nu": 2.0}, r"nu=2\.0 is not in"),
        ({"objective": Uniform(), "slack": 0.1}, "cannot be combined with an Objective"),
        ({"objective": "mincq", "mu": 3.0}, "mu=3 is the mean margin of no weights"),
    ],
)
def test_parameters_are_refused_by_name_and_nothing_is_half_changed(forest, options, message):
    model = MarginReweighter(forest, "min_margin").fit(X, y)
    before = model.weights_
    model.set_params(**{"objective": "soft_margin", **options})
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert model.weights_ is before and model.objective_ == OBJECTIVES["min_margin"]()


def test_other_columns_and_labels_are_refused(forest):
    with pytest.raises(ValueError, match=r"y has 10 labels; X has 400 rows"):
        MarginReweighter(forest).fit(X, y[:10])
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(3,\)"):
        MarginReweighter(forest).fit(X, y, sample_weight=[1, 1, 1])
    for weight, message in (
        (np.nan, "contains NaN"),
        (np.inf, "contains infinity"),
        (-1.0, "weights must not be negative"),
        (0.0, "zero for every row"),
    ):
        with pytest.raises(ValueError, match=message):
            MarginReweighter(forest).fit(X, y, sample_weight=np.full(400, weight))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_voters": 0}, "max_voters=0 must be a whole number of at least 1"),
        ({"max_voters": 2.5}, r"max_voters=2\.5 must be a whole number"),
        ({"min_gain": -0.1}, r"min_gain=-0\.1 must be a share"),
        ({"min_gain": "1%"}, "min_gain='1%' must be a share"),
        ({"max_nodes": "10%"}, "max_nodes='10%' must be a share"),
        ({"X": X}, "X and y go together"),
    ],
)
def test_arguments_of_prune_are_refused_by_name(forest, arguments, message):
    with pytest.raises(ValueError, match=message):
        MarginReweighter(forest, "min_margin").fit(X, y).prune(**arguments)


def test_a_solver_that_fails_is_reported_and_changes_nothing(forest, monkeypatch):
    model = MarginReweighter(forest, "mincq").fit(X, y)
    before = model.weights_
    monkeypatch.setattr(simplex_quadratic, "STEPS", 0.0)
    with pytest.raises(RuntimeError, match="Non-negative least squares of 40 weights did not end"):
        model.fit(X, y)
    assert model.weights_ is before


def three_classes() -> MarginMatrix:
    """Two rows of three classes, two voters who are wrong on one each."""
    S = np.array([[1, 0], [1, -1], [-1, 1], [0, 1]], dtype=np.int8)
    return MarginMatrix.of(SignedVotes(S, np.repeat([0, 1], 2), np.tile([1, 2], 2), 2, np.array([0.7, 0.3])))


def with_value(value):
    Z = X.copy()
    Z[3, 2] = value
    return Z


# --- ensembles ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ensemble",
    [
        committee.RandomForestRegressor(3),
        committee.GradientBoostingRegressor(),
        GradientBoostingRegressor(n_estimators=3),
        BaggingRegressor(n_estimators=3),
    ],
    ids=lambda ensemble: type(ensemble).__module__.split(".")[0] + "." + type(ensemble).__name__,
)
def test_ensembles_of_regression_are_refused(ensemble):
    with pytest.raises(TypeError, match=r"is the regressor .* only classifiers cast votes for classes"):
        MarginReweighter(ensemble.fit(X, y)).fit(X, y)


@pytest.mark.parametrize("ensemble", [None, "forest", 3, RandomForestClassifier])
def test_what_is_no_ensemble_is_refused(ensemble):
    with pytest.raises(TypeError, match="must be a fitted classifier"):
        MarginReweighter(ensemble).fit(X, y)


def test_one_voter_and_one_class_are_refused(forest):
    with pytest.raises(ValueError, match="1 voter; weights need at least 2 to share out"):
        MarginReweighter(Committee.from_estimator(forest).select(slice(0, 1))).fit(X, y)
    with pytest.raises(ValueError, match="has one class; margins need at least 2"):
        MarginReweighter(RandomForestClassifier(3).fit(X, np.zeros(400))).fit(X, np.zeros(400))


# --- rows -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (X, y.astype(str), r"labels that the committee does not know: \['0', '1'\]"),
        (X, np.where(y > 0, np.nan, y), r"labels that the committee does not know: \[nan\]"),
        (X, np.c_[y, y], "y should be a 1d array"),
        (X[:, :4], y, "X has 4 features, but 8 features were learned"),
        (X[:, 0], y, "Expected 2D array, got 1D array"),
        (X[:0], y[:0], "No row is left"),
        (with_value(np.inf), y, "column 'x2' holds infinity at row 3"),
        (with_value(-np.inf), y, "column 'x2' holds infinity at row 3"),
    ],
)
def test_rows_and_labels_that_do_not_suit_are_refused_and_nothing_is_half_changed(forest, rows, labels, message):
    model = MarginReweighter(forest, "min_margin").fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(rows, labels)
    assert vars(model).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(model).items())


@pytest.mark.parametrize(
    "ensemble",
    [AdaBoostClassifier(n_estimators=4), BaggingClassifier(LogisticRegression(), 3)],
    ids=lambda ensemble: type(ensemble).__name__,
)
def test_missing_values_are_refused_where_the_ensemble_refuses_them(ensemble):
    ensemble.fit(X, y)
    missing = with_value(np.nan)
    with pytest.raises(ValueError, match="NaN"):
        ensemble.predict(missing)
    with pytest.raises(ValueError, match="NaN"):
        MarginReweighter(ensemble, "min_margin").fit(missing, y)


def test_missing_values_are_taken_where_the_ensemble_takes_them(forest):
    forest.predict(with_value(np.nan))
    assert MarginReweighter(forest, "min_margin").fit(with_value(np.nan), y).value_ <= 1.0


# --- parameters -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["range", "percentile"])
@pytest.mark.parametrize("xi", [0, -0.1, 1.0001, np.inf])
def test_shares_outside_of_0_and_1_are_refused(forest, name, xi):
    with pytest.raises(ValueError, match=rf"xi={xi!r} is not in \(0, 1\]; it is a share of the rows"):
        MarginReweighter(forest, name, xi=xi).fit(X, y)


def test_a_share_that_is_no_number_is_refused(forest):
    with pytest.raises(ValueError, match=r"The 'xi' parameter of MarginReweighter must be .* Got nan instead"):
        MarginReweighter(forest, "range", xi=np.nan).fit(X, y)


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("range", "xi"),
        ("percentile", "xi"),
        ("soft_margin", "nu"),
        ("rank", "k"),
        ("mincq", "mu"),
        ("doom", "steepness"),
        ("uniform", "slack"),
        ("variance", "form"),
    ],
)
def test_what_is_no_number_is_refused_by_name(name, option):
    with pytest.raises(ValueError, match=f"{option}='a' (is not in|must be|is unknown)"):
        OBJECTIVES[name](**{option: "a"})


def test_a_range_that_no_weights_reach_names_the_largest_share_with_three_classes_too():
    U, v = IRIS
    lines = MarginMatrix.of(
        SignedVotes.of(
            Committee.from_estimator(RandomForestClassifier(20, max_depth=2, random_state=0).fit(U, v)), U, v
        )
    )
    with pytest.raises(ValueError, match=r"xi=0\.9 asks for margins of at least .* for which some do is ") as refused:
        Range(0.9).solve(lines)
    largest = float(str(refused.value).split("some do is ")[1].rstrip("."))
    assert Range(largest).solve(lines).weights.min() >= 0.0
    with pytest.raises(ValueError, match="asks for margins"):
        Range(largest + 2.0 / 150.0).solve(lines)


# --- solvers --------------------------------------------------------------------------------------------------


class Stuck:
    """HiGHS as it is, but for what it says in the end."""

    def __init__(self, highs, says):
        self._highs, self._says = highs, says

    def __getattr__(self, name):
        return (lambda: self._says) if name == "getModelStatus" else getattr(self._highs, name)


def test_a_failure_of_highs_is_reported_in_its_words():
    says = highspy.HighsModelStatus
    reports = {
        says.kSolveError: (RuntimeError, "'Solve error'"),
        says.kUnbounded: (InfeasibleError, "No weights satisfy"),
    }
    for total in (1.0, None):
        for status, (kind, message) in reports.items():
            program = MulticlassDual(np.zeros(2), np.ones(2), np.zeros(2), total)
            program.add_voters(np.array([[1, -1], [-1, 1]], dtype=np.int8))
            program.highs = Stuck(program.highs, status)
            with pytest.raises(kind, match=message):
                program.solve()


def test_bounds_that_no_weights_reach_are_infeasible():
    with pytest.raises(InfeasibleError, match="No weights satisfy all lines of the program of"):
        sum_of_margins(three_classes(), np.full(2, 0.5), np.full(2, 0.9))


# --- the ensemble ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_bytes_of_an_ensemble_are_the_same_after_work_and_refusals(name):
    U, v = IRIS
    for ensemble in (
        RandomForestClassifier(12, max_depth=3, random_state=0).fit(U, v),
        committee.RandomForestClassifier(12, max_depth=3, random_state=0).fit(U, v),
        Committee.from_estimator(VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression())]).fit(U, v)),
    ):
        before = pickle.dumps(ensemble)
        options = {"xi": 0.001} if name == "range" else {}
        model = MarginReweighter(ensemble, name, on="validation", **options).fit(U, v)
        model.prune(max_voters=2)
        model.predict_proba(U)
        with pytest.raises(ValueError, match="does not know"):
            model.fit(U, v + 1)
        with pytest.raises(ValueError):
            model.fit(U[:, :2], v)
        assert pickle.dumps(ensemble) == before


def test_no_room_is_told_with_three_classes_too():
    U, v = IRIS
    few = RandomForestClassifier(3, max_depth=1, random_state=0).fit(U, v)
    with pytest.warns(ConvergenceWarning, match="raise slack"):
        model = MarginReweighter(few, "uniform").fit(U, v)
    np.testing.assert_array_equal(model.weights_, model.own_weights_)
