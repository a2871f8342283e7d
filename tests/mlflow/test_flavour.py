"""Models in MLflow: logged, registered, loaded and asked, without a pickle."""

from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import polars as pl
import pytest
from mlflow.models import infer_signature
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression

import committee
from committee import Committee
from committee.mlflow import load_model, log_model, save_model

pytestmark = [  # MLflow's own: as it is imported, with pandas, and its advice
    pytest.mark.filterwarnings("ignore:.*type hint:UserWarning"),
    pytest.mark.filterwarnings("ignore:Operation with range is deprecated"),
    pytest.mark.filterwarnings("ignore:.*An input example was not provided:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*Inferred schema contains integer column:UserWarning"),
]

rng = np.random.default_rng(0)
TABLE = pd.DataFrame({"size": rng.normal(size=200), "colour": rng.choice(["red", "green", "blue"], 200)})
LABEL = np.where((TABLE["size"] > 0) ^ (TABLE["colour"] == "red"), "yes", "no")
MODEL = committee.GradientBoostingClassifier(n_estimators=5, random_state=0).fit(TABLE, LABEL)


@pytest.fixture(autouse=True)
def tracking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # mlflow-skinny has no other
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())


def test_a_logged_model_is_loaded_again():
    with mlflow.start_run():
        info = log_model(MODEL, name="boosting", input_example=TABLE.head(3))
    again = load_model(info.model_uri)
    assert type(again) is type(MODEL)
    assert_array_equal(again.predict_proba(TABLE), MODEL.predict_proba(TABLE))
    assert info.signature.inputs.input_names() == ["size", "colour"]
    assert info.flavors["committee"]["model_class"] == "GradientBoostingClassifier"


def test_pyfunc_answers_the_same():
    signature = infer_signature(TABLE, MODEL.predict(TABLE))
    info = log_model(MODEL, name="boosting", signature=signature)
    served = mlflow.pyfunc.load_model(info.model_uri)
    assert_array_equal(served.predict(TABLE), MODEL.predict(TABLE))
    assert served.get_raw_model().get_params() == MODEL.get_params()


@pytest.mark.parametrize("asked", ["predict_proba", "decision_function"])
def test_what_is_served_is_chosen(asked):
    info = log_model(MODEL, name="boosting", predict_fn=asked)
    assert_array_equal(mlflow.pyfunc.load_model(info.model_uri).predict(TABLE), getattr(MODEL, asked)(TABLE))


def test_a_folder_holds_the_file_and_what_it_asks_for():
    own = Committee.from_estimator(MODEL)
    save_model(own, "folder")
    files = {path.name for path in Path("folder").rglob("*")}
    assert {"MLmodel", "model.safetensors", "requirements.txt"} <= files
    assert not [name for name in files if name.endswith(("pkl", "pickle"))]
    assert f"committee=={committee.__version__}" in Path("folder/requirements.txt").read_text("utf-8").splitlines()
    assert_array_equal(load_model("folder").predict(TABLE), MODEL.predict(TABLE))
    assert_array_equal(committee.load("folder/data/model.safetensors").predict(TABLE), MODEL.predict(TABLE))


def test_further_requirements_are_added_to_the_own_one(tmp_path):
    (tmp_path / "more.txt").write_text("polars>=1\n", "utf-8")
    own = f"committee=={committee.__version__}"
    for folder, extra, more in (("a", ["pandas"], "pandas"), ("b", str(tmp_path / "more.txt"), "polars>=1")):
        save_model(MODEL, folder, extra_pip_requirements=extra)
        assert {own, more} <= set(Path(folder, "requirements.txt").read_text("utf-8").splitlines())


def test_numbers_too():
    model = committee.RandomForestRegressor(5, random_state=0).fit(TABLE, TABLE["size"] ** 2)
    info = log_model(model, name="forest", pip_requirements=["committee"])
    assert_array_equal(mlflow.pyfunc.load_model(info.model_uri).predict(TABLE), model.predict(TABLE))


@pytest.mark.parametrize("kind", ["str", "int", "float", "bool", "missing", "missing numbers"])
def test_columns_of_categories_are_served_as_their_values(kind):
    values = {"int": [1, 2, 5], "float": [0.5, 1.5, 2.5], "bool": [True, False, True], "missing numbers": [1, None, 5]}
    cells = pd.Series(values.get(kind, ["red", None if kind == "missing" else "green", "blue"]))
    colours = cells.iloc[rng.integers(0, 3, 200)].reset_index(drop=True)
    table = TABLE.assign(colour=pd.Categorical(colours), code=pd.Categorical(colours))
    model = committee.GradientBoostingClassifier(n_estimators=5, random_state=0).fit(table, LABEL)
    info = log_model(model, name="boosting", input_example=table.head(20), predict_fn="predict_proba")
    served = mlflow.pyfunc.load_model(info.model_uri)
    plain = table.astype({"colour": object, "code": object}).infer_objects()
    assert_array_equal(served.predict(plain), model.predict_proba(table))
    assert_array_equal(served.predict(served.input_example), model.predict_proba(table.head(20)))
    assert isinstance(table["colour"].dtype, pd.CategoricalDtype)  # the caller's stays


