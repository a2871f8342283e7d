"""Comparisons: equal folds for all models, metrics equal to scikit-learn's, failures, checkpoints and limits."""

import json
import re
import warnings
from inspect import signature

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import t as student_t
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import AdaBoostClassifier as ScikitAdaBoost
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    f1_score,
    get_scorer,
    make_scorer,
    precision_score,
    recall_score,
)
from sklearn.model_selection import RepeatedStratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from committee import AdaBoostClassifier
from committee.cli.compare import compare as compare_command
from committee.data.table_schema import TableSchema
from committee.report.comparison import SCHEMA, Comparison, TableSummary, compare, rank_models, summarise_folds
from committee.report.comparison_page import render_report
from committee.report.comparison_tables import quality_grid, table_sentence, verdict
from committee.report.crossvalidation import FoldResult, is_over
from committee.report.folds import stratified_folds
from committee.report.metrics import METRICS, OF_POSITIVE_CLASS, Reliability, metric_words, ranking_metrics
from committee.report.models import (
    PEERS,
    ComparedModel,
    all_models,
    compared_models,
    default_models,
    installed_peers,
    voting_part,
    weight_argument,
)
from committee.report.statistics import corrected_paired_t_test, holm

X_CANCER, Y_CANCER = load_breast_cancer(return_X_y=True)
X_IRIS, Y_IRIS = load_iris(return_X_y=True)
TIMES = {"fit_seconds", "predict_microseconds"}
BAYES = {"bayes": GaussianNB()}


def mixed_table(n: int = 240, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    color = rng.choice(["red", "green", "blue", "rare"], p=[0.4, 0.3, 0.29, 0.01], size=n)
    y = np.where((size > 0) ^ (color == "red"), "yes", "no")
    frame = pl.DataFrame({"size": size, "color": color, "noise": rng.normal(size=n)})
    gaps = pl.Series(rng.random(n) < 0.1)
    return frame.with_columns(pl.when(gaps).then(None).otherwise(pl.col("color")).alias("color")), y


def without_times(result) -> list:
    models = []
    for model in result.to_json()["models"]:
        model["folds"] = [{k: v for k, v in fold.items() if k not in TIMES} for fold in model["folds"]]
        model["summary"] = {k: v for k, v in model["summary"].items() if k not in TIMES}
        models.append(model)
    return models


class Refuses(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("no wish to learn")


class Predicts(RegressorMixin, BaseEstimator):
    def __init__(self, number):
        self.number = number

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.append(np.full(len(X) - 1, 150.0), self.number)


class Warns(GaussianNB):
    def fit(self, X, y):
        warnings.warn("something is odd", stacklevel=2)
        return super().fit(X, y)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("scikit-learn:random_forest", RandomForestClassifier(random_state=3)),
        ("scikit-learn:hist_gradient_boosting", HistGradientBoostingClassifier(random_state=3)),
    ],
)
def test_same_figures_as_cross_validate(name, reference):
    result = compare(X_CANCER, Y_CANCER, [name], folds=4, seed=3)
    folds = RepeatedStratifiedKFold(n_splits=4, n_repeats=1, random_state=3)
    with threadpool_limits(1):
        scores = cross_validate(
            reference, X_CANCER, Y_CANCER, cv=folds, scoring=["accuracy", "neg_log_loss", "roc_auc"]
        )
    model = result[name]
    np.testing.assert_array_equal(model.values("accuracy"), scores["test_accuracy"])
    np.testing.assert_allclose(model.values("log_loss"), -scores["test_neg_log_loss"], rtol=1e-12)
    np.testing.assert_allclose(model.values("roc_auc"), scores["test_roc_auc"], rtol=1e-12)
    assert model.mean("accuracy") == pytest.approx(scores["test_accuracy"].mean())
    assert model.sd("accuracy") == pytest.approx(scores["test_accuracy"].std(ddof=1))


def test_own_learner_takes_the_frame_and_gives_the_same_as_by_hand():
    frame, y = mixed_table()
    result = compare(frame, y, {"boosted": AdaBoostClassifier(n_estimators=8, random_state=0)}, folds=5)
    model = result["boosted"]
    assert model.own
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=1, random_state=0)
    for fold, (train, test) in zip(model.fold_results, folds.split(frame, y), strict=True):
        fitted = AdaBoostClassifier(n_estimators=8, random_state=0).fit(frame[train], y[train])
        assert fold.figures["accuracy"] == fitted.score(frame[test], y[test])
        assert fold.figures["n_voters"] == fitted.committee_.n_voters
        assert fold.figures["n_nodes"] == fitted.committee_.n_nodes
        margins = fitted.committee_.margins(frame[train], y[train])
        assert fold.figures["mean_margin"] == pytest.approx(margins.mean())
        assert fold.figures["minimum_margin"] == margins.min()
        assert fold.margin_quantiles[0] == margins.min()


