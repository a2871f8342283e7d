"""Files of regressors, of rounds, of intercepts and of losses."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone

import committee
from committee import (
    Committee,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RegressionCommittee,
    TreeRegressor,
    TreeVoter,
)
from committee.files.documents import Tensors
from committee.files.kinds import rebuild_model
from committee.objectives.losses import LOSSES, Huber, Loss, Quantiles, Squared
from committee.vote.links.mean import Average, Ordered
from committee.vote.links.probability import Softmax
from committee.voters.forest import Forest
from committee.voters.rounds import Rounds
from tests import subjects
from tests.model_files import (
    Change,
    boosted,
    craft,
    forget,
    gain,
    load_changed,
    lose,
    matrix,
    put,
    refused,
    swap,
    table,
    tell,
)


def numbers() -> np.ndarray:
    return np.random.default_rng(3).normal(size=120) + table()[1]


def tree(**params: Any) -> TreeRegressor:
    return TreeRegressor(**({"max_depth": 3} | params)).fit(table()[0], numbers())


def started_tree() -> TreeRegressor:
    model = tree()
    model.committee_ = replace(model.committee_, intercept=[0.25])
    return model


def rounds(n_outputs: int) -> Rounds:
    """Two rounds of trees over `table`."""
    X, _ = table()
    y = np.random.default_rng(4).normal(size=(2 * n_outputs, len(X)))
    forests = [TreeRegressor(max_depth=2).fit(X, target).committee_.voters for target in y]
    return Rounds(Forest.concatenate(forests), n_outputs)


def quantiles() -> GradientBoostingRegressor:
    X, y = table()
    model = GradientBoostingRegressor(n_estimators=2, random_state=0).fit(X, y.astype(float))
    model.committee_ = RegressionCommittee(rounds(3), [1.0, 0.5], Ordered(), model.table_, [-1.0, 0.0, 1.0])
    return model


def classes_by_rounds() -> BaseEstimator:
    model = GradientBoostingClassifier(n_estimators=2, random_state=0).fit(*table())
    model.committee_ = Committee(rounds(3), [1.0, 0.5], model.classes_, Softmax(), model.table_, [0.3, -0.2, 0.1])
    return model


def tree_of_numbers() -> TreeRegressor:
    X, y = matrix()
    return TreeRegressor(max_depth=2).fit(X, (y == "yes").astype(float))


MODELS: dict[str, Callable[[], Any]] = {
    "tree": tree,
    "tree of numbers": tree_of_numbers,
    "started tree": started_tree,
    "quantiles": quantiles,
    "classes by rounds": classes_by_rounds,
}


@cache
def file_of_quantiles() -> bytes:
    with TemporaryDirectory() as folder:
        quantiles().save(Path(folder) / "model")
        return (Path(folder) / "model").read_bytes()


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_the_loaded_model_is_the_saved_one(make, tmp_path):
    X, model = (matrix() if make is tree_of_numbers else table())[0], make()
    model.save(tmp_path / "model")
    loaded: Any = committee.load(tmp_path / "model")
    assert type(loaded) is type(model) and hasattr(loaded, "classes_") == hasattr(model, "classes_")
    assert loaded.table_ == model.table_ and loaded.committee_.link == model.committee_.link
    ours, theirs = loaded.committee_, model.committee_
    assert ours.decision_function(X).tobytes() == theirs.decision_function(X).tobytes()
    assert loaded.predict(X).tobytes() == model.predict(X).tobytes()
    for mine, other in zip(loaded.staged_predict(X), model.staged_predict(X), strict=True):
        assert mine.tobytes() == other.tobytes()
    assert (ours.intercept is None) == (theirs.intercept is None)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_an_intercept_among_members(tmp_path):
    """A member keeps its own."""
    X, y = matrix()
    model = committee.SubaggingClassifier(boosted(vote="confidence"), n_estimators=2, random_state=0).fit(X, y)
    for member in model.committee_.voters.estimators:
        member.committee_ = replace(member.committee_, intercept=[0.5])
    model.save(tmp_path / "model")
    loaded: Any = committee.load(tmp_path / "model")
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert [member.committee_.intercept.tolist() for member in loaded.committee_.voters.estimators] == [[0.5]] * 2


# -- files made to deceive ----------------------------------------------------------------------------------


def mislabel(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Trees that name classes, in a regressor."""
    arrays["voters.label"] = np.where(arrays["voters.feature"] < 0, 0, -1).astype(np.int32)
    del arrays["voters.value"]
    document["model"]["voters"]["vote"] = "label"


