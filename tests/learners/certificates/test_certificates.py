"""Certificates of fitted ensembles: whose votes they are about, which rows count, and what is refused."""

import pickle
from dataclasses import replace
from math import ceil

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import coo_array
from scipy.stats import beta
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import BaggingClassifier
from sklearn.ensemble import ExtraTreesClassifier as TheirExtraTrees
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from committee import (
    AdaBoostClassifier,
    Committee,
    FunctionalGradientBoostingClassifier,
    GradientBoostingClassifier,
    LeafReweighter,
    MarginReweighter,
    RandomForestClassifier,
    SBPMTClassifier,
    SubaggingClassifier,
    TreeVoter,
    load,
)
from committee.bounds import first_order, held_out_errors, tandem
from committee.learners.certificates.certificates import CERTIFICATES, WHOLE_VOTE, percent
from committee.learners.trained_ensembles import certify, voter_losses
from committee.learners.trained_ensembles.out_of_bag import out_of_bag_mask
from committee.vote.signed_votes import SignedVotes
from committee.voters.estimators import RegressorVoters

CANCER = load_breast_cancer(return_X_y=True)
WINE = load_wine(return_X_y=True)
SCORES = tuple(name for name in CERTIFICATES if name != "partition")
DRAWN = np.random.RandomState(0)
OUT_OF_BAG = tuple(name for name in SCORES if name not in WHOLE_VOTE)


def forest(**parameters):
    return RandomForestClassifier(**({"n_estimators": 60, "oob_score": True, "random_state": 0} | parameters))


# --- whose vote ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(n_estimators=15),
        AdaBoostClassifier(n_estimators=15, vote="abstaining"),
        AdaBoostClassifier(n_estimators=15, vote="confidence"),
        GradientBoostingClassifier(n_estimators=5, max_depth=2),
        RandomForestClassifier(15, max_depth=3, random_state=0),
        SubaggingClassifier(TreeVoter(max_depth=2), random_state=0),
        TheirForest(15, max_depth=2, random_state=0),
        BaggingClassifier(GaussianNB(), 5, max_samples=0.3, random_state=0),
    ],
    ids=lambda model: f"{type(model).__module__.partition('.')[0]}-{type(model).__name__}",
)
@pytest.mark.parametrize("table", [CANCER, WINE], ids=["two", "three"])
def test_a_row_that_the_vote_gets_wrong_has_a_gibbs_loss_of_half(model, table):
    X, y = table
    X = X + np.random.default_rng(0).normal(size=X.shape) * X.std(axis=0)
    if len(np.unique(y)) > 2 and getattr(model, "vote", "") == "abstaining":
        model = AdaBoostClassifier(n_estimators=15, vote="discrete")
    half = len(y) // 2
    order = np.random.default_rng(1).permutation(len(y))
    fit, new = order[:half], order[half:]
    model.fit(X[fit], y[fit])
    losses = voter_losses(model, X[new], y[new])
    wrong = model.predict(X[new]) != y[new]
    assert wrong.any() and (losses.gibbs()[wrong] >= 0.5 - 1e-12).all()
    committee = Committee.from_estimator(model)
    if committee.n_classes == 2:
        np.testing.assert_allclose(1 - 2 * losses.gibbs(), committee.margins(X[new], y[new]), atol=1e-12)
    named = voter_losses(model, X[new], y[new], votes="labels")
    assert set(np.unique(named.least)) <= {-1, 0, 1} and named.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("table", [CANCER, WINE], ids=["two", "three"])
def test_labels_are_those_of_the_largest_score(table):
    X, y = table
    model = RandomForestClassifier(20, max_depth=2, random_state=0).fit(X, y)
    H = model.committee_.votes(X)
    labels = np.where(H > 0, 1, 0) if H.ndim == 2 else H.argmax(axis=2)
    losses = voter_losses(model, X, y, votes="labels")
    np.testing.assert_array_equal(losses.least == 1, labels == y[:, None])
    np.testing.assert_array_equal(losses.least == -1, labels != y[:, None])
    np.testing.assert_allclose(losses.weights, 1 / 20)


