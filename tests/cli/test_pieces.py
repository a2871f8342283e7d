"""Commands on several files, folders and patterns: the bits of the same table in one file, and clear errors."""

import json
import signal
import subprocess
import sys
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from committee import AdaBoostClassifier, GradientBoostingRegressor, load
from committee.cli.training_chunks import SHOWN_ROWS
from tests.cli.calls import READ_PREDICTIONS, fail, fails, run_process, sample_table, succeed, without_provenance
from tests.limits import PATIENCE

N = 240


@pytest.fixture
def frame():
    return sample_table(N)


@pytest.fixture
def folder(frame, tmp_path):
    """The table as whole.csv and whole.parquet, and cut into five files in the folders csv/ and parquet/."""
    for name in ("csv", "parquet"):
        (tmp_path / name).mkdir()
    ends = [0, 13, 80, 81, 200, N]
    for k, (first, last) in enumerate(pairwise(ends)):
        frame[first:last].write_csv(tmp_path / "csv" / f"part-{k}.csv")
        frame[first:last].write_parquet(tmp_path / "parquet" / f"part-{k}.parquet")
    frame.write_csv(tmp_path / "whole.csv")
    frame.write_parquet(tmp_path / "whole.parquet")
    return tmp_path


def ways(folder):
    """Ways to give the same rows in pieces."""
    return {
        "files": sorted((folder / "parquet").iterdir()),
        "text files": sorted((folder / "csv").iterdir()),
        "folder": [folder / "csv"],
        "pattern": [folder / "parquet" / "part-*.parquet"],
        "limit": [folder / "whole.csv", "--memory-limit", "100 B"],
        "scratch": [folder / "whole.parquet", "--scratch", folder],
    }


WAYS = ["files", "text files", "folder", "pattern", "limit", "scratch"]


@pytest.mark.parametrize("way", WAYS)
def test_a_fit_in_pieces_is_the_fit_of_one_file(folder, way):
    options = ("-t", "label", "-m", "random_forest", "-p", "n_estimators=5", "--drop", "id,price")
    options += ("--categorical", "code")
    one, other = folder / "one.safetensors", folder / "other.safetensors"
    succeed("fit", folder / "whole.csv", *options, "-o", one)
    before = sorted(folder.iterdir())
    result = succeed("fit", *ways(folder)[way], *options, "-o", other, "--checkpoint", folder / "fit.checkpoint")
    assert without_provenance(other) == without_provenance(one)
    n = 1 if way in ("limit", "scratch") else 5
    assert f"{n} file{'s' if n > 1 else ''}, read in chunks" in result.stderr
    assert f"trained on {N} rows x 3 columns" in result.stderr
    assert sorted(folder.iterdir()) == sorted([*before, other])  # no scratch folder is left


def test_numbers_and_committees_in_pieces(folder):
    one, other = folder / "one.safetensors", folder / "other.safetensors"
    for options in (
        ("-t", "price", "-m", "gradient_boosting", "-p", "n_estimators=5", "--drop", "label"),
        ("-t", "label", "--effort", "fast", "-p", "cv=2", "--drop", "price"),
    ):
        succeed("fit", folder / "whole.csv", *options, "-o", one)
        said = succeed("fit", folder / "parquet", *options, "-o", other)
        assert "target '" in said.stderr
        whole, pieced = load(one), load(other)
        X = pl.read_csv(folder / "whole.csv").select(whole.feature_names_in_.tolist())
        assert_array_equal(whole.predict(X), pieced.predict(X))
        assert "column 'id' is left out: it counts the rows; --keep" in said.stderr


