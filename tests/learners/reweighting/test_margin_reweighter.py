"""New weights of a trained ensemble, and their pruning."""

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
from committee.objectives.margins.linear_objectives import Rank, Uniform
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


FOREST = RandomForestClassifier(40, max_depth=4, random_state=0).fit(X, y)
FOREST_VOTERS = Committee.from_estimator(FOREST)
REGRESSOR = r"is the regressor .* only classifiers cast votes for classes"


def iris_forest(n_trees, depth):
    return RandomForestClassifier(n_trees, max_depth=depth, random_state=0).fit(*IRIS)


# --- new weights ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
@pytest.mark.parametrize("on", ["train", "oob"])
def test_every_objective_gives_a_classifier_and_its_values(name, on):
    options = {"slack": 0.1} if name in ("uniform", "rank", "percentile") else {}
    options |= {"xi": 0.005} if name == "range" else {}
    on = "validation" if on == "train" and OBJECTIVES[name].on_unseen_rows else on
    model = MarginReweighter(FOREST, name, on=on, **options).fit(X, y)
    assert model.predict(X).shape == (400,) and model.decision_function(X).shape == (400,)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert_allclose(model.weights_.sum(), 1.0)
    assert_allclose(model.own_weights_, 1 / 40)
    assert model.committee_.n_voters == np.count_nonzero(model.weights_) <= 40
    better = model.value_ - model.value_before_
    assert name == "range" or (better if model.objective_.maximises else -better) >= -1e-9
    assert model.n_rows_used_ <= 400 and model.status_ in ("Optimal", "Stationary", "Iteration limit")


def test_no_margin_falls_by_more_than_the_slack():
    before = Committee.from_estimator(FOREST).margins(X, y)
    for slack in (0.02, 0.2):
        model = MarginReweighter(FOREST, "uniform", slack=slack).fit(X, y)
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


def test_a_committee_may_be_given_and_negative_weights_count_as_opposites_and_get_the_softmax_link():
    turned = FOREST_VOTERS.select(slice(None), np.where(np.arange(40) < 5, -1.0, 1.0), link=Softmax())
    model = MarginReweighter(turned, "uniform", slack=0.1).fit(X, y)
    assert (model.weights_[:5] <= 0.0).all() and (model.weights_[5:] >= 0.0).all()
    assert (model.margins(X, y) - turned.margins(X, y)).min() >= -0.1 - 2e-8
    free = MarginReweighter(FOREST, "variance", form="free").fit(X, y)
    assert (free.weights_ < 0).any() and free.committee_.link == Softmax()


class Threshold:
    """A classifier of a user's own, which does not say how many columns it reads."""

    def __init__(self, column):
        self.column, self.classes_ = column, np.array([0, 1])

    def predict(self, X):
        return (X[:, self.column] > 0.0).astype(int)


def test_voters_without_a_number_of_columns():
    voters = EstimatorVoters([Threshold(j) for j in range(4)], [0, 1])
    model = MarginReweighter(Committee(voters, np.ones(4), [0, 1], Share()), "mincq").fit(X, y)
    assert not hasattr(model, "n_features_in_") and model.table_ is None
    says = np.where(X[:, :4] > 0.0, 1.0, -1.0) @ model.weights_
    assert_array_equal(model.predict(X), says > 0.0)


def test_an_objective_may_be_an_object():
    model = MarginReweighter(FOREST, Rank(slack=0.1, k=2.0, tol=1e-7)).fit(X, y)
    assert model.objective_ == Rank(slack=0.1, k=2.0, tol=1e-7)
    same = MarginReweighter(FOREST, "rank", slack=0.1, k=2.0).fit(X, y)
    assert_allclose(model.value_, same.value_, atol=1e-6)


# --- frozen ---------------------------------------------------------------------------------------------------


def test_clones_share_the_ensemble():
    model = MarginReweighter(FOREST, "mincq", on="oob").fit(X, y)
    copy = clone(model)
    assert copy.ensemble is FOREST and not hasattr(copy, "committee_")
    assert copy.get_params() == model.get_params() and "ensemble__max_depth" not in model.get_params()
    with pytest.raises(ValueError, match="ensemble__max_depth: parameters of a trained ensemble cannot be set here"):
        model.set_params(ensemble__max_depth=2)
    assert model.set_params(objective="doom").objective == "doom"