def test_negative_weights_turn_votes_round_and_cost_a_larger_prior():
    X, y = CANCER
    committee = AdaBoostClassifier(n_estimators=5).fit(X, y).committee_
    turned = committee.select(np.arange(5), weights=committee.weights * [1, -1, 1, 1, 1])
    losses = voter_losses(turned, X, y)
    assert losses.turned and losses.ln_prior == pytest.approx(np.log(10))
    np.testing.assert_allclose(1 - 2 * losses.gibbs(), turned.margins(X, y), atol=1e-12)


@pytest.mark.parametrize(("table", "named"), [(CANCER, True), (WINE, False)], ids=["two", "three"])
def test_a_turned_voter_votes_against_its_class(table, named):
    X, y = table
    committee = AdaBoostClassifier(n_estimators=5, vote="discrete").fit(X, y).committee_
    signs = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    losses = voter_losses(committee.select(np.arange(5), weights=committee.weights * signs), X, y)
    votes = np.stack([committee.select([t]).predict(X) for t in range(5)], axis=1)
    K = committee.n_classes
    against = np.where(votes == y[:, None], -1, 1 if K == 2 else 0)
    np.testing.assert_array_equal(losses.least, np.where(signs > 0, np.where(votes == y[:, None], 1, -1), against))
    assert losses.turned and losses.names_classes is named
    unused = voter_losses(committee.select(np.arange(5), weights=committee.weights * [1, 0, 1, 0, 1]), X, y)
    assert not unused.turned and unused.names_classes


def test_a_single_voter_of_three_classes_is_compared_with_all_rivals():
    X, y = WINE
    committee = RandomForestClassifier(1, max_depth=1, random_state=0).fit(X, y).committee_
    alone, twice = (voter_losses(committee.select(trees), X, y).least for trees in ([0], [0, 0]))
    np.testing.assert_array_equal(twice, np.hstack([alone, alone]))


def test_votes_of_regressors_are_clipped():
    X, y = CANCER
    model = FunctionalGradientBoostingClassifier(base=LinearRegression(), n_estimators=2, line_search=False).fit(X, y)
    unbounded = SignedVotes.of(model.committee_, 100 * X, y).matrix
    assert np.abs(unbounded).max() > 2
    np.testing.assert_array_equal(voter_losses(model, 100 * X, y).least, np.clip(unbounded, -1, 1))


@pytest.mark.filterwarnings("ignore:y holds one class only")
def test_one_class_is_nothing_to_certify():
    X, y = CANCER[0], np.zeros(len(CANCER[0]), int)
    with pytest.raises(ValueError, match="rows of one class, which it always predicts"):
        certify(RandomForestClassifier(2).fit(X, y), X, y)


def test_the_ensemble_stays_as_it_is():
    X, y = CANCER
    model = forest().fit(X, y)
    before = pickle.dumps(model)
    certify(model, X, y, on="oob")
    assert pickle.dumps(model) == before


# --- which rows ------------------------------------------------------------------------------------------------------


def test_rows_out_of_bag_are_those_that_the_fit_left_out():
    X, y = WINE
    for model in (
        forest(),
        forest(max_samples=0.4),
        forest(bootstrap=False, max_samples=0.5),
        forest(n_estimators="oob", max_estimators=80),
        SubaggingClassifier(oob_score=True, random_state=3),
        SubaggingClassifier(oob_score=True, random_state=3, voting="soft", bootstrap=True),
        SBPMTClassifier(n_estimators=20, oob_score=True, random_state=0, n_leaf_steps=5, max_depth=2),
        TheirForest(60, oob_score=True, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(), 60, oob_score=True, random_state=0),
    ):
        model.fit(X, y)
        losses = voter_losses(model, X, y, on="oob")
        assert 0.2 < losses.unseen.mean() < 0.8
        voted = losses.unseen.any(axis=1)
        np.testing.assert_array_equal(voted, np.isfinite(model.oob_decision_function_[:, 0]))
    few, of_few = X[::15], y[::15]
    for n_estimators, size in ((5, 8), ("all", len(few) - 1)):
        model = SubaggingClassifier(n_estimators=n_estimators, max_samples=size, random_state=0).fit(few, of_few)
        unseen = out_of_bag_mask(model, model.committee_.n_voters, of_few)
        assert unseen.any()
        for t, drawn in enumerate(model.estimators_samples_):
            np.testing.assert_array_equal(np.flatnonzero(~unseen[:, t]), drawn)
    for fitted, given in ((X, coo_array(X)), (pd.DataFrame(X).add_prefix("x"), X)):  # known by their leaves
        certify(BaggingClassifier(random_state=0).fit(fitted, y), given, y, on="oob")


