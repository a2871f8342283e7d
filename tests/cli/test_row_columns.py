"""Columns with a value for each row: groups, times, weights and exposures; thresholds of predictions."""

import json
import re

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import mean_poisson_deviance, r2_score
from sklearn.model_selection import StratifiedGroupKFold

from committee import (
    CommitteeClassifier,
    CommitteeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    load,
    prune,
)
from committee.cli.row_columns import RowColumns, RowValues
from committee.cli.training_table import TrainingTable, committee_folds
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
    said = succeed("fit", sales, "-t", "label", *BOOSTING).stderr
    assert "column 'sold' holds dates, and the folds are drawn at random" in said
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
    none = tmp_path / "none.csv"
    frame.with_columns(w=0).write_csv(none)
    fit = ("fit", none, "-t", "label", *BOOSTING)
    for command in (fit, (*fit, "--memory-limit", "1 GB"), ("evaluate", model, none), ("margins", model, none)):
        assert "error: --weight 'w' is 0 in every row; give a row that" in fail(*command, "--weight", "w")
    assert "--weight names a column of --data; add --data" in fail("inspect", model, "--weight", "w")
    assert "--weight names a column of DATA or --test; add one of them" in fail("prune", model, "--weight", "w")
    predicted = succeed("predict", model, sales, "--threshold", 0.3).stdout.split()[1:]
    assert predicted == np.where(direct.predict_proba(X)[:, 1] >= 0.3, "yes", "no").tolist()


def test_weights_of_a_column_without_a_name_are_no_exposure_of_chunks(sales, tmp_path):
    nameless, models = tmp_path / "nameless.csv", [tmp_path / "whole.st", tmp_path / "chunks.st"]
    frame = pl.read_csv(sales).drop("sold", "shop").rename({"w": ""})
    frame.write_csv(nameless)
    for model, options in zip(models, ((), CHUNKS), strict=True):
        succeed("fit", nameless, "-t", "label", *BOOSTING, "--folds", 0, "--weight", "", *options, "-o", model)
    whole, chunks = (load(model).predict_proba(frame.drop("", "label")) for model in models)
    assert_array_equal(chunks, whole)


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
    shown = succeed("margins", model, binary, "--on", "oob", "--weight", "w").stdout
    assert re.search(rf"mean +{margins.mean:.3f}", shown)
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


