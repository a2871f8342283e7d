"""``committee fit --conformal``, and what the other commands make of such a model."""

import json

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_diabetes, load_iris

from committee import ConformalClassifier, RandomForestClassifier, load
from tests.cli.calls import fail, succeed
from tests.small_portfolio import use_small_members


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("conformal")
    for name, data in (("flowers", load_iris), ("people", load_diabetes)):
        frame = pl.from_pandas(data(as_frame=True).frame).sample(fraction=1.0, shuffle=True, seed=0)
        if name == "flowers":
            frame = frame.with_columns(pl.Series("target", np.array(["a", "b", "c"])[frame["target"].to_numpy()]))
        frame[:100].write_csv(place / f"{name}.csv")
        frame[100:].write_csv(place / f"{name}_new.csv")
    return place


def test_sets_of_a_forest(folder):
    fitted = succeed(
        *("fit", folder / "flowers.csv", "-t", "target", "-m", "random_forest", "--folds", 0),
        *("--conformal", "0.2", "-o", folder / "sets.st"),
    )
    assert "Sets of classes" in fitted.stdout and "for 0.8 of new rows (alpha 0.2)" in fitted.stdout
    model, new = load(folder / "sets.st"), pl.read_csv(folder / "flowers_new.csv")
    assert isinstance(model, ConformalClassifier) and isinstance(model.estimator_, RandomForestClassifier)
    X, y = new.drop("target"), new["target"].to_numpy()
    succeed("predict", folder / "sets.st", folder / "flowers_new.csv", "-o", folder / "p.csv")
    written = pl.read_csv(folder / "p.csv")
    assert written.columns == ["prediction", "in set:a", "in set:b", "in set:c"]
    np.testing.assert_array_equal(written[:, 1:].to_numpy(), model.predict_set(X))
    wide = succeed("predict", folder / "sets.st", folder / "flowers_new.csv", "--alpha", "0.02").stdout
    assert wide.count("true") == model.predict_set(X, 0.02).sum()
    assert "100 rows are scored, and an alpha of 0.001 needs 999" in " ".join(
        succeed("predict", folder / "sets.st", folder / "flowers_new.csv", "--alpha", "0.001").stderr.split()
    )

    page = folder / "page.html"
    succeed(
        *("evaluate", folder / "sets.st", folder / "flowers_new.csv", "--json", folder / "e.json", "--report", page)
    )
    figures = json.loads((folder / "e.json").read_text("utf-8"))["figures"]
    place = {"a": 0, "b": 1, "c": 2}
    inside = model.predict_set(X)[np.arange(len(y)), [place[label] for label in y]]
    assert figures["set_coverage"] == inside.mean() and figures["set_size"] == model.predict_set(X).sum(axis=1).mean()
    assert "classes within their set" in page.read_text("utf-8") and "Traceback" not in page.read_text("utf-8")
    k = int(model.predict_set(X).any(axis=1).argmax())
    said = succeed("explain", folder / "sets.st", folder / "flowers_new.csv", "--row", k).stdout
    labels = ", ".join(model.classes_[model.predict_set(X)[k]])
    assert f"The set at alpha 0.2 is {labels}." in said
    shown = succeed("inspect", folder / "sets.st", "--report", page).stdout
    assert "RandomForestClassifier" in shown and "out of bag" in shown and "Most used features" in shown
    assert "Sets of classes" in page.read_text("utf-8")


def test_intervals_of_the_committee_and_around_quantiles(folder, monkeypatch):
    use_small_members(monkeypatch)
    fit = ("fit", folder / "people.csv", "-t", "target", "--conformal", "0.1", "-o", folder / "numbers.st")
    assert "out of fold" in succeed(*fit, "--effort", "fast", "--progress").stdout
    model, new = load(folder / "numbers.st"), pl.read_csv(folder / "people_new.csv")
    succeed("predict", folder / "numbers.st", folder / "people_new.csv", "-o", folder / "p.parquet")
    written = pl.read_parquet(folder / "p.parquet")
    np.testing.assert_allclose(written[["lower", "upper"]].to_numpy(), model.predict_interval(new.drop("target")))
    shown = succeed("evaluate", folder / "numbers.st", folder / "people_new.csv").stdout
    assert "numbers within their interval" in shown and "0.9 is asked for" in shown
    assert "Members" in succeed("inspect", folder / "numbers.st").stdout
    succeed(*fit, "-m", "gradient_boosting", "-p", "loss=quantile", "-p", "quantile=[0.1,0.9]", "-p", "n_estimators=5")
    assert load(folder / "numbers.st").nonconformity == "quantile"
    first = succeed("predict", folder / "numbers.st", folder / "people_new.csv").stdout.splitlines()[0]
    assert first == "prediction:0.1,prediction:0.9,lower,upper"


def test_what_is_refused(folder):
    RandomForestClassifier(3, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "b"] * 2).save(
        folder / "plain.st"
    )
    (folder / "x.csv").write_text("x0\n1\n", "utf-8")
    fit = ("fit", folder / "flowers.csv", "-t", "target", "--conformal")
    assert "--conformal 1.5 must be above 0 and below 1" in fail(*fit, "1.5")
    assert "--checkpoint keeps no part" in fail(*fit, "0.1", "-o", folder / "m.st", "--checkpoint", folder / "c")
    assert "--alpha is of models trained with --conformal" in fail(
        "predict", folder / "plain.st", folder / "x.csv", "--alpha", "0.1"
    )
    ConformalClassifier(RandomForestClassifier(20, random_state=0), 0.5).fit(
        np.arange(40.0)[:, None], ["a", "b"] * 20, groups=["f", "m"] * 20
    ).save(folder / "groups.st")
    assert "the fit had groups" in fail("predict", folder / "groups.st", folder / "x.csv")
    assert "--alpha 2 must be above 0 and below 1" in fail(
        "predict", folder / "groups.st", folder / "x.csv", "--alpha", "2"
    )