def test_out_of_bag_risk_is_that_of_held_out_rows():
    X, y = CANCER
    X, new, y, labels = train_test_split(X, y, test_size=0.5, random_state=0)
    model = forest().fit(X, y)
    out, held = voter_losses(model, X, y, on="oob"), voter_losses(model, new, labels)
    assert out.weights @ out.risk == pytest.approx(held.weights @ held.risk, abs=0.02)
    seen = voter_losses(model, X, y)
    with pytest.warns(UserWarning, match="is higher than chance allows, and misleading if the model was trained on th"):
        certify(model, X, y)
    assert seen.weights @ seen.risk < 0.7 * (out.weights @ out.risk)


FEW_DRAWS = SubaggingClassifier(n_estimators=5, max_samples=0.3, oob_score=True, random_state=0)


@pytest.mark.parametrize(
    ("model", "rows", "changed", "message"),
    [
        (forest(), slice(-1), {}, "X and y are not the rows that the RandomForestClassifier was trained on"),
        (forest(), slice(None, None, -1), {}, r"out-of-bag vote on row \d+ differs from the one that ensemble has st"),
        (forest(), slice(None), {"random_state": 1}, "differs from the one that ensemble has stored"),
        (TheirForest(20, random_state=0), slice(-1), {}, "X has 177 rows; the RandomForestClassifier was .* on 178"),
        (TheirForest(20, random_state=0), slice(None, None, -1), {}, "its tree 0 drew reach other leaves than in"),
        (BaggingClassifier(max_features=0.5, random_state=0), slice(None, None, -1), {}, "reach other leaves than in"),
        (FEW_DRAWS, slice(-8), {}, "X has 170 rows, but ensemble has stored 178; X, y and sample_weight must be"),
        (forest(random_state=DRAWN), slice(None), {}, "RandomForestClassifier again, but its random_state is Rand"),
        (forest(oob_score=False), slice(None), {}, "has no stored out-of-bag vote by which rows drawn again"),
        (AdaBoostClassifier(n_estimators=3), slice(None), {}, "training rows of each voter; AdaBoostClassifier has no"),
        (TheirExtraTrees(5), slice(None), {}, "every voter of the ExtraTreesClassifier saw them all"),
        (forest(bootstrap=False, oob_score=False), slice(None), {}, "RandomForestClassifier saw them all"),
        (
            SubaggingClassifier(n_estimators=4, random_state=DRAWN),
            slice(None),
            {},
            "train it with a whole number or None",
        ),
    ],
)
def test_other_rows_and_ensembles_without_known_draws_are_refused(model, rows, changed, message):
    X, y = WINE
    with pytest.raises(ValueError, match=message):
        certify(model.fit(X, y).set_params(**changed), X[rows], y[rows], on="oob")


@pytest.mark.parametrize("kind", [TheirForest, BaggingClassifier])
def test_draws_by_weight_leave_out_light_rows_and_are_refused(kind):
    # coins are heavy: out of bag they are rare, and trees seem better than they are on new rows
    random = np.random.default_rng(0)
    coin = random.integers(0, 2, 2000)
    X, y = np.column_stack([coin, random.random(2000)]), np.where(coin, random.integers(0, 2, 2000), 0)
    weight = np.where(coin, 10.0, 1.0)
    model = kind(n_estimators=50, random_state=0).fit(X, y, sample_weight=weight)
    seen = ~out_of_bag_mask(model, 50, y)
    assert seen[coin == 1].mean() > 1.2 * seen[coin == 0].mean()
    for drawn in (model, MarginReweighter(model, "doom", on="oob").fit(X, y)):
        with pytest.raises(ValueError, match="drew rows of greater weight more often"):
            certify(drawn, X, y, on="oob")
    certify(kind(n_estimators=50, random_state=0).fit(X, y, sample_weight=np.full(2000, 3.0)), X, y, on="oob")


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB", "ignore:invalid value")
def test_rows_that_all_voters_have_seen_are_still_checked():
    X, y = WINE
    for kind in (TheirForest, BaggingClassifier):
        model = kind(n_estimators=4, oob_score=True, random_state=0).fit(X, y)
        assert not voter_losses(model, X, y, on="oob").unseen.any(axis=1).all()
        with pytest.raises(ValueError, match="differs from the one that ensemble has stored"):
            certify(model, X[::-1], y[::-1], on="oob")
    weights = np.repeat([0.0, 1.0], 89)
    for given in (None, weights):
        with pytest.raises(ValueError, match="every voter of the ExtraTreesClassifier saw them all"):
            certify(TheirExtraTrees(5).fit(X, y, weights), X, y, on="oob", sample_weight=given)


