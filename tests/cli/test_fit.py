"""`committee fit` without a model: a committee of ensembles, for classes and for numbers, and what it says of it."""

import json
import re
import signal
import subprocess
import sys
from itertools import takewhile

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_iris

from committee import (
    MODELS,
    MODELS_OF_NUMBERS,
    CommitteeClassifier,
    CommitteeRegressor,
    ConformalClassifier,
    RandomForestClassifier,
    learner,
    load,
)
from committee.data.labels import infer_task
from committee.data.readers.table_reader import read_table
from committee.data.readers.tables import split_target
from committee.learners.blend.portfolio import candidates
from committee.report.members import estimate, left_out_grid, members_grid
from tests.cli.calls import fail, fails, sample_table, succeed
from tests.limits import PATIENCE
from tests.small_portfolio import use_small_members


@pytest.fixture
def table(tmp_path):
    """Two numbers, a category, a label, a number to predict and a number with a word in it."""
    path = tmp_path / "data.csv"
    spoilt = pl.Series(["?", *map(str, range(1, 90))])
    sample_table(90, seed=3).drop("id", "code").with_columns(spoilt=spoilt).write_csv(path)
    return path


def test_a_committee_of_classes(table, tmp_path):
    path, out = tmp_path / "m.safetensors", tmp_path / "out.csv"
    options = ("-t", "label", "--drop", "price,spoilt", "--effort", "fast", "-o", path)
    result = succeed("fit", table, *options)
    X, y = split_target(read_table(table, drop=["price", "spoilt"]), "label")
    model = CommitteeClassifier("fast", random_state=0).fit(X, y)
    assert "target 'label': 2 classes\n" in result.stderr
    assert estimate(model, y) in result.stderr
    assert f"accuracy {model.oof_score_:.4f}" in estimate(model, y)
    assert f"log loss {model.oof_loss_:.4f}" in estimate(model, y)
    assert "training accuracy" not in result.output
    size = r"size: [\d.]+ [kM]B in a file, [\d.]+ [kM]B in memory"
    assert re.search(rf"{size}; predict time with encoding of the columns: [\d.,]+ µs/row", result.stderr)
    assert members_grid(model).columns[-1] == "vote time (µs/row)"
    shown = result.stdout + succeed("inspect", path).stdout
    for name in model.member_names_:
        assert shown.count(name) == 2
    for name, reason in model.left_out_.items():
        assert shown.count(name) == 2 and shown.count(reason) >= 2
    assert len(members_grid(model).rows) == len(model.member_names_)
    losses = dict(model.members_.select("member", "loss").iter_rows())
    assert [row[:2] for row in left_out_grid(model).rows] == [
        (name, f"{losses[name]:.4f}") for name in losses if name in model.left_out_
    ]
    assert_array_equal(load(path).predict_proba(X), model.predict_proba(X))
    succeed("predict", path, table, "--drop", "price,spoilt,label", "--proba", "-o", out)
    assert pl.read_csv(out)["prediction"].to_list() == model.predict(X).tolist()


def test_an_identifier_as_target_is_refused(tmp_path):
    path, said = tmp_path / "people.csv", "target 'name' has 40 different values in 40 rows, as an identifier of the"
    pl.DataFrame({"age": range(40), "name": [f"p{k}" for k in range(40)]}).write_csv(path)
    fails(("fit", path, "-t", "name"), [(said,), (said, "--model", "random_forest"), (said, "--task", "classes")])
    fails(("compare", path, "-t", "name"), [(said,)])


def test_a_committee_of_numbers(table, tmp_path):
    path, out = tmp_path / "m.safetensors", tmp_path / "out.csv"
    given = ("-t", "price", "--drop", "label,spoilt", "-p", "effort=fast", "-o", path)
    result = succeed("fit", table, *given, "--progress")
    X, y = split_target(read_table(table, drop=["label", "spoilt"]), "price")
    model = CommitteeRegressor("fast", random_state=0).fit(X, y)
    lines = result.stderr.splitlines()
    assert lines[0] == f"target 'price': numbers from {y.min():g} to {y.max():g}"
    wanted = [one.name for one in candidates(numbers=True, effort="fast")]
    for k, name in enumerate(wanted, 1):
        score = r"RMSE [\d.]+ alone( \(no weight\))?, [\d.]+ by the vote of \d"
        time = r"so far" if k == len(wanted) else r"so far, .* left"
        assert re.fullmatch(rf"{name}: {score}; {k} of {len(wanted)} candidates, .* {time}", lines[k])
    assert f"R2 {model.oof_score_:.4f}, RMSE {model.oof_loss_**0.5:.4f}" in result.stderr
    assert "CV RMSE" in result.stdout
    succeed("predict", path, table, "--drop", "label,spoilt,price", "-o", out)
    assert pl.read_csv(out)["prediction"].to_list() == model.predict(X).tolist()
    assert "CV RMSE" in succeed("inspect", path, "--report", tmp_path / "page.html").stdout
    assert "CV RMSE" in (tmp_path / "page.html").read_text("utf-8")


