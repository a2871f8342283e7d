"""Commands on trained models: ``prune``, ``certify``, ``margins``, and ``convert`` for those of other libraries."""

import re

import joblib
import lightgbm
import numpy as np
import polars as pl
import pytest
import skops.io
import xgboost
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import ensemble
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge

from committee import (
    AdaBoostClassifier,
    CommitteeRegressor,
    MarginReweighter,
    RandomForestClassifier,
    RandomForestRegressor,
    TreeVoter,
    certify,
    load,
    prune,
)
from committee.bounds import equilibrium_margin
from committee.cli import margins as margins_command
from committee.data.examples import load_example
from committee.data.readers.tables import split_target
from committee.objectives.margins.named_objectives import OBJECTIVES
from tests.cli.calls import fail, fails, succeed
from tests.small_portfolio import products, with_second_layer


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table in two parts, a forest that knows its draws, and models of other kinds."""
    folder = tmp_path_factory.mktemp("trained")
    frame = load_example("breast_cancer").select("worst perimeter", "worst texture", "mean concavity", "target")
    frame[:300].write_csv(folder / "train.csv")
    frame[300:].write_csv(folder / "new.csv")
    X, y = split_target(frame[:300], "target")
    RandomForestClassifier(30, oob_score=True, random_state=0).fit(X, y).save(folder / "forest.st")
    AdaBoostClassifier(10).fit(X, y).save(folder / "boosted.st")
    numbers = pl.DataFrame(load_diabetes().data[:120, :3], schema=["a", "b", "c"])
    y = load_diabetes().target[:120]
    CommitteeRegressor("fast", random_state=0).fit(numbers, y).save(folder / "numbers.st")
    numbers.with_columns(y=y).write_csv(folder / "numbers.csv")
    return folder


def training(folder):
    return split_target(pl.read_csv(folder / "train.csv"), "target")


def new(folder):
    return split_target(pl.read_csv(folder / "new.csv"), "target")


def test_prune_is_that_of_python(folder, tmp_path):
    path, forest = tmp_path / "small.st", load(folder / "forest.st")
    options = ("--max-nodes", 0.2, "-o", path, "--test", folder / "new.csv")
    result = succeed("prune", folder / "forest.st", folder / "train.csv", *options)
    expected = prune(forest, *training(folder), max_nodes=0.2)
    X, y = new(folder)
    assert_array_equal(load(path).predict_proba(X), expected.predict_proba(X))
    lines = {line.split("  ")[0].strip(): line.split()[-2:] for line in result.stdout.splitlines() if line.strip()}
    assert lines["nodes"] == [f"{forest.committee_.n_nodes:,}", f"{expected.committee_.n_nodes:,}"]
    assert lines["accuracy"] == [f"{model.score(X, y):.4f}" for model in (forest, expected)]
    assert "cross-validated on these rows, with leaf values fitted on other folds: accuracy" in result.stderr
    assert "MODEL" not in succeed("evaluate", path, folder / "new.csv").stdout


def test_prune_drops_whole_voters(folder):
    options = ("--level", "voter", "--max-voters", 5, "--objective", "mincq")
    result = succeed("prune", folder / "forest.st", folder / "train.csv", *options)
    assert "note: the model is not saved" in result.stderr
    limits = {"level": "voter", "max_voters": 5, "objective": "mincq"}
    expected = prune(load(folder / "forest.st"), *training(folder), **limits).committee_
    assert f"{expected.n_nodes:,}" in result.stdout and expected.n_voters <= 5


def test_a_second_layer_is_neither_pruned_nor_explained(tmp_path):
    model, (X, _) = with_second_layer(), products()
    model.save(tmp_path / "model.st")
    pl.DataFrame(X).write_csv(tmp_path / "rows.csv")
    message = "the member 'second_layer' reads the probabilities of the others. Train with -p second_layer=False"
    assert message in fail("prune", tmp_path / "model.st")
    assert message in fail("explain", tmp_path / "model.st", tmp_path / "rows.csv")


def test_prune_of_a_table_trains_a_forest(folder, tmp_path):
    path = tmp_path / "small.st"
    result = succeed("prune", folder / "train.csv", "-t", "target", "--trees", 30, "-o", path)
    assert "forest of 30 trees, fitted on 300 rows" in result.stderr
    assert load(path).committee_.n_nodes <= 0.1 * load(folder / "forest.st").committee_.n_nodes


def test_prune_names_a_size_that_loses_less(folder):
    model = ("prune", folder / "forest.st", folder / "train.csv")
    said = succeed(*model, "--max-nodes", 0.002).stderr
    assert "by --max-nodes 0.002, the ensemble loses 0." in said
    size = re.search(r"; give --max-nodes (\d+) \(0\.\d+ of the nodes\), the smallest size tried that loses at", said)
    assert "the ensemble loses" not in succeed(*model, "--max-nodes", size[1]).stderr


@pytest.mark.slow
def test_prune_of_numbers(folder, tmp_path):
    path = tmp_path / "small.st"
    result = succeed("prune", folder / "numbers.csv", "-t", "y", "--trees", 30, "--max-loss", 0.3, "-o", path)
    frame = pl.read_csv(folder / "numbers.csv")
    forest = RandomForestRegressor(30, oob_score=True, random_state=0).fit(*split_target(frame, "y"))
    small = prune(forest, *split_target(frame, "y"), max_loss=0.3)
    assert_array_equal(load(path).predict(frame.drop("y")), small.predict(frame.drop("y")))
    said = "cross-validated loss of squared_error against the whole model: "
    assert f"{said}{small.lost_:+.2%} ± {small.lost_error_:.2%} of its loss" in result.stderr
    forest.save(tmp_path / "forest.st")
    options = ("--max-nodes", 0.2, "--test", folder / "numbers.csv")
    judged = succeed("prune", tmp_path / "forest.st", folder / "numbers.csv", *options)
    assert "RMSE" in judged.stdout and "with leaf values fitted on other folds: R2 " in judged.stderr


def test_prune_of_a_committee_of_ensembles_takes_no_rows(folder, tmp_path):
    path = tmp_path / "small.st"
    out = succeed("prune", folder / "numbers.st", "--max-nodes", 0.5, "-o", path).stdout
    assert load(path).committee_.n_nodes <= 0.5 * load(folder / "numbers.st").committee_.n_nodes
    assert "nodes" in out
    judged = succeed("prune", folder / "numbers.st", "--test", folder / "numbers.csv").stdout
    assert "RMSE" in judged and "R2" in judged


def test_prune_refuses(folder, tmp_path):
    model, data = folder / "forest.st", folder / "train.csv"
    table = (folder / "numbers.csv", "-t", "y", "--trees", 30)
    cases = [
        ("DATA is missing", model),
        ("small.joblib has the ending of another format; model files end in", model, data, "-o", "small.joblib"),
        ("--target is missing", data),
        ("is given too", data, folder / "new.csv", "-t", "target"),
        ("--max-nodes 'some' is not a number", model, data, "--max-nodes", "some"),
        ("--max-nodes 2.5 must be a share", model, data, "--max-nodes", 2.5),
        ("--level 'branch' is unknown", model, data, "--level", "branch"),
        ("--max-voters is for whole voters", model, data, "--max-voters", 3),
        ("or its parameters have changed", model, folder / "new.csv"),
        ("--on oob needs an ensemble with the training rows", folder / "boosted.st", data),
        ("give --max-nodes alone", folder / "numbers.st", "--min-gain", 0.1),
        ("--metric 'accuracy' is unknown", *table, "--metric", "accuracy"),
        ("--metric 'squared_error' is unknown", model, data, "--metric", "squared_error"),
        ("--level voter weighs voters by margins", *table, "--level", "voter"),
    ]
    fails(["prune"], cases)


def test_rows_of_the_training_are_known_where_new_ones_are_meant(folder, tmp_path):
    table = folder / "train.csv"
    forest = ("-m", "random_forest", "-p", "n_estimators=20", "-p", "oob_score=True", "--folds", 0)
    succeed("fit", table, "-t", "target", *forest, "-o", tmp_path / "forest.st")
    model, known = tmp_path / "forest.st", "the model was trained on all of these rows"
    for command in ("prune", "margins"):
        assert known in succeed(command, model, table, "--on", "validation").stderr
        assert known not in succeed(command, model, table, "--on", "oob").stderr
        assert known not in succeed(command, model, folder / "new.csv", "--on", "validation").stderr
    said = succeed("evaluate", model, table).stderr  # no claim that the figures of new rows are worse
    assert f"{known}, or on equal ones; give rows not used in training to estimate" in " ".join(said.split())
    said = fail("certify", model, table)
    assert known in said and "--on oob" in said
    assert "error at most" in succeed("certify", model, table, "--on", "oob").stdout
    assert "error at most" in succeed("certify", model, folder / "new.csv").stdout
    succeed("fit", table, "-t", "target", *forest[:4], "--folds", 0, "-o", tmp_path / "unscored.st")
    said = fail("certify", tmp_path / "unscored.st", table)
    assert "give rows not used in training, or fit with -p oob_score=True for --on oob" in said
    said = succeed("margins", tmp_path / "unscored.st", table, "--on", "validation").stderr
    assert "or --on oob to use out-of-bag voters" in said
    succeed("fit", table, "-t", "target", "--effort", "fast", "-o", tmp_path / "committee.st")
    assert "or fit with -p reserve=0.1 for --on oob" in fail("certify", tmp_path / "committee.st", table)
    said = fail("certify", tmp_path / "committee.st", table, "--on", "oob")
    assert "its fit used all rows, to train members and, on rows held out, to choose and weigh them" in said
    boosted = ("-m", "gradient_boosting", "-p", "n_estimators=5", "--folds", 0, "-o", tmp_path / "boosted.st")
    succeed("fit", table, "-t", "target", *boosted)
    shown = succeed("margins", boosted[-1], table, "--on", "validation").stderr
    for said in (fail("certify", boosted[-1], table), shown):
        assert known in said and said.rstrip().endswith("give rows not used in training")
    said = fail("evaluate", model, table, "--drop", "target")
    assert "--drop names the target 'target'; leave it out of --drop" in said
    assert "--keep is for a table on which a forest" in fail("prune", model, table, "--keep", "worst texture")


def test_certify_is_that_of_python(folder):
    out = succeed("certify", folder / "forest.st", folder / "new.csv", "--delta", 0.1).stdout
    found = certify(load(folder / "forest.st"), *new(folder), 0.1)
    for bound in found.bounds.values():
        assert bound.name in out and f"{min(bound.value, 1.0):.4f}" in out
    number, how, needs = found.sentences(f" of {folder / 'new.csv'}")
    assert out.splitlines()[0] == number and number.startswith("With probability 90 % at most ")
    assert found.headline.value < found.best.value  # with all of delta
    assert how in out and f"Computed from the 269 rows of {folder / 'new.csv'} held out" in how and needs in out


def test_certify_by_rows_out_of_bag_beside_the_test_error(folder):
    options = ("--on", "oob", "--bounds", "first_order,tandem", "--test", folder / "new.csv", "--votes", "labels")
    out = succeed("certify", folder / "forest.st", folder / "train.csv", *options).stdout
    X, y = new(folder)
    found = certify(
        load(folder / "forest.st"), *training(folder), on="oob", bounds=("first_order", "tandem"), votes="labels",
        X_test=X, y_test=y,
    )  # fmt: skip
    assert f"{min(found['tandem'].value, 1.0) - found.test_error:+.4f}" in out
    assert f" is {found.test_error:.4f}." in out and "The error on the rows of" in out and "C-bound" not in out


def test_margins_say_what_speaks_against_new_weights(folder):
    """Weights by training rows leave few trees of a forest; by rows out of bag there is nothing to say."""
    options = ("margins", folder / "forest.st", folder / "train.csv", "--objective", "soft_margin", "--on")
    result = succeed(*options, "train")
    before, after = map(int, re.search(r"voters +(\d+) +(\d+)", result.stdout).groups())
    said = f"note: only {after} voter{'' if after == 1 else 's'} of {before} keep"
    assert after < 0.05 * before and said in result.stderr
    assert "rows not used in training (--on validation), or for a forest --on oob, give better weights" in result.stderr
    assert "a weight" not in succeed(*options, "oob").stderr


def test_certify_says_what_guessing_errs(folder, tmp_path):
    """Nine rows of ten are of one class, which a single answer finds as well as the bound can say."""
    y = pl.Series("target", ["a"] * 270 + ["b"] * 30)
    table = pl.DataFrame({"x": np.random.default_rng(0).random(300)}).with_columns(y)
    RandomForestClassifier(5, random_state=0).fit(table.select("x"), y.to_numpy()).save(tmp_path / "forest.st")
    table.write_csv(tmp_path / "rows.csv")
    out = succeed("certify", tmp_path / "forest.st", tmp_path / "rows.csv", "--bounds", "test_set,tandem").stdout
    assert "Guessing at random has error 0.5: bounds of this size or more are vacuous" in out
    assert "Always predicting a, the most frequent class, has error 0.1000 on these rows" in out
    table[::10].write_csv(tmp_path / "few.csv")
    options = ("--bounds", "tandem", "--delta", 1e-9)
    out = succeed("certify", tmp_path / "forest.st", tmp_path / "few.csv", *options).stdout
    assert re.search(r"  1\.0000 +vacuous", out) and "Nothing is proved of the error on new rows: the bound is" in out


def test_certify_by_rows_without_answers(folder, tmp_path):
    pl.read_csv(folder / "new.csv").drop("target").write_csv(tmp_path / "bare.csv")
    out = succeed("certify", folder / "forest.st", folder / "new.csv", "--unlabelled", tmp_path / "bare.csv").stdout
    assert "unlabelled margins" in out


def test_certify_refuses(folder):
    cases = [
        ("bounds holds 'foo'", "--bounds", "foo"),
        ("delta is 2.0", "--delta", 2),
        ("--on 'train' is", "--on", "train"),
    ]
    fails(["certify", folder / "forest.st", folder / "new.csv"], cases)


def test_margins_of_rows(folder, tmp_path):
    options = ("--rows", tmp_path / "rows.csv", "--picture", tmp_path / "margins.svg")
    out = succeed("margins", folder / "forest.st", folder / "new.csv", *options).stdout
    X, y = new(folder)
    forest = load(folder / "forest.st")
    expected = forest.committee_.margins(X, y)
    assert f"{expected.mean():.3f}" in out and f"{(forest.predict(X) != y).mean():.1%}" in out
    found = dict(re.findall(r"^(\S.*?) {2,}(\S+)", out, re.MULTILINE))
    bound = equilibrium_margin(expected, np.log(2 * forest.committee_.n_voters))
    assert found["equilibrium margin"] == f"{bound.terms['equilibrium_margin']:.3f}"
    assert re.search(r"equilibrium margin +\d\.\d{3}  balances size and rows below it", out)
    assert found["median"] == f"{np.sort(expected)[(len(expected) - 1) // 2]:.3f}"
    rows = pl.read_csv(tmp_path / "rows.csv")
    assert rows.columns == ["row", "class", "predicted", "margin"] and rows["margin"].is_sorted()
    assert_allclose(rows.sort("row")["margin"], expected)
    assert (tmp_path / "margins.svg").read_bytes().startswith(b"<?xml")


def test_new_weights_are_those_of_python(folder, tmp_path):
    path = tmp_path / "new.st"
    written = ("-o", path, "--rows", tmp_path / "rows.parquet")
    options = ("--on", "oob", "--objective", "soft_margin", "-p", "nu=0.3", *written)
    result = succeed("margins", folder / "forest.st", folder / "train.csv", *options)
    X, y = training(folder)
    expected = MarginReweighter(load(folder / "forest.st"), on="oob", nu=0.3).fit(X, y)
    assert_array_equal(load(path).predict_proba(X), expected.predict_proba(X))
    assert f"{expected.value_before_:.4g}" in result.stdout and f"{expected.value_:.4g}" in result.stdout
    assert "margin_after" in pl.read_parquet(tmp_path / "rows.parquet").columns
    assert "whose margins after are optimistic" in result.stderr


def test_margins_before_and_after_as_a_picture(folder, tmp_path):
    picture = tmp_path / "margins.png"
    options = ("--on", "train", "--objective", "min_margin", "--picture", picture)
    result = succeed("margins", folder / "boosted.st", folder / "train.csv", *options)
    assert "note: the model is not saved" in result.stderr and picture.read_bytes().startswith(b"\x89PNG")


def test_margins_refuses(folder, tmp_path):
    assert set(margins_command.OBJECTIVES) == set(OBJECTIVES)
    cases = [
        ("--objective 'foo' is unknown", "--objective", "foo"),
        ("--output is for new weights", "-o", tmp_path / "x.st"),
        ("nu=3 has no meaning", "--objective", "mincq", "-p", "nu=3"),
        ("margins has no parameter 'nuu'; did you mean 'nu'?", "--objective", "mincq", "-p", "nuu=3"),
    ]
    fails(["margins", folder / "forest.st", folder / "train.csv"], cases)
    for command, instead in (
        ("margins", "predicts numbers, and only models of classes can be examined by margins; use committee evaluate"),
        ("certify", "predicts numbers, and only models of classes can be certified; use committee evaluate"),
    ):
        assert instead in fail(command, folder / "numbers.st", folder / "numbers.csv")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def flowers(iris, tmp_path_factory):
    folder, frame = tmp_path_factory.mktemp("convert"), pl.from_pandas(iris[0])
    frame.with_columns(kind=np.array(["a", "b", "c"])[iris[1]]).write_csv(folder / "rows.csv")
    frame.write_csv(folder / "numbers.csv")
    return folder


def test_scikit_learns_forest_by_skops_and_by_a_trusted_pickle(flowers, iris, tmp_path):
    X, y = iris
    forest = ensemble.RandomForestClassifier(10, random_state=0).fit(X, np.array(["a", "b", "c"])[y])
    skops.io.dump(forest, tmp_path / "forest.skops")
    joblib.dump(forest, tmp_path / "forest.joblib")
    succeed("convert", tmp_path / "forest.skops", "-o", tmp_path / "a.st")
    trusted = succeed("convert", tmp_path / "forest.joblib", "--trust-pickle", "-o", tmp_path / "b.st")
    assert "is opened as a pickle: any code in it runs" in trusted.stderr
    for name in ("a.st", "b.st"):
        assert_array_equal(load(tmp_path / name).predict_proba(pl.from_pandas(X)), forest.predict_proba(X))
    assert "can run any code when it is opened" in fail("convert", tmp_path / "forest.joblib", "-o", tmp_path / "c.st")
    assert not (tmp_path / "c.st").exists()
    converted = tmp_path / "a.st", flowers / "rows.csv"
    assert "Metrics on 150 rows" in succeed("evaluate", *converted).stdout
    assert "The probability for" in succeed("explain", *converted, "--row", 60).stdout
    assert "Margins of 150 rows" in succeed("margins", *converted).stdout
    assert "error at most" in succeed("certify", *converted).stdout
    assert "after" in succeed("prune", *converted, "--on", "validation", "--max-nodes", 0.5).stdout
    for command in (("prune",), ("margins", "--on", "oob"), ("certify", "--on", "oob")):
        said = fail(*command, *converted)
        assert "a.st does not hold the rows that each voter drew" in said and "--on validation with rows" in said
    assert f"DATA is missing: {converted[0]} is pruned by labelled rows" in fail("prune", converted[0])
    assert "10, each of weight 1" in succeed("inspect", converted[0]).stdout
    printed = succeed("predict", *converted, "--proba").stdout.splitlines()
    assert printed[0] == "prediction,probability:a,probability:b,probability:c" and len(printed) == 151


@pytest.mark.parametrize("ending", ["json", "ubj"])
def test_xgboost_until_early_stopping(iris, tmp_path, ending):
    X, y = iris
    booster = xgboost.XGBClassifier(n_estimators=60, early_stopping_rounds=2)
    booster.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])], verbose=False)
    booster.save_model(tmp_path / f"x.{ending}")
    result = succeed("convert", tmp_path / f"x.{ending}", "--classes", "a,b,c", "-o", tmp_path / "x.st")
    assert f"{booster.best_iteration + 1} voters" in result.stderr and "'a', 'b', 'c'" in result.stderr
    found = load(tmp_path / "x.st")
    assert_allclose(found.predict_proba(pl.from_pandas(X)), booster.predict_proba(X), atol=1e-6)
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
    assert "the classes are the numbers 0 to 1; if rows have other labels, such as 1 to 2, name them" in result.stderr
    frame.select("my_size", y=pl.Series(y + 1)).write_csv(tmp_path / "numbered.csv")
    said = succeed("evaluate", tmp_path / "a.st", tmp_path / "numbered.csv", "--target", "y").stderr
    assert "of '2', unknown to the model" in said and "name the classes by committee convert --classes" in said
    assert (
        "classes are the numbers"
        not in succeed("convert", tmp_path / "a.txt", "--classes", "1,2", "-o", tmp_path / "a.st").stderr
    )


def test_converted_regressors(flowers, tmp_path):
    rows = pl.read_csv(flowers / "numbers.csv")
    X, y = rows[:, :3].to_pandas(), rows[:, 3].to_numpy()
    forest = ensemble.RandomForestRegressor(5, random_state=0).fit(X, y)
    skops.io.dump(forest, tmp_path / "forest.skops")
    boosted = xgboost.XGBRegressor(n_estimators=5).fit(X, y)
    boosted.save_model(tmp_path / "x.ubj")
    underscored = X.rename(columns=lambda name: name.replace(" ", "_"))
    light = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(underscored, y)
    light.booster_.save_model(tmp_path / "l.txt")
    converted = tmp_path / "m.st", flowers / "numbers.csv"
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
    assert "classes are the numbers" not in said
    assert "m.st predicts numbers" in fail("prune", *converted, "--on", "train", "--level", "voter")
    named = ("convert", tmp_path / "l.txt", "--classes", "a,b", "-o", tmp_path / "n.st")
    assert "this one predicts numbers" in fail(*named)


def test_convert_refuses(iris, tmp_path):
    X, y = iris
    out = ("-o", tmp_path / "m.st")
    for name in ("bad.json", "bad.txt", "bad.skops", "bad.ubj", "bad.pkl"):
        (tmp_path / name).write_text("hello", "utf-8")
    (tmp_path / "empty.json").write_text("{}", "utf-8")
    TreeVoter().fit(X, y).save(tmp_path / "own.st")
    forest = ensemble.RandomForestClassifier(1, random_state=0).fit(X, y)
    state = forest.estimators_[0].tree_.__getstate__()
    state["nodes"]["left_child"][2] = 0  # a circle
    forest.estimators_[0].tree_.__setstate__(state)
    skops.io.dump(forest, tmp_path / "circle.skops")
    skops.io.dump(Ridge().fit(X, y), tmp_path / "numbers.skops")
    skops.io.dump(LogisticRegression(max_iter=1000).fit(X, y), tmp_path / "classes.skops")
    skops.io.dump(ensemble.RandomForestClassifier(2).fit(X, y), tmp_path / "forest.skops")
    joblib.dump(
        ensemble.VotingClassifier([("a", LogisticRegression(max_iter=500))]).fit(X, y), tmp_path / "vote.joblib"
    )
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
    assert "model files end in .safetensors" in fail("convert", tmp_path / "x.json", "-o", tmp_path / "m.onnx")