def test_jobs_change_nothing_but_times():
    frame, y = mixed_table()
    models = ["adaboost", "scikit-learn:random_forest"]
    one = compare(frame, y, models, folds=2, jobs=1)
    two = compare(frame, y, models, folds=2, jobs=2)
    assert without_times(one) == without_times(two)
    assert two.jobs == 2


def test_kinds_of_frames_and_labels_agree():
    names = [["setosa", "versicolor", "virginica"][c] for c in Y_IRIS]
    frames = X_IRIS.tolist(), pl.DataFrame(X_IRIS), pd.DataFrame(X_IRIS, columns=list("abcd"))
    tables = [(X, Y_IRIS) for X in frames] + [(X_IRIS, kind(names)) for kind in (pd.Series, pl.Series, list, np.array)]
    expected = without_times(compare(X_IRIS, Y_IRIS, BAYES, folds=3))
    for X, y in tables:
        result = compare(X, y, BAYES, folds=3)
        assert without_times(result) == expected
        assert list(result.table.classes.values()) == [50, 50, 50]
        assert y is Y_IRIS or list(result.table.classes) == ["setosa", "versicolor", "virginica"]


def test_test_against_the_best_is_the_one_documented():
    models = {
        "bayes": GaussianNB(),
        "stump": DecisionTreeClassifier(max_depth=1, random_state=0),
        "tree": DecisionTreeClassifier(random_state=0),
    }
    result = compare(X_CANCER, Y_CANCER, models, folds=5, repeats=2, seed=1)
    best, *others = result.ranked
    assert [model.place for model in result.models] == [1, 2, 3]
    assert len(best.fold_results) == 10
    tests = [corrected_paired_t_test(best.values("accuracy") - m.values("accuracy"), 1 / 4) for m in others]
    for model, test, adjusted in zip(others, tests, holm([t.pvalue for t in tests]), strict=True):
        assert model.against_best.pvalue == pytest.approx(test.pvalue)
        assert model.against_best.difference == pytest.approx(test.difference)
        assert model.against_best.adjusted_pvalue == pytest.approx(adjusted)
        assert model.against_best.significant == (adjusted <= 0.05)
    assert sum(model.average_rank for model in result.models) == pytest.approx(6.0)


def test_equal_models_share_ranks_and_a_model_of_one_class_is_no_better_than_chance():
    X, y = rare_table()
    often = DummyClassifier(strategy="most_frequent")
    result = compare(X, y, {"a": GaussianNB(), "b": GaussianNB(), "often": often}, folds=5, metric=["mcc", "accuracy"])
    assert [model.average_rank for model in result.models] == [1.5, 1.5, 3.0]
    second = result.ranked[1].against_best
    assert (second.pvalue, second.difference) == (1.0, 0.0) and result["often"].against_best.significant
    assert result["often"].mean("accuracy") > 0.85
    assert (result["often"].mean("balanced_accuracy"), result["often"].mean("mcc")) == (0.5, 0.0)