CRAFTED: list[tuple[str, Change, str]] = [
    ("started tree", lose("intercept"), "array 'intercept' is absent"),
    ("started tree", forget("intercept"), "array 'intercept' belongs to nothing"),
    ("started tree", tell("intercept", value=False), "'intercept' is false"),
    ("started tree", put("intercept", 0, np.nan), "intercept are not 1 finite float64 numbers, one for each score"),
    ("started tree", swap("intercept", lambda a: a.astype(np.float32)), "intercept are not 1 finite"),
    ("started tree", swap("intercept", lambda a: np.zeros(2)), "intercept are not 1 finite"),
    ("tree", gain("intercept"), "array 'intercept' belongs to nothing"),
    ("tree", tell("intercept", value=True), "array 'intercept' is absent"),
    ("tree", tell("class", value="TreeVoter"), "'criterion' parameter of TreeVoter must be"),
    ("tree", tell("link", value={"name": "softmax"}), "mean link name is 'softmax'; it must be one of identity"),
    ("tree", tell("link", value={"name": "log", "scale": 1.0}), "mean link 'log' has no 'scale'"),
    ("tree", mislabel, "regression needs scores"),
    ("tree", tell("voters", "n_classes", value=2), "votes for 2 classes; regression needs scores"),
    ("tree", tell("params", "max_depth", value=0), "max_depth"),
    (
        "tree",
        tell("params", "max_depth", value={"loss": {"name": "os.system"}}),
        "loss name is 'os.system'; it must be one of",
    ),
    ("tree", tell("params", "max_depth", value={"loss": 3}), "'loss' is a int"),
    ("tree", put("voters.value", -1, np.inf), "value is not finite"),
    ("tree", tell("n_features", value=2), "not 2 different names"),
    ("quantiles", tell("voters", "n_outputs", value=0), "6 trees do not form whole rounds of n_outputs=0"),
    ("quantiles", tell("voters", "n_outputs", value=2), "weights are not 3 finite"),
    ("quantiles", tell("voters", "n_outputs", value=True), "'n_outputs' is a bool"),
    ("quantiles", forget("voters", "trees"), "'trees' is absent"),
    ("quantiles", tell("voters", "trees", "kind", value="rounds"), "the trees of rounds must be a forest of values"),
    ("quantiles", tell("voters", "trees", "vote", value="label"), "the trees of rounds must be a forest of values"),
    ("quantiles", tell("voters", "trees", "n_classes", value=2), "leaves hold one number"),
    ("quantiles", put("voters.trees.left", 0, 2**31 - 1), "left is beyond the end of its tree"),
    ("quantiles", swap("voters.trees.value", lambda a: np.repeat(a, 2, axis=1)), "leaves hold one number|2 columns"),
    ("quantiles", tell("table", "categories", 1, value=None), "does not suit that column's type"),
    ("classes by rounds", tell("voters", "n_outputs", value=2), "voters are for 2 classes; there are 3"),
    ("classes by rounds", tell("link", value={"name": "share"}), "Rounds hold scores, which do not sum to one"),
    ("classes by rounds", tell("link", "normalized", value=True), "averages votes, and takes no intercept"),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "change", "message"), CRAFTED)
def test_crafted_files_are_refused(tmp_path, name, change, message):
    MODELS[name]().save(tmp_path / "model")
    refused(tmp_path / "model", craft((tmp_path / "model").read_bytes(), change), message)


