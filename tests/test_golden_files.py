"""Files that an earlier version wrote: they load, answer as they did, and hold every kind of thing that a file can."""

import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_array_max_ulp
from numpy.typing import NDArray

import committee
from committee.data.categories import CategoryValues
from committee.data.typed_json import encode
from committee.files.documents import Tensors
from committee.files.store import read_contents
from committee.objectives.margins.named_objectives import OBJECTIVES
from tests.golden.write import ANSWERS, FOLDER, MODELS, table
from tests.model_files import craft

ULP = 4
"""How far exponentials and logarithms may differ from processor to processor: with AVX-512 NumPy has others."""

OF_LINES = ("model_tree", "model_tree_per_class", "subagging_of_rounds", "committee")
"""Models of several classes whose voters' probabilities come from exponentials, and so does the decision function."""


@cache
def stored() -> dict[str, NDArray[Any]]:
    return dict(np.load(ANSWERS))


@cache
def document(name: str) -> dict[str, Any]:
    """What a file says of its model."""
    model: dict[str, Any] = read_contents(FOLDER / f"{name}.safetensors")[0]["model"]
    return model


def test_every_model_has_its_file_and_every_file_its_answers() -> None:
    files = {path.stem for path in FOLDER.glob("*.safetensors")}
    assert files == MODELS.keys()
    assert files == {key.split("/")[1] for key in stored() if key.startswith("answers/")}


def test_every_release_has_written_files() -> None:
    """A version that is in the changes has golden files of its own, which all later ones load."""
    changes = (FOLDER.parent.parent / "CHANGELOG.md").read_text("utf-8")
    released = set(re.findall(r"^## (\d+\.\d+\.\d+)", changes, re.MULTILINE))
    written = {read_contents(path)[0]["package_version"] for path in FOLDER.rglob("*.safetensors")}
    assert released and released <= written


@pytest.mark.parametrize("name", MODELS)
def test_the_file_answers_as_it_did(name: str, tmp_path: Path) -> None:
    path = FOLDER / f"{name}.safetensors"
    model: Any = committee.load(path)
    kind = MODELS[name][0]
    X = table({key.split("/")[2]: rows for key, rows in stored().items() if key.startswith(f"rows/{kind}/")})
    said = {key.split("/")[3]: answer for key, answer in stored().items() if key.startswith(f"answers/{name}/")}
    logarithmic = document(name).get("link", {}).get("name") == "log"
    for method, answer in said.items():
        now = getattr(model, method)(X)
        by_lines = method == "decision_function" and name in OF_LINES
        if method == "predict_proba" or logarithmic or by_lines:
            assert_array_max_ulp(now, answer, ULP)
        elif (
            method == "p_values" and name == "conformal_bag"
        ):  # 80 scores were kept, and one that is nearly another's may change places with it
            assert_allclose(now, answer, rtol=0.0, atol=1.0 / 81.0 + 1e-12)
        else:
            assert now.dtype == answer.dtype
            assert_array_equal(now, answer)
    model.save(tmp_path / "again")
    assert_same_arrays(path, tmp_path / "again")
    before, after = (read_contents(file)[0] for file in (path, tmp_path / "again"))
    add_later_parameters(before)
    for each in (before, after):
        expand(each)
    assert before | {"package_version": ""} == after | {"package_version": ""}


def add_later_parameters(written: dict[str, Any]) -> None:
    """Give the learners and objectives of a document the parameters that they lacked when it was written: defaults."""
    for _, described in objects(written):
        if "params" in described:
            kind = committee.learner(described["class"])
            for name in kind.declared_parameters.keys() - described["params"].keys() - set(kind.trained_parameters):
                described["params"][name] = encode(kind.declared_parameters[name].default, name)
        if described.get("class") == "MarginReweighter" and "attributes" in described:
            pairs = described["attributes"]["objective_"]["dict"]
            known = dict(pairs)
            later = (each for each in fields(OBJECTIVES[known["name"]]) if each.name not in known)
            pairs += [[each.name, encode(each.default, each.name)] for each in later]


