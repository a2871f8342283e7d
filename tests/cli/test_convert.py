"""``committee convert``: other libraries' models become committees that all commands take, and what is refused."""

import joblib
import lightgbm
import numpy as np
import polars as pl
import pytest
import skops.io
import xgboost
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor, VotingClassifier
from sklearn.linear_model import LogisticRegression, Ridge

from committee import TreeVoter, load
from tests.cli.calls import fail, succeed


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("convert")
    X, y = load_iris(return_X_y=True, as_frame=True)
    pl.from_pandas(X).with_columns(kind=np.array(["a", "b", "c"])[y]).write_csv(folder / "rows.csv")
    pl.from_pandas(X).write_csv(folder / "numbers.csv")
    return folder


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


def rows(folder):
    return pl.read_csv(folder / "rows.csv").drop("kind")


def test_scikit_learns_forest_by_skops_and_by_a_trusted_pickle(folder, iris, tmp_path):
    X, y = iris
    forest = RandomForestClassifier(10, random_state=0).fit(X, np.array(["a", "b", "c"])[y])
    skops.io.dump(forest, tmp_path / "forest.skops")
    joblib.dump(forest, tmp_path / "forest.joblib")
    succeed("convert", tmp_path / "forest.skops", "-o", tmp_path / "a.st")
    trusted = succeed("convert", tmp_path / "forest.joblib", "--trust-pickle", "-o", tmp_path / "b.st")
    assert "is opened as a pickle: any code in it runs" in trusted.stderr
    for name in ("a.st", "b.st"):
        assert_array_equal(load(tmp_path / name).predict_proba(rows(folder)), forest.predict_proba(X))
    assert "can run any code when it is opened" in fail("convert", tmp_path / "forest.joblib", "-o", tmp_path / "c.st")
    assert not (tmp_path / "c.st").exists()
    converted = tmp_path / "a.st", folder / "rows.csv"
    assert "Metrics on 150 rows" in succeed("evaluate", *converted).stdout
    assert "The probability for" in succeed("explain", *converted, "--row", 60).stdout
    assert "Margins of 150 rows" in succeed("margins", *converted).stdout
    assert "error at most" in succeed("certify", *converted).stdout
    assert "after" in succeed("prune", *converted, "--on", "validation", "--max-nodes", 0.5).stdout
    assert "10, each of weight 1" in succeed("inspect", converted[0]).stdout
    printed = succeed("predict", *converted, "--proba").stdout.splitlines()
    assert printed[0] == "prediction,probability:a,probability:b,probability:c" and len(printed) == 151


@pytest.mark.parametrize("ending", ["json", "ubj"])
def test_xgboost_until_early_stopping(folder, iris, tmp_path, ending):
    X, y = iris
    booster = xgboost.XGBClassifier(n_estimators=60, early_stopping_rounds=2)
    booster.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])], verbose=False)
    booster.save_model(tmp_path / f"x.{ending}")
    result = succeed("convert", tmp_path / f"x.{ending}", "--classes", "a,b,c", "-o", tmp_path / "x.st")
    assert f"{booster.best_iteration + 1} voters" in result.stderr and "'a', 'b', 'c'" in result.stderr
    found = load(tmp_path / "x.st")
    assert_allclose(found.predict_proba(rows(folder)), booster.predict_proba(X), atol=1e-6)
    assert found.classes.tolist() == ["a", "b", "c"]


def test_lightgbm_with_categories_and_names(tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"my_size": rng.normal(size=300), "my_colour": rng.choice(["red", "green", "blue"], 300)})
    y = (frame["my_size"] > 0).to_numpy() ^ (frame["my_colour"] == "red").to_numpy()
    pandas = frame.with_columns(pl.col("my_colour").cast(pl.Categorical)).to_pandas()
    model = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1).fit(pandas, y)
    model.booster_.save_model(tmp_path / "l.txt")
    frame.write_csv(tmp_path / "rows.csv")
    result = succeed("convert", tmp_path / "l.txt", "--classes", "0,1", "-o", tmp_path / "l.st")
    assert "2 columns; classes 0, 1" in result.stderr
    printed = succeed("predict", tmp_path / "l.st", tmp_path / "rows.csv").stdout.splitlines()[1:]
    assert [int(label) for label in printed] == model.predict(pandas).astype(int).tolist()
    # with further columns, in another order, and with the spaces that LightGBM has put underscores for
    frame.select("my_colour", more=pl.lit(1), **{"my size": "my_size"}).write_csv(tmp_path / "spaces.csv")
    result = succeed("predict", tmp_path / "l.st", tmp_path / "spaces.csv")
    assert result.stdout.splitlines()[1:] == printed
    assert "underscores for spaces: 'my size'" in result.stderr and "does not use the column 'more'" in result.stderr
    model = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(frame[["my_size"]].to_numpy(), y)
    model.booster_.save_model(tmp_path / "a.txt")
    result = succeed("convert", tmp_path / "a.txt", "-o", tmp_path / "a.st")
    assert "1 column without names, matched by position" in result.stderr