def test_a_frozen_estimator_is_opened_and_cross_validation_works():
    frozen = MarginReweighter(FrozenEstimator(FOREST), on="oob").fit(X, y)
    assert_array_equal(frozen.weights_, MarginReweighter(FOREST, on="oob").fit(X, y).weights_)
    scores = cross_val_score(MarginReweighter(FOREST, on="validation"), X_new, y_new, cv=3)
    assert scores.min() > 0.5


def test_it_can_be_pickled_without_the_votes():
    model = MarginReweighter(FOREST, "min_margin").fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="votes of fit are not kept in a file or pickle; give X and y to prune"):
        loaded.prune(5)
    assert loaded.prune(5, X=X, y=y).committee_.n_voters <= 5


# --- out of bag -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ensemble",
    [
        committee.RandomForestClassifier(30, random_state=3, oob_score=True),
        committee.SubaggingClassifier(n_estimators=20, max_samples=0.6, oob_score=True, random_state=7),
        committee.SubaggingClassifier(n_estimators=20, max_samples=0.6, bootstrap=True, oob_score=True, random_state=7),
    ],
)
def test_rows_left_out_are_those_that_voters_did_not_see(ensemble):
    out = out_of_bag_mask(ensemble.fit(X, y), ensemble.committee_.n_voters, y)
    known = out.any(axis=1)
    H = ensemble.committee_.votes(X) * (2 * y - 1)[:, None]
    margins = np.where(out, H, 0.0).sum(axis=1) / np.maximum(1, out.sum(axis=1))
    stored = (2 * y - 1) * np.diff(ensemble.oob_decision_function_)[:, 0]
    assert_allclose(np.where(known, margins, np.nan), stored, atol=1e-12)
    model = MarginReweighter(ensemble, "mincq", on="oob").fit(X, y)
    assert_allclose(model._lines.values(model.own_weights_), margins[known], atol=1e-12)


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
def test_a_path_goes_from_all_voters_to_one(on, name, resolve):
    options = {"xi": 0.005} if name == "range" else {}
    model = MarginReweighter(FOREST, name, on=on, **options).fit(X, y)
    pruned = model.prune(resolve=resolve)
    steps = pruned.pruning_path_.steps
    sizes = [len(step.voters) for step in steps]
    assert sizes == sorted(set(sizes), reverse=True) and sizes[-1] == 1
    assert_array_equal(steps[0].voters, np.flatnonzero(model.weights_))
    assert [step.n_nodes for step in steps] == sorted((step.n_nodes for step in steps), reverse=True)
    table = pruned.pruning_path_.table()
    assert table["n_voters"].to_list() == [40, *sizes]
    assert_allclose(pruned.committee_.weights, model.committee_.weights)


def test_limits_and_prices_choose_a_step():
    model = MarginReweighter(FOREST, "mincq", on="oob").fit(X, y)
    small = model.prune(max_voters=7)
    assert small.committee_.n_voters == len(small.weights_) <= 7 < model.committee_.n_voters
    smaller = small.prune(3)
    assert set(smaller.voters_) <= set(range(small.committee_.n_voters)) and len(smaller.voters_) <= 3
    path = small.pruning_path_
    for price in (0.0, 0.005, 0.03, 1.0):
        chosen = path.chosen(min_gain=price)
        accuracy = [step.accuracy for step in path.steps]
        assert chosen == 0 or accuracy[chosen] > max(accuracy) - price
        assert price == 0.0 or all(accuracy[i] <= max(accuracy) - price for i in range(chosen + 1, len(accuracy)))
    assert model.prune(min_gain=1.1).committee_.n_voters == 1
    assert small.committee_.n_nodes < model.committee_.n_nodes
    assert small.score(X, y) > 0.8


def test_accuracy_and_margins_on_the_path_are_those_of_the_committee():
    model = MarginReweighter(FOREST, "mincq").fit(X, y)
    for limit in (20, 5, 1):
        pruned = model.prune(limit, X=X_new, y=y_new)
        step = pruned.pruning_path_.steps[pruned.pruning_path_.chosen(limit)]
        assert_allclose(pruned.margins(X_new, y_new).mean(), step.mean_margin, atol=1e-9)
        assert_allclose(pruned.margins(X_new, y_new).min(), step.least_margin, atol=1e-9)
        assert_allclose(pruned.score(X_new, y_new), step.accuracy, atol=0.01)


