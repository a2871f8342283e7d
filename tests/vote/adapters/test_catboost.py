"""CatBoost's models, read from files: what they predict, all that committees can do, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from committee import Committee, RegressionCommittee
from committee.vote.adapters.catboost_model import catboost_model, category_hash
from committee.vote.adapters.ensembles import parts_of_model, regression_parts_of_model
from committee.vote.links.mean import Log
from committee.vote.links.probability import Logistic
from tests.cli.calls import fail, succeed
from tests.vote.adapters.catboost_models.write import answers, rows
from tests.vote.adapters.every_use import assert_every_use

FOLDER = Path(__file__).parent / "catboost_models"
TABLE, NUMBER = rows(1000, 0)
NEW = rows(2000, 1, n_kinds=10)[0]
PREDICTED = dict(np.load(FOLDER / "predicted.npz"))


def committee(name: str) -> Any:
    model, classes = catboost_model((FOLDER / f"{name}.json").read_bytes())
    if model.number_link is None:
        return Committee(*parts_of_model(model, classes))
    return RegressionCommittee(*regression_parts_of_model(model))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", PREDICTED)
def test_predictions_are_the_originals(name, tmp_path):
    found = committee(name)
    numbers = isinstance(found, RegressionCommittee)
    votes = found.predict(NEW) if numbers else found.decision_function(NEW)
    assert_allclose(votes, PREDICTED[name], rtol=1e-12, atol=1e-12)
    assert found.table.names == tuple(TABLE.columns) and len(found.voters.category_bits)
    assert isinstance(found.link, {"counts": Log, "one_against_rest": Logistic}.get(name, object))
    if not numbers:
        assert found.classes.tolist() == (["no", "yes"] if name == "two_classes" else [0, 1, 2])
    if name != "counts":
        assert_every_use(found, TABLE, answers(name, NUMBER), tmp_path / "model")


def test_a_border_parts_what_single_precision_parts():
    document = json.loads((FOLDER / "numbers.json").read_text("utf-8"))
    column = document["features_info"]["float_features"][0]
    border = np.float32(column["borders"][len(column["borders"]) // 2])
    size = np.linspace(np.nextafter(border, -1), np.nextafter(border, 1), 1001)  # doubles between three singles
    table = TABLE.iloc[np.zeros(1001, dtype=int)].assign(size=size)
    single = table.assign(size=size.astype(np.float32).astype(np.float64))
    assert_array_equal(committee("numbers").predict(table), committee("numbers").predict(single))


def test_the_command_line_converts_them(tmp_path):
    NEW.to_csv(tmp_path / "rows.csv", index=False)
    said = succeed("convert", FOLDER / "two_classes.json", "-o", tmp_path / "m.st").stderr
    assert "6 voters" in said and "'no', 'yes'" in said
    printed = succeed("predict", tmp_path / "m.st", tmp_path / "rows.csv").stdout.splitlines()[1:]
    assert printed == np.where(PREDICTED["two_classes"] > 0, "yes", "no").tolist()
    assert "type OnlineCtr" in fail("convert", FOLDER / "counted_targets.json", "-o", tmp_path / "n.st")
    (tmp_path / "cut.json").write_bytes((FOLDER / "numbers.json").read_bytes()[:-99])
    assert "is not a model of CatBoost" in fail("convert", tmp_path / "cut.json", "-o", tmp_path / "n.st")
    (tmp_path / "a.cbm").write_bytes(b"nothing")
    assert "catboost" in fail("convert", tmp_path / "a.cbm", "-o", tmp_path / "n.st").lower()


def test_hashes_are_those_of_the_original():
    """As CatBoost 1.2 stores them."""
    known = {"red": -1242798403, "green": 1390465085, "blue": -863087293, "0": -1438285038, "3": 593172586}
    assert {name: category_hash(name) for name in known} == known


def changed(name: str, change: Any) -> str:
    document = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    change(document)
    return json.dumps(document)


def test_rows_are_no_model():
    pool = type("Pool", (), {"__module__": "catboost.core"})()
    with pytest.raises(TypeError, match="estimator is a Pool; give a fitted CatBoostClassifier, CatBoostRegressor or"):
        Committee.from_estimator(pool)


@pytest.mark.parametrize(
    ("name", "change", "match"),
    [
        ("counted_targets", lambda d: None, "splits of type OnlineCtr, .* one_hot_max_size=255"),
        (
            "text",
            lambda d: d["features_info"].pop("cat_features_hash"),
            "categories of column 'kind', of which it keeps hashes alone; write it with",
        ),
        ("numbers", lambda d: d["model_info"]["params"]["loss_function"].update(type="YetiRank"), "'YetiRank'"),
        ("numbers", lambda d: d.update(trees=[]), "has no trees"),
        ("numbers", lambda d: d["features_info"].update(text_features=[{}]), "has text_features"),
        ("two_classes", lambda d: d["oblivious_trees"][1]["leaf_values"].pop(), "tree 1 has 7 values for 8 leaves"),
        ("two_classes", lambda d: d.update(scale_and_bias=[1, [0, 0, 0]]), "a leaf has 1 values where 3"),
        ("three_classes", lambda d: d["model_info"]["class_params"].update(class_names=[1, 2]), "has 2 classes"),
    ],
)
def test_what_is_refused(name, change, match):
    with pytest.raises(ValueError, match=match):
        parts_of_model(*catboost_model(changed(name, change)))


def test_categories_of_text_are_those_that_the_file_records():
    of_text, of_codes = committee("text"), committee("two_classes")
    assert of_text.table.categories[1] == ("kind 4", "kind 1") and of_codes.table.categories[1] == (4, 1)
    text = NEW.assign(kind=NEW["kind"].map("kind {}".format))
    assert_array_equal(of_text.decision_function(text), of_codes.decision_function(NEW))


def test_live_models_of_catboost():
    """Only where CatBoost is installed; the files above are read everywhere."""
    reason = "a peer too large for the tests' environment, whose models are read from files above (2026-11-24)"
    catboost = pytest.importorskip("catboost", reason=reason)
    table, new = TABLE[["size", "depth"]].to_numpy(), rows(10_000, 2)[0][["size", "depth"]].to_numpy()
    model = catboost.CatBoostClassifier(
        iterations=5, depth=3, verbose=False, allow_writing_files=False, thread_count=1
    ).fit(table, answers("two_classes", NUMBER))
    found = Committee.from_estimator(model)
    assert_allclose(found.predict_proba(new), model.predict_proba(new), rtol=1e-12, atol=1e-12)
    assert_array_equal(found.predict(new), model.predict(new))