def rare_table(n_classes=2):
    """A table of overlapping classes, the last of them rare, with labels of text."""
    rng = np.random.default_rng(1)
    y = np.searchsorted([0.6, 0.9] if n_classes == 3 else [0.9], rng.random(400))
    X = rng.normal(size=(400, 3)) + 0.8 * y[:, None]
    return X, np.array(["often", "rare", "scarce"])[y]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_metrics_are_those_of_scikit_learn(n_classes):
    X, y = rare_table(n_classes)
    several = n_classes > 2
    result = compare(X, y, BAYES, folds=3, metric=ranking_metrics(n_classes=n_classes))
    scorers = {name: name for name in ("accuracy", "balanced_accuracy", "f1_macro")}
    scorers |= {"mcc": "matthews_corrcoef", "log_loss": "neg_log_loss", "brier": "neg_brier_score"}
    scorers["roc_auc"] = "roc_auc_ovr" if several else "roc_auc"
    folds = stratified_folds(np.unique(y, return_inverse=True)[1], 3, 1, 0)
    for f, (train, test) in enumerate(folds):
        model = GaussianNB().fit(X[train], y[train])
        figures = result["bayes"].fold_results[f].figures
        for name, scorer in scorers.items():
            score = get_scorer(scorer)
            if name == "brier" and not several:
                score = make_scorer(brier_score_loss, response_method="predict_proba", pos_label="rare")
            value = score(model, X[test], y[test])
            assert figures[name] == pytest.approx(-value if scorer == "neg_log_loss" else abs(value)), name
        p = model.predict_proba(X[test])
        precision = average_precision_score(
            y[test], p if several else p[:, 1], **({} if several else {"pos_label": "rare"})
        )
        assert figures["average_precision"] == pytest.approx(precision)
        for name, score in (("f1", f1_score), ("precision", precision_score), ("recall", recall_score)):
            value = None if several else score(y[test], model.predict(X[test]), pos_label="rare")
            assert figures[name] == (value if several else pytest.approx(value))
    columns = quality_grid(result).columns
    if several:
        assert {"macro F1", "macro ROC AUC", "macro AP"} < set(columns) and "F1 (rare)" not in columns
    else:
        assert {"F1 (rare)", "precision (rare)", "recall (rare)", "AP (rare)", "macro F1", "ROC AUC"} < set(columns)


# by recall alone, guessing is better than a model that predicts the rare class seldom
@pytest.mark.parametrize("metric", [name for name in ranking_metrics() if name != "recall"])
def test_places_by_every_metric(metric):
    X, y = rare_table()
    models = {"none": DummyClassifier(strategy="uniform", random_state=0), "bayes": GaussianNB()}
    result = compare(X, y, models, folds=3, metric=metric)
    best, other = result.models
    assert result.metrics == (metric,)
    assert (best.name, best.place, other.place) == ("bayes", 1, 2)
    better = METRICS[metric].best
    assert (best.mean(metric) > other.mean(metric)) == (better == "highest")
    assert other.against_best.difference == pytest.approx(abs(best.mean(metric) - other.mean(metric)))
    grid = quality_grid(result)
    heading = METRICS[metric].heading + " (rare)" * (metric in OF_POSITIVE_CLASS)
    assert heading in grid.columns and heading in grid.notes
    words = metric_words(metric, result.table.classes)
    assert words == metric_words(metric) + " (rare)" * (metric in OF_POSITIVE_CLASS)
    assert verdict(result)[0] == f"bayes has the {better} mean {words} ({best.mean(metric):.4f})."


def test_folds_without_a_class_have_the_metrics_of_the_others():
    X, y = rare_table(3)
    y[:-2][y[:-2] == "scarce"] = "often"
    y[-2:] = "scarce"
    with pytest.warns(UserWarning, match="fewer rows than folds"):
        result = compare(X, y, {"bayes": GaussianNB(), "svm": LinearSVC()}, folds=5, metric="balanced_accuracy")
    assert not result["bayes"].warnings
    for name in ranking_metrics(n_classes=3):
        assert result["bayes"].values(name).size == 5, name
    assert result["svm"].mean("roc_auc") is None


def test_the_help_of_the_command_names_every_metric():
    words = signature(compare_command, eval_str=True).parameters["metric"].annotation.__metadata__[0].help
    assert all(name in words for numbers in (False, True) for name in ranking_metrics(numbers))


def test_a_failing_model_does_not_stop_the_others():
    result = compare(X_IRIS, Y_IRIS, {"bayes": GaussianNB(), "odd": Warns(), "bad": Refuses()}, folds=3)
    assert result["bad"].error == "fold 1: RuntimeError: no wish to learn"
    assert [model.name for model in result.models if model.place is None] == ["bad"]
    assert [model.name for model in result.models] == ["bayes", "odd", "bad"]
    assert result["odd"].warnings == ("UserWarning: something is odd",) and result["odd"].error is None
    assert result["bad"].mean("accuracy") is None
    json.dumps(result.to_json(), allow_nan=False)


