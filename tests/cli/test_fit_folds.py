"""``committee fit`` with groups, times and weights, and thresholds of ``predict`` and ``evaluate``."""

import json
import re

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import StratifiedGroupKFold

from committee import GradientBoostingClassifier, RandomForestClassifier, load, prune
from committee.data.readers.table_reader import read_table
from committee.learners.trained_ensembles.out_of_bag import checked_out_of_bag_mask
from committee.report.evaluation import evaluate, out_of_fold
from committee.report.folds import Folds, time_splits
from committee.vote.margin_distribution import MarginDistribution
from tests.cli.calls import fail, fails, sample_table, succeed
from tests.small_portfolio import use_small_members

BOOSTING = ("-m", "gradient_boosting", "-p", "n_estimators=3")


@pytest.fixture(scope="module")
def sales(tmp_path_factory):
    """A table of 120 rows with a shop, a day and a weight."""
    path = tmp_path_factory.mktemp("sales") / "sales.csv"
    days = [f"2024-0{1 + i // 28}-{1 + i % 28:02}" for i in range(120)]
    shop = np.random.default_rng(0).integers(0, 12, 120)
    frame = sample_table(120).drop("id", "price")
    frame.with_columns(sold=pl.Series(days), shop=shop, w=pl.Series([0, 1, 2, 3] * 30)).write_csv(path)
    return path


def test_the_estimate_is_by_groups_or_in_the_order_of_time(sales, tmp_path):
    model = tmp_path / "model.st"
    said = succeed("fit", sales, "-t", "label", *BOOSTING, "--drop", "sold,w", "--group", "shop", "-o", model).stderr
    assert "on rows not seen in training (5 folds of whole groups of 'shop'): accuracy" in said
    fitted = load(model)
    assert list(fitted.feature_names_in_) == ["size", "color", "code"]
    frame = read_table(sales)
    X, y, shop = frame.select("size", "color", "code"), frame["label"].to_numpy(), frame["shop"].to_numpy()
    right = np.zeros(len(y))
    numbers = np.unique(shop, return_index=True, return_inverse=True)
    first = np.argsort(np.argsort(numbers[1]))[numbers[2]]  # groups are numbered by their first rows
    for train, test in StratifiedGroupKFold(5, shuffle=True, random_state=0).split(X, y == "yes", first):
        one = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X[train], y[train])
        right[test] = one.predict(X[test]) == y[test]
    estimate = fitted.provenance_.estimate
    assert estimate.figures["accuracy"] == right.mean() and estimate.n_rows == 120
    said = succeed("fit", sales, "-t", "label", *BOOSTING, "--drop", "sold", "--time", "sold", "--folds", 2).stderr
    assert "(2 folds in order of 'sold')" in said and "drawn at random" not in said
    assert (
        "column 'sold' holds dates, and the folds are drawn at random"
        in succeed("fit", sales, "-t", "label", *BOOSTING).stderr
    )
    assert "drawn at random" not in succeed("fit", sales, "-t", "label", *BOOSTING, "--folds", 0).stderr


def test_weights_are_those_of_the_fit_and_of_its_scores(sales, tmp_path):
    model, figures = tmp_path / "model.st", tmp_path / "figures.json"
    succeed("fit", sales, "-t", "label", *BOOSTING, "--drop", "sold,shop", "--weight", "w", "-o", model)
    frame = read_table(sales)
    X, y, w = frame.select("size", "color", "code"), frame["label"].to_numpy(), frame["w"].to_numpy()
    direct = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(load(model).predict_proba(X), direct.predict_proba(X))
    estimate = load(model).provenance_.estimate
    assert estimate.figures["accuracy"] == out_of_fold(direct, X, y, sample_weight=w)["accuracy"]
    path = tmp_path / "page.html"
    options = ("--weight", "w", "--threshold", 0.3, "--costs", "1,5", "--json", figures, "--report", path)
    shown = succeed("evaluate", model, sales, *options).stdout
    assert "Metrics on 90 rows" in shown and "Thresholds of the probability of 'yes'" in shown
    found = evaluate(direct, X, y, sample_weight=w, threshold=0.3, costs=(1, 5))
    assert json.loads(figures.read_text("utf-8"))["figures"] == pytest.approx(found.to_json()["figures"])
    page = path.read_text("utf-8")
    assert f"Accuracy {found['accuracy']:.1%}; always predicting the most frequent class gives" in page
    assert "Thresholds of the probability of &#39;yes&#39;" in page and "rows of sales.csv, which have weights" in page
    margins = MarginDistribution.of(direct, X, y, w)
    for command in (("margins", model, sales), ("inspect", model, "--data", sales)):
        shown = succeed(*command, "--weight", "w").stdout
        assert re.search(rf"mean +{margins.mean:.3f}", shown) and re.search(rf"median +{margins.median:.3f}", shown)
    assert "--weight names a column of --data; add --data" in fail("inspect", model, "--weight", "w")
    assert "--weight names a column of DATA; add DATA" in fail("prune", model, "--weight", "w")
    predicted = succeed("predict", model, sales, "--threshold", 0.3).stdout.split()[1:]
    assert predicted == np.where(direct.predict_proba(X)[:, 1] >= 0.3, "yes", "no").tolist()