# --- refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ensemble", "error", "message"),
    [
        (FrozenEstimator(RandomForestClassifier()), NotFittedError, "not fitted"),
        (LogisticRegression().fit(X, y), TypeError, "no adapter"),
        (committee.RandomForestRegressor(3).fit(X, y).committee_, TypeError, "predicts numbers"),
        (committee.RandomForestRegressor(3).fit(X, y), TypeError, REGRESSOR),
        (GradientBoostingRegressor(n_estimators=3).fit(X, y), TypeError, REGRESSOR),
        (None, TypeError, "must be a fitted classifier"),
        (FOREST_VOTERS.select(slice(0, 1)), ValueError, "1 of the 2 voters that re-weighting needs"),
        (FOREST_VOTERS.select(slice(None), np.zeros(40)), ValueError, "Every voter of the ensemble has weight 0"),
        (RandomForestClassifier(3).fit(X, np.zeros(400)), ValueError, "has one class; at least two are needed"),
    ],
    ids=lambda part: type(part).__name__ if not isinstance(part, str | type) else "",
)
def test_ensembles_are_refused(ensemble, error, message):
    with pytest.raises(error, match=message):
        MarginReweighter(ensemble).fit(X, y)


def test_what_is_not_fitted_neither_predicts_nor_is_pruned():
    for method, arguments in (("predict", (X,)), ("prune", ())):
        with pytest.raises(NotFittedError):
            getattr(MarginReweighter(FOREST), method)(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "best"}, "objective='best' is unknown; choose from uniform, rank"),
        ({"on": "test"}, "'on' parameter of MarginReweighter must be a str among"),
        ({"slack": 0.1}, r"slack=0\.1 has no meaning for objective='soft_margin', only for uniform, rank, percentile"),
        ({"xi": 0.1}, r"xi=0\.1 has no meaning for objective='soft_margin', only for percentile, range"),
        ({"objective": "percentile", "xi": 0}, r"xi=0 is not in \(0, 1\]; it is a share"),
        ({"objective": "range", "xi": np.inf}, r"xi=inf is not in \(0, 1\]; it is a share"),
        ({"objective": "range", "xi": np.nan}, r"The 'xi' parameter of MarginReweighter must be .* Got nan instead"),
        ({"objective": "range", "xi": 1.0}, r"xi=1\.0 requires margins .* the largest feasible xi"),
        ({"nu": 2.0}, r"nu=2\.0 is not in"),
        ({"objective": Uniform(), "slack": 0.1}, "cannot be combined with an Objective"),
        ({"objective": "mincq", "mu": 3.0}, "mu=3 is the mean margin of no weights"),
    ],
)
def test_parameters_are_refused_by_name_and_nothing_is_half_changed(options, message):
    model = MarginReweighter(FOREST, "min_margin").fit(X, y)
    before = model.weights_
    model.set_params(**{"objective": "soft_margin", **options})
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert model.weights_ is before and model.objective_ == OBJECTIVES["min_margin"]()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"max_nodes": "10%"}, "max_nodes='10%' must be a share"), ({"X": X}, "X and y go together")],
)
def test_arguments_of_prune_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        MarginReweighter(FOREST, "min_margin").fit(X, y).prune(**arguments)


def test_a_solver_that_fails_is_reported_and_changes_nothing(monkeypatch):
    model = MarginReweighter(FOREST, "mincq").fit(X, y)
    before = model.weights_
    monkeypatch.setattr(simplex_quadratic, "STEPS", 0.0)
    with pytest.raises(RuntimeError, match="Non-negative least squares of 40 weights did not end"):
        model.fit(X, y)
    assert model.weights_ is before


def with_value(value):
    Z = X.copy()
    Z[3, 2] = value
    return Z


@pytest.mark.parametrize(
    ("rows", "labels", "weight", "message"),
    [
        (X, y.astype(str), None, r"labels that are not classes of the committee: \['0', '1'\]"),
        (X, np.where(y > 0, np.nan, y), None, r"labels that are not classes of the committee: \[nan\]"),
        (X, np.c_[y, y], None, "y should be a 1d array"),
        (X, y[:10], None, r"y has 10 labels; X has 400 rows"),
        (X[:, :4], y, None, "X has 4 features, but 8 features were learned"),
        (X[:, 0], y, None, "Expected 2D array, got 1D array"),
        (X[:0], y[:0], None, "No row is left"),
        (with_value(np.inf), y, None, "column 'x2' holds infinity at row 3"),
        (X, y, np.ones(3), r"sample_weight has shape \(3,\)"),
        (X, y, np.zeros(400), "zero for every row"),
    ],
)
def test_rows_labels_and_weights_are_refused_and_nothing_is_half_changed(rows, labels, weight, message):
    model = MarginReweighter(FOREST, "min_margin").fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(rows, labels, weight)
    assert vars(model).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(model).items())