def coins(n, seed):
    """Labels that nothing tells: no vote errs on less than half of new rows."""
    random = np.random.default_rng(seed)
    return random.normal(size=(n, 4)), random.integers(0, 2, n)


def test_leaves_that_have_their_votes_from_rows_out_of_bag_are_refused():
    X, y = coins(400, 0)
    reserved = forest(reserve=0.2).fit(X, y)
    small = LeafReweighter(reserved, max_nodes=0.3, C=(10.0,)).fit(X, y)
    assert 1 - small.score(X[reserved.reserved_rows_], y[reserved.reserved_rows_]) < 0.25
    for model in (small, MarginReweighter(small, "doom").fit(X, y)):
        refusal = "LeafReweighter with on='oob', whose leaves' votes were fitted to the training rows"
        with pytest.raises(ValueError, match=refusal):
            certify(model, X, y, on="oob")
    others = LeafReweighter(reserved, max_nodes=0.3, on="validation").fit(*coins(400, 1))
    assert certify(others, X, y, on="oob")["test_set"].value > 0.5
    assert certify(small, *coins(400, 2))["test_set"].value > 0.5


def test_rows_by_which_weights_were_found_are_no_test_set_and_the_voters_are_those_of_the_ensemble():
    X, y = coins(400, 0)
    reserved = forest(reserve=0.2).fit(X, y)
    by_these = MarginReweighter(reserved, "doom", on="oob").fit(X, y)
    assert by_these.committee_.n_voters < 60
    losses = voter_losses(by_these, X, y, on="oob")
    assert not losses.untouched.any() and losses.ln_prior == np.log(reserved.committee_.n_voters)
    assert "test_set" not in certify(by_these, X, y, on="oob").bounds
    by_others = MarginReweighter(reserved, "doom", on="validation").fit(*coins(400, 1))
    losses = voter_losses(by_others, X, y, on="oob")
    assert losses.untouched.sum() >= 80 and losses.ln_prior == np.log(by_others.committee_.n_voters)


@pytest.mark.parametrize(
    ("model", "table", "votes", "named"),
    [
        (AdaBoostClassifier(n_estimators=5), CANCER, "own", True),
        (AdaBoostClassifier(n_estimators=5, vote="discrete"), WINE, "own", True),
        (AdaBoostClassifier(n_estimators=15, vote="abstaining"), WINE, "own", False),
        (RandomForestClassifier(5, max_depth=3, random_state=0), WINE, "own", False),
        (RandomForestClassifier(5, max_depth=3, random_state=0), WINE, "labels", True),
        (GradientBoostingClassifier(n_estimators=5), CANCER, "own", False),
    ],
)
def test_names_classes_is_true_for_voters_that_name_a_class_on_every_row(model, table, votes, named):
    losses = voter_losses(model.fit(*table), *table, votes=votes)
    assert losses.names_classes is named
    if named:
        assert np.isin(losses.least, (-1, 1)).all()


# --- the table -------------------------------------------------------------------------------------------------------


