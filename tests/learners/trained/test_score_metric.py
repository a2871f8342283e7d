"""Contracts on scores of all rows together: what is lost, its error, and what may be asked for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import balanced_accuracy_score, f1_score, get_scorer, log_loss, make_scorer, roc_auc_score

from committee import load, prune
from committee.learners.trained.class_metric import class_metric
from committee.learners.trained.contract_metric import RowMetric
from committee.learners.trained.row_loss import ROW_LOSSES
from committee.learners.trained.score_metric import ScoreMetric, scorer_name

X, y = make_classification(2300, 8, n_informative=4, flip_y=0.1, weights=[0.8], random_state=1)
X, X_new, y, y_new = X[:300], X[300:], y[:300], y[300:]
FOREST = RandomForestClassifier(40, random_state=0).fit(X, y)
CLASSES = np.arange(2)


def test_what_is_lost_is_the_scores_difference_and_its_error_the_bootstraps():
    better = FOREST.predict_proba(X_new[:600])
    worse = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, y).predict_proba(X_new[:600])
    truth, even = y_new[:600], np.ones(600)
    metric = class_metric("roc_auc", CLASSES)
    kept = [metric.kept(truth, p, None, None) for p in (worse, better)]
    lost, error = metric.lost(truth, *kept, even)
    assert lost == pytest.approx(roc_auc_score(truth, better[:, 1]) - roc_auc_score(truth, worse[:, 1]))
    rng, drawn = np.random.default_rng(0), []
    for _ in range(300):
        at = rng.integers(600, size=600)
        drawn.append(roc_auc_score(truth[at], better[at, 1]) - roc_auc_score(truth[at], worse[at, 1]))
    assert 0.7 < error / np.std(drawn) < 1.4
    hidden = np.where(np.arange(600) < 100, np.nan, kept[0])
    rest = truth[100:]
    lost, _ = metric.lost(truth, hidden, kept[1], even)
    assert lost == pytest.approx(roc_auc_score(rest, better[100:, 1]) - roc_auc_score(rest, worse[100:, 1]))
    heavy = np.where(truth == 1, 3.0, 1.0)
    f1 = ScoreMetric(get_scorer("f1"), "f1", CLASSES)
    lost, _ = f1.lost(truth, *kept, heavy)
    by_hand = [f1_score(truth, p.argmax(axis=1), sample_weight=heavy) for p in (better, worse)]
    assert lost == pytest.approx(by_hand[0] - by_hand[1])


def test_a_score_that_is_a_mean_over_rows_is_that_of_rows():
    # where as many voters have not seen each row, what few of them cost is told alike
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200)
    unseen = np.argsort(rng.random((200, 12)), axis=1) < 6
    votes = [[rng.dirichlet([1.0, 1.0], 200) for _ in range(3)] for _ in range(2)]
    lost = []
    for metric in (RowMetric(ROW_LOSSES["accuracy"]), ScoreMetric(get_scorer("accuracy"), "accuracy", CLASSES)):
        kept = [metric.kept(truth, by[0], (by[1], by[2]), unseen) for by in votes]
        lost.append(metric.lost(truth, *kept, np.ones(200))[0])
    assert_allclose(lost[0], lost[1])


@pytest.mark.slow
def test_a_contract_on_the_area_under_the_curve(tmp_path):
    model = prune(FOREST, X, y, max_loss=0.2, metric=roc_auc_score, level="tree")
    assert model.metric_name == "roc_auc" and model.lost_ + model.lost_error_ <= 0.2
    assert model.committee_.n_nodes < model.n_nodes_before_ / 3
    areas = [roc_auc_score(y_new, each.predict_proba(X_new)[:, 1]) for each in (FOREST, model)]
    assert abs(areas[0] - areas[1] - model.lost_) < 4.0 * model.lost_error_
    model.save(tmp_path / "by-name")
    assert load(tmp_path / "by-name").metric == "roc_auc"
    named = np.array(["no", "yes"])[y]
    forest = RandomForestClassifier(40, random_state=0).fit(X, named)
    of_label = make_scorer(f1_score, pos_label="no")
    model = prune(forest, X, named, max_loss=0.2, metric=of_label, level="voter")
    assert model.lost_ + model.lost_error_ <= 0.2
    leaves = prune(forest, X, named, metric=of_label, max_nodes=0.1)
    with pytest.raises(TypeError, match="is a function, and a model file holds no code"):
        leaves.save(tmp_path / "function")
    leaves.set_params(metric="f1").save(tmp_path / "function")


def test_numbers_have_scores_too():
    rows, numbers = make_friedman1(300, noise=1.0, random_state=0)
    forest = RandomForestRegressor(30, random_state=0).fit(rows, numbers)
    model = prune(forest, rows, numbers, max_loss=0.15, metric="r2", level="tree")
    assert model.lost_ + model.lost_error_ <= 0.15 and model.committee_.n_nodes < model.n_nodes_before_ / 3
    with pytest.raises(ValueError, match="metric='roc_auc' does not judge numbers"):
        prune(forest, rows, numbers, max_loss=0.05, metric="roc_auc")


def test_names_of_scorers():
    assert scorer_name(balanced_accuracy_score) == "balanced_accuracy" and scorer_name(log_loss) == "neg_log_loss"
    assert scorer_name(get_scorer("f1_macro")) == "f1_macro" and scorer_name(make_scorer(f1_score, beta=1)) is None
    three = np.repeat([0, 1, 2], 20)
    p = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], 60)
    metric = class_metric("roc_auc", np.arange(3))
    kept = metric.kept(three, p, None, None)
    with pytest.raises(ValueError, match=r"metric='roc_auc' gives no score of 60 rows: multi_class must be in"):
        metric.lost(three, kept, kept, np.ones(60))
