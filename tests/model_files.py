"""Model files for tests: of small models, damaged, or made to deceive, with a digest that is right."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import pytest
import safetensors.numpy
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

from committee.files.store import ModelFileError, digest, load, sort_metadata
from committee.learners.bagging.subagging import SubaggingClassifier
from committee.learners.boosting.adaboost import AdaBoostClassifier
from committee.learners.trees.tree import AbstainingStump, TreeVoter
from tests.subjects import assert_same_bits


def refused(path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelFileError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert isinstance(caught.value, ValueError)


def load_unless_refused(path: Path, content: bytes) -> Any:
    """The model of a file, or None where it is refused by its name."""
    path.write_bytes(content)
    try:
        return load(path)
    except ModelFileError as error:
        assert str(path) in str(error)
        return None


Change = Callable[[dict[str, Any], dict[str, np.ndarray]], None]


def contents(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Document and arrays of a model file, to be changed."""
    length = int.from_bytes(content[:8], "little")
    document = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["committee"])
    return document, {name: array.copy() for name, array in safetensors.numpy.load(content).items()}


def written(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """The file of a document and arrays, with their digest."""
    text = json.dumps(document)
    arrays = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    return sort_metadata(safetensors.numpy.save(arrays, {"committee": text, "digest": digest(text, arrays)}))


def craft(content: bytes, change: Change) -> bytes:
    """The file with its contents changed and the digest made to match."""
    document, arrays = contents(content)
    change(document, arrays)
    return written(document, arrays)


def at(document: Any, path: tuple[Any, ...]) -> Any:
    """The value at a place of a JSON document."""
    for step in path:
        document = document[step]
    return document


def put(name: str, at: Any, to: Any) -> Change:
    """One element of an array."""

    def change(_: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        arrays[name][at] = to

    return change


def swap(name: str, make: Callable[[np.ndarray], np.ndarray]) -> Change:
    """A whole array."""

    def change(_: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        arrays[name] = make(arrays[name])

    return change


def tell(*path: Any, value: Any) -> Change:
    """One value of the model's document."""

    def change(document: dict[str, Any], _: dict[str, np.ndarray]) -> None:
        at(document["model"], path[:-1])[path[-1]] = value

    return change


def forget(*path: Any) -> Change:
    def change(document: dict[str, Any], _: dict[str, np.ndarray]) -> None:
        del at(document["model"], path[:-1])[path[-1]]

    return change


def lose(name: str) -> Change:
    return lambda document, arrays: arrays.__delitem__(name)


def gain(name: str) -> Change:
    return lambda document, arrays: arrays.__setitem__(name, np.zeros(1))


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside a JSON document."""
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path] * bool(path) + [place for key, value in inner for place in places(value, (*path, key))]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 5) | st.just(10**30) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


def random_change(data: st.DataObject) -> Change:
    """One value of the model's document or some bytes of an array, or its shape."""

    def change(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        if data.draw(st.booleans()):
            path = data.draw(st.sampled_from(places(document["model"])))
            (forget(*path) if data.draw(st.booleans()) else tell(*path, value=data.draw(JSON_VALUES)))(document, arrays)
            return
        name = data.draw(st.sampled_from(sorted(name for name in arrays if arrays[name].size)))
        if data.draw(st.booleans()):
            arrays[name] = arrays[name].reshape(-1)[: data.draw(st.integers(0, arrays[name].size))]
            return
        view = arrays[name].reshape(-1).view(np.uint8)
        for _ in range(data.draw(st.integers(1, 3))):
            view[data.draw(st.integers(0, len(view) - 1))] = data.draw(st.integers(0, 255))

    return change


def load_changed(path: Path, content: bytes, data: st.DataObject) -> Any:
    """The model of a file after a `random_change` of its contents, or None where it is refused."""
    return load_unless_refused(path, craft(content, random_change(data)))


def random_damage(data: st.DataObject, whole: bytes) -> bytes:
    """The file with bits turned, bytes set, cut out or put in."""
    content = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        match data.draw(st.sampled_from(["flip", "set", "cut", "insert"])):
            case "flip":
                content[at] ^= 1 << data.draw(st.integers(0, 7))
            case "set":
                content[at] = data.draw(st.integers(0, 255))
            case "cut":
                del content[at : at + data.draw(st.integers(1, 40))]
            case "insert":
                content[at:at] = data.draw(st.binary(min_size=1, max_size=20))
    return bytes(content)


def load_damaged(path: Path, content: bytes, data: st.DataObject) -> Any:
    """The model of a file after `random_damage`, or None where it is refused."""
    return load_unless_refused(path, random_damage(data, content))


def table(n: int = 120) -> tuple[pl.DataFrame, np.ndarray]:
    """Numbers, few and many categories, missing values in both."""
    rng = np.random.default_rng(0)
    size, colour = rng.normal(size=n), rng.integers(0, 3, size=n)
    place = rng.integers(0, 40, size=n)
    y = (size + (colour == 1) + (place % 3 == 0) + 0.3 * rng.normal(size=n) > 0.7).astype(int) + (colour == 2)
    missing = rng.random((2, n)) < 0.15
    frame = pl.DataFrame(
        {
            "size": np.where(missing[0], np.nan, size),
            "colour": [None if gone else "rgb"[c] for c, gone in zip(colour, missing[1], strict=True)],
            "place": [f"p{p}" for p in place],
        }
    )
    return frame, y


def matrix(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 0] * X[:, 1] + 0.2 * X[:, 2] > 0, "yes", "no")
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def boosted(**params: Any) -> AdaBoostClassifier:
    return AdaBoostClassifier(**({"n_estimators": 5, "max_depth": 2, "random_state": 0} | params))


LEARNERS: dict[str, Callable[[], BaseEstimator]] = {
    "discrete": lambda: boosted(vote="discrete"),
    "confidence": lambda: boosted(vote="confidence"),
    "subagged": lambda: SubaggingClassifier(boosted(), n_estimators=3, random_state=0),
    "soft": lambda: SubaggingClassifier(TreeVoter(max_depth=2), n_estimators=3, voting="soft", random_state=0),
    "nested": lambda: SubaggingClassifier(
        SubaggingClassifier(boosted(vote="confidence"), n_estimators=2), n_estimators=2, random_state=0
    ),
    "tree": lambda: TreeVoter(max_depth=4),
}
BINARY: dict[str, Callable[[], BaseEstimator]] = {
    "abstaining": lambda: boosted(vote="abstaining", max_depth=1),
    "abstaining stump": AbstainingStump,
}


@cache
def small_file() -> tuple[bytes, np.ndarray]:
    """A small model's file, and what it must answer to `table`."""
    X, y = table()
    model = boosted(n_estimators=2, vote="discrete").fit(X, y)
    with TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        return (Path(folder) / "model").read_bytes(), model.predict_proba(X)


def assert_loaded_is_saved(model: Any, X: Any, y: Any, folder: Path) -> None:
    """A model out of its file has the parameters, attributes and answers of the saved one, and writes the same file."""
    model.save(folder / "model")
    loaded = load(folder / "model")
    assert type(loaded) is type(model)
    assert repr(loaded.get_params(deep=True)) == repr(model.get_params(deep=True))
    assert loaded.n_features_in_ == model.n_features_in_ and loaded.table_ == model.table_
    assert loaded.stored_values().keys() == model.stored_values().keys()
    for name, value in model.stored_values().items():
        stored = getattr(loaded, name)
        assert type(stored) is type(value)
        assert_array_equal(stored, value)
    for name in ("coef_", "intercept_", "design_names_", "feature_importances_", "feature_names_in_"):
        assert hasattr(loaded, name) == hasattr(model, name)
        assert_array_equal(getattr(loaded, name, 0), getattr(model, name, 0))
    assert_same_bits(loaded, model, X)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.committee_.margins(X, y).tobytes() == model.committee_.margins(X, y).tobytes()
    assert loaded.committee_.link == model.committee_.link
    for stage, other in zip(loaded.staged_decision_function(X), model.staged_decision_function(X), strict=True):
        assert_array_equal(stage, other)
    loaded.save(folder / "again")
    assert (folder / "again").read_bytes() == (folder / "model").read_bytes()
