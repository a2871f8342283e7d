"""Bounds of fitted AdaBoost and SBPMT, from what they record of their training."""

from math import exp, log

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris

from committee import AdaBoostClassifier, SBPMTClassifier, load
from committee.bounds import Bound, overlap
from committee.bounds.vc_dimension import model_tree_vc_dimension
from committee.learners.trained import for_adaboost, for_sbpmt

FAST = {"n_estimators": 7, "n_boosting_rounds": 3, "n_leaf_steps": 10, "max_depth": 2, "random_state": 0}
HARD = FAST | {"emphasis": "half", "voting": "hard"}


def noisy(n: int = 300, n_classes: int = 2, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


@pytest.mark.parametrize(
    ("vote", "n_classes", "rate"),
    [
        ("discrete", 2, 1.0),
        ("discrete", 2, 0.3),
        ("discrete", 4, 1.0),
        ("confidence", 2, 1.0),
        ("confidence", 2, 0.3),
        ("confidence", 4, 1.0),
        ("abstaining", 2, 1.0),
        ("abstaining", 2, 0.3),
    ],
)
def test_adaboost_is_below_its_bound(vote, n_classes, rate):
    X, y = noisy(400, n_classes)
    model = AdaBoostClassifier(30, vote=vote, learning_rate=rate).fit(X, y)
    margins = model.committee_.margins(X, y)
    for theta in (-0.5, -0.1, 0.0, 0.05, 0.2, 1.0):
        assert np.mean(margins <= theta) <= for_adaboost(model, theta).value * (1 + 1e-9)
    classical = vote == "discrete" and n_classes == 2 and rate == 1.0
    assert for_adaboost(model).name.startswith("Theorem 5") == classical
    if n_classes == 2:
        assert for_adaboost(model).value == pytest.approx(model.normalisers_.prod())


def test_adaboost_of_a_perfect_voter():
    X, y = noisy(100)
    model = AdaBoostClassifier(5, max_depth=None).fit(X, y)
    assert model.estimator_errors_[0] == 0.0
    assert 0.0 < for_adaboost(model).value < 0.1


def test_sbpmt_keeps_what_it_drew():
    X, y = noisy(301)
    model = SBPMTClassifier(**HARD | {"n_estimators": 15}, oob_score=True).fit(X, y)
    assert model.draws_.shape == (15, 38) and model.draws_.dtype == np.uint8 and model.n_samples_fit_ == 301
    assert [len(rows) for rows in model.estimators_samples_] == [int(0.7 * 301)] * 15
    unseen = np.ones((15, 301), bool)
    for m, rows in enumerate(model.estimators_samples_):
        unseen[m, rows] = False
    assert_array_equal(np.isnan(model.oob_margins_), ~unseen.any(axis=0))
    votes = model.committee_.voters.votes(model.table_.encode(X))
    right = np.array([np.mean(votes[i, unseen[:, i]] == y[i]) if unseen[:, i].any() else np.nan for i in range(301)])
    assert_allclose(2 * right - 1, model.oob_margins_)


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
    assert {k: b.value for k, b in with_absent.items()} == pytest.approx({k: b.value for k, b in without.items()})


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
@pytest.mark.parametrize("theta", [-0.3, 0.0, 0.2, 1.0])
def test_sbpmt_is_below_its_bounds(emphasis, n_classes, theta):
    X, y = noisy(300, n_classes)
    model = SBPMTClassifier(**FAST, voting="hard", emphasis=emphasis).fit(X, y)
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


def test_a_loaded_model_has_the_same_bounds(tmp_path):
    X, y = noisy()
    model = SBPMTClassifier(**HARD).fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert_array_equal(again.draws_, model.draws_)
    assert {k: b.value for k, b in for_sbpmt(again, X, y).items()} == {
        k: b.value for k, b in for_sbpmt(model, X, y).items()
    }


def test_more_leaf_steps_lower_the_probit_risk():
    X, y = load_breast_cancer(return_X_y=True)
    few, many = (
        SBPMTClassifier(3, 1, steps, max_depth=1, emphasis="samme", random_state=0).fit(X, y) for steps in (2, 50)
    )
    assert (many.risks_ < few.risks_).all()
    values = [for_sbpmt(model, X, y)["probit_risk"].terms["training_error"] for model in (few, many)]
    assert values[1] < values[0]


def test_perfect_trees_leave_no_margin_below_one():
    X, y = load_iris(return_X_y=True)
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
    settings = {"n_estimators": 5, "n_boosting_rounds": 3, "n_leaf_steps": 1, "max_depth": 2, "random_state": 0}
    soft, labels = (
        for_sbpmt(SBPMTClassifier(**settings, voting=voting).fit(X, y), X, y, theta=theta, vc_dimension=3)
        for voting in ("soft", "shares")
    )
    assert soft["margins"].terms["observed"] <= soft["margins"].value
    assert {name: bound.value for name, bound in soft.items()} == {name: b.value for name, b in labels.items()}


def test_named_labels():
    X, y = noisy()
    named = np.array(["no", "yes"])[y]
    plain, words = (for_sbpmt(SBPMTClassifier(**HARD).fit(X, target), X, target) for target in (y, named))
    assert {k: b.value for k, b in plain.items()} == {k: b.value for k, b in words.items()}


def test_fitted_models_are_refused_other_rows():
    X, y = noisy()
    model = SBPMTClassifier(**HARD).fit(X, y)
    with pytest.raises(ValueError, match="X has 200 rows, but model was fitted on 300"):
        for_sbpmt(model, X[:200], y[:200])
    with pytest.raises(ValueError, match=r"y holds .*5"):
        for_sbpmt(model, X, np.where(y == 1, 5, y))
    with pytest.raises(ValueError, match="delta"):
        for_sbpmt(model, X, y, 0.0)
    with pytest.raises(ValueError, match="theta"):
        for_sbpmt(model, X, y, theta=2.0)
    X, y = noisy(300, 3)
    with pytest.raises(ValueError, match="vote='abstaining' and 3 classes"):
        for_adaboost(AdaBoostClassifier(5, vote="abstaining").fit(X, y))