def test_a_certificate_out_of_bag():
    X, new, y, labels = train_test_split(*CANCER, random_state=0)
    model = forest(max_samples=0.3).fit(X, y)
    found = certify(model, X, y, on="oob", X_test=new, y_test=labels)
    assert tuple(found.bounds) == OUT_OF_BAG and found.n_rows == len(X) and found.on == "oob"
    assert found.test_error == pytest.approx(1 - model.score(new, labels))
    assert found.test_error < found.best.value < 0.4 and not found.vacuous
    losses = voter_losses(model, X, y, on="oob")
    assert found["tandem"].value == tandem(losses, delta=0.05 / 4).value
    alone = certify(model, X, y, on="oob", bounds=("first_order",))
    assert alone.best.value == first_order(losses).value < found["first_order"].value
    assert alone.test_error is None and alone.rows()[0]["gap"] is None
    text = str(found)
    assert found.headline is found.best  # no row is new to the whole vote
    first, how, needs = found.sentences()
    assert text.splitlines()[:3] == [first, how, needs]
    most = ceil(found.best.value * 1000) / 10
    proved, _, expected = first.partition(" From ")
    assert proved == f"With probability 95 % at most {most:g} % of new rows are misclassified."
    wrong = 1.0 - model.oob_score_
    plan = found.held_out
    assert (plan.rows, plan.share) == (85, 0.2) and plan.error == losses.error == pytest.approx(wrong, abs=1e-9)
    assert plan.value == pytest.approx(beta.ppf(0.95, 85 * wrong + 1, 85 * (1 - wrong)))
    words = f"85 held-out rows a bound of about {percent(plan.value)} is to be expected, as {100 * wrong:.1f} % are"
    assert expected.startswith(words)
    assert expected.endswith("fit with reserve=0.2, or give rows that had no part in the fit, with on='validation'.")
    assert f"426 rows, each judged by the voters that were not trained on it: {found.best.name}, the least of 4" in how
    assert "the training draws do not depend on the labels" in needs
    assert f"Test error {found.test_error:.4f}." in text and "second order (tandem)" in text and "max_samples" in text
    assert found.rows()[0]["gap"] == found["first_order"].value - found.test_error
    # numbers stand under one another, and the votes of all voters are not shown
    assert repr(alone) == str(alone) and "array" not in repr(alone.best) and alone.best.name in repr(alone.best)
    lines = text.splitlines()[5:]
    assert len({line.index(f"{b.value:7.4f}") for line, b in zip(lines, found.bounds.values(), strict=True)}) == 1


def test_a_certificate_on_held_out_rows():
    X, new, y, labels = train_test_split(*CANCER, test_size=0.4, random_state=0)
    model = AdaBoostClassifier(n_estimators=30).fit(X, y)
    found = certify(model, new, labels)
    assert tuple(found.bounds) == tuple(CERTIFICATES) and found.best is found["test_set"]
    alone = certify(model, new, labels, bounds=("test_set",))
    assert found.headline.value == alone["test_set"].value < found.best.value
    assert found["partition"].value <= found["binomial"].value  # by the same inequality, which fails at once for both
    assert found["test_set"].value == held_out_errors(voter_losses(model, new, labels), 0.05 / 6).value
    assert "these rows were not used for training, weights or choices" in found.sentences()[2]
    assert "wrong (1.8 %): the test-set bound (exact binomial), with all of delta." in found.sentences()[1]
    assert found["binomial"].name == "drawn voters (binomial)"
    by_pairs = certify(model, new, labels, bounds=("tandem",))
    assert by_pairs.headline is by_pairs["tandem"] and "to train the voters" in by_pairs.sentences()[2]
    assert 1 - model.score(new, labels) < found.best.value < 0.12
    assert found.held_out is None and "to be expected" not in found.sentences()[0]
    assert "held-out rows" in str(found) and "test error" not in str(found)
    assert found.n_untouched == 0
    theirs = certify(Committee.from_estimator(TheirForest(20, random_state=0).fit(X, y)), new, labels)
    assert theirs.ensemble == "Committee" and theirs.best.value < 0.15


def test_a_certificate_of_three_classes_is_vacuous_from_two_thirds_on():
    X, new, y, labels = train_test_split(*WINE, test_size=0.5, random_state=0)
    found = certify(forest(max_depth=2).fit(X, y), new, labels, X_test=new, y_test=labels, votes="labels")
    assert all(bound.trivial == pytest.approx(2 / 3) for bound in found.bounds.values())
    assert found.test_error <= found.best.value < 2 / 3