def test_regressors(folder, tmp_path):
    rows = pl.read_csv(folder / "rows.csv").drop("kind")
    X, y = rows[:, :3].to_pandas(), rows[:, 3].to_numpy()
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    skops.io.dump(forest, tmp_path / "forest.skops")
    boosted = xgboost.XGBRegressor(n_estimators=5).fit(X, y)
    boosted.save_model(tmp_path / "x.ubj")
    underscored = X.rename(columns=lambda name: name.replace(" ", "_"))
    light = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(underscored, y)
    light.booster_.save_model(tmp_path / "l.txt")
    converted = tmp_path / "m.st", folder / "numbers.csv"
    for name, model, named in (("forest.skops", forest, X), ("x.ubj", boosted, X), ("l.txt", light, underscored)):
        said = succeed("convert", tmp_path / name, "-o", converted[0]).stderr
        assert "3 columns; predicts a number" in said
        printed = succeed("predict", *converted).stdout.splitlines()[1:]
        assert_allclose([float(number) for number in printed], model.predict(named), rtol=1e-5)
    result = succeed("evaluate", *converted)
    assert "RMSE" in result.stdout and f"target '{rows.columns[3]}'" in result.stderr
    assert "The prediction is" in succeed("explain", *converted).stdout
    assert "a number" in succeed("inspect", converted[0]).stdout
    assert "after" in succeed("prune", *converted, "--on", "train").stdout
    named = ("convert", tmp_path / "l.txt", "--classes", "a,b", "-o", tmp_path / "n.st")
    assert "this one predicts numbers" in fail(*named)


def test_refused(iris, tmp_path):
    X, y = iris
    out = ("-o", tmp_path / "m.st")
    for name in ("bad.json", "bad.txt", "bad.skops", "bad.ubj", "bad.pkl"):
        (tmp_path / name).write_text("hello", "utf-8")
    (tmp_path / "empty.json").write_text("{}", "utf-8")
    TreeVoter().fit(X, y).save(tmp_path / "own.st")
    forest = RandomForestClassifier(1, random_state=0).fit(X, y)
    state = forest.estimators_[0].tree_.__getstate__()
    state["nodes"]["left_child"][2] = 0  # a circle
    forest.estimators_[0].tree_.__setstate__(state)
    skops.io.dump(forest, tmp_path / "circle.skops")
    skops.io.dump(Ridge().fit(X, y), tmp_path / "numbers.skops")
    skops.io.dump(LogisticRegression(max_iter=1000).fit(X, y), tmp_path / "classes.skops")
    skops.io.dump(RandomForestClassifier(2).fit(X, y), tmp_path / "forest.skops")
    joblib.dump(VotingClassifier([("a", LogisticRegression(max_iter=500))]).fit(X, y), tmp_path / "vote.joblib")
    xgboost.XGBClassifier(n_estimators=2).fit(X, y).save_model(tmp_path / "x.json")
    cases = [
        ("is not a model of XGBoost", "bad.json"),
        ("is not a model of XGBoost", "bad.ubj"),
        ("is not a model of XGBoost, or is damaged, or of an unknown version: it has no 'learner'", "empty.json"),
        ("is not a model of LightGBM", "bad.txt"),
        ("is not a model of skops", "bad.skops"),
        ("cannot be opened as a pickle", "bad.pkl", "--trust-pickle"),
        ("there is no file", "none.json"),
        ("unknown ending; use one of .skops, .json", "m.onnx"),
        ("own.st is a model file of committee already; it needs no conversion", "own.st"),
        ("cannot be converted: it is Ridge, a kind that is not supported", "numbers.skops"),
        ("and this library's learners, and of regressors forests and boosters.", "classes.skops"),
        ("--classes gives 2 classes the name 1; give each a name of its own", "forest.skops", "--classes", "1,01,2"),
        ("--classes has 2 names; the model has 3 classes", "forest.skops", "--classes", "--1,²"),
        ("vote.joblib cannot be converted", "vote.joblib", "--trust-pickle"),
        ("--classes has 2 names; the model has 3", "x.json", "--classes", "a,b"),
        ("child that is not among the nodes after its parent", "circle.skops"),
    ]
    for message, name, *options in cases:
        said = fail("convert", tmp_path / name, *options, *out)
        assert message in said and "estimator" not in said
    assert not (tmp_path / "m.st").exists()