@pytest.mark.parametrize("metric", ["rmse", "mae", "r2"])
@pytest.mark.parametrize("prediction", [np.nan, np.inf, -1e200])
def test_a_model_of_predictions_that_are_not_finite_fails_alone(prediction, metric):
    models = {"bad": Predicts(prediction), "line": LinearRegression(), "mean": DummyRegressor()}
    result = compare(*load_diabetes(return_X_y=True), models, folds=3, metric=metric)
    assert result["bad"].error.startswith("fold 1: ValueError: the mean squared error is not finite")
    assert result["bad"].error.endswith(f"the prediction of a test row is {prediction:g}")
    assert [(model.name, model.place) for model in result.models] == [("line", 1), ("mean", 2), ("bad", None)]
    assert result["bad"].mean(metric) is None
    json.dumps(result.to_json(), allow_nan=False)


def test_classes_with_fewer_rows_than_folds_are_named():
    rows = np.r_[0:104]
    with pytest.warns(UserWarning, match=r"'kind' has classes with fewer rows than folds=6.*'2' \(4 rows\)"):
        result = compare(X_IRIS[rows], Y_IRIS[rows], BAYES, folds=6, target="kind")
    assert (len(result.notes), result.table.target, result["bayes"].error) == (1, "kind", None)
    assert result["bayes"].mean("log_loss") < 1.0
    X, y = np.random.default_rng(0).normal(size=(33, 2)), np.r_[np.zeros(30), np.ones(3)]
    with pytest.warns(UserWarning, match="fewer rows than folds=5"):
        result = compare(X, y, BAYES, folds=5)
    assert [fold.figures["roc_auc"] is None for fold in result["bayes"].fold_results].count(True) == 2


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (["a", None] * 30, r"'target' has 30 missing"),
        (np.where(np.arange(60) == 7, np.nan, 1.0), "1 missing"),
        (pd.Series(["a", None] * 30, name="kind"), "'kind' has 30 missing"),
        (pl.Series("kind", [1, None] * 30), "'kind' has 30 missing"),
        (np.zeros(60), "at least two"),
        (np.r_[np.arange(59) / 7, np.inf], "infinite numbers"),
        (np.full(60, 1.5), "holds 1.5 in all rows"),
        (["a", 1] * 30, "mixes types"),
        (np.zeros((60, 2)), "one column"),
        (["a"] * 59 + ["b"], r"class\(es\) 'b' .* 1 row each"),
        ([str(i) for i in range(60)], "1 row each"),
        (["a", "b"] * 29, "60 rows but there are 58 labels"),
    ],
)
def test_refused_labels(y, match):
    if isinstance(y, list) and 1 in y:
        y = np.array(y, dtype=object)
    with pytest.raises(ValueError, match=match):
        compare(np.zeros((60, 2)), y, {"dummy": DummyClassifier()}, folds=2)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"folds": 1}, "folds must be"),
        ({"folds": 2.5}, "folds must be"),
        ({"folds": 51}, "folds=51 is more than any class .* at most 50"),
        ({"repeats": 0}, "repeats must be"),
        ({"jobs": 0}, "jobs must be"),
        ({"metric": "f1_micro"}, "there is no metric 'f1_micro' to rank models by; .*'f1_macro'"),
        ({"metric": "fit_seconds"}, "there is no metric 'fit_seconds' to rank models by"),
        ({"metric": []}, "metric is empty"),
        ({"metric": "f1"}, "metric 'f1' is of two classes, and the target has 3; use f1_macro"),
        ({"metric": "rmse"}, "rmse is a metric for numbers, and the task is classes"),
        ({"task": "number"}, "neither 'classes' nor 'numbers'"),
        ({"task": "numbers", "models": ["tree", "sbpmt"]}, "sbpmt predicts classes only; for numbers use one of"),
        ({"parameters": {"tree": {"depth": 1}}}, "tree has no parameter 'depth'"),
        ({"parameters": {"forest": {"max_depth": 1}}}, "'forest', which is not compared"),
        ({"time_limit": 0.0}, "time_limit must be"),
        ({"on_interrupt": "stop"}, "on_interrupt='stop'"),
        ({"models": []}, "at least one"),
        ({"models": ["adabost"]}, "there is no model 'adabost'; did you mean 'adaboost'"),
        ({"models": ["tree", "tree"]}, "named 2 times"),
    ],
)
def test_refused_settings(options, match):
    with pytest.raises(ValueError, match=match):
        compare(X_IRIS, Y_IRIS, **{"models": ["tree"], **options})


