"""Exposure columns: fits, predictions and evaluations of counts over them."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from committee import GradientBoostingRegressor, load
from tests.cli.calls import fail, fails, succeed

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
    assert "does not use the column 'claims'" in result.stderr
    per_unit = load(model).predict(pl.read_csv(claims).drop("years", "claims")[:1]).item()
    assert f"predicted {per_unit:.4g}" in result.stdout


def test_errors(claims, model, tmp_path):
    fit = ("fit", claims, "-t", "claims")
    other = tmp_path / "other.safetensors"
    succeed(*fit, "-m", "tree", "--task", "numbers", "--folds", "0", "-o", other)
    remedy = "add --model gradient_boosting -p loss=poisson (or gamma, tweedie)"
    cases = [
        (f"--exposure does not go with --model auto; {remedy}", "--exposure", "years"),
        (
            f"needs a log link, as its logarithm is an offset of the score; {remedy}",
            "-m",
            "gradient_boosting",
            "--exposure",
            "years",
        ),
        ("--exposure names 'year', which is not there; did you mean 'years'?", *POISSON[:-1], "year"),
        ("--exposure 'claims' is the target", *POISSON[:-1], "claims"),
        ("in row 0; it must be a number above 0", *POISSON[:-1], "zone"),
        ("--exposure does not go with --conformal", *POISSON, "--conformal", "0.1"),
        ("--exposure is for a table that is read whole", *POISSON, "--memory-limit", "1 GB"),
    ]
    fails(fit, cases)
    assert "for models fitted with --exposure" in fail("predict", other, claims, "--exposure", "years")
    zeros = tmp_path / "zeros.csv"
    pl.read_csv(claims).with_columns(years=pl.lit(0.0)).write_csv(zeros)
    assert "exposure 'years' is 0.0 in row 0" in fail("predict", model, zeros)
    assert "is not a column" in fail("evaluate", model, claims, "--exposure", "time")
    assert "--report has no pages" in fail("evaluate", model, claims, "--report", tmp_path / "page.html")
    two = ("predict", model, claims, zeros)
    assert "--exposure is for a table that is read whole; give one file" in fail(*two)
