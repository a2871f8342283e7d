"""Bounds of fitted ensembles from the records of their training."""

from math import exp, inf, log

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier

from committee import AdaBoostClassifier, SBPMTClassifier, SubaggingClassifier, TreeVoter
from committee.bounds import Bound, ensemble_margin, ensemble_norm, massart, overlap
from committee.bounds.boosting import model_tree_vc_dimension
from committee.learners.boosting.largest_margin import LPBoostClassifier
from committee.learners.boosting.quadboost import QuadBoostClassifier
from committee.learners.certificates import rademacher_bounds
from committee.learners.trained_ensembles import for_adaboost, for_quadboost, for_sbpmt, for_vote
from committee.objectives.complexity import Complexity, rademacher

FAST = {"n_estimators": 7, "n_boosting_rounds": 3, "n_leaf_steps": 10, "max_depth": 2, "random_state": 0}
HARD = FAST | {"emphasis": "half", "voting": "hard"}
CANCER, IRIS = load_breast_cancer(return_X_y=True), load_iris(return_X_y=True)


def noisy(n=300, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def draw(rng, n):
    """Two columns of which the sign of one is the class, but for two percent of the rows."""
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] > 0.0) ^ (rng.random(n) < 0.02)


@pytest.mark.filterwarnings("ignore:y holds one class only")
@pytest.mark.parametrize(
    ("bounds", "model"),
    [
        (for_sbpmt, SBPMTClassifier(random_state=0)),
        (lambda model, X, y: for_adaboost(model), AdaBoostClassifier()),
        (for_vote, AdaBoostClassifier()),
        (for_vote, SubaggingClassifier(TreeVoter(max_depth=2), n_estimators=3, random_state=0)),
    ],
)
def test_one_class_and_other_models_are_refused(bounds, model):
    X, y = noisy(20)
    with pytest.raises(ValueError, match="model was fitted on the class 0 alone, and these bounds need two"):
        bounds(model.fit(X, np.zeros_like(y)), X, y)
    with pytest.raises(TypeError, match=f"DecisionTreeClassifier; these bounds are for .*{type(model).__name__}"):
        bounds(DecisionTreeClassifier().fit(X, y), X, y)


def values(bounds):
    return {name: bound.value for name, bound in bounds.items()}


@pytest.mark.parametrize("vote", ["discrete", "confidence", "abstaining"])
@pytest.mark.parametrize(("n_classes", "rate"), [(2, 1.0), (2, 0.3), (4, 1.0)])
def test_adaboost_is_below_its_bound(vote, n_classes, rate):
    X, y = noisy(400, n_classes)
    if vote == "abstaining" and n_classes > 2:
        with pytest.raises(ValueError, match="vote='abstaining' and 4 classes"):
            for_adaboost(AdaBoostClassifier(5, vote=vote).fit(X, y))
        return
    model = AdaBoostClassifier(30, vote=vote, learning_rate=rate).fit(X, y)
    margins = model.committee_.margins(X, y)
    for theta in (-0.5, -0.1, 0.0, 0.05, 0.2, 1.0):
        assert np.mean(margins <= theta) <= for_adaboost(model, theta).value * (1 + 1e-9)
    classical = vote == "discrete" and n_classes == 2 and rate == 1.0
    assert for_adaboost(model).name.startswith("Theorem 5") == classical
    if n_classes == 2:
        assert for_adaboost(model).value == pytest.approx(model.normalisers_.prod())


def test_the_remark_names_the_vote_that_auto_chose():
    bound = for_adaboost(AdaBoostClassifier(3).fit(*noisy(100, 4)))
    assert "vote='confidence'" in bound.remarks[0]


def test_adaboost_of_a_perfect_voter():
    X, y = noisy(100)
    model = AdaBoostClassifier(5, max_depth=None).fit(X, y)
    assert model.estimator_errors_[0] == 0.0
    assert 0.0 < for_adaboost(model).value < 0.1


def test_sbpmt_keeps_what_it_drew():
    X, y = noisy(301)
    model = SBPMTClassifier(**HARD | {"n_estimators": 15}).fit(X, y)
    assert model.draws_.shape == (15, 38) and model.draws_.dtype == np.uint8 and model.n_samples_fit_ == 301
    assert [len(rows) for rows in model.estimators_samples_] == [int(0.7 * 301)] * 15