def test_missing_peer_says_what_to_install(monkeypatch):
    import committee.report.models

    monkeypatch.setattr(committee.report.models, "find_spec", lambda module: None)
    with pytest.raises(ValueError, match="needs xgboost, which is not installed; run: pip install"):
        compared_models(["xgboost"])
    assert installed_peers() == []
    assert set(all_models()) == set(committee.MODELS) - {"abstaining_stump"}
    names = [model.name for model in compared_models(["tree", "all", "abstaining_stump"])]
    assert names == [*all_models(), "abstaining_stump"]


def test_seed_reaches_models_without_one_but_leaves_chosen_ones():
    models = {name: DecisionTreeClassifier(max_features=1, random_state=s) for name, s in (("free", None), ("set", 9))}
    first = compare(X_IRIS, Y_IRIS, models, folds=3, seed=4)
    assert without_times(first) == without_times(compare(X_IRIS, Y_IRIS, models, folds=3, seed=4))
    assert models["free"].random_state is None


def test_adapters_give_margins_to_other_libraries():
    models = {"ours": AdaBoostClassifier(5), "theirs": ScikitAdaBoost(n_estimators=5), **BAYES}
    result = compare(X_CANCER, Y_CANCER, models, folds=3)
    assert -1 <= result["theirs"].mean("minimum_margin") < result["theirs"].mean("mean_margin") <= 1
    assert result["bayes"].mean("mean_margin") is None
    assert result["bayes"].margin_quantiles is None
    assert len(result["theirs"].margin_quantiles) == 101
    assert (result["theirs"].mean("n_voters"), result["theirs"].mean("n_nodes")) == (5, 15)
    assert result["bayes"].mean("n_voters") is None


def test_json_layout_is_stable():
    frame, y = mixed_table()
    calls: list[tuple] = []
    models = ["adaboost", "scikit-learn:random_forest"]
    result = compare(frame, y, models, folds=np.int64(3), name="mixed", progress=lambda *call: calls.append(call[:3]))
    assert calls == [(i, 6, models[(i - 1) % 2]) for i in range(1, 7)]
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert document["schema"] == SCHEMA == "committee.comparison/3"
    assert " ".join(document) == "schema table settings stopped folds_done versions notes models"
    assert document["table"] == {
        "name": "mixed",
        "target": "target",
        "rows": 240,
        "columns": 3,
        "categorical": 1,
        "missing_cells": frame["color"].null_count(),
        "classes": {str(c): int((y == c).sum()) for c in np.unique(y)},
        "numbers": None,
    }
    keys = "folds repeats seed jobs metric task level parameters assignment weighted"
    assert " ".join(document["settings"]) == keys
    model, second = document["models"]
    keys = "name own place average_rank against_best error warnings summary folds margin_quantiles"
    assert " ".join(model) == keys
    assert set(model["summary"]) == set(METRICS) and set(model["folds"][0]) == {*METRICS, "error"}
    keys = "difference standard_error interval least_shown in_every_fold pvalue adjusted_pvalue significant"
    assert " ".join(second["against_best"]) == keys
    assert set(document["versions"]) == {"python", "committee", "numpy", "scikit-learn"}


