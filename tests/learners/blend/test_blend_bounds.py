"""Bounds on the error of a committee of ensembles by held-out rows."""

import numpy as np
import pytest

from committee import CommitteeClassifier, CommitteeRegressor, MarginReweighter
from committee.bounds import VoterLosses
from committee.bounds.held_out_rows import unlabelled_margins
from committee.learners.certificates.certificates import CERTIFICATES, UNLABELLED
from committee.learners.trained_ensembles import certify, voter_losses
from tests.small_portfolio import FAST
from tests.subjects import noisy_scores

pytestmark = pytest.mark.usefixtures("small_members")


def drawn(n, n_classes, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    scores = np.column_stack([X[:, 0] * X[:, 1] + k * X[:, 2] + np.sin(2.0 * X[:, 3] + k) for k in range(n_classes)])
    return X, (scores + 0.5 * rng.gumbel(size=scores.shape)).argmax(axis=1)


def fitted(n_classes):
    return CommitteeClassifier(**FAST).fit(*drawn(300, n_classes, 0))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("votes", ["own", "labels"])
def test_rows_kept_from_the_fit_give_every_bound(n_classes, votes):
    model, (X, y) = fitted(n_classes), drawn(400, n_classes, 1)
    unlabelled = {"X_unlabelled": X} if votes == "own" else {}
    certificate = certify(model, X, y, votes=votes, X_test=X, y_test=y, **unlabelled)
    expected = {*CERTIFICATES, UNLABELLED} - {"partition"} if votes == "own" else {*CERTIFICATES}
    assert set(certificate.bounds) == expected
    assert all(bound.value > certificate.test_error for bound in certificate.bounds.values())
    if votes == "own":
        assert certificate.test_error == np.mean(model.predict(X) != y)
    assert certificate["test_set"].value < 0.5


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("votes", ["own", "labels"])
def test_a_wrong_row_has_half_of_the_vote_against_it(n_classes, votes):
    model, (X, y) = fitted(n_classes), drawn(2000, n_classes, 1)
    losses = voter_losses(model, X, y, votes=votes)
    assert losses.n_voters == model.committee_.n_voters
    assert losses.errors.sum() > 100
    assert (losses.gibbs()[losses.errors] >= 0.5 - 1e-9).all()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_bounds_fail_no_more_often_than_they_may(n_classes):
    model, (X, y), n, delta, times = fitted(n_classes), drawn(10_000, n_classes, 1), 150, 0.2, 60
    losses = voter_losses(model, X, y)
    error, leads = losses.errors.mean(), model.committee_.margins(X, model.predict(X))
    failures = dict.fromkeys([*CERTIFICATES, UNLABELLED], 0)
    rng = np.random.default_rng(2)
    for _ in range(times):
        rows, unlabelled = rng.choice(len(y), n, replace=False), rng.choice(len(y), n, replace=False)
        some = VoterLosses(losses.least[rows], None, losses.weights, False, n_classes, wrong=losses.wrong[rows])
        for name, bound in CERTIFICATES.items():
            failures[name] += bound(some, delta=delta).value < error
        failures[UNLABELLED] += unlabelled_margins(some, leads[unlabelled], delta).value < error
    # twice as many as may be are as good as impossible: less than 1 in 1,000
    assert max(failures.values()) <= 2 * delta * times
    assert failures["test_set"] > 0  # and that one is no larger than it has to be


def test_its_own_rows_give_none():
    X, y = drawn(300, 2, 0)
    model = fitted(2)
    with pytest.raises(ValueError, match=r"no rows that are new to the CommitteeClassifier: .*on='validation'"):
        certify(model, X, y, on="oob")
    with pytest.raises(ValueError, match="no rows that are new to the CommitteeClassifier"):
        MarginReweighter(model, on="oob").fit(X, y)


def test_numbers_have_no_error():
    X, y = noisy_scores(100)
    model = CommitteeRegressor(**FAST).fit(X, y)
    with pytest.raises(TypeError, match="is the regressor CommitteeRegressor"):
        certify(model, X, y)
