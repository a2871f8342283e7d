"""Contributions and importances of committees of ensembles."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from committee import CommitteeClassifier
from committee.learners.blend.weights import WeightedVote
from tests.small_portfolio import use_small_members
from tests.subjects import numbers
from tests.vote.explain.mixed_table import mixed_table


@pytest.fixture(autouse=True)
def all_members(monkeypatch):
    """Few voters, and members that all count alike, so that none goes."""

    def alike(self, members, rows, judged):
        nothing = np.zeros(len(members))
        return WeightedVote(members, np.full(len(members), 1.0 / len(members)), nothing, nothing, 0.0, 0.0)

    use_small_members(monkeypatch)
    monkeypatch.setattr(CommitteeClassifier, "_weighed", alike)


def fitted(X, y, effort="best"):
    return CommitteeClassifier(effort, cv=2, random_state=0, n_jobs=1).fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_they_add_up_to_the_probabilities(n_classes):
    X, y = mixed_table(n_classes=n_classes)
    model = fitted(X, y)
    assert len(model.member_names_) == 7
    shares = model.contributions(X)
    assert shares.shape == (len(X), 5, n_classes)
    assert_allclose(shares.sum(axis=1), model.predict_proba(X), atol=1e-12)
    assert_allclose(shares[:, :-1].sum(axis=2), 0.0, atol=1e-12)
    score = model.contributions(X, output="score")
    assert_allclose(score.sum(axis=1), model.decision_function(X), atol=1e-12)
    assert score.shape == ((len(X), 5) if n_classes == 2 else shares.shape)


def test_categories_of_many_levels():
    rng = np.random.default_rng(0)
    town, x = rng.integers(0, 90, 1200), rng.normal(size=1200)
    y = (x + 3.0 * (town % 2) > 1.5).astype(int)
    X = pl.DataFrame({"town": [f"t{t}" for t in town], "x": x}, schema={"town": pl.Categorical, "x": pl.Float64})
    model = fitted(X, y)
    shares = model.contributions(X)
    assert model.table_.n_levels[0] == 90
    assert_allclose(shares.sum(axis=1), model.predict_proba(X), atol=1e-12)
    assert np.abs(shares[:, 0]).mean() > 0.01


def test_a_column_that_no_member_looks_at_adds_nothing():
    X, y = numbers(2)
    X = np.column_stack([X, np.ones(len(X))])
    model = fitted(X, y)
    assert not model.contributions(X)[:, 5].any()
    assert model.feature_importances_[5] == 0.0


def test_lines_count_in_the_importances():
    model = fitted(*numbers(3), "fast")
    of_members = []
    for name, size, at in zip(
        model.member_names_, model.member_sizes_, np.cumsum(model.member_sizes_) - model.member_sizes_, strict=True
    ):
        if name == "lines":
            lines = model.committee_.voters.members[at : at + size]
            of_members = [one.voters.record.risk_decrease.sum(axis=0) for one in lines]
    lines = np.mean([each / each.sum() for each in of_members], axis=0)
    assert lines.sum() == pytest.approx(1.0)
    assert (model.feature_importances_ >= lines / 4.0 - 1e-12).all()
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_what_cannot_be():
    X, y = numbers(2)
    with pytest.raises(NotFittedError):
        CommitteeClassifier().contributions(X)
    model = fitted(X, y, "fast")
    with pytest.raises(ValueError, match="output='prediction' is not available for a classifier; give 'probability'"):
        model.contributions(X, output="prediction")
    with pytest.raises(TypeError, match="sparse"):
        model.contributions(csr_array(X))


@pytest.mark.filterwarnings("ignore:y holds one class", "ignore:n_samples")
def test_of_one_class_and_of_a_forest_alone():
    X, y = numbers(2)
    shares = CommitteeClassifier().fit(X, np.zeros(len(X))).contributions(X)
    assert shares.shape == (len(X), 6, 1) and (shares.sum(axis=1) == 1.0).all()
    few = CommitteeClassifier(random_state=0).fit(X[:2], y[:2] * 0 + [0, 1])
    assert_allclose(few.contributions(X).sum(axis=1), few.predict_proba(X), atol=1e-12)