def test_a_limit_of_the_file(table, tmp_path, monkeypatch):
    use_small_members(monkeypatch)
    path = tmp_path / "m.safetensors"
    given = ("fit", table, "-t", "label", "--effort", "fast", "--drop", "price,spoilt", "-o", path)
    succeed(*given, "--max-size", "9 kB", "--no-row-digests", "-p", "cv=2")
    model = load(path)
    assert model.max_size == "9 kB" and model.committee_.file_bytes < 9000.0 and path.stat().st_size <= 9500


def test_nothing_is_kept_without_a_file(table, tmp_path):
    before = sorted(tmp_path.iterdir())
    result = succeed("fit", table, "-t", "label", "--effort", "fast", "--time-limit", 0.001, "--drop", "price,spoilt")
    assert "note: the model is not saved" in result.stderr and "saved to" not in result.stderr
    assert re.search(r"forest +- +- +no time", result.stdout)
    assert sorted(tmp_path.iterdir()) == before


@pytest.fixture
def waiting_fit(request, tmp_path):
    """`committee fit` whose candidate of the class `request.param` waits for a signal when its training begins."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 12)).round(3)
    table = pl.DataFrame(X, schema=[f"x{j}" for j in range(12)])
    table = table.with_columns(label=pl.Series(np.where(X[:, 0] * X[:, 1] + rng.normal(size=len(X)) > 0, "yes", "no")))
    table.write_csv(tmp_path / "table.csv")
    code = f"""
import sys, time
import committee
from committee.cli.main import main

def wait(*_, **__):
    print("training", file=sys.stderr, flush=True)
    time.sleep(300)