def test_rows_of_zero_weight_are_never_drawn():
    X, y = noisy(203)
    weight = np.ones(203)
    weight[::3] = 0
    model = SBPMTClassifier(**HARD | {"n_estimators": 15}).fit(X, y, sample_weight=weight)
    alone = SBPMTClassifier(**HARD | {"n_estimators": 15}).fit(X[weight > 0], y[weight > 0])
    assert model.n_samples_fit_ == alone.n_samples_fit_ == int(weight.sum())
    places = np.flatnonzero(weight)
    for rows, among in zip(model.estimators_samples_, alone.estimators_samples_, strict=True):
        assert_array_equal(rows, places[among])
    with_absent, without = for_sbpmt(model, X, y), for_sbpmt(alone, X[weight > 0], y[weight > 0])
    assert values(with_absent) == pytest.approx(values(without))


@pytest.mark.parametrize("emphasis", ["samme", "half"])
@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize("tree", ["shared", "per_class"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_errors_and_risks(emphasis, link, tree, n_classes):
    X, y = noisy(300, n_classes)
    model = SBPMTClassifier(**FAST, voting="hard", emphasis=emphasis, link=link, tree=tree).fit(X, y)
    voters = model.committee_.voters
    assert model.errors_.shape == model.risks_.shape == voters.alpha.shape
    assert (model.errors_ <= model.risks_ / log(2) + 1e-12).all()
    # the errors again, from the fitted trees and the weights that alpha says
    votes = voters.members.votes(model.table_.encode(X))
    for m, rows in enumerate(model.estimators_samples_):
        w = np.full(len(rows), 1 / len(rows))
        for t in range(voters.start[m], voters.start[m + 1]):
            wrong = votes[rows, t] != y[rows]
            assert w[wrong].sum() == pytest.approx(model.errors_[t])
            w[wrong] *= exp(voters.alpha[t])
            w /= w.sum()


@pytest.mark.parametrize("emphasis", ["samme", "half"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sbpmt_is_below_its_bounds(emphasis, n_classes):
    X, y = noisy(300, n_classes)
    model = SBPMTClassifier(**FAST, voting="hard", emphasis=emphasis).fit(X, y)
    for theta in (-0.3, 0.0, 0.2, 1.0):
        found = for_sbpmt(model, X, y, theta=theta, vc_dimension=3)
        assert found["margins"].terms["observed"] <= found["margins"].value
    classical = emphasis == "samme" and n_classes == 2
    assert found["margins"].name.startswith("Theorem 5") == classical
    assert bool(found["margins"].remarks) == (not classical)
    assert set(found) == {"margins", "majority", "subagging"} | (
        {"boosting", "probit_risk"} if n_classes == 2 else set()
    )
    assert all(isinstance(bound, Bound) for bound in found.values())
    if n_classes == 2:
        assert found["boosting"].value > found["boosting"].terms["training_error"]
        assert found["probit_risk"].name.startswith("Theorem 6") == classical
        assert found["probit_risk"].terms["training_error"] >= found["boosting"].terms["training_error"]
    exact = [found["subagging"].terms[name] for name in "ABC"]
    drawn = np.unpackbits(model.draws_, axis=1)[:, :300].astype(bool)
    design = overlap(drawn)
    assert exact == pytest.approx([design.A, design.B, design.C])


def test_where_labels_have_weights_no_product_bounds_the_margins():
    for n_classes, emphasis, kinds in (
        (2, "mh", {"margins", "boosting", "probit_risk"}),  # for two classes it is AdaBoost
        (2, "m2", {"boosting"}),
        (3, "m1", {"margins"}),
        (3, "mh", set()),
        (3, "m2", set()),
    ):
        X, y = noisy(300, n_classes)
        model = SBPMTClassifier(**FAST, voting="shares", emphasis=emphasis).fit(X, y)
        found = for_sbpmt(model, X, y, vc_dimension=3)
        assert set(found) == kinds
        if "margins" in found:
            assert found["margins"].terms["observed"] <= found["margins"].value


def test_more_leaf_steps_lower_the_probit_risk():
    X, y = CANCER
    few, many = (
        SBPMTClassifier(3, 1, steps, max_depth=1, emphasis="samme", random_state=0).fit(X, y) for steps in (2, 50)
    )
    assert (many.risks_ < few.risks_).all()
    values = [for_sbpmt(model, X, y)["probit_risk"].terms["training_error"] for model in (few, many)]
    assert values[1] < values[0]


def test_perfect_trees_leave_no_margin_below_one():
    X, y = IRIS
    X, y = X[y < 2], y[y < 2]
    found = for_sbpmt(SBPMTClassifier(**HARD).fit(X, y), X, y, theta=0.9)
    assert found["margins"].value == found["margins"].terms["observed"] == 0.0


def test_draws_of_all_rows_leave_no_row_to_judge_the_vote_by():
    X, y = noisy(60)
    model = SBPMTClassifier(**HARD | {"n_estimators": 2, "max_samples": 1.0}).fit(X, y)
    assert (np.unpackbits(model.draws_, axis=1)[:, :60] == 1).all()
    assert set(for_sbpmt(model, X, y)) == {"margins", "boosting", "probit_risk"}


@pytest.mark.parametrize(
    ("limits", "most"),
    [({"max_depth": 2}, 4), ({"max_depth": None, "max_leaf_nodes": 3}, 3), ({"max_depth": None}, 12)],
    ids=str,
)
def test_the_vc_dimension_is_that_of_the_largest_tree_that_may_be(limits, most):
    X, y = noisy(120)
    given = {"max_samples": 0.5, "min_samples_leaf": 5, "n_boosting_rounds": 2, "n_leaf_steps": 3} | limits
    model = SBPMTClassifier(**HARD | given).fit(X, y)
    assert int(np.unpackbits(model.draws_[0])[:120].sum()) == 60
    V = for_sbpmt(model, X, y)["boosting"].inputs["vc_dimension"]
    assert model_tree_vc_dimension(most, 4, np.zeros(4, np.int32)) == V


def test_soft_votes_have_no_theorem_3():
    X, y = noisy()
    found = for_sbpmt(SBPMTClassifier(**FAST, voting="soft").fit(X, y), X, y)
    assert set(found) == {"margins", "boosting", "probit_risk"}
    assert all("by the classes that they name" in bound.remarks[-1] for bound in found.values())


@pytest.mark.parametrize("theta", [0.0, 0.3, 0.9])
def test_bounds_of_soft_votes_are_of_the_labels_that_trees_name(theta):
    # trees without an error are unsure of some rows: the margins of their probabilities are above no theta
    X = np.random.default_rng(0).normal(size=(600, 2))
    y = (X[:, 0] > 0).astype(int)
    settings = FAST | {"n_estimators": 5, "n_leaf_steps": 1}
    soft, labels = (
        for_sbpmt(SBPMTClassifier(**settings, voting=voting).fit(X, y), X, y, theta=theta, vc_dimension=3)
        for voting in ("soft", "shares")
    )
    assert soft["margins"].terms["observed"] <= soft["margins"].value
    assert values(soft) == values(labels)


def test_named_labels():
    X, y = noisy()
    named = np.array(["no", "yes"])[y]
    plain, words = (for_sbpmt(SBPMTClassifier(**HARD).fit(X, target), X, target) for target in (y, named))
    assert values(plain) == values(words)


def test_fitted_models_are_refused_other_rows():
    X, y = noisy()
    model = SBPMTClassifier(**HARD).fit(X, y)
    for rows, labels, options, message in (
        (X[:200], y[:200], {}, "X has 200 rows, but model was fitted on 300"),
        (X, np.where(y == 1, 5, y), {}, r"y holds .*5"),
        (X, y, {"delta": 0.0}, "delta"),
        (X, y, {"theta": 2.0}, "theta"),
    ):
        with pytest.raises(ValueError, match=message):
            for_sbpmt(model, rows, labels, **options)


def test_the_voting_bound_of_a_fitted_committee_holds_and_is_below_half():
    rng = np.random.default_rng(0)
    X, y = draw(rng, 30_000)
    model = AdaBoostClassifier(n_estimators=3, max_bins=16).fit(X, y)
    bound = for_vote(model, X, y)["certified"]
    X_new, y_new = draw(rng, 20_000)
    assert np.mean(model.predict(X_new) != y_new) < bound.value < 0.5
    assert bound.inputs["rows_per_voter"] == 2


def test_adaboost_is_counted_by_its_bins():
    X, y = CANCER
    thresholds = sum(min(len(np.unique(column)) - 1, 254) for column in X.T)
    model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    bounds = for_vote(model, X, y)
    stumps = bounds["lectures"].inputs["ln_size"]
    assert exp(stumps) == pytest.approx(2 * thresholds + 2, rel=0.01)
    rows = bounds["certified"].inputs["ln_size"]
    assert exp(rows) == pytest.approx(2 * 30 * (569 * 568 + 1) + 2)
    np.testing.assert_array_equal(bounds["lectures"].inputs["margins"], model.committee_.margins(X, y))
    abstaining = AdaBoostClassifier(n_estimators=20, vote="abstaining").fit(X, y)
    assert for_vote(abstaining, X, y)["lectures"].inputs["ln_size"] == pytest.approx(stumps + log(3), abs=1e-3)


def test_trees_of_limited_growth_frames_and_more_classes():
    X, y = IRIS
    frame = pl.DataFrame(X, schema=["a", "b", "c", "d"], orient="row").with_columns(
        pl.Series("e", np.array(["u", "v"])[y % 2])
    )
    model = SubaggingClassifier(TreeVoter(max_leaf_nodes=4, min_samples_leaf=5), random_state=0).fit(frame, y)
    bounds = for_vote(model, frame, y)
    assert bounds["certified"].inputs["n_classes"] == 3 and bounds["certified"].inputs["rows_per_voter"] == 6
    few = SubaggingClassifier(TreeVoter(max_depth=30, min_samples_leaf=50), random_state=0).fit(frame, y)
    assert for_vote(few, frame, y)["certified"].inputs["rows_per_voter"] == 2 * (150 // 50 - 1)


def test_voters_of_unknown_complexity_are_refused():
    X, y = CANCER
    with pytest.raises(ValueError, match=r"\|B\| is unknown: the voters are trees of unlimited growth"):
        for_vote(SubaggingClassifier(n_estimators=3, random_state=0).fit(X, y), X, y)
    other = AdaBoostClassifier(n_estimators=3, voter=DecisionTreeClassifier(max_depth=1)).fit(X, y)
    with pytest.raises(ValueError, match=r"classifiers that the library does not know\. Give its logarithm as ln_size"):
        for_vote(other, X, y)
    bounds = for_vote(other, X, y, ln_size=9.0)
    assert [bound.inputs["ln_size"] for bound in bounds.values()] == [9.0, 9.0]
    assert bounds["certified"].inputs["rows_per_voter"] == 0
    with pytest.raises(ValueError, match="give scores, of which there are infinitely many"):
        for_vote(AdaBoostClassifier(n_estimators=3, vote="confidence").fit(X, y), X, y)


# --- QuadBoost and LPBoost -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", ["l1", "l2", "linf", "kl", None])
def test_the_error_on_new_rows_stays_below(penalty):
    rng = np.random.default_rng(0)
    X, y = draw(rng, 6000)
    model = QuadBoostClassifier(penalty, alpha=0.1, alpha_max=0.5, n_estimators=10).fit(X, y)
    bounds = for_quadboost(model, X, y)
    X_new, y_new = draw(rng, 20_000)
    error = np.mean(model.predict(X_new) != y_new)
    assert error < bounds["margin"].value < 0.3
    assert bounds["margin"].value < bounds["norm"].value
    assert bounds["norm"].inputs["p"] == {"l2": 2.0, "linf": inf}.get(penalty, 1.0)
    for bound in bounds.values():
        assert "with probability 0.95" in bound.statement


@pytest.mark.parametrize("n", [60, 1000])
def test_bounds_on_random_labels_are_above_half(n):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 10)), rng.random(n) < 0.5
    for rounds in (1, 20, 300):
        model = QuadBoostClassifier(None, n_estimators=rounds, dictionary="all_stumps").fit(X, y)
        assert min(for_quadboost(model, X, y, p=1).values(), key=float).value > 0.5
    assert np.mean(model.predict(X) != y) < 0.4  # it did fit them


def test_bounds_of_quadboost_are_those_of_the_theorems():
    X, y = CANCER
    model = QuadBoostClassifier("l2", alpha=0.5, n_estimators=20, fit_intercept=False).fit(X, y)
    R = Complexity(estimate=0.1, standard_error=0.01, upper=0.12, delta=0.01, draws=30, n_rows=569)
    bounds = for_quadboost(model, X, y, complexity=R)
    sign = np.where(y == 1, 1.0, -1.0)
    scores, weights = sign * model.decision_function(X), model.committee_.weights
    assert bounds["norm"].value == pytest.approx(ensemble_norm(scores, weights, R, 0.04, p=2).value)
    margins = model.committee_.margins(X, y)
    assert bounds["margin"].value == pytest.approx(ensemble_margin(margins, R, 0.04).value)
    known = for_quadboost(model, X, y, complexity=0.12)
    assert known["norm"].value == pytest.approx(ensemble_norm(scores, weights, 0.12, 0.05, p=2).value)
    other = for_quadboost(model, X, y, p=1, complexity=0.12)["norm"]
    assert other.value == pytest.approx(ensemble_norm(scores, weights, 0.12, 0.05, p=1).value)
    assert other.value < known["norm"].value


def test_lpboost_has_weights_of_norm_one():
    X, y = draw(np.random.default_rng(0), 3000)
    bounds = for_quadboost(LPBoostClassifier(nu=0.2).fit(X, y), X, y)
    assert bounds["norm"].terms["norm"] == pytest.approx(1.0) and bounds["norm"].inputs["p"] == 1.0
    assert bounds["margin"].value < bounds["norm"].value < 1.0


def test_an_intercept_is_one_voter_more():
    X, y = CANCER
    model = QuadBoostClassifier("l1", alpha=0.05, fit_intercept=True).fit(X, y)
    bound = for_quadboost(model, X, y, complexity=0.1)["norm"]
    assert bound.terms["n_voters"] == model.committee_.n_voters + 1
    constant = model.decision_function(X) - model.committee_.votes(X) @ model.committee_.weights
    assert bound.terms["norm"] == pytest.approx(np.abs(model.committee_.weights).sum() + abs(constant[0]))


def test_several_classes_are_one_problem_each():
    X, y = IRIS
    names = np.array(["a", "b", "c"])[y]
    model = QuadBoostClassifier("l1", alpha=0.05, fit_intercept=True).fit(X, names)
    bounds = for_quadboost(model, X, names, complexity=0.1)
    F = model.decision_function(X)
    assert len(bounds["norm"].inputs["bounds"]) == 3 and "3 classes" in bounds["norm"].name
    for k, bound in enumerate(bounds["norm"].inputs["bounds"]):
        alone = QuadBoostClassifier("l1", alpha=0.05, fit_intercept=True).fit(X, y == k)
        np.testing.assert_allclose(alone.decision_function(X), F[:, k], atol=1e-9)
        yF = np.where(y == k, 1.0, -1.0) * F[:, k]
        weights = np.append(alone.committee_.weights, np.ptp(alone.committee_.intercept))
        assert bound.value == pytest.approx(ensemble_norm(yF, weights, 0.1, 0.05 / 3).value)
    for bound in bounds.values():
        assert bound.value == pytest.approx(sum(one.value for one in bound.inputs["bounds"]))
        assert bound.value == pytest.approx(sum(bound.terms[t] for t in ("loss", "complexity", "confidence"))) or (
            bound is bounds["norm"]
        )


def test_bounds_do_not_depend_on_the_number_of_rows_voted_at_a_time(monkeypatch):
    X, y = IRIS
    model = QuadBoostClassifier("l1", alpha=0.05).fit(X, y)
    whole = for_quadboost(model, X, y, complexity=0.1)
    monkeypatch.setattr(rademacher_bounds, "ROWS_VOTED", 1)
    parts = for_quadboost(model, X, y, complexity=0.1)
    assert values(parts) == values(whole)


def test_a_class_without_a_voter_has_a_vacuous_bound():
    X, y = IRIS
    with_gaps = X.copy()
    with_gaps[::3, 2] = np.nan
    model = QuadBoostClassifier("l1", alpha=0.5, fit_intercept=False).fit(with_gaps, y)
    bounds = for_quadboost(model, with_gaps, y, complexity=0.1)
    voters = [one.terms["n_voters"] for one in bounds["norm"].inputs["bounds"]]
    silent = [one for one in bounds["norm"].inputs["bounds"] if one.terms["norm"] == 0.0]
    assert silent and sum(voters) == model.committee_.n_voters + len(silent)
    assert all(one.terms["loss"] == 1.0 and one.vacuous for one in silent)


# --- which voters are counted ----------------------------------------------------------------------------------------


def test_the_class_is_every_stump_wherever_its_threshold():
    rng = np.random.default_rng(1)
    x, gaps = rng.normal(size=60), rng.integers(0, 6, size=60).astype(float)
    gaps[:15] = np.nan
    X, y = np.column_stack([x, gaps]), x > 0.3
    model = QuadBoostClassifier("l1", alpha=0.05, n_thresholds=3).fit(X, y)
    found = for_quadboost(model, X, y)["margin"].inputs["complexity"]
    stumps = [np.where(x > t, 1, -1) for t in x]
    for t in range(-1, 6):
        for missing in (-1, 0, 1):
            stumps.append(np.where(np.isnan(gaps), missing, np.where(gaps > t, 1, -1)))
    dense = rademacher(np.array(stumps).T, constant=True, delta=0.005, random_state=0)
    assert found.estimate == pytest.approx(dense.estimate)
    assert found.upper == pytest.approx(dense.upper) and found.delta == pytest.approx(0.005)


def test_the_complexity_of_categories_follows_the_dictionary():
    rng = np.random.default_rng(2)
    c = rng.integers(0, 5, size=200)
    frame = pl.DataFrame({"c": np.array(list("abcde"))[c], "x": rng.normal(size=200)})
    y = (c < 2) ^ (rng.random(200) < 0.1)
    one, subsets = (
        for_quadboost(QuadBoostClassifier("l1", alpha=0.05, dictionary=kind).fit(frame, y), frame, y)["margin"]
        for kind in ("stumps", "all_stumps")
    )
    assert one.inputs["complexity"].estimate < subsets.inputs["complexity"].estimate


def test_trees_are_counted_by_massart():
    X, y = CANCER
    model = QuadBoostClassifier("linf", dictionary="trees", max_depth=1, n_estimators=5).fit(X, y)
    splits = sum(len(np.unique(column)) - 1 for column in X.T)
    expected = massart(log(2 * splits + 2), 569)
    assert for_quadboost(model, X, y)["norm"].inputs["complexity"] == pytest.approx(expected)
    deep = QuadBoostClassifier("linf", dictionary="trees", max_depth=3, min_samples_leaf=200, n_estimators=5).fit(X, y)
    assert for_quadboost(deep, X, y)["norm"].inputs["complexity"] == pytest.approx(expected)  # two leaves at most


def test_columns_of_too_many_values_are_counted_too(monkeypatch):
    X, y = draw(np.random.default_rng(0), 300)
    model = QuadBoostClassifier("l1", alpha=0.1).fit(X, y)
    searched = for_quadboost(model, X, y)["norm"].inputs["complexity"]
    monkeypatch.setattr(rademacher_bounds, "MOST_VALUES", 299)
    counted = for_quadboost(model, X, y)["norm"].inputs["complexity"]
    assert counted == pytest.approx(massart(log(2 * 2 * 299 + 2), 300))
    assert exp(counted**2 * 150) == pytest.approx(2 * 2 * 299 + 2)
    assert searched.estimate < counted


def test_unknown_complexity_is_refused():
    X, y = CANCER
    deep = QuadBoostClassifier("linf", dictionary="trees", max_depth=None, n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="the complexity of the voters is unknown: they are trees of unlimited growth"):
        for_quadboost(deep, X, y)
    other = QuadBoostClassifier("linf", dictionary=DecisionTreeClassifier(max_depth=1), n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match=r"estimators of unknown make\. Give it as complexity"):
        for_quadboost(other, X, y)
    assert for_quadboost(other, X, y, complexity=0.1)["norm"].terms["rademacher"] == 0.1
    unsure = Complexity(estimate=0.1, standard_error=0.01, upper=0.12, delta=0.1, draws=30, n_rows=569)
    with pytest.raises(ValueError, match=r"complexity fails with probability 0\.1, and delta is 0\.05"):
        for_quadboost(other, X, y, complexity=unsure)
    with pytest.raises(ValueError, match=r"delta is 0\.0"):
        for_quadboost(other, X, y, 0.0)
    with pytest.raises(TypeError, match="model is of type DecisionTreeClassifier; these bounds are for QuadBoostClass"):
        for_quadboost(DecisionTreeClassifier().fit(X, y), X, y)
