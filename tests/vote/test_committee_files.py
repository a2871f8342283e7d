"""Files of committees alone: those inside other libraries' ensembles and of every kind of voters come back the same."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.naive_bayes import GaussianNB

import committee
from committee import Committee, RegressionCommittee, TreeRegressor, TreeVoter, load
from committee.vote.links.probability import Softmax
from committee.voters.estimators import EstimatorVoters
from committee.voters.forest import Forest
from tests.golden.write import FOLDER, MODELS, table
from tests.model_files import Change, craft, forget, gain, load_changed, lose, put, refused, tell

WINE = load_wine(return_X_y=True)
FRAME = load_wine(return_X_y=True, as_frame=True)
TWO = WINE[0][:130], np.array(["red", "white"])[WINE[1][:130]]


def xgboost(**params: Any) -> Any:
    library = pytest.importorskip("xgboost", reason="a peer of pyproject's test extra (2026-11-21)")
    return library.XGBClassifier(n_estimators=6, max_depth=3, n_jobs=1, **params)


def lightgbm(**params: Any) -> Any:
    library = pytest.importorskip("lightgbm", reason="a peer of pyproject's test extra (2026-11-21)")
    return library.LGBMClassifier(n_estimators=6, n_jobs=1, verbose=-1, **params)


def colours(n: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    colour = pd.Categorical(rng.choice(["red", "green", "blue"], size=n))
    size = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    return pd.DataFrame({"size": size, "colour": colour}), ((size > 0) ^ (colour == "red")).astype(int)


ENSEMBLES: dict[str, tuple[Callable[[], Any], tuple[Any, Any]]] = {
    "forest": (lambda: RandomForestClassifier(6, max_depth=4, random_state=0), WINE),
    "forest of a frame": (lambda: RandomForestClassifier(6, max_depth=4, random_state=0), FRAME),
    "extra trees": (lambda: ExtraTreesClassifier(6, max_depth=4, random_state=0), TWO),
    "boosted": (lambda: AdaBoostClassifier(n_estimators=6, random_state=0), WINE),
    "bagged trees": (lambda: BaggingClassifier(n_estimators=4, max_features=0.5, random_state=0), WINE),
    "bagging of ours": (lambda: BaggingClassifier(TreeVoter(max_depth=2), n_estimators=4, random_state=0), WINE),
    "bagging of a frame": (lambda: BaggingClassifier(TreeVoter(max_depth=2), n_estimators=4, random_state=0), FRAME),
    "vote of ours": (lambda: VotingClassifier([("a", TreeVoter()), ("b", TreeVoter(max_depth=2))]), WINE),
    "soft vote of a frame": (
        lambda: VotingClassifier([("a", TreeVoter()), ("b", TreeVoter(max_depth=2))], voting="soft", weights=[1, 2]),
        FRAME,
    ),
    "xgboost": (xgboost, WINE),
    "xgboost of categories": (lambda: xgboost(enable_categorical=True), colours()),
    "lightgbm": (lightgbm, WINE),
    "lightgbm of two": (lightgbm, TWO),
    "lightgbm of categories": (lightgbm, colours()),
    "one against the rest": (lambda: lightgbm(objective="multiclassova"), WINE),
}


def assert_same_committee(loaded: Any, saved: Any, X: Any) -> None:
    assert type(loaded) is type(saved)
    assert loaded.link == saved.link and loaded.table == saved.table
    assert type(loaded.voters) is type(saved.voters)
    assert loaded.weights.tobytes() == saved.weights.tobytes()
    assert (loaded.intercept is None) == (saved.intercept is None)
    for method in ("decision_function", "predict", "votes", "predict_proba"):
        if hasattr(saved, method):
            ours, theirs = getattr(loaded, method)(X), getattr(saved, method)(X)
            assert ours.dtype == theirs.dtype and ours.tobytes() == theirs.tobytes()


def saved_again(model: Any, folder: Path) -> Any:
    """The model out of its file, from which the same file comes again."""
    model.save(folder / "model")
    loaded = load(folder / "model")
    loaded.save(folder / "again")
    assert (folder / "again").read_bytes() == (folder / "model").read_bytes()
    return loaded


@pytest.mark.parametrize("name", ENSEMBLES)
def test_a_converted_committee_comes_back(name: str, tmp_path: Path) -> None:
    make, (X, y) = ENSEMBLES[name]
    vote = Committee.from_estimator(make().fit(X, y))
    loaded = saved_again(vote, tmp_path)
    assert_same_committee(loaded, vote, X)
    assert loaded.classes.dtype == vote.classes.dtype
    assert loaded.classes.tolist() == vote.classes.tolist()
    assert loaded.margins(X, y).tobytes() == vote.margins(X, y).tobytes()
    if isinstance(X, pd.DataFrame):
        with pytest.raises(ValueError, match=r"columns|lacks|names"):
            loaded.predict(X.rename(columns={X.columns[0]: "else"}))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", MODELS)
def test_committees_of_learners_come_back(name: str, tmp_path: Path) -> None:
    """Every kind of voters, link and intercept that the library makes."""
    model = load(FOLDER / f"{name}.safetensors")
    rows = np.load(FOLDER / "answers.npz")
    kind = MODELS[name][0]
    X = table({key.split("/")[2]: rows[key] for key in rows if key.startswith(f"rows/{kind}/")})
    vote = getattr(model, "committee_", model)  # some files hold a committee alone
    named = model.validate_rows(X) if vote is not model else X
    assert_same_committee(saved_again(vote, tmp_path), vote, named)


def test_without_a_table_and_classes_in_any_order(tmp_path: Path) -> None:
    voters = TreeVoter(max_depth=2).fit(*WINE).committee_.voters
    vote = Committee(voters, [2.0], ["z", "a", "m"], Softmax())
    loaded = saved_again(vote, tmp_path)
    assert loaded.classes.tolist() == ["z", "a", "m"]
    assert_same_committee(loaded, vote, WINE[0])
    numbers = TreeRegressor(max_depth=2).fit(*load_diabetes(return_X_y=True)).committee_
    plain = replace(numbers, table=None)
    assert_same_committee(saved_again(plain, tmp_path), plain, load_diabetes().data)


def schema_version(path: Path) -> int:
    content = path.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    version: int = json.loads(header["__metadata__"]["committee"])["schema_version"]
    return version


def test_versions(tmp_path: Path) -> None:
    """Readers of the first version refuse a committee alone by name, and still read learners."""
    model = TreeVoter(max_depth=2).fit(*WINE)
    model.save(tmp_path / "learner")
    model.committee_.save(tmp_path / "committee")
    assert schema_version(tmp_path / "learner") == 1
    assert schema_version(tmp_path / "committee") == 2

    def later(document: dict[str, Any], _: dict[str, np.ndarray]) -> None:
        document["schema_version"] = 3

    content = craft((tmp_path / "committee").read_bytes(), later)
    refused(tmp_path / "committee", content, r"made by a newer committee \(.*, file schema 3\)")


class OwnForest(Forest):
    """A subclass that may vote in another way."""


class OwnCommittee(Committee):
    """A subclass that a loading program would not have."""


def test_foreign_parts_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    place = tmp_path / "model"
    foreign = Committee.from_estimator(BaggingClassifier(GaussianNB(), n_estimators=2).fit(*WINE))
    with pytest.raises(TypeError, match=r"GaussianNB cannot be saved.*skops"):
        foreign.save(place)
    some = Committee.from_estimator(BaggingClassifier(TreeVoter(), n_estimators=2, max_features=0.5).fit(*WINE))
    with pytest.raises(TypeError, match="EstimatorVoters cannot be saved"):
        some.save(place)
    ours = TreeVoter(max_depth=2).fit(*WINE).committee_
    with pytest.raises(TypeError, match="OwnForest cannot be saved"):
        replace(ours, voters=OwnForest(**vars(ours.voters[:]))).save(place)
    with pytest.raises(TypeError, match="OwnCommittee cannot be saved"):
        OwnCommittee(ours.voters, ours.weights, ours.classes, ours.link).save(place)
    linear = committee.ProbitModelTreeClassifier(max_depth=1).fit(*WINE).committee_
    with pytest.raises(ValueError, match="no file of it would load: the table is null"):
        replace(linear, table=None).save(place)
    assert not list(tmp_path.iterdir())


@cache
def file_of(name: str) -> bytes:
    make, rows = ENSEMBLES[name] if name in ENSEMBLES else (lambda: TreeRegressor(max_depth=2), WINE)
    model = make().fit(*rows)
    with TemporaryDirectory() as folder:
        (model.committee_ if name == "numbers" else Committee.from_estimator(model)).save(Path(folder) / "model")
        return (Path(folder) / "model").read_bytes()


def as_member(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """A committee in place of a learner among the voters."""
    member = document["model"]["voters"]["members"][0]
    member["class"] = "Committee"


CRAFTED: list[tuple[str, Change, str]] = [
    ("forest", tell("class", value="Voters"), "class is 'Voters', which is no learner"),
    ("forest", tell("class", value="RandomForestClassifier"), "'params' is absent"),
    ("forest", tell("class", value="RegressionCommittee"), "link name is 'share'"),
    ("forest", tell("class", value=None), "'class' is a NoneType"),
    ("forest", forget("class"), "'class' is absent"),
    ("forest", forget("classes"), "'classes' is absent"),
    ("forest", forget("link"), "'link' is absent"),
    ("forest", forget("voters"), "'voters' is absent"),
    ("forest", forget("table"), "'table' is absent"),
    ("forest", tell("n_features", value=12), "the table has 13 columns"),
    ("forest", tell("n_features", value=0), "n_features is 0"),
    ("forest", tell("feature_names", value={"dtype": "object", "values": ["a"]}), "not 13 different names"),
    ("forest", tell("classes", "values", value=[0, 1]), "voters are for 3 classes; there are 2"),
    ("forest", tell("classes", "values", value=[0, 1, 1]), "must be a vector of one or more different labels"),
    ("forest", tell("classes", value={"dtype": "object", "values": [0, "a", None]}), "of several types"),
    ("forest", tell("link", value={"name": "eval"}), "link name is 'eval'"),
    ("forest", tell("voters", "kind", value="Committee"), "voters are of kind 'Committee'"),
    ("forest", tell("voters", "kind", value="soft_stumps"), "voters are of kind 'soft_stumps'"),
    ("forest", tell("voters", "n_features", value=14), "voters are for 14 columns; the matrix has 13"),
    ("forest", put("voters.left", 0, 2**31 - 1), "left is beyond the end of its tree"),
    ("forest", put("voters.value", 0, np.nan), "value is not finite"),
    ("forest", put("weights", 0, np.inf), "weights are not 6 finite float64 numbers"),
    ("forest", put("weights", 0, -1.0), "share link needs weights >= 0"),
    ("forest", lose("weights"), "array 'weights' is absent"),
    ("forest", gain("intercept"), "array 'intercept' belongs to nothing"),
    ("forest", gain("attributes.oob_score_"), "array 'attributes.oob_score_' belongs to nothing"),
    ("xgboost", tell("intercept", value=False), "'intercept' is false"),
    ("xgboost", put("intercept", 0, np.nan), "intercept are not 3 finite float64 numbers"),
    ("xgboost", tell("voters", "trees", "n_classes", value=2), "leaves hold one number"),
    ("lightgbm of categories", tell("table", "categories", value=[None, None]), "does not suit that column's type"),
    ("bagging of a frame", tell("feature_names", "values", value=["a"] * 13), "not 13 different names"),
    ("bagging of ours", as_member, "class is 'Committee', which is no learner"),
    ("bagging of ours", tell("voters", "members", 1, "n_features", value=12), "the table has 13 columns"),
    ("bagging of ours", put("voters.1.voters.left", 0, 999), "left is beyond the end"),
    ("numbers", tell("class", value="Committee"), "'classes' is absent"),
    ("numbers", tell("link", value={"name": "softmax"}), "mean link name is 'softmax'"),
    ("numbers", tell("voters", "n_classes", value=2), "votes for 2 classes; regression needs scores"),
]


@pytest.mark.parametrize(("name", "change", "message"), CRAFTED)
def test_crafted_files_are_refused(tmp_path: Path, name: str, change: Change, message: str) -> None:
    refused(tmp_path / "model", craft(file_of(name), change), message)


def test_names_of_no_table_are_those_of_classifiers_alone(tmp_path: Path) -> None:
    names = {"dtype": "object", "values": [f"x{j}" for j in range(13)]}

    def change(document: dict[str, Any], _: dict[str, np.ndarray]) -> None:
        document["model"] |= {"table": None, "feature_names": names}

    refused(tmp_path / "model", craft(file_of("forest"), change), "feature_names belong to a table, which is null")
    path = tmp_path / "ours"
    path.write_bytes(craft(file_of("bagging of ours"), tell("feature_names", value=names)))
    voters = load(path).voters
    assert isinstance(voters, EstimatorVoters) and voters.names == tuple(names["values"])


@settings(max_examples=3 * settings.default.max_examples, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_documents_and_arrays(tmp_path: Path, data: st.DataObject) -> None:
    """With a digest that fits: refused, or a committee that answers."""
    name = data.draw(st.sampled_from(["forest", "xgboost", "lightgbm of categories", "bagging of ours", "numbers"]))
    X = ENSEMBLES[name][1][0] if name in ENSEMBLES else WINE[0]
    loaded = load_changed(tmp_path / "model", file_of(name), data)
    if loaded is not None:
        assert isinstance(loaded, Committee | RegressionCommittee)
        with suppress(ValueError, TypeError), np.errstate(all="ignore"):  # other columns: this table may be refused
            assert loaded.predict(X).shape == (len(X),)