def test_dates_with_a_missing_cell_are_no_identifiers_in_pieces(tmp_path):
    days = pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2024, 2, 29), "1d", eager=True)
    table = pl.DataFrame({"id": range(60), "day": days.dt.strftime("%d.%m.%Y"), "label": ["a", "b"] * 30})
    table = table.with_columns(pl.when(pl.int_range(60) != 5).then(pl.col("id", "day")))
    for k in (0, 30):
        table[k : k + 30].write_csv(tmp_path / f"{k}.csv")
    for more in ((), ("--keep", "day")):
        said = succeed("fit", tmp_path / "0.csv", tmp_path / "30.csv", "-t", "label", "-m", "tree", *more).stderr
        assert "column 'id' is left out: it counts the rows;" in said and "column 'day' is left out" not in said


def test_what_is_said_of_the_first_rows_names_them(folder, monkeypatch):
    assert SHOWN_ROWS > N
    monkeypatch.setattr("committee.cli.training_chunks.SHOWN_ROWS", 50)
    parts = sorted((folder / "csv").iterdir())[1:]
    result = succeed("fit", *parts, "-t", "label", "-m", "tree")
    assert "column 'id' is left out: it counts the rows of the first 50 rows" in result.stderr
    assert "on rows not seen in training: not known, as tables in chunks are not cross-validated" in result.stderr
    assert "on the first 50 rows of the training: margins: mean" in result.stderr and "accuracy" not in result.stderr


def test_errors_of_fits_in_pieces(folder, frame):
    frame.write_ipc(folder / "whole.feather")
    csv, whole, feather = folder / "csv", folder / "whole.csv", folder / "whole.feather"
    cases = [
        ("there is no file", folder / "*.tsv"),
        ("'lable' is not a column; did you mean 'label'?", csv, "-t", "lable"),
        ("--target 'label' is left out by --drop; leave it out", csv, "--drop", "label"),
        ("is the only column", csv, "--drop", "id,size,color,code,price"),
        ("--drop names 'idd'", csv, "--drop", "idd"),
        ("--categorical names 'cod'", csv, "--categorical", "cod"),
        ("no number of bytes", csv, "--memory-limit", "much"),
        ("is no folder; make it first", csv, "--scratch", folder / "none"),
        ("files are of several kinds", whole, folder / "whole.parquet"),
        ("is named twice", whole, folder / "*.csv"),
        ("is named for two files", csv, "-o", folder / "csv" / "part-0.csv"),
        ("unknown ending; files read in pieces end in .parquet", feather, "--scratch", folder),
        ("--memory-limit is for the committee", feather, "--memory-limit", "1 GB"),
    ]
    fails(["fit", "-t", "label", "-m", "tree", "-o", folder / "m.safetensors"], cases)
    assert not (folder / "m.safetensors").exists()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_that_differs_from_the_others_is_named(folder, frame, kind):
    odd = folder / kind / f"part-9.{kind}"
    write = getattr(pl.DataFrame, f"write_{kind}")
    command = ("fit", folder / kind, "-t", "label", "-m", "tree", "-o", folder / "m.safetensors")
    write(frame.drop("size"), odd)
    line = fail(*command)
    assert odd.name in line and "'size'" in line
    write(frame.with_columns(label=pl.when(pl.col("id") > 3).then("label")), odd)
    line = fail(*command, "--strict")
    assert odd.name in line and "column 'label' is missing in 3 rows" in line
    odd.write_bytes(b"\xff\xfe nothing that is a table")
    assert odd.name in fail(*command)
    assert not (folder / "m.safetensors").exists()


def test_missing_numbers_of_a_target_are_refused(folder):
    pl.DataFrame({"x": [1.0, 2.0], "y": [0.5, None]}).write_csv(folder / "csv" / "part-0.csv")
    pl.DataFrame({"x": [1.0, 2.0], "y": [0.5, np.nan]}).write_parquet(folder / "a.parquet")
    line = fail("fit", folder / "a.parquet", "--scratch", folder, "-t", "y", "-m", "tree", "--strict")
    assert "target 'y' is missing in 1 row" in line and "a.parquet" in line


