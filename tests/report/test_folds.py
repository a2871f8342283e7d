"""Folds of comparisons by groups, in the order of time, and rows with weights."""

import re
from datetime import date, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import StratifiedGroupKFold, TimeSeriesSplit, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from committee.report.comparison import compare
from committee.report.comparison_tables import table_sentence
from committee.report.folds import Folds, time_splits
from committee.report.metrics import default_metrics

X_IRIS, Y_IRIS = load_iris(return_X_y=True)
BAYES = {"bayes": GaussianNB()}
GROUPS = np.random.default_rng(0).integers(0, 20, 150)


def accuracies(result):
    return result["bayes"].values("accuracy").tolist()


def test_groups_are_those_of_stratified_group_k_fold():
    result = compare(X_IRIS, Y_IRIS, BAYES, folds=4, seed=3, groups=[f"patient {g}" for g in GROUPS])
    splitter = StratifiedGroupKFold(4, shuffle=True, random_state=3)
    numbers = pd.factorize(GROUPS)[0]
    expected = cross_validate(GaussianNB(), X_IRIS, Y_IRIS, cv=splitter, groups=numbers)["test_score"]
    assert accuracies(result) == expected.tolist() and "4 folds of whole groups, seed 3" in table_sentence(result)
    for train, test in Folds.of(4, groups=GROUPS).splits(Y_IRIS, of_classes=True):
        assert not set(GROUPS[train]) & set(GROUPS[test])
    frame = pl.DataFrame(X_IRIS).with_columns(patient=GROUPS)
    named = compare(frame, Y_IRIS, BAYES, folds=4, seed=3, groups="patient")
    assert accuracies(named) == accuracies(result) and named.table.columns == 4, "the groups are no feature"
    assert "4 folds of whole groups of 'patient', seed 3" in table_sentence(named)
    repeated = compare(X_IRIS, Y_IRIS, BAYES, folds=4, repeats=2, seed=3, groups=GROUPS)
    assert accuracies(repeated)[:4] == accuracies(result) and len(set(accuracies(repeated)[4:])) > 1


def test_folds_of_time_are_those_of_time_series_split():
    X, y = load_diabetes(return_X_y=True)
    time = np.random.default_rng(1).permutation(len(y)).astype(float)
    order = np.argsort(time)
    splits = time_splits(time, 4)
    expected = TimeSeriesSplit(4, test_size=None).split(X)
    for (train, test), (past, future) in zip(splits, expected, strict=True):
        assert abs(len(train) - len(past)) <= 4 and time[train].max() < time[test].min()
        assert train.tolist() == order[: len(train)].tolist() and abs(len(test) - len(future)) <= 4
    days = [date(2024, 1, 1) + timedelta(days=int(t)) for t in time]
    line = {"line": LinearRegression()}
    by_number = compare(X, y, line, folds=4, time=time)
    for dates in (pl.Series(days), pd.Series(pd.to_datetime(days).tz_localize("UTC"))):
        again = compare(X, y, line, folds=4, time=dates)
        assert again["line"].values("rmse").tolist() == by_number["line"].values("rmse").tolist()
    k, (train, test) = 2, splits[2]
    error = LinearRegression().fit(X[train], y[train]).predict(X[test]) - y[test]
    assert by_number["line"].values("rmse")[k] == pytest.approx(np.sqrt(np.mean(error**2)))


def test_equal_times_are_on_one_side_of_a_cut():
    time = np.repeat([5.0, 1.0, 3.0, 2.0, 4.0], [3, 40, 20, 2, 30])
    for folds in (1, 2, 3):
        for train, test in time_splits(time, folds):
            assert time[train].max() < time[test].min()
    with pytest.raises(
        ValueError,
        match=r"time has 5 different values, too few or too unevenly spread for folds=5 in their order; use folds=\d",
    ):
        time_splits(time, 5)
    with pytest.raises(ValueError, match="time is the same in all rows"):
        time_splits(np.ones(9), 2)


