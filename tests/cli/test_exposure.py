"""Exposure columns: fits, predictions and evaluations of counts over them."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import mean_poisson_deviance, r2_score

from committee import CommitteeRegressor, GradientBoostingRegressor, RandomForestRegressor, load
from committee.cli.row_columns import rates_of
from tests.cli.calls import fail, fails, succeed
from tests.small_portfolio import use_small_members

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
    frame.rename({"years": "time"}).write_csv(renamed)
    succeed("predict", model, renamed, "--exposure", "time", "--id", "time", "-o", tmp_path / "out.csv")
    out = pl.read_csv(tmp_path / "out.csv")
    assert out.columns == ["time", "prediction"]
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


def test_errors(claims, model, tmp_path):
    fit = ("fit", claims, "-t", "claims")
    other = tmp_path / "other.safetensors"
    succeed(*fit, "-m", "tree", "--task", "numbers", "--folds", "0", "-o", other)
    remedy = "add --model gradient_boosting -p loss=poisson (or gamma, tweedie)"
    cases = [
        (f"does not go with --model lpboost, which predicts classes; {remedy}", "-m", "lpboost", "--exposure", "years"),
        (
            f"needs a log link, as its logarithm is an offset of the score; {remedy}",
            "-m",
            "gradient_boosting",
            "--exposure",
            "years",
        ),
        ("--exposure names 'year', which is not there; did you mean 'years'?", *POISSON[:-1], "year"),
        ("--exposure 'claims' is the target", *POISSON[:-1], "claims"),
        ("in row 0 (from 0, not counting rows left out); it must be a number above 0", *POISSON[:-1], "zone"),
        (f"which --model tree does not take; {remedy}", "-m", "tree", "--exposure", "years", "--conformal", "0.1"),
        ("--exposure and --weight both name 'years'; name different columns", *POISSON, "--weight", "years"),
        ("--exposure 'year' is not a column; did you mean 'years'?", *POISSON[:-1], "year", *CHUNKS),
        ("--exposure 'claims' is the target", *POISSON[:-1], "claims", *CHUNKS),
        ("exposure 'zone' is", *POISSON[:-1], "zone", *CHUNKS),
    ]
    fails(fit, cases)
    assert "for models fitted with --exposure" in fail("predict", other, claims, "--exposure", "years")
    zeros = tmp_path / "zeros.csv"
    pl.read_csv(claims).with_columns(years=pl.lit(0.0)).write_csv(zeros)
    assert "exposure 'years' is 0.0 in row 0" in fail("predict", model, zeros)
    assert "is not a column" in fail("evaluate", model, claims, "--exposure", "time")
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
    assert "effects and contributions for an exposure of 1" in page and f"{inside:.1%} (target: 0.8)" in page


@pytest.mark.parametrize("options", [(), CHUNKS])
def test_other_learners_learn_rates(claims, options, tmp_path):
    frame, path = pl.read_csv(claims), tmp_path / "model.safetensors"
    X, y, years = frame.select("age", "zone"), frame["claims"].to_numpy(), frame["years"].to_numpy()
    settings = ("-m", "random_forest", "-p", "n_estimators=3", "--folds", "0", "--exposure", "years")
    result = succeed("fit", claims, "-t", "claims", *settings, *options, "-o", path)
    assert "note: the model and its estimate are of 'claims' per unit of 'years', weighted by it" in result.stderr
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
    for loss, power in (("gamma", 0.0), ("squared_error", 1.0)):
        weights = rates_of(CommitteeRegressor(loss=loss), y, years, np.full(120, 2.0))[1]
        assert_allclose(weights, 2.0 * (years / years.mean()) ** power)
