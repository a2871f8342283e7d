"""Saving and loading: the same model comes back, and nothing else does."""

import json
import os
import re
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

import committee
from committee.files import store
from committee.files.store import Storable, digest, load, sort_metadata
from committee.learners.bagging.subagging import SubaggingClassifier
from committee.learners.boosting.adaboost import AdaBoostClassifier
from tests.model_files import (
    BINARY,
    LEARNERS,
    assert_loaded_is_saved,
    boosted,
    craft,
    load_damaged,
    matrix,
    refused,
    small_file,
    table,
)


def cases() -> list[Any]:
    listed = [(name, make, data) for name, make in LEARNERS.items() for data in (table, matrix)]
    listed += [(name, make, matrix) for name, make in BINARY.items()]
    return [pytest.param(make, data, id=f"{name}-{data.__name__}") for name, make, data in listed]


@pytest.mark.parametrize(("make", "data"), cases())
def test_the_loaded_model_is_the_saved_one(make, data, tmp_path):
    X, y = data()
    assert_loaded_is_saved(make().fit(X, y), X, y, tmp_path)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["nö", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([3, 70_000]),
        np.array([-1, 1], dtype=np.int8),
        np.array([False, True]),
        np.array([0.0, 2.0]),
        np.array([0.0, 2.0], dtype=np.float32),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_classes_keep_their_type(labels, tmp_path):
    X, y = matrix()
    model = boosted().fit(X, labels[(y == "yes").astype(int)])
    model.save(tmp_path / "model")
    loaded = load(str(tmp_path / "model"))
    assert loaded.classes_.dtype == model.classes_.dtype
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert [type(label) for label in loaded.predict(X).tolist()] == [type(c) for c in model.predict(X).tolist()]


def test_a_random_generator_is_stored_as_none(tmp_path):
    X, y = matrix()
    model = boosted(random_state=np.random.RandomState(0)).fit(X, y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.random_state is None
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


@pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.DataConversionWarning")
def test_foreign_voters_are_named_with_a_remedy(tmp_path):
    X, y = matrix()
    model = SubaggingClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=2).fit(X, y)
    with pytest.raises(TypeError, match=r"DecisionTreeClassifier cannot be saved.*skops.*joblib"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


class Mine(AdaBoostClassifier):
    """A subclass that a loading program would not have."""


def test_subclasses_and_strangers_are_refused(tmp_path):
    X, y = matrix()
    for model in (Mine(n_estimators=1).fit(X, y), DecisionTreeClassifier().fit(X, y)):
        with pytest.raises(TypeError, match=f"{type(model).__name__} cannot be saved"):
            Storable.save(model, tmp_path / "model")


def test_only_fitted_models_are_saved(tmp_path):
    with pytest.raises(NotFittedError):
        boosted().save(tmp_path / "model")


def test_parameters_spoilt_after_fitting(tmp_path):
    X, y = matrix()
    model = boosted().fit(X, y)
    with pytest.raises(ValueError, match="n_estimators"):
        model.set_params(n_estimators=-1).save(tmp_path / "model")
    with pytest.raises(TypeError, match=r"n_estimators is a .*Fraction, which a model file cannot hold"):
        model.set_params(n_estimators=Fraction(3)).save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def model() -> BaseEstimator:
    X, y = matrix()
    return boosted(n_estimators=2).fit(X, y)


def test_arrays_start_at_a_multiple_of_eight_after_fewer_than_eight_blanks():
    arrays = {"a": np.arange(3.0), "b": np.arange(2, dtype=np.int8)}
    for n in range(8):
        made = sort_metadata(safetensors.numpy.save(arrays, {"of": "x" * n, "be": ""}))
        length = int.from_bytes(made[:8], "little")
        header = made[8 : 8 + length]
        assert length % 8 == 0 and length - len(header.rstrip()) < 8
        assert list(json.loads(header)["__metadata__"]) == ["be", "of"]
        for name, array in safetensors.numpy.load(made).items():
            assert_array_equal(array, arrays[name])


@pytest.mark.parametrize("failing", ["os.fsync", "pathlib.Path.replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(model, tmp_path, monkeypatch, failing):
    def fail(*_):
        raise OSError("no space left on device")

    path = tmp_path / "model"
    path.write_text("old", "utf-8")
    monkeypatch.setattr(failing, fail)
    with pytest.raises(OSError, match="no space left"):
        model.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    assert path.read_text("utf-8") == "old"


def with_length(header: bytes) -> bytes:
    return len(header).to_bytes(8, "little") + header


def with_metadata(metadata: dict[str, str] | None) -> bytes:
    return safetensors.numpy.save({"a": np.zeros(3)}, metadata)


def with_document(text: str) -> bytes:
    return with_metadata({"committee": text, "digest": digest(text, {"a": np.zeros(3)})})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"too short \(0 bytes\)"),
        (b"\2" + b"\0" * 6, r"too short \(7 bytes\)"),
        (b"\2" + b"\0" * 7, "its 8 bytes claim a header of 2"),
        (b"\1" + b"\0" * 7 + b"{", "its 9 bytes claim a header of 1"),
        (b"PK\x03\x04 a zip archive, or so it begins", "not a safetensors file, or cut off"),
        (b"\xff" * 100, "not a safetensors file, or cut off"),
        ((10**8 + 1).to_bytes(8, "little") + b" " * 20, "claim a header of 100,000,001"),
        (with_length(b"[]"), "header is not a JSON object"),
        (with_length(b"{{{{"), "header is not JSON"),
        (with_length(b"\xff\xff\xff\xff"), "decode"),
        (with_length(b"[" * 60_000), "recursion"),
        (with_length('{"é": 1}'.encode()), "'ascii' codec can't decode"),
        (with_metadata(None), "not a model that committee saved"),
        (with_metadata({"made_by": "someone"}), "not a model that committee saved"),
        (with_metadata({"committee": "{}"}), "not those that committee writes"),
        (with_metadata({"committee": "{}", "digest": "", "more": ""}), "not those that committee writes"),
        (with_document("{"), "document is not JSON"),
        (with_document('{"format": NaN}'), "NaN is not JSON"),
        (with_document("{}"), "'format' is absent"),
        (with_document('{"format": "lightgbm"}'), "not a model that committee saved"),
        (with_document('{"format": "committee checkpoint"}'), "it is the checkpoint of a fit"),
        (with_metadata({"committee": "{", "digest": ""}), "do not match their digest"),
    ],
)
def test_foreign_files(tmp_path, content, message):
    refused(tmp_path / "model", content, message)


@pytest.mark.parametrize("where", ["header", "document"])
def test_a_text_of_too_many_values_is_not_taken_apart(where, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "MAX_VALUES", 1000)
    inner = "{" + '"a": ",[{:\\"",' * 400 + '"format": "committee"}'
    refused(tmp_path / "model", with_document(inner), "'schema_version' is absent")
    if where == "document":
        refused(tmp_path / "model", with_document('{"a": [' + "[]," * 500 + "0]}"), "document holds up to 1,0.. values")
    else:
        text = b'{"a": [' + b"[]," * 500 + b"0]}"
        refused(tmp_path / "model", with_length(text), "header holds up to 1,0.. values")


def test_a_text_of_the_most_values_is_parsed(monkeypatch):
    text = '{"a": [0, 1, 2, 3], "b": "[,,,,,,"}'  # 2 brackets, 4 commas and 2 colons outside of strings
    monkeypatch.setattr(store, "MAX_VALUES", 8)
    assert store.parse_json(text, "document")["a"] == [0, 1, 2, 3]
    monkeypatch.setattr(store, "MAX_VALUES", 7)
    with pytest.raises(ValueError, match="holds up to 8 values; at most 7"):
        store.parse_json(text, "document")


def test_a_file_longer_than_any_is_not_read(tmp_path, monkeypatch):
    content = small_file()[0]
    monkeypatch.setattr(store, "MAX_FILE", len(content))
    (tmp_path / "model").write_bytes(content)
    load(tmp_path / "model")
    monkeypatch.setattr(store, "MAX_FILE", len(content) - 1)
    refused(tmp_path / "model", None, "too long")


def test_a_header_longer_than_any_is_neither_written_nor_read(model, tmp_path, monkeypatch):
    path = tmp_path / "model"
    model.save(path)
    length = int.from_bytes(path.read_bytes()[:8], "little")
    monkeypatch.setattr(store, "MAX_HEADER", length)
    model.save(path)
    load(path)
    monkeypatch.setattr(store, "MAX_HEADER", length - 1)
    with pytest.raises(ValueError, match=f"description takes {length:,} bytes; a file holds at most {length - 1:,}"):
        model.save(path)
    refused(path, None, f"claim a header of {length:,}")


def test_a_header_ends_inside_the_file(tmp_path):
    content = small_file()[0]
    header = content[: 8 + int.from_bytes(content[:8], "little")][8:]
    refused(tmp_path / "model", (len(header) + 1).to_bytes(8, "little") + header, "claim a header of")
    refused(tmp_path / "model", with_length(header), "cut off")


def test_arrays_of_a_type_that_no_model_has(tmp_path):
    header = {
        "__metadata__": {"committee": "{}", "digest": ""},
        "a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]},
    }
    refused(tmp_path / "model", with_length(json.dumps(header).encode()) + b"\0" * 4, "'a' has the foreign type BF16")


def test_many_columns_need_a_table(tmp_path):
    """A model has numbers for each of its columns, so a short file must not claim to have very many."""
    X, y = matrix()
    model = committee.Committee.from_estimator(RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, y))
    replace(model, table=None).save(tmp_path / "model")

    def change(document, _):
        document["model"]["n_features"] = document["model"]["voters"]["n_features"] = 2**29 - 1

    refused(tmp_path / "model", craft((tmp_path / "model").read_bytes(), change), "it may be at most 4194304")