ONE_GROUP = {"groups": Y_IRIS * 5 + GROUPS % 5, "y": (Y_IRIS > 1) & (GROUPS % 5 == 0)}
TWO_GROUPS = {
    "groups": np.repeat([0, 1, 2], [51, 49, 50]),
    "folds": 2,
    "y": np.repeat([0, 1, 0, 1, 1], [50, 1, 1, 48, 50]),
}


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"groups": GROUPS % 3}, "groups has 3 groups, fewer than folds=5; use folds=3 at most"),
        ({"groups": np.zeros(150)}, "one group only"),
        ({"groups": [None, *GROUPS[1:]]}, "groups holds missing values"),
        ({"groups": GROUPS[1:]}, "groups has shape (149,); give one value for each of 150 rows"),
        (
            ONE_GROUP,
            "of one class, with any number of folds, as all rows of the other classes are in one group; leave out",
        ),
        (TWO_GROUPS, "of one class; use more folds than folds=2, or leave out groups="),
        ({"time": GROUPS, "groups": GROUPS}, "groups and time are both given"),
        ({"time": GROUPS, "repeats": 2}, "repeats=2 does not go with time"),
        ({"time": np.arange(150)}, "the training rows of fold 1 in order of time are of one class; use fewer folds"),
        ({"time": np.where(GROUPS == 3, np.nan, GROUPS)}, "time is missing in"),
        ({"time": list("abc") * 50}, "has no order of time; give numbers or dates"),
        ({"time": "day"}, "'day' is no column"),
        ({"sample_weight": -np.ones(150)}, "must not be negative"),
        ({"sample_weight": np.zeros(150)}, "zero for every row"),
        ({"sample_weight": np.ones(149)}, "sample_weight has shape (149,); 150 rows need one weight each"),
        ({"sample_weight": np.ones(150), "models": {"near": KNeighborsClassifier()}}, "takes no row weights"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_remedy(options, match):
    given = {"models": BAYES, "folds": 5, "y": Y_IRIS} | options
    X = pl.DataFrame(X_IRIS) if isinstance(options.get("time"), str) else X_IRIS
    match = match.replace("'day' is no column", "time names 'day', which is not there")
    with pytest.raises(ValueError, match=re.escape(match)):
        compare(X, given.pop("y"), given.pop("models"), **given)


def test_rows_of_weight_zero_are_absent_and_equal_weights_change_nothing():
    weights = (GROUPS % 4 > 0).astype(float)
    kept = weights > 0
    some = compare(X_IRIS, Y_IRIS, BAYES, folds=3, sample_weight=weights, metric=["accuracy", "log_loss", "brier"])
    alone = compare(X_IRIS[kept], Y_IRIS[kept], BAYES, folds=3)
    for name in ("accuracy", "log_loss", "roc_auc", "brier", "mcc", "f1_macro", "balanced_accuracy"):
        np.testing.assert_allclose(some["bayes"].values(name), alone["bayes"].values(name))
    assert some.weighted and not alone.weighted and some.table.rows == kept.sum()
    frame = pl.DataFrame(X_IRIS).with_columns(w=weights)
    named = compare(frame, pl.Series("kind", Y_IRIS), BAYES, folds=3, sample_weight="w")
    assert accuracies(named) == accuracies(some) and named.table.target == "kind"


def test_weighted_scores_are_those_of_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    w = np.random.default_rng(2).integers(1, 4, len(y)).astype(float)
    result = compare(X, y, {"line": LinearRegression()}, folds=3, time=np.arange(len(y)), sample_weight=w)
    (train, test) = time_splits(np.arange(len(y)), 3)[1]
    line = LinearRegression().fit(X[train], y[train], sample_weight=w[train])
    assert result["line"].values("r2")[1] == pytest.approx(line.score(X[test], y[test], sample_weight=w[test]))
    twice = np.repeat(test, w[test].astype(int))
    error = line.predict(X[twice]) - y[twice]
    assert result["line"].values("mae")[1] == pytest.approx(np.abs(error).mean())
    assert result["line"].values("rmse")[1] == pytest.approx(np.sqrt(np.square(error).mean()))


def test_a_checkpoint_of_other_folds_or_weights_does_not_go_on(tmp_path):
    path = tmp_path / "fits.jsonl"
    compare(X_IRIS, Y_IRIS, BAYES, folds=3, groups=GROUPS, checkpoint=path)
    again = compare(X_IRIS, Y_IRIS, BAYES, folds=3, groups=GROUPS, checkpoint=path, progress=pytest.fail)
    assert len(again["bayes"].fold_results) == 3
    for other in ({"groups": GROUPS[::-1]}, {}, {"groups": GROUPS, "sample_weight": np.linspace(1.0, 2.0, 150)}):
        with pytest.raises(ValueError, match="holds the results of another run"):
            compare(X_IRIS, Y_IRIS, BAYES, folds=3, checkpoint=path, **other)


def test_random_folds_of_a_table_with_dates_are_noted():
    frame = pl.DataFrame(X_IRIS).with_columns(sold=pl.date_range(date(2020, 1, 1), date(2020, 5, 29), eager=True))
    with pytest.warns(UserWarning, match="column 'sold' holds dates, and the folds are drawn at random") as caught:
        result = compare(frame, Y_IRIS % 2, {"dummy": DummyClassifier()}, folds=2)
    assert result.notes == (str(caught[0].message),)
    assert compare(frame, GROUPS % 2, {"dummy": DummyClassifier()}, folds=2, time="sold").notes == ()


def test_the_baseline_and_the_metric_of_rare_classes():
    y = np.r_[np.zeros(140), np.ones(10)]
    result = compare(X_IRIS[GROUPS.argsort()], y, ["tree", "baseline"], folds=5)
    assert result.metrics == ("roc_auc", "log_loss", "accuracy")
    assert result["baseline"].mean("accuracy") == pytest.approx(14 / 15)
    assert result["baseline"].values("roc_auc").tolist() == [0.5] * 5 and result["baseline"].mean("n_nodes") is None
    assert compare(X_IRIS, Y_IRIS, ["baseline"], folds=2).metrics == ("accuracy",)
    assert default_metrics([900, 60, 40], 5) == ("log_loss", "accuracy")
    assert default_metrics([900, 4], 5) == default_metrics([900, 60], 5, at_random=False) == ("log_loss", "accuracy")


def test_the_baseline_of_numbers_is_the_mean_or_by_mae_the_median():
    X, y = load_diabetes(return_X_y=True)
    both = {"mean": DummyRegressor(), "median": DummyRegressor(strategy="median")}
    theirs = compare(X, y, both, folds=3)
    assert compare(X, y, ["baseline"], folds=3)["baseline"].mean("rmse") == theirs["mean"].mean("rmse")
    by_mae = compare(X, y, ["baseline"], folds=3, metric="mae")
    assert by_mae["baseline"].mean("mae") == theirs["median"].mean("mae")
    assert by_mae.parameters == {"baseline": {"strategy": "median"}}
