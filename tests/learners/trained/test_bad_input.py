"""What a re-weighting refuses, and that neither refusals nor work leave a trace on the ensemble."""

import pickle

import highspy
import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import committee
from committee.learners.trained.reweighter import MarginReweighter
from committee.objectives.margins.margin_range import Range
from committee.objectives.margins.margins_of_rows import sum_of_margins
from committee.objectives.margins.named_objectives import OBJECTIVES
from committee.objectives.programs.constraint_generation import InfeasibleError
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.objectives.programs.rivals_program import RivalsProgram
from committee.vote.committee import Committee
from committee.vote.signed_votes import SignedVotes

X, y = make_classification(300, 6, n_informative=4, flip_y=0.1, random_state=0)
IRIS = load_iris(return_X_y=True)


def three_classes() -> MarginMatrix:
    """Two rows of three classes, two voters who are wrong on one each."""
    S = np.array([[1, 0], [1, -1], [-1, 1], [0, 1]], dtype=np.int8)
    return MarginMatrix.of(SignedVotes(S, np.repeat([0, 1], 2), np.tile([1, 2], 2), 2, np.array([0.7, 0.3])))


@pytest.fixture(scope="module")
def forest():
    return RandomForestClassifier(15, max_depth=4, random_state=0).fit(X, y)


def with_value(value):
    Z = X.copy()
    Z[3, 2] = value
    return Z


# --- ensembles ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ensemble",
    [
        FrozenEstimator(RandomForestClassifier()),
        BaggingClassifier(),
        VotingClassifier([("a", GaussianNB())]),
        committee.RandomForestClassifier(),
    ],
    ids=lambda ensemble: type(ensemble).__name__,
)
def test_ensembles_that_are_not_fitted_are_refused(ensemble):
    with pytest.raises(NotFittedError):
        MarginReweighter(ensemble).fit(X, y)


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
    with pytest.raises(ValueError, match="knows one class only; margins need at least 2"):
        MarginReweighter(RandomForestClassifier(3).fit(X, np.zeros(300))).fit(X, np.zeros(300))


# --- rows -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (X, y.astype(str), r"labels that the committee does not know: \['0', '1'\]"),
        (X, np.where(y > 0, np.nan, y), r"labels that the committee does not know: \[nan\]"),
        (X, np.c_[y, y], "y should be a 1d array"),
        (X[:, :4], y, "X has 4 features, but 6 features were learned"),
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


@pytest.mark.parametrize("weight", [np.nan, np.inf, -1.0, 0.0])
def test_row_weights_that_are_none_are_refused(forest, weight):
    with pytest.raises(ValueError, match="sample_weight must be finite, not negative, and not zero for every row"):
        MarginReweighter(forest).fit(X, y, sample_weight=np.full(300, weight))


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
            program = RivalsProgram(np.zeros(2), np.ones(2), np.zeros(2), total)
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