def test_frames_are_taken_as_the_ensemble_takes_them():
    X, y = WINE
    table = pl.DataFrame(X, schema=[f"c{j}" for j in range(X.shape[1])], orient="row")
    table = table.with_columns(pl.Series("s", np.array(["a", "b"])[(X[:, 0] > 13).astype(int)]))
    model = forest().fit(table, y.astype(str))
    assert certify(model, table, y.astype(str), on="oob", X_test=table, y_test=y.astype(str)).test_error == 0.0


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"on": "train"}, "on is 'train'; it must be 'validation' or 'oob'"),
        ({"votes": "soft"}, "votes is 'soft'; it must be 'own' or 'labels'"),
        ({"delta": 0.0}, "delta is 0.0, the probability"),
        ({"X_test": WINE[0]}, "X_test and y_test go together"),
        ({"bounds": "tandem"}, "bounds='tandem' is one name; give a tuple"),
        ({"bounds": ("vc",)}, "bounds holds 'vc'; choose from test_set, binomial, partition, first_order"),
        (
            {"bounds": ("binomial",), "on": "oob"},
            "'binomial', which needs on='validation', or rows that no voter was trained on",
        ),
        (
            {"bounds": ("partition",)},
            "'partition', which needs voters that name one class each, as with votes='labels'",
        ),
        ({"bounds": ("unlabelled_margins",)}, "'unlabelled_margins', which needs X_unlabelled"),
        ({"X_unlabelled": WINE[0], "votes": "labels"}, "X_unlabelled is given with votes='labels'"),
        ({"sample_weight": np.ones(178)}, "sample_weight is that of the fit, for on='oob'"),
        ({"bounds": ()}, "bounds is empty; give some of test_set"),
        ({"y": np.full(178, 7)}, "7"),
        ({"y": WINE[1][:5]}, "y has 5 labels; X has 178 rows"),
    ],
)
def test_refused(change, message):
    X, y = WINE
    arguments = {"ensemble": forest().fit(X, y), "X": X, "y": y} | change
    with pytest.raises(ValueError, match=message):
        certify(**arguments)


# --- rows that no voter was trained on --------------------------------------------------------------------------------


def test_a_reserve_judges_the_whole_vote():
    X, new, y, labels = train_test_split(*CANCER, random_state=0)
    model = forest(reserve=0.25).fit(X, y)
    found = certify(model, X, y, on="oob", X_test=new, y_test=labels)
    assert tuple(found.bounds) == SCORES and found.best is found["test_set"]
    assert found.headline.value == held_out_errors(voter_losses(model, X, y, on="oob").of_untouched(), 0.05).value
    wrong = int(found.headline.terms["wrong"])
    assert (
        f"Computed from the 106 rows that no voter was trained on, of which the vote gets {wrong}"
        in found.sentences()[1]
    )
    assert found.n_rows == 426 and found.n_untouched == len(model.reserved_rows_) == 106
    assert "426 rows, out of bag, 106 of which no voter was trained on" in str(found)
    assert found.test_error < found.best.value < 0.2
    held = X[model.reserved_rows_], y[model.reserved_rows_]
    for name in WHOLE_VOTE:
        alone = certify(model, *held, bounds=(name,), delta=0.05 / 6)
        assert alone.best.value == found[name].value and found[name].terms["rows"] == 106
    assert found["test_set"].terms["wrong"] == np.sum(model.predict(held[0]) != held[1])


def test_the_reserve_counts_for_every_voter_and_every_pair():
    X, y = CANCER
    model = forest(reserve=0.25).fit(X, y)
    losses = voter_losses(model, X, y, on="oob")
    reserve = np.zeros(569, dtype=bool)
    reserve[model.reserved_rows_] = True
    np.testing.assert_array_equal(losses.untouched, losses.unseen.all(axis=1))
    np.testing.assert_array_equal(losses.untouched, reserve)
    assert losses.pair_rows.min() > 142 and losses.rows.min() > 142 + 0.25 * 427
    whole = losses.of_untouched()
    assert whole.unseen is None and whole.n_rows == 142
    np.testing.assert_array_equal(whole.least, losses.least[reserve])
    with pytest.raises(ValueError, match="use on='validation', or an ensemble with a reserve"):
        voter_losses(forest().fit(X, y), X, y, on="oob").of_untouched()


def test_rows_that_all_draws_happen_to_leave_are_a_test_set_too():
    X, y = CANCER
    few = {"n_estimators": 5, "max_samples": 0.1, "random_state": 0}
    for model in (
        BaggingClassifier(**few),
        TheirForest(**few),
        SubaggingClassifier(**few, oob_score=True),
        forest(**few),
    ):
        model.fit(X, y)
        losses = voter_losses(model, X, y, on="oob")
        found = certify(model, X, y, on="oob")
        assert found.n_untouched == losses.unseen.all(axis=1).sum() > 250
        assert "test_set" in found.bounds and found["test_set"].terms["rows"] == found.n_untouched