@pytest.mark.parametrize("name", ["shop", ""])
def test_a_committee_has_folds_of_whole_groups(name):
    shop, y, learner = pl.Series(name, np.arange(40) // 4), np.arange(40) % 2, CommitteeClassifier()
    rows = TrainingTable(None, y, pl.DataFrame({"x": y}), values=RowValues(groups=shop))
    with committee_folds(learner, RowColumns(group=name), rows, of_classes=True):
        assert len(learner.cv) == 5
        assert not any(set(shop[train]) & set(shop[test]) for train, test in learner.cv)
    assert learner.cv == 5


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


CHUNKS = ("--memory-limit", "1 GB")
POISSON = ("-m", "gradient_boosting", "-p", "loss=poisson", "-p", "n_estimators=3", "--exposure", "years")


@pytest.fixture(scope="module")
def claims(tmp_path_factory):
    rng = np.random.default_rng(0)
    age, zone = rng.integers(18, 80, 120), rng.choice(list("abc"), 120)
    years = np.arange(1, 121) / 100.0  # which look like numbers of rows
    counts = rng.poisson(years * np.exp(0.02 * age - 1.0 + (zone == "a")))
    path = tmp_path_factory.mktemp("claims") / "claims.csv"
    pl.DataFrame({"age": age, "zone": zone, "years": years, "claims": counts}).write_csv(path)
    return path


@pytest.fixture(scope="module")
def model(claims):
    path = claims.parent / "model.safetensors"
    result = succeed("fit", claims, "-t", "claims", *POISSON, "-o", path)
    assert "on rows not seen in training (5 folds): R2" in result.stderr
    return path


def test_fit_predict_and_evaluate(claims, model, tmp_path):
    frame, fitted = pl.read_csv(claims), load(model)
    X, y, offset = frame.select("age", "zone"), frame["claims"].to_numpy(), np.log(frame["years"].to_numpy())
    same = GradientBoostingRegressor(3, loss="poisson", random_state=0).fit(X, y, offset=offset)
    assert_array_equal(fitted.predict(X), same.predict(X))
    assert fitted.provenance_.exposure == "years"
    expected = same.predict(X, offset=offset)
    succeed("predict", model, claims, "-o", tmp_path / "out.csv")
    assert_allclose(pl.read_csv(tmp_path / "out.csv")["prediction"].to_numpy(), expected)
    renamed = tmp_path / "renamed.csv"
    for name in ("time", ""):
        frame.rename({"years": name}).write_csv(renamed)
        succeed("predict", model, renamed, "--exposure", name, "--id", name, "-o", tmp_path / "out.csv")
        out = pl.read_csv(tmp_path / "out.csv")
        assert out.columns == [name, "prediction"]
        assert_allclose(out["prediction"].to_numpy(), expected)
    shown = succeed("evaluate", model, claims).stdout
    assert f"{same.score(X, y, offset=offset):.5g}" in shown
    assert "exposure 'years'" in succeed("inspect", model).stdout


def test_rows_without_an_exposure_are_predicted_per_unit(claims, model, tmp_path):
    frame = pl.read_csv(claims).drop("years", "claims")
    new = tmp_path / "new.csv"
    frame.write_csv(new)
    result = succeed("predict", model, new, "-o", tmp_path / "out.csv")
    assert "note: the table has no exposure 'years': predictions are for an exposure of 1" in result.stderr
    assert_allclose(pl.read_csv(tmp_path / "out.csv")["prediction"].to_numpy(), load(model).predict(frame))


def test_explanations_are_per_unit(claims, model):
    result = succeed("explain", model, claims)
    assert "note: explained for an exposure of 1; multiply the prediction by 'years'" in result.stderr
    assert "does not use the column" not in result.stderr
    per_unit = load(model).predict(pl.read_csv(claims).drop("years", "claims")[:1]).item()
    assert f"predicted {per_unit:.4g}" in result.stdout


def test_exposures_that_are_refused(claims, model, tmp_path):
    fit = ("fit", claims, "-t", "claims")
    other = tmp_path / "other.safetensors"
    succeed(*fit, "-m", "tree", "--task", "numbers", "--folds", "0", "-o", other)
    remedy = "use --model gradient_boosting -p loss=poisson (or gamma, tweedie)"
    cases = [
        (f"does not go with --model lpboost, which predicts classes; {remedy}", "-m", "lpboost", "--exposure", "years"),
        (f"needs a log link, as its logarithm is an offset of the score; {remedy}", *POISSON[:2], *POISSON[-2:]),
        ("--exposure names 'year', which is not there; did you mean 'years'?", *POISSON[:-1], "year"),
        ("--exposure 'claims' is the target", *POISSON[:-1], "claims"),
        ("in row 0 (from 0, not counting rows left out); it must be a number above 0", *POISSON[:-1], "zone"),
        (f"which --model tree does not take; {remedy}", "-m", "tree", "--exposure", "years", "--conformal", "0.1"),
        ("--exposure and --weight both name 'years'; name different columns", *POISSON, "--weight", "years"),
        ("--exposure 'year' is not a column; did you mean 'years'?", *POISSON[:-1], "year", *CHUNKS),
        ("--exposure 'claims' is the target", *POISSON[:-1], "claims", *CHUNKS),
        ("exposure 'zone' is", *POISSON[:-1], "zone", *CHUNKS),
        ("column 'zone' does not hold numbers; leave out --exposure, or", *POISSON, "-t", "zone"),
    ]
    fails(fit, cases)
    assert "for models fitted with --exposure" in fail("predict", other, claims, "--exposure", "years")
    zeros = tmp_path / "zeros.csv"
    pl.read_csv(claims).with_columns(years=pl.lit(0.0)).write_csv(zeros)
    assert "exposure 'years' is 0.0 in row 0" in fail("predict", model, zeros)
    assert "the table has no exposure 'time', which" in fail("evaluate", model, claims, "--exposure", "time")
    assert "exposure 'years' is 0.0 in row 0" in fail("predict", model, claims, zeros)
    assert "--exposure 'time' is not a column" in fail("evaluate", model, claims, zeros, "--exposure", "time")
    assert "which pruning by rows does not take" in fail("prune", model, claims)


def test_files_in_chunks(claims, model, tmp_path):
    frame, path = pl.read_csv(claims).with_columns(weight=pl.lit(1.0)), tmp_path / "model.safetensors"
    halves = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for half, part in zip(halves, (frame[:50], frame[50:]), strict=True):
        part.with_columns(pl.col("years").cast(pl.String).str.replace(".", ",", literal=True)).write_csv(
            half, separator=";"
        )
    succeed("fit", *halves, "-t", "claims", *POISSON, "--weight", "weight", "-o", path)
    again, whole = load(path), load(model)
    assert (again.provenance_.exposure, list(again.feature_names_in_)) == ("years", ["age", "zone"])
    X = frame.select("age", "zone")
    assert_allclose(again.predict(X), whole.predict(X), rtol=1e-12)
    succeed("predict", path, *halves, "-o", tmp_path / "out.csv", "--id", "years")
    out = pl.read_csv(tmp_path / "out.csv")
    expected = whole.predict(X, offset=np.log(frame["years"].to_numpy()))
    assert_allclose(out["prediction"].to_numpy(), expected, rtol=1e-12)
    assert succeed("evaluate", path, *halves).stdout == succeed("evaluate", model, claims).stdout
    for half in halves:
        pl.read_csv(half, separator=";").drop("years").write_csv(half)
    result = succeed("predict", path, *halves, "-o", tmp_path / "out.csv")
    assert "the table has no exposure 'years': predictions are for an exposure of 1" in result.stderr
    assert_allclose(pl.read_csv(tmp_path / "out.csv")["prediction"].to_numpy(), whole.predict(X), rtol=1e-12)


def test_intervals_are_of_counts(claims, tmp_path):
    path = tmp_path / "model.safetensors"
    succeed("fit", claims, "-t", "claims", *POISSON, "--folds", "0", "--conformal", "0.2", "-o", path)
    frame, fitted = pl.read_csv(claims), load(path)
    succeed("predict", path, claims, "-o", tmp_path / "out.csv")
    offset = np.log(frame["years"].to_numpy())
    ends = fitted.predict_interval(frame.select("age", "zone"), offset=offset)
    assert_allclose(pl.read_csv(tmp_path / "out.csv").select("lower", "upper").to_numpy(), ends)
    y = frame["claims"].to_numpy()
    inside = ((ends[:, 0] <= y) & (y <= ends[:, 1])).mean()
    shown = succeed("evaluate", path, claims, "--report", tmp_path / "page.html").stdout
    assert f"{inside:.5g}" in shown
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "effects and contributions for an exposure of 1" in page
    assert f"{inside:.1%} of the rows (target: 80%)" in page


@pytest.mark.parametrize("options", [(), CHUNKS])
def test_other_learners_learn_rates(claims, options, tmp_path):
    frame, path = pl.read_csv(claims), tmp_path / "model.safetensors"
    X, y, years = frame.select("age", "zone"), frame["claims"].to_numpy(), frame["years"].to_numpy()
    settings = ("-m", "random_forest", "-p", "n_estimators=3", "--folds", "0", "--exposure", "years")
    result = succeed("fit", claims, "-t", "claims", *settings, *options, "-o", path)
    assert "estimate are of 'claims' per unit of 'years', weighted by a power of it" in result.stderr
    rates = RandomForestRegressor(3, random_state=0).fit(X, y / years, years / years.mean())
    assert_array_equal(load(path).predict(X), rates.predict(X))
    succeed("predict", path, claims, "-o", tmp_path / "out.csv")
    assert_allclose(pl.read_csv(tmp_path / "out.csv")["prediction"].to_numpy(), years * rates.predict(X))
    shown = succeed("evaluate", path, claims, "--report", tmp_path / "page.html").stdout
    assert f"{r2_score(y, years * rates.predict(X)):.5g}" in shown
    assert "predicts per unit of" in (tmp_path / "page.html").read_text("utf-8")


def test_a_committee_for_counts_learns_rates(claims, monkeypatch, tmp_path):
    use_small_members(monkeypatch)
    frame, path = pl.read_csv(claims), tmp_path / "model.safetensors"
    X, y, years = frame.select("age", "zone"), frame["claims"].to_numpy(), frame["years"].to_numpy()
    succeed("fit", claims, "-t", "claims", "-p", "loss=poisson", "--effort", "fast", "--exposure", "years", "-o", path)
    same = CommitteeRegressor("fast", loss="poisson", random_state=0).fit(X, y / years, years / years.mean())
    assert_allclose(load(path).predict(X), same.predict(X), rtol=1e-12)
    shown = succeed("inspect", path, "--data", claims).stdout
    assert f"{mean_poisson_deviance(y / years, same.predict(X)):.4g}" in shown
    rows = TrainingTable(X, y, X, exposure=years, values=RowValues(weights=np.full(120, 2.0)))
    for loss, power in (("gamma", 0.0), ("squared_error", 1.0)):
        weights = rows.as_rates(CommitteeRegressor(loss=loss)).values.weights
        assert_allclose(weights, 2.0 * (years / years.mean()) ** power)