@pytest.mark.parametrize("name", [name for name in PEERS if name != "baseline"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_peers_learn_categories_and_count_their_trees(name, n_classes):
    if not PEERS[name].installed:
        pytest.skip(f"{name} is not installed")
    frame, y = mixed_table()
    codes = (y == "yes").astype(int)
    if n_classes == 3:
        codes = np.where(frame["noise"].to_numpy() > 1, 2, codes)
    schema = TableSchema.learn(frame)
    matrix = schema.encode(frame)
    peer = PEERS[name]
    made = peer.make(schema, 0)
    if name == "catboost":
        made[-1].set_params(iterations=100)
    model = made.fit(matrix, codes)
    assert model.score(matrix, codes) > 0.95
    voters, nodes = peer.size(model)
    rounds = 100 * (n_classes if n_classes > 2 and name not in ("catboost", "scikit-learn:random_forest") else 1)
    assert voters == rounds
    assert nodes >= 3 * voters * 0.9
    if isinstance(model[-1] if "forest" in name else None, RandomForestClassifier):
        assert nodes == sum(tree.tree_.node_count for tree in model[-1].estimators_)
    if name == "xgboost":
        assert any("{" in tree for tree in model.get_booster().get_dump())  # a set of categories in a split
    voting, seen = voting_part(model, matrix)
    np.testing.assert_array_equal(voting.predict(seen), model.predict(matrix))
    weights = np.r_[np.zeros(100), np.ones(140)]
    some = peer.make(schema, 0)
    some.fit(matrix, codes, **weight_argument(some, weights))
    assert some.score(matrix[100:], codes[100:]) > 0.9 >= some.score(matrix[:100], codes[:100]) - 0.09


def test_lightgbm_is_told_of_categories_as_its_fit_would_be():
    lightgbm = pytest.importorskip("lightgbm")
    frame, y = mixed_table()
    schema = TableSchema.learn(frame)
    matrix, codes = schema.encode(frame), (y == "yes").astype(int)
    ours = PEERS["lightgbm"].make(schema, 0).fit(matrix, codes)
    theirs = lightgbm.LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)
    theirs.fit(matrix, codes, categorical_feature=[1])
    np.testing.assert_array_equal(ours.predict_proba(matrix), theirs.predict_proba(matrix))


def test_peers_are_silent(capfd):
    frame, y = mixed_table()
    catboost = {"catboost": {"iterations": 5}} if PEERS["catboost"].installed else None
    compare(frame, y, installed_peers(), folds=2, parameters=catboost)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


class Counted(GaussianNB):
    fits = 0
    most = 10**9

    def fit(self, X, y):
        if Counted.fits == Counted.most:
            raise KeyboardInterrupt
        Counted.fits += 1
        return super().fit(X, y)


def test_a_comparison_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "finished.jsonl"
    models = {"counted": Counted(), "adaboost": AdaBoostClassifier(5), "bad": Refuses()}
    expected = without_times(compare(X_IRIS, Y_IRIS, models, folds=4))
    monkeypatch.setattr(Counted, "most", Counted.fits + 2)
    with pytest.raises(KeyboardInterrupt):
        compare(X_IRIS, Y_IRIS, models, folds=4, checkpoint=path)
    monkeypatch.setattr(Counted, "most", 10**9)
    before, seen = Counted.fits, []
    result = compare(X_IRIS, Y_IRIS, models, folds=4, checkpoint=path, progress=lambda *seen_now: seen.append(seen_now))
    assert Counted.fits - before == 2, "the fits of two folds are known"
    assert without_times(result) == expected
    assert seen[0][:2] == (5, 12) and seen[-1][:2] == (12, 12)
    again = compare(X_IRIS, Y_IRIS, models, folds=4, checkpoint=path)
    assert Counted.fits - before == 2 and without_times(again) == expected
    assert len(path.read_text("utf-8").splitlines()) == 1 + 8, "failed fits are not written, as they are run again"


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"folds": 5}, {"models": {"bayes": GaussianNB(var_smoothing=1e-3)}}, {"rows": 149}]
)
def test_another_comparison_does_not_go_on(tmp_path, change):
    path = tmp_path / "finished.jsonl"
    compare(X_IRIS, Y_IRIS, BAYES, folds=4, checkpoint=path)
    options = {"models": BAYES, "folds": 4} | change
    rows = slice(options.pop("rows", None))
    with pytest.raises(ValueError, match=r"holds the results of another run, with .* name another file, or remove"):
        compare(X_IRIS[rows], Y_IRIS[rows], **options, checkpoint=path)


class Tabled(GaussianNB):
    def __init__(self, table=None):
        super().__init__()
        self.table = table


def test_estimators_that_look_alike_are_told_apart(tmp_path):
    path = tmp_path / "finished.jsonl"
    tables = np.zeros((2, 5000))
    tables[1, 2500] = 1.0
    assert repr(Tabled(tables[0])) == repr(Tabled(tables[1]))
    compare(X_IRIS, Y_IRIS, {"bayes": Tabled(tables[0])}, folds=2, checkpoint=path)
    with pytest.raises(ValueError, match=r"holds the results of another run, with models \{"):
        compare(X_IRIS, Y_IRIS, {"bayes": Tabled(tables[1])}, folds=2, checkpoint=path)
    with pytest.raises(ValueError, match=r"bayes=Tabled\(.* cannot be compared with that of an earlier attempt"):
        compare(X_IRIS, Y_IRIS, {"bayes": Tabled(lambda x: x)}, folds=2, checkpoint=tmp_path / "other.jsonl")


