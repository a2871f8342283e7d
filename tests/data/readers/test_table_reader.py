"""One way to read: `TableReader` on files and frames gives the models of the command line, bit for bit."""

from __future__ import annotations

import datetime as dt
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from polars.testing import assert_frame_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from committee import TableReader, TreeVoter, load
from tests.cli.calls import succeed
from tests.cli.test_tables import HEADER, WAYS, cells, written, written_as
from tests.cli.test_untidy_tables import UNTIDY
from tests.cli.test_untidy_tables import written as untidy

TREE = ("-m", "tree", "-p", "min_samples_leaf=1", "--folds", 0, "--no-row-digests")
MESSY = {
    "since": ["13.01.2024", "04.02.2024", "05.02.2024"],
    "price": ["1.250,5", "?", "(3,25)"],
    "zip": ["01067", "80331", "01067"],
    "kind": ["a ", "b", "a"],
    "answer": ["no", "yes", "no"],
}


def of_python(path: Any, **parameters: Any) -> tuple[Any, TableReader]:
    reader = TableReader(free_text=False, **parameters)
    model = TreeVoter(min_samples_leaf=1, random_state=0).fit(*reader.fit_read(path))
    reader.store(model)
    return model, reader


def content(model: Any, path: Path) -> bytes:
    model.__dict__.pop("provenance_", None)
    model.save(path)
    return path.read_bytes()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["formats", *UNTIDY, *WAYS])
def test_python_and_the_command_line_give_the_same_model(name: str, tmp_path: Path) -> None:
    parameters: dict[str, Any] = {"target": "y" if name in UNTIDY else "answer"}
    if name == "formats":
        path, parameters["missing"] = written(tmp_path / "all.csv", cells()), ["-999"]
    else:
        path = untidy(tmp_path / "untidy.csv", **UNTIDY[name]) if name in UNTIDY else written_as(tmp_path, name)
    model, reader = of_python(path, **parameters)
    missing = ("--missing", ",".join(parameters["missing"])) if "missing" in parameters else ()
    said = succeed("fit", path, "-t", parameters["target"], *TREE, *missing, "-o", tmp_path / "cli.safetensors").stderr
    of_command = load(tmp_path / "cli.safetensors")
    assert content(of_command, tmp_path / "a") == content(model, tmp_path / "b")
    assert len(reader.notes_) == said.count("note: ") and "--" not in "".join(reader.notes_)
    # tables to predict are read alike
    expected = succeed("predict", tmp_path / "cli.safetensors", path, "--proba").stdout
    for one in (reader, TableReader.of_model(load(tmp_path / "b")), TableReader.of_model(model)):
        shares = model.predict_proba(one.transform(path))
        found = pl.DataFrame(shares, [f"probability:{label}" for label in model.classes_])
        assert_frame_equal(found, pl.read_csv(expected.encode()).drop("prediction"), rel_tol=1e-15)
    rows, y = reader.read(path)
    assert_frame_equal(rows, reader.transform(path))
    assert_array_equal(y, reader.fit_read(path)[1])


@pytest.mark.parametrize("missing", [[], ["-9"]])
def test_identifiers_keep_cells_that_mean_missing_elsewhere(missing: list[str], tmp_path: Path) -> None:
    ids = ["-9", "NA", "null", " 7", "007", "n/a"]
    cells = pl.DataFrame({"id": ids, "size": [1, -9, 3, 4, 5, 6], "price": ["1,5", "?", " -9", "2,5", "NA", "3,5"]})
    cells.write_csv(tmp_path / "rows.csv")
    reader = TableReader(missing=missing, drop=["id"]).fit(cells)
    assert reader.forms_ == {"price": "0,5"}
    for rows in (cells, tmp_path / "rows.csv"):
        found = reader.rows(rows, ids=["id"])
        assert found["id"].to_list() == ids and found["size"].to_list() == [1, None if missing else -9, 3, 4, 5, 6]
        assert found["price"].to_list() == [1.5, None, None if missing else -9, 2.5, None, 3.5]
        written = reader.rows(rows, ids=["size", "price"])  # features
        assert written["price"].to_list() == cells["price"].to_list()
        assert written["size"].cast(pl.String).to_list() == ["1", "-9", "3", "4", "5", "6"]