@pytest.fixture
def model(folder):
    path = folder / "model.safetensors"
    options = ("-t", "label", "-m", "adaboost", "-p", "n_estimators=30", "--drop", "id,price", "--categorical", "code")
    succeed("fit", folder / "whole.csv", *options, "-o", path)
    return path


@pytest.mark.one_in(2)
@pytest.mark.parametrize("way", WAYS[:4])
def test_predictions_of_pieces_are_those_of_one_file(folder, model, way):
    options = ("--drop", "id,price", "--proba")
    one = folder / "one.parquet"
    succeed("predict", model, folder / "whole.csv", *options, "-o", one)
    expected = pl.read_parquet(one)
    assert expected.height == N
    for ending, read in READ_PREDICTIONS.items():
        out = folder / f"out.{ending}"
        result = succeed("predict", model, *ways(folder)[way], *options, "-o", out)
        assert read(out).equals(expected)
        assert "the model does not use" not in result.stderr
        assert f"{N} predictions written to" in result.stderr
    shown = succeed("predict", model, *ways(folder)[way], *options).stdout
    assert shown == (folder / "out.csv").read_text("utf-8")


def test_inputs_are_answered_in_their_order(folder, model):
    parts = [folder / "csv" / "part-4.csv", folder / "csv" / "part-1.csv"]
    drop = ("--drop", "id,price,label")
    each = [succeed("predict", model, part, *drop).stdout.splitlines()[1:] for part in parts]
    assert succeed("predict", model, *parts, *drop).stdout.splitlines()[1:] == [*each[0], *each[1]]


def test_models_of_arrays_and_of_numbers_answer_pieces(folder, frame):
    path, numbers = folder / "m.safetensors", frame.select("size", "code")
    AdaBoostClassifier(5).fit(numbers.to_numpy(), frame["label"].to_numpy()).save(path)
    drop = ("--drop", "id,color,label,price")
    whole = succeed("predict", path, folder / "whole.csv", *drop).stdout
    assert succeed("predict", path, folder / "csv", *drop).stdout == whole
    GradientBoostingRegressor(5, loss="quantile", quantile=[0.25, 0.75]).fit(numbers, frame["price"]).save(path)
    whole = succeed("predict", path, folder / "whole.csv", *drop).stdout
    assert whole.startswith("prediction:0.25,prediction:0.75\n")
    assert succeed("predict", path, folder / "parquet", *drop).stdout == whole
    assert "leave out --proba" in fail("predict", path, folder / "parquet", *drop, "--proba")


def test_errors_of_predictions_in_pieces_leave_nothing(folder, frame, model):
    out = folder / "out.csv"
    out.write_text("old", "utf-8")
    drop = ("--drop", "id,price", "-o", out)
    cases = [
        ("--drop names the column 'size', used by the model", folder / "csv", "--drop", "id,price,size"),
        ("there is no file", folder / "none-*", *drop),
        ("unknown ending", folder / "csv", "-o", folder / "out.xlsx"),
        ("is named for two files", folder / "csv", "--drop", "id,price", "-o", folder / "csv" / "part-0.csv"),
    ]
    fails(["predict", model], cases)
    frame.with_columns(size=pl.lit("big")).write_parquet(folder / "parquet" / "part-9.parquet")
    line = fail("predict", model, folder / "parquet", *drop)
    assert "part-9.parquet" in line and "'size' must hold numbers" in line
    assert out.read_text("utf-8") == "old"
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.one_in(4)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limits of file sizes of this kind")
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "feather"])
def test_a_full_disk_leaves_the_old_file(folder, model, ending):
    out = folder / "results" / f"out.{ending}"
    out.parent.mkdir()
    out.write_text("old", "utf-8")

    import resource

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))

    words = ["predict", model, folder / "csv", "--drop", "id,price", "--proba", "-o", out]
    done = run_process(*words, preexec_fn=small_files)
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1] == f"error: {out}: File too large; nothing is written"
    assert [path.name for path in out.parent.iterdir()] == [out.name] and out.read_text("utf-8") == "old"