def test_out_of_bag_rows_are_certified_with_the_weights_of_the_fit(sales, tmp_path):
    model = tmp_path / "forest.st"
    binary = tmp_path / "binary.csv"
    pl.read_csv(sales).with_columns((pl.col("w") > 0).cast(pl.Int64).alias("w")).write_csv(binary)
    forest = ("-m", "random_forest", "-p", "n_estimators=20", "-p", "oob_score=True", "--folds", 0)
    succeed("fit", binary, "-t", "label", *forest, "--weight", "w", "-o", model)
    shown = succeed("certify", model, binary, "--on", "oob", "--weight", "w").stdout
    assert "From 18 held-out rows a bound of about" in shown, "a fifth of the 90 rows with weight"
    assert "--weight is that of the fit, for --on oob" in fail("certify", model, binary, "--weight", "w")
    frame, trained, small = read_table(binary), load(model), tmp_path / "small.st"
    X, y, w = frame[list(trained.feature_names_in_)], frame["label"].to_numpy(), frame["w"].to_numpy()
    unseen = checked_out_of_bag_mask(trained, trained.committee_, X, y, w)
    margins = MarginDistribution.of(trained, X, y, w, asked=unseen)
    assert re.search(
        rf"mean +{margins.mean:.3f}", succeed("margins", model, binary, "--on", "oob", "--weight", "w").stdout
    )
    given = ("--weight", "w", "--level", "voter", "--max-voters", 3, "-o", small)
    succeed("prune", model, binary, *given)
    expected = prune(trained, X, y, sample_weight=w, level="voter", max_voters=3, on="oob")
    np.testing.assert_array_equal(load(small).predict_proba(X), expected.predict_proba(X))
    succeed("prune", binary, "-t", "label", "--trees", 20, "--drop", "sold,shop", *given)
    X = X.select("size", "color", "code")
    forest = RandomForestClassifier(20, oob_score=True, random_state=0).fit(X, y, w)
    expected = prune(forest, X, y, sample_weight=w, level="voter", max_voters=3, on="oob")
    np.testing.assert_array_equal(load(small).predict_proba(X), expected.predict_proba(X))


def test_members_of_a_committee_are_judged_by_groups_or_time(sales, tmp_path, monkeypatch):
    use_small_members(monkeypatch)
    model = tmp_path / "model.st"
    command = ("fit", sales, "-t", "label", "--effort", "fast", "-p", "cv=3", "-o", model)
    succeed(*command, "--time", "sold")
    fitted = load(model)
    assert (fitted.cv, fitted.n_folds_) == (3, 3)
    succeed(*command, "--group", "shop", "--weight", "w")
    fitted = load(model)
    assert (fitted.cv, fitted.n_folds_) == (3, 3) and not {"shop", "w"} & set(fitted.feature_names_in_)
    error = fail("inspect", model, "--data", sales, "--weight", "w")
    assert "--weight does not go with the tables of a committee's members" in error and "committee evaluate" in error
    assert "-p cv='kfold' must be a number of folds" in fail(*command, "-p", "cv=kfold", "--time", "sold")


def test_what_does_not_go_together_is_refused(sales, tmp_path):
    cases = [
        ("--group and --time do not go together", "--group", "shop", "--time", "sold"),
        ("--group 'shop' does not go with --conformal", "--group", "shop", "--conformal", 0.1),
        ("--time is for a table that is read whole", "--time", "sold", "--memory-limit", "1 GB"),
        ("--conformal is for a table that is read whole", "--conformal", "0.1", "--memory-limit", "1 GB"),
        ("--weight 'label' is the target", "--weight", "label"),
        ("--weight names 'wt', which is not there; did you mean", "--weight", "wt"),
        ("code has 3 groups, fewer than --folds 5; use --folds 3 at most", "--group", "code"),
    ]
    fails(["fit", sales, "-t", "label", *BOOSTING], cases)
    late = tmp_path / "late.csv"
    frame = pl.read_csv(sales).sort("label")
    frame.with_columns(sold=pl.Series(range(120))).write_csv(late)
    said = fail("fit", late, "-t", "label", "--effort", "fast", "--time", "sold")
    assert "the training rows of fold 1 in order of 'sold' are of one class; use fewer folds" in said
    assert said.endswith("or leave out --time")
    alone = frame.with_row_index("n").with_columns(
        g=pl.col("n") % 6,
        label=pl.when(pl.col("n") % 6 == 0).then(pl.lit("a")).otherwise(pl.format("c{}", pl.col("n") % 5 % 2)),
    )
    alone.write_csv(late)
    said = fail("fit", late, "-t", "label", "--effort", "fast", "--group", "g")
    assert "class 'a' has rows in one group of 'g' only" in said and "which no number of folds gives" in said


def test_folds_of_some_rows_are_those_of_their_groups_and_times():
    time = np.arange(20.0)
    rows = np.arange(0, 20, 2)
    some = Folds.of(3, time=time).take(rows).splits(np.arange(10) % 2, of_classes=True)
    for (train, test), (past, future) in zip(some, time_splits(time[rows], 3), strict=True):
        assert train.tolist() == past.tolist() and test.tolist() == future.tolist()