def test_columns_of_an_array_have_numbers() -> None:
    model = TreeVoter().fit([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] * 10, [0, 1] * 10)
    reader = TableReader.of_model(model)
    names = ["x0", "x1", "x2"]
    assert reader.get_feature_names_out().tolist() == names and reader.n_features_in_ == 3
    table = pl.DataFrame({"x0": [1.5], "x1": ["?"], "x2": ["2,5"]})
    for given in (table, table.select("x2", pl.lit(1).alias("y"), "x1", "x0"), table.rename(str.upper)):
        assert_frame_equal(
            reader.transform(given), pl.DataFrame([[1.5], [None], [2.5]], dict.fromkeys(names, pl.Float64))
        )
    assert reader.transform(pl.DataFrame([["1"], ["002"], ["3"]], ["a", "b", "c"])).row(0) == (1, 2, 3)
    labelled = TableReader.of_model(model, target="y").read(pl.DataFrame({"a": [1], "b": [2], "y": [0], "c": [3]}))
    assert labelled[0].columns == names and labelled[0].row(0) == (1, 2, 3)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"a": 1, "b": 2},
            "has 2 features, .* an array of 3; give 3 columns in its order, or columns 'x0', 'x1', 'x2'",
        ),
        ({"x0": 1, "x1": 2, "x3": 3, "x4": 4}, "has 4 features, and the model was fitted on an array of 3"),
        ({"a": 1, "b": "red", "c": 3}, "column 'x1' must hold numbers, but 1 cell does not fit"),
        ({"x0": 1, "x1": "red", "x2": 3}, "column 'x1' must hold numbers, but 1 cell does not fit"),
        ({"a": 1, "b": 2, "c": float("inf")}, "column 'x2' holds infinity in row 0 of the table"),
    ],
)
def test_errors_of_tables_for_an_array(table: dict[str, Any], message: str) -> None:
    model = TreeVoter().fit([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] * 10, [0, 1] * 10)
    with pytest.raises(ValueError, match=message):
        TableReader.of_model(model).transform(pl.DataFrame({name: [cell] for name, cell in table.items()}))


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (TreeVoter(), NotFittedError, "This TreeVoter instance is not fitted yet"),
        (DecisionTreeClassifier().fit([[0], [1]], [0, 1]), TypeError, "model is DecisionTreeClassifier; give a fitted"),
        (TreeVoter, TypeError, "model is ABCMeta; give a fitted or loaded learner"),
        ("model.safetensors", TypeError, "model is str; give a fitted or loaded learner"),
    ],
)
def test_formats_are_those_of_a_fitted_learner(model: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        TableReader.of_model(model)
    with pytest.raises(error, match=message):
        TableReader().fit(pl.DataFrame({"x": [1]})).store(model)


@pytest.mark.parametrize("kind", ["pandas", "polars", "Arrow"])
def test_frames_of_text_are_read_as_files(kind: str, tmp_path: Path) -> None:
    texts = pl.DataFrame(cells(), HEADER, orient="row")
    texts.write_parquet(tmp_path / "all.parquet")
    frames: dict[str, Any] = {"pandas": texts.to_pandas(), "Arrow": texts.to_arrow(), "polars": texts}
    frame = frames[kind]
    parameters: dict[str, Any] = {"target": "answer", "missing": ["-999"]}
    of_frame, reader = of_python(frame, **parameters)
    of_file, _ = of_python(tmp_path / "all.parquet", **parameters)
    assert content(of_frame, tmp_path / "a") == content(of_file, tmp_path / "b")
    assert_frame_equal(reader.transform(frame), reader.transform(tmp_path / "all.parquet"))


def test_typed_columns_of_frames_stay_as_they_are() -> None:
    table = pd.DataFrame(
        {
            "day": pd.to_datetime(["2024-01-02 00:00", "", "2024-03-04 05:06"]),
            "date": [dt.date(2024, 1, 2), None, dt.date(2024, 1, 4)],
            "level": pd.Categorical(["low", "high", None], ["low", "high"], ordered=True),
            "kind": pd.Categorical(["1", "2", "1"]),
            "count": pd.array([1, None, 3], dtype="Int64"),
            "flag": [True, False, None],
            "size": [1.5, None, 2.5],
        }
    )
    read = TableReader().fit_transform(table)
    assert read.dtypes == [
        *[pl.Datetime("us")] * 2,
        *(pl.Enum(["low", "high"]), pl.Categorical, pl.Float64, pl.Boolean, pl.Float64),
    ]
    schema = TreeVoter().fit(table, [0, 1, 0]).table_
    assert TreeVoter().fit(read, [0, 1, 0]).table_.categories == schema.categories
    assert_array_equal(TreeVoter().fit(read, [0, 1, 0]).table_.encode(read), schema.encode(table))


@pytest.mark.parametrize("target", [None, "y"])
@pytest.mark.parametrize("name", ["zip", "size", "day", "weight"])
def test_categories_have_one_type_in_fit_and_transform(name: str, target: str | None, tmp_path: Path) -> None:
    table = pl.DataFrame(
        {
            "zip": [str(i) for i in range(20, 60)],
            "size": [1.5, 2.5] * 20,
            "day": ["2024-01-01", "2024-01-02"] * 20,
            "weight": ["4", "5.5", "6 kg", "7.5"] * 10,
            "y": [0, 1] * 20,
        }
    )
    table.write_csv(tmp_path / "table.csv")
    reader = TableReader(target, categorical=[name], keep="all")
    read = reader.fit_transform(table)
    assert read.schema[name] == read.schema["weight"] == pl.Categorical
    for again in (reader.transform(table), reader.transform(tmp_path / "table.csv")):
        assert_frame_equal(again, read)
        TreeVoter().fit(again, table["y"])
    if target is not None:
        assert_frame_equal(reader.fit_read(table)[0], reader.read(table)[0])


def test_learned_settings_are_attributes() -> None:
    rows = {name: column * 8 for name, column in MESSY.items()}
    table = pl.DataFrame({"id": range(24), **rows})
    reader = TableReader("answer")
    X, y = reader.fit_read(table)
    assert reader.forms_ == {"price": "0,5", "since": "%d.%m.%Y"}
    assert reader.left_out_ == ("id",) and reader.feature_names_in_.tolist() == ["id", *list(MESSY)[:-1]]
    assert X.columns == reader.get_feature_names_out().tolist() == list(MESSY)[:-1] and y.tolist() == rows["answer"]
    assert X["price"].to_list()[:3] == [1250.5, None, -3.25] and X["kind"].to_list()[:2] == ["a", "b"]
    assert "column 'id' is left out: it counts the rows; keep=['id'] learns from it" in reader.notes_
    assert_frame_equal(reader.transform(table), X)
    assert_frame_equal(pickle.loads(pickle.dumps(reader)).transform(table.select(reversed(table.columns))), X)
    assert "id" in clone(reader).set_params(keep=["id"]).fit_transform(table).columns
    with pytest.raises(NotFittedError):
        clone(reader).transform(table)


def test_dates_and_times_with_missing_cells_are_no_identifiers() -> None:
    days = [dt.datetime(2024, 1, 1) + dt.timedelta(days=k, minutes=k) for k in range(40)]
    table = pl.DataFrame({"day": [f"{day:%d.%m.%Y}" for day in days], "time": [f"{day:%H:%M}" for day in days]})
    table = table.with_columns(pl.when(pl.int_range(40) != 3).then(pl.all()), id=pl.int_range(40))
    reader = TableReader().fit(table)
    assert reader.left_out_ == ("id",) and reader.forms_ == {"day": "%d.%m.%Y", "time": "%H:%M"}


def test_a_reader_is_a_step_of_a_pipeline() -> None:
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=k) for k in range(60)]
    table = pd.DataFrame({"day": [f"{day:%d.%m.%Y}" for day in days]})
    y = [day.month == 1 for day in days]
    model = make_pipeline(TableReader(keep=["day"]), TreeVoter(min_samples_leaf=1))
    assert cross_val_score(model, table, y, cv=3).mean() > 0.8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"price": ["much", "1,5", "2"]}, r"'price' holds numbers .* '0,5', but 1 cell does not fit \('much' in row 0"),
        ({"since": ["soon", "04.02.2024", None]}, "'since' holds dates or times .* %d.%m.%Y, but 1 cell does not fit"),
        ({"price": None}, r"lacks the column 'price' of the fit; add it$"),
        ({"price": None, "since": None}, r"lacks the columns '\w+', '\w+' of the fit; add them$"),
        ({"size": [1.0, float("inf"), 2.0]}, None),
        ({"price": [1.0, float("inf"), 2.0]}, r"'price' holds infinity in row 1 of X; .* by missing=\['inf'\]"),
    ],
)
def test_errors_of_new_tables(change: dict[str, Any], message: str | None) -> None:
    reader = TableReader("answer").fit(pl.DataFrame(MESSY))
    table = pl.DataFrame({name: cells for name, cells in {**MESSY, **change}.items() if cells is not None})
    if message is None:  # a column that was not learned
        assert reader.transform(table).columns == list(MESSY)[:-1]
        return
    with pytest.raises(ValueError, match=message):
        reader.transform(table)