@pytest.mark.parametrize(
    "change",
    [
        lambda cell: cell.clear(),
        lambda cell: cell.update(model="forest"),
        lambda cell: cell.update(fold=2),
        lambda cell: cell.update(fold=-1),
        lambda cell: cell["result"].clear(),
        lambda cell: cell["result"]["figures"].pop("accuracy"),
        lambda cell: cell["result"]["figures"].update(accuracy="high"),
        lambda cell: cell.update(result=[1]),
    ],
)
def test_lines_that_no_comparison_has_written_are_refused(tmp_path, change):
    path = tmp_path / "finished.jsonl"
    compare(X_IRIS, Y_IRIS, BAYES, folds=2, checkpoint=path)
    run, line, _ = path.read_text("utf-8").splitlines()
    cell = json.loads(line)
    change(cell)
    path.write_text(f"{run}\n{json.dumps(cell)}\n", "utf-8")
    with pytest.raises(ValueError, match=r"holds a line that is not a fit of this comparison .*; remove this file"):
        compare(X_IRIS, Y_IRIS, BAYES, folds=2, checkpoint=path)


def test_figures_come_back_from_json():
    figures = dict(enumerate([float("inf"), -float("inf"), float("nan"), None, 0.1 + 0.2]))
    reliability = Reliability.of([[0.25, 0.75]], [True])
    result = FoldResult({f"{k}": figure for k, figure in figures.items()}, np.array([0.1]), None, ("odd",), reliability)
    document = json.dumps(result.to_json(), allow_nan=False)
    assert repr(FoldResult.from_json(json.loads(document))) == repr(result)
    without = {name: value for name, value in json.loads(document).items() if name != "reliability"}
    assert FoldResult.from_json(without).reliability is None, "as in journals of earlier versions"


def test_numbers_have_the_errors_of_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    models = {"line": LinearRegression(), "mean": DummyRegressor()}
    result = compare(X, y, models, folds=4, seed=3, metric=["mae", "r2"])
    assert result.task == "numbers" and result.table.classes == {} and result.table.numbers[0] == y.min()
    scoring = {"rmse": "neg_root_mean_squared_error", "mae": "neg_mean_absolute_error", "r2": "r2"}
    splits = stratified_folds(np.zeros(len(y), dtype=np.intp), 4, 1, 3)
    scores = cross_validate(LinearRegression(), X, y, cv=splits, scoring=scoring)
    for name in scoring:
        np.testing.assert_allclose(np.abs(scores[f"test_{name}"]), result["line"].values(name), rtol=1e-9)
    assert [model.name for model in result.ranked] == ["line", "mean"]
    test = result["mean"].against_best
    differences = result["mean"].values("mae") - result["line"].values("mae")
    half = student_t.ppf(0.975, 3) * np.sqrt((1 / 4 + 1 / 3) * differences.var(ddof=1))
    assert test.interval == pytest.approx((differences.mean() - half, differences.mean() + half))
    assert test.in_every_fold == bool((differences > 0).all())
    assert "numbers of 'target' from 25 to 346" in table_sentence(result)
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert document["settings"]["task"] == "numbers" and "accuracy" not in document["models"][0]["summary"]


def test_all_models_of_numbers_learn_categories(tmp_path):
    frame, labels = mixed_table(120)
    y = np.where(labels == "yes", 10.0, 20.0) + frame["noise"].to_numpy()
    assert set(default_models(numbers=True)) <= set(all_models(numbers=True))
    names = [name for name in all_models(numbers=True) if name not in ("committee", "catboost", "baseline")]
    result = compare(
        frame, y, names, folds=2, parameters={"gradient_boosting": {"n_estimators": 20}}, checkpoint=tmp_path / "fits"
    )
    assert all(model.error is None for model in result.models), [model.error for model in result.models]
    assert all(model.mean("rmse") < 2.0 * y.std() and model.mean("n_nodes") > 1 for model in result.models)
    assert sum(model.mean("r2") > 0.1 for model in result.models) >= len(names) - 1, "quadboost has too few rows"
    assert result["gradient_boosting"].mean("n_voters") == 20
    assert all(model.margin_quantiles is None and model.reliability is None for model in result.models)


