"""The command line: every command, every documented error, and as a real process."""

import contextlib
import json
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import BaggingClassifier

import committee
from committee import (
    AdaBoostClassifier,
    CommitteeClassifier,
    CommitteeRegressor,
    GradientBoostingRegressor,
    MarginReweighter,
    TreeVoter,
    load,
)
from committee.cli.main import COMMANDS, LazyCommands
from committee.data.readers.table_reader import read_table
from committee.data.readers.tables import split_target
from committee.report import ContributionDisplay
from committee.report.models import PEERS
from tests.cli.calls import COMMITTEE, READ_PREDICTIONS, fail, fails, run, run_process, sample_table, succeed
from tests.limits import PATIENCE
from tests.small_portfolio import use_small_members


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "data.csv"
    sample_table(120).drop("price").write_csv(path)
    return path


@pytest.fixture
def model(table, tmp_path):
    path = tmp_path / "model.safetensors"
    options = ("-m", "adaboost", "-p", "n_estimators=30", "--drop", "id", "--categorical", "code")
    succeed("fit", table, "-t", "label", *options, "-o", path)
    return path


def test_compare_prints_both_tables_and_leaves_out_the_identifier(table):
    result = succeed("compare", table, "-t", "label", "--models", "adaboost,scikit-learn:random_forest", "--folds", 3)
    out = result.stdout
    assert out.startswith("data: 120 rows, 3 columns (2 numeric, 1 categorical), 2 classes of 'label'")
    for word in ("accuracy", "log loss", "ROC AUC", "rank", "fit time", "predict time", "(µs/row)", "voters", "nodes"):
        assert word in out
    assert "scikit-learn:random_forest" in out
    assert "has the highest mean accuracy" in out or "share the highest mean accuracy" in out
    assert "note: column 'id' is left out: it counts the rows; --keep id learns from it" in result.stderr