def test_a_regressor_is_no_member_of_a_vote(tmp_path):
    X, y = table()
    committee.SubaggingClassifier(TreeVoter(max_depth=2), n_estimators=2).fit(X, y).save(tmp_path / "vote")
    arrays: dict[str, np.ndarray] = {}
    regressor = TreeRegressor(max_depth=2).fit(np.zeros((4, 3)), np.arange(4.0))
    member = json.loads(json.dumps(regressor.to_document(Tensors(arrays))))

    def change(document: dict[str, Any], held: dict[str, np.ndarray]) -> None:
        document["model"]["voters"] = {
            "kind": "estimators",
            "soft": False,
            "as_array": True,
            "classes": document["model"]["classes"],
            "members": [member],
        }
        held.clear()
        held.update({"weights": np.ones(1)} | {f"voters.0.{name}": array for name, array in arrays.items()})

    content = (tmp_path / "vote").read_bytes()
    refused(tmp_path / "vote", craft(content, change), "voters.0 is a regressor, which votes for no class")


@settings(max_examples=3 * settings.default.max_examples, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_documents_and_arrays(tmp_path, data):
    """With a digest that fits: refused, or a model that answers."""
    loaded = load_changed(tmp_path / "model", file_of_quantiles(), data)
    if loaded is not None:
        with suppress(ValueError, TypeError):  # other categories or names: this table may be refused
            assert loaded.predict(table()[0]).shape == (120, 3)


# -- losses as parameters -----------------------------------------------------------------------------------


def with_loss(loss: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """A learner's document that has been a JSON text, with a loss where the learner allows anything."""
    arrays: dict[str, np.ndarray] = {}
    X, y = matrix()
    model = TreeRegressor(max_depth=1).fit(X, y == "yes").set_params(categorical_features=loss)
    return json.loads(json.dumps(model.to_document(Tensors(arrays)))), arrays


@pytest.mark.parametrize(
    "loss", [*(kind() for kind in LOSSES.values()), Huber(0.5), Quantiles((0.1, 0.5, 0.9))], ids=repr
)
def test_losses_are_stored_by_name_and_numbers(loss):
    document, arrays = with_loss(loss)
    assert document["params"]["categorical_features"]["loss"]["name"] == loss.name
    assert rebuild_model(document, Tensors(arrays)).get_params()["categorical_features"] == loss


class MyLoss:
    """A user's: the methods that training asks for."""

    def gradient_hessian(self, y: Any, F: Any, w: Any = None) -> Any:
        return F - y, np.ones_like(F)


class MySquared(Squared):
    """Another kind of the library's own."""


@pytest.mark.parametrize("loss", [MyLoss(), MySquared()])
def test_losses_of_users_are_refused(loss: Loss, tmp_path: Path) -> None:
    model = tree().set_params(categorical_features=loss)
    with pytest.raises(TypeError, match=rf"categorical_features is a .*{type(loss).__name__}, .*own losses.*skops"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_an_average_of_no_weight_is_refused(tmp_path):
    model = tree()
    model.committee_ = replace(model.committee_, link=Average(), weights=[0.0])
    with pytest.raises(ValueError, match="the sum of the weights of a mean vote must be above 0"):
        model.save(tmp_path / "model")
    with pytest.raises(ValueError, match="weight, which must be above zero"):
        model.predict(table()[0])


STUMP = committee.TreeVoter(max_depth=1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "learner",
    [
        committee.DOOMBoostClassifier(n_estimators=3, n_start=2, voter=STUMP),
        committee.MDBoostClassifier(2.0, voter=STUMP, tol=0.05),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_learners_of_other_learners_are_saved(learner, n_classes, tmp_path):
    X, y = subjects.numbers(n_classes)
    model = clone(learner).fit(X, y)
    model.save(tmp_path / "model")
    subjects.assert_same_bits(committee.load(tmp_path / "model"), model, X)