committee.{request.param}.fit = wait
main()
"""
    files = ["-o", tmp_path / "m.safetensors", "--checkpoint", tmp_path / "fit.checkpoint"]
    command = [sys.executable, "-c", code, "fit", tmp_path / "table.csv", "-t", "label", "--progress", *files]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def lines_before_training(process):
    return list(takewhile(lambda line: line != "training\n", process.stderr))


@pytest.mark.parametrize("waiting_fit", ["RandomForestClassifier"], indirect=True)
def test_ctrl_c_ends_the_training_and_the_model_is_written(waiting_fit, tmp_path):
    assert lines_before_training(waiting_fit)[-1].startswith("sbpmt: log loss 0.")
    waiting_fit.send_signal(signal.SIGINT)
    out, err = waiting_fit.communicate(timeout=PATIENCE)
    assert waiting_fit.returncode == 0, err
    assert "note: the fit was interrupted: the members were chosen from 1 finished candidates out of 6" in err
    assert f"note: the same command resumes from {tmp_path / 'fit.checkpoint'}" in err
    assert re.search(r"adaboost_trees +- +- +interrupted", out)
    model = load(tmp_path / "m.safetensors")
    assert model.member_names_ == ["sbpmt"] and model.left_out_["forest"] == "interrupted"
    assert (tmp_path / "fit.checkpoint").exists()


@pytest.mark.parametrize("waiting_fit", ["SBPMTClassifier"], indirect=True)
def test_ctrl_c_before_a_member_is_ready_ends_the_command(waiting_fit, tmp_path):
    assert "2 classes" in lines_before_training(waiting_fit)[0]
    waiting_fit.send_signal(signal.SIGINT)
    _, err = waiting_fit.communicate(timeout=PATIENCE)
    assert waiting_fit.returncode not in (0, 2) and "Traceback" not in err
    assert not (tmp_path / "m.safetensors").exists()


def test_a_bar_on_a_terminal(table, shown):
    succeed("fit", table, "-t", "price", "--drop", "label,spoilt", "--effort", "fast")
    text = shown.getvalue()
    assert "training" in text and "100%" in text and "small_trees: RMSE" in text


def test_single_learners_of_numbers(table, tmp_path):
    path = tmp_path / "m.safetensors"
    for name, (class_name, _) in MODELS_OF_NUMBERS.items():
        assert name in MODELS and not hasattr(learner(class_name), "predict_proba")
    result = succeed("fit", table, "-t", "price", "-m", "tree", "--drop", "label,spoilt", "-o", path)
    assert "on the training rows: R2 1.0000" in result.stderr
    assert type(load(path)).__name__ == "TreeRegressor"


def test_one_class_and_too_few_rows_are_said_without_praise(tmp_path):
    path = tmp_path / "data.csv"
    pl.DataFrame({"x": range(20), "label": ["a"] * 20}).write_csv(path)
    result = succeed("fit", path, "-t", "label")
    assert "target 'label': 1 class\n" in result.stderr
    assert "holds one class only" in result.stderr and "accuracy" not in result.output
    pl.DataFrame({"x": range(6), "label": list("abcdef")}).write_csv(path)
    result = succeed("fit", path, "-t", "label")
    assert "not known, as there are too few rows" in result.stderr
    assert "forest" in result.stdout and "nan" not in result.output


def test_refused(table):
    price, tree = ("--drop", "label", "-t", "price"), ("-m", "tree")
    cases = [
        ("--task 'words' is unknown; there are 'classes', 'numbers'", *price, "--task", "words"),
        ("--folds is for single learners", *price, "--folds", 3),
        ("--folds 1 must be at least 2, or 0 for no estimate", *price, *tree, "--folds", 1),
        ("--effort is for the committee", *price, *tree, "--effort", "best"),
        ("--time-limit is for the committee", *price, *tree, "--time-limit", 3),
        ("--memory-limit some is no number of bytes", *price, "--memory-limit", "some"),
        ("--memory-limit leaves no candidate room on 90 rows of", *price, "--memory-limit", "1 kB"),
        ("--max-size is for the committee", *price, *tree, "--max-size", "1 MB"),
        ("--max-size some is no number of bytes; give bytes, or text such as", *price, "--max-size", "some"),
        ("target 'spoilt' is missing in 1 of 90 rows (first in row 0)", "--drop", "label", "-t", "spoilt", "--strict"),
        ("adaboost predicts classes only; for numbers choose one of committee", *price, "-m", "adaboost"),
        ("adaboost predicts classes only", "-t", "label", "-m", "adaboost", "--task", "numbers"),
        *(("model files end in .safetensors", *price, "-o", f"model{end}") for end in (".pkl", ".joblib", ".json")),
        ("column 'label' does not hold numbers; give --task classes, or", "-t", "label", *tree, "--task", "numbers"),
    ]
    fails(["fit", table], cases)


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"] * 5, "classes"),
        ([True, False] * 5, "classes"),
        ([0, 1], "classes"),
        ([1.0, 2.0, 3.0] * 5, "classes"),
        ([1.0, 2.5, 3.0] * 5, "numbers"),
        ([1.0, np.inf] * 5, "numbers"),
        (list(range(3)) * 4, "numbers"),
        (list(range(50)) * 5, "classes"),
        (list(range(51)) * 9, "numbers"),
    ],
)
def test_task_of_a_target(y, task):
    assert infer_task(np.array(y)) == task


def test_figures_of_numbers_have_the_digits_of_the_vote():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = CommitteeRegressor("fast", random_state=0).fit(X, 1e5 * X[:, 0] + X[:, 1])
    assert re.search(r"RMSE \d{1,3},\d{3}$", estimate(model, X[:, 0]))
    model.oof_loss_ = 1e-20
    assert estimate(model, X[:, 0]).endswith("RMSE 1e-10")


def test_a_model_is_kept_where_its_folds_are_too_small_to_learn_from(tmp_path):
    frame = pl.DataFrame({"x": [float(i) for i in range(10)], "y": ["a", "b"] * 5})
    frame.write_csv(tmp_path / "few.csv")
    path = tmp_path / "model.safetensors"
    called = succeed("fit", tmp_path / "few.csv", "-t", "y", "-m", "quadboost_cv", "-p", "n_estimators=3", "-o", path)
    assert "not known, as the fit of a fold failed (-p n_splits=5" in called.stdout + called.stderr
    assert load(path).n_features_in_ == 1


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
    rows = (folder / "sets.st", folder / "flowers_new.csv")
    options = ("-m", "random_forest", "--folds", 0, "--conformal", "0.2", "-o", folder / "sets.st")
    fitted = succeed("fit", folder / "flowers.csv", "-t", "target", *options)
    assert "Sets of classes" in fitted.stdout and "0.8 (alpha 0.2)" in fitted.stdout
    model, new = load(folder / "sets.st"), pl.read_csv(folder / "flowers_new.csv")
    assert isinstance(model, ConformalClassifier) and isinstance(model.estimator_, RandomForestClassifier)
    X, y = new.drop("target"), new["target"].to_numpy()
    succeed("predict", *rows, "-o", folder / "p.csv")
    written = pl.read_csv(folder / "p.csv")
    assert written.columns == ["prediction", "in set:a", "in set:b", "in set:c"]
    assert_array_equal(written[:, 1:].to_numpy(), model.predict_set(X))
    assert succeed("predict", *rows, "--alpha", "0.02").stdout.count("true") == model.predict_set(X, 0.02).sum()
    said = succeed("predict", *rows, "--alpha", "0.001").stderr
    assert "100 rows are scored, and an alpha of 0.001 needs 999" in " ".join(said.split())
    page = folder / "page.html"
    succeed("evaluate", *rows, "--json", folder / "e.json", "--report", page)
    figures = json.loads((folder / "e.json").read_text("utf-8"))["figures"]
    place = {"a": 0, "b": 1, "c": 2}
    inside = model.predict_set(X)[np.arange(len(y)), [place[label] for label in y]]
    assert figures["set_coverage"] == inside.mean() and figures["set_size"] == model.predict_set(X).sum(axis=1).mean()
    assert "coverage of the sets" in page.read_text("utf-8") and "Traceback" not in page.read_text("utf-8")
    k = int(model.predict_set(X).any(axis=1).argmax())
    said = succeed("explain", *rows, "--row", k).stdout
    labels = ", ".join(model.classes_[model.predict_set(X)[k]])
    assert f"The set at alpha 0.2 is {labels}." in said
    shown = succeed("inspect", folder / "sets.st", "--report", page).stdout
    assert "RandomForestClassifier" in shown and "out of bag" in shown and "Most used features" in shown
    assert "Sets of classes" in page.read_text("utf-8")
    for given in (rows[:1], rows):
        assert "fit without --conformal, prune that model, and give it to Conf" in fail("prune", *given)


def test_intervals_of_the_committee_and_around_quantiles(folder, monkeypatch):
    use_small_members(monkeypatch)
    fit = ("fit", folder / "people.csv", "-t", "target", "--conformal", "0.1", "-o", folder / "numbers.st")
    assert "out of fold" in succeed(*fit, "--effort", "fast", "--progress").stdout
    model, new = load(folder / "numbers.st"), pl.read_csv(folder / "people_new.csv")
    succeed("predict", folder / "numbers.st", folder / "people_new.csv", "-o", folder / "p.parquet")
    written = pl.read_parquet(folder / "p.parquet")
    assert_allclose(written[["lower", "upper"]].to_numpy(), model.predict_interval(new.drop("target")))
    shown = succeed("evaluate", folder / "numbers.st", folder / "people_new.csv").stdout
    assert "coverage of the intervals" in shown and "target: 0.9" in shown
    assert "Members" in succeed("inspect", folder / "numbers.st").stdout
    for loss in (("loss=quantiles",), ("loss=quantile", "-p", "quantile=[0.1,0.9]")):
        succeed(*fit, "-m", "gradient_boosting", "-p", "n_estimators=5", "-p", *loss)
        assert load(folder / "numbers.st").nonconformity == "quantile"
    first = succeed("predict", folder / "numbers.st", folder / "people_new.csv").stdout.splitlines()[0]
    assert first == "prediction:0.1,prediction:0.9,lower,upper"


def test_what_is_refused(folder):
    X, y = np.arange(40.0)[:, None], ["a", "b"] * 20
    forest = RandomForestClassifier(20, random_state=0)
    ConformalClassifier(forest, 0.5).fit(X, y, groups=["f", "m"] * 20).save(folder / "groups.st")
    forest.fit(X, y).save(folder / "plain.st")
    (folder / "x.csv").write_text("x0\n1\n", "utf-8")
    cases = [
        ("--conformal 1.5 must be above 0 and below 1", "1.5"),
        ("--checkpoint does not store the fits", "0.1", "-o", folder / "m.st", "--checkpoint", folder / "c"),
    ]
    fails(["fit", folder / "flowers.csv", "-t", "target", "--conformal"], cases)
    cases = [
        ("--alpha is for models fitted with --conformal", folder / "plain.st", "--alpha", "0.1"),
        ("the fit had groups", folder / "groups.st"),
        ("--alpha 2 must be above 0 and below 1", folder / "groups.st", "--alpha", "2"),
    ]
    fails(["predict"], [(message, model, folder / "x.csv", *more) for message, model, *more in cases])