def test_rows_by_which_the_number_of_trees_was_chosen_are_no_test_set():
    X, y = CANCER
    few = {"n_estimators": "oob", "max_estimators": 60, "max_samples": 0.02}
    chosen = forest(**few).fit(X, y)
    losses = voter_losses(chosen, X, y, on="oob")
    assert losses.unseen.all(axis=1).any() and not losses.untouched.any()
    assert "test_set" not in certify(chosen, X, y, on="oob").bounds
    assert losses.ln_prior == pytest.approx(np.log(60)) and losses.n_voters < 60
    held = forest(**few, reserve=0.2).fit(X, y)
    losses = voter_losses(held, X, y, on="oob")
    np.testing.assert_array_equal(np.flatnonzero(losses.untouched), held.reserved_rows_)
    assert losses.of_untouched().ln_prior == pytest.approx(np.log(losses.n_voters))


def test_rows_of_no_weight_are_absent_and_others_count_once():
    X, y = CANCER
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    some = weight > 0
    for parameters in ({}, {"reserve": 0.2}):
        model = forest(**parameters).fit(X, y, weight)
        without = forest(**parameters).fit(X[some], y[some], weight[some])
        found = certify(model, X, y, on="oob", sample_weight=weight)
        expected = certify(without, X[some], y[some], on="oob")
        assert [bound.value for bound in found.bounds.values()] == [bound.value for bound in expected.bounds.values()]
        with pytest.raises(ValueError, match="X and y are not the rows that the RandomForestClassifier was trained on"):
            certify(model, X, y, on="oob")


def test_rows_of_no_weight_are_no_test_set():
    X, y = WINE
    weight = (np.arange(178) % 2).astype(float)
    model = SBPMTClassifier(n_estimators=20, oob_score=True, random_state=0, n_leaf_steps=5, max_depth=2)
    model.fit(X, y, weight)
    losses = voter_losses(model, X, y, on="oob", sample_weight=weight)
    assert losses.unseen.any() and not losses.unseen[weight == 0].any() and not losses.untouched.any()


def test_the_reserve_is_found_again_after_saving(tmp_path):
    X, y = WINE
    model = forest(reserve=0.3).fit(X, y)
    model.save(tmp_path / "forest")
    again = load(tmp_path / "forest")
    np.testing.assert_array_equal(again.reserved_rows_, model.reserved_rows_)
    assert str(certify(again, X, y, on="oob")) == str(certify(model, X, y, on="oob"))
    for changed in ({"reserve": 0.2}, {"reserve": 0.0}):
        with pytest.raises(ValueError, match=r"X and y are not the rows|X, y and sample_weight must be"):
            certify(load(tmp_path / "forest").set_params(**changed), X, y, on="oob")


# --- rows without labels ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [CANCER, WINE], ids=["two", "three"])
def test_unlabelled_rows_make_a_certificate_out_of_bag(table):
    X, new, y, labels = train_test_split(*table, test_size=0.4, random_state=0)
    model = forest(n_estimators=150).fit(X, y)
    found = certify(model, X, y, on="oob", X_test=new, y_test=labels, X_unlabelled=new)
    assert tuple(found.bounds) == (*OUT_OF_BAG, "unlabelled_margins")
    assert found.test_error < found["unlabelled_margins"].value
    assert found["unlabelled_margins"].value < found["first_order"].value
    assert found["unlabelled_margins"].terms["unlabelled_rows"] == len(new)
    theirs = certify(Committee.from_estimator(model), new, labels, X_unlabelled=new)
    assert "unlabelled_margins" in theirs.bounds


@pytest.mark.parametrize(
    ("model", "votes"),
    [
        (RandomForestClassifier(30, random_state=0), "own"),
        (RandomForestClassifier(30, max_depth=6, random_state=0), "labels"),
        (AdaBoostClassifier(30, max_depth=3), "own"),
        (GradientBoostingClassifier(n_estimators=10), "own"),
    ],
)
def test_a_test_set_counts_the_errors_of_the_vote_itself(model, votes):
    """Of ten classes a vote is right with far less than half of all weight."""
    X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
    model.fit(X, y)
    found = certify(model, X_test, y_test, bounds=("test_set",), votes=votes, X_test=X_test, y_test=y_test)
    bound = found["test_set"]
    if votes == "own":
        wrong = int((model.predict(X_test) != y_test).sum())
    else:
        committee = model.committee_
        named = committee.voters.votes(model.table_.encode(X_test))
        labels = named.argmax(axis=2)
        tally = np.stack([(labels == k) @ committee.weights for k in range(10)], axis=1)
        own = tally[np.arange(len(y_test)), y_test]
        tally[np.arange(len(y_test)), y_test] = -np.inf
        wrong = int((own <= tally.max(axis=1) + 1e-12).sum())
    assert bound.terms["wrong"] == wrong
    assert found.test_error == pytest.approx(wrong / len(y_test))
    assert bound.value == pytest.approx(beta.ppf(0.95, wrong + 1, len(y_test) - wrong))
    assert bound.value < 0.2


