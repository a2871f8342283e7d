"""Metrics of pruning, and cuts that lose no more than `max_loss`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_blobs, make_classification, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    get_scorer,
    log_loss,
    make_scorer,
    roc_auc_score,
)
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier

import committee
from committee import LeafReweighter, load, prune
from committee.learners.reweighting.leaf_cuts import score_trees
from committee.learners.reweighting.pruning_metrics import (
    CLASS_LOSSES,
    RowLossMetric,
    ScorerMetric,
    classification_metric,
    scorer_name,
)
from committee.learners.reweighting.unseen_rows import oob_class_votes
from committee.learners.trained_ensembles.out_of_bag import out_of_bag_mask
from committee.report import PruningPathDisplay
from committee.vote.committee import Committee

X, y = make_classification(700, 8, n_informative=4, flip_y=0.1, random_state=1)
X, X_new, y, y_new = X[:300], X[300:], y[:300], y[300:]
FOREST = RandomForestClassifier(40, random_state=0).fit(X, y)
QUICK = {"max_nodes": 0.5, "growth": (1.0,), "C": (1.0,), "cv": 3}


def test_losses_of_rows_average_to_scikit_learns():
    p = FOREST.predict_proba(X_new)
    mean = {name: loss(y_new, p).mean() for name, loss in CLASS_LOSSES.items()}
    assert mean["accuracy"] == pytest.approx(1.0 - FOREST.score(X_new, y_new))
    assert mean["log_loss"] == pytest.approx(log_loss(y_new, p)), "none is 0 or 1"
    assert mean["brier"] == pytest.approx(brier_score_loss(y_new, p[:, 1]))
    three = load_iris().target
    p = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], len(three))
    assert CLASS_LOSSES["brier"](three, p).mean() == pytest.approx(((p - np.eye(3)[three]) ** 2).sum(axis=1).mean())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_whole_forest_out_of_bag_is_scikit_learns(n_classes):
    rows, labels = (X, y) if n_classes == 2 else load_iris(return_X_y=True)
    forest = RandomForestClassifier(80, oob_score=True, random_state=0).fit(rows, labels)
    whole = Committee.from_estimator(forest)
    unseen = out_of_bag_mask(forest, 80, labels)
    found = oob_class_votes(whole, score_trees(whole)[0], rows, labels, unseen)
    assert_allclose(found.predicted, forest.oob_decision_function_)
    by_hand = np.column_stack([tree.predict(rows) == labels for tree in forest.estimators_])
    assert_array_equal(found.right, by_hand & unseen)


def test_a_committee_of_named_classes_votes_by_the_voters_that_have_not_seen_a_row():
    own = committee.AdaBoostClassifier(10, max_depth=2).fit(X, y).committee_
    mask = np.random.default_rng(0).random((len(X), 10)) < 0.5
    mask[:, 0] = True
    found = oob_class_votes(own, score_trees(own)[0], X, y, mask).predicted
    by_hand = np.array([own.select(np.flatnonzero(of)).decision_function(X[i : i + 1])[0] for i, of in enumerate(mask)])
    assert_array_equal(found.argmax(axis=1)[by_hand != 0.0], (by_hand > 0.0)[by_hand != 0.0])
    every = oob_class_votes(own, score_trees(own)[0], X, y, np.ones_like(mask)).predicted
    assert_allclose(every, own.predict_proba(X), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["accuracy", "brier"])
def test_the_smallest_cut_that_loses_no_more(metric):
    model = prune(FOREST, X, y, max_loss=0.05, metric=metric)
    steps, lost = model.path_.steps, model.path_.lost()
    assert steps[0].cut.n_nodes <= model.n_nodes_before_ / 3
    assert all(step.lost > 0.05 for step in steps[-2:]) and (np.diff(lost) >= 0.0).all()
    chosen = next(i for i, step in enumerate(steps) if step.cut.n_nodes == model.committee_.n_nodes)
    sure = lost + [step.lost_error for step in steps]
    assert sure[chosen] <= 0.05 and (sure[chosen + 1 :] > 0.05).all()
    assert (model.lost_, model.lost_error_) == (lost[chosen], steps[chosen].lost_error)
    weights = [1.0 / step.lost_error**2 for step in steps]
    place = np.arange(len(steps))
    smooth = IsotonicRegression().fit(place, [step.lost for step in steps], weights).predict(place)
    assert_allclose(lost, smooth)
    # what the estimate says is near to what new rows say: four of its standard errors, and of theirs
    says = [loss(y_new, m.predict_proba(X_new)) for m in (FOREST, model) for loss in [CLASS_LOSSES[metric]]]
    off = says[1] - says[0]
    assert abs(off.mean() - model.lost_) < 4.0 * np.hypot(model.lost_error_, off.std() / len(off) ** 0.5)


def test_a_metric_may_be_a_function_of_rows():
    def missed(labels, probability):
        return 5.0 * ((labels == 1) & (probability[:, 1] < 0.5)) + 1.0 * ((labels == 0) & (probability[:, 1] >= 0.5))

    model = LeafReweighter(FOREST, max_loss=0.4, metric=missed, **QUICK).fit(X, y)
    assert model.lost_ + model.lost_error_ <= 0.4
    assert model.path_.steps[0].statistics.max() > 1.5, "five a row, extrapolated"
    for wrong, message in (
        (
            lambda labels, p: p,
            r"returned an array of shape \(300, 2\) for 300 rows; .* it must return one finite loss for each",
        ),
        (
            lambda labels, p: np.nan * p[:, 0],
            "returned numbers that are not finite for 300 rows; .* it must return one",
        ),
        (lambda labels, p: 0.5, "returned one number for 300 rows; .* Make a scorer of a metric of all rows together"),
        (lambda labels: labels, r"cannot be called for the losses of 300 rows with class numbers \(n,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            LeafReweighter(FOREST, max_loss=0.05, metric=wrong, **QUICK).fit(X, y)


def test_the_ensemble_is_kept_whole_if_every_cut_loses_too_much(tmp_path):
    with pytest.warns(UserWarning, match=r"to 3 nodes.* loss by metric='accuracy' rises by 0\.\d+ ± 0\.\d+ on rows"):
        model = LeafReweighter(FOREST, max_nodes=3, max_loss=0.0).fit(X, y)
    assert_array_equal(model.predict_proba(X_new), FOREST.predict_proba(X_new))
    assert model.lost_ == 0.0 and np.isnan([model.C_, model.growth_]).all()
    assert_array_equal(model.voters_, np.arange(40))
    model.save(tmp_path / "whole")
    assert_array_equal(load(tmp_path / "whole").predict_proba(X_new), FOREST.predict_proba(X_new))
    rows, labels = load_iris(return_X_y=True)
    booster = XGBClassifier(n_estimators=3, max_depth=2).fit(rows[::2], labels[::2])
    with pytest.warns(UserWarning, match="kept whole"):
        rounds = prune(booster, rows[1::2], labels[1::2], on="validation", max_nodes=3, max_loss=0.0)
    rounds.save(tmp_path / "rounds")
    assert_allclose(load(tmp_path / "rounds").predict_proba(rows), booster.predict_proba(rows), rtol=1e-5)


@pytest.mark.filterwarnings("error")
def test_held_out_rows_judge_boosters():
    booster = XGBClassifier(n_estimators=60, max_depth=4).fit(X, y)
    model = prune(booster, X_new[:200], y_new[:200], on="validation", max_loss=0.1)
    assert model.lost_ + model.lost_error_ <= 0.1 and model.committee_.n_nodes < model.n_nodes_before_ / 3
    assert model.score(X_new[200:], y_new[200:]) > booster.score(X_new[200:], y_new[200:]) - 0.12


def test_a_picture_of_the_path():
    model = LeafReweighter(FOREST, max_loss=0.1, **QUICK).fit(X, y)
    display = PruningPathDisplay.from_estimator(model)
    nodes = [step.cut.n_nodes for step in model.path_.steps]
    assert_array_equal(display.n_nodes, nodes)
    assert display.ax_.get_ylabel() == "accuracy lost" and display.ax_.get_xscale() == "log"
    (ring,) = [line for line in display.ax_.lines if line.get_label() == "chosen"]
    assert_array_equal(ring.get_xdata(), [model.committee_.n_nodes])
    with pytest.raises(ValueError, match="AdaBoostClassifier has no path_ to draw"):
        PruningPathDisplay.from_estimator(committee.AdaBoostClassifier(2))
    with pytest.raises(ValueError, match="no losses on held-out rows; fit with on"):
        PruningPathDisplay.from_estimator(LeafReweighter(FOREST, on="train", **QUICK).fit(X, y))
    with pytest.raises(ValueError, match="must be of one length"):
        PruningPathDisplay([3, 2], [0.1])


def test_class_weights_weigh_predicted_shares():
    # of blobs that no tree can part, and one class that outweighs all: the votes leave no doubt, where a step of
    # Newton's method that nobody checks goes astray
    rows, labels = make_blobs(100, centers=3, cluster_std=20.0, random_state=0)
    rows, new, labels, _ = train_test_split(rows, labels, test_size=0.5, random_state=0)
    booster = committee.AdaBoostClassifier(5, max_depth=2).fit(rows, labels)
    model = LeafReweighter(booster, on="train", class_weight={0: 1000.0, 1: 1e-4, 2: 1e-4}, **QUICK)
    model.fit(rows, labels)
    assert model.predict_proba(new)[:, 0].min() > 0.99


def test_the_whole_ensemble_is_extrapolated_as_its_cuts_are():
    # a third of a forest's trees errs more than all of them do, and the whole must not look worse for that
    differences = []
    for seed in range(6):
        rows, labels = make_classification(2300, 8, n_informative=5, n_redundant=0, flip_y=0.1, random_state=seed)
        forest = RandomForestClassifier(15, random_state=seed).fit(rows[:300], labels[:300])
        whole = Committee.from_estimator(forest)
        unseen = out_of_bag_mask(forest, 15, labels[:300])
        counted = np.flatnonzero(unseen.any(axis=1))
        truth, unseen = labels[counted], unseen[counted]
        vote = oob_class_votes(whole, score_trees(whole)[0], rows[counted], truth, unseen)
        error = 1.0 - forest.score(rows[300:], labels[300:])
        by_these = CLASS_LOSSES["accuracy"](truth, vote.predicted)
        metric = RowLossMetric(CLASS_LOSSES["accuracy"])
        as_if_all = metric.statistics(truth, vote.predicted, vote.by_halves, unseen)
        differences.append([by_these.mean() - error, as_if_all.mean() - error])
    plain, as_all = np.mean(differences, axis=0)
    assert plain > 0.02 and abs(as_all) < 0.5 * plain


def test_a_forest_that_drew_heavy_rows_more_often_has_no_rows_like_new_ones():
    forest = RandomForestClassifier(20, class_weight={0: 1, 1: 20}, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="drew rows of greater weight more often"):
        prune(forest, X, y, max_loss=0.1)
    assert np.isnan(prune(forest, X, y).lost_)


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::UserWarning")
def test_ten_rows_give_a_finite_loss_increase():
    small = RandomForestClassifier(20, random_state=0).fit(X[:10], y[:10])
    assert np.isfinite(prune(small, X[:10], y[:10], max_loss=0.01).lost_)


def test_max_loss_of_whole_voters(tmp_path):
    model = prune(FOREST, X, y, level="voter", max_loss=0.05)
    path = model.pruning_path_
    chosen = next(i for i, step in enumerate(path.steps) if len(step.voters) == model.committee_.n_voters)
    sure = path.lost() + [step.lost_error for step in path.steps]
    assert sure[chosen] <= 0.05 and (sure[chosen + 1 :] > 0.05).all() and model.committee_.n_voters < 20
    # of a path's first committee, nearly what new rows say
    off = (model.predict(X_new) != y_new).astype(float) - (FOREST.predict(X_new) != y_new)
    assert abs(off.mean() - model.lost_) < 4.0 * np.hypot(model.lost_error_, off.std() / len(off) ** 0.5)
    assert {"lost", "lost_error"} <= set(path.table().columns)
    display = PruningPathDisplay.from_estimator(model)
    assert display.ax_.get_xlabel() == "voters" and display.chosen == model.committee_.n_voters
    with pytest.raises(ValueError, match="no losses on held-out rows; prune with max_loss"):
        PruningPathDisplay.from_estimator(prune(FOREST, X, y, level="voter"))
    model.save(tmp_path / "voters")
    assert load(tmp_path / "voters").lost_ == model.lost_
    with pytest.warns(UserWarning, match="voters the loss by metric='accuracy' rises by .* on rows that they have"):
        whole = prune(FOREST, X, y, level="voter", max_voters=1, max_loss=0.01)
    assert_array_equal(whole.predict_proba(X_new), FOREST.predict_proba(X_new))
    few = prune(FOREST, X, y, level="voter", max_voters=15, max_loss=0.1)
    assert few.committee_.n_voters <= 15
    stumps = committee.AdaBoostClassifier(30).fit(X, y)
    held = prune(stumps, X_new, y_new, level="voter", on="validation", max_loss=0.05, metric="brier")
    assert held.lost_ + held.lost_error_ <= 0.05 and held.committee_.n_voters < 30


def test_max_loss_needs_three_out_of_bag_trees_per_row():
    few = RandomForestClassifier(5, random_state=0).fit(X, y)
    assert np.isnan(LeafReweighter(few, **QUICK).fit(X, y).lost_)
    for level in ("leaf", "voter"):
        with pytest.raises(ValueError, match=r"that have not seen a row, [12]\.\d\d of 5 on average"):
            prune(few, X, y, max_loss=0.1, level=level)


# --- scores of all rows together, with a rare class ------------------------------------------------------------------


X_RARE, Y_RARE = make_classification(2300, 8, n_informative=4, flip_y=0.1, weights=[0.8], random_state=1)
X_RARE, X_RARE_NEW, Y_RARE, Y_RARE_NEW = X_RARE[:300], X_RARE[300:], Y_RARE[:300], Y_RARE[300:]
RARE_FOREST = RandomForestClassifier(40, random_state=0).fit(X_RARE, Y_RARE)
CLASSES = np.arange(2)


def test_the_loss_increase_of_a_score_has_the_error_of_the_bootstrap():
    better = RARE_FOREST.predict_proba(X_RARE_NEW[:600])
    worse = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X_RARE, Y_RARE).predict_proba(X_RARE_NEW[:600])
    truth, even = Y_RARE_NEW[:600], np.ones(600)
    metric = classification_metric("roc_auc", CLASSES)
    kept = [metric.statistics(truth, p, None, None) for p in (worse, better)]
    lost, error = metric.loss_increase(truth, *kept, even)
    assert lost == pytest.approx(roc_auc_score(truth, better[:, 1]) - roc_auc_score(truth, worse[:, 1]))
    rng, drawn = np.random.default_rng(0), []
    for _ in range(300):
        at = rng.integers(600, size=600)
        drawn.append(roc_auc_score(truth[at], better[at, 1]) - roc_auc_score(truth[at], worse[at, 1]))
    assert 0.7 < error / np.std(drawn) < 1.4
    hidden = np.where(np.arange(600) < 100, np.nan, kept[0])
    rest = truth[100:]
    lost, _ = metric.loss_increase(truth, hidden, kept[1], even)
    assert lost == pytest.approx(roc_auc_score(rest, better[100:, 1]) - roc_auc_score(rest, worse[100:, 1]))
    heavy = np.where(truth == 1, 3.0, 1.0)
    f1 = ScorerMetric(get_scorer("f1"), "f1", CLASSES)
    lost, _ = f1.loss_increase(truth, *kept, heavy)
    by_hand = [f1_score(truth, p.argmax(axis=1), sample_weight=heavy) for p in (better, worse)]
    assert lost == pytest.approx(by_hand[0] - by_hand[1])


def test_a_score_that_is_a_mean_over_rows_is_that_of_rows():
    # where as many voters have not seen each row, what few of them cost is told alike
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200)
    unseen = np.argsort(rng.random((200, 12)), axis=1) < 6
    votes = [[rng.dirichlet([1.0, 1.0], 200) for _ in range(3)] for _ in range(2)]
    lost = []
    for metric in (RowLossMetric(CLASS_LOSSES["accuracy"]), ScorerMetric(get_scorer("accuracy"), "accuracy", CLASSES)):
        kept = [metric.statistics(truth, by[0], (by[1], by[2]), unseen) for by in votes]
        lost.append(metric.loss_increase(truth, *kept, np.ones(200))[0])
    assert_allclose(lost[0], lost[1])


@pytest.mark.slow
def test_max_loss_of_the_area_under_the_curve(tmp_path):
    model = prune(RARE_FOREST, X_RARE, Y_RARE, max_loss=0.2, metric=roc_auc_score, level="tree")
    assert model.metric_name == "roc_auc" and model.lost_ + model.lost_error_ <= 0.2
    assert model.committee_.n_nodes < model.n_nodes_before_ / 3
    areas = [roc_auc_score(Y_RARE_NEW, each.predict_proba(X_RARE_NEW)[:, 1]) for each in (RARE_FOREST, model)]
    assert abs(areas[0] - areas[1] - model.lost_) < 4.0 * model.lost_error_
    model.save(tmp_path / "by-name")
    assert load(tmp_path / "by-name").metric == "roc_auc"
    named = np.array(["no", "yes"])[Y_RARE]
    forest = RandomForestClassifier(40, random_state=0).fit(X_RARE, named)
    of_label = make_scorer(f1_score, pos_label="no")
    model = prune(forest, X_RARE, named, max_loss=0.2, metric=of_label, level="voter")
    assert model.lost_ + model.lost_error_ <= 0.2
    leaves = prune(forest, X_RARE, named, metric=of_label, max_nodes=0.1)
    with pytest.raises(TypeError, match="is a function or scorer, and a model file holds no code"):
        leaves.save(tmp_path / "function")
    leaves.set_params(metric="f1").save(tmp_path / "function")


def test_numbers_have_scores_too():
    rows, numbers = make_friedman1(300, noise=1.0, random_state=0)
    forest = RandomForestRegressor(30, random_state=0).fit(rows, numbers)
    model = prune(forest, rows, numbers, max_loss=0.15, metric="r2", level="tree")
    assert model.lost_ + model.lost_error_ <= 0.15 and model.committee_.n_nodes < model.n_nodes_before_ / 3
    with pytest.raises(ValueError, match="metric='roc_auc' does not score regressors"):
        prune(forest, rows, numbers, max_loss=0.05, metric="roc_auc")


def test_names_of_scorers():
    assert scorer_name(balanced_accuracy_score) == "balanced_accuracy" and scorer_name(log_loss) == "neg_log_loss"
    assert scorer_name(get_scorer("f1_macro")) == "f1_macro" and scorer_name(make_scorer(f1_score, beta=1)) is None
    three = np.repeat([0, 1, 2], 20)
    p = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], 60)
    metric = classification_metric("roc_auc", np.arange(3))
    kept = metric.statistics(three, p, None, None)
    with pytest.raises(ValueError, match=r"metric='roc_auc' gives no score of 60 rows: multi_class must be in"):
        metric.loss_increase(three, kept, kept, np.ones(60))
