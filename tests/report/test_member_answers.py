"""Predictions of members of committees: metrics, disagreement, tables and pages."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.spatial.distance import jensenshannon
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss, mean_pinball_loss, precision_score, recall_score

from committee import CommitteeClassifier, CommitteeRegressor, RandomForestClassifier
from committee.report.members import (
    MemberAnswers,
    classes_grid,
    disputed_grid,
    estimate,
    figures_grid,
    reliabilities,
    rows_grids,
    stored_estimate,
)
from committee.report.model_pages import render_model
from tests.small_portfolio import use_small_members
from tests.subjects import noisy_scores, numbers


@pytest.fixture(scope="module")
def some():
    """Small committees, of classes and of numbers, with rows that they have not seen."""
    with pytest.MonkeyPatch.context() as patch:
        use_small_members(patch)
        fitted = {}
        X, y = numbers(3, 240)
        tables = {CommitteeClassifier: (X, np.array(["a", "b", "c"])[y]), CommitteeRegressor: noisy_scores(240, 1)}
        for kind, (X, y) in tables.items():
            model = kind("best", cv=2, min_gain=0.0, random_state=0).fit(X[::2], y[::2])
            assert len(model.member_names_) > 1
            fitted[kind] = model, X[1::2], y[1::2]
    return fitted


@pytest.fixture
def classes(some):
    model, X, y = some[CommitteeClassifier]
    return model, X, y, MemberAnswers.of(model, X, y)


def test_answers_are_those_of_the_members(classes):
    model, X, y, told = classes
    assert told.names == tuple(model.members_["member"][: len(model.member_names_)])
    assert_allclose(told.weights, np.sort(model.member_weights_)[::-1])
    for name, p in zip(told.names, told.answers, strict=True):
        assert_array_equal(p, model.member(name).predict_proba(X))
    assert_array_equal(told.vote, model.predict_proba(X))
    assert_array_equal(told.classes[told.elected()[-1]], model.predict(X))
    assert_array_equal(told.classes[told.truth], y)
    assert_allclose(1.0 - told.errors()[-1], model.score(X, y))
    assert_allclose(told.log_losses()[-1], log_loss(y, model.predict_proba(X)))


def test_disagreement_is_a_share_of_rows(classes):
    _, _, _, told = classes
    elected = told.elected()
    assert_array_equal(told.disagreement(), [[np.mean(one != other) for other in elected] for one in elected])


def test_divergence_is_that_of_jensen_and_shannon(classes):
    _, _, _, told = classes
    for i, apart in enumerate(told.divergence()):
        p, w = told.answers[:, i], told.weights
        mean = w @ p
        relative = [np.sum(each[each > 0] * np.log(each[each > 0] / mean[each > 0])) for each in p]
        assert_allclose(apart, w @ relative, atol=1e-12)
    two = MemberAnswers(("a", "b"), np.full(2, 0.5), told.answers[:2], told.vote, told.classes, None)
    peer = jensenshannon(told.answers[0], told.answers[1], axis=1) ** 2
    assert_allclose(two.divergence(), peer, atol=1e-12)
    assert_array_equal(told.most_disputed(5), np.argsort(-told.divergence(), kind="stable")[:5])
    p = np.tile([[0.2, 0.8]], (2, 3, 1))
    equal = MemberAnswers(("a", "b"), np.full(2, 0.5), p, p[0], np.array([0, 1]), None)
    assert not len(equal.most_disputed(3)) and not disputed_grid(equal).rows and not rows_grids(equal)


def test_numbers_are_apart_by_their_spread(some):
    model, X, y = some[CommitteeRegressor]
    told = MemberAnswers.of(model, X, y)
    assert_array_equal(told.vote[:, 0], model.predict(X))
    each = told.everyone[:, :, 0]
    assert_allclose(told.errors(), np.sqrt(((each - y) ** 2).mean(axis=1)))
    assert_allclose(told.disagreement()[0, 1], np.sqrt(((each[0] - each[1]) ** 2).mean()))
    i = told.most_disputed(1)[0]
    mean = np.average(each[:-1, i], weights=told.weights)
    assert_allclose(told.divergence()[i], np.sqrt(np.average((each[:-1, i] - mean) ** 2, weights=told.weights)))
    figures = figures_grid(told)
    assert figures.rows[0][:2] == ("vote", "-") and figures.rows[1][0] == told.names[0]
    assert figures.title.startswith("Members on 120 rows") and len(rows_grids(told)) == 2
    assert disputed_grid(told).rows[0][:2] == (str(i), f"{y[i]:.4g}")


def test_members_for_another_loss_are_judged_by_it(some):
    _, X, y = some[CommitteeRegressor]
    with pytest.MonkeyPatch.context() as patch:
        use_small_members(patch)
        model = CommitteeRegressor("fast", cv=2, loss="quantile", quantile=0.9, random_state=0).fit(X, y)
        positive = CommitteeRegressor("fast", cv=2, loss="gamma", random_state=0).fit(X, np.exp(y / np.abs(y).max()))
    told = MemberAnswers.of(model, X, y)
    assert_allclose(told.errors()[-1], mean_pinball_loss(y, model.predict(X), alpha=0.9))
    assert figures_grid(told).columns[2] == "pinball loss of 0.9"
    with pytest.raises(ValueError, match="gamma"):
        MemberAnswers.of(positive, X, -np.ones(len(X)))


def test_tables_of_classes(classes):
    model, X, y, told = classes
    figures = figures_grid(told)
    assert [row[0] for row in figures.rows] == ["vote", *told.names]
    right = told.elected() == told.truth
    reliable = reliabilities(told)[told.names[0]]
    expected = right[0].mean(), told.log_losses()[0], reliable.calibration_error
    assert figures.rows[1][2:5] == tuple(f"{figure:.4f}" for figure in expected)
    rescued = np.mean(right[0] & ~right[-1])
    assert float(figures.rows[1][-1].rstrip("%")) == pytest.approx(100 * rescued, abs=0.6)
    of = {row[0]: row for row in classes_grid(told).rows}
    elected = told.classes[told.elected()[-1]]
    for k, label in enumerate(told.classes):
        own = y == label
        assert of[label][1] == str(own.sum())
        assert of[label][2] == f"{recall_score(y, elected, labels=[label], average=None)[0]:.3f}"
        assert of[label][3] == f"{precision_score(y, elected, labels=[label], average=None)[0]:.3f}"
        assert of[label][4] == f"{told.vote[own, k].mean():.3f}"
        assert of[label][5] == f"{told.answers[0, own, k].mean():.3f}"
    disputed = disputed_grid(told)
    row = int(disputed.rows[0][0])
    assert disputed.rows[0][1] == y[row]
    assert disputed.columns == ("row", "true", "vote", *told.names)
    best = told.vote[row].argmax()
    without_a = MemberAnswers.of(model, X[y != "a"], y[y != "a"])
    row_of_a = next(each for each in classes_grid(without_a).rows if each[0] == "a")
    assert row_of_a[1:3] == ("0", "-") and set(row_of_a[4:]) == {"-"}
    unlabelled = MemberAnswers.of(model, X)
    (grid,) = rows_grids(unlabelled)
    assert "true" not in grid.columns
    with pytest.raises(ValueError, match="y is missing; give the labels or numbers of the rows"):
        unlabelled.errors()
    assert disputed.rows[0][2] == f"{told.classes[best]} ({told.vote[row, best]:.0%})"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", [CommitteeClassifier, CommitteeRegressor])
def test_the_page_shows_what_is_known(some, kind):
    model, X, y = some[kind]
    pages = [render_model(model, *given) for given in ((), (X,), (X, y))]
    bare, rows, whole = (re.findall(r"<h[234][^>]*>(.*?)</h[234]>", page) for page in pages)
    assert not {"Disagreement of members", "Mean contributions"} & set(bare)
    assert any(title.startswith("Members (") for title in bare)
    pictures = ["Mean contributions", "Disagreement of members", "Rows on which members disagree most"]
    assert [title for title in rows if title in pictures] == pictures
    more = set(whole) - set(rows)
    assert any(heading.startswith("Members on 120 rows") for heading in more)
    assert {"Metrics", "Largest errors"} <= more
    assert ({"Reliability", "Margins", "Confusion matrix"} <= more) == (kind is CommitteeClassifier)
    assert ("Residuals by prediction" in more) == (kind is CommitteeRegressor)
    assert {"Feature importance", "Effects of columns", "Leaves as text", "Model card"} <= set(bare) <= set(rows)
    assert pages[2] == render_model(model, X, y)
    assert not set(re.findall(r"https?://[^\"]*", pages[2]))


def test_the_page_of_frames_many_rows_and_sparse_rows(some, monkeypatch):
    model, X, y = some[CommitteeClassifier]
    monkeypatch.setattr("committee.report.model_pictures.MOST_EXPLAINED", 7)
    monkeypatch.setattr("committee.report.model_pictures.FEWEST_EXPLAINED", 3)
    assert "between classes, over 7 rows" in render_model(model, X, y)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(5)])
    with warnings.catch_warnings(action="ignore"):
        assert "between classes, over 7 rows" in render_model(model, frame, y)
    monkeypatch.setattr("committee.report.model_pictures._WORK", 1.0)  # as if its trees were large
    assert "between classes, over 3 rows" in render_model(model, X, y)
    X = np.where(np.abs(X) < 1.0, 0.0, X)
    assert render_model(model, csr_array(X), y) == render_model(model, X, y)


@pytest.mark.filterwarnings("ignore:y holds one class")
def test_models_and_labels_that_are_refused(classes):
    model, X, y, _ = classes
    with pytest.raises(NotFittedError):
        MemberAnswers.of(CommitteeClassifier(), X)
    with pytest.raises(TypeError, match="is a RandomForestClassifier; give a CommitteeClassifier"):
        MemberAnswers.of(RandomForestClassifier(2).fit(X, y), X)
    with pytest.raises(ValueError, match="labels that are not classes of the committee"):
        MemberAnswers.of(model, X, np.full(len(X), "z"))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MemberAnswers.of(model, X, y[1:])
    one = CommitteeClassifier().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="fitted on one class"):
        MemberAnswers.of(one, X)
    assert "Disagreement of members" not in render_model(one, X, np.zeros(len(X)))


def test_the_constant_beside_a_weighted_estimate_has_the_weights_of_the_fit():
    y, w = np.repeat(["a", "b"], [60, 20]), np.repeat([1.0, 5.0], [60, 20])
    model = CommitteeClassifier(class_weight="balanced")
    model.oof_loss_, model.oof_score_, model.classes_ = 0.5, 0.7, np.array(["a", "b"])
    for weights in (None, w):
        assert stored_estimate(model, y, weights).figures["accuracy_of_most_frequent"] == pytest.approx(0.5)
    model.class_weight = {"b": 3.0}
    assert stored_estimate(model, y, w).figures["accuracy_of_most_frequent"] == pytest.approx(300 / 360)
    assert "most frequent class: 0.8333, rows weighted by class_weight" in estimate(model, y, w)