def test_regressors_have_votes_without_a_bound():
    """Two lines, one of which outvotes the other on the rows learned from, and not on rows far from them."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(100, 2)), np.arange(100) % 2
    given = FunctionalGradientBoostingClassifier(base=LinearRegression(), n_estimators=2, line_search=False).fit(X, y)
    ones, falling = LinearRegression().fit(X, np.ones(100)), LinearRegression().fit(X, -X[:, 1])
    spread = np.abs(X[:, 1]).max()
    voters = RegressorVoters([ones, falling], np.zeros(2, int), np.array([1.0, spread]), 1, 2)
    c = given.committee_
    vote = Committee(voters, np.array([9.0, 1.0 / spread]), c.classes, c.link, c.table)
    far = np.column_stack([random.normal(size=500), np.full(500, 100.0)])
    assert not vote.predict(far).any(), "all wrong"
    certificate = certify(vote, far, np.ones(500, int))
    assert list(certificate.bounds) == ["test_set"] and certificate.best.value == 1.0
    with pytest.raises(ValueError, match=r"'tandem', which needs bounded votes, and regressors may predict any number"):
        certify(vote, far, np.ones(500, int), bounds=("test_set", "tandem"))
    assert "tandem" in certify(given, X, y, votes="labels").bounds


@pytest.mark.parametrize("untouched", [29, 30])
def test_thirty_untouched_rows_make_the_headline(untouched):
    X, y = CANCER
    reserved = forest(reserve=(untouched + 0.5) / 200).fit(X[:200], y[:200])
    found = certify(reserved, X[:200], y[:200], on="oob")
    assert found.n_untouched == untouched
    assert (found.headline.value < min(bound.value for bound in found.bounds.values())) == (untouched == 30)


def test_percentages_are_rounded_up():
    assert (percent(0.05), percent(0.0501), percent(0.0501, down=True)) == ("5 %", "5.1 %", "5 %")
    X, y = CANCER
    model = forest(reserve=0.2).fit(X, y)
    several = certify(model, X, y, on="oob", bounds=("tandem", "first_order"), delta=0.0004)
    assert several.sentences()[0].startswith("With probability 99.9 % at most")
    assert "the least of 2 bounds that share delta" in several.sentences()[1]
    assert "the least of" not in certify(model, X, y, on="oob", bounds=("tandem",)).sentences()[1]


def test_a_certificate_is_vacuous_if_all_its_bounds_are():
    X, y = CANCER
    few = forest(max_samples=0.2).fit(X[:40], y[:40])
    found = certify(few, X[:40], y[:40], on="oob")
    loose = replace(found.best, value=0.6, trivial=0.5)
    tight = replace(loose, value=0.4)
    for headline, other, vacuous in ((loose, loose, True), (loose, tight, False), (tight, loose, False)):
        assert replace(found, headline=headline, bounds={"tandem": other}).vacuous is vacuous
    loose = replace(loose, value=1.38)
    text = str(replace(found, headline=loose, bounds={"tandem": loose}, test_error=0.25))
    assert "the bound is 100 %" in text and " 1.0000 +0.7500 " in text


@pytest.mark.parametrize(
    "model",
    [
        forest(random_state=None),
        forest(random_state=None, class_weight="balanced"),
        forest(random_state=None, reserve=0.2),
        SubaggingClassifier(n_estimators=30, oob_score=True),
    ],
)
def test_draws_without_a_seed_are_repeated(model):
    X, y = CANCER
    for labels in (y, y.astype(float), np.array(["a", "b"])[y]):
        assert certify(model.fit(X, labels), X, labels, on="oob").n_rows == len(y)
    if isinstance(model, RandomForestClassifier):
        model = clone(model).set_params(warm_start=True)
        assert certify(model.fit(X, y), X, y, on="oob").n_rows == len(y)