@pytest.mark.parametrize(("n_fits", "folds_done", "missing"), [(1, 0, ["b"]), (5, 2, []), (8, 4, [])])
def test_an_interrupted_comparison_keeps_the_folds_that_all_have_done(n_fits, folds_done, missing):
    def stop(done, total, model, result):
        if done == n_fits:
            raise KeyboardInterrupt

    models = {"a": GaussianNB(), "b": DummyClassifier()}
    result = compare(X_IRIS, Y_IRIS, models, folds=4, progress=stop, on_interrupt="keep")
    assert (result.stopped, result.folds_done) == ("an interrupt", folds_done)
    assert [model.name for model in result.models if not model.fold_results] == missing
    whole = compare(X_IRIS, Y_IRIS, models, folds=4)
    assert len(result.ranked) == (2 if folds_done else 0), "within the first fold none is best"
    assert ("the models are not ranked. Not run: b." in verdict(result)[0]) == (not folds_done)
    folds = max(folds_done, 1)
    np.testing.assert_array_equal(result["a"].values("accuracy"), whole["a"].values("accuracy")[:folds])
    assert any(model.against_best is not None for model in result.models) == (folds_done > 1)
    assert verdict(result)[0].startswith("Stopped by an interrupt")
    assert folds_done or len(verdict(result)) == 1
    assert render_report(result).startswith("<!DOCTYPE html>")
    with pytest.raises(KeyboardInterrupt):
        compare(X_IRIS, Y_IRIS, models, folds=4, progress=stop)


def test_a_time_limit_begins_no_fold_that_would_not_end_in_time():
    assert not is_over(None, 1e9, 4, 2)
    assert not is_over(10.0, 4.0, 4, 2), "two folds took 4 s: one more ends in time"
    assert is_over(5.0, 4.0, 4, 2)
    assert not is_over(5.0, 4.0, 3, 2), "a fold that has begun goes on while there is time"
    assert is_over(5.0, 5.0, 3, 2)
    result = compare(X_IRIS, Y_IRIS, {"a": GaussianNB(), "b": DummyClassifier()}, folds=4, time_limit=1e-9)
    assert result.stopped == "the time limit" and not any(model.fold_results for model in result.models)


def comparison_of(scores: dict[str, list[float]], metric: str = "accuracy") -> Comparison:
    """A comparison with these values in its folds."""
    n = len(next(iter(scores.values())))
    results = [
        summarise_folds(ComparedModel(name, GaussianNB()), {f: FoldResult({metric: v}) for f, v in enumerate(values)})
        for name, values in scores.items()
    ]
    table = TableSummary("t", "y", 100, 2, 0, 0, {"a": 50, "b": 50})
    return Comparison(table, tuple(rank_models(results, metric, 1 / (n - 1))), n, 1, 0, 1, (metric,))


def test_three_folds_cannot_show_a_large_difference():
    scores = {"good": [0.999, 0.998, 1.0], "bad": [0.90, 0.78, 0.855], "near": [0.998, 0.999, 0.997]}
    found = comparison_of(scores)
    text = verdict(found)
    assert not found["bad"].against_best.significant
    assert text[1].startswith("Large, but not significant with 3 folds: bad by 0.154")
    assert text[2] == "Not significantly different from good: near (mean difference 0.0010)."
    least = found["near"].against_best.least_shown
    assert text[3].startswith(f"With 3 folds, differences below about {least:.4f} cannot be detected.")
    text = verdict(comparison_of(scores | {"far": [0.9965, 0.9985, 0.996]}))
    assert text[2] == "Not significantly different from good: near, far (mean differences up to 0.0020)."


def test_many_worse_models_are_summed_up():
    rng = np.random.default_rng(0)
    scores = {f"m{i:02}": (0.95 - 0.01 * i + rng.normal(0, 1e-4, 10)).tolist() for i in range(12)}
    text = verdict(comparison_of(scores))
    assert len(text) == 2
    assert re.fullmatch(
        r"Significantly worse than m00: 11 models, by 0\.01\d\d \(m01\) to 0\.1\d\d\d \(m11\)\.", text[1]
    )
    equal = verdict(comparison_of({f"m{i}": [0.9, 0.8, 0.9] for i in range(9)}))
    assert equal[0].startswith("m0, m1, m2, m3 and 5 more share the highest mean accuracy (0.8667)")


def test_losses_are_worse_upwards():
    found = comparison_of({"low": [1.0, 1.1, 1.0, 1.05], "high": [2.0, 2.1, 2.05, 2.0]}, "log_loss")
    assert [model.name for model in found.models] == ["low", "high"]
    assert found["high"].against_best.significant and found["high"].against_best.in_every_fold