def figures(path):
    """Figures of a comparison, without times."""
    return [
        [{name: value for name, value in fold.items() if "second" not in name} for fold in model["folds"]]
        for model in json.loads(path.read_text("utf-8"))["models"]
    ]


@pytest.mark.slow
def test_a_comparison_on_a_sample_is_the_same_whatever_the_pieces(folder):
    out = folder / "figures.json"
    options = ("-t", "label", "--drop", "id,price", "--models", "tree,adaboost", "--folds", 3, "--json", out)
    result = succeed("compare", folder / "whole.csv", *options, "--sample", 100, "--categorical", "code")
    assert "1 file, read in chunks; a sample of 100 of 240 rows" in result.stderr
    assert result.stdout.startswith("whole: 100 rows, 3 columns (1 numeric, 2 categorical), 2 classes of 'label'")
    expected = figures(out)
    for way in WAYS[:4]:
        result = succeed("compare", *ways(folder)[way], *options, "--sample", 100, "--categorical", "code")
        assert "5 files, read in chunks; a sample of 100 of 240 rows" in result.stderr
        assert figures(out) == expected
    succeed("compare", folder / "whole.csv", *options)
    whole = figures(out)
    result = succeed("compare", folder / "csv", *options, "--sample", 1000)
    assert "a sample of 240 of 240 rows" in result.stderr
    assert result.stdout.startswith("csv: 240 rows")
    assert figures(out) == whole


def test_errors_of_samples(folder, frame):
    csv = (folder / "csv", "-t", "label", "--models", "tree")
    cases = [
        ("are compared on a sample; add, e.g., --sample 100000", *csv),
        ("--sample 0 must be at least 1", *csv, "--sample", 0),
        ("a sample of 1 rows has no room for the 2 classes", *csv, "--sample", 1),
        ("leave out --sample or --example", "--example", "iris", "--sample", 10),
        ("--target is missing", folder / "csv", "--sample", 10),
    ]
    fails(["compare"], cases)
    measured = frame.with_columns(pl.format("{} cm", "size").alias("size"))
    measured.write_parquet(folder / "parquet" / "part-9.parquet")
    line = fail("compare", folder / "parquet", "-t", "label", "--models", "tree", "--sample", 50)
    assert "part-9.parquet" in line and "column 'size' holds String here and Float64 in pieces before" in line


def test_lines_of_progress(folder, model):
    files = sorted((folder / "csv").iterdir())
    command = ("predict", model, *files, "--drop", "id,price", "-o", folder / "out.csv")
    assert "rows" not in succeed(*command).stderr
    lines = [line for line in succeed(*command, "--progress").stderr.splitlines() if "pass" in line]
    assert lines == [f"predicting, pass 1: {n} of {N} rows" for n in (80, 200, N)]
    said = succeed("fit", *files, "-t", "label", "-m", "tree", "--progress").stderr
    assert f"reading, pass 1: {N} of {N} rows" in said and f"reading, pass 3: {N} of {N} rows" in said


def test_a_bar_on_a_terminal(folder, model, shown):
    out = succeed("predict", model, folder / "csv", "--drop", "id,price").stdout
    assert len(out.splitlines()) == N + 1
    assert "predicting, pass 1" in shown.getvalue() and f"{N}/{N}" in shown.getvalue()


def test_a_command_that_is_ended_leaves_no_scratch_folder(tmp_path):
    code = """
import sys, time
from pathlib import Path
from committee.cli import main
from committee.files.writing import scratch_folder

def command():
    with scratch_folder(Path(sys.argv[1])):
        print("ready", flush=True)
        time.sleep(300)

main.app = command
main.main()
"""
    with subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        assert len(list(tmp_path.iterdir())) == 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
    assert not list(tmp_path.iterdir())