def test_an_example_may_be_given_with_a_signature():
    table = TABLE.assign(colour=TABLE["colour"].astype("category"))
    model = committee.GradientBoostingClassifier(n_estimators=5, random_state=0).fit(table, LABEL)
    signature = infer_signature(TABLE, LABEL)
    save_model(model, "folder", signature=signature, input_example=table.head(3))
    assert_array_equal(mlflow.pyfunc.load_model("folder").predict(TABLE), model.predict(table))


@pytest.mark.parametrize("make", [pl.from_pandas, lambda table: pl.from_pandas(table).to_arrow()])
def test_an_example_may_be_a_frame_of_another_library(make):
    rows = make(TABLE)
    model = committee.GradientBoostingClassifier(n_estimators=5, random_state=0).fit(rows, LABEL)
    save_model(model, "folder", input_example=rows[:3])
    served = mlflow.pyfunc.load_model("folder")
    assert served.metadata.signature.inputs.input_names() == ["size", "colour"]
    assert_array_equal(served.predict(TABLE), model.predict(rows))


def test_an_example_may_be_a_list():
    rows = TABLE[["size"]].assign(square=TABLE["size"] ** 2).to_numpy()
    model = committee.AdaBoostClassifier(5).fit(rows, LABEL)
    save_model(model, "numbers", input_example=rows[:3].tolist())
    assert_array_equal(mlflow.pyfunc.load_model("numbers").predict(rows), model.predict(rows))
    save_model(MODEL, "named", input_example=TABLE.head(3).to_dict("records"))
    assert_array_equal(mlflow.pyfunc.load_model("named").predict(TABLE), MODEL.predict(TABLE))


@pytest.mark.parametrize("rows", [TABLE.head(3), pl.from_pandas(TABLE.head(3))])
def test_an_example_may_come_with_parameters(rows):
    save_model(MODEL, "folder", input_example=(rows, {"limit": 3}))
    served = mlflow.pyfunc.load_model("folder")
    assert served.metadata.signature.params.to_dict()[0]["name"] == "limit"
    assert_array_equal(served.predict(TABLE, params={"limit": 5}), MODEL.predict(TABLE))


def test_what_a_model_is_loaded_with_is_added_to():
    save_model(MODEL, "one", model_config={"of": "mine"}, predict_fn="predict_proba")
    save_model(MODEL, "two", model_config={"predict_fn": "predict_proba"})
    info = log_model(MODEL, name="three", model_config={"predict_fn": "predict_proba"}, predict_fn="predict_proba")
    for folder in ("one", "two", info.model_uri):
        assert_array_equal(mlflow.pyfunc.load_model(folder).predict(TABLE), MODEL.predict_proba(TABLE))
    config = mlflow.pyfunc.load_model("one").model_config
    assert config == {"of": "mine", "predict_fn": "predict_proba"}
    with pytest.raises(ValueError, match="predict_fn is 'decision_function', but model_config has 'predict_pr"):
        save_model(MODEL, "four", model_config={"predict_fn": "predict_proba"}, predict_fn="decision_function")
    with pytest.raises(ValueError, match="predict_fn is 'score'; it must be one of"):
        log_model(MODEL, name="four", model_config={"predict_fn": "score"})
    with pytest.raises(TypeError, match="model_config is a str; it must be a dictionary"):
        save_model(MODEL, "four", model_config="config.yaml")


def test_a_save_that_fails_leaves_nothing(tmp_path):
    other = infer_signature(TABLE[["size"]], LABEL)
    with pytest.raises(mlflow.MlflowException, match="does not match the model signature"):
        save_model(MODEL, "deep/folder", signature=other, input_example=TABLE[["colour"]].head(3))
    assert list(Path("deep").iterdir()) == []
    Path("deep/folder").mkdir()
    save_model(MODEL, "deep/folder", input_example=TABLE.head(3))
    assert [path.name for path in Path("deep").iterdir()] == ["folder"]
    assert_array_equal(load_model("deep/folder").predict(TABLE), MODEL.predict(TABLE))
    Path("file").touch()
    for there in ("deep/folder", "file"):
        with pytest.raises(FileExistsError, match=f"{there} exists and is not an empty folder"):
            save_model(MODEL, there)


def test_what_cannot_be(tmp_path):
    with pytest.raises(TypeError, match=r"LogisticRegression, which is not a learner .* mlflow\.sklearn\.log_model"):
        log_model(LogisticRegression(), name="other")
    with pytest.raises(ValueError, match="predict_fn is 'score'"):
        save_model(MODEL, tmp_path / "folder", predict_fn="score")  # type: ignore[arg-type]
    forest = committee.RandomForestRegressor(2).fit(TABLE, TABLE["size"])
    with pytest.raises(ValueError, match="predict_fn is 'predict_proba', which RandomForestRegressor does not have"):
        log_model(forest, name="forest", predict_fn="predict_proba")
    mlflow.pyfunc.save_model("other", loader_module="committee", data_path=__file__)
    with pytest.raises(ValueError, match="has the flavours python_function; none is 'committee'"):
        load_model("other")


def test_without_mlflow_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr("committee.mlflow.flavour.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install mlflow, or mlflow-skinny"):
        save_model(MODEL, tmp_path / "folder")