def expand(written: dict[str, Any]) -> None:
    """Write out what a document refers to or packs: tables of earlier members, and numbers in place of categories."""
    for _, described in objects(written):
        if described.get("kind") == "members":
            for member in described["members"]:
                if type(member.get("table")) is int:
                    member["table"] = described["members"][member["table"]]["table"]
        if "unknown" in described and type(described["values"]) is str:
            described["values"] = list(CategoryValues.from_json(described).values)


def every_number(arrays: dict[str, Any]) -> dict[str, Any]:
    """Numbers of a file as float64, also those of arrays that are stored without zeros."""
    for name in [name.removesuffix(".shape") for name in arrays if name.endswith(".shape")]:
        arrays[name] = Tensors(arrays).take_reals(name)
    return {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in arrays.items()}


def assert_same_arrays(path: Path, other: Path) -> None:
    ours, theirs = (every_number(read_contents(file)[1]) for file in (path, other))
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert array.dtype == theirs[name].dtype and array.tobytes() == theirs[name].tobytes(), name


def objects(value: Any, under: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """All objects of a document, each with the key that it stands under."""
    if isinstance(value, dict):
        yield under, value
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, dict | list):
            yield from objects(inner, key if isinstance(key, str) else under)


def found(key: str, under: str | None = None) -> set[str]:
    """Texts under a key in all files, of objects that stand under another."""
    every = [pair for name in MODELS for pair in objects(document(name))]
    return {value[key] for at, value in every if isinstance(value.get(key), str) and under in (None, at)}


def known(folder: Path, name: str, *place: str | int) -> set[str]:
    """Names that a file may have at a place of its document, by what is said of another one there."""

    def change(whole: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        *path, last = ("model", *place)
        inner: Any = whole
        for key in path:
            inner = inner[key]
        inner[last] = "?"

    (folder / "model").write_bytes(craft((FOLDER / f"{name}.safetensors").read_bytes(), change))
    with pytest.raises(committee.ModelFileError, match="must be ") as refused:
        committee.load(folder / "model")
    names = re.split("must be (?:one of )?", str(refused.value))[1]
    return set(re.findall(r"\w+", names)) - {"and", "or"}


def test_every_learner_has_a_file() -> None:
    assert {document(name)["class"] for name in MODELS} - {"Committee"} == committee.LEARNERS.keys()


def test_every_kind_of_voters_has_a_file(tmp_path: Path) -> None:
    of_graphs = known(tmp_path, "probabilistic", "voters", "voters", "kind")
    assert found("kind") == known(tmp_path, "forest", "voters", "kind") | of_graphs
    assert found("vote", "voters") == known(tmp_path, "forest", "voters", "vote")
    assert found("walk") == known(tmp_path, "probabilistic", "voters", "walk")
    assert found("estimate", "voters") == known(tmp_path, "probabilistic_learners", "voters", "voters", "estimate")
    assert found("link", "voters") == known(tmp_path, "model_tree", "voters", "link")


def test_every_link_loss_and_objective_has_a_file(tmp_path: Path) -> None:
    of_numbers = known(tmp_path, "tree_regressor", "link", "name")
    assert found("name", "link") == known(tmp_path, "forest", "link", "name") | of_numbers
    losses = found("loss", "params") | found("name", "loss")
    assert losses == known(tmp_path, "gradient_object_huber", "params", "loss", "loss", "name")
    objective = ("attributes", "objective_", "dict", 0, 1)
    assert found("objective", "params") == known(tmp_path, "reweighted_rank", *objective)


def test_forms_without_a_name_have_a_file() -> None:
    voters = [value for name in MODELS for _, value in objects(document(name)) if "kind" in value]
    soft = {(value["kind"], value["soft"]) for value in voters if "soft" in value}
    assert soft >= {(kind, said) for kind in ("estimators", "committees", "model_trees") for said in (False, True)}
    assert {value["as_array"] for value in voters if value["kind"] == "estimators"} == {False, True}
    assert any("n_paths" in value for value in voters)
    assert any("intercept" in document(name) for name in MODELS)
    assert {document(name)["classes"]["dtype"] for name in MODELS if "classes" in document(name)} == {
        "bool",
        "float64",
        "int64",
        "str",
    }
