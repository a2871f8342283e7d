"""A small ensemble as a picture: its tests lead every row to its leaves, whose sum is the vote."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.special import expit, softmax
from sklearn.base import clone, is_regressor
from sklearn.ensemble import RandomForestClassifier as Peer
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

import committee
from committee import Committee
from committee.report import SmallEnsembleDisplay
from committee.report.displays.ensemble_words import EnsembleWords, is_small
from committee.report.model_page import render_model
from tests.gradient_cases import SMALL
from tests.report.displays.drawn import whole
from tests.report.displays.test_tree_display import assert_apart
from tests.small_portfolio import use_small_members

BOOSTED: dict[str, Any] = SMALL | {"n_estimators": 2, "max_leaf_nodes": 4, "random_state": 0}
MODELS = [
    committee.TreeVoter(max_depth=3),
    committee.TreeRegressor(max_depth=3),
    committee.RandomForestClassifier(3, max_depth=3, random_state=0),
    committee.RandomForestRegressor(3, max_depth=3, random_state=0),
    committee.SubaggingClassifier(committee.TreeVoter(max_depth=2), n_estimators=3, random_state=0),
    committee.AdaBoostClassifier(4, max_depth=2),
    committee.AdaBoostClassifier(4, max_depth=2, vote="confidence"),
    committee.GradientBoostingClassifier(**BOOSTED),
    committee.GradientBoostingClassifier(**BOOSTED, tree="shared"),
    committee.GradientBoostingRegressor(**BOOSTED),
    committee.GradientBoostingRegressor("poisson", **BOOSTED),
]
IDS = [" ".join(repr(model).split()) for model in MODELS]


def rows(n: int = 240) -> tuple[pl.DataFrame, np.ndarray]:
    """Numbers and categories with gaps, and a score."""
    rng = np.random.default_rng(0)
    width, height = rng.normal(size=(2, n)).round(1)
    town = rng.integers(0, 4, n)
    gaps = rng.random((2, n)) < 0.1
    frame = pl.DataFrame(
        {
            "width": [None if g else float(v) for v, g in zip(width, gaps[0], strict=True)],
            "height": height,
            "town": [None if g else f"t{t}" for t, g in zip(town, gaps[1], strict=True)],
        }
    )
    return frame, width + (town % 3) + (town == 1) * height + 0.3 * rng.normal(size=n)


def fitted(model: Any, n_classes: int) -> tuple[Any, pl.DataFrame]:
    X, score = rows()
    if is_regressor(model):
        return clone(model).fit(X, np.round(score - score.min())), X
    names = np.array(["ant", "bee", "cow"])
    return clone(model).fit(X, names[np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))]), X


def answer(test: tuple[str, str], row: dict[str, Any]) -> bool | None:
    """What a reader says to a test; None where the value is missing."""
    value, condition = row[test[0]], test[1]
    if condition in ("is known", "is missing"):
        return (value is None) == (condition == "is missing")
    if value is None:
        return None
    if condition.startswith("≤ "):
        return bool(value <= float(condition[2:]))
    words = condition.removeprefix("is not ").removeprefix("is ").replace(" or ", ", ").split(", ")
    return (value in words) != condition.startswith("is not ")


def summed(words: EnsembleWords, row: dict[str, Any]) -> np.ndarray:
    """What the leaves add up to, by reading the picture."""
    said, weights = [], []
    for tree in words.trees:
        node = 0
        while tree.children[node, 0] >= 0:
            true = answer(tree.tests[node], row)
            node = int(tree.children[node, tree.missing[node] if true is None else 1 - true])
        said.append(tree.says[node])
        weights.append(tree.weight)
    if words.leaves.kind == "sums":
        return np.asarray(words.leaves.start + np.sum(said, axis=0))
    return np.average(said, axis=0, weights=weights)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_who_reads_the_picture_gets_the_vote(model, n_classes):
    model, X = fitted(model, n_classes)
    words = EnsembleWords.of(model)
    read = np.array([summed(words, row) for row in X.rows(named=True)])
    if words.leaves.kind == "shares":
        total = model.committee_.total_weight
        assert_allclose(model.committee_.link.probability(read * total, total), model.predict_proba(X), atol=1e-9)
    elif is_regressor(model):
        assert_allclose(np.exp(read[:, 0]) if words.leaves.is_log else read[:, 0], model.predict(X))
    else:
        probability = softmax(read, axis=1) if n_classes > 2 else np.column_stack([expit(-read), expit(read)])
        assert_allclose(probability, model.predict_proba(X), atol=1e-12)
    if n_classes == 3:
        display = SmallEnsembleDisplay.from_estimator(model, X, 7)
        assert_apart(display)
        assert display.row.sums[0] in str(display)


def test_trees_of_the_same_tests_are_drawn_as_one():
    model, X = fitted(committee.AdaBoostClassifier(4, max_depth=1, vote="confidence"), 2)
    twice = model.committee_.select([0, 1, 0, 2, 1, 0])
    words = EnsembleWords.of(twice)
    once = {tree.number: tree for tree in EnsembleWords.of(model.committee_.select([0, 1, 2])).trees}
    assert sorted(tree.alike for tree in words.trees) == [1, 2, 3]
    assert words.size == "6 trees (drawn as 3: those of the same tests are added up), 6 leaves"
    for tree in words.trees:
        of = {0: 0, 1: 1, 3: 2}[tree.number]
        assert_allclose(tree.says, tree.alike * once[of].says)
        assert_allclose(tree.shares, once[of].shares)
        assert tree.name.endswith(f", the sum of {tree.alike}") == (tree.alike > 1)
    read = np.array([summed(words, row) for row in X.rows(named=True)])
    assert_allclose(np.column_stack([expit(-read), expit(read)]), twice.predict_proba(X), atol=1e-12)
    assert "the sum of 3" in str(SmallEnsembleDisplay.from_estimator(twice, X, 3))


LONG = "a_rather_long_name_of_a_column_that_goes_on_and_on"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_long_names_many_categories_and_many_classes_stay_apart(n_classes):
    rng = np.random.default_rng(0)
    town = rng.integers(0, 14, 900)
    X = pl.DataFrame({f"{LONG}_{j}": rng.normal(size=900) for j in range(3)}).with_columns(
        pl.Series(f"{LONG}_town", [f"{t}, a town with a long name" for t in town])
    )
    y = np.array([f"a class of a long name, the {k}" for k in range(n_classes)])[
        (town + (X[:, 0].to_numpy() > 0)) % n_classes
    ]
    boosted = committee.AdaBoostClassifier(3, max_depth=3, vote="confidence").fit(X, y)
    forest = committee.RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y)
    for model in (boosted, committee.LeafReweighter(forest, max_nodes=21, C=1.0, growth=1.0, cv=2).fit(X, y)):
        display = SmallEnsembleDisplay.from_estimator(model, X, -1)
        assert_apart(whole(display))
        assert display.row.number == len(X) - 1
    assert "is one of" in str(SmallEnsembleDisplay.from_estimator(boosted))


def test_what_cannot_be_drawn_is_refused_with_a_remedy(monkeypatch):
    use_small_members(monkeypatch)
    X, score = rows()
    y = score > 1.0
    small = committee.RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, y)
    large = committee.RandomForestClassifier(20, random_state=0).fit(X, y)
    assert is_small(small)
    assert not is_small(large)
    with pytest.raises(ValueError, match=r"leaves in 20 trees; at most 60 .* prune\(ensemble, X, y, max_nodes=40\)"):
        SmallEnsembleDisplay.from_estimator(large)
    lines = committee.GradientBoostingRegressor(**BOOSTED | {"leaf": "linear"}).fit(X[["height"]], X["height"] ** 2)
    with pytest.raises(TypeError, match=r'these have lines\..*leaf="constant"'):
        SmallEnsembleDisplay.from_estimator(lines)
    several = committee.RandomForestRegressor(2, max_depth=2, random_state=0).fit(X, np.column_stack([score, -score]))
    with pytest.raises(ValueError, match="predicts 2 numbers of each row"):
        SmallEnsembleDisplay.from_estimator(several)
    with pytest.raises(TypeError, match="SmallEnsembleDisplay needs voters that are native trees"):
        SmallEnsembleDisplay.from_estimator(
            committee.SubaggingClassifier(GaussianNB(), n_estimators=2).fit(X[["height"]], y)
        )
    blend = committee.CommitteeClassifier("fast", random_state=0).fit(X[:60], y[:60])
    with pytest.raises(TypeError, match=r"a committee of ensembles\. .* distil\(X, max_nodes=40\)\.model"):
        SmallEnsembleDisplay.from_estimator(blend)
    with pytest.raises(NotFittedError):
        SmallEnsembleDisplay.from_estimator(committee.TreeVoter())
    with pytest.raises(ValueError, match="row=240 is not there"):
        SmallEnsembleDisplay.from_estimator(small, X, 240)
    with pytest.raises(TypeError, match="X is sparse"):
        SmallEnsembleDisplay.from_estimator(small, csr_array(np.ones((2, 3))))


def test_other_libraries_one_leaf_given_axes_and_pages():
    X, score = rows()
    numbers = X[["height"]].to_numpy()
    peer = Peer(2, max_depth=2, random_state=0).fit(numbers, score > 1.0)
    drawn = whole(SmallEnsembleDisplay.from_estimator(peer, numbers))
    assert f"probability {peer.predict_proba(numbers[:1]).max():.0%}" in str(drawn) or ";  mean" in str(drawn)
    assert str(SmallEnsembleDisplay.from_estimator(Committee.from_estimator(peer), numbers)) == str(drawn)
    leaf = committee.TreeVoter(max_depth=3).fit(np.ones((20, 1)), np.arange(20) % 2)
    assert "1 tree, 1 leaf" in str(whole(SmallEnsembleDisplay.from_estimator(leaf)))
    given = Figure(figsize=(5, 4)).subplots()
    assert SmallEnsembleDisplay.from_estimator(peer, ax=given).ax_ is given

    small = committee.TreeVoter(max_depth=2).fit(X, score > 1.0)
    page = render_model(small, X)
    assert "All of its trees" in page
    assert "dark: the way of row 0" in page
    large = committee.RandomForestClassifier(20, random_state=0).fit(X, score > 1.0)
    assert "All of its trees" not in render_model(large)