def test_things_that_are_no_files(tmp_path):
    refused(tmp_path, None, "not a regular file")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")  # opening it would wait for a writer
        refused(tmp_path / "pipe", None, "not a regular file")


@pytest.mark.parametrize(
    ("version", "package", "message"),
    [
        (3, "9.9", r"made by a newer committee \(9\.9, file schema 3\).*Upgrade"),
        (3, "9" * 1000, r"newer committee \(9{40}, file schema 3\)"),
        (0, "9.9", "schema_version is 0"),
        ("1", "9.9", "must be int"),
    ],
)
def test_other_schema_versions(tmp_path, version, package, message):
    def change(document, _):
        document |= {"schema_version": version, "package_version": package}

    refused(tmp_path / "model", craft(small_file()[0], change), message)


def test_truncated_anywhere(tmp_path):
    content = small_file()[0]
    for end in [*range(0, len(content), 97), len(content) - 1]:
        refused(tmp_path / "model", content[:end], "cannot be loaded")


@settings(
    max_examples=6 * settings.default.max_examples,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_random_damage(tmp_path, data):
    """Any damage is noticed, unless it is none (a blank more in the header's padding)."""
    content, expected = small_file()
    loaded = load_damaged(tmp_path / "model", content, data)
    if loaded is not None:
        assert loaded.predict_proba(table()[0]).tobytes() == expected.tobytes()


def test_every_flipped_byte_of_the_arrays_is_noticed(tmp_path):
    content = bytearray(small_file()[0])
    start = 8 + int.from_bytes(content[:8], "little")
    for at in range(start, len(content), 5):
        content[at] ^= 0x10
        refused(tmp_path / "model", bytes(content), "do not match their digest")
        content[at] ^= 0x10


def test_the_limits_that_are_written_down_are_those_of_the_code():
    page = (Path(__file__).parents[2] / "SECURITY.md").read_text("utf-8")
    stated = re.findall(r"^\| [^|]+ \| ([^|]+) \| `(committee[\w.]+)\.(MAX_\w+)` \|$", page, flags=re.MULTILINE)
    assert len(stated) >= 10
    for number, module, name in stated:
        base, _, rest = number.replace(",", "").partition("^")
        power, _, less = rest.partition(" - ")
        assert int(base) ** int(power or 1) - int(less or 0) == getattr(import_module(module), name), name