@pytest.mark.parametrize(
    "ensemble",
    [AdaBoostClassifier(n_estimators=4), BaggingClassifier(LogisticRegression(), 3)],
    ids=lambda ensemble: type(ensemble).__name__,
)
def test_missing_values_are_refused_where_the_ensemble_refuses_them_and_no_others(ensemble):
    ensemble.fit(X, y)
    missing = with_value(np.nan)
    with pytest.raises(ValueError, match="NaN"):
        ensemble.predict(missing)
    with pytest.raises(ValueError, match="NaN"):
        MarginReweighter(ensemble, "min_margin").fit(missing, y)
    assert MarginReweighter(FOREST, "min_margin").fit(missing, y).value_ <= 1.0


def test_options_that_are_not_numbers_are_refused_by_name():
    names = {"xi": ("range", "percentile"), "nu": ("soft_margin",), "k": ("rank",), "mu": ("mincq",)}
    names |= {"steepness": ("doom",), "slack": ("uniform",), "form": ("variance",)}
    for option, objectives in names.items():
        for name in objectives:
            with pytest.raises(ValueError, match=f"{option}='a' (is not in|must be|is unknown)"):
                OBJECTIVES[name](**{option: "a"})


# --- solvers --------------------------------------------------------------------------------------------------


class Stuck:
    """HiGHS with another final status."""

    def __init__(self, highs, status):
        self._highs, self._status = highs, status

    def __getattr__(self, name):
        return (lambda: self._status) if name == "getModelStatus" else getattr(self._highs, name)


@pytest.mark.parametrize(
    ("status", "error", "message"),
    [("kSolveError", RuntimeError, "'Solve error'"), ("kUnbounded", InfeasibleError, "No weights satisfy")],
)
@pytest.mark.parametrize("total", [1.0, None])
def test_failures_of_highs_are_reported(total, status, error, message):
    program = MulticlassDual(np.zeros(2), np.ones(2), np.zeros(2), total)
    program.add_voters(np.array([[1, -1], [-1, 1]], dtype=np.int8))
    program.highs = Stuck(program.highs, getattr(highspy.HighsModelStatus, status))
    with pytest.raises(error, match=message):
        program.solve()


def test_bounds_that_no_weights_reach_are_infeasible():
    # two rows of three classes, two voters that are wrong on one each
    S = np.array([[1, 0], [1, -1], [-1, 1], [0, 1]], dtype=np.int8)
    votes = SignedVotes(S, np.repeat([0, 1], 2), np.tile([1, 2], 2), 2, np.array([0.7, 0.3]))
    with pytest.raises(InfeasibleError, match="No weights satisfy all lines of the program of"):
        sum_of_margins(MarginMatrix.of(votes), np.full(2, 0.5), np.full(2, 0.9))


def test_three_classes_may_leave_no_room():
    with pytest.warns(ConvergenceWarning, match="raise slack"):
        model = MarginReweighter(iris_forest(3, 1), "uniform").fit(*IRIS)
    assert_array_equal(model.weights_, model.own_weights_)


# --- the ensemble ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_bytes_of_an_ensemble_are_the_same_after_work_and_refusals(name):
    U, v = IRIS
    for ensemble in (
        iris_forest(12, 3),
        committee.RandomForestClassifier(12, max_depth=3, random_state=0).fit(U, v),
        Committee.from_estimator(VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression())]).fit(U, v)),
    ):
        before = pickle.dumps(ensemble)
        options = {"xi": 0.001} if name == "range" else {}
        model = MarginReweighter(ensemble, name, on="validation", **options).fit(U, v)
        model.prune(max_voters=2)
        model.predict_proba(U)
        with pytest.raises(ValueError, match="not classes of the committee"):
            model.fit(U, v + 1)
        with pytest.raises(ValueError):
            model.fit(U[:, :2], v)
        assert pickle.dumps(ensemble) == before