@pytest.mark.parametrize("width", [80, 120])
def test_compare_fits_the_width(table, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    models = "adaboost,scikit-learn:hist_gradient_boosting"
    command = ("compare", table, "--target", "label", "--models", models, "--folds", 3, "--drop", "id")
    out = succeed(*command).stdout
    assert max(map(len, out.splitlines())) <= width
    assert "hist_gradient_boosting" in out  # never cut in two


def test_compare_writes_report_and_json(table, tmp_path):
    page, figures = tmp_path / "report.html", tmp_path / "figures.json"
    result = succeed(
        "compare", table, "--target", "label", "--models", "adaboost,tree", "--folds", 3, "--repeats", 2,
        "--seed", 5, "--drop", "id", "--categorical", "code", "--report", page, "--json", figures,
        "--metric", "log_loss,mcc",
    )  # fmt: skip
    document = json.loads(figures.read_text("utf-8"))
    assert document["settings"] == {
        "folds": 3, "repeats": 2, "seed": 5, "jobs": 1, "metric": "log_loss", "task": "classes", "level": 0.05,
        "parameters": {}, "assignment": "", "weighted": False,
    }  # fmt: skip
    assert [model["name"] for model in document["models"]].count("baseline") == 1, "which is always there"
    assert document["table"]["categorical"] == 2
    assert len(document["models"][0]["folds"]) == 6
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert f"report written to {page}" in result.stderr.replace("\n", "")
    assert result.output.splitlines()[-1].endswith(page.name), "the path of the report is the last line"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.csv", "figures.json", "report.html"]


def test_compare_goes_on_from_a_checkpoint_and_removes_it_when_all_is_written(table, tmp_path):
    json, checkpoint = tmp_path / "figures.json", tmp_path / "finished.jsonl"
    arguments = ("compare", table, "-t", "label", "--models", "adaboost", "--folds", 3, "--checkpoint", checkpoint)
    succeed(*arguments)
    assert len(checkpoint.read_text("utf-8").splitlines()) == 1 + 3 * 2, "of the model and the baseline"
    succeed(*arguments, "--json", json)
    assert json.exists() and not checkpoint.exists()


def test_compare_example_and_default_models(monkeypatch):
    use_small_members(monkeypatch)
    monkeypatch.setattr("committee.report.models.find_spec", lambda package: package == "sklearn" or None)
    result = succeed("compare", "--example", "iris", "--folds", 2, "-p", "sbpmt:n_estimators=2")
    for name in ("committee", "gradient_boosting", "sbpmt", "tree", "scikit-learn:random_forest", "baseline"):
        assert name in result.stdout
    assert "matryoshka" not in result.stdout, "a handful; --models all has every one"
    assert "ROC AUC" in result.stdout and "MCC" not in result.stdout


def test_compare_by_groups_in_order_of_time_and_with_weights(tmp_path):
    path = tmp_path / "sales.csv"
    frame = sample_table(120).drop("id", "price")
    days = [f"2024-0{1 + i // 28}-{1 + i % 28:02}" for i in range(120)]
    frame.with_columns(sold=pl.Series(days), w=pl.Series([0, 1, 2, 3] * 30)).write_csv(path)
    command = ("compare", path, "-t", "label", "--models", "tree", "--folds", 2)

    def words(*options):
        return " ".join(succeed(*command, *options).stdout.split())

    shown = words("--time", "sold", "--weight", "w")
    assert "90 rows, 4 columns" in shown, "rows of weight 0 are absent"
    assert "2 folds in order of 'sold', seed 0, weighted rows" in shown
    shown = words("--time", "sold", "--drop", "sold")
    assert "120 rows, 4 columns" in shown and "in order of 'sold'" in shown
    shown = words("--group", "code", "--drop", "w", "--sample", 110)
    assert "110 rows, 3 columns" in shown and "whole groups of 'code'" in shown
    assert "column 'sold' holds dates, and the folds are drawn at random" in succeed(*command).stderr
    cases = [
        ("--group and --time do not go together", "--group", "code", "--time", "sold"),
        ("--weight 'label' is the target", "--weight", "label"),
        ("--group 'code' is left out by --drop", "--group", "code", "--drop", "code"),
        ("--group and --weight both name 'code'", "--group", "code", "--weight", "code"),
        ("--time 'color' is missing in", "--time", "color"),
        ("--group names 'shop', which is not there", "--group", "shop"),
        ("weight 'size' is -", "--weight", "size"),
        ("code has 3 groups, fewer than --folds 4; use --folds 3", "--group", "code", "--folds", 4),
        ("--repeats 2 does not go with time", "--time", "sold", "--repeats", 2),
    ]
    fails(command, cases)
    frame.with_columns(day=pl.Series(["late", "soon"] * 60)).write_csv(path)
    assert "--time 'day' holds 'late', which has no order of time" in fail(*command, "--time", "day")


def test_models_are_listed_whole(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    shown = succeed("models").stdout
    assert all(name.rpartition(":")[2] in shown for name in (*committee.MODELS, *PEERS))
    assert re.search(r"catboost +CatBoostClassifier of catboost", shown)


@pytest.mark.parametrize("repeats", [1, 2])
def test_lines_of_progress_are_tenths_of_the_work(repeats):
    options = ("compare", "--example", "iris", "--folds", 10, "--repeats", repeats, "--models", "adaboost")
    assert repeats > 1 or "fits done" not in succeed(*options).stderr
    lines = succeed(*options, "--progress").stderr.splitlines()
    done = [f"{repeats * i}/{repeats * 20} fits done" for i in range(2, 21, 2)]
    assert [line.partition(", ")[0] for line in lines] == done
    assert all(re.fullmatch(r"\d+/\d+ fits done, \d+:\d\d elapsed, about \d+:\d\d left", line) for line in lines)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")
def test_a_terminal_has_a_bar_of_progress():
    import pty

    ours, theirs = pty.openpty()
    command = [*COMMITTEE, "compare", "--example", "iris", "--folds", "2", "--models", "tree,abstaining_stump"]
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=os.environ | {"TERM": "xterm"})
    finally:
        os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # Linux ends a terminal that all others have closed with EIO
        while some := os.read(ours, 1024):
            shown += some
    os.close(ours)
    with process:
        assert b"has the highest mean accuracy" in process.stdout.read()
    assert process.returncode == 0
    for words in (b"comparing", b"6/6", b"abstaining_stump"):  # how it ends; what is between depends on the speed
        assert words in shown
    assert b"fits done" not in shown


def test_compare_says_what_models_warned_of(table, monkeypatch):
    fit = TreeVoter.fit

    def fit_with_a_warning(self, *arguments):
        warnings.warn("few rows", UserWarning, stacklevel=2)
        return fit(self, *arguments)

    monkeypatch.setattr(TreeVoter, "fit", fit_with_a_warning)
    result = succeed("compare", table, "-t", "label", "--drop", "id", "--models", "tree,adaboost", "--folds", 2)
    assert re.findall(".*warned.*", result.stderr) == ["note: tree warned: UserWarning: few rows"]


def test_compare_errors(table, tmp_path):
    cases = [
        ("name one table: either DATA or --example",),
        ("name one table: either DATA or --example", table, "--example", "iris"),
        ("--target is missing", table),
        ("'lable' is not a column; did you mean 'label'?", table, "-t", "lable"),
        ("did you mean 'iris'?", "--example", "irs"),
        ("there is no file", tmp_path / "none.csv", "-t", "label"),
        ("--drop names 'nothing'", "--example", "iris", "--drop", "nothing"),
        ("which cannot be classes", table, "-t", "size", "--task", "classes"),
        ("adaboost predicts classes only", table, "-t", "size", "--models", "adaboost"),
    ]
    fails(["compare"], cases)
    meant = "there is no model 'adabost'; did you mean 'adaboost' or 'quadboost' or 'mdboost'?"
    cases = [
        (meant, "--models", "adabost"),
        ("folds must be", "--folds", 1),
        ("drop names 'idd'", "--drop", "idd"),
        ("no such folder", "--report", tmp_path / "no" / "r.html"),
        ("not a regular file", "--json", tmp_path),
        ("must read MODEL:NAME=VALUE", "-p", "max_depth=1"),
        ("which is not compared", "-p", "tre:max_depth=1"),
        ("no parameter 'max_dept'", "-p", "tree:max_dept=1"),
        ("is unknown; there are 'classes', 'numbers'", "--task", "labels"),
        ("rmse is a metric for numbers", "--metric", "rmse"),
    ]
    fails(["compare", table, "-t", "label"], cases)


def test_compare_when_every_model_fails(table, monkeypatch):
    def refuse(*arguments):
        raise RuntimeError("out of order")

    monkeypatch.setattr(TreeVoter, "fit", refuse)
    for models in ("tree", "tree,adaboost"):
        result = run("compare", table, "-t", "label", "--models", models, "--folds", 2)
        assert result.exit_code == 1
        assert re.search(r"tree +1 +RuntimeError: out of order", result.stdout)


def test_compare_predicts_numbers_and_says_so(table, tmp_path):
    figures, page = tmp_path / "figures.json", tmp_path / "page.html"
    options = ("--folds", 3, "--drop", "id", "--json", figures, "--report", page)
    models = ("--models", "gradient_boosting,tree", "-p", "tree:max_depth=1", "-p", "gradient_boosting:n_estimators=9")
    result = succeed("compare", table, "-t", "size", *models, *options)
    assert "numbers of 'size' from" in result.stdout and "has the lowest mean RMSE" in result.stdout
    compared = {each["name"]: each["summary"] for each in json.loads(figures.read_text("utf-8"))["models"]}
    assert compared["tree"]["n_nodes"]["mean"] == 3
    assert "Size against RMSE" in page.read_text("utf-8")
    result = succeed("compare", table, "-t", "code", *models, *options, "--task", "numbers")
    assert "has the lowest mean RMSE" in result.stdout
    result = succeed("compare", table, "-t", "code", "--models", "tree", *options)
    assert "target 'code': 3 classes; --task numbers predicts numbers" in result.stderr


def test_compare_names_no_best_model_without_a_whole_fold():
    slow = ("--models", "random_forest,tree", "-p", "random_forest:n_estimators=3000")
    result = run("compare", "--example", "breast_cancer", *slow, "--time-limit", 0.2, "--folds", 3)
    assert result.exit_code == 1, result.output
    assert "before every model finished one fold; the models are not ranked" in result.stdout
    assert "highest" not in result.stdout and "not run" in result.stdout


def test_compare_that_is_interrupted_writes_what_is_done(table, tmp_path, monkeypatch):
    fit, fits, page, checkpoint = TreeVoter.fit, [], tmp_path / "page.html", tmp_path / "fits"

    def interrupted(self, *arguments):
        fits.append(1)
        if len(fits) == 3:
            raise KeyboardInterrupt
        return fit(self, *arguments)

    monkeypatch.setattr(TreeVoter, "fit", interrupted)
    options = ("compare", table, "-t", "label", "--drop", "id", "--models", "tree", "--folds", 4)
    result = run(*options, "--report", page, "--checkpoint", checkpoint)
    assert result.exit_code == 130
    assert "Stopped by an interrupt after 2 of 4 folds; the models are compared on these." in result.stdout
    assert "Stopped by an interrupt after 2 of 4 folds" in page.read_text("utf-8")
    assert len(checkpoint.read_text("utf-8").splitlines()) == 1 + 2 * 2, "the same command goes on from it"
    fits[:] = [1, 1]
    result = run(*options, "--report", tmp_path / "none.html")
    assert result.exit_code == 130 and not (tmp_path / "none.html").exists()


def test_fit_reads_values_of_parameters(table, tmp_path):
    path = tmp_path / "m.safetensors"
    succeed(
        "fit", table, "-t", "label", "-m", "subagging", "-o", path, "-p", "estimator=adaboost",
        "-p", "estimator__n_estimators=4", "-p", "max_samples=0.5", "-p", "voting=soft", "-p", "random_state=7",
        "-p", "oob_score=True",
    )  # fmt: skip
    loaded = load(path)
    assert loaded.estimator.n_estimators == 4
    assert (loaded.max_samples, loaded.voting, loaded.random_state, loaded.oob_score) == (0.5, "soft", 7, True)
    assert "oob_score_" in succeed("inspect", path).stdout


def test_fit_says_what_it_did(table, tmp_path):
    options = ("-m", "adaboost", "--drop", "id")
    result = succeed("fit", table, "-t", "label", "-o", tmp_path / "m.safetensors", *options)
    assert "adaboost: 50 voters with 150 nodes, trained on 120 rows x 3 columns" in result.stderr
    said = result.stderr.splitlines()
    beginnings = ("on rows not seen in training (5 folds): accuracy", "on the training rows: accuracy")
    of_folds, of_training = [line for line in said if line.startswith(beginnings)]
    assert of_folds.startswith(beginnings[0]) and "margins: mean" in of_training
    alone = succeed("fit", table, "-t", "label", *options, "--folds", 0).stderr
    assert "not known, as --folds is 0" in alone and "training rows: margins" in alone and "accuracy" not in alone
    assert result.stdout == ""


def test_fit_goes_on_from_a_checkpoint_and_removes_it(table, tmp_path):
    path, checkpoint = tmp_path / "model.safetensors", tmp_path / "fit.checkpoint"
    arguments = ("fit", table, "-t", "label", "-m", "random_forest", "-o", path, "--checkpoint", checkpoint)
    succeed(*arguments)
    assert path.exists() and not checkpoint.exists()
    expected = path.read_bytes()
    X, y = split_target(read_table(table, drop=["id"]), "label")
    committee.model("random_forest").set_params(random_state=0).fit(X, y, checkpoint=checkpoint)
    assert f"resuming from {checkpoint}" in succeed(*arguments).stderr.replace("\n", "")
    assert path.read_bytes() == expected and not checkpoint.exists()
    checkpoint.write_text("no checkpoint", "utf-8")
    assert "cannot be resumed" in fail(*arguments)
    assert checkpoint.read_text("utf-8") == "no checkpoint"


def test_fit_errors(table, tmp_path):
    peers = "scikit-learn:random_forest is only for committee compare; choose one of committee, ada"
    sets = "--categorical is a builtins.set, which a model file cannot hold"
    cases = [
        ("did you mean 'n_estimators'?", "-p", "n_estimator=3"),
        ("must read NAME=VALUE", "-p", "n_estimators"),
        ("-p n_estimators must be a whole number >= 1", "-p", "n_estimators=some"),
        ("-p vote must be one of '", "-p", "vote=loud"),
        (sets, "-p", "categorical_features={'code','color'}"),
        (peers, "-m", "scikit-learn:random_forest"),
        ("there is no model 'forest'", "-m", "forest"),
        ("no such folder", "-o", tmp_path / "no" / "m.safetensors"),
    ]
    fails(["fit", table, "-t", "label", "-m", "adaboost", "-o", tmp_path / "m.safetensors"], cases)
    assert not (tmp_path / "m.safetensors").exists()


def test_debug_shows_the_traceback(table, tmp_path):
    result = run("fit", table, "-t", "lable", "-o", tmp_path / "m.safetensors", "--debug")
    assert isinstance(result.exception, ValueError)


def test_predict_to_stdout_and_file(table, model, tmp_path):
    new = tmp_path / "new.csv"
    frame = pl.read_csv(table).drop("id", "label").select("code", "color", "size")  # another order
    frame.write_csv(new)
    loaded = load(model)
    X = frame.select("size", "color", pl.col("code").cast(pl.String))
    printed = succeed("predict", model, new).stdout.splitlines()
    assert printed == ["prediction", *loaded.predict(X)]
    for ending, read in READ_PREDICTIONS.items():
        path = tmp_path / f"out.{ending}"
        succeed("predict", model, new, "-o", path, "--proba")
        written = read(path)
        assert written.columns == ["prediction", "probability:no", "probability:yes"]
        assert written["prediction"].to_list() == loaded.predict(X).tolist()
        assert_allclose(written.drop("prediction").to_numpy(), loaded.predict_proba(X), rtol=1e-12)


def test_predict_ignores_other_columns(table, model):
    plain = succeed("predict", model, table, "--drop", "id,label")
    assert plain.stderr == ""
    result = succeed("predict", model, table)
    assert result.stderr == "note: the model does not use the column 'id'\n"
    assert result.stdout == plain.stdout and len(result.stdout.splitlines()) == 121


def test_columns_of_a_model_of_an_array_go_by_their_places(table, tmp_path):
    frame = pl.read_csv(table).select("size", "code")
    X, path, new = frame.to_numpy(), tmp_path / "m.safetensors", tmp_path / "new.csv"
    model = AdaBoostClassifier(5).fit(X, pl.read_csv(table)["label"].to_numpy())
    model.save(path)
    frame.rename({"size": "a", "code": "b"}).write_csv(new)
    assert succeed("predict", path, new).stdout.splitlines()[1:] == model.predict(X).tolist()
    frame.with_columns(c=1).write_csv(new)
    assert "X has 3 features, but AdaBoostClassifier is expecting 2 features as input" in fail("predict", path, new)


def test_columns_of_voters_that_read_the_table_themselves(table, tmp_path):
    """A model with no table of its own: its names are those that it was fitted on."""
    frame, path, new = pl.read_csv(table), tmp_path / "m.safetensors", tmp_path / "new.csv"
    X = frame.select("size", "code")
    ensemble = BaggingClassifier(TreeVoter(max_depth=2), 7, random_state=0).fit(X.to_numpy(), frame["label"].to_numpy())
    model = MarginReweighter(ensemble).fit(X, frame["label"].to_numpy())
    assert model.table_ is None
    model.save(path)
    frame.select("code", "size").write_csv(new)
    assert succeed("predict", path, new).stdout.splitlines()[1:] == model.predict(X).tolist()
    assert "2, read by the voters themselves" in succeed("inspect", path).stdout
    frame.select("code").write_csv(new)
    assert "lacks the column 'size', used by the model" in fail("predict", path, new)


def test_predict_errors(table, model, tmp_path):
    few, new = tmp_path / "few.csv", tmp_path / "new.csv"
    frame = pl.read_csv(table)
    frame.drop("color", "size", "id").write_csv(few)
    frame.drop("id", "label").with_columns(size=pl.lit("big")).write_csv(new)
    cases = [
        ("lacks the columns 'size', 'color', used by the model", model, few),
        ("'size' must hold numbers", model, new),
        ("unknown ending", model, new, "-o", tmp_path / "out.xlsx"),
        ("No such file", tmp_path / "none.safetensors", new),
        ("cannot be loaded", table, new),
        ("there is no file", model, tmp_path / "none.csv"),
    ]
    fails(["predict"], cases)


def test_an_interrupted_write_leaves_the_old_file(table, model, tmp_path, monkeypatch):
    out = tmp_path / "out.csv"
    out.write_text("old", "utf-8")

    def broken(self, file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_csv", broken)
    assert "No space left" in fail("predict", model, table, "--drop", "id,label", "-o", out)
    assert out.read_text("utf-8") == "old"
    assert not list(tmp_path.glob(".*"))


def test_inspect(model, table):
    out = succeed("inspect", model).stdout
    for words in ("AdaBoostClassifier", "2: 'no', 'yes'", "1 numeric, 2 categorical", "n_estimators", "Heaviest of 30"):
        assert words in out
    assert f"{model.stat().st_size:,} bytes" in out
    assert "size" in out
    out = succeed("inspect", model, "--data", table, "--target", "label", "--drop", "id").stdout
    frame, y = split_target(read_table(table, categorical=["code"], drop=["id"]), "label")
    margins = load(model).committee_.margins(frame, y)
    assert f"{margins.mean():.3f}" in out and f"{margins.min():.3f}" in out
    assert "--target names a column of --data" in fail("inspect", model, "--target", "species")


def test_inspect_a_committee_of_ensembles(table, tmp_path, monkeypatch):
    use_small_members(monkeypatch)
    frame, y = split_target(read_table(table, categorical=["code"], drop=["id"]), "label")
    size = np.asarray(frame["size"])
    path, page = tmp_path / "blend.safetensors", tmp_path / "page.html"
    CommitteeClassifier("fast", cv=2, min_gain=0.0, random_state=0).fit(frame, y).save(path)
    out = succeed("inspect", path, "--data", table, "--target", "label", "--drop", "id", "--report", page)
    assert "Members on" in out.stdout and "Mean probability of the true class" in out.stdout
    assert "Disagreement of members" in page.read_text("utf-8")
    width = np.random.default_rng(3).normal(size=len(size))
    frame, size = frame.drop("size").with_columns(width=width), size + np.sin(2 * width) + 0.7 * width
    numbers = tmp_path / "numbers.csv"
    pl.read_csv(table).with_columns(width=width, size=size).write_csv(numbers)
    CommitteeRegressor("fast", cv=2, min_gain=0.0, random_state=0).fit(frame, size).save(path)
    assert len(load(path).member_names_) > 1
    out = succeed("inspect", path, "--data", numbers, "--target", "size", "--drop", "id,label", "--report", page)
    assert "RMS difference to the vote" in out.stdout
    assert "Rows on which members disagree most" in page.read_text("utf-8")


def test_a_committee_alone_stands_for_its_learner(model, table):
    vote = model.with_name("vote.safetensors")
    load(model).committee_.save(vote)
    assert succeed("predict", vote, table).stdout == succeed("predict", model, table).stdout
    assert "voters   30" in succeed("inspect", vote).stdout


def test_models_of_numbers_are_read(tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    y = frame["a"].to_numpy() * 2.0
    rows, one, three, out = (tmp_path / name for name in ("rows.csv", "one.safetensors", "two.safetensors", "out.csv"))
    frame.write_csv(rows)
    number = GradientBoostingRegressor(n_estimators=5).fit(frame, y)
    number.save(one)
    GradientBoostingRegressor(5, loss="quantile", quantile=[0.25, 0.75]).fit(frame, y).save(three)
    succeed("predict", one, rows, "-o", out)
    assert pl.read_csv(out)["prediction"].to_list() == number.predict(frame).tolist()
    succeed("predict", three, rows, "-o", out)
    assert pl.read_csv(out).columns == ["prediction:0.25", "prediction:0.75"]
    assert "a number" in succeed("inspect", one).output
    assert "2 numbers" in succeed("inspect", three, "--report", tmp_path / "page.html").output
    assert "leave out --proba" in fail("predict", one, rows, "--proba")
    assert "is a column that the model uses" in fail("inspect", one, "--data", rows, "--target", "a")
    frame.with_columns(c=1.0).write_csv(rows)
    assert "does not use the column 'c'" in succeed("predict", one, rows).stderr
    drawn = ContributionDisplay.from_estimator(number, frame, 3)
    assert drawn.contributions.sum() == pytest.approx(number.predict(frame)[3])


def test_every_command_is_in_the_help():
    commands = LazyCommands()
    assert len(commands) == len(list(commands)) == len(COMMANDS)
    for name in commands:
        assert commands[name].name == name and name in succeed("--help").stdout


def test_help_names_the_files_that_are_taken(monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    helps = {name: succeed(name, "--help").stdout for name in COMMANDS if name not in ("papers", "convert", "models")}
    for name, said in helps.items():
        assert "--drop" in said and ("--keep" in said) == (name in ("fit", "compare", "prune")), name
    kinds = "JSON lines (these also .gz), Parquet, Feather, .xlsx or .ods, or one of them in a .zip; -"
    assert kinds in helps["fit"] and kinds in helps["compare"]
    for name in ("predict", "evaluate", "explain", "inspect", "certify", "margins"):
        assert "Model file written by fit, prune, margins or convert." in helps[name]


def test_help_is_fast_and_needs_no_library():
    code = (
        "import sys\nfrom committee.cli.main import app\nfrom typer.testing import CliRunner\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "print(sorted({'numpy', 'polars', 'sklearn', 'matplotlib', 'scipy'} & set(sys.modules)))\n"
        "import time; print(time.process_time())"
    )
    loaded, seconds = run_process(code=code, check=True).stdout.splitlines()
    assert loaded == "[]" and float(seconds) < 5.0


def test_as_a_process(table, tmp_path):
    out = ("-o", tmp_path / "m.safetensors")
    done = run_process("fit", table, "-t", "label", "-m", "tree", "--drop", "id", *out)
    assert done.returncode == 0, done.stderr
    done = run_process("fit", table, "-t", "no", *out)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("error: target 'no' is not a column")
    assert run_process("--version").stdout.startswith("committee ")


def test_a_closed_pipe_is_no_error(table, tmp_path, model):
    big = tmp_path / "big.parquet"
    rows = pl.read_csv(table).drop("id", "label").with_columns(pl.col("code").cast(pl.String))
    pl.concat([rows] * 2000).write_parquet(big)
    command = [*COMMITTEE, "predict", str(model), str(big), "--proba"]
    # unbuffered, Python takes a write that was cut short for a whole one
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    process = subprocess.Popen(command, env=usual, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline().startswith(b"prediction")
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=PATIENCE) == 1
