"""Models in MLflow: logged, registered, loaded and asked, without a pickle."""

from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
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


def test_a_logged_model_is_loaded_again() -> None:
    with mlflow.start_run():
        info = log_model(MODEL, name="boosting", input_example=TABLE.head(3))
    again = load_model(info.model_uri)
    assert type(again) is type(MODEL)
    assert_array_equal(again.predict_proba(TABLE), MODEL.predict_proba(TABLE))
    assert info.signature.inputs.input_names() == ["size", "colour"]
    assert info.flavors["committee"]["model_class"] == "GradientBoostingClassifier"


def test_pyfunc_answers_the_same() -> None:
    signature = infer_signature(TABLE, MODEL.predict(TABLE))
    info = log_model(MODEL, name="boosting", signature=signature)
    served = mlflow.pyfunc.load_model(info.model_uri)
    assert_array_equal(served.predict(TABLE), MODEL.predict(TABLE))
    assert served.get_raw_model().get_params() == MODEL.get_params()


@pytest.mark.parametrize("asked", ["predict_proba", "decision_function"])
def test_what_is_served_is_chosen(asked: Any) -> None:
    info = log_model(MODEL, name="boosting", predict_fn=asked)
    assert_array_equal(mlflow.pyfunc.load_model(info.model_uri).predict(TABLE), getattr(MODEL, asked)(TABLE))


def test_a_folder_holds_the_file_and_what_it_asks_for() -> None:
    own = Committee.from_estimator(MODEL)
    save_model(own, "folder")
    files = {path.name for path in Path("folder").rglob("*")}
    assert {"MLmodel", "model.safetensors", "requirements.txt"} <= files
    assert not [name for name in files if name.endswith(("pkl", "pickle"))]
    assert f"committee=={committee.__version__}" in Path("folder/requirements.txt").read_text("utf-8").splitlines()
    assert_array_equal(load_model("folder").predict(TABLE), MODEL.predict(TABLE))
    assert_array_equal(committee.load("folder/data/model.safetensors").predict(TABLE), MODEL.predict(TABLE))


def test_numbers_too() -> None:
    model = committee.RandomForestRegressor(5, random_state=0).fit(TABLE, TABLE["size"] ** 2)
    info = log_model(model, name="forest", pip_requirements=["committee"])
    assert_array_equal(mlflow.pyfunc.load_model(info.model_uri).predict(TABLE), model.predict(TABLE))


def test_what_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"LogisticRegression, which is no learner .* mlflow\.sklearn\.log_model"):
        log_model(LogisticRegression(), name="other")
    with pytest.raises(ValueError, match="predict_fn is 'score'"):
        save_model(MODEL, tmp_path / "folder", predict_fn="score")  # type: ignore[arg-type]
    forest = committee.RandomForestRegressor(2).fit(TABLE, TABLE["size"])
    with pytest.raises(ValueError, match="predict_fn is 'predict_proba', which RandomForestRegressor does not have"):
        log_model(forest, name="forest", predict_fn="predict_proba")
    mlflow.pyfunc.save_model("other", loader_module="committee", data_path=__file__)
    with pytest.raises(ValueError, match="has the flavours python_function; none is 'committee'"):
        load_model("other")


def test_without_mlflow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("committee.mlflow.flavour.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install mlflow, or mlflow-skinny"):
        save_model(MODEL, tmp_path / "folder")