@pytest.mark.parametrize(
    ("parameters", "X", "error", "message"),
    [
        ({}, [[1.0]], TypeError, "X is list; give the path of a file, or a frame"),
        ({}, pd.DataFrame([[1, 2]]), TypeError, "the columns of X have no names"),
        ({"target": 3}, MESSY, ValueError, "'target' parameter of TableReader must be"),
        ({"target": "anser"}, MESSY, ValueError, "target 'anser' is not a column; did you mean 'answer'"),
        ({"keep": ["idd"]}, MESSY, ValueError, "keep names 'idd', which is not there"),
        ({"numeric": ["idd"]}, MESSY, ValueError, "numeric names 'idd', which is not there"),
        ({"categorical": "zip"}, MESSY, TypeError, "categorical must be a list of names"),
        ({"missing": "?"}, MESSY, TypeError, r"missing must be a list of cells, got the string '\?'"),
        ({"dates": "us"}, MESSY, ValueError, "dates 'us' is none of day-first, month-first, iso"),
        (
            {"dates": "month-first"},
            {"since": ["13/01/2024"]},
            ValueError,
            r"'since' has the day .*, and dates is month-first",
        ),
        ({"decimal": ";"}, MESSY, ValueError, "decimal ';' is neither"),
        ({"strict": True, "target": "y"}, {"x": [1, 2], "y": ["a", None]}, ValueError, "target 'y' is missing in 1 of"),
    ],
)
def test_errors_of_training_tables(parameters: dict[str, Any], X: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        TableReader(**parameters).fit(pl.DataFrame(X) if isinstance(X, dict) else X)


def test_a_labelled_table_needs_a_target_and_a_model_its_columns() -> None:
    with pytest.raises(ValueError, match="target=None, but a labelled table is read with its target"):
        TableReader().fit_read(pl.DataFrame(MESSY))
    reader = TableReader("answer").fit(pl.DataFrame(MESSY))
    with pytest.raises(ValueError, match="the model encodes the columns 'x', and the reader returns 'since'"):
        reader.store(TreeVoter().fit(pl.DataFrame({"x": [1, 2]}), [0, 1]))


def test_rows_without_a_target_and_numeric_targets() -> None:
    table = pl.DataFrame({"x": [1, 2, 3], "y": ["12%", None, "50%"]})
    X, y = (reader := TableReader("y", numeric=["y"])).fit_read(table)
    assert X["x"].to_list() == [1, 3] and y.tolist() == [0.12, 0.5] and reader.target_form_ == "1,000 %"
    assert reader.read(pl.DataFrame({"x": [4], "y": ["7 %"]}))[1].tolist() == [0.07]
    assert reader.transform(table)["x"].to_list() == [1, 2, 3]
    assert TableReader().fit(pl.DataFrame({"": ["0,5", "1,25"], "x": [1, 2]})).target_form_ is None
    codes = TableReader("y").fit(pl.DataFrame({"x": [1, 2], "y": ["01", "11"]}))
    assert codes.read(pl.DataFrame({"x": [1], "y": ["11"]}))[1].tolist() == ["11"]
